/* Hosts of networks with state: objects that requests read and write in their order. */

#include "requests.h"
#include "sums.h"

#include <malloc.h>
#include <stdlib.h>

static const char *const sums_in_parts = SUMS_IN_PARTS("d", "e");

/* A service of `text` on devices d and e. */
static void
begin_sums(bench *b, const glow_host_options *o, const char *text,
           const glow_run_device_api *api, glow_run_device_options d)
{
    FILE *f;

    begin(b, o, 1);
    f = fopen(b->path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    d.name = "d";
    add_device(b, api, d);
    add_device(
        b, &glow_run_device_sim,
        (glow_run_device_options){.name = "e", .run_ns = d.run_ns}); /* alike */
    add_service(b, (glow_service_options){0});
}

/* Adds `v` to both sums of the object. */
static glow_request *
add_to(bench *b, glow_service_state *st, float v, int64_t at)
{
    const float x[2] = {v, 2 * v};
    const glow_input in[] = {
        {.name = "x", .data = x, .bytes = sizeof x},
        {.name = "at", .data = &at, .bytes = sizeof at},
    };

    return glow_service_run(b->service, in, 2,
                            &(glow_request_options){.state = st});
}

static void
expect_sum(glow_request *r, float want)
{
    glow_report_text why;
    size_t bytes;
    const float *y;

    if (glow_fence_wait(glow_request_fence(r), NEVER, &why) != GLOW_RUN_DONE)
        fail_msg("%s: %s", glow_outcome_name(why.outcome), why.text);
    assert_null(glow_request_output(r, "sum", &bytes));
    y = glow_request_output(r, "y", &bytes);
    assert_non_null(y);
    assert_int_equal(bytes, 4);
    if (*y != want)
        fail_msg("the sum is %g, not %g", *y, want);
    glow_request_release(r);
}

/* Requests on one object run in their order, and those on two apart. */
static void
sum_on(const char *text, const glow_run_device_api *api,
       glow_run_device_options d)
{
    enum { N = 40 };
    glow_request *r[2][N];
    glow_service_state *st[2];
    const glow_port *ports;
    float sum[2] = {0};
    bench b;

    begin_sums(&b, NULL, text, api, d);
    assert_true(glow_service_keeps(b.service));
    assert_int_equal(glow_service_ports(b.service, &ports), 3);
    for (int k = 0; k < 2; k++)
        st[k] = glow_service_state_new(b.service);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 2; k++)
            r[k][i] = add_to(&b, st[k], (float)(i + 100 * k), i % 2);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 2; k++) {
            sum[k] += (float)(i + 100 * k);
            expect_sum(r[k][i], sum[k] * (float)(1 + i % 2));
        }
    for (int k = 0; k < 2; k++)
        glow_service_state_release(st[k]);
    end(&b);
}

static void
test_state_is_kept(void **state)
{
    const char *const texts[] = {sums, sums_in_parts};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const glow_run_device_options one = {0}, two = {.queues = 2};

        sum_on(texts[i], &glow_run_device_local, two);
        sum_on(texts[i], &glow_run_device_sim, one);
        sum_on(texts[i], &glow_run_device_remote, one);
    }
}

/* No run counts twice or not at all, though a device dies in one. */
static void
test_state_survives_devices(void **state)
{
    (void)state;
    for (int k = 1; k < 6; k++)
        sum_on(sums, &glow_run_device_sim,
               (glow_run_device_options){.die_at = k});
    sum_on(sums_in_parts, &glow_run_device_sim,
           (glow_run_device_options){.die_at = 3});
}

static void
test_state_is_saved(void **state)
{
    glow_service_state *st, *copy, *other;
    glow_buf bytes = {0};
    char path[80];
    bench b;

    (void)state;
    begin_sums(&b, NULL, sums, &glow_run_device_local,
               (glow_run_device_options){0});
    snprintf(path, sizeof path, "%s.safetensors", b.path);
    st = glow_service_state_new(b.service);
    expect_sum(add_to(&b, st, 1, 0), 1);
    copy = glow_service_state_clone(st, b.ctx);
    assert_non_null(copy);
    glow_request_release(add_to(&b, st, 2, 0));
    assert_true(
        glow_service_state_save(st, b.ctx, path)); /* after that request */
    expect_sum(add_to(&b, st, 4, 0), 7);
    expect_sum(add_to(&b, copy, 8, 0), 9);
    other = glow_service_state_new(b.service);
    assert_true(glow_service_state_load(other, b.ctx, path));
    expect_sum(add_to(&b, other, 16, 0), 19);
    assert_true(glow_service_state_write(st, b.ctx, &bytes));
    assert_true(
        glow_service_state_read(other, b.ctx, "bytes", bytes.text, bytes.len));
    expect_sum(add_to(&b, other, 1, 0), 8);
    assert_false(
        glow_service_state_read(other, b.ctx, path, NULL, 0)); /* [E0604] */
    expect_sum(add_to(&b, other, 1, 0), 9);
    assert_false(glow_service_state_is_broken(other));
    glow_buf_free(&bytes);
    glow_service_state_release(st);
    glow_service_state_release(copy);
    glow_service_state_release(other);
    unlink(path);
    end(&b);
}

