/*
 * Activations of ONNX Runtime, separate and fused with a product or a
 * convolution.
 */

#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/ort/ort.h"

glow_value *
ort_add(import_node *n, glow_value *x, glow_value *y)
{
    if (n->failed || !x || !y)
        return x;
    return import_binary(n, &glow_op_add, x,
                         import_broadcast(n, y, x->type->shape));
}

glow_value *
ort_gate(import_node *n, glow_value *x, float alpha)
{
    glow_value *s = x;

    if (n->failed || !x)
        return NULL;
    if (alpha == 1)
        return BUILD_PLAIN(n, swish, GLOW_IN(x));
    s = import_binary_number(n, &glow_op_mul, s, (double)alpha);
    if (n->failed)
        return NULL;
    return import_binary(n, &glow_op_mul, x,
                         BUILD_PLAIN(n, sigmoid, GLOW_IN(s)));
}

bool
ort_check_shape(import_node *n, int i, glow_dims want)
{
    glow_dims have = import_shape(import_in(n, i));
    glow_buf text = {.arena = import_arena(n)};
    bool fits = have.rank == want.rank;

    if (n->failed)
        return false;
    if (!import_in(n, i))
        return true;
    for (int k = 0; k < want.rank && fits; k++)
        fits = want.at[k] < 0 || have.at[k] == want.at[k];
    if (fits)
        return true;
    glow_buf_dims(&text, have);
    glow_buf_puts(&text, ", but must be ");
    for (int k = 0; k < want.rank; k++)
        glow_buf_puts(&text,
                      glow_arena_printf(import_arena(n),
                                        want.at[k] < 0 ? "%sany" : "%s%" PRId64,
                                        k ? " x " : "", want.at[k]));
    return import_refuse(n, "E0711", "the shape of operand %d is %s", i,
                         text.text);
}

bool
ort_check_rank(import_node *n, int i, int rank)
{
    int have = import_shape(import_in(n, i)).rank;

    if (n->failed)
        return false;
    return !import_in(n, i) || have == rank ||
           import_refuse(n, "E0711",
                         "the rank of operand %d is %d, but must be %d", i,
                         have, rank);
}

/* Fused activations, with their defaults. */

typedef struct activation {
    const char *name;
    const glow_op *op;
    int count; /* of parameters */
    float otherwise[2];
} activation;

static const activation activations[] = {
    {"Celu", &glow_op_celu, 1, {1, 0}},
    {"Clip", &glow_op_clip, 2, {-FLT_MAX, FLT_MAX}},
    {"Elu", &glow_op_elu, 1, {1, 0}},
    {"Gelu", &glow_op_gelu, 0, {0, 0}},
    {"HardSigmoid", &glow_op_hardsigmoid, 2, {0.2f, 0.5f}},
    {"HardSwish", &glow_op_hardswish, 0, {0, 0}},
    {"LeakyRelu", &glow_op_leakyrelu, 1, {0.01f, 0}},
    {"Relu", &glow_op_relu, 0, {0, 0}},
    {"Selu", &glow_op_selu, 2, {1.67326324f, 1.05070102f}},
    {"Sigmoid", &glow_op_sigmoid, 0, {0, 0}},
    {"Softplus", &glow_op_softplus, 0, {0, 0}},
    {"Softsign", &glow_op_softsign, 0, {0, 0}},
    {"Tanh", &glow_op_tanh, 0, {0, 0}},
    {"ThresholdedRelu", &glow_op_thresholdedrelu, 1, {1, 0}},
};

static const activation *
find_activation(import_node *n, const char *name)
{
    glow_buf all = {.arena = import_arena(n)};

    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        if (strcmp(activations[i].name, name) == 0)
            return &activations[i];
        glow_buf_printf(&all, "%s%s", i ? ", " : "", activations[i].name);
    }
    import_refuse(n, "E0705", "activation '%s' is not supported, but %s", name,
                  all.text);
    return NULL;
}

