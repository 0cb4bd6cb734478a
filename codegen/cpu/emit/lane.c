/*
 * Code of element-wise operators: one line each in the table at the end.
 *
 * The results are those of the operator's `eval`, for floats up to rounding.
 */

#include "codegen/cpu/emit/lane.h"
#include "codegen/cpu/emit/low.h"
#include "codegen/cpu/emit/math.h"
#include "glow/ops.h"

static const glow_type *
kind_of(const glow_node *n)
{
    return n->in[0]->type;
}

static cg_value
zero_like(cg_value v)
{
    return LLVMConstNull(LLVMTypeOf(v));
}

static cg_value
real_like(cg_value v, double x)
{
    return glow_cg_real(LLVMTypeOf(v), x);
}

/* One operand. */

static cg_value
intrinsic1(cg *g, const char *name, cg_value x)
{
    return glow_cg_intrinsic(g, name, &x, 1);
}

static cg_value
emit_neg(cg *g, const glow_node *n, cg_value const *in)
{
    (void)n;
    return glow_cg_is_float(in[0]) ? LLVMBuildFNeg(g->builder, in[0], "")
                                   : LLVMBuildNeg(g->builder, in[0], "");
}

static cg_value
emit_abs(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x = in[0];

    if (glow_cg_is_float(x))
        return intrinsic1(g, "llvm.fabs", x);
    if (!glow_cg_is_signed(kind_of(n)))
        return x;

    cg_value below = cg_icmp(g, LLVMIntSLT, x, zero_like(x));

    return cg_select(g, below, LLVMBuildNeg(g->builder, x, ""), x);
}

static cg_value
emit_relu(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x = in[0], zero = zero_like(x);

    if (glow_cg_is_float(x))
        return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, zero), zero, x);
    if (!glow_cg_is_signed(kind_of(n)))
        return x;
    return cg_select(g, cg_icmp(g, LLVMIntSLT, x, zero), zero, x);
}

static cg_value
emit_relugrad(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value zero = zero_like(in[0]);

    (void)n;
    return cg_select(g, cg_fcmp(g, LLVMRealOGT, in[0], zero), in[1], zero);
}

#define LANE_UNARY(id, expression)                                           \
    static cg_value emit_##id(cg *g, const glow_node *n, cg_value const *in) \
    {                                                                        \
        cg_value x = in[0];                                                  \
        (void)n;                                                             \
        return expression;                                                   \
    }

LANE_UNARY(acos, glow_cg_libm(g, "acos", &x, 1))
LANE_UNARY(acosh, glow_cg_libm(g, "acosh", &x, 1))
LANE_UNARY(asin, glow_cg_libm(g, "asin", &x, 1))
LANE_UNARY(asinh, glow_cg_libm(g, "asinh", &x, 1))
LANE_UNARY(atan, glow_cg_atan(g, x))
LANE_UNARY(atanh, glow_cg_libm(g, "atanh", &x, 1))
LANE_UNARY(ceil, intrinsic1(g, "llvm.ceil", x))
LANE_UNARY(cos, glow_cg_cos(g, x))
LANE_UNARY(cosh, glow_cg_libm(g, "cosh", &x, 1))
LANE_UNARY(erf, glow_cg_erf(g, x))
LANE_UNARY(exp, glow_cg_exp(g, x))
LANE_UNARY(floor, intrinsic1(g, "llvm.floor", x))
LANE_UNARY(log, glow_cg_log(g, x))
LANE_UNARY(not, LLVMBuildNot(g->builder, x, ""))
LANE_UNARY(round, intrinsic1(g, "llvm.rint", x))
LANE_UNARY(sigmoid, glow_cg_sigmoid(g, x))
LANE_UNARY(sin, glow_cg_sin(g, x))
LANE_UNARY(sinh, glow_cg_libm(g, "sinh", &x, 1))
LANE_UNARY(sqrt, intrinsic1(g, "llvm.sqrt", x))
LANE_UNARY(swish, glow_cg_swish(g, x))
LANE_UNARY(tan, glow_cg_libm(g, "tan", &x, 1))
LANE_UNARY(tanh, glow_cg_tanh(g, x))
LANE_UNARY(truncate, intrinsic1(g, "llvm.trunc", x))

