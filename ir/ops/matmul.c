/* Matrix products: MatMul, BatchMatMul, FullyConnected, Gemm; BatchedAdd. */

#include "glow/tiling.h"
#include "ir/ops/apply.h"
#include "ir/ops/conv.h"
#include "ir/ops/product.h"

/* One product whose rows of A and of C are slices of tensors. */
typedef struct matrices {
    const glow_tensor *a, *c;
    int64_t a_at, a_row, a_depth; /* A[i][k] is at a_at + i a_row + k a_depth */
    int64_t c_at;                 /* C is row-major */
    int64_t depth, columns;
    double alpha, beta;
    const glow_tensor *add; /* NULL, or of C's shape (add_row 0: a row) */
    int64_t add_row;
    const glow_sums *sums; /* of quantized elements, else NULL */
} matrices;

static void
give_rows(const void *user, int64_t first, int64_t count, double *a)
{
    const matrices *m = user;

    for (int64_t i = first; i < first + count; i++, a += m->depth) {
        int64_t at = m->a_at + i * m->a_row;

        if (m->a_depth == 1)
            glow_load_left(m->sums, m->a, at, m->depth, a);
        else
            for (int64_t k = 0; k < m->depth; k++)
                a[k] = glow_get_double(m->a, at + k * m->a_depth);
    }
}

static void
take_row(const void *user, int64_t row, int64_t first, int64_t count, double *c)
{
    const matrices *m = user;

    if (m->sums) {
        glow_store_sums(m->sums, m->c, m->c_at + row * m->columns + first,
                        first, count, c);
        return;
    }
    for (int64_t j = 0; j < count; j++) {
        c[j] *= m->alpha;
        if (m->add)
            c[j] +=
                m->beta * glow_get_double(m->add, row * m->add_row + first + j);
    }
    glow_store(m->c, m->c_at + row * m->columns + first, count, c);
}

/* The product [rows, depth] [depth, columns] of row-major matrices. */
static glow_product
product_of(const matrices *m, int64_t rows, const glow_tensor *b, int64_t b_at)
{
    return (glow_product){
        .rows = rows,
        .columns = m->columns,
        .depth = m->depth,
        .b = b,
        .b_at = b_at,
        .b_depth = m->columns,
        .b_column = 1,
        .b_offsets = m->sums ? m->sums->b_offsets : NULL,
        .give = give_rows,
        .take = take_row,
        .user = m,
    };
}

/* The product of integers, which wrap; not computed as doubles. */
static void
multiply_ints(const matrices *m, const glow_product *p)
{
    uint64_t alpha = (uint64_t)(int64_t)m->alpha;
    uint64_t beta = (uint64_t)(int64_t)m->beta;

    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < p->columns; j++) {
            int64_t a = m->a_at + i * m->a_row;
            int64_t b = p->b_at + j * p->b_column;
            uint64_t sum = 0;

            for (int64_t k = 0; k < p->depth; k++)
                sum += (uint64_t)glow_get_int(m->a, a + k * m->a_depth) *
                       (uint64_t)glow_get_int(p->b, b + k * p->b_depth);
            sum *= alpha;
            if (m->add)
                sum +=
                    beta * (uint64_t)glow_get_int(m->add, i * m->add_row + j);
            glow_set_int(m->c, m->c_at + i * m->columns + j, (int64_t)sum);
        }
}

static void
multiply(const matrices *m, const glow_product *p)
{
    if (glow_tensor_is_float(m->c) || m->sums)
        glow_multiply(p);
    else
        multiply_ints(m, p);
}

/* Checks that the sizes of the axis that is summed over agree. */
static bool
check_depth(const glow_node *n, int64_t left, int64_t right)
{
    return left == right ||
           glow_reject(
               n, "%s has %" PRId64 " columns, but %s has %" PRId64 " rows",
               n->op->in[0].name, left, n->op->in[1].name, right);
}

static bool
check_ranks(const glow_node *n, int rank)
{
    return glow_check_rank(n, 0, rank) && glow_check_rank(n, 1, rank);
}

/* Checks that both operands are matrices of one kind, of `rank` axes. */
static bool
check_numbers(const glow_node *n, int rank)
{
    return glow_admit(n, 0, GLOW_ANY_NUMBER) && glow_check_kinds(n, 1, 0) &&
           check_ranks(n, rank);
}

