/*
 * fold-reshape: merge chains of reshapes.
 *
 *     %y = Reshape(%x)
 *     %z = Reshape(%y) {Dims: d}            =>  %z = Reshape(%x) {Dims: d}
 *
 *     %y = Splat() {Value: v}
 *     %z = Reshape(%y) {Dims: d}            =>  %z = Splat() {Value: v}
 *
 *     %z = Transpose(%x), which only moves
 *          axes of size 1                   =>  %z = Reshape(%x)
 *
 * A reshape keeps the elements in row-major order, so only the last shape of a
 * chain matters.  A transpose that keeps the order of the axes of more than one
 * element keeps this order too.  A reshape to the shape of its operand is
 * dropped.  Afterwards no reshape reads from a reshape or a splat, and every
 * transpose moves elements.
 *
 * Such transposes are left behind global pooling, where an importer goes from
 * [N, 1, 1, C] back to [N, C, 1, 1].  As transposes they can still cancel
 * against others, so sink-transpose and fold-transpose come first.
 */

#include "glow/pass.h"
#include "passes/graph/common/axes.h"

/* True if `n` keeps the elements of its operand in row-major order. */
static bool
is_reshape(const glow_node *n)
{
    const glow_transpose *t = GLOW_AS(transpose, n);

    if (t)
        return glow_axes_keep_order(n->in[0]->type->shape, t->shuffle);
    return glow_is(n, &glow_op_reshape);
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    if (!is_reshape(n))
        return NULL;

    glow_value *x = n->in[0];
    const glow_splat *splat = GLOW_AS(splat, x->def);

    if (x->type == n->out[0]->type)
        return x;
    if (splat)
        return glow_build(b, &glow_op_splat, n->out[0]->type, NULL, 0, splat);
    if (is_reshape(x->def))
        x = x->def->in[0];
    else if (glow_is(n, &glow_op_reshape))
        return NULL;
    return GLOW_BUILD(b, reshape, GLOW_IN(x), .dims = n->out[0]->type->shape);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, fold);
}

const glow_pass glow_pass_fold_reshape = {
    .name = "fold-reshape",
    .summary = "merge chains of reshapes",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .takes_quantized = true,
    .run = run,
};
