/*
 * Element-wise operators: most have the same meaning under another name.
 */

#include "tools/glow-translate/export/export.h"
#include "tools/glow-translate/tensor.h"

static glow_kind
kind_of(const glow_node *n)
{
    return n->in[0]->type->elem;
}

/* The same operands, no attributes. */
static bool
plain(exporter *e, const glow_node *n)
{
    const char **in = GLOW_NEW_ARRAY(export_arena(e), const char *, n->n_in);

    for (int i = 0; i < n->n_in; i++)
        in[i] = export_in(e, n, i);
    return export_last(e, n, export_this(e)->name, in, n->n_in);
}

/* ONNX has no operator to round toward zero: sign(x) floor(|x|). */
static bool
truncate(exporter *e, const glow_node *n)
{
    const char *x = export_in(e, n, 0);
    const char *y = export_step(e, n, "Abs", NAMES(x));
    const char *sign = export_step(e, n, "Sign", NAMES(x));

    y = export_step(e, n, "Floor", NAMES(y));
    return export_last(e, n, "Mul", NAMES(y, sign));
}

static bool
rsqrt(exporter *e, const glow_node *n)
{
    const char *x = export_step(e, n, "Sqrt", NAMES(export_in(e, n, 0)));

    return export_last(e, n, "Reciprocal", NAMES(x));
}

/* BitwiseNot is newer than the exported opset: all ones minus x. */
static bool
complement(exporter *e, const glow_node *n)
{
    static const uint64_t ones = UINT64_MAX;
    const glow_type *one = glow_type_get(
        export_context(e), glow_type_of(kind_of(n), (glow_dims){0}));

    return export_last(
        e, n, "Sub",
        NAMES(export_constant(e, n, one, &ones), export_in(e, n, 0)));
}

static bool
bit_shift(exporter *e, const glow_node *n)
{
    const glow_bitshift *s = n->attrs;
    const glow_kind_info *kind = glow_kind_get(kind_of(n));

    if (kind->is_signed)
        return export_refuse(e, n, "BitShift of ONNX takes no %s", kind->name);
    export_last(e, n, "BitShift",
                NAMES(export_in(e, n, 0), export_in(e, n, 1)));
    export_string(e, "direction",
                  s->direction == GLOW_SHIFT_LEFT ? "LEFT" : "RIGHT");
    return true;
}

static bool
not_equal(exporter *e, const glow_node *n)
{
    const char *x = export_step(e, n, "Equal",
                                NAMES(export_in(e, n, 0), export_in(e, n, 1)));

    return export_last(e, n, "Not", NAMES(x));
}

static bool
clip(exporter *e, const glow_node *n)
{
    const glow_clip *c = n->attrs;
    const char *min = export_number(e, n, kind_of(n), c->min);
    const char *max = export_number(e, n, kind_of(n), c->max);

    return export_last(e, n, "Clip", NAMES(export_in(e, n, 0), min, max));
}

/*
 * ConvertTo saturates to integers of up to 16 bits.  ONNX's Cast leaves numbers
 * out of range undefined, so they are clipped before, in float, which
 * represents the bounds.
 */
static const char *
saturated(exporter *e, const glow_node *n, const char *x)
{
    glow_kind from = kind_of(n);
    const glow_kind_info *to = glow_kind_get(n->out[0]->type->elem);
    double span = (double)((int64_t)1 << to->bits);
    double low = to->is_signed ? -span / 2 : 0;

    if (from != GLOW_FLOAT64 && from != GLOW_FLOAT) {
        x = export_cast(e, n, x, GLOW_FLOAT);
        from = GLOW_FLOAT;
    }
    return export_step(e, n, "Clip",
                       NAMES(x, export_number(e, n, from, low),
                             export_number(e, n, from, low + span - 1)));
}

static bool
convert(exporter *e, const glow_node *n)
{
    const glow_kind_info *to = glow_kind_get(n->out[0]->type->elem);
    const char *x = export_in(e, n, 0);

    if (glow_is_float(kind_of(n)) && to->bits <= 16 &&
        (to->klass == GLOW_CLASS_INT ||
         (glow_is_low(n->out[0]->type->elem) && !to->format)))
        x = saturated(e, n, x);
    export_last(e, n, "Cast", NAMES(x));
    export_int(e, "to", tensor_elem_for(n->out[0]->type->elem)->type);
    return true;
}