static cg_value
emit_convertto(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_type *from = kind_of(n), *to = n->out[0]->type;

    if (glow_is_low(from->elem) || glow_is_low(to->elem))
        return glow_cg_convert_low(g, from, to, in[0], true, GLOW_ROUND_UP);
    return glow_cg_convert(g, from, to, in[0]);
}

static cg_value
emit_converttofloat8(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_converttofloat8 *c = n->attrs;

    return glow_cg_convert_low(g, kind_of(n), n->out[0]->type, in[0],
                               c->saturate, c->round);
}

/* Activations. */

/* Clamps `x` to [lo, hi]; NaN stays. */
static cg_value
clip(cg *g, cg_value x, double lo, double hi)
{
    cg_value l = real_like(x, lo), h = real_like(x, hi);

    x = cg_select(g, cg_fcmp(g, LLVMRealOLT, x, l), l, x);
    return cg_select(g, cg_fcmp(g, LLVMRealOGT, x, h), h, x);
}

/* A bound of Clip, converted to the kind of `t`. */
static int64_t
int_bound(const glow_type *t, float bound)
{
    glow_type one = *t;
    uint64_t word[1] = {0};
    glow_tensor to = {.type = &one, .data = word};

    one.shape = one.strides = (glow_dims){0};
    glow_set_double(&to, 0, (double)bound);
    return glow_get_int(&to, 0);
}

static cg_value
emit_clip(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_clip *c = n->attrs;
    const glow_type *t = kind_of(n);
    LLVMTypeRef type = LLVMTypeOf(in[0]);

    if (glow_cg_is_float(in[0]))
        return clip(g, in[0], (double)c->min, (double)c->max);

    cg_value x =
        glow_cg_max(g, t, in[0], glow_cg_int(type, int_bound(t, c->min)));

    return glow_cg_min(g, t, x, glow_cg_int(type, int_bound(t, c->max)));
}

static cg_value
emit_leakyrelu(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_leakyrelu *l = n->attrs;
    cg_value x = in[0];
    cg_value below = cg_fcmp(g, LLVMRealOLT, x, zero_like(x));

    return cg_select(g, below, cg_fmul(g, x, real_like(x, (double)l->alpha)),
                     x);
}

static cg_value
emit_prelu(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x = in[0], below;

    if (glow_cg_is_float(x)) {
        below = cg_fcmp(g, LLVMRealOLT, x, zero_like(x));
        return cg_select(g, below, cg_fmul(g, x, in[1]), x);
    }
    if (!glow_cg_is_signed(kind_of(n)))
        return x;
    below = cg_icmp(g, LLVMIntSLT, x, zero_like(x));
    return cg_select(g, below, cg_imul(g, x, in[1]), x);
}

/* max(0, min(1, alpha x + beta)) */
static cg_value
hard_sigmoid(cg *g, cg_value x, double alpha, double beta)
{
    cg_value y = glow_cg_fma(g, x, real_like(x, alpha), real_like(x, beta));

    return clip(g, y, 0, 1);
}

static cg_value
emit_hardsigmoid(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_hardsigmoid *h = n->attrs;

    return hard_sigmoid(g, in[0], (double)h->alpha, (double)h->beta);
}

/* max(x, least): the gate is 0 below `least`, and 0 * -inf would be NaN. */
static cg_value
at_least_gated(cg *g, cg_value x, double least)
{
    cg_value l = real_like(x, least);

    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, l), l, x);
}

