/* Hosts: requests on devices in this process, and on ones that fail. */

#include "hosts.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "glow/pass.h"

#define ENDS -0.5f /* an input that ends the process of its device */

/* This program as a device in a process of its own. */
static const char *const as_device[] = {"/proc/self/exe", "serve", NULL};

static const char *executor = "threads"; /* of hosts */

static void
print_report(const glow_diag *d, void *user)
{
    (void)user;
    print_message("# %s: %s\n", d->id, d->message);
}

/* y = 2 x + 1 of so many rows of four. */
static void
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

static void
add_device(bench *b, const glow_run_device_api *api, glow_run_device_options o)
{
    o.backend = glow_find_backend(b->ctx, "interp");
    o.command = as_device;
    assert_non_null(o.backend);
    assert_true(glow_host_add_device(b->host, b->ctx, api, &o));
}

/* A request of `n` rows that begin with `v`. */
static glow_request *
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
static void
expect(glow_request *r, float v, int n)
{
    size_t bytes;
    const float *y = wait_for_y(r, &bytes);

    assert_int_equal(bytes, 16 * n);
    for (int i = 0; i < 4 * n; i++)
        assert_true(y[i] == 2 * (v + (float)i) + 1);
    glow_request_release(r);
}

static void
test_kinds(void **state)
{
    const glow_run_device_api *const kinds[] = {
        &glow_run_device_local, &glow_run_device_sim, &glow_run_device_remote};

    (void)state;
    for (int k = 0; k < 3; k++) {
        bench b;
        glow_request *r[100];

        begin(&b, NULL, 2);
        add_device(
            &b, kinds[k],
            (glow_run_device_options){.name = "d", .queues = k == 0 ? 2 : 1});
        add_service(&b, (glow_service_options){0});
        for (int i = 0; i < 100; i++)
            r[i] = run(&b, (float)i, 2, NULL);
        for (int i = 0; i < 100; i++)
            expect(r[i], (float)i, 2);
        end(&b);
    }
}

static void
test_inputs(void **state)
{
    float x[8] = {0};
    bench b;

    (void)state;
    begin(&b, NULL, 2);
    add_device(&b, &glow_run_device_local,
               (glow_run_device_options){.name = "d"});
    add_service(&b, (glow_service_options){0});
    assert_null(glow_host_find(b.host, "other"));
    expect_failure(glow_service_run(b.service, NULL, 0, NULL), GLOW_RUN_INVALID,
                   "input x is missing");
    expect_failure(run(&b, 0, 1, NULL), GLOW_RUN_INVALID,
                   "input x has 16 bytes, and net takes 32");
    expect_failure(glow_service_run(b.service,
                                    &(glow_input){.name = "y", .data = x}, 1,
                                    NULL),
                   GLOW_RUN_INVALID, "net has no input y");
    end(&b);
}

/* The second load finds the network in the cache. */
static void
test_networks_are_cached(void **state)
{
    char folder[] = "/tmp/glow-cache-XXXXXX", command[64];
    const glow_target_options code = {.cache = mkdtemp(folder)};

    (void)state;
    assert_non_null(code.cache);
    for (int k = 0; k < 2; k++) {
        bench b;
        glow_run_device_options d = {.name = "d", .code = &code, .queues = 2};

        begin(&b, NULL, 2);
        d.backend = glow_find_backend(b.ctx, "cpu");
        assert_true(
            glow_host_add_device(b.host, b.ctx, &glow_run_device_local, &d));
        add_service(&b, (glow_service_options){0});
        expect(run(&b, (float)k, 2, NULL), (float)k, 2);
        end(&b);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void
count_release(void *user)
{
    ++*(int *)user;
}

/* Every input is given back once, of refused and of wrong requests too. */
static void
test_inputs_are_given_back(void **state)
{
    const float x[4] = {0};
    int released = 0;
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d"});
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 3; i++) {
        glow_request *r = glow_service_run(
            b.service,
            &(glow_input){.name = "x",
                          .data = x,
                          .bytes = i == 1 ? 12 : sizeof x,
                          .release = count_release,
                          .user = &released},
            1, i == 2 ? &(glow_request_options){.deadline = 1} : NULL);
        const glow_outcome ends[] = {GLOW_RUN_DONE, GLOW_RUN_INVALID,
                                     GLOW_RUN_REFUSED};

        assert_int_equal(glow_fence_wait(glow_request_fence(r), NEVER, NULL),
                         ends[i]);
        glow_request_release(r);
    }
    end(&b);
    assert_int_equal(released, 3);
}

static void
test_queue_is_bounded(void **state)
{
    glow_request *r[40];
    int refused = 0;
    bench b;

    (void)state;
    begin(&b, &(glow_host_options){.queue = 10}, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 2 * MS});
    add_service(&b, (glow_service_options){.active = 2});
    for (int i = 0; i < 40; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < 40; i++) {
        glow_report_text why;

        if (glow_fence_wait(glow_request_fence(r[i]), NEVER, &why) ==
            GLOW_RUN_DONE) {
            expect(r[i], (float)i, 1);
            continue;
        }
        assert_non_null(strstr(why.text, "as many requests wait as may"));
        expect_failure(r[i], GLOW_RUN_REFUSED, "");
        refused++;
    }
    assert_in_range(refused, 10, 28);
    end(&b);
}

