/* Hosts: the order of requests, their deadlines, and requests that end devices. */

#include "hosts.h"

#include <stdlib.h>
#include <time.h>

/* y = -x on sims of these options, one request at a time. */
static void
begin(bench *b, const glow_run_device_options *devices, int count)
{
    open_bench(b, "host",
               "gir 1\n"
               "placeholder @x : float<1>\n"
               "placeholder @y : float<1>\n"
               "function @main {\n"
               "  %a = Neg(@x) : float<1>\n"
               "  %s = Save(%a, @y)\n"
               "}\n",
               NULL);
    for (int i = 0; i < count; i++) {
        glow_run_device_options o = devices[i];

        o.backend = glow_find_backend(b->ctx, "interp");
        assert_true(
            glow_host_add_device(b->host, b->ctx, &glow_run_device_sim, &o));
    }
    add_service(b, (glow_service_options){.active = 1});
}

static glow_request *
ask(bench *b, float v, const glow_request_options *o)
{
    return glow_service_run(
        b->service, &(glow_input){.name = "x", .data = &v, .bytes = sizeof v},
        1, o);
}

static void
expect(glow_request *r, float v)
{
    size_t bytes;

    assert_true(*wait_for_y(r, &bytes) == -v);
    glow_request_release(r);
}

/* A request that ended two devices is not tried on a third, and others are. */
static void
test_poison(void **state)
{
    const glow_run_device_options devices[] = {{.name = "d", .die_at = 1},
                                               {.name = "e", .die_at = 1},
                                               {.name = "f", .die_at = 1}};
    bench b;

    (void)state;
    begin(&b, devices, 3);
    expect_failure(ask(&b, 1, NULL), GLOW_RUN_REFUSED, "it ended two devices");
    expect(ask(&b, 2, NULL), 2); /* f dies too, and d or e is there again */
    end(&b);
}

static void
note_order(void *user, glow_request *r)
{
    glow_request ***at = user;

    *(*at)++ = r;
}

/* A step of priority is worth 100 ms of waiting, so that none waits for ever. */
static void
test_ageing(void **state)
{
    const glow_run_device_options device = {.name = "d", .run_ns = 400 * MS};
    glow_request *order[3] = {0}, **at = order, *first, *old, *high;
    const glow_request_options plain = {.then = note_order, .user = &at},
                               next = {.priority = 1,
                                       .then = note_order,
                                       .user = &at};
    bench b;

    (void)state;
    begin(&b, &device, 1);
    first = ask(&b, 1, &plain);
    old = ask(&b, 2, &plain);
    nanosleep(&(struct timespec){.tv_nsec = 150 * MS}, NULL);
    high = ask(&b, 3, &next);
    expect(first, 1);
    expect(old, 2);
    expect(high, 3);
    end(&b);
    assert_ptr_equal(order[0], first);
    assert_ptr_equal(order[1], old);
    assert_ptr_equal(order[2], high);
}

/* The deadline ends a request that runs, and not the run after it. */
static void
test_late_runs(void **state)
{
    const glow_run_device_options device = {.name = "d", .run_ns = 200 * MS};
    glow_request *late, *next;
    bench b;

    (void)state;
    begin(&b, &device, 1);
    late =
        ask(&b, 1, &(glow_request_options){.deadline = glow_now() + 20 * MS});
    next = ask(&b, 2, NULL);
    expect_failure(late, GLOW_RUN_LATE, "the deadline passed");
    expect(next, 2);
    end(&b);
}

/* So does a caller; a request that has ended stays as it is. */
static void
test_cancelled_runs(void **state)
{
    const glow_run_device_options device = {.name = "d", .run_ns = 100 * MS};
    glow_request *unwanted, *next;
    bench b;

    (void)state;
    begin(&b, &device, 1);
    unwanted = ask(&b, 1, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 20 * MS}, NULL);
    next = ask(&b, 2, NULL);
    glow_request_cancel(unwanted);
    expect_failure(unwanted, GLOW_RUN_CANCELLED, "it was cancelled");
    assert_int_equal(glow_fence_wait(glow_request_fence(next), NEVER, NULL),
                     GLOW_RUN_DONE);
    glow_request_cancel(next);
    expect(next, 2);
    end(&b);
}

/* Runs of device `name` so far. */
static int
runs_of(bench *b, const char *name)
{
    char line[80];
    glow_buf text = {0};
    const char *at;
    int runs;

    glow_host_metrics(b->host, &text);
    snprintf(line, sizeof line, "glow_device_runs_total{device=\"%s\"} ", name);
    at = strstr(text.text, line);
    assert_non_null(at);
    runs = atoi(at + strlen(line));
    glow_buf_free(&text);
    return runs;
}

static void
ask_at_once(bench *b, int count)
{
    glow_request *r[64];

    for (int i = 0; i < count; i++)
        r[i] = ask(b, (float)i, NULL);
    for (int i = 0; i < count; i++)
        expect(r[i], (float)i);
}

/*
 * Of two devices, the slow one first, requests that come alone go to the fast one once the
 * times are known; of many at once each has as many as it runs in the same time.
 */
static void
test_unlike_devices(void **state)
{
    const glow_run_device_options devices[] = {
        {.name = "slow", .run_ns = 40 * MS},
        {.name = "fast", .run_ns = 2 * MS}};
    int before;
    bench b;

    (void)state;
    begin(&b, devices, 2);
    for (int i = 0; i < 8; i++)
        expect(ask(&b, 1, NULL), 1);
    before = runs_of(&b, "slow");
    for (int i = 0; i < 20; i++)
        expect(ask(&b, 2, NULL), 2);
    assert_int_equal(runs_of(&b, "slow"), before);
    add_service(&b, (glow_service_options){.active = 64});
    ask_at_once(&b, 64); /* a new service: no times are known */
    assert_in_range(runs_of(&b, "slow") - before, 1, 16);
    end(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_ageing),
        cmocka_unit_test(test_late_runs),
        cmocka_unit_test(test_cancelled_runs),
        cmocka_unit_test(test_unlike_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
