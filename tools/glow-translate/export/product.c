/* Export of matrix products, reductions, normalization, and TopK. */

#include <inttypes.h>

#include "tools/glow-translate/export/export.h"

/* Matrix products. */

static bool
matmul(exporter *e, const glow_node *n)
{
    return export_last(e, n, "MatMul",
                       NAMES(export_in(e, n, 0), export_in(e, n, 1)));
}

static bool
gemm(exporter *e, const glow_node *n)
{
    const glow_gemm *g = n->attrs;

    export_last(
        e, n, "Gemm",
        NAMES(export_in(e, n, 0), export_in(e, n, 1), export_in(e, n, 2)));
    export_float(e, "alpha", g->alpha);
    export_float(e, "beta", g->beta);
    export_int(e, "transA", g->transpose_a);
    export_int(e, "transB", g->transpose_b);
    return true;
}

static bool
fully_connected(exporter *e, const glow_node *n)
{
    const glow_fullyconnected *f = n->attrs;
    const char *x = export_in(e, n, 0);

    if (f->axis != 1 || n->in[0]->type->shape.rank != 2) {
        x = export_step(e, n, "Flatten", NAMES(x));
        export_int(e, "axis", f->axis);
    }
    return export_last(e, n, "Gemm",
                       NAMES(x, export_in(e, n, 1), export_in(e, n, 2)));
}

/* BatchedAdd is Add, by numpy's broadcasting of a lower rank. */
static bool
batched_add(exporter *e, const glow_node *n)
{
    return export_last(e, n, "Add",
                       NAMES(export_in(e, n, 0), export_in(e, n, 1)));
}

static bool
einsum(exporter *e, const glow_node *n)
{
    const glow_einsum *a = n->attrs;
    const char **in = GLOW_NEW_ARRAY(export_arena(e), const char *, n->n_in);

    for (int i = 0; i < n->n_in; i++)
        in[i] = export_in(e, n, i);
    export_last(e, n, "Einsum", in, n->n_in);
    export_string(e, "equation", a->equation);
    return true;
}

static bool
det(exporter *e, const glow_node *n)
{
    return export_last(e, n, "Det", NAMES(export_in(e, n, 0)));
}

/* Reductions. */

/* Reductions; without axes ONNX would reduce all, so a new axis is reduced. */
static bool
reduce(exporter *e, const glow_node *n)
{
    const glow_reduce *r = n->attrs;
    glow_dims axes = r->axes, shape = n->in[0]->type->shape;
    const char *x = export_in(e, n, 0), *in[2] = {x};
    bool is_operand = export_opset(e) >= 18; /* the axes */
    int n_in = 1 + is_operand;

    if (axes.rank == 0) {
        axes = GLOW_DIMS_OF(1);
        in[0] =
            export_reshape(e, n, x, GLOW_DIMS_OF(glow_dims_count(shape), 1));
    }
    if (is_operand)
        in[1] = export_dims_list(e, n, axes);
    if (r->axes.rank > 0)
        export_last(e, n, export_this(e)->name, in, n_in);
    else
        x = export_step(e, n, export_this(e)->name, in, n_in);
    if (!is_operand)
        export_dims(e, "axes", axes);
    export_int(e, "keepdims", 0);
    if (r->axes.rank > 0)
        return true;
    export_last(e, n, "Reshape", NAMES(x, export_dims_list(e, n, shape)));
    export_int(e, "allowzero", 1);
    return true;
}

/* The axes of a sum are an operand since opset 13. */
static bool
reduce_sum(exporter *e, const glow_node *n)
{
    const glow_reduce *r = n->attrs;

    export_last(e, n, "ReduceSum",
                NAMES(export_in(e, n, 0), export_dims_list(e, n, r->axes)));
    export_int(e, "keepdims", 0);
    export_int(e, "noop_with_empty_axes", 1);
    return true;
}

static bool
arg_extreme(exporter *e, const glow_node *n)
{
    const glow_argmax *a = n->attrs;

    export_last(e, n, export_this(e)->name, NAMES(export_in(e, n, 0)));
    export_int(e, "axis", a->axis);
    export_int(e, "keepdims", a->keep_dims);
    export_int(e, "select_last_index", a->select_last);
    return true;
}

static bool
top_k(exporter *e, const glow_node *n)
{
    const glow_topk *t = n->attrs;

    export_last(e, n, "TopK",
                NAMES(export_in(e, n, 0), export_list(e, n, &t->k, 1)));
    export_int(e, "axis", -1);
    export_int(e, "largest", !t->smallest);
    return true;
}

/* Normalization. */

