/*
 * The cpu backend against the evaluator, as test_cpu.c: operators that sum up,
 * weigh or compare many elements for one.
 */

#include "cpu.h"
#include "cpu_kinds.h"

/* Reductions, softmax, normalization. */

static void
reductions_agree(void **state)
{
    static const glow_op *const ops[] = {
        &glow_op_batchedreduceadd, &glow_op_batchedreducemax,
        &glow_op_batchedreducemin, &glow_op_batchedreduceprod};
    const glow_dims axes[] = {GLOW_DIMS_OF(0),    GLOW_DIMS_OF(1),
                              GLOW_DIMS_OF(2),    GLOW_DIMS_OF(0, 2),
                              GLOW_DIMS_OF(1, 2), GLOW_DIMS_OF(0, 1, 2)};

    (void)state;
    for (size_t k = 0; k < COUNT(numbers); k++) {
        fixture t = {0};
        int64_t n = sizes[k % COUNT(sizes)];

        begin(&t);

        glow_value *x = input(&t, numbers[k], GLOW_DIMS_OF(2, n, 19));

        for (size_t a = 0; a < COUNT(axes); a++) {
            for (size_t o = 0; o < COUNT(ops); o++)
                save(&t, glow_build(t.b, ops[o], NULL, GLOW_IN(x),
                                    &(glow_reduce){axes[a]}));
            if (k < COUNT(floats))
                save(&t, GLOW_BUILD(t.b, batchedreducemean, GLOW_IN(x),
                                    .axes = axes[a]));
        }
        agree_on(&t, label(&t, ops[0], numbers[k], n), GLOW_FILL_RANDOM, 1e-4);
    }
}

static void
normalizations_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = 0; k < COUNT(floats); k += 3) {
            fixture t = {.constants = true};
            int64_t n = sizes[i];
            glow_dims d = GLOW_DIMS_OF(3, n, n + 1);

            begin(&t);

            glow_value *x = input(&t, floats[k], d);
            glow_value *s = weights(&t, floats[k], GLOW_DIMS_OF(n, n + 1));

            for (int axis = 0; axis < 3; axis++) {
                save(&t, GLOW_BUILD(t.b, softmax, GLOW_IN(x), .axis = axis));
                save(&t, GLOW_BUILD(t.b, logsoftmax, GLOW_IN(x), .axis = axis));
            }
            save(&t, GLOW_BUILD(t.b, layernormalization, GLOW_IN(x, s, s),
                                .axis = 1, .epsilon = 1e-3f));
            save(&t, GLOW_BUILD(t.b, layernormalization, GLOW_IN(x, NULL, NULL),
                                .axis = 2, .epsilon = 1e-3f));
            save(&t, GLOW_BUILD(t.b, localresponsenormalization, GLOW_IN(x),
                                .half_window_size = 2, .alpha = 1e-2f,
                                .beta = 0.75f, .k = 1.5f));
            agree_on(&t, "normalizations", GLOW_FILL_RANDOM, 1e-4);
        }
}

/* Rows that are done several at once: sizes, whole blocks of them and a rest. */
static void
short_rows_agree(void **state)
{
    static const int64_t lengths[] = {2, 3, 8, 10, 16, 21, 31, 32};
    static const int64_t counts[] = {1, 35};

    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        int64_t size = lengths[i];
        fixture t = {0};

        begin(&t);
        for (size_t c = 0; c < COUNT(counts); c++)
            for (size_t k = 0; k < COUNT(floats); k++) {
                glow_value *x =
                    input(&t, floats[k], GLOW_DIMS_OF(counts[c], size));

                save(&t, GLOW_BUILD(t.b, softmax, GLOW_IN(x), .axis = 1));
                save(&t, GLOW_BUILD(t.b, logsoftmax, GLOW_IN(x), .axis = 1));
            }
        agree_on(&t, label(&t, &glow_op_softmax, GLOW_FLOAT, size),
                 GLOW_FILL_RANDOM, 1e-4);
    }
}

/* Products. */

