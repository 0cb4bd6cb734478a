/*
 * lower-scatterelements: complete the index of each element to all its
 * coordinates.
 *
 *     %y = ScatterElements(%x : [2, 3, 4, 5], %i : [2, 3, 6, 5], %u) {Dim: 2}
 *         =>
 *     %a = constant [6]: offset of each leading index of %i in the first axes
 *     %c = constant [5]: offset of each trailing one in the last axes
 *     %p = Concat([[%a], %i, [%c]]) {Dim: 3}       : [6, 6, 5, 3]
 *     %y = ScatterData(%x : [6, 4, 5], %p, %u : [6, 6, 5])
 *
 * with the axes before Dim flattened to one, and those after it; [..]:
 * Broadcast.  Indices that repeat along all axes but the first move whole rows:
 *
 *     %i = Broadcast(%r : [6, 1]) : [6, 5]
 *     %y = ScatterElements(%x : [4, 5], %i, %u) {Dim: 0}
 *         =>  ScatterData(%x, %r, %u)
 */

#include "glow/trace.h"
#include "lower/index.h"

/*
 * Offsets in axes [first, last) of shape `whole` of all indices of the smaller
 * `part`.
 */
static glow_value *
places(glow_builder *b, glow_dims part, glow_dims whole, int first, int last)
{
    int64_t count = glow_dims_product(part, first, last), k = 0;
    int64_t *at = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, count);
    glow_dims box = {.rank = last - first};

    for (int i = first; i < last; i++)
        box.at[i - first] = part.at[i];
    GLOW_FOR_EACH_INDEX(i, box) {
        for (int d = 0; d < box.rank; d++)
            at[k] = at[k] * whole.at[first + d] + i.at[d];
        k++;
    }
    return glow_lower_list(b, "places", at, count);
}

/* The index of each row [rows, 1], if elements go as whole rows of Input; or NULL. */
static glow_value *
row_indices(glow_builder *b, const glow_node *n, int dim)
{
    glow_dims x = n->in[0]->type->shape, i = n->in[1]->type->shape;
    glow_trace t = glow_trace_begin(n->in[1]);
    bool rows = i.rank > dim + 1 && glow_dims_product(x, 0, dim) == 1 &&
                glow_dims_product(x, dim + 1, x.rank) > 1 &&
                glow_dims_count(i) > 0;
    glow_value *small;

    for (int k = 0; rows && k < i.rank; k++)
        rows = k == dim || (i.at[k] == x.at[k] && t.axis.at[k] < 0);
    small = rows ? glow_trace_small(b, &t) : NULL;
    return small
               ? glow_build_reshape(b,
                                    glow_lower_convert(b, small, GLOW_INDEX64),
                                    GLOW_DIMS_OF(i.at[dim], 1))
               : NULL;
}

/* The rows of `from` scattered to those of Input. */
static glow_value *
scatter_rows(glow_builder *b, glow_node *n, int dim, glow_value *at)
{
    const glow_scatterelements *s = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    int64_t size = glow_dims_product(x, dim + 1, x.rank);
    glow_value *to =
        glow_build_reshape(b, n->in[0], GLOW_DIMS_OF(x.at[dim], size));
    glow_value *from = glow_build_reshape(
        b, n->in[2], GLOW_DIMS_OF(n->in[2]->type->shape.at[dim], size));
    glow_value *v = GLOW_BUILD(b, scatterdata, GLOW_IN(to, at, from),
                               .reduction = s->reduction);

    return glow_build_reshape(b, v, x);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_scatterelements *s = n->attrs;
    int dim = s->dim, rank = n->in[0]->type->shape.rank;
    glow_dims x = n->in[0]->type->shape, i = n->in[1]->type->shape;
    glow_dims data = GLOW_DIMS_OF(glow_dims_product(x, 0, dim), x.at[dim],
                                  glow_dims_product(x, dim + 1, rank));
    glow_dims part = GLOW_DIMS_OF(glow_dims_product(i, 0, dim), i.at[dim],
                                  glow_dims_product(i, dim + 1, rank));
    glow_dims column = GLOW_DIMS_OF(part.at[0], part.at[1], part.at[2], 1);
    glow_value *rows = row_indices(b, n, dim);

    if (rows)
        return scatter_rows(b, n, dim, rows);

    glow_value *before =
        glow_lower_spread(b, places(b, i, x, 0, dim), 0, column);
    glow_value *after =
        glow_lower_spread(b, places(b, i, x, dim + 1, rank), 2, column);
    glow_value *at = glow_build_reshape(
        b, glow_lower_convert(b, n->in[1], GLOW_INDEX64), column);
    glow_value *to = glow_build_reshape(b, n->in[0], data);
    glow_value *from = glow_build_reshape(b, n->in[2], part);

    at = GLOW_BUILD(b, concat, GLOW_IN(before, at, after), .dim = 3);

    glow_value *v = GLOW_BUILD(b, scatterdata, GLOW_IN(to, at, from),
                               .reduction = s->reduction);

    return glow_build_reshape(b, v, x);
}

const glow_pass glow_pass_lower_scatterelements = {
    .name = "lower-scatterelements",
    .summary = "express ScatterElements by ScatterData",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_scatterelements,
    .rewrite = lower,
    .takes_quantized = true,
};
