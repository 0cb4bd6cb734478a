/*
 * Batches of unit tests: a network in a file for each number of samples, hosts of it, and
 * requests whose results are those of runs without batches.
 */

#ifndef GLOW_TEST_BATCHES_H
#define GLOW_TEST_BATCHES_H

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

/* y = tanh(table[at]) for each of `rows` samples; an index of TABLE or more fails. */
static inline void
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

static inline void
print_report(const glow_diag *d, void *user)
{
    (void)user;
    print_message("# %s: %s\n", d->id, d->message);
}

static inline void
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
}

static inline void
add_device(bench *b, const glow_run_device_api *api, glow_run_device_options o)
{
    if (!o.backend)
        o.backend = glow_find_backend(b->ctx, "interp");
    o.command = as_device;
    assert_true(glow_host_add_device(b->host, b->ctx, api, &o));
}

static inline void
add_service(bench *b, glow_service_options o)
{
    o.name = "net";
    o.path = b->path[0];
    o.batch = BATCH;
    assert_true(glow_host_add(b->host, b->ctx, &o));
    b->service = glow_host_find(b->host, "net");
}

/* The same for batches of 1, 3 and 8 samples. */
static inline void
add_service_of_sizes(bench *b, glow_service_options o)
{
    const char *const sizes[] = {b->path[1], b->path[2]};

    o.sizes = sizes;
    o.n_sizes = 2;
    add_service(b, o);
}

static inline void
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
static inline void
set_sample(int64_t at[2], int seed, int i)
{
    at[0] = (seed * 31 + i * 7) % TABLE;
    at[1] = (seed * 17 + i * 3 + 1) % TABLE;
}

static int64_t bad_index = TABLE;

/* A request of `n` samples, of which sample `bad` has the bad index (-1: none). */
static inline glow_request *
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

static inline void
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
static inline void
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

static inline glow_outcome
outcome_of(const glow_request *r)
{
    return glow_fence_wait(glow_request_fence(r), NEVER, NULL);
}

static inline void
expect(glow_request *r, int seed, int n)
{
    glow_report_text why;

    if (glow_fence_wait(glow_request_fence(r), NEVER, &why) != GLOW_RUN_DONE)
        fail_msg("%s: %s", glow_outcome_name(why.outcome), why.text);
    check(r, seed, n);
    glow_request_release(r);
}

static inline void
expect_outcome(glow_request *r, glow_outcome o)
{
    assert_int_equal(outcome_of(r), o);
    glow_request_release(r);
}

/* Drawn requests of several callers, some of them wrong, late or cancelled. */
typedef struct caller {
    const bench *b;
    unsigned seed;
    int done, failed;
} caller;

static inline unsigned
draw(caller *c, unsigned n)
{
    c->seed = c->seed * 1103515245 + 12345;
    return (c->seed >> 16) % n;
}

static inline void *
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

static inline void
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

/* True if `input` ends the process of its device. */
static inline bool
ends(const glow_tensor *input)
{
    for (int64_t k = 0;
         k < glow_type_count(input->type) && input->type->elem == GLOW_INDEX64;
         k++)
        if (((const int64_t *)input->data)[k] == ENDS)
            return true;
    return false;
}

static inline int
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

#endif