static void
test_a_lost_device_is_replaced(void **state)
{
    glow_request *r[20];
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .die_at = 3});
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "e", .run_ns = MS});
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 20; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < 20; i++)
        expect(r[i], (float)i, 1);
    end(&b);
}

static void
test_a_device_that_hangs_is_reset(void **state)
{
    glow_request *r[6];
    bench b;

    (void)state;
    begin(&b, &(glow_host_options){.limit_ns = 50 * MS}, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .hang_at = 2});
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 6; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < 6; i++)
        expect(r[i], (float)i, 1);
    end(&b);
}

/* A process that a request ends is started again; the request is tried twice. */
static void
test_processes_are_started_again(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_remote,
               (glow_run_device_options){.name = "d"});
    add_service(&b, (glow_service_options){.active = 1});
    for (int i = 0; i < 3; i++) {
        glow_request *before = run(&b, 1, 1, NULL),
                     *bad = run(&b, ENDS, 1, NULL);
        glow_request *after = run(&b, 2, 1, NULL);

        expect(before, 1, 1);
        expect_failure(bad, GLOW_RUN_REFUSED, "it ended two devices");
        expect(after, 2, 1);
    }
    end(&b);
}

/* The time of a batch counts from its run, when nothing else wakes the host. */
static void
test_a_batch_that_hangs_is_reset(void **state)
{
    bench b;

    (void)state;
    begin(&b, &(glow_host_options){.limit_ns = 50 * MS}, 8);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .hang_at = 1});
    add_service(&b, (glow_service_options){.batch = 8, .batch_ns = 5 * MS});
    expect(run(&b, 3, 8, NULL), 3, 8); /* full at once */
    end(&b);
}

/*
 * The time of a run does not count the run before it in the queue of the device, or of the
 * executor.
 */
static void
test_waiting_is_no_hanging(void **state)
{
    static const char *const names[] = {"d", "e", "f"};
    glow_request *r[6];
    glow_buf text = {0};
    bench b;

    (void)state;
    begin(&b, &(glow_host_options){.limit_ns = 390 * MS}, 1);
    for (int i = 0; i < 3; i++)
        add_device(
            &b, &glow_run_device_sim,
            (glow_run_device_options){.name = names[i], .run_ns = 200 * MS});
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 6; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < 6; i++)
        expect(r[i], (float)i, 1);
    glow_host_metrics(b.host, &text);
    for (int i = 0; i < 3; i++) {
        char want[60];

        snprintf(want, sizeof want, "glow_device_lost_total{device=\"%s\"} 0\n",
                 names[i]);
        assert_non_null(strstr(text.text, want));
    }
    glow_buf_free(&text);
    end(&b);
}

