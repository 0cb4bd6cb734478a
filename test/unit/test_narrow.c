/*
 * Convolutions and products of float16 and bfloat16 of drawn shapes on the cpu
 * backend, for machines that multiply pairs of bfloat16, that convert by
 * instructions, and that have nothing: as the evaluator, whose sums are of double,
 * rounds them.
 */

#include "cpu.h"

/* What this machine may not have is left out, see `has`. */
static const glow_target_options machines[] = {
    {0},
    {.cpu = "cooperlake"}, /* pairs */
    {.cpu = "haswell"},
    {.cpu = "x86-64"},
};

static bool
has(const glow_target_options *t)
{
#if defined(__x86_64__)
    if (t->cpu && strcmp(t->cpu, "cooperlake") == 0)
        return __builtin_cpu_supports("avx512bf16") &&
               __builtin_cpu_supports("avx512vnni");
#endif
    return runs(t);
}

static const glow_kind kinds[] = {GLOW_BFLOAT16, GLOW_FLOAT16};

/* Sizes at, just below and above pairs, vectors and tiles. */
static int64_t
draw_size(uint64_t *state)
{
    static const int64_t some[] = {1,  2,  3,  4,  5,  7,  8,  9,
                                   15, 16, 17, 31, 33, 40, 65, 96};

    return some[draw(state, 0, COUNT(some) - 1)];
}

static void
build_convolution(fixture *t, glow_kind k, uint64_t *s)
{
    int64_t groups = draw(s, 0, 3) ? 1 : draw(s, 2, 5);
    int64_t in = draw_size(s), out = draw_size(s);
    int64_t kernel = draw(s, 1, 3), stride = draw(s, 1, 2), pad = draw(s, 0, 2);
    int64_t dilation = draw(s, 0, 3) ? 1 : 2;
    int64_t h = draw(s, 5, 9), w = draw(s, 5, 34);
    glow_value *x = input(t, k, GLOW_DIMS_OF(draw(s, 1, 2), h, w, groups * in));
    glow_value *f =
        weights(t, k, GLOW_DIMS_OF(groups * out, kernel, kernel, in));
    glow_value *b =
        draw(s, 0, 1) ? weights(t, k, GLOW_DIMS_OF(groups * out)) : NULL;
    glow_value *y = GLOW_BUILD(
        t->b, convolution, GLOW_IN(x, f, b),
        .kernels = GLOW_DIMS_OF(kernel, kernel),
        .strides = GLOW_DIMS_OF(stride, stride),
        .pads = GLOW_DIMS_OF(pad, pad, draw(s, 0, 2), pad), .group = groups,
        .dilation = GLOW_DIMS_OF(dilation, dilation));

    if (draw(s, 0, 1)) {
        y = GLOW_BUILD_PLAIN(t->b, add, GLOW_IN(y, input_of(t, y->type)));
        y = GLOW_BUILD_PLAIN(t->b, relu, GLOW_IN(y));
    }
    save(t, y);
}

/*
 * Depthwise, of whole vectors and of a part of one: pairs of taps one below the other,
 * and lines of the kernel beyond the input.
 */
static void
build_depthwise(fixture *t, glow_kind k, uint64_t *s)
{
    static const int64_t channels[] = {15, 16, 17, 32, 40, 64};
    int64_t c = channels[draw(s, 0, COUNT(channels) - 1)];
    int64_t kernel_h = draw(s, 1, 5), kernel_w = draw(s, 1, 5);
    int64_t stride = draw(s, 1, 2), dilation = draw(s, 0, 3) ? 1 : 2;
    int64_t pad = draw(s, 0, 3);
    glow_value *x =
        input(t, k, GLOW_DIMS_OF(draw(s, 1, 2), draw(s, 9, 12), 17, c));
    glow_value *f = weights(t, k, GLOW_DIMS_OF(c, kernel_h, kernel_w, 1));

    save(t, GLOW_BUILD(t->b, convolution,
                       GLOW_IN(x, f, weights(t, k, GLOW_DIMS_OF(c))),
                       .kernels = GLOW_DIMS_OF(kernel_h, kernel_w),
                       .strides = GLOW_DIMS_OF(stride, 1),
                       .pads = GLOW_DIMS_OF(pad, 1, pad, 1), .group = c,
                       .dilation = GLOW_DIMS_OF(dilation, 1)));
}