static cg_value
emit_hardswish(cg *g, const glow_node *n, cg_value const *in)
{
    (void)n;

    cg_value gate = hard_sigmoid(g, in[0], 1.0 / 6, 0.5);

    return cg_fmul(g, at_least_gated(g, in[0], -4), gate);
}

/* c[k] t^k + ... + c[0] */
static cg_value
polynomial(cg *g, cg_value t, const double *c, int k)
{
    cg_value y = real_like(t, c[k]);

    while (k-- > 0)
        y = glow_cg_fma(g, y, t, real_like(t, c[k]));
    return y;
}

/* exp(-x^2 / 2) */
static cg_value
bell(cg *g, cg_value x)
{
    return glow_cg_exp(g, cg_fmul(g, cg_fmul(g, x, x), real_like(x, -0.5)));
}

/*
 * x / 2 (1 + erf(x / sqrt(2))); for large negative x, where 1 + erf cancels, x
 * exp(-x^2 / 2) p(u): see GLOW_GELU_TAIL64.
 */
static cg_value
gelu64(cg *g, cg_value x)
{
    static const double tail[] = GLOW_GELU_TAIL64;
    cg_value half, three = real_like(x, 3);

    x = at_least_gated(g, x, -40); /* bell is 0 */
    half = cg_fmul(g, x, real_like(x, 0.5));

    cg_value t = cg_fdiv(g, three, cg_fsub(g, three, x));
    cg_value y = glow_cg_erf(g, cg_fmul(g, x, real_like(x, GLOW_SQRT_HALF)));

    t = glow_cg_fma(g, t, real_like(x, GLOW_GELU_TAIL64_SCALE),
                    real_like(x, GLOW_GELU_TAIL64_SHIFT));
    t = polynomial(g, t, tail, (int)(sizeof tail / sizeof *tail) - 1);
    t = cg_fmul(g, cg_fmul(g, x, bell(g, x)), t);
    y = glow_cg_fma(g, half, y, half);
    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, real_like(x, -1)), t, y);
}

/*
 * GELU of Hendrycks and Gimpel.  With tanh(z) instead of erf, (1 + tanh(z)) / 2
 * is the sigmoid of 2 z.
 */
static cg_value
emit_gelu(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_gelu *a = n->attrs;
    cg_value x = in[0], cube, y;

    if (a->approximate != GLOW_GELU_TANH && !g->target->exact &&
        n->out[0]->type->elem == GLOW_BFLOAT16)
        return glow_cg_short_gelu(g, x);
    if (a->approximate != GLOW_GELU_TANH)
        return glow_cg_scalar(LLVMTypeOf(x)) == g->f64 ? gelu64(g, x)
                                                       : glow_cg_gelu(g, x);
    cube = cg_fmul(g, cg_fmul(g, x, x), x);
    y = glow_cg_fma(g, cube, real_like(x, GLOW_GELU_CUBE), x);
    y = cg_fmul(g, y, real_like(x, 2 * GLOW_SQRT_2_BY_PI));
    y = glow_cg_sigmoid(g, y);
    return cg_fmul(g, at_least_gated(g, x, -32), y);
}

/* Gradients of activations. */

static cg_value
bounded(cg *g, cg_value x, double most)
{
    cg_value m = real_like(x, most);

    x = at_least_gated(g, x, -most);
    return cg_select(g, cg_fcmp(g, LLVMRealOGT, x, m), m, x);
}

/* P(x) + x p(x), P the normal distribution function and p its density. */
static cg_value
gelu64_slope(cg *g, cg_value x)
{
    cg_value y, part, half = real_like(x, 0.5);

    x = bounded(g, x, 40);
    y = glow_cg_erf(g, cg_fmul(g, x, real_like(x, GLOW_SQRT_HALF)));
    y = glow_cg_fma(g, half, y, half);
    part = cg_fmul(g, x, real_like(x, GLOW_ONE_BY_SQRT_2_PI));
    return glow_cg_fma(g, part, bell(g, x), y);
}

