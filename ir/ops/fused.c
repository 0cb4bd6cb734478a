/*
 * Convolution and FullyConnected with fused epilogue: bias, addend and
 * activation.
 *
 *     y = Activation(sum + Bias + Addend)
 *
 * The result is rounded once.  The sums are the sums of the unfused operators,
 * and an activation is the element-wise operator of that name, so its formula
 * is not repeated here.
 */

#include <string.h>

#include "ir/ops/conv.h"

/* The activations: words of the attribute, and operators. */
#define FOR_EACH_ACTIVATION(X)    \
    X("Celu", celu)               \
    X("Clip", clip)               \
    X("Elu", elu)                 \
    X("Gelu", gelu)               \
    X("HardSigmoid", hardsigmoid) \
    X("HardSwish", hardswish)     \
    X("LeakyRelu", leakyrelu)     \
    X("Mish", mish)               \
    X("Relu", relu)               \
    X("Selu", selu)               \
    X("Sigmoid", sigmoid)         \
    X("SoftPlus", softplus)       \
    X("Softsign", softsign)       \
    X("Swish", swish)             \
    X("Tanh", tanh)               \
    X("ThresholdedRelu", thresholdedrelu)

#define WORD(word, op) word,
#define OP(word, op) &glow_op_##op,

static const char *const words[] = {"none", FOR_EACH_ACTIVATION(WORD) NULL};
static const glow_op *const ops[] = {NULL, FOR_EACH_ACTIVATION(OP)};

const glow_op *
glow_fused_activation(int activation)
{
    return ops[activation];
}

int
glow_fused_activation_of(const glow_node *n)
{
    for (int i = 1; i < (int)(sizeof ops / sizeof ops[0]); i++)
        if (glow_is(n, ops[i]))
            return i;
    return GLOW_FUSED_NONE;
}

/*
 * Conversion between the arguments and the attributes of an activation; an enum
 * is passed as its number.
 */

static void *
field_at(const void *attrs, const glow_field *f)
{
    return (char *)(uintptr_t)attrs + f->at;
}

glow_floats
glow_fused_args_of(glow_arena *a, const glow_node *n)
{
    glow_schema s = glow_op_schema(n->op);
    int count = glow_schema_count(s);
    float *at = GLOW_NEW_ARRAY(a, float, count);

    for (int i = 0; i < count; i++) {
        const void *field = field_at(n->attrs, &s.fields[i]);

        at[i] = s.fields[i].kind == GLOW_ENUM ? (float)*(const int *)field
                                              : *(const float *)field;
    }
    return (glow_floats){count, at};
}

const void *
glow_fused_attrs(glow_arena *a, int activation, glow_floats args)
{
    glow_schema s = glow_op_schema(ops[activation]);
    char *attrs = glow_arena_alloc(a, glow_schema_size(s) + 1);

    for (int i = 0; i < glow_schema_count(s); i++) {
        void *field = field_at(attrs, &s.fields[i]);

        if (s.fields[i].kind == GLOW_ENUM)
            *(int *)field = (int)args.at[i];
        else
            *(float *)field = args.at[i];
    }
    return attrs;
}

/* True if each argument for an enum is the number of one of its words. */
static bool
check_words(const glow_node *n, glow_schema s, glow_floats args)
{
    for (int i = 0; i < args.count; i++) {
        int count = 0;

        if (s.fields[i].kind != GLOW_ENUM)
            continue;
        while (s.fields[i].words[count])
            count++;
        for (int k = 0; k < count; k++)
            if (args.at[i] == (float)k)
                count = -1;
        if (count >= 0)
            return glow_reject(n,
                               "ActivationArgs[%d] is %g, but must be the "
                               "number of one of %d words",
                               i, (double)args.at[i], count);
    }
    return true;
}

/*
 * Checks the activation by the infer of its operator, with Input as its
 * operand.
 */
static bool
check_activation(const glow_node *n, int activation, glow_floats args)
{
    const glow_op *op = ops[activation];
    int want = op ? glow_schema_count(glow_op_schema(op)) : 0;

    if (args.count != want)
        return glow_reject(
            n, "ActivationArgs has %" PRId64 " elements, but %s takes %d",
            args.count, words[activation], want);
    if (!op)
        return true;
    if (!check_words(n, glow_op_schema(op), args))
        return false;

    glow_arena *scratch = glow_arena_new();
    glow_node act = *n;
    glow_type y = {0};

    act.op = op;
    act.attrs = glow_fused_attrs(scratch, activation, args);
    act.n_in = 1;

    bool ok = op->infer(&act, &y);

    glow_arena_free(scratch);
    return ok;
}

static bool
check_addend(const glow_node *n, const glow_type *type)
{
    int64_t want = glow_dims_count(type->shape), count;

    if (!n->in[3])
        return true;
    if (!glow_check_kinds(n, 3, 0))
        return false;
    count = glow_type_count(n->in[3]->type);
    return count == want ||
           glow_reject(n,
                       "Addend has %" PRId64 " elements, but Result has "
                       "%" PRId64,
                       count, want);
}

/* Evaluation: the sums as doubles, then the epilogue, a chunk at a time. */

static void
add(const glow_tensor *sum, const glow_tensor *addend)
{
    int64_t count = glow_tensor_count(sum);
    double *x = sum->data, y[GLOW_CHUNK];

    for (int64_t i = 0; addend && i < count; i += GLOW_CHUNK) {
        int64_t m = count - i < GLOW_CHUNK ? count - i : GLOW_CHUNK;

        glow_load(addend, i, m, y);
        for (int64_t j = 0; j < m; j++)
            x[i + j] += y[j];
    }
}

