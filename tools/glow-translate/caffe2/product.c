/*
 * Matrix products and fully connected layers.
 */

#include <inttypes.h>

#include "tools/glow-translate/caffe2/caffe2.h"

/* The sizes before and from `axis` on, multiplied. */
static glow_dims
matrix_of(glow_dims shape, int axis)
{
    glow_dims m = GLOW_DIMS_OF(1, 1);

    for (int i = 0; i < shape.rank; i++)
        m.at[i >= axis] *= shape.at[i];
    return m;
}

static glow_value *
transposed(import_node *n, glow_value *v)
{
    return import_transpose(n, v, GLOW_DIMS_OF(1, 0));
}

/*
 * FC: the axes of X from `axis` on are its columns, and the axes of W from
 * `axis_w` on the columns of W, which has a row for each result (a column, if
 * the operator is FCTransposed).  The axes of X before `axis` stay.
 */
bool
caffe2_read_connection(import_node *n, bool by_column, caffe2_connection *out)
{
    glow_value *x = n->in[0], *w = n->in[1];
    glow_dims shape = x->type->shape;
    int64_t axis_x = import_int(n, "axis", 1, -shape.rank, shape.rank);
    int64_t axis_w =
        import_int(n, "axis_w", 1, -w->type->shape.rank, w->type->shape.rank);
    int axis = (int)(axis_x < 0 ? axis_x + shape.rank : axis_x);

    if (axis_w < 0)
        axis_w += w->type->shape.rank;
    w = import_reshape(n, w, matrix_of(w->type->shape, (int)axis_w));
    x = import_reshape(n, x, matrix_of(shape, axis));
    if (n->failed)
        return false;
    if (!by_column)
        w = transposed(n, w);
    *out = (caffe2_connection){.x = x, .w = w};
    out->b = import_reshape(n, n->in[2],
                            GLOW_DIMS_OF(glow_type_count(n->in[2]->type)));
    if (n->failed)
        return false;
    for (int i = 0; i < axis; i++)
        out->to.at[out->to.rank++] = shape.at[i];
    out->to.at[out->to.rank++] = w->type->shape.at[1];
    return true;
}

static bool
connected(import_node *n, bool by_column)
{
    caffe2_connection c;
    glow_value *y;

    if (!import_operands(n, 3, 3))
        return false;
    /* A packed W may be of fewer bits than X. */
    for (int i = 1; i < 3; i++)
        n->in[i] = import_convert(n, n->in[i], n->in[0]->type->elem);
    if (n->failed || !caffe2_read_connection(n, by_column, &c))
        return false;
    y = BUILD(n, fullyconnected, GLOW_IN(c.x, c.w, c.b), .axis = 1);
    return import_done(n, import_reshape(n, y, c.to));
}

static bool
fc(import_node *n)
{
    return connected(n, false);
}

static bool
fc_transposed(import_node *n)
{
    return connected(n, true);
}

/* MatMul: the axes before axis_a and axis_b are flattened to rows. */
static bool
matmul(import_node *n)
{
    bool ta = import_flag(n, "trans_a", false);
    bool tb = import_flag(n, "trans_b", false);

    import_ignore(n, "broadcast");
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *v[2];

    for (int i = 0; i < 2; i++) {
        glow_dims shape = n->in[i]->type->shape;
        int64_t axis = import_int(n, i ? "axis_b" : "axis_a", 1, 0, shape.rank);

        v[i] = import_reshape(n, n->in[i], matrix_of(shape, (int)axis));
    }
    if (ta)
        v[0] = transposed(n, v[0]);
    if (tb)
        v[1] = transposed(n, v[1]);
    return import_done(n, BUILD_PLAIN(n, matmul, GLOW_IN(v[0], v[1])));
}

/* The last two axes exchanged. */
static glow_value *
swap_last(import_node *n, glow_value *v)
{
    int rank = import_shape(v).rank;
    glow_dims p = {.rank = rank};

    for (int i = 0; i < rank; i++)
        p.at[i] = i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2;
    return import_transpose(n, v, p);
}

/*
 * The product by ONNX's rules, which are numpy's and Caffe2's.  Without
 * `broadcast` Caffe2 requires equal axes before the last two; other nets would
 * not have run.
 */
static bool
batch_matmul(import_node *n)
{
    bool ta = import_flag(n, "trans_a", false);
    bool tb = import_flag(n, "trans_b", false);
    const import_row *any;
    const import_row *row = import_find_row("MatMul", 13, &any);

    import_ignore(n, "broadcast");
    if (!import_operands(n, 2, 2))
        return false;
    for (int i = 0; i < 2; i++)
        if ((i ? tb : ta) && n->in[i]->type->shape.rank > 1)
            n->in[i] = swap_last(n, n->in[i]);
    return !n->failed && row->run(n);
}

/* DotProduct: the inner product of corresponding rows. */
static bool
dot_product(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_dims shape = n->in[0]->type->shape, axes = {0};

    if (!glow_dims_equal(shape, n->in[1]->type->shape) || shape.rank == 0)
        return import_refuse(n, "E0711",
                             "X and Y must be of one shape, not a scalar");
    for (int i = 1; i < shape.rank; i++)
        axes.at[axes.rank++] = i;

    glow_value *y = import_binary(n, &glow_op_mul, n->in[0], n->in[1]);

    if (axes.rank)
        y = BUILD(n, batchedreduceadd, GLOW_IN(y), .axes = axes);
    return import_done(n, y);
}

const import_row caffe2_product_rows[] = {
    {"BatchMatMul", 1, 0, batch_matmul, NULL, NULL},
    {"DotProduct", 1, 0, dot_product, NULL, NULL},
    {"FC", 1, 0, fc, NULL, NULL},
    {"FCTransposed", 1, 0, fc_transposed, NULL, NULL},
    {"FbFCPacked", 1, 0, fc, NULL, NULL},
    {"MatMul", 1, 0, matmul, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};