/* s + x s (1 - s) z', s the sigmoid of z = 2 sqrt(2 / pi) (x + c x^3). */
static cg_value
gelu_tanh_slope(cg *g, cg_value x)
{
    const double twice = 2 * GLOW_SQRT_2_BY_PI, cube = GLOW_GELU_CUBE;
    cg_value square, z, s, one = real_like(x, 1);

    x = bounded(g, x, 40);
    square = cg_fmul(g, x, x);
    z = glow_cg_fma(g, square, real_like(x, twice * cube), real_like(x, twice));
    s = glow_cg_sigmoid(g, cg_fmul(g, x, z));
    z = glow_cg_fma(g, square, real_like(x, 3 * twice * cube),
                    real_like(x, twice));
    x = cg_fmul(g, x, z);
    z = cg_fmul(g, x, cg_fsub(g, one, s));
    return glow_cg_fma(g, z, s, s);
}

static cg_value
emit_gelugrad(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_gelugrad *a = n->attrs;
    cg_value x = in[0];

    if (a->approximate == GLOW_GELU_TANH)
        x = gelu_tanh_slope(g, x);
    else if (glow_cg_scalar(LLVMTypeOf(x)) == g->f64)
        x = gelu64_slope(g, x);
    else
        x = glow_cg_gelu_slope(g, x);
    return cg_fmul(g, in[1], x);
}

static cg_value
emit_sigmoidgrad(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value y = in[0];

    (void)n;
    y = cg_fmul(g, y, cg_fsub(g, real_like(y, 1), y));
    return cg_fmul(g, in[1], y);
}

static cg_value
emit_tanhgrad(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value y = in[0], one = real_like(y, 1), below = cg_fsub(g, one, y);

    (void)n;
    y = cg_fmul(g, below, cg_fadd(g, one, y));
    return cg_fmul(g, in[1], y);
}

static cg_value
emit_swishgrad(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x = bounded(g, in[0], 1000), one = real_like(x, 1);
    cg_value s = glow_cg_sigmoid(g, x);

    (void)n;
    x = glow_cg_fma(g, x, cg_fsub(g, one, s), one);
    return cg_fmul(g, in[1], cg_fmul(g, s, x));
}

/* Two operands. */

/*
 * llvm.maximum or llvm.minimum.  LLVM 19 aborts on both for soft floats, so
 * scalar targets get comparisons: equal operands have the same bits except for
 * the sign of 0, and a NaN comes out of the sum.
 */
static cg_value
float_extreme(cg *g, bool is_max, cg_value a, cg_value b)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMTypeRef bits =
        glow_cg_like(a, glow_cg_scalar(t) == g->f64 ? g->i64 : g->i32);
    cg_value both[2] = {a, b}, i, j, x;

    if (g->target->vector_bytes > 4)
        return glow_cg_intrinsic(g, is_max ? "llvm.maximum" : "llvm.minimum",
                                 both, 2);
    i = cg_bitcast(g, a, bits);
    j = cg_bitcast(g, b, bits);
    i = is_max ? cg_and(g, i, j) : cg_or(g, i, j);
    x = cg_select(g, cg_fcmp(g, is_max ? LLVMRealOGT : LLVMRealOLT, a, b), a,
                  b);
    i = cg_bitcast(g, i, t);
    x = cg_select(g, cg_fcmp(g, LLVMRealOEQ, a, b), i, x);
    j = cg_fadd(g, a, b);
    return cg_select(g, cg_fcmp(g, LLVMRealUNO, a, b), j, x);
}

cg_value
glow_cg_max(cg *g, const glow_type *t, cg_value a, cg_value b)
{
    if (glow_cg_is_float(a))
        return float_extreme(g, true, a, b);
    return cg_select(
        g, cg_icmp(g, glow_cg_is_signed(t) ? LLVMIntSGT : LLVMIntUGT, a, b), a,
        b);
}