static void
products_agree(void **state)
{
    static const int64_t shapes[][3] = {
        {1, 1, 1},    {1, 64, 33},  {3, 7, 17},   {7, 9, 32},
        {14, 33, 64}, {17, 5, 100}, {33, 70, 47}, {64, 64, 64}};

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (size_t k = 0; k < COUNT(floats); k++)
            for (int constants = 0; constants < 2; constants++) {
                fixture t = {.constants = constants};
                int64_t m = shapes[i][0], d = shapes[i][1], n = shapes[i][2];

                begin(&t);

                glow_kind f = floats[k];
                glow_value *a = input(&t, f, GLOW_DIMS_OF(m, d));
                glow_value *b = weights(&t, f, GLOW_DIMS_OF(d, n));
                glow_value *c = weights(&t, f, GLOW_DIMS_OF(n));
                glow_value *a3 = input(&t, f, GLOW_DIMS_OF(3, m, d));
                glow_value *b3 = weights(&t, f, GLOW_DIMS_OF(3, d, n));
                glow_value *y = GLOW_BUILD_PLAIN(t.b, matmul, GLOW_IN(a, b));

                y = GLOW_BUILD_PLAIN(t.b, batchedadd, GLOW_IN(y, c));
                save(&t, GLOW_BUILD_PLAIN(t.b, relu, GLOW_IN(y)));
                save(&t, GLOW_BUILD(t.b, fullyconnected, GLOW_IN(a, b, c),
                                    .axis = 1));
                save(&t, GLOW_BUILD_PLAIN(t.b, batchmatmul, GLOW_IN(a3, b3)));
                agree(&t, label(&t, &glow_op_matmul, f, m));
            }
}

static void
large_product_agrees(const glow_target_options *target, int64_t m, int64_t d,
                     int64_t n)
{
    fixture t = {.constants = true, .target = target};

    begin(&t);

    glow_value *a = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(m, d));
    glow_value *b = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(d, n));
    glow_value *c = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(n));
    glow_value *x = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(1, 1, m, d));
    glow_value *f = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(n, 1, 1, d));
    glow_value *y = GLOW_BUILD_PLAIN(t.b, matmul, GLOW_IN(a, b));

    save(&t, GLOW_BUILD_PLAIN(t.b, relu, GLOW_IN(y)));
    y = GLOW_BUILD(t.b, fullyconnected, GLOW_IN(a, b, c), .axis = 1);
    save(&t, GLOW_BUILD_PLAIN(t.b, tanh, GLOW_IN(y)));
    save(&t, GLOW_BUILD(t.b, convolution, GLOW_IN(x, f, c),
                        .kernels = GLOW_DIMS_OF(1, 1),
                        .strides = GLOW_DIMS_OF(1, 1),
                        .pads = GLOW_DIMS_OF(0, 0, 0, 0), .group = 1,
                        .dilation = GLOW_DIMS_OF(1, 1)));
    /* Errors are relative to the largest results, of up to 60. */
    agree_on(&t, label(&t, &glow_op_matmul, GLOW_FLOAT, m), GLOW_FILL_RANDOM,
             4e-4);
}

/*
 * Products large enough for Strassen's algorithm at one level or two: odd rows, and odd rows
 * of halves, columns beyond whole groups, and a depth that is cut.
 */
static void
large_products_agree(void **state)
{
    static const int64_t shapes[][3] = {{131, 516, 203},
                                        {129, 2056, 66},
                                        {49, 768, 512},
                                        {198, 1028, 266},
                                        {197, 3072, 128}};
    static const glow_target_options with[] = {
        {.cpu = "haswell"}, {.cpu = "x86-64"}, {.cpu = "znver4"}};

    (void)state;
    for (size_t k = 0; k < COUNT(with); k++)
        for (size_t i = 0; i < COUNT(shapes) && runs(&with[k]); i++)
            large_product_agrees(&with[k], shapes[i][0], shapes[i][1],
                                 shapes[i][2]);
}

/* Windows. */

typedef struct conv_case {
    int64_t batch, height, width, channels, outputs;
    int64_t kernel_h, kernel_w, stride, pad, dilation, group;
    bool bias, relu;
} conv_case;

static void
check_convolution(const conv_case *c, glow_kind k, bool constants)
{
    fixture t = {.constants = constants};

    begin(&t);

    glow_value *x =
        input(&t, k, GLOW_DIMS_OF(c->batch, c->height, c->width, c->channels));
    glow_value *w = weights(&t, k,
                            GLOW_DIMS_OF(c->outputs, c->kernel_h, c->kernel_w,
                                         c->channels / c->group));
    glow_value *b = c->bias ? weights(&t, k, GLOW_DIMS_OF(c->outputs)) : NULL;
    glow_value *y = GLOW_BUILD(
        t.b, convolution, GLOW_IN(x, w, b),
        .kernels = GLOW_DIMS_OF(c->kernel_h, c->kernel_w),
        .strides = GLOW_DIMS_OF(c->stride, c->stride),
        .pads = GLOW_DIMS_OF(c->pad, c->pad, c->pad, c->pad), .group = c->group,
        .dilation = GLOW_DIMS_OF(c->dilation, c->dilation));

    if (c->relu) {
        glow_value *z = input_of(&t, y->type);

        y = GLOW_BUILD_PLAIN(t.b, add, GLOW_IN(y, z));
        y = GLOW_BUILD_PLAIN(t.b, relu, GLOW_IN(y));
    }
    save(&t, y);
    agree_on(&t,
             glow_arena_printf(t.arena,
                               "convolution of %lld x %lld x %lld to %lld, "
                               "kernel %lld x %lld, stride %lld, pad %lld, "
                               "dilation %lld, group %lld",
                               (long long)c->height, (long long)c->width,
                               (long long)c->channels, (long long)c->outputs,
                               (long long)c->kernel_h, (long long)c->kernel_w,
                               (long long)c->stride, (long long)c->pad,
                               (long long)c->dilation, (long long)c->group),
             GLOW_FILL_RANDOM, 5e-5);
}