static bool
activate(const glow_node *n, int activation, glow_floats args, glow_tensor *sum,
         glow_tensor *out, glow_arena *scratch)
{
    glow_node act = *n;

    if (!ops[activation]) {
        glow_store(out, 0, glow_tensor_count(out), sum->data);
        return true;
    }
    act.op = ops[activation];
    act.attrs = glow_fused_attrs(scratch, activation, args);
    return act.op->eval(&act, &sum, &out, scratch);
}

/* A tensor of doubles of the shape of `out`; its type is stored in `type`. */
static glow_tensor
sums_for(const glow_tensor *out, glow_type *type)
{
    *type = glow_type_of(GLOW_FLOAT64, out->type->shape);
    return glow_tensor_new(type);
}

/* fusedconvolution */

glow_convolution
glow_fused_convolution_of(const glow_fusedconvolution *f)
{
    return (glow_convolution){f->kernels, f->strides, f->pads, f->group,
                              f->dilation};
}

static bool
fusedconvolution_infer(const glow_node *n, glow_type out[])
{
    const glow_fusedconvolution *f = n->attrs;
    glow_convolution c = glow_fused_convolution_of(f);

    return glow_convolution_infer(n, &c, out) && check_addend(n, &out[0]) &&
           check_activation(n, f->activation, f->activation_args);
}

static bool
fusedconvolution_eval(const glow_node *n, glow_tensor *const in[],
                      glow_tensor *const out[], glow_arena *scratch)
{
    const glow_fusedconvolution *f = n->attrs;
    glow_convolution c = glow_fused_convolution_of(f);
    glow_type type;
    glow_tensor sum = sums_for(out[0], &type);

    glow_convolve(&c, in, &sum, NULL);
    add(&sum, in[3]);

    bool ok =
        activate(n, f->activation, f->activation_args, &sum, out[0], scratch);

    glow_tensor_end(&sum);
    return ok;
}

#define ACTIVATION_FIELDS(type)                                          \
    GLOW_FIELD_ENUM(type, activation, words,                             \
                    "what the sum goes through: an operator"),           \
        GLOW_FIELD_DEFAULT(type, activation_args, GLOW_FLOATS,           \
                           "the attributes of that operator, in order; " \
                           "of a word, its number")

const glow_op glow_op_fusedconvolution = {
    .name = "FusedConvolution",
    .summary = "a convolution, an addend and an activation in one",
    .in = {{"Input", GLOW_TENSOR, "x, as of Convolution"},
           {"Filter", GLOW_TENSOR, "f, as of Convolution"},
           {"Bias", GLOW_OPTIONAL, "b, of shape [O]"},
           {"Addend", GLOW_OPTIONAL, "a, of as many elements as Result"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, spatial.., O]"}},
    .attrs = {GLOW_FIELD(glow_fusedconvolution, kernels, GLOW_DIMS,
                         "as of Convolution"),
              GLOW_FIELD(glow_fusedconvolution, strides, GLOW_DIMS,
                         "as of Convolution"),
              GLOW_FIELD(glow_fusedconvolution, pads, GLOW_DIMS,
                         "as of Convolution"),
              GLOW_FIELD(glow_fusedconvolution, group, GLOW_INT64,
                         "as of Convolution"),
              GLOW_FIELD_DEFAULT(glow_fusedconvolution, dilation, GLOW_DIMS,
                                 "as of Convolution"),
              ACTIVATION_FIELDS(glow_fusedconvolution)},
    .defaults = &(const glow_fusedconvolution){.activation = GLOW_FUSED_NONE},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = fusedconvolution_infer,
    .eval = fusedconvolution_eval,
    .flops = glow_convolution_flops,
    .doc = "`y = Activation(Convolution(x, f, b) + a)`, rounded once.",
    .source = "Glow Convolution with FusedActivation; ONNX Runtime FusedConv",
};

/* fusedfullyconnected */

static bool
fusedfullyconnected_infer(const glow_node *n, glow_type out[])
{
    const glow_fusedfullyconnected *f = n->attrs;

    return glow_connection_infer(n, f->axis, out) && check_addend(n, &out[0]) &&
           check_activation(n, f->activation, f->activation_args);
}

static bool
fusedfullyconnected_eval(const glow_node *n, glow_tensor *const in[],
                         glow_tensor *const out[], glow_arena *scratch)
{
    const glow_fusedfullyconnected *f = n->attrs;
    glow_type type;
    glow_tensor sum = sums_for(out[0], &type);

    glow_connect(in, &sum);
    add(&sum, in[3]);

    bool ok =
        activate(n, f->activation, f->activation_args, &sum, out[0], scratch);

    glow_tensor_end(&sum);
    return ok;
}

const glow_op glow_op_fusedfullyconnected = {
    .name = "FusedFullyConnected",
    .summary = "a product with weights, an addend and an activation in one",
    .in = {{"Input", GLOW_TENSOR, "x, as of FullyConnected"},
           {"Weights", GLOW_TENSOR, "w, of shape [K, N]"},
           {"Bias", GLOW_OPTIONAL, "b, of shape [N]"},
           {"Addend", GLOW_OPTIONAL, "a, of as many elements as Result"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [M, N]"}},
    .attrs = {GLOW_FIELD(glow_fusedfullyconnected, axis, GLOW_INT,
                         "as of FullyConnected"),
              ACTIVATION_FIELDS(glow_fusedfullyconnected)},
    .defaults =
        &(const glow_fusedfullyconnected){.activation = GLOW_FUSED_NONE},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = fusedfullyconnected_infer,
    .eval = fusedfullyconnected_eval,
    .flops = glow_connection_flops,
    .doc = "`y = Activation(x w + b + a)`, rounded once.",
    .source = "ONNX Runtime FusedGemm",
};
