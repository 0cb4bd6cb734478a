/*
 * absorb-transpose: permute constant weights instead of the other operand of
 * the product.
 *
 *     %t = Transpose(%x : [N, H, W, C]) {Shuffle: [0, 3, 1, 2]}
 *     %f = Reshape(%t)            : [N, C H W]
 *     %y = MatMul(%f, @w)         : [N, K]
 *         =>
 *     %f = Reshape(%x)            : [N, H W C]
 *     %y = MatMul(%f, @w')        : [N, K], the rows of @w in another order
 *
 * The same products are summed, in another order.  This holds for MatMul,
 * FullyConnected (which flattens by itself, so that it needs no reshape) and
 * Gemm, if the transpose leaves alone the axes that become rows.  The weights
 * must be a constant without other users; fold-constants evaluates the nodes
 * that permute it.
 *
 * Classifiers end like this: a convolution that an importer made channels-last,
 * and a matrix that was trained with channels first (AlexNet, VGG, LeNet).
 * Glow's MergeTransposeIntoMatMulOrFC does it for 4-D transposes between NHWC
 * and NCHW.
 *
 * A reduction, ArgMax or ArgMin takes the axes of the operand:
 *
 *     BatchedReduceMean(Transpose(%x)) {Axes: [2, 3]}  =>
 *     BatchedReduceMean(%x) {Axes: [1, 2]}
 *
 * If the remaining axes are then in another order, a transpose of the result
 * follows, which has fewer elements, unless the first transpose has other
 * users.  The statistics of MeanVarNormalization are those of another axis:
 *
 *     MeanVarNormalization(Transpose(%x), ..) {ChannelIdx: 1}  =>
 *     MeanVarNormalization(%x, ..) {ChannelIdx: 3}
 *
 * Afterwards no transpose of one user is flattened for constant weights or
 * reduced.
 */

#include "glow/match.h"
#include "glow/pass.h"
#include "passes/graph/common/axes.h"

/*
 * True if the first `count` axes of the result are the first `count` of the
 * operand.
 */
static bool
keeps_first(glow_dims perm, int count)
{
    for (int i = 0; i < count; i++)
        if (perm.at[i] >= count)
            return false;
    return true;
}

/*
 * The number of leading axes of `shape`, transposed by `perm`, that form the
 * `rows` rows of a matrix and keep their position; -1 if there is none.
 */
static int
row_axes(glow_dims shape, glow_dims perm, int64_t rows)
{
    int64_t count = 1, last = -1;

    for (int i = 0; i <= perm.rank; i++) {
        if (count == rows && keeps_first(perm, i))
            return i;
        if (i == perm.rank)
            break;

        int64_t axis = perm.at[i];

        if (shape.at[axis] != 1 && axis < last)
            break;
        if (shape.at[axis] != 1)
            last = axis;
        count *= shape.at[axis];
    }
    return -1;
}

/*
 * `w` with its axis `depth` (0 or 1), split into axes as x is, permuted to the
 * order of x.
 */
static glow_value *
permute_weights(glow_builder *b, glow_value *w, int depth, glow_dims x,
                glow_dims perm, int first)
{
    glow_dims shape = w->type->shape, split = {0}, shuffle = {0};
    glow_dims back = glow_axes_inverse(perm);
    int n = perm.rank - first;

    if (depth == 1)
        split.at[split.rank++] = shape.at[0];
    for (int i = 0; i < n; i++)
        split.at[split.rank++] = x.at[perm.at[first + i]];
    if (depth == 0)
        split.at[split.rank++] = shape.at[1];
    shuffle = glow_axes_identity(split.rank);
    for (int i = 0; i < n; i++)
        shuffle.at[depth + i] = back.at[first + i] - first + depth;
    w = GLOW_BUILD(b, reshape, GLOW_IN(w), .dims = split);
    w = GLOW_BUILD(b, transpose, GLOW_IN(w), .shuffle = shuffle);
    return GLOW_BUILD(b, reshape, GLOW_IN(w), .dims = shape);
}

/*
 * The axis of operand 1 that is summed over with the rows of operand 0; -1 if
 * there is none.
 */
static int
depth_axis(const glow_node *n)
{
    const glow_gemm *g = GLOW_AS(gemm, n);

    if (g)
        return g->transpose_a ? -1 : g->transpose_b;
    return glow_is(n, &glow_op_matmul) || glow_is(n, &glow_op_fullyconnected)
               ? 0
               : -1;
}

/*
 * The transpose before `n`; sets `*first` to the number of axes that form the
 * rows of `n`.
 */
static const glow_node *
find_transpose(const glow_node *n, int *first)
{
    const glow_value *x = glow_through(n->in[0], &glow_op_reshape);
    const glow_node *t = glow_def(x, &glow_op_transpose);

    if (!t || glow_is_constant(t->in[0]) ||
        glow_dims_count(x->type->shape) == 0)
        return NULL;
    *first = row_axes(t->in[0]->type->shape,
                      ((const glow_transpose *)t->attrs)->shuffle,
                      n->out[0]->type->shape.at[0]);
    return *first >= 0 && x->type->shape.rank - *first < GLOW_MAX_RANK ? t
                                                                       : NULL;
}

