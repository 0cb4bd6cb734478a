/*
 * Permutations of elements: Flip, ReverseSequence, ChannelShuffle,
 * SpaceToDepth.
 */

#include "ir/ops/common.h"

/* flip */

static bool
flip_infer(const glow_node *n, glow_type out[])
{
    const glow_flip *f = n->attrs;

    return glow_admit(n, 0, GLOW_ANY_UNFUSED) &&
           glow_check_axis(n, "Axis", f->axis, 0) &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
flip_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_flip *f = n->attrs;
    glow_dims shape = in[0]->type->shape;
    glow_dims to = glow_dims_strides(shape), from = to;

    (void)scratch;
    if (glow_dims_count(shape) == 0)
        return true;
    from.at[f->axis] = -to.at[f->axis];
    glow_copy_block(out[0], 0, to, in[0],
                    (shape.at[f->axis] - 1) * to.at[f->axis], from, shape);
    return true;
}

const glow_op glow_op_flip = {
    .name = "Flip",
    .summary = "reverse the order along an axis",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_flip, axis, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_LAYOUT,
    .infer = flip_infer,
    .eval = flip_eval,
    .doc = "`y[.., i, ..] = x[.., d - 1 - i, ..]`, where `d` is the size of "
           "Input at Axis.",
    .source = "Glow Flip",
};

/* reversesequence */

static bool
reversesequence_infer(const glow_node *n, glow_type out[])
{
    const glow_reversesequence *r = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) ||
        !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_axis(n, "BatchAxis", r->batch_axis, 0) ||
        !glow_check_axis(n, "TimeAxis", r->time_axis, 0))
        return false;
    if (r->batch_axis == r->time_axis)
        return glow_reject(n, "BatchAxis and TimeAxis are both %d",
                           r->time_axis);
    return glow_check_shape(n, 1, GLOW_DIMS_OF(x.at[r->batch_axis]),
                            "that of BatchAxis") &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
check_lengths(const glow_node *n, const glow_tensor *lengths, int64_t most)
{
    for (int64_t i = 0; i < glow_tensor_count(lengths); i++) {
        int64_t x = glow_get_int(lengths, i);

        if (x < 0 || x > most)
            return glow_reject(n,
                               "element %" PRId64 " of Lengths is %" PRId64
                               ", but TimeAxis has %" PRId64 " elements",
                               i, x, most);
    }
    return true;
}

static bool
reversesequence_eval(const glow_node *n, glow_tensor *const in[],
                     glow_tensor *const out[], glow_arena *scratch)
{
    const glow_reversesequence *r = n->attrs;
    glow_dims x = in[0]->type->shape, none = {0};
    int64_t step = glow_dims_strides(x).at[r->time_axis], at = 0;

    (void)scratch;
    if (!check_lengths(n, in[1], x.at[r->time_axis]))
        return false;
    GLOW_FOR_EACH_INDEX(i, x) {
        int64_t t = i.at[r->time_axis];
        int64_t length = glow_get_int(in[1], i.at[r->batch_axis]);
        int64_t from = t < length ? length - 1 - t : t;

        glow_copy_block(out[0], at, none, in[0], at + (from - t) * step, none,
                        none);
        at++;
    }
    return true;
}

const glow_op glow_op_reversesequence = {
    .name = "ReverseSequence",
    .summary = "reverse the beginnings of sequences of different lengths",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Lengths", GLOW_TENSOR,
            "integers: how much of each sequence is reversed, one for each "
            "element of BatchAxis"}},
    .out = {{"Result", GLOW_TENSOR, "y, of the type of Input"}},
    .attrs = {GLOW_FIELD(glow_reversesequence, batch_axis, GLOW_INT,
                         "from one sequence to the next"),
              GLOW_FIELD(glow_reversesequence, time_axis, GLOW_INT,
                         "from one element of a sequence to the next")},
    .traits = GLOW_PURE,
    .infer = reversesequence_infer,
    .eval = reversesequence_eval,
    .doc = "With batch and time first: `y[b, t]` is `x[b, Lengths[b] - 1 - t]` "
           "if `t < Lengths[b]`, else `x[b, t]`.",
    .source = "ONNX ReverseSequence",
};

/* channelshuffle */