static void
test_failures_of_the_network_are_told(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .fail_at = 2});
    add_service(&b, (glow_service_options){0});
    expect(run(&b, 1, 1, NULL), 1, 1);
    expect_failure(run(&b, 1, 1, NULL), GLOW_RUN_FAILED,
                   "part net on d: device d failed run 2");
    expect(run(&b, 3, 1, NULL), 3, 1);
    end(&b);
}

static void
test_deadlines_and_cancelling(void **state)
{
    glow_request *slow, *late, *unwanted;
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 100 * MS});
    add_service(&b, (glow_service_options){.active = 1});
    slow = run(&b, 1, 1, NULL);
    late = run(&b, 2, 1,
               &(glow_request_options){.deadline = glow_now() + 10 * MS});
    unwanted = run(&b, 3, 1, NULL);
    glow_request_cancel(unwanted);
    expect_failure(late, GLOW_RUN_LATE, "the deadline passed");
    expect_failure(unwanted, GLOW_RUN_CANCELLED, "it was cancelled");
    expect(slow, 1, 1);
    end(&b);
}

static void
note_order(void *user, glow_request *r)
{
    glow_request ***at = user;

    *(*at)++ = r;
}

static void
test_priorities(void **state)
{
    glow_request *order[3] = {0}, **at = order, *first, *low, *high;
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 20 * MS});
    add_service(&b, (glow_service_options){.active = 1});
    first =
        run(&b, 1, 1, &(glow_request_options){.then = note_order, .user = &at});
    low =
        run(&b, 2, 1, &(glow_request_options){.then = note_order, .user = &at});
    high = run(&b, 3, 1,
               &(glow_request_options){
                   .priority = 1, .then = note_order, .user = &at});
    expect(first, 1, 1);
    expect(high, 3, 1);
    expect(low, 2, 1);
    end(&b);
    assert_ptr_equal(order[0], first);
    assert_ptr_equal(order[1], high);
    assert_ptr_equal(order[2], low);
}

static void
test_all_are_cancelled(void **state)
{
    glow_request *r[6];
    bench b;

    (void)state;
    for (int batch = 0; batch < 2; batch++) {
        begin(&b, NULL, 1 + batch);
        add_device(&b, &glow_run_device_sim,
                   (glow_run_device_options){.name = "d", .run_ns = 200 * MS});
        add_service(&b,
                    (glow_service_options){.active = 1, .batch = 1 + batch});
        for (int i = 0; i < 6; i++)
            r[i] = run(&b, (float)i, 1, NULL);
        glow_host_cancel(b.host);
        for (int i = 0; i < 6; i++)
            expect_failure(r[i], GLOW_RUN_CANCELLED, "the host is closing");
        expect_failure(run(&b, 1, 1, NULL), GLOW_RUN_REFUSED,
                       "the host is closing");
        end(&b);
    }
}

static void
test_batches(void **state)
{
    glow_request *r[12];
    glow_buf text = {0};
    bench b;

    (void)state;
    begin(&b, NULL, 8);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 20 * MS});
    add_service(&b, (glow_service_options){
                        .active = 1, .batch = 8, .batch_ns = 200 * MS});
    for (int i = 0; i < 12; i++)
        r[i] = run(&b, (float)i, 1 + i % 2, NULL);
    for (int i = 0; i < 12; i++)
        expect(r[i], (float)i, 1 + i % 2);
    glow_host_metrics(b.host, &text);
    /* 18 samples in eights: 2 1 2 1 2, and so on. */
    assert_non_null(strstr(
        text.text, "glow_batches_total{service=\"net\",samples=\"8\"} 3\n"));
    assert_non_null(
        strstr(text.text,
               "glow_requests_total{service=\"net\",outcome=\"done\"} 12\n"));
    glow_buf_free(&text);
    end(&b);
}

static void
test_one_of_a_batch_does_not_spoil_others(void **state)
{
    glow_request *r[4];
    bench b;

    (void)state;
    begin(&b, NULL, 8);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .fail_at = 1});
    add_service(&b, (glow_service_options){.batch = 8, .batch_ns = 5 * MS});
    for (int i = 0; i < 4; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < 4; i++)
        expect(r[i], (float)i, 1);
    end(&b);
}

