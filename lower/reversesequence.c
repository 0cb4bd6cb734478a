/*
 * lower-reversesequence: compute the source position of each element.
 *
 *     %y = ReverseSequence(%x : [2, 5, 3], %l) {BatchAxis: 0, TimeAxis: 1}
 *         =>
 *     %t = constant [0, 1, 2, 3, 4], spread to [2, 5]; %l too
 *     %i = Select(CmpLT(%t, %l), %l - 1 - %t, %t)   : [2, 5]
 *     %y = Gather(%x, %i) {Axis: 1, BatchDims: 1}
 *
 * with transposes around it where batch and time are not the first axes.  A
 * length above the number of elements makes the first position out of range.
 */

#include "lower/index.h"

/* Batch first, time second, then the others in order. */
static glow_dims
batch_time(int rank, int batch, int time)
{
    glow_dims p = {.rank = 2, .at = {batch, time}};

    for (int i = 0; i < rank; i++)
        if (i != batch && i != time)
            p.at[p.rank++] = i;
    return p;
}

static glow_dims
inverse(glow_dims p)
{
    glow_dims q = {.rank = p.rank};

    for (int i = 0; i < p.rank; i++)
        q.at[p.at[i]] = i;
    return q;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_reversesequence *r = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    glow_dims to = batch_time(x.rank, r->batch_axis, r->time_axis);
    int64_t size = x.at[r->time_axis];
    glow_dims plane = GLOW_DIMS_OF(x.at[r->batch_axis], size);
    glow_value *t = glow_lower_spread(b, glow_lower_iota(b, size, 1), 1, plane);
    glow_value *l = glow_lower_spread(
        b, glow_lower_convert(b, n->in[1], GLOW_INDEX64), 0, plane);
    glow_value *back = glow_build_sub(
        b, glow_build_sub(b, l, glow_lower_number(b, plane, 1)), t);
    glow_value *from = glow_build_select(
        b, GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(t, l)), back, t);
    glow_value *v = GLOW_BUILD(
        b, gather, GLOW_IN(glow_lower_transpose(b, n->in[0], to), from),
        .axis = 1, .batch_dims = 1);

    return glow_lower_transpose(b, v, inverse(to));
}

const glow_pass glow_pass_lower_reversesequence = {
    .name = "lower-reversesequence",
    .summary = "express ReverseSequence by Gather with batches",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_reversesequence,
    .rewrite = lower,
    .takes_quantized = true,
};
