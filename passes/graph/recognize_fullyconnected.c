/*
 * recognize-fullyconnected: merge a bias into a matrix product.
 *
 *     %m = MatMul(%x, %w)           : [M, N]
 *     %r = Reshape(%m)              : [.., N], optional
 *     %y = %r + [%b]                %b repeated along all axes but the last
 *         =>
 *     %f = FullyConnected(%x, %w, %b) {Axis: 1}
 *     %y = Reshape(%f)
 *
 *     BatchedAdd(MatMul(%x, %w), %b)           =>  FullyConnected(%x, %w, %b)
 *     FullyConnected(%x, %w, %b) + [%c]    =>  FullyConnected(%x, %w, %b + %c)
 *     Gemm(%x, %w, [%b])                       =>  FullyConnected(%x, %w, %b)
 *     Gemm(%x, %w)                             =>  MatMul(%x, %w)
 *     FullyConnected(Reshape(%x), ..) {Axis: a}
 *                                  =>  FullyConnected(%x, ..) {Axis: a'}
 *
 * The last rule needs an axis of %x that splits its elements to the same rows.
 * A Gemm with TransposeA is not matched, and TransposeB, Alpha and Beta only on
 * constants, which fold-constants then transposes and scales.  Products and
 * sums with other users stay.  A constant whose rows are equal is a bias too: importers
 * repeat the bias of a Gemm for each row of the batch.
 *
 * Importers write a linear layer of a batch of sequences as Reshape, MatMul,
 * Reshape and Add.  Glow's FoldMatMulAddIntoFullyConnected takes constants of
 * [1, N] alone, and a batch only where each of its slices adds the same
 * constant; this pass takes any addend that varies along the last axis alone,
 * also computed ones.
 */

#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/trace.h"

enum { X, WEIGHTS, BIAS };

/*
 * The first row of the constant `v`, of `n` elements, as a constant of its own; NULL if
 * rows differ.
 */
static glow_value *
only_row(glow_builder *b, const glow_value *v, int64_t n)
{
    const glow_type *type = glow_type_get(
        glow_builder_context(b), glow_type_of(v->type->elem, GLOW_DIMS_OF(n)));
    size_t bytes = (size_t)glow_type_bytes(type);
    const glow_tensor *all;
    glow_value *row;

    if (!glow_is_constant(v) || v->storage->payload == GLOW_ELIDED ||
        v->type->strides.rank || glow_type_count(v->type) <= n)
        return NULL;
    all = glow_constant_tensor(v->storage);
    for (int64_t i = 1; all && i < glow_type_count(v->type) / n; i++)
        if (memcmp((const char *)all->data + (size_t)i * bytes, all->data,
                   bytes) != 0)
            return NULL;
    row = all ? glow_build_constant(b, "bias", type) : NULL;
    if (row)
        memcpy(row->storage->tensor.data, all->data, bytes);
    return row;
}

/*
 * The vector of size `n` that `v` repeats along all axes but the last; NULL if
 * it varies along others.
 */
static glow_value *
last_axis_of(glow_builder *b, glow_value *v, int64_t n)
{
    glow_trace t = glow_trace_begin(v);
    int last = v->type->shape.rank - 1;
    glow_type type = glow_type_of(v->type->elem, GLOW_DIMS_OF(n));
    double number;
    glow_value *row;

    if (last < 0 || n == 0 || v->type->shape.at[last] != n)
        return NULL;
    if (glow_splat_value(v, &number))
        return glow_build_splat(
            b, "bias", glow_type_get(glow_builder_context(b), type), number);
    row = only_row(b, v, n);
    if (row)
        return row;
    return glow_trace_is_inner(&t, last) ? glow_trace_inner(b, &t, last) : NULL;
}

/*
 * The product that defines `v`, possibly reshaped with the same rows, without
 * other users; or NULL.
 */
static const glow_node *
find_product(glow_value *v, const glow_op *op)
{
    const glow_node *reshape = glow_only_def(v, &glow_op_reshape);
    const glow_node *n = glow_only_def(reshape ? reshape->in[0] : v, op);
    glow_dims rows = v->type->shape;

    return n && rows.rank > 0 &&
                   rows.at[rows.rank - 1] == n->out[0]->type->shape.at[1]
               ? n
               : NULL;
}

