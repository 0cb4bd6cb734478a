/* Batches of several sizes: the size of each batch, and constants that sizes share. */

#include "batches.h"

#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZER true
#elif defined(__has_feature)
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER false
#endif

static void
test_drawn_requests_of_sizes(void **state)
{
    (void)state;
    draw_requests(add_service_of_sizes);
}

/* Batches so far, by size: 1, 3 and 8 samples. */
static void
expect_batches(const bench *b, int one, int three, int eight)
{
    const int want[SIZES] = {one, three, eight}, of[SIZES] = {1, 3, BATCH};
    glow_service_size x[SIZES];

    assert_int_equal(glow_service_batch(b->service), BATCH);
    assert_int_equal(glow_service_sizes(b->service, x, SIZES), SIZES);
    for (int i = 0; i < SIZES; i++) {
        assert_int_equal(x[i].samples, of[i]);
        assert_int_equal(x[i].batches, want[i]);
    }
}

/* A batch goes to the least size that holds it, unless smaller ones took less time. */
static void
test_batches_have_sizes(void **state)
{
    glow_service_size sizes[SIZES];
    glow_buf text = {0};
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "d", .run_ns = 30 * MS});
    add_service_of_sizes(&b,
                         (glow_service_options){.active = 1, .batch_ns = MS});
    expect(ask(&b, 1, 1, -1, NULL), 1, 1);
    expect_batches(&b, 1, 0, 0);
    expect(ask(&b, 2, 2, -1, NULL), 2, 2);
    expect_batches(&b, 1, 1, 0);
    expect(ask(&b, 3, 4, -1, NULL), 3, 4);
    expect_batches(&b, 1, 1, 1);
    expect(ask(&b, 4, 8, -1, NULL), 4, 8);
    expect_batches(&b, 1, 1, 2);
    /* All sizes take the same time: one run is less than two. */
    expect(ask(&b, 5, 4, -1, NULL), 5, 4);
    expect_batches(&b, 1, 1, 3);
    expect(ask(&b, 6, 19, -1, NULL), 6, 19);
    expect_batches(&b, 1, 2, 5);
    glow_service_sizes(b.service, sizes, SIZES);
    for (int i = 0; i < SIZES; i++)
        assert_true(sizes[i].busy_ns >= 30 * MS * sizes[i].batches);
    glow_host_metrics(b.host, &text);
    assert_non_null(strstr(
        text.text, "glow_batches_total{service=\"net\",samples=\"3\"} 2\n"));
    assert_non_null(
        strstr(text.text, "glow_batched_samples_total{service=\"net\"} 38\n"));
    glow_buf_free(&text);
    end(&b);
}

/* A backend that takes 20 ms for each sample, of padding too. */
static glow_backend slow_backend;
static bool (*run_slow)(glow_executable *x, const glow_binding *bindings,
                        int count);

static bool
run_by_samples(glow_executable *x, const glow_binding *bindings, int count)
{
    int64_t n = bindings[0].tensor->type->shape.at[0];

    nanosleep(&(struct timespec){.tv_nsec = (long)n * 20 * MS}, NULL);
    return run_slow(x, bindings, count);
}

static void
test_sizes_are_chosen_by_time(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL);
    slow_backend = *glow_find_backend(b.ctx, "interp");
    run_slow = slow_backend.run;
    slow_backend.run = run_by_samples;
    add_device(
        &b, &glow_run_device_local,
        (glow_run_device_options){.name = "d", .backend = &slow_backend});
    add_service_of_sizes(&b,
                         (glow_service_options){.active = 1, .batch_ns = MS});
    expect(ask(&b, 1, 8, -1, NULL), 1, 8);
    expect(ask(&b, 2, 3, -1, NULL), 2, 3);
    expect(ask(&b, 3, 1, -1, NULL), 3, 1);
    expect_batches(&b, 1, 1, 1);
    expect(ask(&b, 4, 4, -1, NULL), 4, 4); /* 80 ms instead of 160 */
    expect_batches(&b, 2, 2, 1);
    end(&b);
}

/* Slices of a batch that failed are tried alone in the size that holds them. */
static void
test_a_batch_of_sizes_fails(void **state)
{
    glow_request *r[3];
    bench b;

    (void)state;
    begin(&b, NULL);
    add_device(&b, &glow_run_device_local,
               (glow_run_device_options){.name = "d"});
    add_service_of_sizes(&b,
                         (glow_service_options){.batch_ns = 500 * (int64_t)MS});
    r[0] = ask(&b, 0, 1, -1, NULL);
    r[1] = ask(&b, 1, 3, 2, NULL);
    r[2] = ask(&b, 2, 4, -1, NULL);
    expect(r[0], 0, 1);
    expect_outcome(r[1], GLOW_RUN_FAILED);
    expect(r[2], 2, 4);
    expect_batches(&b, 1, 1, 2);
    end(&b);
}