static void
convolutions_agree(void **state)
{
    static const conv_case cases[] = {
        {1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, false, false},
        {2, 7, 7, 3, 5, 3, 3, 1, 1, 1, 1, true, true},
        {1, 9, 17, 16, 32, 3, 3, 1, 1, 1, 1, true, true},
        {1, 14, 14, 16, 64, 1, 1, 1, 0, 1, 1, true, false},
        {1, 13, 11, 33, 47, 1, 1, 1, 0, 1, 1, false, true},
        {1, 15, 13, 12, 103, 1, 1, 1, 0, 1, 1, true, true},
        {1, 15, 13, 3, 72, 3, 3, 2, 1, 1, 1, true, true},
        {1, 5, 5, 1024, 72, 1, 1, 1, 0, 1, 1, true, true},
        {1, 14, 14, 32, 32, 1, 1, 2, 0, 1, 1, true, true},
        {1, 33, 33, 3, 64, 7, 7, 2, 3, 1, 1, true, true},
        {1, 17, 17, 9, 17, 5, 3, 1, 2, 1, 1, true, false},
        {1, 9, 9, 8, 16, 3, 3, 1, 2, 2, 1, true, true},
        {1, 17, 15, 8, 24, 3, 3, 3, 2, 2, 2, true, true},
        {1, 9, 9, 12, 12, 3, 3, 1, 1, 1, 12, true, true},
        {1, 17, 17, 64, 64, 3, 3, 2, 1, 1, 64, true, false},
        {1, 7, 7, 33, 33, 5, 5, 1, 2, 1, 33, false, true},
        {1, 9, 9, 6, 12, 3, 3, 1, 1, 1, 6, true, false},
        {1, 7, 7, 24, 48, 1, 1, 1, 0, 1, 3, true, true},
        {2, 11, 11, 32, 64, 3, 3, 1, 1, 1, 2, false, true},
        {1, 23, 23, 3, 33, 11, 11, 4, 2, 1, 1, true, true},
        {1, 5, 70, 4, 8, 1, 33, 1, 16, 1, 1, true, false},
        {1, 3, 3, 5, 7, 3, 3, 1, 4, 1, 1, true, true},
        {1, 28, 28, 128, 128, 3, 3, 1, 1, 1, 1, true, true},
        {1, 7, 7, 300, 65, 3, 3, 1, 1, 1, 1, true, true},
    };
    /* One line, of windows that do not overlap and those that do. */
    static const conv_case rows[] = {
        {1, 1, 227, 29, 58, 1, 2, 4, 0, 2, 1, true, true},
        {1, 1, 131, 8, 40, 1, 3, 3, 0, 1, 1, false, true},
        {1, 1, 99, 5, 9, 1, 1, 2, 0, 1, 1, true, false},
        {1, 1, 85, 6, 8, 1, 4, 5, 0, 1, 2, true, true},
        {1, 1, 85, 8, 24, 1, 3, 4, 0, 2, 1, true, true},
        {2, 1, 85, 8, 24, 1, 2, 3, 0, 1, 1, true, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int constants = 0; constants < 2; constants++)
            check_convolution(&cases[i], GLOW_FLOAT, constants);
    for (size_t k = 1; k < COUNT(floats); k++)
        for (size_t i = 0; i < 3; i++)
            check_convolution(&cases[i], floats[k], true);
    for (size_t k = 0; k < COUNT(floats); k++)
        for (size_t i = 0; i < COUNT(rows); i++)
            check_convolution(&rows[i], floats[k], true);
}

static void
other_ranks_agree(void **state)
{
    (void)state;
    for (int rank = 1; rank <= 3; rank++) {
        fixture t = {.constants = true};
        glow_dims x = {.rank = rank + 2, .at = {2}};
        glow_dims w = {.rank = rank + 2, .at = {6}};
        glow_dims k = {.rank = rank}, s = k, p = {.rank = 2 * rank};
        glow_dims wt = w;

        begin(&t);
        for (int i = 0; i < rank; i++) {
            x.at[1 + i] = 5 + i;
            w.at[1 + i] = wt.at[1 + i] = k.at[i] = 3;
            s.at[i] = 2;
            p.at[i] = p.at[rank + i] = 1;
        }
        x.at[rank + 1] = 4;
        w.at[rank + 1] = 2;
        wt.at[0] = 4;
        wt.at[rank + 1] = 3;

        glow_value *v = input(&t, GLOW_FLOAT, x);

        save(&t, GLOW_BUILD(t.b, convolution,
                            GLOW_IN(v, weights(&t, GLOW_FLOAT, w), NULL),
                            .kernels = k, .strides = s, .pads = p, .group = 2));
        save(&t, GLOW_BUILD(t.b, convtranspose,
                            GLOW_IN(v, weights(&t, GLOW_FLOAT, wt),
                                    weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(6))),
                            .kernels = k, .strides = s, .pads = p, .group = 2));
        save(&t, GLOW_BUILD(t.b, maxpool, GLOW_IN(v), .kernels = k,
                            .strides = s, .pads = p));
        save(&t, GLOW_BUILD(t.b, avgpool, GLOW_IN(v), .kernels = k,
                            .strides = s, .pads = p));
        agree(&t, "windows of another rank");
    }
}