static void
test_services_are_replaced(void **state)
{
    glow_request *r[10];
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = MS});
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 10; i++) {
        r[i] = run(&b, (float)i, 1, NULL);
        if (i == 5)
            add_service(&b, (glow_service_options){0});
    }
    /* It waits until they have ended, not until they are released. */
    assert_true(glow_host_remove(b.host, "net"));
    for (int i = 0; i < 10; i++)
        expect(r[i], (float)i, 1);
    assert_false(glow_host_remove(b.host, "net"));
    expect_failure(run(&b, 1, 1, NULL), GLOW_RUN_REFUSED, "was removed");
    end(&b);
}

/*
 * Writes a network of parts in a chain, each of which doubles and adds one, for each digit
 * of `devices` one on that device of d0, d1, ...; `extra` comes before the end of @main.
 */
static void
write_chain(const bench *b, const char *devices, const char *extra)
{
    FILE *f = fopen(b->path, "w");
    int n = (int)strlen(devices);

    assert_non_null(f);
    fprintf(f, "gir 1\n"
               "placeholder @x : float<1 x 4>\n"
               "placeholder @y : float<1 x 4>\n"
               "constant @two : float<1 x 4> = splat(2.0)\n"
               "constant @one : float<1 x 4> = splat(1.0)\n");
    for (int i = 0; i < n; i++)
        fprintf(f,
                "placeholder @i%d : float<1 x 4>\n"
                "placeholder @o%d : float<1 x 4>\n",
                i, i);
    for (int i = 0; i < n; i++)
        fprintf(
            f,
            "function @part%d attributes {Inputs: [@i%d], Outputs: [@o%d]} {\n"
            "  %%a = Mul(@i%d, @two) : float<1 x 4>\n"
            "  %%b = Add(%%a, @one) : float<1 x 4>\n"
            "  %%s = Save(%%b, @o%d)\n"
            "}\n",
            i, i, i, i, i);
    fprintf(f, "function @main {\n");
    for (int i = 0; i < n; i++) {
        char from[16] = "@x";

        if (i > 0)
            snprintf(from, sizeof from, "%%p%d", i - 1);
        fprintf(f,
                "  %%p%d = Run([%s]) {Body: @part%d, Device: \"d%c\"} : "
                "float<1 x 4>\n",
                i, from, i, devices[i]);
    }
    fprintf(f, "%s  %%s = Save(%%p%d, @y)\n}\n", extra, n - 1);
    fclose(f);
}

/* Milliseconds for `count` requests through a chain of `n` sims of `ms` each. */
static double
time_chain(int n, int ms, int count, int active)
{
    static const char digits[] = "0123456789";
    char devices[sizeof digits];
    glow_request *r[64];
    int64_t begun, ended;
    bench b;

    begin(&b, NULL, 1);
    snprintf(devices, sizeof devices, "%.*s", n, digits);
    write_chain(&b, devices, "");
    for (int i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "d%d", i);
        add_device(&b, &glow_run_device_sim,
                   (glow_run_device_options){.name = name, .run_ns = ms * MS});
    }
    add_service(&b, (glow_service_options){.active = active});
    begun = glow_now();
    for (int i = 0; i < count; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < count; i++) {
        size_t bytes;
        const float *y;

        assert_int_equal(glow_fence_wait(glow_request_fence(r[i]), NEVER, NULL),
                         GLOW_RUN_DONE);
        y = glow_request_output(r[i], "y", &bytes);
        for (int k = 0; k < 4; k++) {
            float v = (float)(i + k);

            for (int s = 0; s < n; s++)
                v = 2 * v + 1;
            assert_true(y[k] == v);
        }
        glow_request_release(r[i]);
    }
    ended = glow_now();
    end(&b);
    return (double)(ended - begun) / MS;
}

/*
 * Devices sleep, so that this needs no free core.  Three of them take a third of the
 * time where requests overlap; nine tenths are asked.
 */
static void
test_parts_overlap(void **state)
{
    double one = time_chain(3, 20, 16, 1), many = time_chain(3, 20, 16, 12);

    (void)state;
    print_message("# 3 devices: %.1f ms, %.1f ms one at a time\n", many, one);
    assert_true(one >= 3 * 20 * 16);
    assert_true(many < 0.9 * one);
}

