/* State objects in the memory of devices. */

#include "hosts.h"
#include "sums.h"

static const char *const parts = SUMS_IN_PARTS("d", "d");

/* This program as a device in a process of its own. */
static const char *const as_device[] = {"/proc/self/exe", "device", NULL};

static void
begin(bench *b, const char *text, const glow_run_device_api *api,
      glow_run_device_options o)
{
    open_bench(b, "resident", text, NULL);
    o.name = "d";
    o.backend = glow_find_backend(b->ctx, "interp");
    o.command = as_device;
    assert_true(glow_host_add_device(b->host, b->ctx, api, &o));
    add_service(b, (glow_service_options){.resident = true});
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
expect(glow_request *r, float want)
{
    size_t bytes;
    const float *y = wait_for_y(r, &bytes);

    if (*y != want)
        fail_msg("the sum is %g, not %g", *y, want);
    glow_request_release(r);
}

static void
expect_copied(bench *b, int in, int out)
{
    char want[2][80];
    glow_buf text = {0};

    snprintf(want[0], sizeof *want,
             "glow_device_bytes_in_total{device=\"d\"} %d\n", in);
    snprintf(want[1], sizeof *want,
             "glow_device_bytes_out_total{device=\"d\"} %d\n", out);
    glow_host_metrics(b->host, &text);
    for (int i = 0; i < 2; i++)
        if (!strstr(text.text, want[i]))
            fail_msg("%s is not in %s", want[i], text.text);
    glow_buf_free(&text);
}

/* Of 24 bytes in for a request with state, and 12 out, state is 8; it goes in once. */
static void
test_no_copies(void **state)
{
    const glow_run_device_api *const apis[] = {&glow_run_device_sim,
                                               &glow_run_device_remote};
    const char *const texts[] = {sums, parts};

    (void)state;
    for (int k = 0; k < 4; k++) {
        enum { N = 20 };
        glow_service_state *st, *copy;
        glow_request *r[N];
        bench b;

        begin(&b, texts[k / 2], apis[k % 2], (glow_run_device_options){0});
        st = glow_service_state_new(b.service);
        for (int i = 0; i < N; i++)
            r[i] = add_to(&b, st, 1, i % 2);
        for (int i = 0; i < N; i++)
            expect(r[i], (float)((i + 1) * (1 + i % 2)));
        expect_copied(&b, N * 16 + 8, N * 4);
        assert_true(glow_service_state_save(st, b.ctx, b.state));
        expect_copied(&b, N * 16 + 8, N * 4 + 8);
        copy = glow_service_state_clone(st, b.ctx); /* host memory has it now */
        assert_non_null(copy);
        expect(add_to(&b, st, 1, 0), N + 1);
        expect(add_to(&b, copy, 5, 0), N + 5);
        expect_copied(&b, (N + 2) * 16 + 16, (N + 2) * 4 + 8);
        assert_true(glow_service_state_load(st, b.ctx, b.state));
        expect(add_to(&b, st, 2, 1), 2 * N + 4);
        glow_service_state_release(st);
        glow_service_state_release(copy);
        assert_string_equal(b.ids, "");
        end(&b);
    }
}

/* State goes with its device, and comes back from a file. */
static void
test_lost_device(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        glow_service_state *st, *other, *third;
        bench b;

        begin(&b, k ? parts : sums, &glow_run_device_sim,
              (glow_run_device_options){.die_at = k ? 8 : 5});
        st = glow_service_state_new(b.service);
        other = glow_service_state_new(b.service);
        third = glow_service_state_new(b.service);
        expect(add_to(&b, st, 1, 0), 1);
        assert_true(glow_service_state_save(st, b.ctx, b.state));
        expect(add_to(&b, other, 2, 0), 2);
        expect(add_to(&b, third, 3, 0), 3);
        if (k == 0)
            expect(add_to(&b, third, 3, 0), 6);
        expect_failure(add_to(&b, st, 4, 0), GLOW_RUN_LOST,
                       "its state was in memory");
        expect_failure(add_to(&b, st, 4, 0), GLOW_RUN_REFUSED, "is broken");
        /* Others find out with a request, or when they are saved. */
        expect_failure(add_to(&b, other, 4, 0), GLOW_RUN_LOST,
                       "its state was in memory");
        assert_false(
            glow_service_state_save(third, b.ctx, b.path));  /* [E1011] */
        assert_null(glow_service_state_clone(other, b.ctx)); /* [E1011] */
        assert_string_equal(b.ids, "E1011E1011");
        assert_true(glow_service_state_load(st, b.ctx, b.state));
        assert_true(glow_service_state_load(third, b.ctx, b.state));
        expect(add_to(&b, st, 4, 0), 5);
        expect(add_to(&b, third, 5, 0), 6);
        glow_service_state_release(st);
        glow_service_state_release(other);
        glow_service_state_release(third);
        end(&b);
    }
}

/* A device that dies before it has state alone costs nothing. */
static void
test_first_run_is_lost(void **state)
{
    glow_service_state *st;
    bench b;

    (void)state;
    begin(&b, parts, &glow_run_device_sim,
          (glow_run_device_options){.die_at = 2});
    st = glow_service_state_new(b.service);
    expect(add_to(&b, st, 1, 0), 1);
    expect(add_to(&b, st, 1, 0), 2);
    glow_service_state_release(st);
    end(&b);
}

/* A run that fails has written state in place, or beside it. */
static void
test_failures(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        glow_service_state *st;
        bench b;

        begin(&b, k ? parts : sums, &glow_run_device_sim,
              (glow_run_device_options){0});
        st = glow_service_state_new(b.service);
        expect(add_to(&b, st, 1, 0), 1);
        expect_failure(add_to(&b, st, 2, 9), GLOW_RUN_FAILED, "on d");
        if (k)
            expect(add_to(&b, st, 4, 0), 5);
        else
            expect_failure(add_to(&b, st, 4, 0), GLOW_RUN_REFUSED, "is broken");
        glow_service_state_release(st);
        end(&b);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_copies),
        cmocka_unit_test(test_lost_device),
        cmocka_unit_test(test_first_run_is_lost),
        cmocka_unit_test(test_failures),
    };

    if (argc == 2 && strcmp(argv[1], "device") == 0) {
        glow_context *ctx = glow_context_new();

        glow_run_device_serve(ctx, 3,
                              &(glow_run_device_options){
                                  .name = "device",
                                  .backend = glow_find_backend(ctx, "interp"),
                              });
        glow_context_free(ctx);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
