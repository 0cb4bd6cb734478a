/*
 * fold-repetition: use operators that broadcast an operand implicitly.
 *
 *     %b = Broadcast(%m), of a matrix for each of the batch
 *     %y = BatchMatMul(%x, %b)                  [B, M, K] x [B, K, N]
 *         =>
 *     %y = Reshape(MatMul(Reshape(%x), %m))     [B M, K] x [K, N]
 *
 *     %t = Tile(%s) or Broadcast(%s), along the first axis alone
 *     %y = Add(%x, %t)                     =>  %y = BatchedAdd(%x, Reshape(%s))
 *
 *     BatchedAdd(BatchedAdd(%x, @a), @b)   =>  BatchedAdd(%x, @a + @b)
 *
 * A product of each matrix of a batch by the same one is the product of all
 * rows by it: the matrix is read once, and the product can take a bias.  The
 * repetition may be along several axes that were reshaped to one.  A batch of
 * one is rewritten only if the matrix is constant; otherwise nothing but
 * reshapes would be gained.  The last rule needs constants, so that their sum
 * is a constant.
 *
 * Importers repeat operands as numpy does.  These are Glow's tests
 * convertBroadcastedBatchMatMulToMatMul,
 * convertMultiBroadcastedBatchMatMulToMatMul, FoldTileAddIntoBatchedAdd and
 * mergeBANodes; Glow takes the second from Tile alone, and the first from its
 * own chains of Broadcast and Reshape.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/trace.h"

/* `v` reshaped to `to`; returns `v` if it has this shape. */
static glow_value *
reshaped(glow_builder *b, glow_value *v, glow_dims to)
{
    if (!v || glow_dims_equal(v->type->shape, to))
        return v;
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = to);
}

/*
 * The matrix that `v`, of [B, K, N], repeats; NULL if there is none.
 * *is_repeated is false if B is 1 without a repetition.
 */
static glow_value *
find_matrix(glow_builder *b, glow_value *v, bool *is_repeated)
{
    const glow_node *reshape = glow_def(v, &glow_op_reshape);
    glow_dims shape = v->type->shape, whole;
    glow_trace t = glow_trace_begin(v);
    int rank;

    *is_repeated = shape.at[0] > 1;
    if (glow_trace_is_inner(&t, 1))
        return glow_trace_inner(b, &t, 1);
    if (!reshape)
        return NULL;
    t = glow_trace_begin(reshape->in[0]);
    whole = t.shape;
    rank = whole.rank;
    if (rank < 3 || whole.at[rank - 2] != shape.at[1] ||
        whole.at[rank - 1] != shape.at[2] || !glow_trace_is_inner(&t, rank - 2))
        return NULL;
    return glow_trace_inner(b, &t, rank - 2);
}

static glow_value *
fold_batchmatmul(glow_builder *b, glow_node *n)
{
    bool is_repeated;
    glow_value *m = find_matrix(b, n->in[1], &is_repeated), *x;
    glow_dims shape = n->in[0]->type->shape;

    if (!m ||
        (!is_repeated && !glow_is_constant_like(glow_trace_begin(m).value)))
        return NULL;
    x = reshaped(b, n->in[0],
                 GLOW_DIMS_OF(shape.at[0] * shape.at[1], shape.at[2]));
    x = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x, m));
    return reshaped(b, x, n->out[0]->type->shape);
}

/* The slice that `v` repeats along its first axis and no other; or NULL. */
static glow_value *
find_slice(glow_builder *b, glow_value *v)
{
    const glow_node *tile = glow_def(v, &glow_op_tile);
    glow_trace t = glow_trace_begin(v);
    glow_dims slice = {0}, shape = v->type->shape;
    double number;

    for (int i = 1; i < shape.rank; i++)
        slice.at[slice.rank++] = shape.at[i];
    if (shape.rank < 2 || shape.at[0] < 2 || glow_splat_value(v, &number))
        return NULL;
    if (tile && ((const glow_tile *)tile->attrs)->axis == 0 &&
        tile->in[0]->type->shape.at[0] == 1)
        return reshaped(b, tile->in[0], slice);
    if (!glow_trace_is_inner(&t, 1) ||
        glow_type_count(t.value->type) != glow_dims_count(slice))
        return NULL;
    return reshaped(b, t.value, slice);
}

static glow_value *
fold_add(glow_builder *b, glow_node *n)
{
    for (int i = 0; i < 2; i++) {
        glow_value *s = glow_def(n->in[i], &glow_op_tile) ||
                                glow_def(n->in[i], &glow_op_broadcast)
                            ? find_slice(b, n->in[i])
                            : NULL;

        if (s)
            return GLOW_BUILD_PLAIN(b, batchedadd, GLOW_IN(n->in[1 - i], s));
    }
    return NULL;
}

static glow_value *
fold_batchedadd(glow_builder *b, glow_node *n)
{
    const glow_node *inner = glow_only_def(n->in[0], &glow_op_batchedadd);
    glow_value *sum;

    if (!inner || inner->out[0]->type != inner->in[0]->type ||
        !glow_is_constant_like(inner->in[1]) ||
        !glow_is_constant_like(n->in[1]) ||
        inner->in[1]->type != n->in[1]->type)
        return NULL;
    glow_builder_fuses(b, inner);
    sum = GLOW_BUILD_PLAIN(b, add, GLOW_IN(inner->in[1], n->in[1]));
    return GLOW_BUILD_PLAIN(b, batchedadd, GLOW_IN(inner->in[0], sum));
}

static const glow_rewrite_row rows[] = {
    {&glow_op_add, fold_add},
    {&glow_op_batchedadd, fold_batchedadd},
    {&glow_op_batchmatmul, fold_batchmatmul},
    {0},
};

/* True if result 0 of `n` is dense, of floats or integers. */
static bool
is_dense_number(const glow_node *n)
{
    const glow_type *t = n->out[0]->type;

    return (glow_is_float(t->elem) || glow_is_int(t->elem)) &&
           t->strides.rank == 0;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, is_dense_number);
}

const glow_pass glow_pass_fold_repetition = {
    .name = "fold-repetition",
    .summary = "use operators that broadcast an operand implicitly",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Glow, ConvertBroadcastedBatchMatMul, FoldTileAddIntoBatchedAdd, "
              "MergeBatchedAdd",
};
