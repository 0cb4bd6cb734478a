/*
 * fold-channel-shuffle: recognize a channel shuffle in reshapes and a
 * transpose.
 *
 *     %a = Reshape(%x : [N, H, W, C])       : [N, H, W, G, C / G]
 *     %b = Transpose(%a) {[0, 1, 2, 4, 3]}  : [N, H, W, C / G, G]
 *     %y = Reshape(%b)                      : [N, H, W, C]
 *         =>
 *     %y = ChannelShuffle(%x) {Group: G, Kernel: 3}
 *
 * Two shuffles that are inverse to each other are removed.
 *
 * The match is by the order of elements: a transpose is a shuffle if two
 * adjacent blocks of axes, of g and d elements, are exchanged, and axis k of %x
 * has g d elements and as many elements before it as are before the blocks.
 * Axes of one element are ignored, and so is the grouping of the axes around
 * the blocks: this matches NCHW and NHWC, squeezed axes, and a %y of another
 * shape, which keeps its reshape.  Glow's FoldChannelShuffle matches one form
 * of the three nodes.
 *
 * A transpose with other users stays: the elements would be moved twice.
 * Exporters of ShuffleNet write the three nodes.  For high-level graphs only:
 * lower-channelshuffle is the inverse.
 */

#include "glow/match.h"
#include "glow/pass.h"
#include "passes/graph/common/axes.h"

/*
 * True if the permutation exchanges block *at and the next one, and no others.
 */
static bool
find_swap(const axis_blocks *b, int *at)
{
    *at = -1;
    for (int i = 0; i < b->count; i++) {
        if (b->order[i] == i)
            continue;
        if (*at >= 0 || i + 1 == b->count || b->order[i] != i + 1 ||
            b->order[i + 1] != i)
            return false;
        *at = i++;
    }
    return *at >= 0;
}

/* The axis of `size` elements with `before` elements before it, or -1. */
static int
find_axis(glow_dims shape, int64_t before, int64_t size)
{
    int64_t count = 1;

    for (int i = 0; i < shape.rank && count <= before; i++) {
        if (count == before && shape.at[i] == size)
            return i;
        count *= shape.at[i];
    }
    return -1;
}

/* The transpose between reshapes as a shuffle of `x`; NULL if it is not one. */
static glow_value *
as_shuffle(glow_builder *b, const glow_node *transpose, glow_value *x)
{
    const glow_transpose *t = transpose->attrs;
    glow_dims shape = transpose->in[0]->type->shape;
    axis_blocks parts = glow_axes_find_blocks(shape, t->shuffle);
    int64_t before = 1;
    int at, axis;

    if (glow_dims_count(shape) == 0 || !find_swap(&parts, &at))
        return NULL;
    for (int i = 0; i < at; i++)
        before *= parts.size[i];
    axis =
        find_axis(x->type->shape, before, parts.size[at] * parts.size[at + 1]);
    if (axis < 0)
        return NULL;
    return GLOW_BUILD(b, channelshuffle, GLOW_IN(x), .group = parts.size[at],
                      .kernel = axis);
}

static glow_value *
fold_reshape(glow_builder *b, glow_node *n)
{
    const glow_node *transpose = glow_only_def(n->in[0], &glow_op_transpose);
    const glow_node *reshape =
        transpose ? glow_def(transpose->in[0], &glow_op_reshape) : NULL;

    if (!reshape)
        return NULL;
    glow_builder_fuses(b, transpose);

    glow_value *y = as_shuffle(b, transpose, reshape->in[0]);

    if (!y || y->type == n->out[0]->type)
        return y;
    return GLOW_BUILD(b, reshape, GLOW_IN(y), .dims = n->out[0]->type->shape);
}

static glow_value *
fold_shuffle(glow_builder *b, glow_node *n)
{
    const glow_channelshuffle *outer = n->attrs;
    const glow_channelshuffle *inner =
        GLOW_AS(channelshuffle, glow_def(n->in[0], n->op));

    (void)b;
    if (!inner || inner->kernel != outer->kernel ||
        inner->group * outer->group != n->in[0]->type->shape.at[outer->kernel])
        return NULL;
    return n->in[0]->def->in[0];
}

static const glow_rewrite_row rows[] = {
    {&glow_op_channelshuffle, fold_shuffle},
    {&glow_op_reshape, fold_reshape},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_fold_channel_shuffle = {
    .name = "fold-channel-shuffle",
    .summary = "recognize channel shuffles in reshapes and transposes",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Zhang et al., ShuffleNet, arXiv:1707.01083; Glow "
              "FoldChannelShuffle",
};
