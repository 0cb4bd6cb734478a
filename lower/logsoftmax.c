/*
 * lower-logsoftmax: write the formula out.
 *
 *     %y = LogSoftMax(%x) {Axis: a}
 *         =>
 *     %d = %x - [BatchedReduceMax(%x) {Axes: [a]}]      [..]: Broadcast to %x
 *     %y = %d - [Log(BatchedReduceAdd(Exp(%d)) {Axes: [a]})]
 *
 * The maximum is subtracted first, so that no exponential overflows.
 */

#include "lower/common.h"

/* A reduced value `v`, broadcast along `axis` to `shape`. */
static glow_value *
spread(glow_builder *b, glow_value *v, int axis, glow_dims shape)
{
    glow_dims one = shape;

    one.at[axis] = 1;
    return glow_lower_spread(b, glow_build_reshape(b, v, one), 0, shape);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_logsoftmax *s = n->attrs;
    glow_value *x = n->in[0];
    glow_dims shape = x->type->shape, axes = GLOW_DIMS_OF(s->axis);
    glow_value *max = GLOW_BUILD(b, batchedreducemax, GLOW_IN(x), .axes = axes);
    glow_value *d = glow_build_sub(b, x, spread(b, max, s->axis, shape));
    glow_value *sum = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(d));

    sum = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(sum), .axes = axes);
    sum = glow_build_log(b, sum);
    return glow_build_sub(b, d, spread(b, sum, s->axis, shape));
}

const glow_pass glow_pass_lower_logsoftmax = {
    .name = "lower-logsoftmax",
    .summary = "express LogSoftMax by exponentials, their sum and its Log",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_logsoftmax,
    .rewrite = lower,
};
