/* Hosts: requests on devices in this process, and on devices that fail. */

#include "requests.h"

#include <stdlib.h>
#include <sys/resource.h>

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
        ON(name, test_services_are_replaced)

int
main(int argc, char **argv)
{
    const struct CMUnitTest of_starpu[] = {TESTS_OF("starpu")};
    const struct CMUnitTest tests[] = {
        TESTS_OF("threads"),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_networks_are_cached),
        cmocka_unit_test(test_all_are_cancelled),
        cmocka_unit_test(test_threads_may_run_out),
        TESTS_OF("serial"),
        TESTS_OF("starpu"),
    };

    return run_on_executors(argc, argv, tests, sizeof tests / sizeof *tests,
                            sizeof of_starpu / sizeof *of_starpu);
}
