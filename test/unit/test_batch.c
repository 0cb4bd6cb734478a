/*
 * Batches: requests that are split, and put together; their failures, deadlines, and ends
 * between two batches; batches of several sizes.
 */

#include "mortal.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "glow/backend.h"
#include "glow/diag.h"
#include "glow/host.h"
#include "glow/plugin.h"

enum { BATCH = 8, MOST = 64, TABLE = 100, SIZES = 3 };
enum { ENDS = 12345 }; /* an index that ends the process of its device */
#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZER true
#elif defined(__has_feature)
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER false
#endif
#define MS 1000000
#define NEVER INT64_MAX

static const char *executor = "threads"; /* of hosts */

/* Samples of the networks of a service; the first are those of one that has no sizes. */
static const int samples_of[SIZES] = {BATCH, 1, 3};

typedef struct bench {
    char path[SIZES][64];
    glow_context *ctx;
    glow_host *host;
    glow_service *service;
} bench;

/* A backend whose runs wait until the test lets them go on. */
static glow_backend gated_backend;
static bool (*run_gated)(glow_executable *x, const glow_binding *bindings,
                         int count);
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int begun, may;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static bool
run_at_gate(glow_executable *x, const glow_binding *bindings, int count)
{
    int number;

    pthread_mutex_lock(&gate.lock);
    number = ++gate.begun;
    pthread_cond_broadcast(&gate.changed);
    while (gate.may < number)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    return run_gated(x, bindings, count);
}

/* Lets the first `n` runs go on. */
static void
let(int n)
{
    pthread_mutex_lock(&gate.lock);
    gate.may = n;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

/* Waits until run `n`, from 1, has begun. */
static void
await(int n)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.begun < n)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* y = tanh(table[at]) for each of `rows` samples; an index of TABLE or more fails. */
static void
write_network(const char *path, int rows)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f,
            "gir 1\n"
            "placeholder @at : index64<%d x 2>\n"
            "placeholder @y : float<%d x 2>\n"
            "constant @table : float<%d> = [0.0",
            rows, rows, TABLE);
    for (int i = 1; i < TABLE; i++)
        fprintf(f, ", %.2f", i / 100.0);
    fprintf(f,
            "]\n"
            "function @main {\n"
            "  %%g = Gather(@table, @at) {Axis: 0} : float<%d x 2>\n"
            "  %%t = Tanh(%%g) : float<%d x 2>\n"
            "  %%s = Save(%%t, @y)\n"
            "}\n",
            rows, rows);
    fclose(f);
}

static void
print_report(const glow_diag *d, void *user)
{
    (void)user;
    print_message("# %s: %s\n", d->id, d->message);
}

static void
begin(bench *b, const glow_host_options *o)
{
    glow_host_options own = {0};

    *b = (bench){0};
    for (int i = 0; i < SIZES; i++) {
        snprintf(b->path[i], sizeof b->path[i], "/tmp/glow-batch-%d-%d.gir",
                 (int)getpid(), i);
        write_network(b->path[i], samples_of[i]);
    }
    b->ctx = glow_context_new();
    glow_context_set_sink(b->ctx, print_report, NULL);
    if (o)
        own = *o;
    own.executor = glow_executor_open(b->ctx, executor);
    assert_non_null(own.executor);
    b->host = glow_host_new(&own);
    gate.begun = gate.may = 0;
}

static void
add_device(bench *b, const glow_run_device_api *api, glow_run_device_options o)
{
    if (!o.backend)
        o.backend = glow_find_backend(b->ctx, "interp");
    o.command = as_device;
    assert_true(glow_host_add_device(b->host, b->ctx, api, &o));
}

static void
set_gate(bench *b)
{
    gated_backend = *glow_find_backend(b->ctx, "interp");
    run_gated = gated_backend.run;
    gated_backend.run = run_at_gate;
}

static void
add_gated_device(bench *b)
{
    set_gate(b);
    add_device(
        b, &glow_run_device_local,
        (glow_run_device_options){.name = "d", .backend = &gated_backend});
}

static void
add_service(bench *b, glow_service_options o)
{
    o.name = "net";
    o.path = b->path[0];
    o.batch = BATCH;
    assert_true(glow_host_add(b->host, b->ctx, &o));
    b->service = glow_host_find(b->host, "net");
}