/* A backend that counts the runs that go on at once. */
static glow_backend counting_backend;
static bool (*run_counted)(glow_executable *x, const glow_binding *bindings,
                           int count);
static int at_once, most_at_once;

static bool
run_counting(glow_executable *x, const glow_binding *bindings, int count)
{
    int n = __atomic_add_fetch(&at_once, 1, __ATOMIC_SEQ_CST);
    bool ok;

    if (n > most_at_once)
        most_at_once = n;
    ok = run_counted(x, bindings, count);
    __atomic_sub_fetch(&at_once, 1, __ATOMIC_SEQ_CST);
    return ok;
}

/*
 * Serial, nothing overlaps: three sims take the sum of their times, and no two networks
 * run at once, though each device has two queues.
 */
static void
test_serial_is_serial(void **state)
{
    glow_run_device_options o = {.name = "d0", .queues = 2};
    glow_request *r[30];
    bench b;

    (void)state;
    assert_true(time_chain(3, 2, 16, 12) >= 3 * 2 * 16);
    begin(&b, NULL, 1);
    counting_backend = *glow_find_backend(b.ctx, "interp");
    run_counted = counting_backend.run;
    counting_backend.run = run_counting;
    o.backend = &counting_backend;
    assert_true(
        glow_host_add_device(b.host, b.ctx, &glow_run_device_local, &o));
    o.name = "d1";
    assert_true(
        glow_host_add_device(b.host, b.ctx, &glow_run_device_local, &o));
    add_service(&b, (glow_service_options){.active = 30});
    for (int i = 0; i < 30; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < 30; i++)
        expect(r[i], (float)i, 1);
    end(&b);
    assert_int_equal(most_at_once, 1);
}

static void
test_executors_are_counted(void **state)
{
    glow_buf text = {0};
    char want[80], ids[64] = "";
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d"});
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 5; i++)
        expect(run(&b, (float)i, 1, NULL), (float)i, 1);
    glow_host_metrics(b.host, &text);
    snprintf(want, sizeof want,
             "glow_executor_commands_total{executor=\"%s\"} 15\n",
             executor); /* a copy in, a run, a copy out */
    if (!strstr(text.text, want))
        fail_msg("%s is not in %s", want, text.text);
    glow_buf_free(&text);
    glow_context_set_sink(b.ctx, keep_id, ids);
    assert_null(glow_executor_open(b.ctx, "fibres")); /* [E1013] */
    assert_string_equal(ids, "E1013");
    end(&b);
}

/* Four parts in a chain: two on device d0, one on d1, and one on d0 again. */
static void
run_mixed(int count, glow_run_device_options d, const char *metrics)
{
    glow_request *r[64];
    glow_buf text = {0};
    bench b;

    begin(&b, &(glow_host_options){.limit_ns = 2000 * (int64_t)MS}, 1);
    write_chain(&b, "0010", "");
    d.name = "d0";
    add_device(&b, &glow_run_device_sim, d);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d1"});
    add_service(&b, (glow_service_options){.active = 8});
    for (int i = 0; i < count; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < count; i++) {
        glow_report_text why;
        size_t bytes;
        const float *y;

        if (glow_fence_wait(glow_request_fence(r[i]), NEVER, &why) !=
            GLOW_RUN_DONE)
            fail_msg("%s: %s", glow_outcome_name(why.outcome), why.text);
        y = glow_request_output(r[i], "y", &bytes);
        for (int k = 0; k < 4; k++)
            assert_true(y[k] == 16 * (float)(i + k) + 15);
        glow_request_release(r[i]);
    }
    glow_host_metrics(b.host, &text);
    if (metrics && !strstr(text.text, metrics))
        fail_msg("%s is not in %s", metrics, text.text);
    glow_buf_free(&text);
    end(&b);
}

/*
 * Values between parts on one device are not copied: of 16 bytes each, d0 gets the input
 * and the result of d1, and gives away the result of its second part and the output.
 */
