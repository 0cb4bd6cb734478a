/*
 * lower-batchedreducemean: the sum divided by the number of elements.
 *
 *     %y = BatchedReduceMean(%x) {Axes: a}
 *         =>
 *     %s = BatchedReduceAdd(%x) {Axes: a}
 *     %y = %s / count
 *
 * The sum of 16-bit floats soon leaves their range, so it is computed in float,
 * between two ConvertTo.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_batchedreducemean *r = n->attrs;
    glow_value *x = n->in[0];
    glow_kind kind = x->type->elem;
    double count = 1;

    for (int i = 0; i < r->axes.rank; i++)
        count *= (double)x->type->shape.at[r->axes.at[i]];
    if (glow_lower_is_short(kind))
        x = glow_lower_convert(b, x, GLOW_FLOAT);
    x = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = r->axes);
    if (x)
        x = glow_build_div(b, x, glow_lower_splat(b, x->type, count));
    return glow_lower_convert(b, x, kind);
}

const glow_pass glow_pass_lower_batchedreducemean = {
    .name = "lower-batchedreducemean",
    .summary = "express BatchedReduceMean by BatchedReduceAdd and Div",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_batchedreducemean,
    .rewrite = lower,
};
