/*
 * Matrix products.
 */

#include "tools/glow-translate/import/import.h"

/* Gemm; C, if present, is broadcast to the result. */
static bool
gemm(import_node *n)
{
    float alpha = import_float(n, "alpha", 1);
    float beta = import_float(n, "beta", 1);
    bool ta = import_flag(n, "transA", false);
    bool tb = import_flag(n, "transB", false);

    import_ignore(n, "broadcast"); /* before opset 7 */
    if (!import_operands(n, 2, 3))
        return false;

    glow_value *a = import_in(n, 0), *b = import_in(n, 1);
    glow_value *c = import_in(n, 2);

    if (a->type->shape.rank != 2 || b->type->shape.rank != 2)
        return import_refuse(n, "E0711", "the ranks of A and B are %d and %d",
                             a->type->shape.rank, b->type->shape.rank);
    if (c)
        c = import_broadcast(n, c,
                             GLOW_DIMS_OF(a->type->shape.at[ta ? 1 : 0],
                                          b->type->shape.at[tb ? 0 : 1]));
    return import_done(n, BUILD(n, gemm, GLOW_IN(a, b, c), .alpha = alpha,
                                .beta = beta, .transpose_a = ta,
                                .transpose_b = tb));
}

/* The product of the dimensions before the last two. */
static int64_t
batch_of(glow_dims s)
{
    int64_t n = 1;

    for (int i = 0; i < s.rank - 2; i++)
        n *= s.at[i];
    return n;
}

/*
 * Broadcasts the batches of both operands to each other and flattens them to
 * one axis.
 */
static glow_value *
batched(import_node *n, glow_value *a, glow_value *b)
{
    glow_dims as = a->type->shape, bs = b->type->shape;
    glow_dims ab = as, bb = bs, y;
    int64_t batch;

    ab.rank -= 2;
    bb.rank -= 2;
    y = import_broadcast_shape(n, ab, bb);
    ab = bb = y;
    ab.rank = bb.rank = y.rank + 2;
    for (int i = 0; i < 2; i++) {
        ab.at[y.rank + i] = as.at[as.rank - 2 + i];
        bb.at[y.rank + i] = bs.at[bs.rank - 2 + i];
    }
    batch = batch_of(ab);
    a = import_broadcast(n, a, ab);
    b = import_broadcast(n, b, bb);
    a = import_reshape(n, a,
                       GLOW_DIMS_OF(batch, ab.at[y.rank], ab.at[y.rank + 1]));
    b = import_reshape(n, b,
                       GLOW_DIMS_OF(batch, bb.at[y.rank], bb.at[y.rank + 1]));
    ab.at[y.rank + 1] = bb.at[y.rank + 1];
    return import_reshape(n, BUILD_PLAIN(n, batchmatmul, GLOW_IN(a, b)), ab);
}

/* A batch of matrices times one matrix, as one product with more rows. */
static glow_value *
times_matrix(import_node *n, glow_value *a, glow_value *b)
{
    glow_dims y = a->type->shape;
    int64_t depth = y.at[y.rank - 1];
    int64_t rows = batch_of(y) * y.at[y.rank - 2];

    a = import_reshape(n, a, GLOW_DIMS_OF(rows, depth));
    y.at[y.rank - 1] = b->type->shape.at[1];
    return import_reshape(n, BUILD_PLAIN(n, matmul, GLOW_IN(a, b)), y);
}

/* numpy's matmul: a vector is a row on the left and a column on the right. */
static bool
matmul(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *a = import_in(n, 0), *b = import_in(n, 1), *y;
    bool row = a->type->shape.rank == 1, column = b->type->shape.rank == 1;

    if (a->type->shape.rank == 0 || b->type->shape.rank == 0)
        return import_refuse(n, "E0711", "an operand is a scalar");
    if (row)
        a = import_reshape(n, a, GLOW_DIMS_OF(1, a->type->shape.at[0]));
    if (column)
        b = import_reshape(n, b, GLOW_DIMS_OF(b->type->shape.at[0], 1));
    if (n->failed)
        return false;
    y = b->type->shape.rank == 2 ? times_matrix(n, a, b) : batched(n, a, b);
    if (n->failed)
        return false;

    glow_dims all = y->type->shape, shape = {0};

    for (int i = 0; i < all.rank; i++)
        if (!(row && i == all.rank - 2) && !(column && i == all.rank - 1))
            shape.at[shape.rank++] = all.at[i];
    return import_done(n, import_reshape(n, y, shape));
}

static bool
einsum(import_node *n)
{
    glow_einsum a = {.equation = import_string(n, "equation", "")};

    return import_operands(n, 1, GLOW_EINSUM_OPERANDS) &&
           import_done(
               n, import_build(n, &glow_op_einsum, NULL, n->in, n->n_in, &a));
}

static glow_value *
last_two_swapped(import_node *n, glow_value *v)
{
    glow_dims p = {.rank = import_shape(v).rank};

    for (int i = 0; i < p.rank; i++)
        p.at[i] = i < p.rank - 2 ? i : 2 * p.rank - 3 - i;
    return p.rank < 2 ? v : import_transpose(n, v, p);
}

/* Caffe2's, as Glow takes it in ONNX: either side may be transposed. */
static bool
batch_matmul(import_node *n)
{
    bool ta = import_flag(n, "trans_a", false);
    bool tb = import_flag(n, "trans_b", false);

    import_ignore(n, "broadcast");
    if (!import_operands(n, 2, 2))
        return false;
    if (ta)
        n->in[0] = last_two_swapped(n, n->in[0]);
    if (tb)
        n->in[1] = last_two_swapped(n, n->in[1]);
    return matmul(n);
}

/* Caffe2's, as Glow takes it in ONNX: of each row. */
static bool
dot_product(import_node *n)
{
    glow_value *x, *y;

    if (!import_operands(n, 2, 2))
        return false;
    x = import_in(n, 0);
    y = BUILD_PLAIN(n, mul, GLOW_IN(x, import_in(n, 1)));
    if (x->type->shape.rank != 1 && x->type->shape.rank != 2)
        return import_refuse(n, "E0711",
                             "the rank of the operands is %d, but must be 1 "
                             "or 2",
                             x->type->shape.rank);
    if (x->type->shape.rank == 2)
        y = BUILD(n, batchedreduceadd, GLOW_IN(y), .axes = GLOW_DIMS_OF(1));
    return import_done(n, y);
}

static bool
det(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, BUILD_PLAIN(n, det, GLOW_IN(import_in(n, 0))));
}

const import_row import_matmul_rows[] = {
    {"BatchMatMul", 1, 0, batch_matmul, NULL, NULL},
    {"Det", 11, 0, det, &glow_op_det, "floats"},
    {"DotProduct", 1, 0, dot_product, NULL, NULL},
    {"Einsum", 12, 0, einsum, &glow_op_einsum, "numbers"},
    {"Gemm", 1, 0, gemm, &glow_op_gemm, "numbers"},
    {"MatMul", 1, 0, matmul, &glow_op_matmul,
     "numbers; BatchMatMul where B has a batch"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