/* The same, or matrices of quantized elements. */
static bool
check_matrices(const glow_node *n, int rank, const glow_type *stated)
{
    return glow_is_quantized(n->in[0]->type->elem)
               ? glow_check_products(n, -1, stated) && check_ranks(n, rank)
               : glow_admit(n, 0, GLOW_ANY_NUMBER | GLOW_CLASS_QUANTIZED) &&
                     check_numbers(n, rank);
}

/* Gives a product of matrices, sums of `depth` products. */
static bool
give_product(const glow_node *n, int64_t depth, glow_dims shape, glow_type *out)
{
    return glow_is_quantized(n->in[0]->type->elem)
               ? glow_check_sums(n, depth, false) &&
                     glow_give_quantized(n, shape, out)
               : glow_give(n, glow_reshaped(n->in[0]->type, shape), out);
}

/* The sums of A B, in `scratch`, where elements are quantized; else NULL. */
static const glow_sums *
sums_of(glow_tensor *const in[], const glow_tensor *out, glow_arena *scratch)
{
    glow_dims c = out->type->shape;
    glow_sums *sums;

    if (!glow_is_quantized(out->type->elem))
        return NULL;
    sums = GLOW_NEW(scratch, glow_sums);
    *sums = glow_sums_of(in[0], in[1], NULL, &(glow_channels){0}, out->type,
                         c.at[c.rank - 1], scratch);
    return sums;
}

/* matmul */

static bool
matmul_infer(const glow_node *n, glow_type out[])
{
    glow_dims a = n->in[0]->type->shape, b = n->in[1]->type->shape;

    return check_matrices(n, 2, &out[0]) && check_depth(n, a.at[1], b.at[0]) &&
           give_product(n, a.at[1], GLOW_DIMS_OF(a.at[0], b.at[1]), &out[0]);
}

static bool
matmul_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims a = in[0]->type->shape, c = out[0]->type->shape;
    matrices m = {.a = in[0],
                  .c = out[0],
                  .a_row = a.at[1],
                  .a_depth = 1,
                  .depth = a.at[1],
                  .columns = c.at[1],
                  .alpha = 1,
                  .sums = sums_of(in, out[0], scratch)};
    glow_product p = product_of(&m, c.at[0], in[1], 0);

    (void)n;
    multiply(&m, &p);
    return true;
}

/* Rows and columns of the result; each piece takes all of the depth. */
static bool
matmul_tile(const glow_node *n, glow_tiling *t)
{
    glow_dims y = n->out[0]->type->shape;

    t->n_axes = t->n_result = 2;
    for (int i = 0; i < 2; i++) {
        t->extent[i] = y.at[i];
        t->out[i] = t->in[i][i] = GLOW_TILE_AXIS(i);
        t->in[i][1 - i] = GLOW_TILE_ALL;
    }
    t->work = (double)n->in[0]->type->shape.at[1];
    return true;
}

static int64_t
matmul_flops(const glow_node *n)
{
    return glow_multiply_adds(n->out[0], n->in[0]->type->shape.at[1]);
}

