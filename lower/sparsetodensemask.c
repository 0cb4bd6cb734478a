/*
 * lower-sparsetodensemask: find the column of each entry by comparing.
 *
 *     %e = CmpEQ([%indices], [Mask])                 entries x numbers
 *     %m = sum over numbers of Select(%e, [0, 1, ..], 0)
 *     %p = Select(any of %e, %m, numbers)
 *     y  = ScatterData([DefaultValue], [%r, %p], %values)
 *
 * with %r the example of each entry.  Entries without a number in Mask go to an
 * additional column, entries without an example to an additional example; both
 * are cut off.
 */

#include "lower/sparse.h"

static glow_value *
sum(glow_builder *b, glow_value *v)
{
    return GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = GLOW_DIMS_OF(1));
}

/* The index in `mask` of each of `numbers`. */
static glow_value *
places(glow_builder *b, glow_value *numbers, glow_ints mask)
{
    int64_t count = numbers->type->shape.at[0];
    glow_dims list = GLOW_DIMS_OF(count),
              plane = GLOW_DIMS_OF(count, mask.count);
    glow_value *m = glow_lower_list(b, "mask", mask.at, mask.count);
    glow_value *k = glow_lower_iota(b, mask.count, 1);
    glow_value *n = glow_lower_convert(b, numbers, GLOW_INDEX64);

    n = glow_lower_spread(b, n, 0, plane);
    m = glow_lower_spread(b, m, 1, plane);

    glow_value *equal = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(n, m));
    glow_value *zero = glow_lower_number(b, plane, 0);

    k = glow_lower_spread(b, k, 1, plane);

    glow_value *at = sum(b, glow_build_select(b, equal, k, zero));
    glow_value *any = sum(b, glow_lower_convert(b, equal, GLOW_INDEX64));

    any =
        GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(glow_lower_number(b, list, 0), any));
    return glow_build_select(b, any, at,
                             glow_lower_number(b, list, mask.count));
}

/* [N, 2]: example and place of each entry. */
static glow_value *
targets(glow_builder *b, const glow_node *n)
{
    const glow_sparsetodensemask *a = n->attrs;
    int64_t count = n->in[0]->type->shape.at[0];
    glow_value *to = glow_lower_upright(b, places(b, n->in[0], a->mask));
    glow_value *of =
        n->in[3] ? glow_lower_runs(
                       b, glow_lower_convert(b, n->in[3], GLOW_INDEX64), count)
                 : glow_lower_number(b, GLOW_DIMS_OF(count), 0);

    of = glow_lower_upright(b, of);
    return to && of ? GLOW_BUILD(b, concat, GLOW_IN(of, to), .dim = 1) : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_sparsetodensemask *a = n->attrs;
    const glow_type *type = n->out[0]->type;
    glow_dims row = n->in[2]->type->shape, head;
    glow_dims all =
        GLOW_DIMS_OF(n->in[3] ? type->shape.at[0] + 1 : 1, a->mask.count + 1);
    glow_value *y;

    if (all.rank + row.rank > GLOW_MAX_RANK)
        return NULL;
    for (int i = 0; i < row.rank; i++)
        all.at[all.rank++] = row.at[i];
    y = glow_lower_spread(b, n->in[2], 2, all);
    if (n->in[0]->type->shape.at[0] && a->mask.count)
        y = GLOW_BUILD(b, scatterdata, GLOW_IN(y, targets(b, n), n->in[1]),
                       .reduction = GLOW_SCATTER_NONE);
    head = all;
    head.at[0] -= n->in[3] != NULL;
    head.at[1]--;
    return glow_build_reshape(b, glow_lower_head(b, y, head), type->shape);
}

const glow_pass glow_pass_lower_sparsetodensemask = {
    .name = "lower-sparsetodensemask",
    .summary = "express SparseToDenseMask by comparison and ScatterData",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_sparsetodensemask,
    .rewrite = lower,
};
