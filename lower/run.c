/*
 * lower-run: inline the function of a Run.
 *
 *     %r = Run(%x) {Body: @part0, Device: "npu"}   =>   the nodes of @part0, of %x
 *
 * A backend that does not call functions of other devices computes the network as it
 * was before partition.
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_arena *a = n->func->module->arena;
    const glow_func *body = glow_called(n, 0);
    glow_value **out = GLOW_NEW_ARRAY(a, glow_value *, n->n_out);

    if (n->pred || body->is_program || (n->func->scheduled && !body->scheduled))
        return NULL;
    glow_inline(n, body, n->in, out);
    for (int i = 0; i < n->n_out; i++)
        glow_builder_replace(b, n, i, out[i]);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_run = {
    .name = "lower-run",
    .summary = "inline the functions of Runs",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_run,
    .rewrite = lower,
    .takes_quantized = true,
};
