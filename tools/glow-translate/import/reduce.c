/*
 * Reductions.  Glow's drop the axes that they reduce; where ONNX keeps them
 * with length 1, a reshape puts them back.
 */

#include "tools/glow-translate/import/import.h"

typedef struct reduction {
    glow_dims axes;
    glow_dims kept; /* the shape of the result */
    bool nothing;   /* there is no axis to reduce */
} reduction;

/* `until`: the last opset in which the axes are an attribute. */
static bool
read_reduction(import_node *n, int until, reduction *r)
{
    bool given;
    bool keep = import_flag(n, "keepdims", true);
    bool noop = import_flag(n, "noop_with_empty_axes", false);

    *r = (reduction){.nothing = false};
    if (!import_operands(n, 1, n->opset > until ? 2 : 1))
        return false;

    glow_dims shape = import_shape(import_in(n, 0));

    r->axes = import_axes(n, 1, until, shape.rank, &given);
    if (r->axes.rank == 0) {
        r->nothing = noop || shape.rank == 0;
        r->axes.rank = noop ? 0 : shape.rank;
        for (int i = 0; i < r->axes.rank; i++)
            r->axes.at[i] = i;
    }
    for (int i = 0, k = 0; i < shape.rank; i++) {
        bool gone = k < r->axes.rank && r->axes.at[k] == i;

        k += gone;
        if (!gone)
            r->kept.at[r->kept.rank++] = shape.at[i];
        else if (keep)
            r->kept.at[r->kept.rank++] = 1;
    }
    return !n->failed;
}

static glow_value *
reduce_by(import_node *n, const glow_op *op, glow_value *x, const reduction *r)
{
    const glow_reduce attrs = {.axes = r->axes};

    if (r->nothing || n->failed)
        return x;
    return import_reshape(n, import_build(n, op, NULL, GLOW_IN(x), &attrs),
                          r->kept);
}

static int
last_attr_opset(const import_node *n)
{
    return n->row->op == &glow_op_batchedreduceadd ? 12 : 17;
}

static bool
reduce(import_node *n)
{
    reduction r;

    return read_reduction(n, last_attr_opset(n), &r) &&
           import_done(n, reduce_by(n, n->row->op, import_in(n, 0), &r));
}

static glow_value *
squares(import_node *n, glow_value *x)
{
    return import_binary(n, &glow_op_mul, x, x);
}

static bool
reduce_l1(import_node *n)
{
    reduction r;

    if (!read_reduction(n, 17, &r))
        return false;

    glow_value *x = BUILD_PLAIN(n, abs, GLOW_IN(import_in(n, 0)));

    return import_done(n, reduce_by(n, &glow_op_batchedreduceadd, x, &r));
}

static bool
reduce_l2(import_node *n)
{
    reduction r;

    if (!read_reduction(n, 17, &r))
        return false;

    glow_value *x = squares(n, import_in(n, 0));

    x = reduce_by(n, &glow_op_batchedreduceadd, x, &r);
    return import_done(n, BUILD_PLAIN(n, sqrt, GLOW_IN(x)));
}

static bool
reduce_sum_square(import_node *n)
{
    reduction r;

    return read_reduction(n, 17, &r) &&
           import_done(n, reduce_by(n, &glow_op_batchedreduceadd,
                                    squares(n, import_in(n, 0)), &r));
}

static bool
reduce_log_sum(import_node *n)
{
    reduction r;

    if (!read_reduction(n, 17, &r))
        return false;

    glow_value *x =
        reduce_by(n, &glow_op_batchedreduceadd, import_in(n, 0), &r);

    return import_done(n, BUILD_PLAIN(n, log, GLOW_IN(x)));
}

/* max + log(sum(exp(x - max))), which cannot overflow. */
static bool
reduce_log_sum_exp(import_node *n)
{
    reduction r;
    glow_value *x = import_in(n, 0), *most, *y;

    if (!read_reduction(n, 17, &r))
        return false;

    glow_dims long_shape = import_shape(x);

    for (int i = 0; i < r.axes.rank; i++)
        long_shape.at[r.axes.at[i]] = 1;
    most = reduce_by(n, &glow_op_batchedreducemax, x, &r);
    y = import_binary(n, &glow_op_sub, x,
                      r.nothing ? most : import_reshape(n, most, long_shape));
    y = BUILD_PLAIN(n, exp, GLOW_IN(y));
    y = reduce_by(n, &glow_op_batchedreduceadd, y, &r);
    y = BUILD_PLAIN(n, log, GLOW_IN(y));
    return import_done(n, import_binary(n, &glow_op_add, y, most));
}

static bool
arg_extreme(import_node *n)
{
    bool keep = import_flag(n, "keepdims", true);
    bool last = import_flag(n, "select_last_index", false);

    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = import_in(n, 0);
    const glow_argmax attrs = {
        .axis = import_axis_attr(n, 0, x->type->shape.rank),
        .keep_dims = keep,
        .select_last = last,
    };

    return import_done(n,
                       import_build(n, n->row->op, NULL, GLOW_IN(x), &attrs));
}

const import_row import_reduce_rows[] = {
    {"ArgMax", 1, 0, arg_extreme, &glow_op_argmax},
    {"ArgMin", 1, 0, arg_extreme, &glow_op_argmin},
    {"ReduceL1", 1, 0, reduce_l1, NULL},
    {"ReduceL2", 1, 0, reduce_l2, NULL},
    {"ReduceLogSum", 1, 0, reduce_log_sum, NULL},
    {"ReduceLogSumExp", 1, 0, reduce_log_sum_exp, NULL},
    {"ReduceMax", 1, 0, reduce, &glow_op_batchedreducemax},
    {"ReduceMean", 1, 0, reduce, &glow_op_batchedreducemean},
    {"ReduceMin", 1, 0, reduce, &glow_op_batchedreducemin},
    {"ReduceProd", 1, 0, reduce, &glow_op_batchedreduceprod},
    {"ReduceSum", 1, 0, reduce, &glow_op_batchedreduceadd},
    {"ReduceSumSquare", 1, 0, reduce_sum_square, NULL},
    {NULL, 0, 0, NULL, NULL},
};
