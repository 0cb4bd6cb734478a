/*
 * lower-lookuptable: count the points that are passed.
 *
 *     %c = Min(Max(%x, TableIdx[0]), TableIdx[n - 1])
 *     %i = BatchedReduceAdd(TableIdx[1 .. n - 2] <= %c)      of every element
 *     %a = Gather(TableIdx, %i)       %b = Gather(TableIdx, %i + 1)
 *     %y = Gather(Table, %i) + (%c - %a) / (%b - %a) * ...
 *
 * The comparison has a temporary of n - 2 bytes for each element.
 */

#include "lower/common.h"

/*
 * The number of points `at` that are at most each element of `x`: its segment.
 */
static glow_value *
segments(glow_builder *b, glow_value *x, glow_value *at)
{
    if (!x || !at)
        return NULL;

    glow_dims shape = GLOW_DIMS_OF(x->type->shape.at[0], at->type->shape.at[0]);

    at = glow_lower_spread(b, at, 1, shape);
    x = glow_build_reshape(b, x, GLOW_DIMS_OF(shape.at[0], 1));
    x = glow_lower_spread(b, x, 0, shape);
    x = GLOW_BUILD_PLAIN(b, cmplte, GLOW_IN(at, x));
    x = glow_lower_convert(b, x, GLOW_INDEX32);
    return GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = GLOW_DIMS_OF(1));
}

static glow_value *
pick(glow_builder *b, glow_value *from, glow_value *i)
{
    return GLOW_BUILD(b, gather, GLOW_IN(from, i), .axis = 0);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *table = n->in[1], *at = n->in[2], *i, *j, *a, *y;
    glow_dims shape = n->in[0]->type->shape;
    glow_dims flat = GLOW_DIMS_OF(glow_dims_count(shape));
    int64_t last = at->type->shape.at[0] - 1;
    glow_value *x = glow_build_reshape(b, n->in[0], flat);

    a = glow_lower_spread(b, glow_lower_cut(b, at, 0, 0, 1), 0, flat);
    x = GLOW_BUILD_PLAIN(b, max, GLOW_IN(x, a));
    a = glow_lower_spread(b, glow_lower_cut(b, at, 0, last, 1), 0, flat);
    x = GLOW_BUILD_PLAIN(b, min, GLOW_IN(x, a));
    i = segments(b, x, glow_lower_cut(b, at, 0, 1, last - 1));
    j = glow_lower_plus(b, i, 1);
    a = pick(b, at, i);
    x = glow_build_sub(b, x, a);
    x = glow_build_div(b, x, glow_build_sub(b, pick(b, at, j), a));
    a = pick(b, table, i);
    y = glow_build_sub(b, pick(b, table, j), a);
    y = glow_build_add(b, a, glow_build_mul(b, x, y));
    return glow_build_reshape(b, y, shape);
}

const glow_pass glow_pass_lower_lookuptable = {
    .name = "lower-lookuptable",
    .summary = "express LookupTable by CmpLTE and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_lookuptable,
    .rewrite = lower,
};