/* Sizes in parts: values between them have no first axis that counts samples. */
static void
test_parts_have_sizes(void **state)
{
    bench b;

    (void)state;
    begin(&b, NULL);
    for (int i = 0; i < SIZES; i++) {
        FILE *f = fopen(b.path[i], "w");

        assert_non_null(f);
        fprintf(
            f,
            "gir 1\n"
            "placeholder @at : index64<%d x 2>\n"
            "placeholder @y : index64<%d x 2>\n"
            "placeholder @a : index64<%d x 2>\n"
            "placeholder @b : index64<2 x %d>\n"
            "placeholder @c : index64<2 x %d>\n"
            "placeholder @d : index64<%d x 2>\n"
            "function @p attributes {Inputs: [@a], Outputs: [@b]} {\n"
            "  %%t = Transpose(@a) {Shuffle: [1, 0]} : index64<2 x %d>\n"
            "  %%s = Save(%%t, @b)\n"
            "}\n"
            "function @q attributes {Inputs: [@c], Outputs: [@d]} {\n"
            "  %%t = Transpose(@c) {Shuffle: [1, 0]} : index64<%d x 2>\n"
            "  %%s = Save(%%t, @d)\n"
            "}\n"
            "function @main {\n"
            "  %%p = Run([@at]) {Body: @p, Device: \"d\"} : index64<2 x %d>\n"
            "  %%q = Run([%%p]) {Body: @q, Device: \"e\"} : index64<%d x 2>\n"
            "  %%s = Save(%%q, @y)\n"
            "}\n",
            samples_of[i], samples_of[i], samples_of[i], samples_of[i],
            samples_of[i], samples_of[i], samples_of[i], samples_of[i],
            samples_of[i], samples_of[i]);
        fclose(f);
    }
    add_device(&b, &glow_run_device_local,
               (glow_run_device_options){.name = "d"});
    add_device(&b, &glow_run_device_sim,
               (glow_run_device_options){.name = "e"});
    add_service_of_sizes(&b, (glow_service_options){.batch_ns = MS});
    for (int n = 1; n < 30; n++) {
        glow_request *r = ask(&b, n, n, -1, NULL);
        const int64_t *y;
        size_t bytes;

        assert_int_equal(outcome_of(r), GLOW_RUN_DONE);
        y = glow_request_output(r, "y", &bytes);
        assert_int_equal(bytes, (size_t)n * 16);
        for (int i = 0; i < n; i++) {
            int64_t at[2];

            set_sample(at, n, i);
            assert_memory_equal(&y[2 * i], at, sizeof at);
        }
        glow_request_release(r);
    }
    end(&b);
}

/* Bytes that a device holds for a service of these sizes, which gives right results. */
static int64_t
bytes_of_sizes(int first, int more, int queues)
{
    const char *sizes[1];
    const char *at;
    glow_buf text = {0};
    int64_t bytes = 0;
    bench b;

    begin(&b, NULL);
    sizes[0] = b.path[2];
    add_device(
        &b, &glow_run_device_local,
        (glow_run_device_options){.name = "d",
                                  .backend = glow_find_backend(b.ctx, "cpu"),
                                  .queues = queues});
    assert_true(
        glow_host_add(b.host, b.ctx,
                      &(glow_service_options){.name = "net",
                                              .path = b.path[first],
                                              .batch = samples_of[first],
                                              .batch_ns = MS,
                                              .sizes = sizes,
                                              .n_sizes = more}));
    b.service = glow_host_find(b.host, "net");
    for (int n = 1; n < 20; n += 3) {
        glow_request *r = ask(&b, n, n, -1, NULL);

        assert_int_equal(outcome_of(r), GLOW_RUN_DONE);
        glow_request_release(r);
    }
    glow_host_metrics(b.host, &text);
    at = strstr(text.text, "\nglow_device_memory_bytes{device=\"d\"} ");
    assert_non_null(at);
    bytes = atoll(strrchr(strtok((char *)(uintptr_t)(at + 1), "\n"), ' '));
    glow_buf_free(&text);
    end(&b);
    return bytes;
}

/* Sizes whose packed constants are the same hold them once, for all queues. */
static void
test_sizes_share_constants(void **state)
{
    (void)state;
    if (THREAD_SANITIZER) {
        print_message(
            "# left out: LLVM is not built for the sanitizer of threads\n");
        return;
    }
    for (int queues = 1; queues < 3; queues++) {
        int64_t eight = bytes_of_sizes(0, 0, queues),
                three = bytes_of_sizes(2, 0, queues);

        assert_true(bytes_of_sizes(0, 1, queues) <= eight + three - 4 * TABLE);
    }
}

#define TESTS_OF(name)                                                         \
    ON(name, test_drawn_requests_of_sizes), ON(name, test_batches_have_sizes), \
        ON(name, test_sizes_are_chosen_by_time),                               \
        ON(name, test_a_batch_of_sizes_fails), ON(name, test_parts_have_sizes)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TESTS_OF("threads"),
        TESTS_OF("serial"),
        cmocka_unit_test(test_sizes_share_constants),
    };

    if (argc > 1 && strcmp(argv[1], as_device[1]) == 0)
        return serve(ends);
    compute_directly();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