/* True if `w` is a constant without other users. */
static bool
is_own_constant(const glow_value *w)
{
    return glow_is_constant(w) && glow_has_one_use(w) &&
           w->storage->payload != GLOW_ELIDED;
}

static glow_value *
absorb_flattened(glow_builder *b, glow_node *n)
{
    glow_value *in[3];
    int first = 0, depth = depth_axis(n);
    const glow_node *t =
        depth < 0 || n->pred ? NULL : find_transpose(n, &first);

    if (!t || !is_own_constant(n->in[1]))
        return NULL;
    glow_builder_fuses(b, t);
    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i];
    in[0] = t->in[0];
    in[1] = permute_weights(b, in[1], depth, in[0]->type->shape,
                            ((const glow_transpose *)t->attrs)->shuffle, first);
    if (glow_is(n, &glow_op_fullyconnected))
        return glow_build(b, n->op, NULL, in, n->n_in,
                          &(const glow_fullyconnected){.axis = first});
    in[0] =
        GLOW_BUILD(b, reshape, GLOW_IN(in[0]), .dims = n->in[0]->type->shape);
    return glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
}

/* Reductions, ArgMax and ArgMin. */

static bool
is_reduction(const glow_node *n)
{
    static const glow_op *const reductions[] = {
        &glow_op_batchedreduceadd,  &glow_op_batchedreducemax,
        &glow_op_batchedreducemean, &glow_op_batchedreducemin,
        &glow_op_batchedreduceprod, &glow_op_batchedreducesumsquare,
        &glow_op_reducel1,          &glow_op_reducel2,
        &glow_op_reducelogsum,      &glow_op_reducelogsumexp,
    };

    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (reductions[i] == n->op)
            return true;
    return false;
}

static bool
is_search(const glow_node *n)
{
    return (n->op == &glow_op_argmax || n->op == &glow_op_argmin) &&
           !((const glow_argmax *)n->attrs)->keep_dims;
}

/*
 * The axes of the operand of a transpose by `perm` that become `axes`,
 * ascending.
 */
static glow_dims
axes_before(glow_dims axes, glow_dims perm)
{
    glow_dims old = {0};

    for (int axis = 0; axis < perm.rank; axis++)
        for (int i = 0; i < axes.rank; i++)
            if (perm.at[axes.at[i]] == axis)
                old.at[old.rank++] = axis;
    return old;
}

static glow_value *
absorb_reduced(glow_builder *b, glow_node *n)
{
    const glow_node *t = glow_def(n->in[0], &glow_op_transpose);
    bool reduces = is_reduction(n);

    if (!t || n->pred)
        return NULL;

    glow_dims perm = ((const glow_transpose *)t->attrs)->shuffle;
    glow_dims gone = reduces
                         ? ((const glow_reduce *)n->attrs)->axes
                         : GLOW_DIMS_OF(((const glow_argmax *)n->attrs)->axis);
    glow_dims left = glow_axes_left_over(perm, gone);
    glow_reduce reduce = {.axes = axes_before(gone, perm)};
    glow_argmax search = {0};

    if (!glow_axes_is_identity(left) && !glow_has_one_use(n->in[0]))
        return NULL;
    if (!reduces) {
        search = *(const glow_argmax *)n->attrs;
        search.axis = (int)reduce.axes.at[0];
    }
    glow_builder_fuses(b, t);

    glow_value *y =
        glow_build(b, n->op, NULL, GLOW_IN(t->in[0]),
                   reduces ? (const void *)&reduce : (const void *)&search);

    return glow_axes_is_identity(left)
               ? y
               : GLOW_BUILD(b, transpose, GLOW_IN(y), .shuffle = left);
}

static glow_value *
absorb_statistics(glow_builder *b, glow_node *n)
{
    const glow_meanvarnormalization *a = n->attrs;
    const glow_node *t = glow_def(n->in[0], &glow_op_transpose);
    glow_value *y;

    if (!t || n->pred)
        return NULL;
    glow_builder_fuses(b, t);
    y = GLOW_BUILD(
        b, meanvarnormalization, GLOW_IN(t->in[0], n->in[1], n->in[2]),
        .channel_idx =
            (int)((const glow_transpose *)t->attrs)->shuffle.at[a->channel_idx],
        .momentum = a->momentum);
    for (int i = 0; y && i < n->n_out; i++)
        glow_builder_replace(b, n, i, y->def->out[i]);
    return glow_keep_rewritten(n);
}

static glow_value *
absorb(glow_builder *b, glow_node *n)
{
    if (n->op == &glow_op_meanvarnormalization)
        return absorb_statistics(b, n);
    if (is_reduction(n) || is_search(n))
        return absorb_reduced(b, n);
    return absorb_flattened(b, n);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, absorb);
}

const glow_pass glow_pass_absorb_transpose = {
    .name = "absorb-transpose",
    .summary = "permute constant weights instead of the other operand",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .run = run,
    .source = "Glow MergeTransposeIntoMatMulOrFC",
};