/* The same for batches of 1, 3 and 8 samples. */
static void
add_service_of_sizes(bench *b, glow_service_options o)
{
    const char *const sizes[] = {b->path[1], b->path[2]};

    o.sizes = sizes;
    o.n_sizes = 2;
    add_service(b, o);
}

static void
end(bench *b)
{
    if (b->service)
        glow_service_release(b->service);
    if (b->host)
        glow_host_free(b->host);
    glow_context_free(b->ctx);
    for (int i = 0; i < SIZES; i++)
        unlink(b->path[i]);
}

/* The indices of sample `i` of request `seed`. */
static void
set_sample(int64_t at[2], int seed, int i)
{
    at[0] = (seed * 31 + i * 7) % TABLE;
    at[1] = (seed * 17 + i * 3 + 1) % TABLE;
}

static int64_t bad_index = TABLE;

/* A request of `n` samples, of which sample `bad` has the bad index (-1: none). */
static glow_request *
ask(const bench *b, int seed, int n, int bad, const glow_request_options *o)
{
    int64_t at[MOST][2];

    for (int i = 0; i < n; i++)
        set_sample(at[i], seed, i);
    if (bad >= 0)
        at[bad][0] = bad_index;
    return glow_service_run(b->service,
                            &(glow_input){.name = "at",
                                          .data = at,
                                          .bytes = (size_t)n * sizeof *at},
                            1, o);
}

/* The results of runs without batches, of one sample each. */
static float direct[TABLE];

static void
compute_directly(void)
{
    bench b = {.ctx = glow_context_new()};

    snprintf(b.path[0], sizeof b.path[0], "/tmp/glow-direct-%d.gir",
             (int)getpid());
    write_network(b.path[0], 1);
    b.host = glow_host_new(NULL);
    add_device(&b, &glow_run_device_local,
               (glow_run_device_options){.name = "d"});
    assert_true(glow_host_add(
        b.host, b.ctx,
        &(glow_service_options){.name = "net", .path = b.path[0]}));
    b.service = glow_host_find(b.host, "net");
    for (int i = 0; i < TABLE; i++) {
        const int64_t at[2] = {i, 0};
        size_t bytes;
        glow_request *r = glow_service_run(
            b.service,
            &(glow_input){.name = "at", .data = at, .bytes = sizeof at}, 1,
            NULL);

        assert_int_equal(glow_fence_wait(glow_request_fence(r), NEVER, NULL),
                         GLOW_RUN_DONE);
        direct[i] = *(const float *)glow_request_output(r, "y", &bytes);
        glow_request_release(r);
    }
    end(&b);
}

/* All samples of a request that is done are those of direct runs, bit for bit. */
static void
check(const glow_request *r, int seed, int n)
{
    size_t bytes;
    const float *y = glow_request_output(r, "y", &bytes);

    assert_non_null(y);
    assert_int_equal(bytes, (size_t)n * 2 * sizeof *y);
    for (int i = 0; i < n; i++) {
        int64_t at[2];

        set_sample(at, seed, i);
        assert_memory_equal(&y[2 * i], &direct[at[0]], sizeof *y);
        assert_memory_equal(&y[2 * i + 1], &direct[at[1]], sizeof *y);
    }
}

static glow_outcome
outcome_of(const glow_request *r)
{
    return glow_fence_wait(glow_request_fence(r), NEVER, NULL);
}

static void
expect(glow_request *r, int seed, int n)
{
    glow_report_text why;

    if (glow_fence_wait(glow_request_fence(r), NEVER, &why) != GLOW_RUN_DONE)
        fail_msg("%s: %s", glow_outcome_name(why.outcome), why.text);
    check(r, seed, n);
    glow_request_release(r);
}

static void
expect_outcome(glow_request *r, glow_outcome o)
{
    assert_int_equal(outcome_of(r), o);
    glow_request_release(r);
}

static int64_t
batches_of(const bench *b)
{
    glow_service_statistics x;

    glow_service_count(b->service, &x);
    return x.batches;
}

/* Counts the calls of `then`. */
static void
count_end(void *user, glow_request *r)
{
    (void)r;
    __atomic_fetch_add((int *)user, 1, __ATOMIC_SEQ_CST);
}

