/*
 * Requests to a network that doubles and adds one, on devices in this process and in
 * others, and tests of them on each executor.
 */

#ifndef GLOW_TEST_REQUESTS_H
#define GLOW_TEST_REQUESTS_H

#include "hosts.h"
#include "mortal.h"

#define ENDS -0.5f /* an input that ends the process of its device */

static const char *executor = "threads"; /* of hosts */

static inline void
print_report(const glow_diag *d, void *user)
{
    (void)user;
    print_message("# %s: %s\n", d->id, d->message);
}

/* y = 2 x + 1 of so many rows of four. */
static inline void
begin(bench *b, const glow_host_options *o, int rows)
{
    glow_host_options own = {0};
    char name[32], text[512];

    snprintf(name, sizeof name, "runtime-%d", rows);
    snprintf(text, sizeof text,
             "gir 1\n"
             "placeholder @x : float<%d x 4>\n"
             "placeholder @y : float<%d x 4>\n"
             "constant @two : float<%d x 4> = splat(2.0)\n"
             "constant @one : float<%d x 4> = splat(1.0)\n"
             "function @main {\n"
             "  %%a = Mul(@x, @two) : float<%d x 4>\n"
             "  %%b = Add(%%a, @one) : float<%d x 4>\n"
             "  %%s = Save(%%b, @y)\n"
             "}\n",
             rows, rows, rows, rows, rows, rows);
    if (o)
        own = *o;
    own.executor = glow_executor_open(NULL, executor);
    assert_non_null(own.executor);
    open_bench(b, name, text, &own);
    glow_context_set_sink(b->ctx, print_report, NULL);
}

static inline void
add_device(bench *b, const glow_run_device_api *api, glow_run_device_options o)
{
    o.backend = glow_find_backend(b->ctx, "interp");
    o.command = as_device;
    assert_non_null(o.backend);
    assert_true(glow_host_add_device(b->host, b->ctx, api, &o));
}

/* A request of `n` rows that begin with `v`. */
static inline glow_request *
run(bench *b, float v, int n, const glow_request_options *o)
{
    float x[64];

    for (int i = 0; i < 4 * n; i++)
        x[i] = v + (float)i;
    return glow_service_run(
        b->service,
        &(glow_input){.name = "x", .data = x, .bytes = (size_t)n * 16}, 1, o);
}

/* It is done, and all of its elements are right. */
static inline void
expect(glow_request *r, float v, int n)
{
    size_t bytes;
    const float *y = wait_for_y(r, &bytes);

    assert_int_equal(bytes, 16 * n);
    for (int i = 0; i < 4 * n; i++)
        assert_true(y[i] == 2 * (v + (float)i) + 1);
    glow_request_release(r);
}

static inline int
use_executor(void **state)
{
    executor = *state;
    return 0;
}

/* True if this system has StarPU. */
static inline bool
has_starpu(void)
{
    glow_context *ctx = glow_context_new();
    glow_executor *x;

    glow_context_set_sink(ctx, print_report, NULL);
    x = glow_executor_open(ctx, "starpu");
    glow_executor_close(x);
    glow_context_free(ctx);
    if (!x)
        print_message("# left out: tests on StarPU\n");
    return x;
}

#define ON(name, test)                                        \
    {                                                         \
        #test " on " name, test, use_executor, NULL, (char[]) \
        {                                                     \
            name                                              \
        }                                                     \
    }

static inline bool
ends(const glow_tensor *input)
{
    return *(const float *)input->data == ENDS;
}

/* Runs the tests, of which the last `of_starpu` are on StarPU; or serves as a device. */
static inline int
run_on_executors(int argc, char **argv, const struct CMUnitTest *tests,
                 size_t count, size_t of_starpu)
{
    if (argc > 1 && strcmp(argv[1], as_device[1]) == 0)
        return serve(ends);
    return _cmocka_run_group_tests(
        "tests", tests, has_starpu() ? count : count - of_starpu, NULL, NULL);
}

#endif
