/*
 * What is computed along rows, element by element or by moving elements, of
 * drawn shapes on the cpu backend, for vectors of several widths.
 */

#include "cpu.h"

/* Just above, below or at a vector's lanes, or a row that fits no registers. */
static int64_t
draw_size(uint64_t *state)
{
    static const int64_t some[] = {1,  2,  3,  4,  5,  7,  8,   9,   15,
                                   16, 17, 24, 31, 33, 63, 100, 129, 530};

    return some[draw(state, 0, COUNT(some) - 1)];
}

/* Runs `build` on so many drawn cases, the widths in turn. */
static void
for_cases(int count, void (*build)(fixture *t, uint64_t *state))
{
    uint64_t seed = 1;

    for (int i = 0; i < count; i++) {
        fixture t = {.target = &targets[(size_t)i % COUNT(targets)],
                     .constants = i % 2};

        begin(&t);
        build(&t, &seed);
        if (runs(t.target))
            agree_on(&t, "a drawn case", GLOW_FILL_RANDOM, 1e-4);
        else
            end(&t);
    }
}

static glow_kind
draw_kind(uint64_t *state, const glow_kind *kinds, size_t count)
{
    return kinds[draw(state, 0, (int64_t)count - 1)];
}

static const glow_kind floats[] = {GLOW_FLOAT, GLOW_FLOAT, GLOW_FLOAT16,
                                   GLOW_FLOAT64};
static const glow_kind moved[] = {GLOW_FLOAT,   GLOW_FLOAT64, GLOW_BOOL,
                                  GLOW_FLOAT16, GLOW_INDEX64, GLOW_INT8Q};

static void
build_norms(fixture *t, uint64_t *s)
{
    glow_kind k = draw_kind(s, floats, COUNT(floats));
    int64_t n = draw_size(s);
    glow_dims d = GLOW_DIMS_OF(draw(s, 1, 4), n, draw(s, 1, 3));
    int axis = (int)draw(s, 0, 2);

    if (draw(s, 0, 2))
        d = GLOW_DIMS_OF(d.at[0], d.at[2], n);

    glow_value *x = input(t, k, d);
    glow_value *w = weights(t, k, GLOW_DIMS_OF(d.at[1], d.at[2]));

    save(t, GLOW_BUILD(t->b, softmax, GLOW_IN(x), .axis = axis));
    save(t, GLOW_BUILD(t->b, logsoftmax, GLOW_IN(x), .axis = 2));
    save(t, GLOW_BUILD(t->b, softmax, GLOW_IN(x), .axis = 2));
    save(t, GLOW_BUILD(t->b, layernormalization, GLOW_IN(x, w, w), .axis = 1,
                       .epsilon = 1e-3f));
}

static void
norms_agree(void **state)
{
    (void)state;
    for_cases(60, build_norms);
}

/* Statistics of channels, the last axis, and gradients by them: blocks of rows, and
   vectors of channels side by side, one after the other, and in part. */
static void
build_batches(fixture *t, uint64_t *s)
{
    glow_kind k = draw_kind(s, floats, COUNT(floats));
    int64_t rows = draw(s, 0, 1) ? draw_size(s) : draw(s, 250, 262);
    glow_dims d = GLOW_DIMS_OF(rows, draw(s, 1, 2), draw_size(s));
    glow_dims c = GLOW_DIMS_OF(d.at[2]);
    glow_value *x = input(t, k, d), *w = weights(t, k, c), *m, *y;

    m = GLOW_BUILD(t->b, meanvarnormalization, GLOW_IN(x, w, w),
                   .channel_idx = 2, .momentum = 1);
    save(t, m);
    y = GLOW_BUILD(t->b, batchnormalization,
                   GLOW_IN(x, w, w, m, m->def->out[1]), .channel_idx = 2,
                   .epsilon = 0.1f);
    save(t, y);
    save(t, GLOW_BUILD_PLAIN(t->b, relu, GLOW_IN(y)));
    save(t, GLOW_BUILD(t->b, batchnormalizationgrad,
                       GLOW_IN(x, w, m, m->def->out[1], input(t, k, d)),
                       .channel_idx = 2, .epsilon = 0.1f));
}