/* A request that is not done leaves state alone on devices with memory of their own. */
static void
test_state_of_failures(void **state)
{
    glow_service_state *st;
    bench b;

    (void)state;
    begin_sums(&b, NULL, sums, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 20 * MS});
    st = glow_service_state_new(b.service);
    expect_sum(add_to(&b, st, 1, 0), 1);
    expect_failure(add_to(&b, st, 2, 9), GLOW_RUN_FAILED, "part net on");
    expect_sum(add_to(&b, st, 4, 0), 5);
    for (int i = 0; i < 2; i++) { /* one that runs, one that waits */
        glow_request *first = add_to(&b, st, i == 0 ? 8 : 16, 0);
        glow_request *second = add_to(&b, st, 32, 0);

        glow_request_cancel(i == 0 ? first : second);
        expect_failure(i == 0 ? first : second, GLOW_RUN_CANCELLED,
                       "cancelled");
        expect_sum(i == 0 ? second : first, i == 0 ? 37 : 53);
    }
    glow_service_state_release(st);
    end(&b);
}

/* In host memory a run that fails breaks the object, until it is loaded. */
static void
test_state_is_broken(void **state)
{
    glow_service_state *st;
    glow_request *r[3];
    char path[80], ids[64] = "";
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    snprintf(path, sizeof path, "%s.safetensors", b.path);
    end(&b);
    begin_sums(&b, NULL, sums, &glow_run_device_local,
               (glow_run_device_options){0});
    glow_context_set_sink(b.ctx, keep_id, ids);
    assert_true(glow_host_add(b.host, b.ctx,
                              &(glow_service_options){
                                  .name = "net",
                                  .path = b.path,
                                  .devices = (const char *const[]){"d"},
                                  .n_devices = 1,
                              }));
    glow_service_release(b.service);
    b.service = glow_host_find(b.host, "net");
    st = glow_service_state_new(b.service);
    expect_sum(add_to(&b, st, 1, 0), 1);
    assert_true(glow_service_state_save(st, b.ctx, path));
    for (int i = 0; i < 3; i++)
        r[i] = add_to(&b, st, 2, i == 0 ? 9 : 0);
    expect_failure(r[0], GLOW_RUN_FAILED, "part net on d");
    expect_failure(r[1], GLOW_RUN_REFUSED, "its state object is broken");
    expect_failure(r[2], GLOW_RUN_REFUSED, "its state object is broken");
    assert_null(glow_service_state_clone(st, b.ctx));       /* [E1011] */
    assert_false(glow_service_state_save(st, b.ctx, path)); /* [E1011] */
    assert_string_equal(ids, "E1011E1011");
    assert_true(glow_service_state_load(st, b.ctx, path));
    expect_sum(add_to(&b, st, 4, 0), 5);
    glow_service_state_release(st);
    unlink(path);
    end(&b);
}

/* A backend in this process that hangs until it is told to go on. */
static glow_backend stuck_backend;
static bool (*run_freely)(glow_executable *x, const glow_binding *bindings,
                          int count);
static glow_timeline *go_on;

static bool
run_stuck(glow_executable *x, const glow_binding *bindings, int count)
{
    glow_fence_wait((glow_fence){go_on, 1}, NEVER, NULL);
    return run_freely(x, bindings, count);
}