/* Waits until `then` was called for all of `n` requests; it must not be called again. */
static void
expect_ends(const int *ends, int n)
{
    while (__atomic_load_n(ends, __ATOMIC_SEQ_CST) < n)
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    assert_int_equal(__atomic_load_n(ends, __ATOMIC_SEQ_CST), n);
}

/* Requests of more samples than a batch, on all kinds of devices. */
static void
test_requests_are_split(void **state)
{
    static const int sizes[] = {20, 1, 8, 30, 5};
    const glow_run_device_api *const kinds[] = {
        &glow_run_device_local, &glow_run_device_sim, &glow_run_device_remote};

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        glow_request *r[5];
        bench b;

        begin(&b, NULL);
        add_device(&b, kinds[k], (glow_run_device_options){.name = "d"});
        add_service(&b, (glow_service_options){.active = 1,
                                               .batch_ns = 2000 * (int64_t)MS});
        for (int i = 0; i < 5; i++)
            r[i] = ask(&b, i, sizes[i], -1, NULL);
        for (int i = 0; i < 5; i++)
            expect(r[i], i, sizes[i]);
        assert_int_equal(batches_of(&b), 8); /* of 64 samples */
        end(&b);
    }
}

/* The inputs of a request are whole samples, one or more. */
static void
test_samples_are_whole(void **state)
{
    static const size_t sizes[] = {0, 15, 17, 16 * BATCH + 8};
    static const int64_t at[2 * BATCH + 1];
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_local,
               (glow_run_device_options){.name = "d"});
    add_service(&b, (glow_service_options){0});
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const glow_input in = {.name = "at", .data = at, .bytes = sizes[i]};
        glow_request *r = glow_service_run(b.service, &in, 1, NULL);
        glow_report_text why;

        assert_int_equal(glow_fence_wait(glow_request_fence(r), NEVER, &why),
                         GLOW_RUN_INVALID);
        assert_non_null(strstr(why.text, "takes 16 for each sample"));
        glow_request_release(r);
    }
    end(&b);
}

/* A request is done when its last batch is, whichever of them that is. */
static void
test_batches_of_a_request_end_in_any_order(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 30 * MS});
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "e"});
    add_service(&b, (glow_service_options){.batch_ns = MS});
    for (int i = 0; i < 4; i++) {
        glow_request *r = ask(&b, i, 40, -1, NULL),
                     *other = ask(&b, 9, 3, -1, NULL);

        expect(r, i, 40);
        expect(other, 9, 3);
    }
    end(&b);
}

/* A batch of a split request fails: the others in its batches do not. */
static void
test_a_batch_of_a_request_fails(void **state)
{
    glow_request *before, *bad, *after;
    int ends = 0;
    const glow_request_options o = {.then = count_end, .user = &ends};
    bench b;

    (void)state;
    for (int at = 0; at < 20; at += 5) {
        begin(&b, NULL);
        add_device(&b, &glow_run_device_local,
                   (glow_run_device_options){.name = "d"});
        add_service(&b,
                    (glow_service_options){.active = 2, .batch_ns = 20 * MS});
        ends = 0;
        before = ask(&b, 1, 3, -1, &o);
        bad = ask(&b, 2, 20, at, &o);
        after = ask(&b, 3, 4, -1, &o);
        expect(before, 1, 3);
        expect_outcome(bad, GLOW_RUN_FAILED);
        expect(after, 3, 4);
        expect_ends(&ends, 3);
        end(&b);
    }
}

/*
 * One run fails.  The slices of a batch of several requests are tried again; the first and
 * the last batch have samples of one alone.
 */
static void
test_slices_are_tried_again(void **state)
{
    static const int fails[] = {-1, 0, -1, -1, 2}; /* the request, by the run */
    bench b;

    (void)state;
    for (int run = 1; run < 5; run++) {
        glow_request *r[3];

        begin(&b, NULL);
        set_gate(&b);
        add_device(&b, &glow_run_device_sim,
                   (glow_run_device_options){
                       .name = "d", .backend = &gated_backend, .fail_at = run});
        add_service(&b,
                    (glow_service_options){.active = 1, .batch_ns = 5 * MS});
        for (int i = 0; i < 3; i++)
            r[i] = ask(&b, i, 9, -1, NULL);
        let(100);
        for (int i = 0; i < 3; i++)
            if (i == fails[run])
                expect_outcome(r[i], GLOW_RUN_FAILED);
            else
                expect(r[i], i, 9);
        end(&b);
    }
}