/* ONNX has the channels second. */
static bool
batch_normalization(exporter *e, const glow_node *n)
{
    const glow_batchnormalization *b = n->attrs;
    int rank = n->in[0]->type->shape.rank;
    glow_dims swap = {.rank = rank};
    const char *in[5], *y;
    bool moves = b->channel_idx != 1;

    for (int i = 0; i < 5; i++)
        in[i] = export_in(e, n, i);
    if (rank < 2)
        return export_refuse(e, n,
                             "the rank of Input is %d; ONNX wants a "
                             "batch and channels",
                             rank);
    for (int i = 0; i < rank; i++)
        swap.at[i] = i == 1 ? b->channel_idx : i == b->channel_idx ? 1 : i;
    if (!moves) {
        export_last(e, n, "BatchNormalization", in, 5);
        export_float(e, "epsilon", b->epsilon);
        return true;
    }
    in[0] = export_transpose(e, n, in[0], swap);
    y = export_step(e, n, "BatchNormalization", in, 5);
    export_float(e, "epsilon", b->epsilon);
    export_last(e, n, "Transpose", NAMES(y));
    export_dims(e, "perm", swap);
    return true;
}

/* LayerNormalization; in ONNX the scale is required. */
static bool
layer_normalization(exporter *e, const glow_node *n)
{
    const glow_layernormalization *l = n->attrs;
    glow_dims shape = n->in[0]->type->shape, each = {0};
    const char *scale = export_in(e, n, 1);

    for (int i = l->axis; i < shape.rank; i++)
        each.at[each.rank++] = shape.at[i];
    if (!*scale)
        scale = export_step(e, n, "Expand",
                            NAMES(export_number(e, n, n->in[0]->type->elem, 1),
                                  export_dims_list(e, n, each)));
    export_last(e, n, "LayerNormalization",
                NAMES(export_in(e, n, 0), scale, export_in(e, n, 2)));
    export_int(e, "axis", l->axis);
    export_float(e, "epsilon", l->epsilon);
    return true;
}

static bool
lrn(exporter *e, const glow_node *n)
{
    const glow_localresponsenormalization *l = n->attrs;
    int rank = n->in[0]->type->shape.rank;
    const char *x =
        export_transpose(e, n, export_in(e, n, 0), export_to_nchw(rank));

    x = export_step(e, n, "LRN", NAMES(x));
    export_int(e, "size", 2 * l->half_window_size + 1);
    export_float(e, "alpha", l->alpha);
    export_float(e, "beta", l->beta);
    export_float(e, "bias", l->k);
    export_last(e, n, "Transpose", NAMES(x));
    export_dims(e, "perm", export_to_nhwc(rank));
    return true;
}

static bool
softmax(exporter *e, const glow_node *n)
{
    const glow_softmax *s = n->attrs;

    export_last(e, n, export_this(e)->name, NAMES(export_in(e, n, 0)));
    export_int(e, "axis", s->axis);
    return true;
}

const export_row export_product_rows[] = {
    {&glow_op_argmax, arg_extreme, "ArgMax"},
    {&glow_op_argmin, arg_extreme, "ArgMin"},
    {&glow_op_batchedadd, batched_add, NULL},
    {&glow_op_batchedreduceadd, reduce_sum, NULL},
    {&glow_op_batchedreducemax, reduce, "ReduceMax"},
    {&glow_op_batchedreducemean, reduce, "ReduceMean"},
    {&glow_op_batchedreducemin, reduce, "ReduceMin"},
    {&glow_op_batchedreduceprod, reduce, "ReduceProd"},
    {&glow_op_batchedreducesumsquare, reduce, "ReduceSumSquare"},
    {&glow_op_batchmatmul, matmul, NULL},
    {&glow_op_batchnormalization, batch_normalization, NULL},
    {&glow_op_det, det, NULL},
    {&glow_op_einsum, einsum, NULL},
    {&glow_op_fullyconnected, fully_connected, NULL},
    {&glow_op_gemm, gemm, NULL},
    {&glow_op_hardmax, softmax, "Hardmax"},
    {&glow_op_layernormalization, layer_normalization, NULL},
    {&glow_op_localresponsenormalization, lrn, NULL},
    {&glow_op_logsoftmax, softmax, "LogSoftmax"},
    {&glow_op_matmul, matmul, NULL},
    {&glow_op_reducel1, reduce, "ReduceL1"},
    {&glow_op_reducel2, reduce, "ReduceL2"},
    {&glow_op_reducelogsum, reduce, "ReduceLogSum"},
    {&glow_op_reducelogsumexp, reduce, "ReduceLogSumExp"},
    {&glow_op_softmax, softmax, "Softmax"},
    {&glow_op_topk, top_k, NULL},
    {NULL, NULL, NULL},
};