/* Gradients by statistics of rows, of one block or several. */
static void
build_rows(fixture *t, uint64_t *s)
{
    glow_kind k = draw_kind(s, floats, COUNT(floats));
    int64_t rows = draw(s, 0, 1) ? draw_size(s) : draw(s, 126, 260);
    glow_dims d = GLOW_DIMS_OF(rows, draw(s, 1, 2), draw_size(s));
    glow_value *x = input(t, k, d), *by = input(t, k, d), *w = NULL;

    if (draw(s, 0, 1))
        w = weights(t, k, GLOW_DIMS_OF(d.at[1], d.at[2]));
    save(t, GLOW_BUILD(t->b, layernormalizationgrad, GLOW_IN(x, w, by),
                       .axis = 1, .epsilon = 0.1f));
    save(t, GLOW_BUILD(t->b, rmsnormalizationgrad, GLOW_IN(x, w, by), .axis = 1,
                       .epsilon = 0.1f));
}

/* Steps of optimizers: parts of vectors, and of chunks; the first step, and later ones. */
static void
build_updates(fixture *t, uint64_t *s)
{
    glow_kind k = draw_kind(s, floats, COUNT(floats));
    int64_t columns = draw(s, 0, 1) ? draw_size(s) : draw(s, 4090, 4100);
    glow_dims d = GLOW_DIMS_OF(draw(s, 1, 3), columns), one = {0};
    glow_value *x = input(t, k, d), *g = input(t, k, d), *r = input(t, k, one);
    glow_value *n, *h = GLOW_BUILD_PLAIN(t->b, mul, GLOW_IN(x, x));

    n = glow_build(t->b, &glow_op_splat, type_of(t, GLOW_INDEX64, one), NULL, 0,
                   &(glow_splat){(float)draw(s, 0, 3)});
    save(t, GLOW_BUILD(t->b, adam, GLOW_IN(r, n, x, g, g, h), .alpha = 0.9f,
                       .beta = 0.9f, .epsilon = 0.1f,
                       .correct_first = draw(s, 0, 1) == 1));
    save(t, GLOW_BUILD(t->b, momentum, GLOW_IN(r, n, x, g, h), .alpha = 0.9f,
                       .beta = 0.5f, .mode = (int)draw(s, 0, 1)));
    save(t, GLOW_BUILD(t->b, adagrad, GLOW_IN(r, n, x, g, h), .epsilon = 0.1f,
                       .decay_factor = 0.5f));
}

static void
updates_agree(void **state)
{
    (void)state;
    for_cases(30, build_updates);
}

static void
rows_agree(void **state)
{
    (void)state;
    for_cases(20, build_rows);
}

static void
batches_agree(void **state)
{
    (void)state;
    for_cases(30, build_batches);
}

/* Windows that are written out, that are not, and that reach beyond a row. */
static void
build_responses(fixture *t, uint64_t *s)
{
    static const int64_t halves[] = {0, 1, 2, 3, 9, 40, INT64_MAX / 2};
    glow_kind k = draw_kind(s, floats, COUNT(floats));
    glow_value *x =
        input(t, k, GLOW_DIMS_OF(1, draw(s, 1, 3), 2, draw_size(s)));

    save(t, GLOW_BUILD(t->b, localresponsenormalization, GLOW_IN(x),
                       .half_window_size = halves[draw(s, 0, 6)], .alpha = 0.5f,
                       .beta = 0.75f, .k = 1.0f));
}

static void
responses_agree(void **state)
{
    (void)state;
    for_cases(24, build_responses);
}

/* A chain over the last axis of which a part is broadcast. */
static void
build_chain(fixture *t, uint64_t *s)
{
    glow_dims d = GLOW_DIMS_OF(draw(s, 1, 4), draw_size(s));
    glow_value *x = input(t, GLOW_FLOAT, d);
    glow_value *z = input(t, GLOW_FLOAT, GLOW_DIMS_OF(d.at[0]));
    glow_value *c =
        GLOW_BUILD(t->b, broadcast, GLOW_IN(z), .axis = 0, .target_dim = d);

    c = GLOW_BUILD_PLAIN(t->b, add, GLOW_IN(x, c));
    c = GLOW_BUILD_PLAIN(t->b, sigmoid, GLOW_IN(c));
    save(t, GLOW_BUILD_PLAIN(t->b, mul, GLOW_IN(c, x)));
    save(t, GLOW_BUILD_PLAIN(t->b, atan, GLOW_IN(c)));
}

static void
chains_agree(void **state)
{
    (void)state;
    for_cases(40, build_chain);
}