/* A device that is lost in a batch of a split request changes nothing. */
static void
test_a_device_is_lost_between(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .die_at = 2});
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "e"});
    add_service(&b, (glow_service_options){.batch_ns = 5 * MS});
    for (int i = 0; i < 4; i++)
        expect(ask(&b, i, 30, -1, NULL), i, 30);
    end(&b);
}

/* One request of a batch ends the processes of its devices: it is refused, and no other. */
static void
test_one_of_a_batch_ends_devices(void **state)
{
    glow_request *r[4];
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_remote,
               (glow_run_device_options){.name = "d"});
    add_device(&b, &glow_run_device_remote,
               (glow_run_device_options){.name = "e"});
    add_service(&b, (glow_service_options){.batch_ns = 300 * (int64_t)MS});
    bad_index = ENDS;
    r[0] = ask(&b, 0, 2, -1, NULL);
    r[1] = ask(&b, 1, 3, 1, NULL);
    bad_index = TABLE;
    r[2] = ask(&b, 2, 3, -1, NULL);
    r[3] = ask(&b, 3, 9, -1, NULL);
    expect(r[0], 0, 2);
    expect_outcome(r[1], GLOW_RUN_REFUSED);
    expect(r[2], 2, 3);
    expect(r[3], 3, 9);
    end(&b);
}

/* The deadline passes, or the caller cancels, while the second of five batches runs. */
static void
test_a_request_ends_between(void **state)
{
    bench b;

    (void)state;
    for (int late = 0; late < 2; late++) {
        int ends = 0;
        glow_request_options o = {.then = count_end, .user = &ends};
        glow_request *r, *other;

        begin(&b, NULL);
        add_gated_device(&b);
        add_service(&b, (glow_service_options){.active = 1, .batch_ns = MS});
        let(1);
        if (late)
            o.deadline = glow_now() + 1000 * (int64_t)MS;
        r = ask(&b, 1, 36, -1, &o);
        await(2);
        other = ask(&b, 2, 12, -1, NULL);
        if (!late)
            glow_request_cancel(r);
        assert_int_equal(outcome_of(r),
                         late ? GLOW_RUN_LATE : GLOW_RUN_CANCELLED);
        expect_ends(&ends, 1);
        let(100);
        expect(other, 2, 12);
        assert_int_equal(gate.begun, 4); /* its other samples have not run */
        glow_request_release(r);
        end(&b);
    }
}

static void *
free_host(void *host)
{
    glow_host_free(host);
    return NULL;
}

/* A host that closes does what it has begun, and refuses what it has not. */
static void
test_a_host_closes_between(void **state)
{
    glow_request *r, *other, *refused;
    pthread_t thread;
    bench b;

    (void)state;
    begin(&b, NULL);
    add_gated_device(&b);
    add_service(&b, (glow_service_options){.active = 1,
                                           .batch_ns = 100000 * (int64_t)MS});
    let(1);
    r = ask(&b, 1, 20, -1, NULL); /* two batches, and a rest that would wait */
    await(2);
    other = ask(&b, 2, 7, -1, &(glow_request_options){.priority = -1});
    assert_int_equal(pthread_create(&thread, NULL, free_host, b.host), 0);
    expect_outcome(other, GLOW_RUN_REFUSED);
    refused = ask(&b, 3, 1, -1, NULL);
    expect_outcome(refused, GLOW_RUN_REFUSED);
    let(100);
    expect(r, 1, 20);
    glow_service_release(b.service);
    pthread_join(thread, NULL);
    b.service = NULL;
    b.host = NULL;
    assert_int_equal(gate.begun, 3);
    end(&b);
}

/* All are cancelled: begun, in part begun, and not begun. */
static void
test_all_are_cancelled_between(void **state)
{
    glow_request *r[3];
    bench b;

    (void)state;
    begin(&b, NULL);
    add_gated_device(&b);
    add_service(&b, (glow_service_options){.active = 1, .batch_ns = MS});
    r[0] = ask(&b, 1, 5, -1, NULL);
    r[1] = ask(&b, 2, 20, -1, NULL);
    await(1);
    r[2] = ask(&b, 3, 2, -1, NULL);
    glow_host_cancel(b.host);
    for (int i = 0; i < 3; i++)
        expect_outcome(r[i], GLOW_RUN_CANCELLED);
    let(100);
    end(&b);
}