static glow_value *
connect(glow_builder *b, const glow_node *product, glow_value *bias, int axis,
        const glow_type *type)
{
    glow_value *y;

    if (!bias)
        return NULL;
    glow_builder_fuses(b, product);
    y = GLOW_BUILD(b, fullyconnected,
                   GLOW_IN(product->in[X], product->in[WEIGHTS], bias),
                   .axis = axis);
    if (!y || y->type == type)
        return y;
    return GLOW_BUILD(b, reshape, GLOW_IN(y), .dims = type->shape);
}

static glow_value *
fold_add(glow_builder *b, glow_node *n)
{
    for (int i = 0; i < 2; i++) {
        const glow_node *mul = find_product(n->in[i], &glow_op_matmul);
        const glow_node *full = find_product(n->in[i], &glow_op_fullyconnected);
        const glow_node *product = mul ? mul : full;
        glow_value *bias;

        if (!product)
            continue;
        bias =
            last_axis_of(b, n->in[1 - i], product->out[0]->type->shape.at[1]);
        if (!bias)
            continue;
        if (full)
            bias = GLOW_BUILD_PLAIN(b, add, GLOW_IN(full->in[BIAS], bias));
        return connect(b, product, bias,
                       full ? ((const glow_fullyconnected *)full->attrs)->axis
                            : 1,
                       n->out[0]->type);
    }
    return NULL;
}

static glow_value *
fold_batchedadd(glow_builder *b, glow_node *n)
{
    const glow_node *mul = glow_only_def(n->in[0], &glow_op_matmul);

    return mul ? connect(b, mul, n->in[1], 1, n->out[0]->type) : NULL;
}

/* `v` times a number, if that is 1 or can be folded. */
static glow_value *
scaled(glow_builder *b, glow_value *v, float by)
{
    if (!v || by == 1)
        return v;
    if (!glow_is_constant_like(glow_trace_begin(v).value))
        return NULL;
    return GLOW_BUILD_PLAIN(b, mul,
                            GLOW_IN(v, glow_build_like(b, v, (double)by)));
}

static glow_value *
fold_gemm(glow_builder *b, glow_node *n)
{
    const glow_gemm *g = n->attrs;
    glow_value *w = n->in[WEIGHTS], *bias = NULL;
    int64_t columns = n->out[0]->type->shape.at[1];

    if (g->transpose_a || (g->transpose_b && !glow_is_constant_like(w)))
        return NULL;
    if (n->in[BIAS] && g->beta != 0) {
        bias = last_axis_of(b, n->in[BIAS], columns);
        bias = scaled(b, bias, g->beta);
        if (!bias)
            return NULL;
    }
    w = scaled(b, w, g->alpha);
    if (!w)
        return NULL;
    if (g->transpose_b)
        w = GLOW_BUILD(b, transpose, GLOW_IN(w), .shuffle = GLOW_DIMS_OF(1, 0));
    if (!bias)
        return GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(n->in[X], w));
    return GLOW_BUILD(b, fullyconnected, GLOW_IN(n->in[X], w, bias), .axis = 1);
}

/* The axis of `shape` before which there are `rows` elements, or -1. */
static int
axis_after(glow_dims shape, int64_t rows)
{
    int64_t count = glow_dims_count(shape);
    int axis = shape.rank - 1;

    for (int64_t inner = 1; count > 0 && axis >= 0; axis--) {
        inner *= shape.at[axis];
        if (count / inner == rows)
            return axis;
    }
    return -1;
}

static glow_value *
fold_reshape(glow_builder *b, glow_node *n)
{
    const glow_node *reshape = glow_def(n->in[X], &glow_op_reshape);
    int axis;

    if (!reshape)
        return NULL;
    axis =
        axis_after(reshape->in[0]->type->shape, n->out[0]->type->shape.at[0]);
    if (axis < 0)
        return NULL;
    return GLOW_BUILD(b, fullyconnected,
                      GLOW_IN(reshape->in[0], n->in[WEIGHTS], n->in[BIAS]),
                      .axis = axis);
}

static const glow_rewrite_row rows[] = {
    {&glow_op_add, fold_add},
    {&glow_op_batchedadd, fold_batchedadd},
    {&glow_op_fullyconnected, fold_reshape},
    {&glow_op_gemm, fold_gemm},
    {0},
};

static bool
gives_floats(const glow_node *n)
{
    return glow_is_float(n->out[0]->type->elem);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, gives_floats);
}

const glow_pass glow_pass_recognize_fullyconnected = {
    .name = "recognize-fullyconnected",
    .summary = "merge a bias into a matrix product",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Glow, FoldMatMulAddIntoFullyConnected; ONNX Runtime, "
              "MatMulAddFusion",
};
