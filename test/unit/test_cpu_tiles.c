/*
 * Convolutions, plain and transposed, and matrix products of drawn shapes on the
 * cpu backend, for vectors of several widths.
 */

#include "cpu.h"

typedef struct window {
    int64_t batch, h, w, groups, in, out; /* channels of a group */
    int64_t kernel_h, kernel_w, stride_h, stride_w;
    int64_t pad_h, pad_w, end_h, end_w, dilation_h, dilation_w;
    bool bias, relu, constants;
} window;

/* One of the numbers that are just above, below or at a vector's lanes. */
static int64_t
draw_channels(uint64_t *state)
{
    static const int64_t some[] = {1,  2,  3,  4,  5,  7,  8,  9,
                                   15, 16, 17, 24, 33, 64, 103};

    return some[draw(state, 0, COUNT(some) - 1)];
}

static window
draw_window(uint64_t *s)
{
    window w = {
        .batch = draw(s, 1, 2),
        .h = draw(s, 1, 12),
        .w = draw(s, 1, 34),
        .groups = draw(s, 0, 2) ? 1 : draw(s, 2, 19),
        .kernel_h = draw(s, 1, 5),
        .kernel_w = draw(s, 1, 5),
        .stride_h = draw(s, 1, 3),
        .stride_w = draw(s, 1, 3),
        .pad_h = draw(s, 0, 3),
        .pad_w = draw(s, 0, 3),
        .end_h = draw(s, 0, 3),
        .end_w = draw(s, 0, 3),
        .dilation_h = draw(s, 0, 3) ? 1 : draw(s, 1, 3),
        .dilation_w = draw(s, 0, 3) ? 1 : draw(s, 1, 3),
        .bias = draw(s, 0, 1),
        .relu = draw(s, 0, 1),
        .constants = draw(s, 0, 2) > 0,
    };

    w.in = w.groups > 1 ? draw(s, 1, 9) : draw_channels(s);
    w.out = w.groups > 1 && draw(s, 0, 1) ? w.in : draw_channels(s);
    if (draw(s, 0, 7) == 0) {
        /* What the taps of a row read is one stretch, and may be long. */
        w.kernel_w = draw(s, 1, 99);
        w.w = w.kernel_w + draw(s, 0, 33);
        w.groups = w.dilation_w = 1;
        w.pad_w = w.end_w = 0;
        w.in = draw(s, 1, 3);
    }
    if (draw(s, 0, 4) == 0) {
        /* Dot products. */
        w.groups = 1;
        w.in = draw(s, 4, 70);
        w.out = draw(s, 1, 5);
        w.constants = true;
    }
    return w;
}

static const char *
words(fixture *t, const char *what, const window *w)
{
    return glow_arena_printf(
        t->arena,
        "%s for %s: %d x %d x %d, %d groups of %d to %d, kernel %d x %d, "
        "strides %d %d, pads %d %d %d %d, dilation %d %d%s%s%s",
        what, t->target->cpu ? t->target->cpu : "native", (int)w->batch,
        (int)w->h, (int)w->w, (int)w->groups, (int)w->in, (int)w->out,
        (int)w->kernel_h, (int)w->kernel_w, (int)w->stride_h, (int)w->stride_w,
        (int)w->pad_h, (int)w->pad_w, (int)w->end_h, (int)w->end_w,
        (int)w->dilation_h, (int)w->dilation_w, w->bias ? ", bias" : "",
        w->relu ? ", relu" : "", w->constants ? "" : ", no constants");
}

/* Adds what is stacked on a result, and compares. */
static void
finish(fixture *t, const char *what, const window *w, glow_value *y)
{
    if (w->relu) {
        y = GLOW_BUILD_PLAIN(t->b, add, GLOW_IN(y, input_of(t, y->type)));
        y = GLOW_BUILD_PLAIN(t->b, relu, GLOW_IN(y));
    }
    save(t, y);
    agree_on(t, words(t, what, w), GLOW_FILL_RANDOM, 5e-5);
}

#define ATTRIBUTES(w)                                             \
    .kernels = GLOW_DIMS_OF(w->kernel_h, w->kernel_w),            \
    .strides = GLOW_DIMS_OF(w->stride_h, w->stride_w),            \
    .pads = GLOW_DIMS_OF(w->pad_h, w->pad_w, w->end_h, w->end_w), \
    .group = w->groups, .dilation = GLOW_DIMS_OF(w->dilation_h, w->dilation_w)

static void
check_window(const glow_target_options *target, const window *w,
             bool transposed)
{
    fixture t = {.constants = w->constants, .target = target};
    int64_t first = transposed ? w->in : w->out;
    int64_t last = transposed ? w->out : w->in;
    glow_value *x, *f, *b = NULL;

    begin(&t);
    x = input(&t, GLOW_FLOAT,
              GLOW_DIMS_OF(w->batch, w->h, w->w, w->groups * w->in));
    f = weights(
        &t, GLOW_FLOAT,
        GLOW_DIMS_OF(w->groups * first, w->kernel_h, w->kernel_w, last));
    if (w->bias)
        b = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(w->groups * w->out));
    if (transposed)
        finish(&t, "transposed convolution", w,
               GLOW_BUILD(t.b, convtranspose, GLOW_IN(x, f, b), ATTRIBUTES(w)));
    else
        finish(&t, "convolution", w,
               GLOW_BUILD(t.b, convolution, GLOW_IN(x, f, b), ATTRIBUTES(w)));
}