static void
pools_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = i % 5; k < COUNT(numbers); k += 5)
            for (int ceil = 0; ceil < 2; ceil++) {
                fixture t = {0};

                begin(&t);

                glow_dims d = GLOW_DIMS_OF(2, 9, 7, sizes[i]);
                glow_value *x = input(&t, numbers[k], d);
                glow_dims kernels = GLOW_DIMS_OF(3, 2);
                glow_dims strides = GLOW_DIMS_OF(2, 3);
                glow_dims pads = GLOW_DIMS_OF(1, 0, 1, 1);
                glow_maxpool m = {kernels, strides, pads, {0}, ceil};

                save(&t,
                     glow_build(t.b, &glow_op_maxpool, NULL, GLOW_IN(x), &m));
                save(&t, glow_build(t.b, &glow_op_maxpoolwithargmax, NULL,
                                    GLOW_IN(x), &m));
                m.dilation = GLOW_DIMS_OF(2, 1);
                save(&t,
                     glow_build(t.b, &glow_op_maxpool, NULL, GLOW_IN(x), &m));
                for (int pad = 0; pad < 2 && k < COUNT(floats); pad++)
                    save(&t, GLOW_BUILD(t.b, avgpool, GLOW_IN(x),
                                        .kernels = kernels, .strides = strides,
                                        .pads = pads, .ceil_mode = ceil,
                                        .count_include_pads = pad));
                agree(&t, label(&t, &glow_op_maxpool, numbers[k], sizes[i]));
            }
}

static void
resizes_agree(void **state)
{
    static const float scale[] = {1, 2.5f, 0.6f, 1};

    (void)state;
    for (int c = GLOW_COORD_ASYMMETRIC; c <= GLOW_COORD_ALIGN_CORNERS; c++)
        for (int r = GLOW_ROUND_FLOOR; r <= GLOW_ROUND_PREFER_CEIL; r++) {
            fixture t = {0};

            begin(&t);

            glow_value *x = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(2, 4, 5, 19));
            const glow_type *y =
                type_of(&t, GLOW_FLOAT, GLOW_DIMS_OF(2, 10, 3, 19));
            glow_floats s = {4, scale};

            save(&t, GLOW_BUILD_STATED(t.b, resizenearest, y, GLOW_IN(x),
                                       .scale = s, .coordinates = c,
                                       .rounding = r));
            save(&t, GLOW_BUILD_STATED(t.b, resizebilinear, y, GLOW_IN(x),
                                       .scale = s, .coordinates = c,
                                       .rounding = r));
            agree(&t, "resize");
        }
}

static void
orders_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t k = i % 5; k < COUNT(numbers); k += 5) {
            fixture t = {0};

            begin(&t);

            int64_t n = sizes[i];
            glow_value *x = input(&t, numbers[k], GLOW_DIMS_OF(3, n, 17));

            for (int axis = 1; axis < 3; axis++) {
                save(&t, GLOW_BUILD(t.b, argmax, GLOW_IN(x), .axis = axis,
                                    .keep_dims = axis == 1));
                save(&t, GLOW_BUILD(t.b, argmin, GLOW_IN(x), .axis = axis,
                                    .select_last = true));
            }
            save(&t, GLOW_BUILD(t.b, topk, GLOW_IN(x), .k = 5));
            save(&t,
                 GLOW_BUILD(t.b, topk, GLOW_IN(x), .k = 17, .smallest = true));
            agree(&t, label(&t, &glow_op_topk, numbers[k], n));
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_agree),
        cmocka_unit_test(normalizations_agree),
        cmocka_unit_test(short_rows_agree),
        cmocka_unit_test(products_agree),
        cmocka_unit_test(large_products_agree),
        cmocka_unit_test(convolutions_agree),
        cmocka_unit_test(other_ranks_agree),
        cmocka_unit_test(pools_agree),
        cmocka_unit_test(resizes_agree),
        cmocka_unit_test(orders_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