static void
build_moves(fixture *t, uint64_t *s)
{
    glow_kind k = draw_kind(s, moved, COUNT(moved));
    glow_dims d = GLOW_DIMS_OF(draw(s, 1, 3), draw_size(s), draw_size(s));
    glow_dims shuffles[] = {GLOW_DIMS_OF(0, 2, 1), GLOW_DIMS_OF(1, 0, 2),
                            GLOW_DIMS_OF(1, 2, 0), GLOW_DIMS_OF(2, 1, 0)};

    if (d.at[1] * d.at[2] > 20000)
        d.at[1] = 3;

    glow_value *x = input(t, k, d);
    glow_value *z = input(t, k, GLOW_DIMS_OF(d.at[0], 2, d.at[2]));
    glow_value *y = GLOW_BUILD(t->b, transpose, GLOW_IN(x),
                               .shuffle = shuffles[draw(s, 0, 3)]);

    save(t, y);
    save(t, GLOW_BUILD(t->b, concat, GLOW_IN(x, z), .dim = 1));
    save(t, GLOW_BUILD(t->b, tile, GLOW_IN(z), .axis = (int)draw(s, 0, 2),
                       .count = 2));
}

static void
moves_agree(void **state)
{
    (void)state;
    for_cases(60, build_moves);
}

/* Transposes that something is stacked on, of strided operands too. */
static void
build_transposes(fixture *t, uint64_t *s)
{
    glow_dims d =
        GLOW_DIMS_OF(draw(s, 1, 3), draw_size(s), draw(s, 1, 3), draw_size(s));
    glow_dims shuffles[] = {GLOW_DIMS_OF(0, 3, 1, 2), GLOW_DIMS_OF(3, 0, 1, 2),
                            GLOW_DIMS_OF(0, 2, 3, 1), GLOW_DIMS_OF(0, 1, 3, 2),
                            GLOW_DIMS_OF(0, 3, 2, 1), GLOW_DIMS_OF(2, 3, 1, 0)};
    glow_dims by = shuffles[draw(s, 0, COUNT(shuffles) - 1)];

    if (d.at[1] * d.at[3] > 20000)
        d.at[1] = 3;

    glow_value *x = input(t, draw(s, 0, 3) ? GLOW_FLOAT : GLOW_INDEX32, d);
    glow_value *y = GLOW_BUILD(t->b, transpose, GLOW_IN(x), .shuffle = by);

    if (draw(s, 0, 1))
        y = GLOW_BUILD_PLAIN(t->b, abs, GLOW_IN(y));
    save(t, y);
}

static void
transposes_agree(void **state)
{
    (void)state;
    for_cases(90, build_transposes);
}

/* Pictures of few channels, and nothing that could be stacked on the transpose. */
static void
build_pictures(fixture *t, uint64_t *s)
{
    int64_t batch = draw(s, 1, 2), channels = draw(s, 2, 9);
    glow_value *x =
        input(t, GLOW_FLOAT, GLOW_DIMS_OF(batch, channels, draw_size(s)));
    glow_value *y = GLOW_BUILD(t->b, transpose, GLOW_IN(x),
                               .shuffle = GLOW_DIMS_OF(0, 2, 1));

    save(t, GLOW_BUILD(t->b, concat, GLOW_IN(y, y), .dim = 1));
}

static void
pictures_agree(void **state)
{
    (void)state;
    for_cases(60, build_pictures);
}

static void
build_reductions(fixture *t, uint64_t *s)
{
    static const glow_kind kinds[] = {GLOW_FLOAT, GLOW_FLOAT, GLOW_FLOAT64,
                                      GLOW_INDEX64};
    glow_kind k = draw_kind(s, kinds, COUNT(kinds));
    glow_dims d = GLOW_DIMS_OF(draw(s, 1, 3), draw_size(s), draw_size(s));
    glow_dims axes[] = {GLOW_DIMS_OF(0), GLOW_DIMS_OF(1), GLOW_DIMS_OF(2),
                        GLOW_DIMS_OF(0, 2), GLOW_DIMS_OF(1, 2)};
    glow_dims a = axes[draw(s, 0, COUNT(axes) - 1)];
    glow_value *x = input(t, k, d);

    save(t, GLOW_BUILD(t->b, batchedreduceadd, GLOW_IN(x), .axes = a));
    save(t, GLOW_BUILD(t->b, batchedreducemax, GLOW_IN(x), .axes = a));
    save(t, GLOW_BUILD(t->b, argmax, GLOW_IN(x), .axis = (int)draw(s, 0, 2),
                       .select_last = draw(s, 0, 1)));
}