glow_value *
ort_activate(import_node *n, glow_value *x, const float *given, int count)
{
    const char *name = import_string(n, "activation", "");
    const activation *a = *name ? find_activation(n, name) : NULL;
    float p[2];

    if (n->failed || !x || !a)
        return x;
    if (count > a->count) {
        import_refuse(n, "E0710",
                      "the activation has %d parameters, but %s takes %d",
                      count, name, a->count);
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        p[i] = i < count ? given[i] : a->otherwise[i];
    if (a->op == &glow_op_clip)
        return BUILD(n, clip, GLOW_IN(x), .min = p[0] < p[1] ? p[0] : p[1],
                     .max = p[1]);
    if (a->op == &glow_op_selu)
        return BUILD(n, selu, GLOW_IN(x), .alpha = p[0], .gamma = p[1]);
    if (a->op == &glow_op_gelu)
        return BUILD(n, gelu, GLOW_IN(x), .approximate = GLOW_GELU_ERF);
    if (a->count == 0)
        return import_build(n, a->op, NULL, GLOW_IN(x), NULL);
    return import_build(n, a->op, NULL, GLOW_IN(x),
                        &(const glow_hardsigmoid){.alpha = p[0], .beta = p[1]});
}

/* Separate operators. */

static bool
gelu_of(import_node *n, int most, int how)
{
    glow_value *x;

    if (!import_operands(n, most > 1 && how == GLOW_GELU_ERF ? 2 : 1, most))
        return false;
    x = ort_add(n, import_in(n, 0), import_in(n, 1));
    return import_done(n, BUILD(n, gelu, GLOW_IN(x), .approximate = how));
}

static bool
gelu(import_node *n)
{
    return gelu_of(n, 1, GLOW_GELU_ERF);
}

static bool
bias_gelu(import_node *n)
{
    return gelu_of(n, 2, GLOW_GELU_ERF);
}

static bool
fast_gelu(import_node *n)
{
    return gelu_of(n, 2, GLOW_GELU_TANH);
}

static bool
quick_gelu(import_node *n)
{
    float alpha = import_float(n, "alpha", 1.702f);

    return import_operands(n, 1, 1) &&
           import_done(n, ort_gate(n, import_in(n, 0), alpha));
}

static bool
bias_add(import_node *n)
{
    return import_operands(n, 3, 3) &&
           import_done(n,
                       ort_add(n, ort_add(n, import_in(n, 0), import_in(n, 1)),
                               import_in(n, 2)));
}

/* BiasSplitGelu: the first half of the last axis, times Gelu of the second. */
static bool
bias_split_gelu(import_node *n)
{
    glow_value *x, *gate;
    int last;
    int64_t half;

    if (!import_operands(n, 2, 2))
        return false;
    x = ort_add(n, import_in(n, 0), import_in(n, 1));
    last = import_shape(x).rank - 1;
    if (n->failed || last < 0 || x->type->shape.at[last] % 2 != 0)
        return import_refuse(n, "E0711",
                             "the last axis of the operand is not even");
    half = x->type->shape.at[last] / 2;
    gate = import_cut(n, x, last, half, half);
    x = import_cut(n, x, last, 0, half);
    gate = BUILD(n, gelu, GLOW_IN(gate), .approximate = GLOW_GELU_ERF);
    return import_done(n, import_binary(n, &glow_op_mul, x, gate));
}

const import_row import_ort_activation_rows[] = {
    {"com.microsoft.BiasAdd", 1, 0, bias_add, &glow_op_add, "floats"},
    {"com.microsoft.BiasGelu", 1, 0, bias_gelu, &glow_op_gelu, "floats"},
    {"com.microsoft.BiasSplitGelu", 1, 0, bias_split_gelu, &glow_op_gelu,
     "floats; the first half, times Gelu of the second"},
    {"com.microsoft.FastGelu", 1, 0, fast_gelu, &glow_op_gelu,
     "floats; by tanh"},
    {"com.microsoft.Gelu", 1, 0, gelu, &glow_op_gelu, "floats; by erf"},
    {"com.microsoft.QuickGelu", 1, 0, quick_gelu, NULL,
     "floats; x Sigmoid(alpha x)"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