static void
build_transposed(fixture *t, glow_kind k, uint64_t *s)
{
    int64_t in = draw_size(s), out = draw_size(s), kernel = draw(s, 2, 4);
    glow_value *x = input(t, k, GLOW_DIMS_OF(1, draw(s, 1, 7), 9, in));
    glow_value *f = weights(t, k, GLOW_DIMS_OF(in, kernel, kernel, out));

    save(t, GLOW_BUILD(t->b, convtranspose, GLOW_IN(x, f, NULL),
                       .kernels = GLOW_DIMS_OF(kernel, kernel),
                       .strides = GLOW_DIMS_OF(2, 2),
                       .pads = GLOW_DIMS_OF(1, 0, 1, 0), .group = 1,
                       .dilation = GLOW_DIMS_OF(1, 1)));
}

static void
build_product(fixture *t, glow_kind k, uint64_t *s)
{
    int64_t rows = draw_size(s), depth = draw_size(s), columns = draw_size(s);
    glow_value *x = input(t, k, GLOW_DIMS_OF(rows, depth));
    glow_value *w = weights(t, k, GLOW_DIMS_OF(depth, columns));

    save(t, GLOW_BUILD(t->b, fullyconnected,
                       GLOW_IN(x, w, weights(t, k, GLOW_DIMS_OF(columns))),
                       .axis = 1));
}

static void
build_batch(fixture *t, glow_kind k, uint64_t *s)
{
    int64_t batch = draw(s, 1, 3), depth = draw_size(s);
    glow_value *x = input(t, k, GLOW_DIMS_OF(batch, draw_size(s), depth));
    glow_value *w = input(t, k, GLOW_DIMS_OF(batch, depth, draw_size(s)));

    save(t, GLOW_BUILD_PLAIN(t->b, batchmatmul, GLOW_IN(x, w)));
}

typedef void (*build_fn)(fixture *t, glow_kind k, uint64_t *s);

static void
for_cases(int count, build_fn build)
{
    uint64_t seed = 1;

    for (int i = 0; i < count; i++) {
        const glow_target_options *on = &machines[(size_t)i % COUNT(machines)];
        glow_kind k = kinds[i / (int)COUNT(machines) % (int)COUNT(kinds)];
        fixture t = {.target = on, .constants = draw(&seed, 0, 4) > 0};

        begin(&t);
        build(&t, k, &seed);
        if (has(on))
            agree_on(&t,
                     glow_arena_printf(t.arena, "case %d for %s", i,
                                       on->cpu ? on->cpu : "native"),
                     GLOW_FILL_RANDOM, 0);
        else
            end(&t);
    }
}

static void
convolutions_agree(void **state)
{
    (void)state;
    for_cases(24, build_convolution);
}

static void
depthwise_agree(void **state)
{
    (void)state;
    for_cases(24, build_depthwise);
}

static void
transposed_agree(void **state)
{
    (void)state;
    for_cases(8, build_transposed);
}

static void
products_agree(void **state)
{
    (void)state;
    for_cases(24, build_product);
}

static void
batches_agree(void **state)
{
    (void)state;
    for_cases(8, build_batch);
}

/* Weights that no cache keeps, by whatever the machine has for them. */
static void
large_products_agree(void **state)
{
    static const struct {
        int64_t rows, depth, columns;
        bool constants;
    } some[] = {
        {191, 1400, 397, true}, {70, 1401, 415, true}, {133, 257, 97, false}};

    (void)state;
    for (size_t i = 0; i < COUNT(some); i++) {
        fixture t = {.constants = some[i].constants, .target = &targets[0]};
        glow_value *a, *w;

        begin(&t);
        a = input(&t, GLOW_BFLOAT16, GLOW_DIMS_OF(some[i].rows, some[i].depth));
        w = weights(&t, GLOW_BFLOAT16,
                    GLOW_DIMS_OF(some[i].depth, some[i].columns));
        save(&t, GLOW_BUILD_PLAIN(t.b, matmul, GLOW_IN(a, w)));
        agree(&t, "large product");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_agree),
        cmocka_unit_test(depthwise_agree),
        cmocka_unit_test(transposed_agree),
        cmocka_unit_test(products_agree),
        cmocka_unit_test(batches_agree),
        cmocka_unit_test(large_products_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
