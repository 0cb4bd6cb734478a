/*
 * demo.Scale: every element times one number.
 *
 *     %y = demo.Scale(%x) {Factor: 0.5} : float<2 x 3>
 *
 * An accelerator that scales while it copies would want to know the number at
 * compile time, rather than read a tensor that holds it in every element.
 */

#include "demo.h"

static bool
infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[0]->type;

    if (!glow_is_float(x->elem))
        return glow_reject(n,
                           "Input has elements of %s, which is no float kind",
                           glow_kind_get(x->elem)->name);
    out[0] = glow_type_of(x->elem, x->shape);
    return true;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const demo_scale *s = n->attrs;
    int64_t count = glow_type_count(out[0]->type);

    (void)scratch;
    for (int64_t i = 0; i < count; i++)
        glow_set_double(out[0], i,
                        glow_get_double(in[0], i) * (double)s->factor);
    return true;
}

const glow_op demo_op_scale = {
    .name = "demo.Scale",
    .summary = "multiply every element by one number",
    .in = {{"Input", GLOW_TENSOR, "the tensor"}},
    .out = {{"Result", GLOW_TENSOR, "Input times Factor"}},
    .attrs = {GLOW_FIELD(demo_scale, factor, GLOW_FLOAT32, "the number")},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = infer,
    .eval = eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`Result[i] = Input[i] * Factor`, rounded once.",
    .source = "this file",
};
