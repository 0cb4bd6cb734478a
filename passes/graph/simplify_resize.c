/*
 * simplify-resize: replace resizing from one element by Broadcast, and to the
 * same size by the operand.
 *
 *     %y = ResizeBilinear(%x : [1, 1, 1, 8]) {Scale: [1.0, 7.0, 7.0, 1.0]}
 *         =>
 *     %y = Broadcast(%x) {Axis: 0, TargetDim: [1, 7, 7, 8]}
 *
 * Source positions are clamped to the input; on an axis of one element all
 * modes read this element, since weights sum to 1.  An axis of Scale 1 whose
 * size stays is unchanged.  If all axes are of these two kinds, no
 * interpolation remains, but a Broadcast, which other passes can match, or the
 * operand.
 *
 * Cropped regions (tf_crop_and_resize) may extend beyond the input and are left
 * alone.  Segmentation networks resize the result of global pooling; exporters
 * write resizing by 1 for models that were designed for another size.  Glow
 * builds Tiles, and only for the axes of images.
 */

#include "glow/ops.h"
#include "glow/pass.h"

/* True if every axis keeps its size, or has one element in the operand. */
static bool
is_repeated(const glow_node *n, glow_floats scale)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;

    for (int i = 0; i < x.rank; i++)
        if (x.at[i] != 1 && !(x.at[i] == y.at[i] && scale.at[i] == 1))
            return false;
    return true;
}

static glow_value *
visit(glow_builder *b, glow_node *n)
{
    const glow_resize *r = GLOW_AS(resize, n);
    const glow_grid *g = glow_is(n, &glow_op_resizebilinear) ||
                                 glow_is(n, &glow_op_resizenearest)
                             ? n->attrs
                             : NULL;

    if (n->pred || !(r || g) ||
        (r && r->coordinates == GLOW_COORD_TF_CROP_AND_RESIZE) ||
        !is_repeated(n, r ? r->scale : g->scale))
        return NULL;
    if (n->in[0]->type == n->out[0]->type)
        return n->in[0];
    return GLOW_BUILD(b, broadcast, GLOW_IN(n->in[0]), .axis = 0,
                      .target_dim = n->out[0]->type->shape);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_op *const ops[] = {
        &glow_op_resize,
        &glow_op_resizebilinear,
        &glow_op_resizenearest,
    };
    glow_result result = GLOW_UNCHANGED;

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        glow_result r = glow_rewrite(pass, f, ops[i], visit);

        if (r == GLOW_FAILED)
            return r;
        result = r == GLOW_CHANGED ? r : result;
    }
    return result;
}

const glow_pass glow_pass_simplify_resize = {
    .name = "simplify-resize",
    .summary = "replace resizing from one element by Broadcast",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Glow OptimizeResize",
};