/* A service that is removed does all that it took. */
static void
test_a_service_is_removed_between(void **state)
{
    glow_request *r;
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 5 * MS});
    add_service(&b, (glow_service_options){.active = 1, .batch_ns = MS});
    r = ask(&b, 1, 30, -1, NULL);
    assert_true(glow_host_remove(b.host, "net"));
    expect(r, 1, 30);
    assert_int_equal(batches_of(&b), 4);
    end(&b);
}

static void
note_order(void *user, glow_request *r)
{
    glow_request ***at = user;

    *(*at)++ = r;
}

/* A request of greater priority goes between the batches of a large one. */
static void
test_priority_goes_between(void **state)
{
    glow_request *order[3] = {0}, **at = order, *large, *low, *high;
    const glow_request_options plain = {.then = note_order, .user = &at},
                               next = {.priority = 1000,
                                       .then = note_order,
                                       .user = &at};
    bench b;

    (void)state;
    begin(&b, NULL);
    add_gated_device(&b);
    add_service(&b, (glow_service_options){.active = 1, .batch_ns = MS});
    large = ask(&b, 1, 40, -1, &plain);
    await(1);
    low = ask(&b, 2, 8, -1, &plain);
    high = ask(&b, 3, 8, -1, &next);
    let(100);
    expect(large, 1, 40);
    expect(low, 2, 8);
    expect(high, 3, 8);
    end(&b);
    assert_ptr_equal(order[0], high);
    assert_ptr_equal(order[1], large);
    assert_ptr_equal(order[2], low);
}

/* The queue counts requests, of however many samples, until all of these are taken. */
static void
test_the_queue_counts_requests(void **state)
{
    glow_request *r[2];
    bench b;

    (void)state;
    begin(&b, &(glow_host_options){.queue = 2});
    add_gated_device(&b);
    add_service(&b, (glow_service_options){.active = 1, .batch_ns = MS});
    r[0] = ask(&b, 0, 60, -1, NULL);
    r[1] = ask(&b, 1, 60, -1, NULL);
    await(1);
    expect_outcome(ask(&b, 2, 1, -1, NULL), GLOW_RUN_REFUSED);
    let(7); /* the first request is in batches 1 to 8 */
    await(8);
    expect_outcome(ask(&b, 3, 0, -1, NULL), GLOW_RUN_INVALID);
    let(100);
    expect(r[0], 0, 60);
    expect(ask(&b, 4, 1, -1, NULL), 4, 1);
    expect(r[1], 1, 60);
    end(&b);
}

/* Drawn requests of several callers, some of them wrong, late or cancelled. */
typedef struct caller {
    const bench *b;
    unsigned seed;
    int done, failed;
} caller;

static unsigned
draw(caller *c, unsigned n)
{
    c->seed = c->seed * 1103515245 + 12345;
    return (c->seed >> 16) % n;
}

static void *
call(void *user)
{
    caller *c = user;

    for (int i = 0; i < 40; i++) {
        glow_request *r[4];
        int seed[4], size[4], bad[4];

        for (int k = 0; k < 4; k++) {
            glow_request_options o = {.priority = (int)draw(c, 3)};

            seed[k] = (int)draw(c, 1000);
            size[k] = 1 + (int)draw(c, draw(c, 2) ? 4 : 3 * BATCH);
            bad[k] = draw(c, 8) ? -1 : (int)draw(c, (unsigned)size[k]);
            if (draw(c, 8) == 0)
                o.deadline = glow_now() + (int64_t)draw(c, 3) * MS;
            r[k] = ask(c->b, seed[k], size[k], bad[k], &o);
            if (draw(c, 8) == 0)
                glow_request_cancel(r[k]);
        }
        for (int k = 0; k < 4; k++) {
            glow_outcome got = outcome_of(r[k]);

            if (got == GLOW_RUN_DONE)
                check(r[k], seed[k], size[k]);
            c->done += got == GLOW_RUN_DONE && bad[k] < 0;
            /* A sample that fails has no result, and no sample fails by another. */
            c->failed += (got == GLOW_RUN_DONE && bad[k] >= 0) ||
                         (got == GLOW_RUN_FAILED && bad[k] < 0);
            glow_request_release(r[k]);
        }
    }
    return NULL;
}

