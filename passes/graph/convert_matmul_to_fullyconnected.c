/*
 * convert-matmul-to-fullyconnected: give a product a bias of 0.
 *
 *     %y = MatMul(%x, @w)   =>   %y = FullyConnected(%x, @w, 0) {Axis: 1}
 *
 * For backends that have weights in a separate memory and FullyConnected as
 * their only operator for it; not in any pipeline. recognize-fullyconnected
 * leaves products without a bias as they are.  @w must be a constant.  Adding 0
 * changes -0 to 0, and no other number.  The bias of quantized elements is of i32,
 * in units of the product of the scales.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

static glow_value *
convert(glow_builder *b, glow_node *n)
{
    const glow_type *x = n->in[0]->type, *w = n->in[1]->type;
    bool quantized = glow_is_quantized(w->elem);
    glow_type t = glow_type_of(quantized ? GLOW_INT32Q : w->elem,
                               GLOW_DIMS_OF(w->shape.at[1]));
    glow_value *zero;

    if (n->pred || !(quantized || glow_is_float(w->elem)) ||
        !glow_is_constant_like(n->in[1]))
        return NULL;
    if (quantized)
        t.scale = (float)((double)x->scale * (double)w->scale);
    zero = glow_build_splat(b, "bias",
                            glow_type_get(glow_builder_context(b), t), 0);
    return GLOW_BUILD_STATED(b, fullyconnected,
                             quantized ? n->out[0]->type : NULL,
                             GLOW_IN(n->in[0], n->in[1], zero), .axis = 1);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_matmul, convert);
}

const glow_pass glow_pass_convert_matmul_to_fullyconnected = {
    .name = "convert-matmul-to-fullyconnected",
    .summary = "products by constants to FullyConnected (opt-in)",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .takes_quantized = true,
    .run = run,
    .doc = "For backends that have weights of their own; in no pipeline.",
    .source = "Glow, ConvertMatMulToFullyConnected",
};
