/*
 * Operators whose result sizes depend on elements of operands; see bounded.c.
 */

#include <inttypes.h>
#include <math.h>

#include "tools/glow-translate/import/import.h"

static bool
non_zero(import_node *n)
{
    glow_value *out[2];

    return import_operands(n, 1, 1) &&
           import_build_all(n, &glow_op_nonzero, GLOW_IN(import_in(n, 0)), NULL,
                            out) &&
           import_done(n, import_bounded(n, out[0], 1, out[1]));
}

static glow_value *
flat(import_node *n, glow_value *v)
{
    return import_reshape(n, v, GLOW_DIMS_OF(glow_dims_count(import_shape(v))));
}

/* Slices `at` along `axis` of x, the first `count` of which are valid. */
static glow_value *
gather_bounded(import_node *n, glow_value *x, glow_value *at, int axis,
               glow_value *count)
{
    bool known = glow_is_constant(count);

    if (known)
        at = import_bounded(n, at, 0, count);

    glow_value *v = BUILD(n, gather, GLOW_IN(x, at), .axis = axis);

    if (n->failed || known)
        return v;
    return BUILD(n, bound, GLOW_IN(v, count), .axis = axis);
}

/* Compress: the slices for which the condition is not zero. */
static bool
compress(import_node *n)
{
    glow_value *found[2], *v;

    if (!import_operands(n, 2, 2))
        return false;

    bool whole = !import_has(n, "axis");
    glow_value *x = whole ? flat(n, import_in(n, 0)) : import_in(n, 0);
    glow_value *condition = import_in(n, 1);
    int axis = import_axis_attr(n, 0, import_shape(x).rank);

    if (n->failed)
        return false;
    if (condition->type->shape.rank != 1)
        return import_refuse(n, "E0711", "the rank of the condition is %d",
                             condition->type->shape.rank);

    int64_t size = import_shape(x).at[axis];

    if (condition->type->shape.at[0] > size)
        condition = import_cut(n, condition, 0, 0, size);
    if (!import_build_all(n, &glow_op_nonzero, GLOW_IN(condition), NULL, found))
        return false;
    v = gather_bounded(n, x, flat(n, found[0]), axis, found[1]);
    if (!n->failed && !glow_is_constant(found[1]))
        v = import_bounded(n, v, axis, found[1]);
    return import_done(n, v);
}

/* Moves `axis` to the front, or `back`. */
static glow_value *
move_axis(import_node *n, glow_value *v, int axis, bool back)
{
    int rank = import_shape(v).rank;
    glow_dims p = {.rank = rank};

    for (int i = 0; i < rank; i++)
        p.at[i] = i > axis    ? i
                  : !back     ? (i == 0 ? axis : i - 1)
                  : i == axis ? 0
                              : i + 1;
    return import_transpose(n, v, p);
}

/* Unique: the slices themselves are gathered by the first of each kind. */
static bool
unique(import_node *n)
{
    bool sorted = import_flag(n, "sorted", true);
    glow_value *found[4];

    if (!import_operands(n, 1, 1))
        return false;

    bool whole = !import_has(n, "axis");
    glow_value *x = whole ? flat(n, import_in(n, 0)) : import_in(n, 0);
    int axis = import_axis_attr(n, 0, import_shape(x).rank);

    if (n->failed ||
        !import_build_all(n, &glow_op_unique,
                          GLOW_IN(move_axis(n, x, axis, false)),
                          &(const glow_unique){.sorted = sorted}, found))
        return false;

    glow_value *count = found[3];
    glow_value *v = gather_bounded(n, x, found[0], axis, count);

    if (!n->failed && !glow_is_constant(count))
        v = import_bounded(n, v, axis, count);
    if (import_wants(n, 1))
        n->out[1] = import_bounded(n, found[0], 0, count);
    if (import_wants(n, 2))
        n->out[2] = found[1];
    if (import_wants(n, 3))
        n->out[3] = import_bounded(n, found[2], 0, count);
    return import_done(n, v);
}

/* A number that may be omitted. */
static double
number_or(import_node *n, int i, double otherwise)
{
    return import_in(n, i) ? import_known_number(n, i) : otherwise;
}

static bool
non_max_suppression(import_node *n)
{
    bool center = import_flag(n, "center_point_box", false);
    glow_value *found[2];

    if (!import_operands(n, 2, 5))
        return false;

    double most = number_or(n, 2, 0), iou = number_or(n, 3, 0);
    double score = number_or(n, 4, -INFINITY);
    const glow_nonmaxsuppression attrs = {
        .center_point_box = center,
        .max_output_boxes_per_class = most > 0 ? (int64_t)fmin(most, 1e15) : 0,
        .iou_threshold = (float)iou,
        .score_threshold = (float)score,
    };

    return !n->failed &&
           import_build_all(n, &glow_op_nonmaxsuppression,
                            GLOW_IN(import_in(n, 0), import_in(n, 1)), &attrs,
                            found) &&
           import_done(n, import_bounded(n, found[0], 0, found[1]));
}

const import_row import_dynamic_rows[] = {
    {"Compress", 9, 0, compress, &glow_op_gather,
     "any; of what NonZero finds; how large the result is must be known, or "
     "-allow-bounded"},
    {"NonMaxSuppression", 10, 0, non_max_suppression,
     &glow_op_nonmaxsuppression,
     "floats; limits and thresholds must be known; how large the result is "
     "must be known, or -allow-bounded"},
    {"NonZero", 9, 0, non_zero, &glow_op_nonzero,
     "any; how large the result is must be known, or -allow-bounded"},
    {"Unique", 11, 0, unique, &glow_op_unique,
     "any; the slices are gathered; how large the result is must be known, or "
     "-allow-bounded"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
