/*
 * npu.lower-dense: say npu.Dense in operators of the library, for other backends.
 *
 *     %y = npu.Dense(%x, %w, %b) {Relu: true}
 *
 *     %f = FullyConnected(%x, %w, %b) {Axis: 1}
 *     =>   %y = Relu(%f)
 */

#include "npu.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const npu_dense *d = n->attrs;
    glow_value *y = GLOW_BUILD(
        b, fullyconnected, GLOW_IN(n->in[0], n->in[1], n->in[2]), .axis = 1);

    return d->relu ? GLOW_BUILD_PLAIN(b, relu, GLOW_IN(y)) : y;
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &npu_op_dense, lower);
}

const glow_pass npu_pass_lower_dense = {
    .name = "npu.lower-dense",
    .summary = "lower npu.Dense to FullyConnected and Relu",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .lowers = &npu_op_dense,
    .run = run,
};