static bool
channelshuffle_infer(const glow_node *n, glow_type out[])
{
    const glow_channelshuffle *s = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) ||
        !glow_check_axis(n, "Kernel", s->kernel, 0))
        return false;
    if (s->group < 1 || x.at[s->kernel] % s->group != 0)
        return glow_reject(n,
                           "Group is %" PRId64 ", but axis %d of Input has "
                           "%" PRId64 " elements",
                           s->group, s->kernel, x.at[s->kernel]);
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
channelshuffle_eval(const glow_node *n, glow_tensor *const in[],
                    glow_tensor *const out[], glow_arena *scratch)
{
    const glow_channelshuffle *s = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t before = glow_dims_product(x, 0, s->kernel);
    int64_t rest = glow_dims_product(x, s->kernel + 1, x.rank);
    int64_t each = x.at[s->kernel] / s->group;
    int64_t all = x.at[s->kernel] * rest;

    (void)scratch;
    if (glow_tensor_count(in[0]) > 0)
        glow_copy_block(out[0], 0, GLOW_DIMS_OF(all, s->group * rest, rest, 1),
                        in[0], 0, GLOW_DIMS_OF(all, rest, each * rest, 1),
                        GLOW_DIMS_OF(before, each, s->group, rest));
    return true;
}

const glow_op glow_op_channelshuffle = {
    .name = "ChannelShuffle",
    .summary = "let the groups of an axis take turns",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_channelshuffle, group, GLOW_INT64,
                         "how many groups the axis is parted into"),
              GLOW_FIELD(glow_channelshuffle, kernel, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_LAYOUT,
    .infer = channelshuffle_infer,
    .eval = channelshuffle_eval,
    .doc = "The axis is seen as [Group, d / Group] and transposed: the first "
           "of each group, then the second of each.",
    .source = "Glow ChannelShuffle; Zhang et al., ShuffleNet, "
              "arXiv:1707.01083",
};

/* spacetodepth */

static bool
spacetodepth_infer(const glow_node *n, glow_type out[])
{
    int64_t b = ((const glow_spacetodepth *)n->attrs)->block_size;
    glow_dims x = n->in[0]->type->shape;
    int64_t depth;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) || !glow_check_rank(n, 0, 4))
        return false;
    if (b < 1 || x.at[1] % b != 0 || x.at[2] % b != 0)
        return glow_reject(
            n, "BlockSize is %" PRId64 ", but Input is %" PRId64 " by %" PRId64,
            b, x.at[1], x.at[2]);
    if (glow_mul_overflow(x.at[3], b, &depth) ||
        glow_mul_overflow(depth, b, &depth))
        return glow_reject(
            n, "%" PRId64 " channels in blocks of %" PRId64 " are too many",
            x.at[3], b);
    x = GLOW_DIMS_OF(x.at[0], x.at[1] / b, x.at[2] / b, depth);
    return glow_give(n, glow_reshaped(n->in[0]->type, x), &out[0]);
}

static bool
spacetodepth_eval(const glow_node *n, glow_tensor *const in[],
                  glow_tensor *const out[], glow_arena *scratch)
{
    int64_t b = ((const glow_spacetodepth *)n->attrs)->block_size;
    glow_dims x = in[0]->type->shape, y = out[0]->type->shape;
    glow_dims from = glow_dims_strides(x), to = glow_dims_strides(y);

    (void)scratch;
    if (glow_tensor_count(in[0]) > 0)
        glow_copy_block(
            out[0], 0,
            GLOW_DIMS_OF(to.at[0], to.at[1], b * x.at[3], to.at[2], x.at[3], 1),
            in[0], 0,
            GLOW_DIMS_OF(from.at[0], b * from.at[1], from.at[1], b * from.at[2],
                         from.at[2], 1),
            GLOW_DIMS_OF(y.at[0], y.at[1], b, y.at[2], b, x.at[3]));
    return true;
}

const glow_op glow_op_spacetodepth = {
    .name = "SpaceToDepth",
    .summary = "make channels of blocks of space",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C]"}},
    .out = {{"Result", GLOW_TENSOR,
             "y, of shape [N, H / b, W / b, b * b * C], b being BlockSize"}},
    .attrs = {GLOW_FIELD(glow_spacetodepth, block_size, GLOW_INT64,
                         "the side of a block")},
    .traits = GLOW_PURE | GLOW_LAYOUT,
    .infer = spacetodepth_infer,
    .eval = spacetodepth_eval,
    .doc = "`y[n, h, w, (i * b + j) * C + c] = x[n, h * b + i, w * b + j, c]`.",
    .source = "Glow SpaceToDepth; ONNX SpaceToDepth",
};
