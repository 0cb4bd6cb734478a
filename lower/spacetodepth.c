/*
 * lower-spacetodepth: a transpose of the blocks.
 *
 *     %y = SpaceToDepth(%x : [1, 4, 6, 3]) {BlockSize: 2}
 *         =>
 *     %a = Reshape(%x)   : [1, 2, 2, 3, 2, 3]
 *     %b = Transpose(%a) : [1, 2, 3, 2, 2, 3]
 *     %y = Reshape(%b)   : [1, 2, 3, 12]
 */

#include "lower/index.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    int64_t size = ((const glow_spacetodepth *)n->attrs)->block_size;
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    glow_value *v = glow_build_reshape(
        b, n->in[0],
        GLOW_DIMS_OF(x.at[0], y.at[1], size, y.at[2], size, x.at[3]));

    v = glow_lower_transpose(b, v, GLOW_DIMS_OF(0, 1, 3, 2, 4, 5));
    return glow_build_reshape(b, v, y);
}

const glow_pass glow_pass_lower_spacetodepth = {
    .name = "lower-spacetodepth",
    .summary = "express SpaceToDepth by Transpose",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_spacetodepth,
    .rewrite = lower,
};
