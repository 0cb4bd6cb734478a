/*
 * Interpolation by gather and weighted sum.  Each axis gives a table of
 * elements and one of weights, [N, taps, P]; the tables of all axes are
 * combined to [N, taps.., P]:
 *
 *     %g = Gather(x as [N, pixels, C], elements) {Axis: 1, BatchDims: 1}
 *     %y = BatchedReduceAdd(%g * weights) {Axes: [1]}
 *
 * The weight of a tap is a polynomial in the fraction `t` of a position, so
 * that one table of coefficients holds all interpolation modes.
 */

#include "lower/sample.h"

#define MOST_AXES 3
#define MOST_TAPS 4
#define MOST_TERMS 4
/* Beyond an end by as much, all taps of a cubic are held to the last element. */
#define CUBIC_REACH 3

/*
 * The taps of a mode: their number, the offset of the first, and the
 * coefficients of their weights at 1, t, ...
 */
typedef struct kernel {
    int taps, first, terms;
    double coefficient[MOST_TERMS][MOST_TAPS];
} kernel;

/* Keys' cubic, A = -0.75, multiplied out at 1 + t, t, 1 - t and 2 - t. */
static const kernel kernels[] = {
    [GLOW_RESIZE_NEAREST] = {1, 0, 0, {{0}}},
    [GLOW_RESIZE_LINEAR] = {2, 0, 2, {{1, 0}, {-1, 1}}},
    [GLOW_RESIZE_CUBIC] = {4,
                           -1,
                           4,
                           {{0, 1, 0, 0},
                            {-0.75, 0, 0.75, 0},
                            {1.5, -2.25, 1.5, -0.75},
                            {-0.75, 1.25, -1.25, 0.75}}},
};

glow_value *
glow_lower_column(glow_builder *b, glow_value *v, int64_t i)
{
    glow_type type;
    glow_slice s;

    if (!v)
        return NULL;
    type = glow_type_of(v->type->elem, v->type->shape);
    s = (glow_slice){.start.rank = type.shape.rank};
    s.start.at[type.shape.rank - 1] = i;
    type.shape.at[type.shape.rank - 1] = 1;
    v = glow_build(b, &glow_op_slice,
                   glow_type_get(glow_builder_context(b), type), GLOW_IN(v),
                   &s);
    type.shape.rank--;
    return glow_build_reshape(b, v, type.shape);
}

glow_value *
glow_lower_reals(glow_builder *b, const char *suffix, glow_kind kind,
                 glow_dims shape, const double *at)
{
    glow_value *v = glow_build_constant(
        b, suffix,
        glow_type_get(glow_builder_context(b), glow_type_of(kind, shape)));

    for (int64_t i = 0; v && i < glow_dims_count(shape); i++)
        glow_set_double(&v->storage->tensor, i, at[i]);
    return v;
}

static glow_value *
splat(glow_builder *b, glow_value *like, double v)
{
    return like ? glow_lower_splat(b, like->type, v) : NULL;
}

/* `v` clamped to [low, high]. */
static glow_value *
clip(glow_builder *b, glow_value *v, double low, double high)
{
    v = GLOW_BUILD_PLAIN(b, max, GLOW_IN(v, splat(b, v, low)));
    return GLOW_BUILD_PLAIN(b, min, GLOW_IN(v, splat(b, v, high)));
}

/* low + range - | (t mod 2 range) - range | with t = |v - low|. */
static glow_value *
reflect(glow_builder *b, glow_value *v, double low, double high)
{
    double range = high - low;
    glow_value *t, *turns;

    if (range <= 0)
        return splat(b, v, low);
    t = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(glow_lower_plus(b, v, -low)));
    turns = GLOW_BUILD_PLAIN(b, floor, GLOW_IN(glow_lower_by(b, t, 2 * range)));
    t = glow_build_sub(b, t, glow_lower_times(b, turns, 2 * range));
    t = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(glow_lower_plus(b, t, -range)));
    return glow_build_sub(b, splat(b, t, low + range), t);
}

