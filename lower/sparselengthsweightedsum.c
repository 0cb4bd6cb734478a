/*
 * lower-sparselengthsweightedsum: add each row to the sum of its segment.
 *
 *     %r = the segment of each entry                see glow_lower_runs
 *     %g = Gather(%x, %indices) * [%w]
 *     y  = ScatterData(zeros, %r, %g) {Reduction: add}
 *
 * Entries after the last segment, whose indices are 0, go to one additional row
 * of the zeros.  Floats of 16 bits are added up in 32; rows of a fused kind become
 * floats once they are gathered (ConvertRows).
 */

#include "lower/sparse.h"

static glow_kind
sum_kind(glow_kind kind)
{
    return kind == GLOW_FLOAT16 || kind == GLOW_BFLOAT16 ? GLOW_FLOAT : kind;
}

/* Weighted rows, of `kind`, of the segments `of`. */
static glow_value *
rows_of(glow_builder *b, const glow_node *n, glow_value *of, glow_kind kind)
{
    glow_value *at = glow_lower_used(b, n->in[2], of, n->in[3]);
    glow_value *w = glow_lower_convert(b, n->in[1], kind), *g;

    g = at ? GLOW_BUILD(b, gather, GLOW_IN(n->in[0], at), .axis = 0) : NULL;
    if (g && glow_fused_tail(g->type->elem)) {
        glow_type type =
            glow_type_of(kind, GLOW_DIMS_OF(n->in[2]->type->shape.at[0],
                                            glow_fused_columns(g->type)));

        g = GLOW_BUILD_STATED_PLAIN(
            b, convertrows, glow_type_get(glow_builder_context(b), type),
            GLOW_IN(g));
    }
    g = g ? glow_lower_convert(b, g, kind) : NULL;
    return g && w ? glow_build_mul(b, g,
                                   glow_lower_spread(b, w, 0, g->type->shape))
                  : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_type *type = n->out[0]->type;
    glow_dims list = n->in[2]->type->shape;
    glow_type more = glow_type_of(sum_kind(type->elem), type->shape);
    glow_value *of, *rows, *y;

    /* Data or Indices are empty. */
    if (n->in[0]->type->shape.at[0] == 0 || list.at[0] == 0)
        return glow_lower_splat(b, type, 0);
    more.shape.at[0]++;
    of = glow_lower_runs(b, glow_lower_convert(b, n->in[3], GLOW_INDEX64),
                         list.at[0]);
    rows = of ? rows_of(b, n, of, more.elem) : NULL;
    y = glow_lower_splat(b, glow_type_get(glow_builder_context(b), more), 0);
    if (!rows || !y)
        return NULL;
    y = GLOW_BUILD(b, scatterdata, GLOW_IN(y, glow_lower_upright(b, of), rows),
                   .reduction = GLOW_SCATTER_ADD);
    y = glow_lower_rows(b, y, 0, type->shape.at[0]);
    return y ? glow_lower_convert(b, y, type->elem) : NULL;
}

const glow_pass glow_pass_lower_sparselengthsweightedsum = {
    .name = "lower-sparselengthsweightedsum",
    .summary = "express SparseLengthsWeightedSum by Gather and ScatterData",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_sparselengthsweightedsum,
    .rewrite = lower,
};
