/*
 * lower-gridsample: turn the grid into positions, gather and sum.
 *
 *     %y = GridSample(%x, %g) {AlignCorners: false}
 *         =>
 *     %p = Slice(%g, column a) * n / 2 + (n - 1) / 2      for each axis of n
 *     %y = the sample of %x at %p: see sample.c
 */

#include "lower/sample.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_gridsample *g = n->attrs;
    glow_lower_reading how = {g->mode, g->padding, g->align_corners};
    glow_value *x = n->in[0], *grid = n->in[1], *at[GLOW_MAX_RANK];
    glow_dims shape = x->type->shape, y = n->out[0]->type->shape;
    int axes = shape.rank - 2;
    int64_t points = 1;

    if (glow_dims_count(y) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    for (int i = 1; i <= axes; i++)
        points *= y.at[i];
    /*
     * Positions are computed in float or wider: 16-bit floats would round them.
     */
    grid = glow_lower_convert(b, grid,
                              x->type->elem == GLOW_FLOAT64 ||
                                      grid->type->elem == GLOW_FLOAT64
                                  ? GLOW_FLOAT64
                                  : GLOW_FLOAT);
    grid = glow_build_reshape(b, grid, GLOW_DIMS_OF(y.at[0], points, axes));
    for (int a = 0; a < axes; a++) {
        double size = (double)shape.at[1 + a];

        at[a] = glow_lower_column(b, grid, axes - 1 - a);
        at[a] = glow_lower_times(b, at[a],
                                 g->align_corners ? (size - 1) / 2 : size / 2);
        at[a] = glow_lower_plus(b, at[a], (size - 1) / 2);
    }
    return glow_build_reshape(b, glow_lower_sample(b, &how, x, at), y);
}

const glow_pass glow_pass_lower_gridsample = {
    .name = "lower-gridsample",
    .summary = "express GridSample by Gather and weighted sums",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_gridsample,
    .rewrite = lower,
};
