/*
 * lower-deformconv: sample first, then convolve.
 *
 *     %s = the sample of Input at each tap of each result: see sample.c
 *     %y = Convolution(%s as [N, results, taps, C] * Mask, Filter, Bias)
 *              {Kernels: [1, taps]}
 *
 * The groups of offsets become batches of the sample; the groups of channels
 * stay groups of the convolution.
 */

#include "lower/sample.h"

/* Sizes shared by the functions of this file. */
typedef struct shape {
    int axes;
    int64_t batch, results, taps, groups, channels; /* groups of offsets */
} shape;

static shape
shape_of(const glow_node *n)
{
    const glow_deformconv *c = n->attrs;
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    shape s = {.axes = x.rank - 2,
               .batch = x.at[0],
               .results = 1,
               .taps = 1,
               .groups = c->offset_group,
               .channels = x.at[x.rank - 1]};

    for (int i = 0; i < s.axes; i++) {
        s.results *= y.at[1 + i];
        s.taps *= c->kernels.at[i];
    }
    return s;
}

/* Positions are computed in float or wider: 16-bit floats would round them. */
static glow_kind
position_kind(const glow_node *n)
{
    return n->in[0]->type->elem == GLOW_FLOAT64 ? GLOW_FLOAT64 : GLOW_FLOAT;
}

/* Positions of the taps on axis `a`, without their offsets: [results, taps]. */
static glow_value *
places(glow_builder *b, const glow_node *n, const shape *s, int a)
{
    const glow_deformconv *c = n->attrs;
    glow_dims y = n->out[0]->type->shape, out = {.rank = s->axes};
    double *at =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), double, s->results * s->taps);
    int64_t dilation = c->dilation.rank ? c->dilation.at[a] : 1, to = 0;

    for (int i = 0; i < s->axes; i++)
        out.at[i] = y.at[1 + i];
    GLOW_FOR_EACH_INDEX(i, out)
        GLOW_FOR_EACH_INDEX(k, c->kernels)
            at[to++] = (double)(i.at[a] * c->strides.at[a] - c->pads.at[a] +
                                k.at[a] * dilation);
    return glow_lower_reals(b, "places", position_kind(n),
                            GLOW_DIMS_OF(s->results, s->taps), at);
}

/* [N, rest, groups, each] as [N * groups, rest, each], and back. */
static glow_value *
groups_out(glow_builder *b, glow_value *v, const shape *s, int64_t rest,
           int64_t each)
{
    if (s->groups > 1) {
        v = glow_build_reshape(b, v,
                               GLOW_DIMS_OF(s->batch, rest, s->groups, each));
        v = GLOW_BUILD(b, transpose, GLOW_IN(v),
                       .shuffle = GLOW_DIMS_OF(0, 2, 1, 3));
    }
    return glow_build_reshape(b, v,
                              GLOW_DIMS_OF(s->batch * s->groups, rest, each));
}

static glow_value *
groups_in(glow_builder *b, glow_value *v, const shape *s, int64_t rest,
          int64_t each)
{
    if (s->groups > 1) {
        v = glow_build_reshape(b, v,
                               GLOW_DIMS_OF(s->batch, s->groups, rest, each));
        v = GLOW_BUILD(b, transpose, GLOW_IN(v),
                       .shuffle = GLOW_DIMS_OF(0, 2, 1, 3));
    }
    return glow_build_reshape(
        b, v, GLOW_DIMS_OF(s->batch, s->results, s->taps, s->channels));
}

/* Input sampled at all taps: [N, results, taps, C]. */
static glow_value *
read_taps(glow_builder *b, const glow_node *n, const shape *s)
{
    const glow_lower_reading how = {GLOW_RESIZE_LINEAR, GLOW_SAMPLE_ZEROS,
                                    true};
    glow_dims x = n->in[0]->type->shape;
    int64_t pixels = 1, each = s->channels / s->groups;
    int64_t batch = s->batch * s->groups, points = s->results * s->taps;
    glow_value *v, *at[GLOW_MAX_RANK];
    glow_value *offset =
        groups_out(b, n->in[2], s, s->results, s->taps * s->axes);

    offset = glow_lower_convert(b, offset, position_kind(n));
    offset = glow_build_reshape(
        b, offset, GLOW_DIMS_OF(batch, s->results, s->taps, s->axes));
    for (int a = 0; a < s->axes; a++) {
        v = glow_lower_column(b, offset, a);
        v = glow_build_add(
            b, v,
            glow_lower_spread(b, places(b, n, s, a), 1,
                              GLOW_DIMS_OF(batch, s->results, s->taps)));
        at[a] = glow_build_reshape(b, v, GLOW_DIMS_OF(batch, points));
        pixels *= x.at[1 + a];
    }
    v = groups_out(b, n->in[0], s, pixels, each);
    x.at[0] = batch;
    x.at[x.rank - 1] = each;
    v = glow_build_reshape(b, v, x);
    if (!v)
        return NULL;
    return groups_in(b, glow_lower_sample(b, &how, v, at), s, points, each);
}

/* Mask, [N, out.., groups * taps], for each channel: [N, results, taps, C]. */
static glow_value *
mask(glow_builder *b, glow_value *v, const shape *s)
{
    int64_t each = s->channels / s->groups;
    glow_dims d = GLOW_DIMS_OF(s->batch, s->results, s->taps, s->groups, 1);

    v = glow_build_reshape(
        b, v, GLOW_DIMS_OF(s->batch, s->results, s->groups, s->taps));
    v = GLOW_BUILD(b, transpose, GLOW_IN(v),
                   .shuffle = GLOW_DIMS_OF(0, 1, 3, 2));
    v = glow_build_reshape(b, v, d);
    d.at[4] = each;
    return glow_build_reshape(
        b, glow_lower_spread(b, v, 0, d),
        GLOW_DIMS_OF(s->batch, s->results, s->taps, s->channels));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_deformconv *c = n->attrs;
    shape s = shape_of(n);
    glow_dims f = n->in[1]->type->shape, y = n->out[0]->type->shape;
    glow_value *v, *filter;

    if (glow_dims_count(y) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    v = read_taps(b, n, &s);
    if (n->in[4])
        v = glow_build_mul(b, v, mask(b, n->in[4], &s));
    filter = glow_build_reshape(
        b, n->in[1], GLOW_DIMS_OF(f.at[0], 1, s.taps, s.channels / c->group));
    v = GLOW_BUILD(b, convolution, GLOW_IN(v, filter, n->in[3]),
                   .kernels = GLOW_DIMS_OF(1, s.taps),
                   .strides = GLOW_DIMS_OF(1, 1),
                   .pads = GLOW_DIMS_OF(0, 0, 0, 0), .group = c->group);
    return glow_build_reshape(b, v, y);
}

const glow_pass glow_pass_lower_deformconv = {
    .name = "lower-deformconv",
    .summary = "express DeformConv by sampling and Convolution",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_deformconv,
    .rewrite = lower,
};