bool
export_casts_bits(const glow_node *n)
{
    return glow_is(n, &glow_op_bitcast) &&
           tensor_stored_as(n->in[0]->type->elem) !=
               tensor_stored_as(n->out[0]->type->elem);
}

static bool
bit_cast(exporter *e, const glow_node *n)
{
    if (!export_casts_bits(n))
        return export_identity(e, n, 0, export_in(e, n, 0));
    export_last(e, n, "BitCast", NAMES(export_in(e, n, 0)));
    export_int(e, "to", tensor_elem_for(n->out[0]->type->elem)->type);
    return true;
}

static bool
convert_to_float8(exporter *e, const glow_node *n)
{
    static const char *const rounds[] = {"up", "down", "nearest"};
    const glow_converttofloat8 *c = n->attrs;

    export_last(e, n, "Cast", NAMES(export_in(e, n, 0)));
    export_int(e, "to", tensor_elem_for(n->out[0]->type->elem)->type);
    export_int(e, "saturate", c->saturate);
    if (c->round != GLOW_ROUND_UP)
        export_string(e, "round_mode", rounds[c->round]);
    return true;
}

/*
 * x / 2 * (1 + erf(x / sqrt 2)), or with tanh(sqrt(2 / pi) (x + 0.044715 x^3))
 * for erf: Gelu is newer than the exported opset.
 */
static bool
gelu(exporter *e, const glow_node *n)
{
    const glow_gelu *g = n->attrs;
    glow_kind kind = kind_of(n);
    const char *x = export_in(e, n, 0), *y;
    const char *half = export_number(e, n, kind, 0.5);
    const char *one = export_number(e, n, kind, 1);

    if (g->approximate == GLOW_GELU_TANH) {
        const char *a = export_number(e, n, kind, 0.044715);
        const char *b = export_number(e, n, kind, 0.7978845608028654);

        y = export_step(e, n, "Mul", NAMES(x, x));
        y = export_step(e, n, "Mul", NAMES(y, x));
        y = export_step(e, n, "Mul", NAMES(y, a));
        y = export_step(e, n, "Add", NAMES(y, x));
        y = export_step(e, n, "Mul", NAMES(y, b));
        y = export_step(e, n, "Tanh", NAMES(y));
    } else {
        const char *a = export_number(e, n, kind, 0.7071067811865476);

        y = export_step(e, n, "Mul", NAMES(x, a));
        y = export_step(e, n, "Erf", NAMES(y));
    }
    y = export_step(e, n, "Add", NAMES(y, one));
    x = export_step(e, n, "Mul", NAMES(x, half));
    return export_last(e, n, "Mul", NAMES(x, y));
}

static bool
hard_sigmoid(exporter *e, const glow_node *n)
{
    const glow_hardsigmoid *h = n->attrs;

    export_last(e, n, "HardSigmoid", NAMES(export_in(e, n, 0)));
    export_float(e, "alpha", h->alpha);
    export_float(e, "beta", h->beta);
    return true;
}

/* Operators whose only attribute is alpha. */
static bool
with_alpha(exporter *e, const glow_node *n)
{
    const glow_leakyrelu *a = n->attrs;

    export_last(e, n, export_this(e)->name, NAMES(export_in(e, n, 0)));
    export_float(e, "alpha", a->alpha);
    return true;
}

static bool
selu(exporter *e, const glow_node *n)
{
    const glow_selu *s = n->attrs;

    export_last(e, n, "Selu", NAMES(export_in(e, n, 0)));
    export_float(e, "alpha", s->alpha);
    export_float(e, "gamma", s->gamma);
    return true;
}

static bool
shrink(exporter *e, const glow_node *n)
{
    const glow_shrink *s = n->attrs;

    export_last(e, n, "Shrink", NAMES(export_in(e, n, 0)));
    export_float(e, "lambd", s->lambd);
    export_float(e, "bias", s->bias);
    return true;
}

static bool
is_inf(exporter *e, const glow_node *n)
{
    const glow_isinf *a = n->attrs;

    export_last(e, n, "IsInf", NAMES(export_in(e, n, 0)));
    export_int(e, "detect_negative", a->detect_negative);
    export_int(e, "detect_positive", a->detect_positive);
    return true;
}