/* Its thread may write for ever, so that nothing can have the object any more. */
static void
test_state_of_a_device_that_hangs(void **state)
{
    char ids[64] = "";
    glow_run_device_options o = {.name = "d", .backend = &stuck_backend};
    glow_service_state *st;
    glow_request *first, *second;
    FILE *f;
    bench b;

    (void)state;
    begin(&b, &(glow_host_options){.limit_ns = 20 * MS}, 1);
    f = fopen(b.path, "w");
    fputs(sums, f);
    fclose(f);
    go_on = glow_timeline_new();
    stuck_backend = *glow_find_backend(b.ctx, "interp");
    run_freely = stuck_backend.run;
    stuck_backend.run = run_stuck;
    assert_true(
        glow_host_add_device(b.host, b.ctx, &glow_run_device_local, &o));
    add_service(&b, (glow_service_options){0});
    glow_context_set_sink(b.ctx, keep_id, ids);
    st = glow_service_state_new(b.service);
    first = add_to(&b, st, 1, 0);
    second = add_to(&b, st, 1, 0);
    expect_failure(first, GLOW_RUN_LOST, "device d does not come back");
    expect_failure(second, GLOW_RUN_REFUSED, "its state object is broken");
    assert_false(
        glow_service_state_load(st, b.ctx, b.path));  /* [E1011] it may go on */
    assert_null(glow_service_state_clone(st, b.ctx)); /* [E1011] */
    assert_string_equal(ids, "E1011E1011");
    glow_service_state_release(st);
    glow_timeline_reach(go_on, 1);
    end(&b);
    glow_timeline_unref(go_on);
}

static void
test_state_objects_are_checked(void **state)
{
    char ids[64] = "";
    glow_service_options o = {.name = "n", .batch = 2};
    glow_service_state *st;
    bench b;

    (void)state;
    begin_sums(&b, NULL, sums, &glow_run_device_sim,
               (glow_run_device_options){0});
    expect_failure(add_to(&b, NULL, 1, 0), GLOW_RUN_INVALID,
                   "names no state object");
    st = glow_service_state_new(b.service);
    add_service(&b, (glow_service_options){0});
    expect_failure(add_to(&b, st, 1, 0), GLOW_RUN_INVALID,
                   "of another service");
    glow_service_state_release(st);
    o.path = b.path;
    glow_context_set_sink(b.ctx, keep_id, ids);
    assert_false(
        glow_host_add(b.host, b.ctx, &o)); /* [E1003] batches share nothing */
    assert_string_equal(ids, "E1003");
    end(&b);
}

/* The number in the environment, for long runs by hand, or `n`. */
static int
number_of(const char *name, int n)
{
    const char *text = getenv(name);

    return text ? atoi(text) : n;
}

/*
 * Loading a network again and again needs no more memory in the end than after the
 * first quarter, save for the free blocks that the allocator keeps for each thread and
 * counts as used: up to 512 KiB.
 */
static void
test_loading_leaks_nothing(void **state)
{
    const char *const texts[] = {sums, sums_in_parts};
    int loads = number_of("GLOW_TEST_LOADS", 400);
    size_t before = 0, after;
    bench b;

    (void)state;
    begin_sums(&b, NULL, sums, &glow_run_device_local,
               (glow_run_device_options){0});
    for (int i = 0; i < loads; i++) {
        FILE *f = fopen(b.path, "w");
        glow_service_state *st;

        assert_non_null(f);
        fputs(texts[i % 2], f);
        fclose(f);
        add_service(&b, (glow_service_options){0});
        st = glow_service_state_new(b.service);
        expect_sum(add_to(&b, st, 1, 0), 1);
        glow_service_state_release(st);
        if (i % 2 == 0)
            assert_true(glow_host_remove(b.host, "net"));
        if (i == loads / 4)
            before = mallinfo2().uordblks;
    }
    after = mallinfo2().uordblks;
    print_message("# %d loads: %zu bytes, %zu after a quarter\n", loads, after,
                  before);
    assert_true(after <= before + (512 << 10));
    end(&b);
}

/* Each executor does these, with queues that give work elsewhere in between. */
#define TESTS_OF(name)                                                   \
    ON(name, test_state_is_kept), ON(name, test_state_survives_devices), \
        ON(name, test_state_of_failures)

int
main(int argc, char **argv)
{
    const struct CMUnitTest of_starpu[] = {TESTS_OF("starpu")};
    const struct CMUnitTest tests[] = {
        TESTS_OF("threads"),
        cmocka_unit_test(test_state_is_saved),
        cmocka_unit_test(test_state_is_broken),
        cmocka_unit_test(test_state_of_a_device_that_hangs),
        cmocka_unit_test(test_state_objects_are_checked),
        cmocka_unit_test(test_loading_leaks_nothing),
        TESTS_OF("serial"),
        TESTS_OF("starpu"),
    };

    return run_on_executors(argc, argv, tests, sizeof tests / sizeof *tests,
                            sizeof of_starpu / sizeof *of_starpu);
}