/*
 * Positions `v` on an axis of `in` elements, moved into it as the padding says.
 */
static glow_value *
pad_position(glow_builder *b, const glow_lower_reading *how, glow_value *v,
             int64_t in)
{
    double edge = how->align_corners ? 0 : -0.5, last = (double)(in - 1);

    if (how->padding == GLOW_SAMPLE_REFLECTION)
        return reflect(b, v, edge, last - edge);
    if (how->padding == GLOW_SAMPLE_ZEROS)
        return v;

    /* A cubic beyond the end still reads elements before it; no taps do far beyond. */
    if (how->mode == GLOW_RESIZE_CUBIC)
        return clip(b, v, -CUBIC_REACH, last + CUBIC_REACH);
    return clip(b, v, 0, last);
}

/* The taps of one axis, [N, taps, P] each; weight or mask may be NULL. */
typedef struct taps {
    glow_value *element, *weight, *mask;
} taps;

/* [N, P] repeated to [N, taps, P]. */
static glow_value *
for_taps(glow_builder *b, glow_value *v, int count)
{
    glow_dims d;

    if (!v)
        return NULL;
    d = GLOW_DIMS_OF(v->type->shape.at[0], 1, v->type->shape.at[1]);
    v = glow_build_reshape(b, v, d);
    d.at[1] = count;
    return glow_lower_spread(b, v, 0, d);
}

/* A number for each tap, repeated to the shape of `like`. */
static glow_value *
each_tap(glow_builder *b, const double *at, int count, glow_value *like)
{
    if (!like)
        return NULL;
    return glow_lower_spread(
        b,
        glow_lower_reals(b, "taps", like->type->elem, GLOW_DIMS_OF(count), at),
        1, like->type->shape);
}

/* ((c3 t + c2) t + c1) t + c0 */
static glow_value *
weigh(glow_builder *b, const kernel *k, glow_value *t)
{
    glow_value *w = each_tap(b, k->coefficient[k->terms - 1], k->taps, t);

    for (int i = k->terms - 2; i >= 0; i--) {
        w = glow_build_mul(b, w, t);
        w = glow_build_add(b, w, each_tap(b, k->coefficient[i], k->taps, t));
    }
    return w;
}

static taps
read_axis(glow_builder *b, const glow_lower_reading *how, glow_value *at,
          int64_t in)
{
    const kernel *k = &kernels[how->mode];
    bool nearest = how->mode == GLOW_RESIZE_NEAREST;
    double last = (double)(in - 1), edge = how->align_corners ? 0 : -0.5;
    double offset[MOST_TAPS];
    glow_value *e, *held;
    taps t = {0};

    for (int i = 0; i < k->taps; i++)
        offset[i] = k->first + i;
    if (nearest)
        at = GLOW_BUILD_PLAIN(b, round, GLOW_IN(at));
    at = pad_position(b, how, at, in);
    e = nearest ? GLOW_BUILD_PLAIN(b, round, GLOW_IN(at))
                : GLOW_BUILD_PLAIN(b, floor, GLOW_IN(at));
    if (!nearest)
        t.weight = weigh(b, k, for_taps(b, glow_build_sub(b, at, e), k->taps));
    e = for_taps(b, e, k->taps);
    e = glow_build_add(b, e, each_tap(b, offset, k->taps, e));
    if (how->padding == GLOW_SAMPLE_REFLECTION)
        e = GLOW_BUILD_PLAIN(b, round,
                             GLOW_IN(reflect(b, e, edge, last - edge)));
    held = clip(b, e, 0, last);
    if (how->padding == GLOW_SAMPLE_ZEROS)
        t.mask = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(e, held));
    if (t.mask && t.weight) {
        t.weight = GLOW_BUILD_PLAIN(
            b, select, GLOW_IN(t.mask, t.weight, splat(b, t.weight, 0)));
        t.mask = NULL;
    }
    t.element = glow_lower_convert(b, held, GLOW_INDEX64);
    return t;
}