static void
draw_requests(void (*add)(bench *b, glow_service_options o))
{
    const struct {
        const glow_run_device_api *api;
        int devices;
    } rows[] = {{&glow_run_device_local, 1},
                {&glow_run_device_local, 3},
                {&glow_run_device_sim, 2},
                {&glow_run_device_remote, 2}};
    static const char *const names[] = {"d", "e", "f"};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        caller c[3];
        pthread_t threads[3];
        glow_service_statistics x;
        int64_t ended = 0;
        int done = 0;
        bench b;

        begin(&b, NULL);
        for (int d = 0; d < rows[i].devices; d++)
            add_device(&b, rows[i].api,
                       (glow_run_device_options){.name = names[d]});
        add(&b, (glow_service_options){.batch_ns = MS / 2});
        for (int k = 0; k < 3; k++) {
            c[k] = (caller){.b = &b, .seed = (unsigned)(10 * i) + (unsigned)k};
            assert_int_equal(pthread_create(&threads[k], NULL, call, &c[k]), 0);
        }
        for (int k = 0; k < 3; k++) {
            pthread_join(threads[k], NULL);
            assert_int_equal(c[k].failed, 0);
            done += c[k].done;
        }
        glow_service_count(b.service, &x);
        for (int o = 0; o < GLOW_RUN_OUTCOMES; o++)
            ended += x.ended[o];
        assert_int_equal(ended, 3 * 40 * 4);
        assert_int_equal(x.ended[GLOW_RUN_DONE], done);
        assert_true(done > 100);
        end(&b);
    }
}

static void
test_drawn_requests(void **state)
{
    (void)state;
    draw_requests(add_service);
}

static void
test_drawn_requests_of_sizes(void **state)
{
    (void)state;
    draw_requests(add_service_of_sizes);
}

/* Sizes. */

/* Batches so far, by size: 1, 3 and 8 samples. */
static void
expect_batches(const bench *b, int one, int three, int eight)
{
    const int want[SIZES] = {one, three, eight}, of[SIZES] = {1, 3, BATCH};
    glow_service_size x[SIZES];

    assert_int_equal(glow_service_batch(b->service), BATCH);
    assert_int_equal(glow_service_sizes(b->service, x, SIZES), SIZES);
    for (int i = 0; i < SIZES; i++) {
        assert_int_equal(x[i].samples, of[i]);
        assert_int_equal(x[i].batches, want[i]);
    }
}

/* A batch goes to the least size that holds it, unless smaller ones took less time. */
static void
test_batches_have_sizes(void **state)
{
    glow_service_size sizes[SIZES];
    glow_buf text = {0};
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 30 * MS});
    add_service_of_sizes(&b,
                         (glow_service_options){.active = 1, .batch_ns = MS});
    expect(ask(&b, 1, 1, -1, NULL), 1, 1);
    expect_batches(&b, 1, 0, 0);
    expect(ask(&b, 2, 2, -1, NULL), 2, 2);
    expect_batches(&b, 1, 1, 0);
    expect(ask(&b, 3, 4, -1, NULL), 3, 4);
    expect_batches(&b, 1, 1, 1);
    expect(ask(&b, 4, 8, -1, NULL), 4, 8);
    expect_batches(&b, 1, 1, 2);
    /* All sizes take the same time: one run is less than two. */
    expect(ask(&b, 5, 4, -1, NULL), 5, 4);
    expect_batches(&b, 1, 1, 3);
    expect(ask(&b, 6, 19, -1, NULL), 6, 19);
    expect_batches(&b, 1, 2, 5);
    glow_service_sizes(b.service, sizes, SIZES);
    for (int i = 0; i < SIZES; i++)
        assert_true(sizes[i].busy_ns >= 30 * MS * sizes[i].batches);
    glow_host_metrics(b.host, &text);
    assert_non_null(strstr(
        text.text, "glow_batches_total{service=\"net\",samples=\"3\"} 2\n"));
    assert_non_null(
        strstr(text.text, "glow_batched_samples_total{service=\"net\"} 38\n"));
    glow_buf_free(&text);
    end(&b);
}

