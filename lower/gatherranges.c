/*
 * lower-gatherranges: find the range of each element of Output.
 *
 *     %e = CumSum(lengths of Ranges), %b = %e - lengths      all ranges in a row
 *     %m = And(CmpLTE([%b], [j]), CmpLT([j], [%e]))          j of Output in which
 *     %s = sum over ranges of Select(%m, [starts - %b] + [j], 0)
 *     Output = Select(sum of %m = 1, Gather(Data, %s), 0)
 *     Lengths = BatchedReduceAdd(lengths) {Axes: [1]}
 *
 * If any range is invalid, all of %s is an index outside of Data, which Gather
 * refuses; [..]: Broadcast.
 */

#include "lower/index.h"

typedef struct ranges {
    glow_builder *b;
    glow_dims row, plane; /* [R]; [MaxOutputSize, R] */
    glow_value *start, *length, *begin, *end;
    int64_t size, most;
} ranges;

/* Column `k` of Ranges, as a list. */
static glow_value *
column(const ranges *r, glow_value *pairs, int64_t k)
{
    glow_type type = glow_type_of(GLOW_INDEX64, GLOW_DIMS_OF(r->row.at[0], 1));
    glow_value *v = GLOW_BUILD_STATED(
        r->b, slice, glow_type_get(glow_builder_context(r->b), type),
        GLOW_IN(pairs), .start = GLOW_DIMS_OF(0, k));

    return glow_build_reshape(r->b, v, r->row);
}

/* Bool: x < y. */
static glow_value *
less(const ranges *r, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(r->b, cmplt, GLOW_IN(x, y));
}

static glow_value *
either(const ranges *r, glow_value *x, glow_value *y)
{
    return GLOW_BUILD_PLAIN(r->b, or, GLOW_IN(x, y));
}

/* 1 for each range that exceeds Data or Output, or is negative: [R]. */
static glow_value *
wrong(const ranges *r)
{
    glow_value *zero = glow_lower_number(r->b, r->row, 0);
    glow_value *size = glow_lower_number(r->b, r->row, r->size);
    glow_value *most = glow_lower_number(r->b, r->row, r->most);
    glow_value *v = less(r, r->start, zero);

    v = either(r, v, less(r, r->length, zero));
    v = either(r, v, less(r, glow_build_sub(r->b, size, r->start), r->length));
    v = either(r, v, less(r, most, r->end));
    return glow_lower_convert(r->b, v, GLOW_INDEX64);
}

static glow_value *
sum(const ranges *r, glow_value *v, int axis)
{
    return GLOW_BUILD(r->b, batchedreduceadd, GLOW_IN(v),
                      .axes = GLOW_DIMS_OF(axis));
}

/* Output: elements of Data where a range covers the position, else 0. */
static glow_value *
output(const ranges *r, glow_value *data)
{
    glow_builder *b = r->b;
    glow_dims list = GLOW_DIMS_OF(r->most);
    glow_value *j =
        glow_lower_spread(b, glow_lower_iota(b, r->most, 1), 0, r->plane);
    glow_value *begin = glow_lower_spread(b, r->begin, 1, r->plane);
    glow_value *end = glow_lower_spread(b, r->end, 1, r->plane);
    glow_value *hop = glow_lower_spread(
        b, glow_build_sub(b, r->start, r->begin), 1, r->plane);
    glow_value *after = GLOW_BUILD_PLAIN(b, cmplte, GLOW_IN(begin, j));
    glow_value *in = GLOW_BUILD_PLAIN(b, and, GLOW_IN(after, less(r, j, end)));
    glow_value *zeros = glow_lower_number(b, r->plane, 0);
    glow_value *from =
        sum(r, glow_build_select(b, in, glow_build_add(b, hop, j), zeros), 1);
    glow_value *found = sum(r, glow_lower_convert(b, in, GLOW_INDEX64), 1);
    glow_value *bad = glow_lower_spread(b, sum(r, wrong(r), 0), 0, list);
    glow_value *zero = glow_lower_number(b, list, 0);

    bad = less(r, zero, bad);
    from = glow_build_select(b, bad, glow_lower_number(b, list, r->size), from);

    glow_value *v = GLOW_BUILD(b, gather, GLOW_IN(data, from), .axis = 0);

    found = less(r, zero, found);
    return v ? glow_build_select(b, found, v, glow_lower_splat(b, v->type, 0))
             : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_dims at = n->in[1]->type->shape;
    int64_t most = n->out[0]->type->shape.at[0], count;

    if (glow_mul_overflow(at.at[0], at.at[1], &count))
        return NULL;

    ranges r = {.b = b,
                .row = GLOW_DIMS_OF(count),
                .plane = GLOW_DIMS_OF(most, count),
                .size = n->in[0]->type->shape.at[0],
                .most = most};
    glow_value *pairs =
        glow_build_reshape(b, glow_lower_convert(b, n->in[1], GLOW_INDEX64),
                           GLOW_DIMS_OF(count, 2));

    r.start = column(&r, pairs, 0);
    r.length = column(&r, pairs, 1);
    r.end = GLOW_BUILD(b, cumsum, GLOW_IN(r.length), .dim = 0);
    r.begin = glow_build_sub(b, r.end, r.length);

    glow_value *lengths = sum(
        &r, glow_build_reshape(b, r.length, GLOW_DIMS_OF(at.at[0], at.at[1])),
        1);
    glow_value *v = count && most && r.size
                        ? output(&r, n->in[0])
                        : glow_lower_splat(b, n->out[0]->type, 0);

    lengths = glow_lower_convert(b, lengths, n->out[1]->type->elem);
    if (!v || !lengths)
        return NULL;
    glow_builder_replace(b, n, 0, v);
    glow_builder_replace(b, n, 1, lengths);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_gatherranges = {
    .name = "lower-gatherranges",
    .summary = "express GatherRanges by CumSum and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_gatherranges,
    .rewrite = lower,
    .takes_quantized = true,
};