static void
reductions_agree(void **state)
{
    (void)state;
    for_cases(60, build_reductions);
}

static void
build_pools(fixture *t, uint64_t *s)
{
    glow_dims kernels = GLOW_DIMS_OF(draw(s, 1, 4), draw(s, 1, 18));
    bool stretch =
        draw(s, 0, 2) == 0; /* what neighbours read is side by side */
    glow_dims strides =
        GLOW_DIMS_OF(draw(s, 1, 3), stretch ? 1 : draw(s, 1, 3));
    glow_dims pads = GLOW_DIMS_OF(draw(s, 0, 1), stretch ? 0 : draw(s, 0, 3),
                                  draw(s, 0, 1), stretch ? 0 : draw(s, 0, 2));
    glow_dims dilation = GLOW_DIMS_OF(draw(s, 1, 2), draw(s, 1, 2));
    glow_kind k = draw_kind(s, floats, COUNT(floats));
    int64_t h = 7 + draw(s, 0, 4), w = 36 + draw(s, 0, 20);
    glow_value *x = input(t, k, GLOW_DIMS_OF(2, h, w, draw_size(s) % 64 + 1));
    glow_value *y =
        GLOW_BUILD(t->b, maxpool, GLOW_IN(x), .kernels = kernels,
                   .strides = strides, .pads = pads, .dilation = dilation);

    save(t, draw(s, 0, 1) ? y : GLOW_BUILD_PLAIN(t->b, relu, GLOW_IN(y)));
    save(t, GLOW_BUILD(t->b, avgpool, GLOW_IN(x), .kernels = kernels,
                       .strides = strides, .pads = pads, .dilation = dilation,
                       .count_include_pads = draw(s, 0, 1)));
}

static void
pools_agree(void **state)
{
    (void)state;
    for_cases(60, build_pools);
}

/* The average of all there is, of few channels and of more than fill registers. */
static void
build_averages(fixture *t, uint64_t *s)
{
    glow_dims size = GLOW_DIMS_OF(draw(s, 1, 9), draw(s, 1, 19));
    glow_value *x = input(
        t, draw_kind(s, floats, COUNT(floats)),
        GLOW_DIMS_OF(draw(s, 1, 2), size.at[0], size.at[1], draw_size(s)));
    glow_value *y = GLOW_BUILD(t->b, avgpool, GLOW_IN(x), .kernels = size,
                               .strides = GLOW_DIMS_OF(1, 1),
                               .pads = GLOW_DIMS_OF(0, 0, 0, 0),
                               .dilation = GLOW_DIMS_OF(1, 1));

    save(t, GLOW_BUILD_PLAIN(t->b, relu, GLOW_IN(y)));
}

static void
averages_agree(void **state)
{
    (void)state;
    for_cases(60, build_averages);
}

/* NaN in a window makes the result NaN; the least number is one as any. */
static void
pools_see_special_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(targets); i++) {
        fixture t = {.target = &targets[i]};

        begin(&t);

        glow_value *x = input(&t, GLOW_FLOAT, GLOW_DIMS_OF(1, 5, 6, 19));

        save(&t,
             GLOW_BUILD(t.b, maxpool, GLOW_IN(x), .kernels = GLOW_DIMS_OF(3, 2),
                        .strides = GLOW_DIMS_OF(1, 1),
                        .pads = GLOW_DIMS_OF(1, 0, 1, 1),
                        .dilation = GLOW_DIMS_OF(1, 1)));
        if (runs(t.target))
            agree_on(&t, "special values", GLOW_FILL_SPECIAL, 0);
        else
            end(&t);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_agree),
        cmocka_unit_test(batches_agree),
        cmocka_unit_test(rows_agree),
        cmocka_unit_test(updates_agree),
        cmocka_unit_test(responses_agree),
        cmocka_unit_test(chains_agree),
        cmocka_unit_test(moves_agree),
        cmocka_unit_test(transposes_agree),
        cmocka_unit_test(pictures_agree),
        cmocka_unit_test(reductions_agree),
        cmocka_unit_test(pools_agree),
        cmocka_unit_test(averages_agree),
        cmocka_unit_test(pools_see_special_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