/* A backend that takes 20 ms for each sample, of padding too. */
static glow_backend slow_backend;
static bool (*run_slow)(glow_executable *x, const glow_binding *bindings,
                        int count);

static bool
run_by_samples(glow_executable *x, const glow_binding *bindings, int count)
{
    int64_t n = bindings[0].tensor->type->shape.at[0];

    nanosleep(&(struct timespec){.tv_nsec = (long)n * 20 * MS}, NULL);
    return run_slow(x, bindings, count);
}

static void
test_sizes_are_chosen_by_time(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL);
    slow_backend = *glow_find_backend(b.ctx, "interp");
    run_slow = slow_backend.run;
    slow_backend.run = run_by_samples;
    add_device(
        &b, &glow_run_device_local,
        (glow_run_device_options){.name = "d", .backend = &slow_backend});
    add_service_of_sizes(&b,
                         (glow_service_options){.active = 1, .batch_ns = MS});
    expect(ask(&b, 1, 8, -1, NULL), 1, 8);
    expect(ask(&b, 2, 3, -1, NULL), 2, 3);
    expect(ask(&b, 3, 1, -1, NULL), 3, 1);
    expect_batches(&b, 1, 1, 1);
    expect(ask(&b, 4, 4, -1, NULL), 4, 4); /* 80 ms instead of 160 */
    expect_batches(&b, 2, 2, 1);
    end(&b);
}

/* Slices of a batch that failed are tried alone in the size that holds them. */
static void
test_a_batch_of_sizes_fails(void **state)
{
    glow_request *r[3];
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_local,
               (glow_run_device_options){.name = "d"});
    add_service_of_sizes(&b,
                         (glow_service_options){.batch_ns = 500 * (int64_t)MS});
    r[0] = ask(&b, 0, 1, -1, NULL);
    r[1] = ask(&b, 1, 3, 2, NULL);
    r[2] = ask(&b, 2, 4, -1, NULL);
    expect(r[0], 0, 1);
    expect_outcome(r[1], GLOW_RUN_FAILED);
    expect(r[2], 2, 4);
    expect_batches(&b, 1, 1, 2);
    end(&b);
}

/* Sizes in parts: values between them have no first axis that counts samples. */
static void
test_parts_have_sizes(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL);
    for (int i = 0; i < SIZES; i++) {
        FILE *f = fopen(b.path[i], "w");

        assert_non_null(f);
        fprintf(
            f,
            "gir 1\n"
            "placeholder @at : index64<%d x 2>\n"
            "placeholder @y : index64<%d x 2>\n"
            "placeholder @a : index64<%d x 2>\n"
            "placeholder @b : index64<2 x %d>\n"
            "placeholder @c : index64<2 x %d>\n"
            "placeholder @d : index64<%d x 2>\n"
            "function @p attributes {Inputs: [@a], Outputs: [@b]} {\n"
            "  %%t = Transpose(@a) {Shuffle: [1, 0]} : index64<2 x %d>\n"
            "  %%s = Save(%%t, @b)\n"
            "}\n"
            "function @q attributes {Inputs: [@c], Outputs: [@d]} {\n"
            "  %%t = Transpose(@c) {Shuffle: [1, 0]} : index64<%d x 2>\n"
            "  %%s = Save(%%t, @d)\n"
            "}\n"
            "function @main {\n"
            "  %%p = Run([@at]) {Body: @p, Device: \"d\"} : index64<2 x %d>\n"
            "  %%q = Run([%%p]) {Body: @q, Device: \"e\"} : index64<%d x 2>\n"
            "  %%s = Save(%%q, @y)\n"
            "}\n",
            samples_of[i], samples_of[i], samples_of[i], samples_of[i],
            samples_of[i], samples_of[i], samples_of[i], samples_of[i],
            samples_of[i], samples_of[i]);
        fclose(f);
    }
    add_device(&b, &glow_run_device_local,
               (glow_run_device_options){.name = "d"});
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "e"});
    add_service_of_sizes(&b, (glow_service_options){.batch_ns = MS});
    for (int n = 1; n < 30; n++) {
        glow_request *r = ask(&b, n, n, -1, NULL);
        const int64_t *y;
        size_t bytes;

        assert_int_equal(outcome_of(r), GLOW_RUN_DONE);
        y = glow_request_output(r, "y", &bytes);
        assert_int_equal(bytes, (size_t)n * 16);
        for (int i = 0; i < n; i++) {
            int64_t at[2];

            set_sample(at, n, i);
            assert_memory_equal(&y[2 * i], at, sizeof at);
        }
        glow_request_release(r);
    }
    end(&b);
}

