/*
 * lower-bboxtransform: the formulas, on matrices [boxes, classes].
 *
 *     %i = Gather(%info, image of each box)
 *     %x = d / w * width + x                     and so on, see below
 *     %y = Concat([%x1, %y1, %x2, %y2])
 */

#include <math.h>

#include "lower/sample.h"

#define PI 3.14159265358979323846

/* Context of the rule; all its matrices have the shape [boxes, classes]. */
typedef struct matrices {
    glow_builder *b;
    const glow_bboxtransform *t;
    glow_dims shape;
    glow_value *scale, *size[2]; /* size: width, height */
} matrices;

static glow_value *
bound(glow_builder *b, const glow_op *op, glow_value *v, double by)
{
    return v ? glow_build(b, op, NULL,
                          GLOW_IN(v, glow_lower_splat(b, v->type, by)), NULL)
             : NULL;
}

/* A column of a matrix with a row for each box, for all classes. */
static glow_value *
column(const matrices *m, glow_value *v, int64_t i)
{
    return glow_lower_spread(m->b, glow_lower_column(m->b, v, i), 0, m->shape);
}

/* The image of each box, as [boxes]; NULL where there is one image. */
static glow_value *
images(glow_builder *b, const glow_node *n, int size)
{
    return n->in[0]->type->shape.at[1] > size
               ? glow_lower_convert(b, glow_lower_column(b, n->in[0], 0),
                                    GLOW_INDEX64)
               : NULL;
}

/* The number of boxes of each image: result 1 of node `n`. */
static glow_value *
splits(glow_builder *b, const glow_node *n, glow_value *image)
{
    int64_t boxes = n->in[0]->type->shape.at[0];
    int64_t count = n->in[2]->type->shape.at[0];
    glow_dims shape = GLOW_DIMS_OF(boxes, count);
    glow_value *v;

    if (!image)
        return glow_lower_splat(b, n->out[1]->type, (double)boxes);
    v = glow_build_constant(
        b, "images",
        glow_type_get(glow_builder_context(b),
                      glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(count))));
    for (int64_t i = 0; i < count && v; i++)
        glow_set_int(&v->storage->tensor, i, i);
    image = glow_lower_spread(b, image, 0, shape);
    v = glow_lower_spread(b, v, 1, shape);
    v = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(image, v));
    v = glow_lower_convert(b, v, n->out[1]->type->elem);
    return GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = GLOW_DIMS_OF(0));
}

/* floor(size / scale + 0.5) and the scale, of each box's image. */
static void
read_info(matrices *m, const glow_node *n, glow_value *image)
{
    glow_value *info = n->in[2];
    glow_dims rows = GLOW_DIMS_OF(m->shape.at[0], 3);

    info = image ? GLOW_BUILD(m->b, gather, GLOW_IN(info, image), .axis = 0)
                 : glow_lower_spread(m->b, info, 0, rows);
    m->scale = column(m, info, 2);
    for (int i = 0; i < 2; i++) {
        glow_value *v = glow_build_div(m->b, column(m, info, 1 - i), m->scale);

        m->size[i] = GLOW_BUILD_PLAIN(m->b, floor,
                                      GLOW_IN(glow_lower_plus(m->b, v, 0.5)));
    }
}

/* One axis of a box: middle and size, and the two ends computed from them. */
typedef struct side {
    glow_value *middle, *size, *low, *high;
} side;

static void
move(const matrices *m, side *s, glow_value *shift, glow_value *growth, int i)
{
    const float *w = m->t->weights.at;
    glow_builder *b = m->b;

    shift = glow_lower_by(b, shift, (double)w[i]);
    s->middle = glow_build_add(b, glow_build_mul(b, shift, s->size), s->middle);
    growth = glow_lower_by(b, growth, (double)w[2 + i]);
    growth = bound(b, &glow_op_min, growth, GLOW_BBOX_MOST_GROWTH);
    s->size =
        glow_build_mul(b, GLOW_BUILD_PLAIN(b, exp, GLOW_IN(growth)), s->size);
}

/*
 * Sets the ends of side `s` on axis `i`, from middle and size, clamped to the
 * image.
 */
static void
clip(const matrices *m, side *s, int i)
{
    glow_builder *b = m->b;
    double one = m->t->legacy_plus_one ? 1 : 0;
    glow_value *most = glow_lower_plus(b, m->size[i], -one);
    glow_value *half = glow_lower_times(
        b, m->t->rotated ? glow_lower_plus(b, s->size, -one) : s->size, 0.5);

    s->low = glow_build_sub(b, s->middle, half);
    s->high = glow_build_add(b, s->middle, half);
    if (!m->t->rotated)
        s->high = glow_lower_plus(b, s->high, -one);
    s->low = GLOW_BUILD_PLAIN(b, min, GLOW_IN(s->low, most));
    s->high = GLOW_BUILD_PLAIN(b, min, GLOW_IN(s->high, most));
    s->low = bound(b, &glow_op_max, s->low, 0);
    s->high = bound(b, &glow_op_max, s->high, 0);
}

static glow_value *
select(glow_builder *b, glow_value *when, glow_value *x, glow_value *y)
{
    return glow_build_select(b, when, x, y);
}

