/*
 * npu.fuse-relu: rectify where the sums are.
 *
 *     %d = npu.Dense(%x, %w, %b)
 *     %y = Relu(%d)   =>   %y = npu.Dense(%x, %w, %b) {Relu: true}
 *
 * if the Relu is the only user of %d.  Some activations are lowered to a Relu, so
 * this runs after lowering.
 */

#include "npu.h"

static glow_value *
fuse(glow_builder *b, glow_node *n)
{
    glow_node *d = n->in[0]->def;
    npu_dense with = {.relu = true};

    if (!glow_is(d, &npu_op_dense) || !glow_has_one_use(n->in[0]))
        return NULL;
    glow_builder_fuses(b, d);
    return glow_build(b, &npu_op_dense, NULL,
                      GLOW_IN(d->in[0], d->in[1], d->in[2]), &with);
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_relu, fuse);
}

const glow_pass npu_pass_fuse_relu = {
    .name = "npu.fuse-relu",
    .summary = "rectify the sums of npu.Dense where they are made",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