const glow_op glow_op_matmul = {
    .name = "MatMul",
    .summary = "the product of two matrices",
    .in = {{"LHS", GLOW_TENSOR, "A, of shape [M, K]"},
           {"RHS", GLOW_TENSOR, "B, of shape [K, N]"}},
    .out = {{"Result", GLOW_TENSOR, "C, of shape [M, N]"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_PRODUCT,
    .infer = matmul_infer,
    .eval = matmul_eval,
    .flops = matmul_flops,
    .tile = matmul_tile,
    .doc = "`C[m, n] = sum over k of A[m, k] * B[k, n]`.  Integers "
           "wrap.\n\n" GLOW_SUMS_DOC,
    .source = "Glow MatMul; ONNX MatMul of rank 2",
    .derivative = &glow_derivative_matmul,
};

/* batchmatmul */

static bool
batchmatmul_infer(const glow_node *n, glow_type out[])
{
    glow_dims a = n->in[0]->type->shape, b = n->in[1]->type->shape;

    if (!check_matrices(n, 3, &out[0]))
        return false;
    if (a.at[0] != b.at[0])
        return glow_reject(
            n, "LHS is a batch of %" PRId64 ", but RHS one of %" PRId64,
            a.at[0], b.at[0]);
    return check_depth(n, a.at[2], b.at[1]) &&
           give_product(n, a.at[2], GLOW_DIMS_OF(a.at[0], a.at[1], b.at[2]),
                        &out[0]);
}

static bool
batchmatmul_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    glow_dims a = in[0]->type->shape, c = out[0]->type->shape;
    int64_t rows = c.at[1], depth = a.at[2], columns = c.at[2];
    const glow_sums *sums = sums_of(in, out[0], scratch);

    (void)n;
    for (int64_t i = 0; i < c.at[0]; i++) {
        matrices m = {.a = in[0],
                      .c = out[0],
                      .a_at = i * rows * depth,
                      .a_row = depth,
                      .a_depth = 1,
                      .c_at = i * rows * columns,
                      .depth = depth,
                      .columns = columns,
                      .alpha = 1,
                      .sums = sums};
        glow_product p = product_of(&m, rows, in[1], i * depth * columns);

        multiply(&m, &p);
    }
    return true;
}

static int64_t
batchmatmul_flops(const glow_node *n)
{
    return glow_multiply_adds(n->out[0], n->in[0]->type->shape.at[2]);
}

const glow_op glow_op_batchmatmul = {
    .name = "BatchMatMul",
    .summary = "the products of two batches of matrices",
    .in = {{"LHS", GLOW_TENSOR, "A, of shape [B, M, K]"},
           {"RHS", GLOW_TENSOR, "B, of shape [B, K, N]"}},
    .out = {{"Result", GLOW_TENSOR, "C, of shape [B, M, N]"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_REDUCTION | GLOW_PRODUCT,
    .infer = batchmatmul_infer,
    .eval = batchmatmul_eval,
    .flops = batchmatmul_flops,
    .doc = "`C[b, m, n] = sum over k of A[b, m, k] * B[b, k, n]`.  Integers "
           "wrap.\n\n" GLOW_SUMS_DOC,
    .source = "Glow BatchMatMul; ONNX MatMul of rank 3",
    .derivative = &glow_derivative_batchmatmul,
};

/* fullyconnected */

/* The shape of the result. */
static bool
connection_shape(const glow_node *n, int axis, glow_dims *shape)
{
    glow_dims x = n->in[0]->type->shape, w = n->in[1]->type->shape;

    if (!glow_check_rank(n, 1, 2))
        return false;
    if (axis < 0 || axis > x.rank)
        return glow_reject(n, "Axis is %d, but the rank of Input is %d", axis,
                           x.rank);
    *shape = GLOW_DIMS_OF(glow_dims_product(x, 0, axis), w.at[1]);
    return check_depth(n, glow_dims_product(x, axis, x.rank), w.at[0]) &&
           (!n->in[2] || glow_check_shape(n, 2, GLOW_DIMS_OF(w.at[1]),
                                          "that of a row of Weights"));
}

bool
glow_connection_infer(const glow_node *n, int axis, glow_type out[])
{
    glow_dims shape;

    return glow_admit(n, 0, GLOW_ANY_FLOAT) && glow_check_kinds(n, 1, 0) &&
           (!n->in[2] || glow_check_kinds(n, 2, 0)) &&
           connection_shape(n, axis, &shape) &&
           glow_give(n, glow_reshaped(n->in[0]->type, shape), &out[0]);
}

static bool
fullyconnected_infer(const glow_node *n, glow_type out[])
{
    const glow_fullyconnected *f = n->attrs;
    glow_dims shape;

    if (!glow_is_quantized(n->in[0]->type->elem))
        return glow_admit(n, 0, GLOW_ANY_FLOAT | GLOW_CLASS_QUANTIZED) &&
               glow_connection_infer(n, f->axis, out);
    return glow_check_products(n, 2, &out[0]) &&
           connection_shape(n, f->axis, &shape) &&
           glow_check_sums(n, n->in[1]->type->shape.at[0], false) &&
           glow_give_quantized(n, shape, &out[0]);
}

void
glow_connect(glow_tensor *const in[], const glow_tensor *out)
{
    int64_t depth = in[1]->type->shape.at[0];
    matrices m = {.a = in[0],
                  .c = out,
                  .a_row = depth,
                  .a_depth = 1,
                  .depth = depth,
                  .columns = out->type->shape.at[1],
                  .alpha = 1,
                  .beta = 1,
                  .add = in[2]};
    glow_product p = product_of(&m, out->type->shape.at[0], in[1], 0);

    multiply(&m, &p);
}

void
glow_connect_quantized(glow_tensor *const in[], const glow_tensor *out,
                       bool by_row, const glow_sums *sums)
{
    int64_t depth = in[1]->type->shape.at[by_row];
    matrices m = {.a = in[0],
                  .c = out,
                  .a_row = depth,
                  .a_depth = 1,
                  .depth = depth,
                  .columns = out->type->shape.at[1],
                  .sums = sums};
    glow_product p = product_of(&m, out->type->shape.at[0], in[1], 0);

    if (by_row) {
        p.b_depth = 1;
        p.b_column = depth;
    }
    multiply(&m, &p);
}

static bool
fullyconnected_eval(const glow_node *n, glow_tensor *const in[],
                    glow_tensor *const out[], glow_arena *scratch)
{
    (void)n;
    if (glow_is_quantized(out[0]->type->elem)) {
        glow_sums sums =
            glow_sums_of(in[0], in[1], in[2], &(glow_channels){0}, out[0]->type,
                         in[1]->type->shape.at[1], scratch);

        glow_connect_quantized(in, out[0], false, &sums);
    } else {
        glow_connect(in, out[0]);
    }
    return true;
}

int64_t
glow_connection_flops(const glow_node *n)
{
    return glow_multiply_adds(n->out[0], n->in[1]->type->shape.at[0]);
}

const glow_op glow_op_fullyconnected = {
    .name = "FullyConnected",
    .summary = "multiply by a matrix of weights and add a bias",
    .in = {{"Input", GLOW_TENSOR,
            "x: the axes before Axis are M rows, the others K columns"},
           {"Weights", GLOW_TENSOR, "w, of shape [K, N]"},
           {"Bias", GLOW_TENSOR, "b, of shape [N]"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [M, N]"}},
    .attrs = {GLOW_FIELD(glow_fullyconnected, axis, GLOW_INT,
                         "the first axis of Input that is summed over")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_PRODUCT,
    .infer = fullyconnected_infer,
    .eval = fullyconnected_eval,
    .flops = glow_connection_flops,
    .doc =
        "`y[m, n] = b[n] + sum over k of x[m, k] * w[k, n]`.\n\n" GLOW_SUMS_DOC
            GLOW_BIAS_DOC,
    .source = "Glow FullyConnected; Caffe2 FC",
    .derivative = &glow_derivative_fullyconnected,
};

/* gemm */

static bool
is_whole(float v)
{
    return v >= -16777216 && v <= 16777216 && (float)(int32_t)v == v;
}

static bool
gemm_infer(const glow_node *n, glow_type out[])
{
    const glow_gemm *g = n->attrs;
    glow_dims a = n->in[0]->type->shape, b = n->in[1]->type->shape;

    if (!check_numbers(n, 2) ||
        !check_depth(n, a.at[!g->transpose_a], b.at[g->transpose_b]))
        return false;

    glow_dims c = GLOW_DIMS_OF(a.at[g->transpose_a], b.at[!g->transpose_b]);

    if (!glow_is_float(n->in[0]->type->elem) &&
        !(is_whole(g->alpha) && is_whole(g->beta)))
        return glow_reject(n,
                           "Alpha is %g and Beta is %g, but integers are "
                           "scaled by whole numbers",
                           (double)g->alpha, (double)g->beta);

    if (n->in[2] && (!glow_check_kinds(n, 2, 0) ||
                     !glow_check_shape(n, 2, c, "that of the product")))
        return false;
    return glow_give(n, glow_reshaped(n->in[0]->type, c), &out[0]);
}

static bool
gemm_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_gemm *g = n->attrs;
    glow_dims a = in[0]->type->shape, c = out[0]->type->shape;
    matrices m = {.a = in[0],
                  .c = out[0],
                  .a_row = g->transpose_a ? 1 : a.at[1],
                  .a_depth = g->transpose_a ? a.at[1] : 1,
                  .depth = a.at[!g->transpose_a],
                  .columns = c.at[1],
                  .alpha = (double)g->alpha,
                  .beta = (double)g->beta,
                  .add = in[2],
                  .add_row = c.at[1]};
    glow_product p = product_of(&m, c.at[0], in[1], 0);

    (void)scratch;
    if (g->transpose_b) {
        p.b_depth = 1;
        p.b_column = m.depth;
    }
    multiply(&m, &p);
    return true;
}

static int64_t
gemm_flops(const glow_node *n)
{
    const glow_gemm *g = n->attrs;

    return glow_multiply_adds(n->out[0],
                              n->in[0]->type->shape.at[!g->transpose_a]);
}

const glow_op glow_op_gemm = {
    .name = "Gemm",
    .summary = "the scaled product of two matrices, and a scaled third",
    .in = {{"A", GLOW_TENSOR, "of shape [M, K], or [K, M] with TransposeA"},
           {"B", GLOW_TENSOR, "of shape [K, N], or [N, K] with TransposeB"},
           {"C", GLOW_OPTIONAL, "of shape [M, N]"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [M, N]"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_gemm, alpha, GLOW_FLOAT32,
                                 "scales the product"),
              GLOW_FIELD_DEFAULT(glow_gemm, beta, GLOW_FLOAT32, "scales C"),
              GLOW_FIELD_DEFAULT(glow_gemm, transpose_a, GLOW_FLAG,
                                 "A is given transposed"),
              GLOW_FIELD_DEFAULT(glow_gemm, transpose_b, GLOW_FLAG,
                                 "B is given transposed")},
    .defaults = &(const glow_gemm){.alpha = 1, .beta = 1},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = gemm_infer,
    .eval = gemm_eval,
    .flops = gemm_flops,
    .doc = "`y = Alpha * A B + Beta * C`.  Integers wrap, and are scaled by "
           "whole numbers.",
    .source = "Glow Gemm; ONNX Gemm; BLAS xGEMM",
};

/* batchedadd */

bool
glow_infer_batched(const glow_node *n, glow_type out[])
{
    glow_dims row = n->in[0]->type->shape;

    if (!glow_admit_real(n, 0, GLOW_ANY_NUMBER) ||
        !(glow_takes_quantized(n) ? glow_admit(n, 1, GLOW_CLASS_QUANTIZED)
                                  : glow_check_kinds(n, 1, 0)) ||
        !glow_check_rank_from(n, 0, 1))
        return false;
    row.rank--;
    for (int i = 0; i <= row.rank; i++)
        row.at[i] = i < row.rank ? row.at[i + 1] : 0;
    return glow_check_shape(n, 1, row, "that of one of Batch") &&
           glow_give_real(n, n->in[0]->type->shape, &out[0]);
}

static bool
batchedadd_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    int64_t size = glow_tensor_count(in[1]);
    int64_t batch = in[0]->type->shape.at[0];

    (void)scratch;
    if (glow_takes_quantized(n))
        return glow_grid_apply(in, out[0], &glow_grid_add);
    for (int64_t i = 0; i < batch * size; i++)
        if (glow_tensor_is_float(in[0]))
            glow_set_double(out[0], i,
                            glow_get_double(in[0], i) +
                                glow_get_double(in[1], i % size));
        else
            glow_set_int(out[0], i,
                         (int64_t)((uint64_t)glow_get_int(in[0], i) +
                                   (uint64_t)glow_get_int(in[1], i % size)));
    return true;
}

const glow_op glow_op_batchedadd = {
    .name = "BatchedAdd",
    .summary = "add a tensor to each one of a batch",
    .in = {{"Batch", GLOW_TENSOR, "x, of shape [B, ..]"},
           {"Slice", GLOW_TENSOR, "s, of shape [..]"}},
    .out = {{"Result", GLOW_TENSOR, "y, the type of Batch"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = glow_infer_batched,
    .eval = batchedadd_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[b, ..] = x[b, ..] + s[..]`.  Integers wrap.  Quantized elements "
           "are added as Add adds them.",
    .source = "Glow BatchedAdd",
    .derivative = &glow_derivative_batchedadd,
};