static void
test_values_stay_on_a_device(void **state)
{
    (void)state;
    run_mixed(10, (glow_run_device_options){0},
              "glow_device_bytes_in_total{device=\"d0\"} 320\n");
    run_mixed(10, (glow_run_device_options){.queues = 2},
              "glow_device_bytes_out_total{device=\"d0\"} 320\n");
}

/* They are lost with the device; requests begin again. */
static void
test_values_are_lost(void **state)
{
    (void)state;
    for (int k = 1; k <= 12; k++)
        run_mixed(8, (glow_run_device_options){.die_at = k, .run_ns = MS / 4},
                  NULL);
    for (int k = 1; k <= 12; k++)
        run_mixed(8, (glow_run_device_options){.die_at = k, .queues = 3}, NULL);
    run_mixed(8, (glow_run_device_options){.hang_at = 4}, NULL);
}

/* A backend with memory of its own: interp, and addresses that the host cannot use. */
#define FAR ((uint64_t)1 << 63)

typedef struct far_memory {
    int64_t room;
    int buffers;
} far_memory;

static glow_backend far_backend;
static int far_runs, far_open;

static void *
far_new(glow_context *ctx, const glow_target_options *t, int64_t bytes)
{
    far_memory *m = calloc(1, sizeof *m);

    (void)ctx, (void)t;
    m->room = bytes;
    far_open++;
    return m;
}

static void
far_close(void *memory)
{
    assert_int_equal(((far_memory *)memory)->buffers, 0);
    free(memory);
    far_open--;
}

static void *
far_at(uint64_t at)
{
    assert_true(at & FAR);
    return (void *)(uintptr_t)(at ^ FAR);
}

static uint64_t
far_allocate(void *memory, int64_t bytes)
{
    void *p = malloc((size_t)bytes);

    __atomic_fetch_add(&((far_memory *)memory)->buffers, 1, __ATOMIC_SEQ_CST);
    memset(p, 0x5a, (size_t)bytes);
    return (uint64_t)(uintptr_t)p | FAR;
}

static void
far_free(void *memory, uint64_t at)
{
    __atomic_fetch_sub(&((far_memory *)memory)->buffers, 1, __ATOMIC_SEQ_CST);
    free(far_at(at));
}

static void
far_write(void *memory, uint64_t to, const void *from, int64_t bytes)
{
    (void)memory;
    memcpy(far_at(to), from, (size_t)bytes);
}

static void
far_read(void *memory, void *to, uint64_t from, int64_t bytes)
{
    (void)memory;
    memcpy(to, far_at(from), (size_t)bytes);
}

static bool
far_run(void *memory, glow_executable *x, const glow_binding *bindings,
        const uint64_t *at, int count)
{
    (void)memory;
    for (int i = 0; i < count; i++) {
        assert_null(bindings[i].tensor->data);
        bindings[i].tensor->data = far_at(at[i]);
    }
    __atomic_fetch_add(&far_runs, 1, __ATOMIC_SEQ_CST);
    return far_backend.run(x, bindings, count);
}

static void
test_memory_of_backends(void **state)
{
    static const glow_backend_memory memory = {
        far_new,   far_close, far_allocate, far_free,
        far_write, far_read,  far_run,
    };
    glow_run_device_options o = {.name = "d0", .queues = 2};
    glow_request *r[20];
    glow_buf text = {0};
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    write_chain(&b, "00", "");
    far_backend = *glow_find_backend(b.ctx, "interp");
    far_backend.memory = &memory;
    o.backend = &far_backend;
    assert_true(
        glow_host_add_device(b.host, b.ctx, &glow_run_device_local, &o));
    add_service(&b, (glow_service_options){0});
    for (int i = 0; i < 20; i++)
        r[i] = run(&b, (float)i, 1, NULL);
    for (int i = 0; i < 20; i++) {
        size_t bytes;
        const float *y;

        assert_int_equal(glow_fence_wait(glow_request_fence(r[i]), NEVER, NULL),
                         GLOW_RUN_DONE);
        y = glow_request_output(r[i], "y", &bytes);
        for (int k = 0; k < 4; k++)
            assert_true(y[k] == 4 * (float)(i + k) + 3);
        glow_request_release(r[i]);
    }
    /* The value between the parts stays there. */
    glow_host_metrics(b.host, &text);
    assert_non_null(strstr(text.text, "bytes_in_total{device=\"d0\"} 320\n"));
    assert_non_null(strstr(text.text, "bytes_out_total{device=\"d0\"} 320\n"));
    glow_buf_free(&text);
    end(&b);
    assert_int_equal(far_runs, 40);
    assert_int_equal(far_open, 0);
}

