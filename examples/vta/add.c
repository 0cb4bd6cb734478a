/*
 * vta.Add: a sum of two tensors of i8, rescaled and clipped.
 *
 *     %y = vta.Add(%a, %b) {Least: 0, Most: 127} : i8[S:0.5 O:0]<1 x 8 x 8 x 16>
 *
 * The result is round((a 2^i + b 2^j) 2^-shift), ties to even, held to Least .. Most.
 * The scales of a, b and y are powers of two apart.
 */

#include "vta.h"

enum { MOST_UP = 15 }; /* sums of two elements times 2^15 are exact as floats */

bool
vta_add_shifts(const glow_type *a, const glow_type *b, const glow_type *y,
               int up[2], int *shift)
{
    int of[2];

    if (!vta_shift((double)a->scale, (double)y->scale, &of[0]) ||
        !vta_shift((double)b->scale, (double)y->scale, &of[1]))
        return false;
    *shift = of[0] > of[1] ? of[0] : of[1];
    *shift = *shift > 0 ? *shift : 0;
    up[0] = *shift - of[0];
    up[1] = *shift - of[1];
    return up[0] <= MOST_UP && up[1] <= MOST_UP;
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const vta_add *c = n->attrs;
    const glow_type *a = n->in[0]->type, *b = n->in[1]->type;
    int up[2], shift;

    if (a->elem != GLOW_INT8Q || b->elem != GLOW_INT8Q ||
        out[0].elem != GLOW_INT8Q || a->offset || b->offset || out[0].offset)
        return glow_reject(n, "operands and result are i8 without offsets");
    if (!glow_dims_equal(a->shape, b->shape) ||
        glow_dims_count(a->shape) % VTA_LANES)
        return glow_reject(n, "the operands must have one shape, of a multiple "
                              "of 16 elements");
    if (!vta_add_shifts(a, b, &out[0], up, &shift))
        return glow_reject(n,
                           "the scales %g, %g and %g are no powers of two "
                           "apart, or too far from one another",
                           (double)a->scale, (double)b->scale,
                           (double)out[0].scale);
    if (c->least < -128 || c->most > 127 || c->least > c->most)
        return glow_reject(n,
                           "Least and Most are %d and %d, but must be "
                           "elements of i8 in order",
                           c->least, c->most);
    out[0].shape = a->shape;
    out[0].strides.rank = 0;
    return true;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const vta_add *c = n->attrs;
    const int8_t *a = in[0]->data, *b = in[1]->data;
    int8_t *y = out[0]->data;
    int64_t count = glow_type_count(out[0]->type);
    int up[2], shift;

    (void)scratch;
    if (!vta_add_shifts(in[0]->type, in[1]->type, out[0]->type, up, &shift))
        return glow_reject(n, "the scales are no powers of two apart");
    for (int64_t i = 0; i < count; i++) {
        int32_t sum = a[i] * (1 << up[0]) + b[i] * (1 << up[1]);
        int32_t q = vta_round(sum, vta_round_immediate(shift, c->least));

        y[i] = (int8_t)(q > c->most ? c->most : q);
    }
    return true;
}

const glow_op vta_op_add = {
    .name = "vta.Add",
    .summary = "add tensors of i8, rescale and clip",
    .in = {{"A", GLOW_TENSOR, "i8"}, {"B", GLOW_TENSOR, "i8, of that shape"}},
    .out = {{"Result", GLOW_TENSOR, "i8, of that shape"}},
    .attrs = {GLOW_FIELD(vta_add, least, GLOW_INT, "the least element"),
              GLOW_FIELD(vta_add, most, GLOW_INT, "the largest element")},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = infer,
    .eval = eval,
    .doc = "`y = clip(round(2^-shift (2^i a + 2^j b)))`, ties to even, in "
           "integers; the exponents are those of the scales.",
    .source = "this file",
};