static glow_value *
less(glow_builder *b, glow_value *x, double y)
{
    return bound(b, &glow_op_cmplt, x, y);
}

/*
 * The angle plus `delta`, wrapped once into the bounds of the node, in degrees.
 */
static glow_value *
turn(const matrices *m, glow_value *angle, glow_value *delta)
{
    glow_builder *b = m->b;
    double low = (double)m->t->angle_bound_lo;
    double high = (double)m->t->angle_bound_hi;
    glow_value *v = glow_build_add(b, glow_lower_times(b, delta, 180 / PI),
                                   angle),
               *above, *below;

    if (!m->t->angle_bound_on || !v)
        return v;
    above = GLOW_BUILD_PLAIN(b, cmplt,
                             GLOW_IN(glow_lower_splat(b, v->type, high), v));
    above = select(b, above, glow_lower_plus(b, v, low - high), v);
    below = less(b, v, low);
    return select(b, below, glow_lower_plus(b, v, high - low), above);
}

/*
 * Middle and size, `to`, of a rotated box: from the clamped ends where the
 * angle is at most ClipAngleThresh.
 */
static void
choose(const matrices *m, const side *s, glow_value *angle, glow_value *to[2])
{
    glow_builder *b = m->b;
    double one = m->t->legacy_plus_one ? 1 : 0;
    glow_value *turned = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(angle));
    glow_value *flat =
        bound(b, &glow_op_cmplte, turned, (double)m->t->clip_angle_thresh);

    to[0] = select(b, flat,
                   glow_lower_times(b, glow_build_add(b, s->low, s->high), 0.5),
                   s->middle);
    to[1] = select(b, flat,
                   glow_lower_plus(b, glow_build_sub(b, s->high, s->low), one),
                   s->size);
}

/* The `count` matrices `v`, concatenated column by column. */
static glow_value *
joined(const matrices *m, glow_value *const v[], int count, glow_dims shape)
{
    glow_value *part[5];

    for (int i = 0; i < count; i++)
        part[i] = glow_build_reshape(
            m->b, v[i], GLOW_DIMS_OF(m->shape.at[0], m->shape.at[1], 1));
    return glow_build_reshape(m->b,
                              glow_build(m->b, &glow_op_concat, NULL, part,
                                         count, &(const glow_concat){.dim = 2}),
                              shape);
}

static glow_value *
boxes(matrices *m, const glow_node *n)
{
    glow_builder *b = m->b;
    const glow_bboxtransform *t = m->t;
    int size = t->rotated ? 5 : 4;
    int64_t first = n->in[0]->type->shape.at[1] - size;
    glow_value *deltas = glow_build_reshape(
        b, n->in[1], GLOW_DIMS_OF(m->shape.at[0], m->shape.at[1], size));
    glow_value *to[5], *angle = NULL;
    side s[2];

    if (t->rotated) {
        angle = column(m, n->in[0], first + 4);
        to[4] = angle = turn(m, angle, glow_lower_column(b, deltas, 4));
    }
    for (int i = 0; i < 2; i++) {
        glow_value *x =
            glow_build_div(b, column(m, n->in[0], first + i), m->scale);
        glow_value *y =
            glow_build_div(b, column(m, n->in[0], first + 2 + i), m->scale);

        s[i] = (side){.middle = x, .size = y};
        if (!t->rotated) {
            s[i].size = glow_lower_plus(b, glow_build_sub(b, y, x),
                                        t->legacy_plus_one ? 1 : 0);
            s[i].middle =
                glow_build_add(b, x, glow_lower_times(b, s[i].size, 0.5));
        }

        glow_value *grow = glow_lower_column(b, deltas, 2 + i);

        move(m, &s[i], glow_lower_column(b, deltas, i), grow, i);
        clip(m, &s[i], i);

        glow_value *pair[2] = {s[i].low, s[i].high};

        if (t->rotated)
            choose(m, &s[i], angle, pair);
        for (int k = 0; k < 2; k++)
            to[2 * k + i] =
                t->apply_scale ? glow_build_mul(b, pair[k], m->scale) : pair[k];
    }
    return joined(m, to, size, n->out[0]->type->shape);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_bboxtransform *t = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    int size = t->rotated ? 5 : 4;
    matrices m = {
        .b = b, .t = t, .shape = GLOW_DIMS_OF(y.at[0], y.at[1] / size)};
    glow_value *image, *v, *count;

    if (y.at[0] == 0) {
        glow_builder_replace(b, n, 0, glow_lower_splat(b, n->out[0]->type, 0));
        glow_builder_replace(b, n, 1, glow_lower_splat(b, n->out[1]->type, 0));
        return glow_keep_rewritten(n);
    }
    image = images(b, n, size);
    read_info(&m, n, image);
    v = boxes(&m, n);
    count = splits(b, n, image);
    if (!v || !count)
        return NULL;
    glow_builder_replace(b, n, 0, v);
    glow_builder_replace(b, n, 1, count);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_bboxtransform = {
    .name = "lower-bboxtransform",
    .summary = "express BBoxTransform by arithmetic on columns",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_bboxtransform,
    .rewrite = lower,
};