static void
test_errors_of_adding(void **state)
{
    char ids[64] = "";
    glow_run_device_options d = {.name = "d", .memory = 64};
    glow_service_options o = {.name = "n"};
    bench b;

    (void)state;
    begin(&b, NULL, 1);
    glow_context_set_sink(b.ctx, keep_id, ids);
    o.path = b.path;
    assert_false(glow_host_add(b.host, b.ctx, &o)); /* [E1002] no device */
    d.backend = glow_find_backend(b.ctx, "cpu");
    assert_true(glow_host_add_device(b.host, b.ctx, &glow_run_device_sim, &d));
    assert_false(/* [E1005] the name is taken */
                 glow_host_add_device(b.host, b.ctx, &glow_run_device_sim, &d));
    assert_false(glow_host_add(b.host, b.ctx, &o)); /* [E1001] no room */
    o.devices = (const char *const[]){"e"};
    o.n_devices = 1;
    assert_false(glow_host_add(b.host, b.ctx, &o)); /* [E1002] not that one */
    write_chain(&b, "0", "  %r = Relu(%p0) : float<1 x 4>\n");
    assert_false(glow_host_add(b.host, b.ctx, &o)); /* [E1008] no Run */
    assert_string_equal(ids, "E1002E1005E1001E1002E1008");
    end(&b);
}

/* State. */

/* Sums up @x in @sum, and gives @y the row of the sums that @at names. */
static const char *const sums = "gir 1\n"
                                "placeholder @x : float<2>\n"
                                "placeholder @at : index64<1>\n"
                                "placeholder @y : float<1>\n"
                                "placeholder @sum : float<2> {State: true}\n"
                                "function @main {\n"
                                "  %a = Add(@sum, @x) : float<2>\n"
                                "  %k = Save(%a, @sum)\n"
                                "  %g = Gather(%a, @at) {Axis: 0} : float<1>\n"
                                "  %s = Save(%g, @y)\n"
                                "}\n";

/* The same in two parts, the sums being that of the first. */
static const char *const sums_in_parts =
    "gir 1\n"
    "placeholder @x : float<2>\n"
    "placeholder @at : index64<1>\n"
    "placeholder @y : float<1>\n"
    "placeholder @sum : float<2> {State: true}\n"
    "placeholder @i0 : float<2>\n"
    "placeholder @i1 : float<2>\n"
    "placeholder @o0 : float<2>\n"
    "placeholder @i2 : float<2>\n"
    "placeholder @i3 : index64<1>\n"
    "placeholder @o1 : float<1>\n"
    "function @add attributes {Inputs: [@i0, @i1], Outputs: [@o0]} {\n"
    "  %a = Add(@i0, @i1) : float<2>\n"
    "  %s = Save(%a, @o0)\n"
    "}\n"
    "function @pick attributes {Inputs: [@i2, @i3], Outputs: [@o1]} {\n"
    "  %a = Gather(@i2, @i3) {Axis: 0} : float<1>\n"
    "  %s = Save(%a, @o1)\n"
    "}\n"
    "function @main {\n"
    "  %a = Run([@sum, @x]) {Body: @add, Device: \"d\"} : float<2>\n"
    "  %b = Run([%a, @at]) {Body: @pick, Device: \"e\"} : float<1>\n"
    "  %k = Save(%a, @sum)\n"
    "  %s = Save(%b, @y)\n"
    "}\n";

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

/*
 * A limit on address space leaves no room for the stacks of 64 threads; glibc keeps at
 * most 40 MiB of old ones.
 */