cg_value
glow_cg_min(cg *g, const glow_type *t, cg_value a, cg_value b)
{
    if (glow_cg_is_float(a))
        return float_extreme(g, false, a, b);
    return cg_select(
        g, cg_icmp(g, glow_cg_is_signed(t) ? LLVMIntSLT : LLVMIntULT, a, b), a,
        b);
}

static cg_value
emit_max(cg *g, const glow_node *n, cg_value const *in)
{
    return glow_cg_max(g, kind_of(n), in[0], in[1]);
}

static cg_value
emit_min(cg *g, const glow_node *n, cg_value const *in)
{
    return glow_cg_min(g, kind_of(n), in[0], in[1]);
}

#define LANE_BINARY(id, real, integer)                                       \
    static cg_value emit_##id(cg *g, const glow_node *n, cg_value const *in) \
    {                                                                        \
        (void)n;                                                             \
        return glow_cg_is_float(in[0]) ? real(g, in[0], in[1])               \
                                       : integer(g, in[0], in[1]);           \
    }

LANE_BINARY(add, cg_fadd, cg_iadd)
LANE_BINARY(sub, cg_fsub, cg_isub)
LANE_BINARY(mul, cg_fmul, cg_imul)

/* Integers: x / 0 is 0, and the least integer divided by -1 is itself. */
static cg_value
emit_div(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x = in[0], y = in[1];

    if (glow_cg_is_float(x))
        return cg_fdiv(g, x, y);

    LLVMTypeRef t = LLVMTypeOf(y);
    cg_value one = glow_cg_int(t, 1), zero = zero_like(y);
    cg_value is_zero = cg_icmp(g, LLVMIntEQ, y, zero), q;

    if (glow_cg_is_signed(kind_of(n))) {
        cg_value flips = cg_icmp(g, LLVMIntEQ, y, glow_cg_int(t, -1));
        cg_value safe = cg_select(g, cg_or(g, is_zero, flips), one, y);

        q = LLVMBuildSDiv(g->builder, x, safe, "");
        q = cg_select(g, flips, LLVMBuildNeg(g->builder, x, ""), q);
    } else {
        q = LLVMBuildUDiv(g->builder, x, cg_select(g, is_zero, one, y), "");
    }
    return cg_select(g, is_zero, zero, q);
}

/* Integers: 0 for y = 0, and for y = -1, where the quotient may overflow. */
static cg_value
emit_fmod(cg *g, const glow_node *n, cg_value const *in)
{
    cg_value x = in[0], y = in[1], none;

    if (glow_cg_is_float(x))
        return glow_cg_libm(g, "fmod", (cg_value[]){x, y}, 2);

    LLVMTypeRef t = LLVMTypeOf(y);
    bool is_signed = glow_cg_is_signed(kind_of(n));

    none = cg_icmp(g, LLVMIntEQ, y, zero_like(y));
    if (is_signed)
        none = cg_or(g, none, cg_icmp(g, LLVMIntEQ, y, glow_cg_int(t, -1)));
    y = cg_select(g, none, glow_cg_int(t, 1), y);
    return is_signed ? LLVMBuildSRem(g->builder, x, y, "")
                     : LLVMBuildURem(g->builder, x, y, "");
}

/*
 * Exponentiation by squaring, in as many iterations as the exponent has bits.
 */