/* Does the kernel fit into an axis of `size`? */
static bool
fits(int64_t size, int64_t pads, int64_t kernel, int64_t dilation)
{
    return size + pads > (kernel - 1) * dilation;
}

static void
convolutions_agree(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 75;) {
        const glow_target_options *target =
            &targets[(size_t)i % COUNT(targets)];
        window w = draw_window(&seed);

        if (!fits(w.h, w.pad_h + w.end_h, w.kernel_h, w.dilation_h) ||
            !fits(w.w, w.pad_w + w.end_w, w.kernel_w, w.dilation_w))
            continue;
        i++;
        if (runs(target))
            check_window(target, &w, false);
    }
}

/* The size of an axis of a transposed convolution. */
static int64_t
spread_size(int64_t size, int64_t stride, int64_t kernel, int64_t dilation,
            int64_t pads)
{
    return (size - 1) * stride + (kernel - 1) * dilation + 1 - pads;
}

static void
transposed_agree(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int i = 0; i < 75;) {
        const glow_target_options *target =
            &targets[(size_t)i % COUNT(targets)];
        window w = draw_window(&seed);

        if (spread_size(w.h, w.stride_h, w.kernel_h, w.dilation_h,
                        w.pad_h + w.end_h) < 1 ||
            spread_size(w.w, w.stride_w, w.kernel_w, w.dilation_w,
                        w.pad_w + w.end_w) < 1)
            continue;
        i++;
        if (runs(target))
            check_window(target, &w, true);
    }
}

typedef struct sizes {
    int64_t batch, rows, depth, columns;
    bool constants;
} sizes;

/* A product: the same operands in several operators. */
static void
check_product(const glow_target_options *target, const sizes *s)
{
    fixture t = {.constants = s->constants, .target = target};
    int64_t batch = s->batch, rows = s->rows;
    int64_t depth = s->depth, columns = s->columns;

    begin(&t);

    glow_value *a = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(rows, depth));
    glow_value *w = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(depth, columns));
    glow_value *b = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(columns));
    glow_value *many = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(batch, rows, depth));
    glow_value *by =
        weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(batch, depth, columns));

    save(&t, GLOW_BUILD_PLAIN(t.b, matmul, GLOW_IN(a, w)));
    save(&t, GLOW_BUILD(t.b, fullyconnected, GLOW_IN(a, w, b), .axis = 1));
    save(&t, GLOW_BUILD_PLAIN(t.b, batchmatmul, GLOW_IN(many, by)));
    agree_on(&t,
             glow_arena_printf(t.arena, "product for %s: %d times %d x %d x %d",
                               target->cpu ? target->cpu : "native", (int)batch,
                               (int)rows, (int)depth, (int)columns),
             GLOW_FILL_RANDOM, depth > 100 ? 2e-4 : 5e-5);
}

static void
products_agree(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < 60; i++) {
        const glow_target_options *target =
            &targets[(size_t)i % COUNT(targets)];
        bool constants = draw(&seed, 0, 1);
        int64_t batch = draw(&seed, 1, 4), rows = draw(&seed, 1, 35);
        int64_t depth = draw(&seed, 1, 70), columns = draw(&seed, 1, 140);

        if (i % 4 == 0) {
            constants = true;
            columns = draw(&seed, 1, 5);
        }
        if (runs(target))
            check_product(target,
                          &(sizes){batch, rows, depth, columns, constants});
    }
}

/* Weights or rows that no cache holds: blocks of rows, or parts of the depth, and
   a rest; rows that begin at the same place of a page. */
static void
large_products_agree(void **state)
{
    static const sizes some[] = {
        {1, 191, 1400, 97, true},  {1, 191, 2900, 49, true},
        {1, 131, 2048, 128, true}, {1, 517, 33, 65, true},
        {1, 509, 700, 40, true},   {1, 190, 530, 17, true},
        {3, 53, 40, 35, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(some) * COUNT(targets); i++) {
        const glow_target_options *target = &targets[i % COUNT(targets)];

        if (runs(target))
            check_product(target, &some[i / COUNT(targets)]);
    }
}

/* Weights that no cache keeps, read by one tile: the depth in parts, and what
   is left of it. */
static void
streams_agree(void **state)
{
    uint64_t seed = 4;

    (void)state;
    for (int i = 0; i < 6; i++) {
        fixture t = {.constants = true,
                     .target = &targets[(size_t)i % COUNT(targets)]};
        int64_t rows = draw(&seed, 1, 3), depth = draw(&seed, 1390, 1440);

        if (!runs(t.target))
            continue;
        begin(&t);

        glow_value *a = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(rows, depth));
        glow_value *w = weights(&t, GLOW_FLOAT, GLOW_DIMS_OF(depth, 395));

        save(&t, GLOW_BUILD_PLAIN(t.b, matmul, GLOW_IN(a, w)));
        agree_on(&t,
                 glow_arena_printf(t.arena, "%d x %d times 395 columns",
                                   (int)rows, (int)depth),
                 GLOW_FILL_RANDOM, 5e-4);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_agree),
        cmocka_unit_test(transposed_agree),
        cmocka_unit_test(products_agree),
        cmocka_unit_test(streams_agree),
        cmocka_unit_test(large_products_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