static void
test_threads_may_run_out(void **state)
{
    char ids[64] = "";
    struct rlimit before, tight;
    glow_run_device_options d = {.name = "d", .queues = 64};
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;
    bench b;

    (void)state;
    if (!f || fscanf(f, "%ld", &pages) != 1 || pages > 1 << 28) {
        if (f)
            fclose(f);
        print_message("# left out: a sanitizer has the whole address space\n");
        return;
    }
    fclose(f);
    begin(&b, NULL, 1);
    glow_context_set_sink(b.ctx, keep_id, ids);
    d.backend = glow_find_backend(b.ctx, "interp");
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (80 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    assert_false(
        glow_host_add_device(b.host, b.ctx, &glow_run_device_local, &d));
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_string_equal(ids, "E1009");
    end(&b);
}

static int
use_executor(void **state)
{
    executor = *state;
    return 0;
}

/* True if this system has StarPU. */
static bool
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

/* Each executor does these, with queues that give work elsewhere in between. */
#define TESTS_OF(name)                                                         \
    ON(name, test_kinds), ON(name, test_executors_are_counted),                \
        ON(name, test_inputs_are_given_back), ON(name, test_queue_is_bounded), \
        ON(name, test_a_lost_device_is_replaced),                              \
        ON(name, test_a_device_that_hangs_is_reset),                           \
        ON(name, test_waiting_is_no_hanging),                                  \
        ON(name, test_processes_are_started_again),                            \
        ON(name, test_a_batch_that_hangs_is_reset),                            \
        ON(name, test_failures_of_the_network_are_told),                       \
        ON(name, test_deadlines_and_cancelling), ON(name, test_priorities),    \
        ON(name, test_batches),                                                \
        ON(name, test_one_of_a_batch_does_not_spoil_others),                   \
        ON(name, test_services_are_replaced),                                  \
        ON(name, test_values_stay_on_a_device),                                \
        ON(name, test_values_are_lost), ON(name, test_state_is_kept),          \
        ON(name, test_state_survives_devices),                                 \
        ON(name, test_state_of_failures)

static glow_backend mortal_backend;
static bool (*run_mortal)(glow_executable *x, const glow_binding *bindings,
                          int count);

static bool
run_or_end(glow_executable *x, const glow_binding *bindings, int count)
{
    for (int i = 0; i < count; i++)
        if (*(const float *)bindings[i].tensor->data == ENDS)
            _exit(1);
    return run_mortal(x, bindings, count);
}

/* The device of `as_device`. */
static int
serve(void)
{
    glow_context *ctx = glow_context_new();

    mortal_backend = *glow_find_backend(ctx, "interp");
    run_mortal = mortal_backend.run;
    mortal_backend.run = run_or_end;
    glow_run_device_serve(
        ctx, 3,
        &(glow_run_device_options){.name = "d", .backend = &mortal_backend});
    glow_context_free(ctx);
    return 0;
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TESTS_OF("threads"),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_networks_are_cached),
        cmocka_unit_test(test_all_are_cancelled),
        cmocka_unit_test(test_parts_overlap),
        cmocka_unit_test(test_memory_of_backends),
        cmocka_unit_test(test_errors_of_adding),
        cmocka_unit_test(test_threads_may_run_out),
        cmocka_unit_test(test_state_is_saved),
        cmocka_unit_test(test_state_is_broken),
        cmocka_unit_test(test_state_of_a_device_that_hangs),
        cmocka_unit_test(test_state_objects_are_checked),
        cmocka_unit_test(test_loading_leaks_nothing),
        TESTS_OF("serial"),
        ON("serial", test_serial_is_serial),
        TESTS_OF("starpu"),
    };
    const struct CMUnitTest of_starpu[] = {TESTS_OF("starpu")};
    size_t left_out;

    if (argc > 1 && strcmp(argv[1], as_device[1]) == 0)
        return serve();
    left_out = has_starpu() ? 0 : sizeof of_starpu / sizeof *of_starpu;

    return _cmocka_run_group_tests(
        "tests", tests, sizeof tests / sizeof *tests - left_out, NULL, NULL);
}