static cg_value
int_pow(cg *g, cg_value x, cg_value y, bool is_signed)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value one = glow_cg_int(t, 1), zero = zero_like(x);
    cg_value start[3] = {one, x, y};
    unsigned bits = LLVMGetIntTypeWidth(glow_cg_scalar(t));
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, bits), 1, start, 3);

    cg_value power = l.value[0], square = l.value[1], left = l.value[2];
    cg_value odd = cg_icmp(g, LLVMIntNE, cg_and(g, left, one), zero);
    cg_value next[3];

    next[0] = cg_select(g, odd, cg_imul(g, power, square), power);
    next[1] = cg_imul(g, square, square);
    next[2] = cg_lshr(g, left, one);
    glow_cg_loop_end(g, &l, next);
    if (!is_signed)
        return l.value[0];

    /* 1 / x^-y is 0 unless x is 1 or -1. */
    cg_value minus = glow_cg_int(t, -1);
    cg_value y_odd = cg_icmp(g, LLVMIntNE, cg_and(g, y, one), zero);
    cg_value inverse = cg_select(g, y_odd, minus, one);

    inverse = cg_select(g, cg_icmp(g, LLVMIntEQ, x, minus), inverse, zero);
    inverse = cg_select(g, cg_icmp(g, LLVMIntEQ, x, one), one, inverse);

    return cg_select(g, cg_icmp(g, LLVMIntSLT, y, zero), inverse, l.value[0]);
}

static cg_value
emit_pow(cg *g, const glow_node *n, cg_value const *in)
{
    if (glow_cg_is_float(in[0]))
        return glow_cg_libm(g, "pow", (cg_value[]){in[0], in[1]}, 2);
    return int_pow(g, in[0], in[1], glow_cg_is_signed(kind_of(n)));
}

static cg_value
emit_and(cg *g, const glow_node *n, cg_value const *in)
{
    (void)n;
    return cg_and(g, in[0], in[1]);
}

static cg_value
emit_or(cg *g, const glow_node *n, cg_value const *in)
{
    (void)n;
    return cg_or(g, in[0], in[1]);
}

static cg_value
emit_xor(cg *g, const glow_node *n, cg_value const *in)
{
    (void)n;
    return cg_xor(g, in[0], in[1]);
}

/*
 * LLVM's shifts by the bit width or more are poison: the amount is clamped, and
 * logical shifts select 0.
 */
static cg_value
emit_bitshift(cg *g, const glow_node *n, cg_value const *in)
{
    const glow_bitshift *s = n->attrs;
    cg_value x = in[0], y = in[1];
    LLVMTypeRef t = LLVMTypeOf(x);
    unsigned bits = LLVMGetIntTypeWidth(glow_cg_scalar(t));
    cg_value some = cg_icmp(g, LLVMIntULT, y, glow_cg_int(t, bits));
    cg_value last = glow_cg_int(t, bits - 1), by = cg_select(g, some, y, last);

    if (s->direction == GLOW_SHIFT_RIGHT && glow_cg_is_signed(kind_of(n)))
        return LLVMBuildAShr(g->builder, x, by, "");
    return cg_select(g, some,
                     s->direction == GLOW_SHIFT_LEFT ? cg_shl(g, x, by)
                                                     : cg_lshr(g, x, by),
                     zero_like(x));
}

/* A comparison, by a predicate for floats, signed or unsigned integers. */
static cg_value
compare(cg *g, const glow_node *n, cg_value const *in, LLVMRealPredicate real,
        LLVMIntPredicate is_signed, LLVMIntPredicate is_unsigned)
{
    if (glow_cg_is_float(in[0]))
        return cg_fcmp(g, real, in[0], in[1]);
    return cg_icmp(g, glow_cg_is_signed(kind_of(n)) ? is_signed : is_unsigned,
                   in[0], in[1]);
}

#define LANE_COMPARE(id, real, is_signed, is_unsigned)                       \
    static cg_value emit_##id(cg *g, const glow_node *n, cg_value const *in) \
    {                                                                        \
        return compare(g, n, in, real, is_signed, is_unsigned);              \
    }

LANE_COMPARE(cmpeq, LLVMRealOEQ, LLVMIntEQ, LLVMIntEQ)
LANE_COMPARE(cmpneq, LLVMRealUNE, LLVMIntNE, LLVMIntNE)
LANE_COMPARE(cmplt, LLVMRealOLT, LLVMIntSLT, LLVMIntULT)
LANE_COMPARE(cmplte, LLVMRealOLE, LLVMIntSLE, LLVMIntULE)

