/* The threads on which the executor `threads` runs commands. */

#include "hosts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "glow/backend.h"

enum { PARTS = 6, DEVICES = 3, RUNS = 6000, CALLERS = 4, CALLS = 50 };

static glow_backend backends[DEVICES];
static pthread_t threads[RUNS]; /* of runs, in their order */
static atomic_int runs, of_device[DEVICES], running, most;
static atomic_int held = -1; /* the device whose runs wait */
static atomic_long pause_ns; /* that a run takes */

static void
wait_ns(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static bool
note_run(int device)
{
    int n = atomic_fetch_add(&runs, 1), now = atomic_fetch_add(&running, 1) + 1;
    int seen = atomic_load(&most);

    while (seen < now && !atomic_compare_exchange_weak(&most, &seen, now))
        ;
    if (n < RUNS)
        threads[n] = pthread_self();
    atomic_fetch_add(&of_device[device], 1);
    if (atomic_load(&pause_ns))
        wait_ns(atomic_load(&pause_ns));
    while (atomic_load(&held) == device)
        wait_ns(100000);
    atomic_fetch_sub(&running, 1);
    return true;
}

#define RUN_OF(device)                                                        \
    static bool run##device(glow_executable *x, const glow_binding *b, int n) \
    {                                                                         \
        (void)x, (void)b, (void)n;                                            \
        return note_run(device);                                              \
    }
RUN_OF(0)
RUN_OF(1)
RUN_OF(2)

/* A chain of parts on three devices in turn. */
static void
begin(bench *b, const glow_host_options *o)
{
    bool (*const run[])(glow_executable *, const glow_binding *,
                        int) = {run0, run1, run2};
    glow_buf text = {0};
    char from[16] = "@x";

    glow_buf_puts(
        &text, "gir 1\nplaceholder @x : float<1>\nplaceholder @y : float<1>\n");
    for (int i = 0; i < PARTS; i++)
        glow_buf_printf(
            &text,
            "placeholder @i%d : float<1>\nplaceholder @o%d : float<1>\n"
            "function @part%d attributes {Inputs: [@i%d], Outputs: [@o%d]} {\n"
            "  %%a = Relu(@i%d) : float<1>\n  %%s = Save(%%a, @o%d)\n}\n",
            i, i, i, i, i, i, i);
    glow_buf_puts(&text, "function @main {\n");
    for (int i = 0; i < PARTS; i++) {
        glow_buf_printf(
            &text,
            "  %%p%d = Run([%s]) {Body: @part%d, Device: \"d%d\"} : float<1>\n",
            i, from, i, i % DEVICES);
        snprintf(from, sizeof from, "%%p%d", i);
    }
    glow_buf_printf(&text, "  %%s = Save(%s, @y)\n}\n", from);
    open_bench(b, "executors", text.text, o);
    glow_buf_free(&text);
    for (int i = 0; i < DEVICES; i++) {
        static const char *const names[] = {"d0", "d1", "d2"};

        backends[i] = *glow_find_backend(b->ctx, "interp");
        backends[i].run = run[i];
        assert_true(glow_host_add_device(
            b->host, b->ctx, &glow_run_device_local,
            &(glow_run_device_options){.name = names[i],
                                       .backend = &backends[i]}));
        atomic_store(&of_device[i], 0);
    }
    add_service(b, (glow_service_options){.active = 8});
    atomic_store(&runs, 0);
    atomic_store(&most, 0);
    atomic_store(&pause_ns, 0);
}

static glow_request *
ask(bench *b, bool calls, const glow_request_options *o)
{
    static const float x = 1;

    return (calls ? glow_service_call : glow_service_run)(
        b->service, &(glow_input){.name = "x", .data = &x, .bytes = sizeof x},
        1, o);
}

static void
finish(glow_request *r)
{
    size_t bytes;

    wait_for_y(r, &bytes);
    glow_request_release(r);
}

/* The number of runs so far that thread `t` did. */
static int
count_runs(pthread_t t)
{
    int n = 0;

    for (int i = 0; i < atomic_load(&runs); i++)
        n += pthread_equal(threads[i], t) != 0;
    return n;
}

/*
 * The thread that ran a part goes on with the next one, whatever its device.  Each request
 * has a host of its own, since a thread may hold a device a little longer than its request.
 */
static void
test_chains_stay_on_their_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        bench b;

        begin(&b, NULL);
        finish(ask(&b, false, NULL));
        assert_int_equal(atomic_load(&runs), PARTS);
        assert_int_equal(count_runs(threads[0]), PARTS);
        assert_int_equal(count_runs(pthread_self()), 0);
        end(&b);
    }
}

