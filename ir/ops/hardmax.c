/* Hardmax: 1 at the first maximum along an axis, 0 elsewhere. */

#include "ir/ops/common.h"

static bool
hardmax_infer(const glow_node *n, glow_type out[])
{
    const glow_hardmax *h = n->attrs;

    return glow_admit_real(n, 0, GLOW_ANY_FLOAT) &&
           glow_check_axis(n, "Axis", h->axis, 0) &&
           glow_give_real(n, n->in[0]->type->shape, &out[0]);
}

/* The position of the first maximum of `size` elements, `step` apart. */
static int64_t
greatest(const glow_tensor *t, int64_t at, int64_t step, int64_t size)
{
    int64_t best = at;

    for (int64_t i = 1; i < size; i++)
        if (glow_beats(glow_get_double(t, at + i * step),
                       glow_get_double(t, best)))
            best = at + i * step;
    return best;
}

static bool
hardmax_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    const glow_hardmax *h = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t size = x.at[h->axis], count = glow_tensor_count(in[0]);
    int64_t step = glow_dims_product(x, h->axis + 1, x.rank);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i / (size * step) * (size * step) + i % step;

        if (i / step % size)
            continue;

        int64_t best = greatest(in[0], at, step, size);

        for (int64_t k = 0; k < size; k++)
            glow_store(out[0], at + k * step, 1,
                       &(double){at + k * step == best});
    }
    return true;
}

const glow_op glow_op_hardmax = {
    .name = "Hardmax",
    .summary = "1 at the greatest element along an axis, else 0",
    .in = {{"Input", GLOW_TENSOR, "x: floats or quantized"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD(glow_hardmax, axis, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_DISCONTINUOUS,
    .infer = hardmax_infer,
    .eval = hardmax_eval,
    .doc = "`y` is 1 at the first of the greatest elements along Axis, where "
           "ArgMax finds it, and 0 elsewhere.",
    .source = "ONNX Hardmax",
};
