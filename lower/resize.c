/*
 * lower-resize: gather and sum, axis by axis.
 *
 *     %y = Resize(%x) {..}
 *         =>
 *     %g = Gather([%x], from) {Axis: 1}        [%x]: [before, n, rest]
 *     %w = [%g] * Broadcast(weights)           [%g]: [before, taps, m, rest]
 *     %y = BatchedReduceAdd(%w) {Axes: [1]}
 *
 * for each axis that changes; `from` and `weights` are constants.  The nearest
 * element is one tap of weight 1: the Gather suffices.  Elements outside of a
 * cropped Input are replaced at the end:
 *
 *     %y = Select(Broadcast(outside), Splat(extrapolation), %v)
 */

#include "lower/sample.h"

static glow_value *
extrapolate(glow_builder *b, glow_value *x, int axis, const glow_samples *s,
            float value)
{
    glow_context *ctx = glow_builder_context(b);
    glow_type type = glow_type_of(GLOW_BOOL, GLOW_DIMS_OF(s->count));
    glow_value *v = glow_build_constant(b, "outside", glow_type_get(ctx, type));

    if (!v || !x)
        return NULL;
    for (int64_t i = 0; i < s->count; i++)
        glow_set_int(&v->storage->tensor, i, s->outside[i]);
    v = glow_lower_spread(b, v, axis, x->type->shape);
    return GLOW_BUILD_PLAIN(
        b, select, GLOW_IN(v, glow_lower_splat(b, x->type, (double)value), x));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_resize *r = n->attrs;
    glow_value *v = n->in[0];
    glow_dims x = v->type->shape, y = n->out[0]->type->shape;
    glow_samples s[GLOW_MAX_RANK];

    if (glow_type_count(n->out[0]->type) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    for (int i = 0; i < x.rank; i++)
        s[i] = glow_resize_samples(r, x, y, i, glow_builder_scratch(b));
    for (int i = 0; i < x.rank && v; i++)
        if (s[i].taps > 0)
            v = glow_lower_sum_axis(b, v, i, &s[i],
                                    r->mode == GLOW_RESIZE_NEAREST);
    for (int i = 0; i < x.rank && v; i++)
        if (s[i].outside)
            v = extrapolate(b, v, i, &s[i], r->extrapolation);
    if (v && v->type != n->out[0]->type)
        v = GLOW_BUILD_PLAIN(b, copy, GLOW_IN(v));
    return v;
}

const glow_pass glow_pass_lower_resize = {
    .name = "lower-resize",
    .summary = "express Resize by Gather and weighted sums",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_resize,
    .rewrite = lower,
    .takes_quantized = true,
};