/* [N, taps, P] of axis `a` of `axes`, as [N, taps.., P]. */
static glow_value *
combined(glow_builder *b, glow_value *v, int axes, int a)
{
    glow_dims d = {.rank = axes + 2}, all;

    if (!v)
        return NULL;
    all = d;
    for (int i = 1; i <= axes; i++) {
        all.at[i] = v->type->shape.at[1];
        d.at[i] = i == a + 1 ? v->type->shape.at[1] : 1;
    }
    d.at[0] = all.at[0] = v->type->shape.at[0];
    d.at[axes + 1] = all.at[axes + 1] = v->type->shape.at[2];
    return glow_lower_spread(b, glow_build_reshape(b, v, d), 0, all);
}

static glow_value *
both(glow_builder *b, const glow_op *op, glow_value *x, glow_value *y)
{
    return x ? glow_build(b, op, NULL, GLOW_IN(x, y), NULL) : y;
}

/* `v` times an integer, which the float of a Splat may not hold. */
static glow_value *
times_size(glow_builder *b, glow_value *v, int64_t size)
{
    glow_value *c;

    if (!v)
        return NULL;
    c = glow_build_constant(
        b, "size",
        glow_type_get(glow_builder_context(b),
                      glow_type_of(GLOW_INDEX64, (glow_dims){0})));
    if (c)
        glow_set_int(&c->storage->tensor, 0, size);
    return glow_build_mul(b, v, glow_lower_spread(b, c, 0, v->type->shape));
}

/* The taps of all axes, [N, taps.., P], elements counted in pixels. */
static taps
read_all(glow_builder *b, const glow_lower_reading *how, glow_dims x,
         glow_value *const at[])
{
    int axes = x.rank - 2;
    taps all = {0};

    for (int a = 0; a < axes; a++) {
        taps t = read_axis(b, how, at[a], x.at[1 + a]);

        t.element = combined(b, t.element, axes, a);
        all.element = both(b, &glow_op_add,
                           times_size(b, all.element, x.at[1 + a]), t.element);
        if (t.weight)
            all.weight = both(b, &glow_op_mul, all.weight,
                              combined(b, t.weight, axes, a));
        if (t.mask)
            all.mask =
                both(b, &glow_op_and, all.mask, combined(b, t.mask, axes, a));
    }
    return all;
}

glow_value *
glow_lower_sample(glow_builder *b, const glow_lower_reading *how, glow_value *x,
                  glow_value *const at[])
{
    glow_dims shape = x->type->shape, y;
    int axes = shape.rank - 2;
    int64_t channels = shape.at[shape.rank - 1], pixels = 1, count = 1;
    taps t = read_all(b, how, shape, at);

    if (!t.element)
        return NULL;
    for (int i = 0; i < axes; i++) {
        pixels *= shape.at[1 + i];
        count *= kernels[how->mode].taps;
    }
    y = GLOW_DIMS_OF(shape.at[0], count, at[0]->type->shape.at[1], channels);
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(shape.at[0], pixels, channels));
    t.element = glow_build_reshape(b, t.element,
                                   GLOW_DIMS_OF(y.at[0], count * y.at[2]));
    x = GLOW_BUILD(b, gather, GLOW_IN(x, t.element), .axis = 1,
                   .batch_dims = 1);
    y.rank = 3;
    if (t.weight) {
        t.weight = glow_lower_convert(b, glow_build_reshape(b, t.weight, y),
                                      x ? x->type->elem : GLOW_FLOAT);
        y.rank = 4;

        glow_value *weight = glow_lower_spread(b, t.weight, 0, y);

        x = glow_build_mul(b, glow_build_reshape(b, x, y), weight);
        return GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x),
                          .axes = GLOW_DIMS_OF(1));
    }
    y = GLOW_DIMS_OF(y.at[0], y.at[2], channels);
    if (t.mask) {
        t.mask = glow_build_reshape(b, t.mask, GLOW_DIMS_OF(y.at[0], y.at[1]));
        t.mask = glow_lower_spread(b, t.mask, 0, y);
        x = glow_build_select(b, t.mask, x, splat(b, x, 0));
    }
    return x;
}
