/*
 * Batches: requests that are split, and put together; their failures, deadlines, and ends
 * between two batches.
 */

#include "batches.h"

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

static void
set_gate(bench *b)
{
    gated_backend = *glow_find_backend(b->ctx, "interp");
    run_gated = gated_backend.run;
    gated_backend.run = run_at_gate;
    gate.begun = gate.may = 0;
}

static void
add_gated_device(bench *b)
{
    set_gate(b);
    add_device(
        b, &glow_run_device_local,
        (glow_run_device_options){.name = "d", .backend = &gated_backend});
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

static void
test_drawn_requests(void **state)
{
    (void)state;
    draw_requests(add_service);
}

#define TESTS_OF(name)                                                   \
    ON(name, test_requests_are_split), ON(name, test_samples_are_whole), \
        ON(name, test_batches_of_a_request_end_in_any_order),            \
        ON(name, test_a_batch_of_a_request_fails),                       \
        ON(name, test_slices_are_tried_again),                           \
        ON(name, test_a_device_is_lost_between),                         \
        ON(name, test_one_of_a_batch_ends_devices),                      \
        ON(name, test_a_request_ends_between),                           \
        ON(name, test_a_host_closes_between),                            \
        ON(name, test_all_are_cancelled_between),                        \
        ON(name, test_a_service_is_removed_between),                     \
        ON(name, test_priority_goes_between),                            \
        ON(name, test_the_queue_counts_requests),                        \
        ON(name, test_drawn_requests)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TESTS_OF("threads"),
        TESTS_OF("serial"),
    };

    if (argc > 1 && strcmp(argv[1], as_device[1]) == 0)
        return serve(ends);
    compute_directly();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
