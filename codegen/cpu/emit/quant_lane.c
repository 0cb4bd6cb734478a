/*
 * Code of element-wise operators whose operands or results are quantized: one line
 * each in the table at the end.  The results are the bits of the operator's `eval`.
 */

#include "codegen/cpu/emit/lane.h"
#include "codegen/cpu/emit/quant.h"
#include "glow/ops.h"
#include "glow/quantize.h"

#define SAFE_RATIO 0x1p60 /* times an element it is no infinity */

static const glow_type *
in_type(const glow_node *n, int i)
{
    return n->in[i]->type;
}

static const glow_type *
out_type(const glow_node *n)
{
    return n->out[0]->type;
}

static bool
same_grid(const glow_type *x, const glow_type *y)
{
    return x->elem == y->elem && x->scale == y->scale && x->offset == y->offset;
}

/* Conversions. */

static cg_value
emit_quantize(cg *g, const glow_node *n, cg_value const *in)
{
    return glow_cg_quantize(g, out_type(n), in[0]);
}

static cg_value
emit_dequantize(cg *g, const glow_node *n, cg_value const *in)
{
    return glow_cg_as_real(g, glow_cg_dequantize(g, in_type(n, 0), in[0]),
                           glow_cg_computed(g, out_type(n)));
}

static cg_value
rescale(cg *g, const glow_type *from, const glow_type *to, cg_value q)
{
    bool single = glow_cg_is_short(from) && glow_cg_is_short(to);
    double ratio = (double)from->scale / (double)to->scale;
    cg_value x;

    if (same_grid(from, to))
        return q;
    if (single)
        ratio =
            (double)glow_scale_ratio((double)from->scale, (double)to->scale);
    x = glow_cg_centered(g, from, q, single ? g->f32 : g->f64);
    x = cg_fmul(g, x, glow_cg_real(LLVMTypeOf(x), ratio));
    return ratio < SAFE_RATIO ? glow_cg_round_number(g, to, x)
                              : glow_cg_round_to(g, to, x);
}

static cg_value
emit_rescalequantized(cg *g, const glow_node *n, cg_value const *in)
{
    return rescale(g, in_type(n, 0), out_type(n), in[0]);
}

static const struct {
    const glow_op *op;
    cg_lane_fn emit;
} table[] = {
    {&glow_op_dequantize, emit_dequantize},
    {&glow_op_quantize, emit_quantize},
    {&glow_op_rescalequantized, emit_rescalequantized},
};

cg_lane_fn
glow_cg_quantized_lane(const glow_node *n)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].op == n->op)
            return table[i].emit;
    return NULL;
}
