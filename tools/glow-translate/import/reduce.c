/*
 * Import of reductions.  Glow's drop the reduced axes; if ONNX keeps them with
 * size 1, a reshape restores them.
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

/* True for reductions that return a single element unchanged. */
static bool
keeps_single(const glow_op *op)
{
    return op == &glow_op_batchedreduceadd || op == &glow_op_batchedreducemax ||
           op == &glow_op_batchedreducemean ||
           op == &glow_op_batchedreducemin || op == &glow_op_batchedreduceprod;
}

static glow_value *
reduce_by(import_node *n, const glow_op *op, glow_value *x, const reduction *r)
{
    const glow_reduce attrs = {.axes = r->axes};

    if (n->failed || (r->nothing && keeps_single(op)))
        return x;
    return import_reshape(n, import_build(n, op, NULL, GLOW_IN(x), &attrs),
                          r->kept);
}

/*
 * Reduces a kind that the operator does not take: Or and And of bools are
 * maximum and minimum of 0 and 1, the mean of integers is their sum divided,
 * and logarithms and roots of integers are truncated to integers.
 */
static glow_value *
reduce_kind(import_node *n, glow_value *x, const reduction *r)
{
    glow_kind kind = x->type->elem, wide = kind;
    const glow_op *op = n->row->op;
    bool floats = op == &glow_op_reducel2 || op == &glow_op_reducelogsum ||
                  op == &glow_op_reducelogsumexp;
    double count = 1;

    for (int i = 0; i < r->axes.rank; i++)
        count *= (double)x->type->shape.at[r->axes.at[i]];
    if (glow_is_int(kind) && op == &glow_op_batchedreducemean)
        return import_binary_number(
            n, &glow_op_div, reduce_by(n, &glow_op_batchedreduceadd, x, r),
            count);
    if (kind == GLOW_BOOL)
        wide = GLOW_UINDEX8;
    if (glow_is_int(kind) && floats)
        wide = GLOW_FLOAT64;
    x = import_convert(n, x, wide);
    return import_convert(n, reduce_by(n, op, x, r), kind);
}

static bool
reduce(import_node *n)
{
    reduction r;
    int until = n->row->op == &glow_op_batchedreduceadd ? 12 : 17;

    return read_reduction(n, until, &r) &&
           import_done(n, reduce_kind(n, import_in(n, 0), &r));
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
    {"ArgMax", 1, 0, arg_extreme, &glow_op_argmax,
     "numbers; the axis is not empty"},
    {"ArgMin", 1, 0, arg_extreme, &glow_op_argmin,
     "numbers; the axis is not empty"},
    {"ReduceL1", 1, 0, reduce, &glow_op_reducel1,
     "any; axes, operands since opset 18, must be known"},
    {"ReduceL2", 1, 0, reduce, &glow_op_reducel2,
     "numbers; integers go through float64; axes, operands since opset 18, "
     "must be known"},
    {"ReduceLogSum", 1, 0, reduce, &glow_op_reducelogsum,
     "numbers; integers go through float64; axes, operands since opset 18, "
     "must be known"},
    {"ReduceLogSumExp", 1, 0, reduce, &glow_op_reducelogsumexp,
     "numbers; integers go through float64; axes, operands since opset 18, "
     "must be known"},
    {"ReduceMax", 1, 0, reduce, &glow_op_batchedreducemax,
     "any; axes, operands since opset 18, must be known"},
    {"ReduceMean", 1, 0, reduce, &glow_op_batchedreducemean,
     "numbers; of integers the sum is divided; axes, operands since opset 18, "
     "must be known"},
    {"ReduceMin", 1, 0, reduce, &glow_op_batchedreducemin,
     "any; axes, operands since opset 18, must be known"},
    {"ReduceProd", 1, 0, reduce, &glow_op_batchedreduceprod,
     "any; axes, operands since opset 18, must be known"},
    {"ReduceSum", 1, 0, reduce, &glow_op_batchedreduceadd,
     "any; axes, operands since opset 13, must be known"},
    {"ReduceSumSquare", 1, 0, reduce, &glow_op_batchedreducesumsquare,
     "any; axes, operands since opset 18, must be known"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