static bool
rest(exporter *e, const glow_node *n)
{
    bool keeps = n->op == &glow_op_fmod;

    if (!keeps && glow_is_float(kind_of(n)))
        return export_refuse(e, n, "ONNX takes floats only with fmod");
    export_last(e, n, "Mod", NAMES(export_in(e, n, 0), export_in(e, n, 1)));
    export_int(e, "fmod", keeps);
    return true;
}

const export_row export_elementwise_rows[] = {
    {&glow_op_abs, plain, "Abs"},
    {&glow_op_acos, plain, "Acos"},
    {&glow_op_acosh, plain, "Acosh"},
    {&glow_op_add, plain, "Add"},
    {&glow_op_and, plain, "And"},
    {&glow_op_asin, plain, "Asin"},
    {&glow_op_asinh, plain, "Asinh"},
    {&glow_op_atan, plain, "Atan"},
    {&glow_op_atanh, plain, "Atanh"},
    {&glow_op_bitcast, bit_cast, NULL},
    {&glow_op_bitshift, bit_shift, NULL},
    {&glow_op_bitwisenot, complement, NULL},
    {&glow_op_ceil, plain, "Ceil"},
    {&glow_op_celu, with_alpha, "Celu"},
    {&glow_op_clip, clip, NULL},
    {&glow_op_cmpeq, plain, "Equal"},
    {&glow_op_cmplt, plain, "Less"},
    {&glow_op_cmplte, plain, "LessOrEqual"},
    {&glow_op_cmpneq, not_equal, NULL},
    {&glow_op_convertto, convert, NULL},
    {&glow_op_converttofloat8, convert_to_float8, NULL},
    {&glow_op_copy, plain, "Identity"},
    {&glow_op_cos, plain, "Cos"},
    {&glow_op_cosh, plain, "Cosh"},
    {&glow_op_div, plain, "Div"},
    {&glow_op_elu, with_alpha, "Elu"},
    {&glow_op_erf, plain, "Erf"},
    {&glow_op_exp, plain, "Exp"},
    {&glow_op_floor, plain, "Floor"},
    {&glow_op_fmod, rest, NULL},
    {&glow_op_gelu, gelu, NULL},
    {&glow_op_hardsigmoid, hard_sigmoid, NULL},
    {&glow_op_hardswish, plain, "HardSwish"},
    {&glow_op_isinf, is_inf, NULL},
    {&glow_op_isnan, plain, "IsNaN"},
    {&glow_op_leakyrelu, with_alpha, "LeakyRelu"},
    {&glow_op_log, plain, "Log"},
    {&glow_op_max, plain, "Max"},
    {&glow_op_min, plain, "Min"},
    {&glow_op_mod, rest, NULL},
    {&glow_op_mul, plain, "Mul"},
    {&glow_op_neg, plain, "Neg"},
    {&glow_op_not, plain, "Not"},
    {&glow_op_or, plain, "Or"},
    {&glow_op_pow, plain, "Pow"},
    {&glow_op_prelu, plain, "PRelu"},
    {&glow_op_reciprocal, plain, "Reciprocal"},
    {&glow_op_relu, plain, "Relu"},
    {&glow_op_round, plain, "Round"},
    {&glow_op_rsqrt, rsqrt, NULL},
    {&glow_op_select, plain, "Where"},
    {&glow_op_selu, selu, NULL},
    {&glow_op_shrink, shrink, NULL},
    {&glow_op_sigmoid, plain, "Sigmoid"},
    {&glow_op_sign, plain, "Sign"},
    {&glow_op_sin, plain, "Sin"},
    {&glow_op_sinh, plain, "Sinh"},
    {&glow_op_softplus, plain, "Softplus"},
    {&glow_op_softsign, plain, "Softsign"},
    {&glow_op_sqrt, plain, "Sqrt"},
    {&glow_op_sub, plain, "Sub"},
    {&glow_op_tan, plain, "Tan"},
    {&glow_op_tanh, plain, "Tanh"},
    {&glow_op_thresholdedrelu, with_alpha, "ThresholdedRelu"},
    {&glow_op_truncate, truncate, NULL},
    {&glow_op_xor, plain, "Xor"},
    {NULL, NULL, NULL},
};