static cg_value
emit_select(cg *g, const glow_node *n, cg_value const *in)
{
    (void)n;
    return cg_select(g, in[0], in[1], in[2]);
}

static const struct {
    const glow_op *op;
    cg_lane_fn emit;
} table[] = {
    {&glow_op_abs, emit_abs},
    {&glow_op_acos, emit_acos},
    {&glow_op_acosh, emit_acosh},
    {&glow_op_add, emit_add},
    {&glow_op_and, emit_and},
    {&glow_op_asin, emit_asin},
    {&glow_op_asinh, emit_asinh},
    {&glow_op_atan, emit_atan},
    {&glow_op_atanh, emit_atanh},
    {&glow_op_batchedadd, emit_add},
    {&glow_op_bitshift, emit_bitshift},
    {&glow_op_bitwiseand, emit_and},
    {&glow_op_bitwisenot, emit_not},
    {&glow_op_bitwiseor, emit_or},
    {&glow_op_bitwisexor, emit_xor},
    {&glow_op_ceil, emit_ceil},
    {&glow_op_clip, emit_clip},
    {&glow_op_cmpeq, emit_cmpeq},
    {&glow_op_cmplt, emit_cmplt},
    {&glow_op_cmplte, emit_cmplte},
    {&glow_op_cmpneq, emit_cmpneq},
    {&glow_op_convertto, emit_convertto},
    {&glow_op_converttofloat8, emit_converttofloat8},
    {&glow_op_cos, emit_cos},
    {&glow_op_cosh, emit_cosh},
    {&glow_op_div, emit_div},
    {&glow_op_erf, emit_erf},
    {&glow_op_exp, emit_exp},
    {&glow_op_floor, emit_floor},
    {&glow_op_fmod, emit_fmod},
    {&glow_op_gelu, emit_gelu},
    {&glow_op_gelugrad, emit_gelugrad},
    {&glow_op_hardsigmoid, emit_hardsigmoid},
    {&glow_op_hardswish, emit_hardswish},
    {&glow_op_leakyrelu, emit_leakyrelu},
    {&glow_op_log, emit_log},
    {&glow_op_max, emit_max},
    {&glow_op_min, emit_min},
    {&glow_op_mul, emit_mul},
    {&glow_op_neg, emit_neg},
    {&glow_op_not, emit_not},
    {&glow_op_or, emit_or},
    {&glow_op_pow, emit_pow},
    {&glow_op_prelu, emit_prelu},
    {&glow_op_relu, emit_relu},
    {&glow_op_relugrad, emit_relugrad},
    {&glow_op_round, emit_round},
    {&glow_op_select, emit_select},
    {&glow_op_sigmoid, emit_sigmoid},
    {&glow_op_sigmoidgrad, emit_sigmoidgrad},
    {&glow_op_sin, emit_sin},
    {&glow_op_sinh, emit_sinh},
    {&glow_op_sqrt, emit_sqrt},
    {&glow_op_sub, emit_sub},
    {&glow_op_swish, emit_swish},
    {&glow_op_swishgrad, emit_swishgrad},
    {&glow_op_tan, emit_tan},
    {&glow_op_tanh, emit_tanh},
    {&glow_op_tanhgrad, emit_tanhgrad},
    {&glow_op_truncate, emit_truncate},
    {&glow_op_xor, emit_xor},
};

cg_lane_fn
glow_cg_plain_lane(const glow_op *op)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].op == op)
            return table[i].emit;
    return NULL;
}

cg_lane_fn
glow_cg_lane(const glow_node *n)
{
    return glow_computes_quantized(n) ? glow_cg_quantized_lane(n)
                                      : glow_cg_plain_lane(n->op);
}
