/*
 * Devices in other processes that are killed, stopped, or cannot be started: requests are
 * run again, and the host goes on.
 */

#define _GNU_SOURCE

#include "remote.h"

/* Each of `count` values was run, and at most twice; the number of runs. */
static int
check_log(const char *path, int count)
{
    FILE *f = fopen(path, "r");
    int *runs = calloc((size_t)count, sizeof *runs), n = 0;
    entry e;

    assert_non_null(f);
    for (; fread(&e, sizeof e, 1, f) == 1; n++)
        runs[(int)e.value]++;
    fclose(f);
    for (int i = 0; i < count; i++)
        assert_in_range(runs[i], 1, 2);
    free(runs);
    return n;
}

/*
 * The process of the only device is killed at random moments: no request is lost or wrong,
 * and none is run more than twice.
 */
static void
test_kills(void **state)
{
    enum { N = 6 };
    int kills = number_of("GLOW_TEST_KILLS", 10), asked = 0, victim = 0, runs;
    int64_t slowest = 0, sum = 0;
    uint64_t seed = 3;
    bench b;

    (void)state;
    assert_true(begin(&b, LOGGING, 0, 0));
    add_service(&b, (glow_service_options){0});
    for (int k = 0; k < kills; k++) {
        glow_request *r[N];
        int64_t at;

        for (int i = 0; i < N; i++)
            r[i] = ask(&b, (float)asked++);
        do
            nanosleep(
                &(struct timespec){.tv_nsec = (long)(draw(&seed) % 6000000)},
                NULL);
        while (last_process(b.state) == victim); /* that of the kill before */
        victim = last_process(b.state);
        at = glow_now();
        assert_int_equal(kill(victim, SIGKILL), 0);
        for (int i = 0; i < N; i++)
            expect(r[i], (float)(asked - N + i));
        expect(ask(&b, (float)asked), (float)asked); /* by the next process */
        asked++;
        assert_int_equal(losses(&b), k + 1);
        at = glow_now() - at;
        sum += at;
        slowest = at > slowest ? at : slowest;
    }
    runs = check_log(b.state, asked);
    print_message(
        "# %d kills, %d requests, %d runs; %.1f ms, at most %.1f, to the end of 7\n",
        kills, asked, runs, (double)sum / kills * 1e-6, (double)slowest * 1e-6);
    assert_in_range(runs, asked, asked + kills);
    end(&b);
}

/* Stops the process of the last run. */
static int
stop_process(const bench *b)
{
    int process = last_process(b->state);

    assert_int_equal(kill(process, SIGSTOP), 0);
    return process;
}

/* A device whose process cannot be started again is tried again later. */
static void
test_late_start(void **state)
{
    static const char *command[] = {NULL, "device", NULL, "0", "0", NULL, NULL};
    char link[80], number[8];
    glow_request *r;
    glow_outcome o;
    bench b;

    (void)state;
    open_bench(&b, "remote", "", NULL);
    write_network(&b, 4);
    snprintf(link, sizeof link, "%s.program", b.path);
    assert_int_equal(symlink("/proc/self/exe", link), 0);
    snprintf(number, sizeof number, "%d", (int)LOGGING);
    command[2] = number;
    command[0] = link;
    command[5] = b.state;
    assert_true(
        glow_host_add_device(b.host, b.ctx, &glow_run_device_remote,
                             &(glow_run_device_options){
                                 .name = "d",
                                 .backend = glow_find_backend(b.ctx, "interp"),
                                 .command = command,
                             }));
    add_service(&b, (glow_service_options){0});
    expect(ask(&b, 1), 1);
    unlink(link);
    assert_int_equal(kill(last_process(b.state), SIGKILL), 0);
    expect_failure(ask(&b, 2), GLOW_RUN_LOST, "");
    assert_false(glow_service_can_run(b.service));
    assert_int_equal(symlink("/proc/self/exe", link), 0);
    do {
        nanosleep(&(struct timespec){.tv_nsec = 50 * MS}, NULL);
        r = ask(&b, 3);
        o = glow_fence_wait(glow_request_fence(r), NEVER, NULL);
        glow_request_release(r);
    } while (o == GLOW_RUN_LOST);
    assert_int_equal(o, GLOW_RUN_DONE);
    assert_true(glow_service_can_run(b.service));
    unlink(link);
    end(&b);
}

/*
 * A process that is stopped holds up a load that waits for a run in it no longer than the run
 * may take, one that it was to do itself until it is seen to compute nothing, and the end of
 * the host as little.  It is started again each time.
 */
static void
test_stopped_processes(void **state)
{
    glow_request *r;
    int stopped;
    bench b;

    (void)state;
    assert_true(begin(&b, LOGGING, 0, 0));
    add_service(&b, (glow_service_options){0});
    expect(ask(&b, 1), 1);
    stopped = stop_process(&b);
    r = ask(&b, 2);
    glow_host_add(b.host, b.ctx,
                  &(glow_service_options){.name = "more", .path = b.path});
    expect(r, 2);
    assert_int_not_equal(last_process(b.state), stopped);

    stopped = stop_process(&b);
    b.ids[0] = 0;
    assert_false(glow_host_add(
        b.host, b.ctx, &(glow_service_options){.name = "it", .path = b.path}));
    assert_string_equal(b.ids, "E1009");
    while (!glow_host_add(
        b.host, b.ctx, &(glow_service_options){.name = "it", .path = b.path}))
        nanosleep(&(struct timespec){.tv_nsec = 10 * MS}, NULL);
    expect(ask(&b, 3), 3);
    assert_int_not_equal(last_process(b.state), stopped);
    stop_process(&b);
    end(&b);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kills),
        cmocka_unit_test(test_late_start),
        cmocka_unit_test(test_stopped_processes),
    };

    if (is_device(argc, argv))
        return be_device_of(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
