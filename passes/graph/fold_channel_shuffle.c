/*
 * fold-channel-shuffle: say in one node that the groups of an axis take turns.
 *
 *     %a = Reshape(%x : [N, H, W, C])       : [N, H, W, G, C / G]
 *     %b = Transpose(%a) {[0, 1, 2, 4, 3]}  : [N, H, W, C / G, G]
 *     %y = Reshape(%b)                      : [N, H, W, C]
 *         =>
 *     %y = ChannelShuffle(%x) {Group: G, Kernel: 3}
 *
 * and of two shuffles that undo each other, nothing.
 *
 * What counts is the order of the elements: a transpose is a shuffle if two
 * blocks of axes, next to each other and of g and d elements, change places,
 * and axis k of %x is g d long with as many elements before it as there are
 * before the blocks.  Axes of one element do not count, and neither does how
 * the axes around the blocks are written: this finds NCHW and NHWC, axes that
 * were squeezed away, and a %y of another shape, which keeps its reshape.
 * Glow's FoldChannelShuffle wants the three nodes written in one way.
 *
 * A transpose that others read as well stays: the elements would be moved
 * twice.  ShuffleNet's exporters write it out.  Afterwards the middle one of a
 * chain of reshape, transpose and reshape takes apart more than one axis.  For
 * high-level graphs only: lower-channelshuffle does the opposite.
 */

#include "glow/match.h"
#include "glow/pass.h"
#include "passes/graph/axes.h"

/* True if block *at and the next one change places, and no others. */
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

/* The axis of `size` elements with `before` before it, or -1. */
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

/* What a transpose does between reshapes, as a shuffle of `x`; or NULL. */
static glow_value *
as_shuffle(glow_builder *b, const glow_node *transpose, glow_value *x)
{
    const glow_transpose *t = transpose->attrs;
    glow_dims shape = transpose->in[0]->type->shape;
    axis_blocks parts = axes_find_blocks(shape, t->shuffle);
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
    .summary = "find shuffles of channels in reshapes and transposes",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .source = "Zhang et al., ShuffleNet, arXiv:1707.01083; Glow "
              "FoldChannelShuffle",
};
