/*
 * Normalization of each image of a batch by groups of its channels;
 * InstanceNormalization has a group for each channel.
 */

#include <math.h>

#include "ir/ops/common.h"

/* The operands of both: Input, and a Scale and Bias for each channel. */
static bool
group_infer(const glow_node *n, glow_type out[], int channel_idx, float epsilon)
{
    const glow_type *x = n->in[0]->type;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank_from(n, 0, 2) ||
        !glow_check_axis(n, "ChannelIdx", channel_idx, 0))
        return false;
    if (channel_idx == 0)
        return glow_reject(n,
                           "ChannelIdx is 0, which is the axis of the batch");
    if (!(epsilon >= 0))
        return glow_reject(n, "Epsilon is %g, but must be 0 or more",
                           (double)epsilon);
    for (int i = 1; i < n->n_in; i++)
        if (!glow_check_kinds(n, i, 0) ||
            !glow_check_shape(n, i, GLOW_DIMS_OF(x->shape.at[channel_idx]),
                              "that of the channels of Input"))
            return false;
    return glow_give(n, glow_dense(x), &out[0]);
}

/* Layout of channels and groups in a tensor. */
typedef struct groups {
    int64_t each;     /* elements of an image */
    int64_t step;     /* from one channel to the next */
    int64_t channels; /* of an image */
    int64_t size;     /* channels of a group */
    int64_t count;    /* of all images */
} groups;

static int64_t
channel_of(const groups *g, int64_t i)
{
    return i / g->step % g->channels;
}

static int64_t
group_of(const groups *g, int64_t i)
{
    return i / g->each * (g->channels / g->size) + channel_of(g, i) / g->size;
}

/* mean[k] = the mean of x - from[group of x], or of its square. */
static double *
means(const groups *g, const glow_tensor *x, const double *from,
      glow_arena *scratch)
{
    double *mean = GLOW_NEW_ARRAY(scratch, double, g->count);
    int64_t count = glow_tensor_count(x);

    for (int64_t i = 0; i < g->count; i++)
        mean[i] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t k = group_of(g, i);
        double v = glow_get_double(x, i);

        mean[k] += from ? (v - from[k]) * (v - from[k]) : v;
    }
    for (int64_t i = 0; i < g->count; i++)
        mean[i] /= (double)(count / g->count);
    return mean;
}

static void
normalize(const groups *g, glow_tensor *const in[], const glow_tensor *out,
          float epsilon, glow_arena *scratch)
{
    double *mean = means(g, in[0], NULL, scratch);
    double *var = means(g, in[0], mean, scratch);
    double *scale = glow_load_all(in[1], scratch);
    double *bias = glow_load_all(in[2], scratch);
    int64_t count = glow_tensor_count(out);

    for (int64_t i = 0; i < count; i++) {
        int64_t k = group_of(g, i), c = channel_of(g, i);
        double v = glow_get_double(in[0], i) - mean[k];

        v = v / sqrt(var[k] + (double)epsilon) * scale[c] + bias[c];
        glow_set_double(out, i, v);
    }
}

static void
eval_groups(glow_tensor *const in[], const glow_tensor *out, int channel_idx,
            int64_t count, float epsilon, glow_arena *scratch)
{
    glow_dims x = in[0]->type->shape;
    groups g = {.each = glow_dims_product(x, 1, x.rank),
                .step = glow_dims_product(x, channel_idx + 1, x.rank),
                .channels = x.at[channel_idx],
                .size = x.at[channel_idx] / (count ? count : 1),
                .count = x.at[0] * count};

    if (glow_tensor_count(out) > 0)
        normalize(&g, in, out, epsilon, scratch);
}

#define GROUP_OPERANDS                                               \
    {                                                                \
        {"Input", GLOW_TENSOR, "x, the batch along the first axis"}, \
        {"Scale", GLOW_TENSOR, "s, one for each channel"},           \
        {"Bias", GLOW_TENSOR, "b, one for each channel"},            \
    }

/* groupnormalization */

static bool
groupnormalization_infer(const glow_node *n, glow_type out[])
{
    const glow_groupnormalization *g = n->attrs;

    if (!group_infer(n, out, g->channel_idx, g->epsilon))
        return false;
    if (g->group < 1 || out[0].shape.at[g->channel_idx] % g->group != 0)
        return glow_reject(n,
                           "Group is %" PRId64 ", which does not divide the "
                           "%" PRId64 " channels of Input",
                           g->group, out[0].shape.at[g->channel_idx]);
    return true;
}

static bool
groupnormalization_eval(const glow_node *n, glow_tensor *const in[],
                        glow_tensor *const out[], glow_arena *scratch)
{
    const glow_groupnormalization *g = n->attrs;

    eval_groups(in, out[0], g->channel_idx, g->group, g->epsilon, scratch);
    return true;
}

const glow_op glow_op_groupnormalization = {
    .name = "GroupNormalization",
    .summary = "normalize each image of a batch by groups of channels",
    .in = GROUP_OPERANDS,
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_groupnormalization, channel_idx, GLOW_INT,
                         "the axis of the channels, not the first"),
              GLOW_FIELD(glow_groupnormalization, group, GLOW_INT64,
                         "how many groups of channels"),
              GLOW_FIELD(glow_groupnormalization, epsilon, GLOW_FLOAT32,
                         "added to the variance")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = groupnormalization_infer,
    .eval = groupnormalization_eval,
    .doc = "With the mean `m` and the variance `v = mean of (x - m)^2` of the "
           "elements of an image in a group of channels that follow each "
           "other: `y = (x - m) / sqrt(v + Epsilon) * s[c] + b[c]`.",
    .source = "Wu, He, Group Normalization, arXiv:1803.08494; ONNX "
              "GroupNormalization of opset 21",
};

/* instancenormalization */

static bool
instancenormalization_infer(const glow_node *n, glow_type out[])
{
    const glow_instancenormalization *i = n->attrs;

    return group_infer(n, out, i->channel_idx, i->epsilon);
}

static bool
instancenormalization_eval(const glow_node *n, glow_tensor *const in[],
                           glow_tensor *const out[], glow_arena *scratch)
{
    const glow_instancenormalization *i = n->attrs;

    eval_groups(in, out[0], i->channel_idx,
                in[0]->type->shape.at[i->channel_idx], i->epsilon, scratch);
    return true;
}

const glow_op glow_op_instancenormalization = {
    .name = "InstanceNormalization",
    .summary = "normalize each channel of each image of a batch",
    .in = GROUP_OPERANDS,
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_instancenormalization, channel_idx, GLOW_INT,
                         "the axis of the channels, not the first"),
              GLOW_FIELD(glow_instancenormalization, epsilon, GLOW_FLOAT32,
                         "added to the variance")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_SENSITIVE,
    .infer = instancenormalization_infer,
    .eval = instancenormalization_eval,
    .doc = "With the mean `m` and the variance `v = mean of (x - m)^2` of the "
           "elements of an image in a channel: `y = (x - m) / sqrt(v + "
           "Epsilon) * s[c] + b[c]`.",
    .source = "Ulyanov, Vedaldi, Lempitsky, Instance Normalization, "
              "arXiv:1607.08022; Glow InstanceNormalization; ONNX "
              "InstanceNormalization",
};