/* Bytes that a device holds for a service of these sizes, which gives right results. */
static int64_t
bytes_of_sizes(int first, int more, int queues)
{
    const char *sizes[1];
    const char *at;
    glow_buf text = {0};
    int64_t bytes = 0;
    bench b;

    begin(&b, NULL);
    sizes[0] = b.path[2];
    add_device(
        &b, &glow_run_device_local,
        (glow_run_device_options){.name = "d",
                                  .backend = glow_find_backend(b.ctx, "cpu"),
                                  .queues = queues});
    assert_true(
        glow_host_add(b.host, b.ctx,
                      &(glow_service_options){.name = "net",
                                              .path = b.path[first],
                                              .batch = samples_of[first],
                                              .batch_ns = MS,
                                              .sizes = sizes,
                                              .n_sizes = more}));
    b.service = glow_host_find(b.host, "net");
    for (int n = 1; n < 20; n += 3) {
        glow_request *r = ask(&b, n, n, -1, NULL);

        assert_int_equal(outcome_of(r), GLOW_RUN_DONE);
        glow_request_release(r);
    }
    glow_host_metrics(b.host, &text);
    at = strstr(text.text, "\nglow_device_memory_bytes{device=\"d\"} ");
    assert_non_null(at);
    bytes = atoll(strrchr(strtok((char *)(uintptr_t)(at + 1), "\n"), ' '));
    glow_buf_free(&text);
    end(&b);
    return bytes;
}

/* Sizes whose packed constants are the same hold them once, for all queues. */
static void
test_sizes_share_constants(void **state)
{
    (void)state;
    if (THREAD_SANITIZER) {
        print_message(
            "# left out: LLVM is not built for the sanitizer of threads\n");
        return;
    }
    for (int queues = 1; queues < 3; queues++) {
        int64_t eight = bytes_of_sizes(0, 0, queues),
                three = bytes_of_sizes(2, 0, queues);

        assert_true(bytes_of_sizes(0, 1, queues) <= eight + three - 4 * TABLE);
    }
}

static int
use_executor(void **state)
{
    executor = *state;
    return 0;
}

#define ON(name, test)                                        \
    {                                                         \
        #test " on " name, test, use_executor, NULL, (char[]) \
        {                                                     \
            name                                              \
        }                                                     \
    }
#define TESTS_OF(name)                                                    \
    ON(name, test_requests_are_split), ON(name, test_samples_are_whole),  \
        ON(name, test_batches_of_a_request_end_in_any_order),             \
        ON(name, test_a_batch_of_a_request_fails),                        \
        ON(name, test_slices_are_tried_again),                            \
        ON(name, test_a_device_is_lost_between),                          \
        ON(name, test_one_of_a_batch_ends_devices),                       \
        ON(name, test_a_request_ends_between),                            \
        ON(name, test_a_host_closes_between),                             \
        ON(name, test_all_are_cancelled_between),                         \
        ON(name, test_a_service_is_removed_between),                      \
        ON(name, test_priority_goes_between),                             \
        ON(name, test_the_queue_counts_requests),                         \
        ON(name, test_drawn_requests), ON(name, test_batches_have_sizes), \
        ON(name, test_sizes_are_chosen_by_time),                          \
        ON(name, test_a_batch_of_sizes_fails),                            \
        ON(name, test_parts_have_sizes),                                  \
        ON(name, test_drawn_requests_of_sizes)

static bool
ends(const glow_tensor *input)
{
    for (int64_t k = 0;
         k < glow_type_count(input->type) && input->type->elem == GLOW_INDEX64;
         k++)
        if (((const int64_t *)input->data)[k] == ENDS)
            return true;
    return false;
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TESTS_OF("threads"),
        TESTS_OF("serial"),
        cmocka_unit_test(test_sizes_share_constants),
    };

    if (argc > 1 && strcmp(argv[1], as_device[1]) == 0)
        return serve(ends);
    compute_directly();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
