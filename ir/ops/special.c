/* Operators on infinities and NaN. */

#include <math.h>

#include "ir/ops/apply.h"

static bool
test_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_ANY_FLOAT) &&
           glow_give(n, glow_rekinded(n->in[0]->type, GLOW_BOOL), &out[0]);
}

static double
real_isnan(double x)
{
    return isnan(x);
}

static bool
isnan_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    return glow_apply(in[0], out[0], real_isnan, NULL);
}

const glow_op glow_op_isnan = {
    .name = "IsNaN",
    .summary = "which elements are no numbers",
    .in = {{"Input", GLOW_TENSOR, "x: floats"}},
    .out = {{"Result", GLOW_TENSOR, "bools"}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = test_infer,
    .eval = isnan_eval,
    .doc = "`y` is whether `x` is NaN.",
    .source = "Glow IsNaN; ONNX IsNaN",
};

static double
real_isinf(double x, const void *user)
{
    const glow_isinf *a = user;

    return isinf(x) && (signbit(x) ? a->detect_negative : a->detect_positive);
}

static bool
isinf_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    (void)scratch;
    return glow_apply_with(in[0], out[0], real_isinf, NULL, n->attrs);
}

const glow_op glow_op_isinf = {
    .name = "IsInf",
    .summary = "which elements are infinite",
    .in = {{"Input", GLOW_TENSOR, "x: floats"}},
    .out = {{"Result", GLOW_TENSOR, "bools"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_isinf, detect_negative, GLOW_FLAG,
                                 "-inf counts"),
              GLOW_FIELD_DEFAULT(glow_isinf, detect_positive, GLOW_FLAG,
                                 "inf counts")},
    .defaults =
        &(const glow_isinf){.detect_negative = true, .detect_positive = true},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = test_infer,
    .eval = isinf_eval,
    .doc = "`y` is whether `x` is an infinity that counts.",
    .source = "ONNX IsInf",
};

/* replacenan */

static bool
replacenan_infer(const glow_node *n, glow_type out[])
{
    return glow_apply_infer(n, out, GLOW_ANY_FLOAT);
}

static double
real_replacenan(double x, const void *user)
{
    const double *value = user;

    return isnan(x) ? *value : x;
}

static bool
replacenan_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    const glow_replacenan *r = n->attrs;
    double value = (double)r->value;

    (void)scratch;
    return glow_apply_with(in[0], out[0], real_replacenan, NULL, &value);
}

const glow_op glow_op_replacenan = {
    .name = "ReplaceNaN",
    .summary = "put a number where there is none",
    .in = {{"Input", GLOW_TENSOR, "x: floats or quantized"}},
    .out = {{"Result", GLOW_TENSOR, GLOW_REAL_RESULT}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_replacenan, value, GLOW_FLOAT32,
                                 "what NaN becomes")},
    .defaults = &(const glow_replacenan){.value = 0},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE,
    .infer = replacenan_infer,
    .eval = replacenan_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y` is Value, as Splat makes it, where `x` is NaN, else `x`.",
    .source = "Glow ReplaceNaN",
};
