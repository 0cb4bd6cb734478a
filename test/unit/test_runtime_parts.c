/* Hosts of networks in parts: a chain of Runs over devices, and values between them. */

#include "requests.h"

#include <stdlib.h>

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

/* Each executor does these, with queues that give work elsewhere in between. */
#define TESTS_OF(name) \
    ON(name, test_values_stay_on_a_device), ON(name, test_values_are_lost)

int
main(int argc, char **argv)
{
    const struct CMUnitTest of_starpu[] = {TESTS_OF("starpu")};
    const struct CMUnitTest tests[] = {
        TESTS_OF("threads"),
        cmocka_unit_test(test_parts_overlap),
        cmocka_unit_test(test_memory_of_backends),
        cmocka_unit_test(test_errors_of_adding),
        TESTS_OF("serial"),
        ON("serial", test_serial_is_serial),
        TESTS_OF("starpu"),
    };

    return run_on_executors(argc, argv, tests, sizeof tests / sizeof *tests,
                            sizeof of_starpu / sizeof *of_starpu);
}
