/*
 * lower-trilu: compare the numbers of rows and columns.
 *
 *     %y = Trilu(%x : [2, 3, 4], %k) {Upper: true}
 *         =>
 *     %d = constant columns - rows                : [3, 4]
 *     %c = CmpLTE([%k], %d)
 *     %y = Select([%c], %x, 0)                    [..]: Broadcast
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    bool upper = ((const glow_trilu *)n->attrs)->upper;
    glow_dims x = n->in[0]->type->shape;
    glow_dims plane = GLOW_DIMS_OF(x.at[x.rank - 2], x.at[x.rank - 1]);
    glow_value *k = n->in[1] ? glow_lower_convert(b, n->in[1], GLOW_INDEX64)
                             : glow_lower_number(b, (glow_dims){0}, 0);
    glow_value *rows =
        glow_lower_spread(b, glow_lower_iota(b, plane.at[0], 1), 0, plane);
    glow_value *columns =
        glow_lower_spread(b, glow_lower_iota(b, plane.at[1], 1), 1, plane);
    glow_value *d = glow_build_sub(b, columns, rows);

    k = glow_lower_spread(b, k, 0, plane);
    k = upper ? GLOW_BUILD_PLAIN(b, cmplte, GLOW_IN(k, d))
              : GLOW_BUILD_PLAIN(b, cmplte, GLOW_IN(d, k));
    k = glow_lower_spread(b, k, x.rank - 2, x);
    return glow_build_select(b, k, n->in[0],
                             glow_lower_splat(b, n->out[0]->type, 0));
}

const glow_pass glow_pass_lower_trilu = {
    .name = "lower-trilu",
    .summary = "express Trilu by a comparison",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_trilu,
    .rewrite = lower,
    .takes_quantized = true,
};
