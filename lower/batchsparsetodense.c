/*
 * lower-batchsparsetodense: write each entry to its row and column.
 *
 *     %r = the row of each entry                    see glow_lower_runs
 *     ScatterData(splat DefaultValue, [%r, %columns], %values)
 *
 * Entries after the last row are written to one additional row, with column 0.
 */

#include "lower/sparse.h"

/* [N, 2]: row and column of each entry. */
static glow_value *
places(glow_builder *b, glow_value *lengths, glow_value *columns)
{
    glow_dims list = columns->type->shape;
    glow_value *l = glow_lower_convert(b, lengths, GLOW_INDEX64);
    glow_value *row = glow_lower_runs(b, l, list.at[0]);
    glow_value *rows = glow_lower_number(b, list, lengths->type->shape.at[0]);
    glow_value *in = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(row, rows));

    columns = glow_lower_convert(b, columns, GLOW_INDEX64);
    columns = glow_build_select(b, in, columns, glow_lower_number(b, list, 0));
    row = glow_lower_upright(b, row);
    columns = glow_lower_upright(b, columns);
    return row && columns
               ? GLOW_BUILD(b, concat, GLOW_IN(row, columns), .dim = 1)
               : NULL;
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_batchsparsetodense *a = n->attrs;
    const glow_type *type = n->out[0]->type;
    glow_type more = *type;
    glow_value *y;

    if (type->shape.at[0] == 0 || type->shape.at[1] == 0 ||
        n->in[1]->type->shape.at[0] == 0)
        return glow_lower_splat(b, type, (double)a->default_value);
    more.shape.at[0]++;
    y = glow_lower_splat(b, glow_type_get(glow_builder_context(b), more),
                         (double)a->default_value);
    y = GLOW_BUILD(b, scatterdata,
                   GLOW_IN(y, places(b, n->in[0], n->in[1]), n->in[2]),
                   .reduction = GLOW_SCATTER_NONE);
    return glow_lower_rows(b, y, 0, type->shape.at[0]);
}

const glow_pass glow_pass_lower_batchsparsetodense = {
    .name = "lower-batchsparsetodense",
    .summary = "express BatchSparseToDense by ScatterData",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_batchsparsetodense,
    .rewrite = lower,
};
