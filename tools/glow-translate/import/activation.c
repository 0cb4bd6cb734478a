/* Import of activations: operators of one tensor, with scalar attributes. */

#include <float.h>

#include "tools/glow-translate/import/import.h"

/*
 * Activations with the attribute alpha; the default is 0.01 for LeakyRelu, else
 * 1.
 */
static bool
with_alpha(import_node *n)
{
    bool leaks = n->row->op == &glow_op_leakyrelu;
    const glow_leakyrelu attrs = {
        .alpha = import_float(n, "alpha", leaks ? 0.01f : 1)};

    import_ignore(n, "consumed_inputs");
    return import_operands(n, 1, 1) &&
           import_done(n, import_build(n, n->row->op, NULL,
                                       GLOW_IN(import_in(n, 0)), &attrs));
}

static bool
hard_sigmoid(import_node *n)
{
    float alpha = import_float(n, "alpha", 0.2f);
    float beta = import_float(n, "beta", 0.5f);

    import_ignore(n, "consumed_inputs");
    return import_operands(n, 1, 1) &&
           import_done(n, BUILD(n, hardsigmoid, GLOW_IN(import_in(n, 0)),
                                .alpha = alpha, .beta = beta));
}

static bool
gelu(import_node *n)
{
    static const char *const words[] = {"none", "tanh", NULL};
    int how = import_word(n, "approximate", "none", words);

    return import_operands(n, 1, 1) &&
           import_done(
               n, BUILD(n, gelu, GLOW_IN(import_in(n, 0)),
                        .approximate = how ? GLOW_GELU_TANH : GLOW_GELU_ERF));
}

/* The defaults had fewer digits up to opset 5. */
static bool
selu(import_node *n)
{
    bool old = n->opset < 6;
    float alpha = import_float(n, "alpha", old ? 1.6732f : 1.67326324f);
    float gamma = import_float(n, "gamma", old ? 1.0507f : 1.05070102f);

    import_ignore(n, "consumed_inputs");
    return import_operands(n, 1, 1) &&
           import_done(n, BUILD(n, selu, GLOW_IN(import_in(n, 0)),
                                .alpha = alpha, .gamma = gamma));
}

/*
 * Integers are converted to float, because the thresholds may have a fraction.
 */
static bool
shrink(import_node *n)
{
    float lambd = import_float(n, "lambd", 0.5f);
    float bias = import_float(n, "bias", 0);
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1))
        return false;

    glow_kind kind = x->type->elem;

    if (!glow_is_float(kind))
        x = import_convert(n, x, GLOW_FLOAT64);
    x = BUILD(n, shrink, GLOW_IN(x), .lambd = lambd, .bias = bias);
    return import_done(n, import_convert(n, x, kind));
}

/* Clip: bounds are attributes up to opset 10, then operands. */

static glow_value *
bound(import_node *n, glow_value *x, int i, const glow_op *op)
{
    glow_value *limit = import_in(n, i);

    return limit ? import_binary(n, op, x, limit) : x;
}

/*
 * Clips to bounds that are attributes, for operands of other kinds than float.
 */
static bool
clip_to_numbers(import_node *n, glow_value *x, float min, float max)
{
    if (import_has(n, "min"))
        x = import_binary_number(n, &glow_op_max, x, (double)min);
    if (import_has(n, "max"))
        x = import_binary_number(n, &glow_op_min, x, (double)max);
    return import_done(n, x);
}