/* A caller that waits runs all parts, unless a limit would end them. */
static void
test_calls_run_on_their_caller(void **state)
{
    const int64_t minute = (int64_t)60000 * MS;

    (void)state;
    for (int limit = 0; limit < 3; limit++) {
        bench b;
        glow_request_options o = {0};

        begin(&b, &(glow_host_options){.limit_ns = limit == 1 ? minute : 0});
        if (limit == 2)
            o.deadline = glow_now() + minute;
        for (int i = 0; i < 10; i++)
            finish(ask(&b, true, &o));
        assert_int_equal(count_runs(pthread_self()), limit ? 0 : 10 * PARTS);
        end(&b);
    }
}

/* A call that is wrong runs nothing. */
static void
test_wrong_calls(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL);
    expect_failure(glow_service_call(b.service, NULL, 0, NULL),
                   GLOW_RUN_INVALID, "input x is missing");
    assert_int_equal(atomic_load(&runs), 0);
    end(&b);
}

/* Requests that are in the pipeline at once keep all devices busy. */
static void
test_devices_run_at_once(void **state)
{
    glow_request *r[8];
    bench b;

    (void)state;
    begin(&b, NULL);
    atomic_store(&pause_ns, 5 * MS);
    for (int i = 0; i < 8; i++)
        r[i] = ask(&b, false, NULL);
    for (int i = 0; i < 8; i++)
        finish(r[i]);
    assert_int_equal(atomic_load(&most), DEVICES);
    end(&b);
}

/* A thread that hangs on the device that it went on to holds up no other device. */
static void
test_other_devices_go_on(void **state)
{
    glow_request *r[4];
    bench b;

    (void)state;
    begin(&b, NULL);
    atomic_store(&held, 1);
    for (int i = 0; i < 4; i++)
        r[i] = ask(&b, false, NULL);
    for (int i = 0; i < 10000 && atomic_load(&of_device[0]) < 4; i++)
        wait_ns(MS);
    assert_int_equal(atomic_load(&of_device[0]), 4);
    assert_int_equal(atomic_load(&of_device[1]), 1);
    atomic_store(&held, -1);
    for (int i = 0; i < 4; i++)
        finish(r[i]);
    end(&b);
}

static void *
call_often(void *user)
{
    for (int i = 0; i < CALLS; i++)
        finish(ask(user, i % 4 != 3, NULL));
    return NULL;
}

/* Callers and threads of devices share the runs. */
static void
test_many_callers(void **state)
{
    pthread_t callers[CALLERS];
    bench b;

    (void)state;
    begin(&b, NULL);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, &b), 0);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], NULL);
    assert_int_equal(atomic_load(&runs), CALLERS * CALLS * PARTS);
    for (int i = 0; i < DEVICES; i++)
        assert_int_equal(atomic_load(&of_device[i]),
                         CALLERS * CALLS * PARTS / DEVICES);
    end(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains_stay_on_their_thread),
        cmocka_unit_test(test_calls_run_on_their_caller),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_devices_run_at_once),
        cmocka_unit_test(test_other_devices_go_on),
        cmocka_unit_test(test_many_callers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
