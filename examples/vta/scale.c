/*
 * vta.Scale: a tensor of i8, times a power of two, added to accumulators.
 *
 *     %s = vta.Scale(%x, @w, _)  : i32[S:0.25 O:0]<1 x 8 x 8 x 16>
 *     %t = vta.Scale(%y, @v, %s) : i32[S:0.25 O:0]<1 x 8 x 8 x 16>
 *     %r = vta.Requantize(%t, _) {Shift: 1, Least: 0, Most: 127} : ...
 *
 * is a sum of tensors, whose operands come through the scratchpad of inputs: Weights is
 * one block of 16 by 16, with the factor on its diagonal, for each block of channels.
 */

#include "vta.h"

enum { INPUT, WEIGHTS, SUM };

static bool
infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[INPUT]->type, *w = n->in[WEIGHTS]->type;
    const glow_type *s = n->in[SUM] ? n->in[SUM]->type : NULL;

    if (x->elem != GLOW_INT8Q || x->offset || x->shape.rank != 4 ||
        x->shape.at[3] % VTA_LANES || out[0].elem != GLOW_INT32Q ||
        out[0].offset)
        return glow_reject(n, "Input and Result are i8 and i32 of rank 4, in "
                              "blocks of 16 channels, without offsets");
    if (w->elem != GLOW_INT8Q || w->offset || w->shape.rank != 2 ||
        w->shape.at[0] != VTA_LANES || w->shape.at[1] != VTA_LANES)
        return glow_reject(n, "Weights is i8 of 16 by 16, without offset");
    if (s && (s->elem != GLOW_INT32Q || !glow_dims_equal(s->shape, x->shape)))
        return glow_reject(n, "Sum is not i32 of the shape of Input");
    if (s)
        out[0] = *s;
    out[0].shape = x->shape;
    out[0].strides.rank = 0;
    return true;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const int8_t *x = in[INPUT]->data, *w = in[WEIGHTS]->data;
    const int32_t *s = in[SUM] ? in[SUM]->data : NULL;
    int32_t *y = out[0]->data;

    (void)n, (void)scratch;
    for (int64_t i = 0; i < glow_type_count(out[0]->type); i += VTA_LANES)
        for (int64_t l = 0; l < VTA_LANES; l++) {
            int32_t sum = s ? s[i + l] : 0;

            for (int64_t k = 0; k < VTA_LANES; k++)
                sum += x[i + k] * w[l * VTA_LANES + k];
            y[i + l] = sum;
        }
    return true;
}

static bool
tile(const glow_node *n, glow_tiling *t)
{
    vta_tile_result(n, t, t->out);
    for (int d = 0; d < 4; d++)
        t->in[INPUT][d] = t->in[SUM][d] = t->out[d];
    t->in[WEIGHTS][0] = t->in[WEIGHTS][1] = GLOW_TILE_ALL;
    t->work = VTA_MACS;
    if (!n->in[SUM])
        t->work +=
            VTA_MACS; /* as long: a pass of the ALU over zeros to begin from */
    return true;
}

const glow_op vta_op_scale = {
    .name = "vta.Scale",
    .summary = "add blocks of 16 channels, each times one block of weights",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C], i8"},
           {"Weights", GLOW_TENSOR, "w, of shape [16, 16], i8"},
           {"Sum", GLOW_OPTIONAL, "s, of the type of Result"}},
    .out = {{"Result", GLOW_TENSOR, "y, of that shape, i32"}},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = infer,
    .eval = eval,
    .inplace = {{0, SUM}},
    .inplace_count = 1,
    .tile = tile,
    .doc = "`y = s + w x` for each block of 16 channels, in 32 bits; without "
           "Sum, s is 0.",
    .source = "this file",
};