static bool
clip(import_node *n)
{
    bool attrs = n->opset < 11;
    glow_value *x = import_in(n, 0);
    bool known = attrs || ((!import_in(n, 1) || import_is_known(n, 1)) &&
                           (!import_in(n, 2) || import_is_known(n, 2)));
    float min = attrs ? import_float(n, "min", -FLT_MAX) : -FLT_MAX;
    float max = attrs ? import_float(n, "max", FLT_MAX) : FLT_MAX;

    import_ignore(n, "consumed_inputs");
    if (!import_operands(n, 1, attrs ? 1 : 3))
        return false;
    if (attrs && x->type->elem != GLOW_FLOAT)
        return clip_to_numbers(n, x, min, max);
    if (!known || x->type->elem != GLOW_FLOAT) {
        x = bound(n, x, 1, &glow_op_max);
        return import_done(n, bound(n, x, 2, &glow_op_min));
    }
    if (import_in(n, 1))
        min = (float)import_known_number(n, 1);
    if (import_in(n, 2))
        max = (float)import_known_number(n, 2);
    if (n->failed || (!attrs && n->n_in == 1))
        return import_done(n, x);
    /* In ONNX the upper bound decides; Clip requires min <= max. */
    return import_done(n, BUILD(n, clip, GLOW_IN(x),
                                .min = min < max ? min : max, .max = max));
}

/* x * sigmoid(alpha * x) */
static bool
swish(import_node *n)
{
    float alpha = import_float(n, "alpha", 1);
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1))
        return false;
    if (alpha == 1)
        return import_done(n, BUILD_PLAIN(n, swish, GLOW_IN(x)));
    return import_done(
        n, import_binary(n, &glow_op_mul, x,
                         BUILD_PLAIN(n, sigmoid,
                                     GLOW_IN(import_binary_number(
                                         n, &glow_op_mul, x, (double)alpha)))));
}

/* The slope is broadcast to the operand, but not the other way round. */
static bool
prelu(import_node *n)
{
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 2, 2))
        return false;

    glow_value *slope = import_in(n, 1);
    glow_dims shape = x->type->shape;

    /* Before opset 7 a list of slopes belonged to the channels. */
    if (n->opset < 7 && slope->type->shape.rank == 1 && shape.rank > 2) {
        glow_dims to = {.rank = shape.rank - 1};

        for (int i = 0; i < to.rank; i++)
            to.at[i] = i ? 1 : glow_dims_count(slope->type->shape);
        slope = import_reshape(n, slope, to);
    }
    slope = import_broadcast(n, slope, shape);
    return import_done(n, BUILD_PLAIN(n, prelu, GLOW_IN(x, slope)));
}

const import_row import_activation_rows[] = {
    {"Celu", 12, 0, with_alpha, &glow_op_celu, "floats"},
    {"Clip", 1, 0, clip, &glow_op_clip,
     "numbers; bounds are operands since opset 11, and may be computed"},
    {"Elu", 1, 0, with_alpha, &glow_op_elu, "floats"},
    {"Gelu", 1, 0, gelu, &glow_op_gelu,
     "floats; before opset 20 as ONNX Runtime takes it"},
    {"HardSigmoid", 1, 0, hard_sigmoid, &glow_op_hardsigmoid, "floats"},
    {"HardSwish", 14, 0, import_unary, &glow_op_hardswish, "floats"},
    {"LeakyRelu", 1, 0, with_alpha, &glow_op_leakyrelu, "floats"},
    {"Mish", 18, 0, import_unary, &glow_op_mish, "floats"},
    {"PRelu", 1, 0, prelu, &glow_op_prelu,
     "numbers; the slope is broadcast to the operand, not the other way round"},
    {"Relu", 1, 0, import_unary, &glow_op_relu, "numbers"},
    {"Selu", 1, 0, selu, &glow_op_selu, "floats"},
    {"Shrink", 9, 0, shrink, &glow_op_shrink,
     "any; all but floats are compared as float64"},
    {"Sigmoid", 1, 0, import_unary, &glow_op_sigmoid, "floats"},
    {"Softplus", 1, 0, import_unary, &glow_op_softplus, "floats"},
    {"Softsign", 1, 0, import_unary, &glow_op_softsign, "floats"},
    {"Swish", 24, 0, swish, &glow_op_swish,
     "floats; where alpha is not 1, a Mul by a Sigmoid"},
    {"Tanh", 1, 0, import_unary, &glow_op_tanh, "floats"},
    {"ThresholdedRelu", 1, 0, with_alpha, &glow_op_thresholdedrelu, "floats"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
