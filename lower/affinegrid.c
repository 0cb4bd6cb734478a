/*
 * lower-affinegrid: one product of matrices.
 *
 *     %y = AffineGrid(%t) {Size: [h, w]}
 *         =>
 *     %y = BatchMatMul(Broadcast(points), Transpose(%t))
 *
 * where `points` holds (x, y, 1) of each of the h w points.
 */

#include "lower/sample.h"

static glow_value *
points(glow_builder *b, const glow_affinegrid *g, glow_kind kind)
{
    int axes = g->size.rank;
    int64_t count = glow_dims_count(g->size), to = 0;
    double *at =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), double, count *(axes + 1));

    GLOW_FOR_EACH_INDEX(i, g->size) {
        for (int a = axes - 1; a >= 0; a--)
            at[to++] =
                glow_affine_position(i.at[a], g->size.at[a], g->align_corners);
        at[to++] = 1;
    }
    return glow_lower_reals(b, "points", kind, GLOW_DIMS_OF(count, axes + 1),
                            at);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_affinegrid *g = n->attrs;
    glow_value *theta = n->in[0], *p;
    glow_dims y = n->out[0]->type->shape;
    int axes = g->size.rank;

    if (glow_dims_count(y) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    p = glow_lower_spread(
        b, points(b, g, theta->type->elem), 1,
        GLOW_DIMS_OF(y.at[0], glow_dims_count(g->size), axes + 1));
    theta = GLOW_BUILD(b, transpose, GLOW_IN(theta),
                       .shuffle = GLOW_DIMS_OF(0, 2, 1));
    return glow_build_reshape(
        b, GLOW_BUILD_PLAIN(b, batchmatmul, GLOW_IN(p, theta)), y);
}

const glow_pass glow_pass_lower_affinegrid = {
    .name = "lower-affinegrid",
    .summary = "express AffineGrid by BatchMatMul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_affinegrid,
    .rewrite = lower,
};
