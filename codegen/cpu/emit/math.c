/*
 * Vectorized elementary functions, by range reduction and minimax polynomials
 * or rational functions.
 *
 * LLVM turns llvm.exp of a vector into a libm call for each lane, more than ten
 * times as slow as these.  Errors are maxima over all floats of the range,
 * against double arithmetic; NaN gives NaN everywhere.
 */

#include <math.h>
#include <string.h>

#include "codegen/cpu/emit/math.h"

#include "codegen/cpu/emit/feature.h"
#include "glow/ops.h"

static bool
is_double(cg *g, cg_value x)
{
    return glow_cg_scalar(LLVMTypeOf(x)) == g->f64;
}

cg_value
glow_cg_libm(cg *g, const char *name, cg_value *args, int n)
{
    LLVMTypeRef t = LLVMTypeOf(args[0]), s = glow_cg_scalar(t);
    LLVMTypeRef params[3] = {s, s, s};
    LLVMTypeRef type = LLVMFunctionType(s, params, (unsigned)n, false);
    const char *symbol =
        is_double(g, args[0]) ? name : glow_arena_printf(g->arena, "%sf", name);
    cg_value fn = LLVMGetNamedFunction(g->module, symbol);
    cg_value all = LLVMConstNull(t), one[3];
    int lanes = glow_cg_lanes(t);

    if (!fn)
        fn = LLVMAddFunction(g->module, symbol, type);
    if (s == t)
        return LLVMBuildCall2(g->builder, type, fn, args, (unsigned)n, "");
    for (int i = 0; i < (g->live ? g->live : lanes); i++) {
        cg_value lane = LLVMConstInt(g->i32, (unsigned)i, false);

        for (int k = 0; k < n; k++)
            one[k] = LLVMBuildExtractElement(g->builder, args[k], lane, "");

        cg_value y = LLVMBuildCall2(g->builder, type, fn, one, (unsigned)n, "");

        all = LLVMBuildInsertElement(g->builder, all, y, lane, "");
    }
    return all;
}

/* Horner's method: c[0] + x (c[1] + x (c[2] + ...)). */
static cg_value
horner(cg *g, cg_value x, const double *c, int n)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value sum = glow_cg_real(t, c[n - 1]);

    for (int i = n - 2; i >= 0; i--)
        sum = glow_cg_fma(g, sum, x, glow_cg_real(t, c[i]));
    return sum;
}

/* max(x, least); NaN stays, here and in the next two functions. */
static cg_value
at_least(cg *g, cg_value x, double least)
{
    cg_value l = glow_cg_real(LLVMTypeOf(x), least);

    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, l), l, x);
}

static cg_value
at_most(cg *g, cg_value x, double most)
{
    cg_value m = glow_cg_real(LLVMTypeOf(x), most);

    return cg_select(g, cg_fcmp(g, LLVMRealOGT, x, m), m, x);
}

static cg_value
clamp(cg *g, cg_value x, double lo, double hi)
{
    return at_most(g, at_least(g, x, lo), hi);
}

/*
 * Our own fits of e^r for r in [-log(2) / 2, log(2)], relative error 3.7e-9;
 * and of 2^r, |r| <= 1/2, 9.2e-8.  No coefficient is negative, so infinity
 * gives infinity.
 */
static const double exact_powers[] = {1.0,
                                      1.0,
                                      0.4999999404,
                                      0.16666699946,
                                      0.041668068618,
                                      0.0083267893642,
                                      0.0013838661835,
                                      0.00023251934908};
static const double close_powers[] = {1.0,
                                      0.6931469776,
                                      0.2402224203465,
                                      0.0555073374355,
                                      0.00967151268815,
                                      0.001326472724735};

/*
 * The nearest integer n to `scale` * x, and 2^(n + bias - 127) in `power`, for
 * n + bias in [0, 254]; for n + bias = 0 the power is 0.  `bounded`: greater n
 * are clamped.  Adding 1.5 * 2^23 rounds to an integer in the low bits of the
 * fraction; adding `bias` too makes these bits the exponent of the power.
 */
static cg_value
next_integer(cg *g, cg_value x, cg_value scale, int bias, bool bounded,
             cg_value *power)
{
    LLVMTypeRef t = LLVMTypeOf(x), i = glow_cg_like(x, g->i32);
    cg_value magic = glow_cg_real(t, 12582912.0 + bias);
    cg_value n = glow_cg_fma(g, x, scale, magic);

    if (bounded)
        n = at_most(g, n, 12582912.0 + 254);
    *power =
        cg_bitcast(g, cg_shl(g, cg_bitcast(g, n, i), glow_cg_int(i, 23)), t);
    return cg_fsub(g, n, magic);
}

/* e^r with r = x - n log(2): two-part reduction after Cody and Waite. */
static cg_value
exp_reduced(cg *g, cg_value x, cg_value n)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value r = glow_cg_fma(g, n, glow_cg_real(t, -0.693359375), x);

    r = glow_cg_fma(g, n, glow_cg_real(t, 2.12194440e-4), r);
    return horner(g, r, exact_powers, 8);
}

/*
 * e^x = 2^n e^r: 1.2 ulp for results of at least 2^-126; smaller results may be
 * 0.  The power 2^128 overflows, so for n = 128 n is 127 and r is up to log(2).
 */
cg_value
glow_cg_exp(cg *g, cg_value x)
{
    cg_value power, n;

    if (is_double(g, x))
        return glow_cg_libm(g, "exp", &x, 1);
    x = at_least(g, x, -88.0);
    n = next_integer(g, x, glow_cg_real(LLVMTypeOf(x), 1.44269504088896341),
                     127, true, &power);
    return cg_fmul(g, exp_reduced(g, x, n), power);
}

/*
 * True if a reciprocal estimate with a Newton-Raphson step is faster than a
 * division. x86 divides vectors of 32 bytes in a unit of its own beside the
 * multiplications; vectors of 64 bytes occupy it twice as long.
 */
static bool
estimates(const cg *g)
{
    return !g->target->exact && (g->target->vector_bytes != 32 ||
                                 strncmp(g->target->triple, "x86_64", 6) != 0);
}

cg_value
glow_cg_quotient(cg *g, cg_value a, cg_value b)
{
    cg_value q = cg_fdiv(g, a, b);

    if (estimates(g) && !is_double(g, b) && LLVMIsAInstruction(q))
        LLVMSetFastMathFlags(q, LLVMFastMathAllowReciprocal |
                                    LLVMFastMathNoInfs |
                                    LLVMFastMathAllowContract);
    return q;
}

/*
 * log(x) = e log(2) + log(m) with m in [sqrt(1/2), sqrt(2)): 1.5 ulp.
 * Subnormals are scaled first.  The polynomial is that of Moshier's Cephes,
 * logf.
 */
cg_value
glow_cg_log(cg *g, cg_value x)
{
    static const double c[] = {
        3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
        -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
        1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};

    if (is_double(g, x))
        return glow_cg_libm(g, "log", &x, 1);

    LLVMTypeRef t = LLVMTypeOf(x), i = glow_cg_like(x, g->i32);
    cg_value zero = LLVMConstNull(t), one = glow_cg_real(t, 1.0);
    cg_value tiny = cg_fcmp(g, LLVMRealOLT, x, glow_cg_real(t, 0x1p-126));
    cg_value y = cg_select(g, tiny, cg_fmul(g, x, glow_cg_real(t, 0x1p23)), x);
    cg_value w = cg_isub(g, cg_bitcast(g, y, i), glow_cg_int(i, 0x3f3504f3));
    cg_value e = LLVMBuildAShr(g->builder, w, glow_cg_int(i, 23), "");
    cg_value m = cg_iadd(g, cg_and(g, w, glow_cg_int(i, 0x7fffff)),
                         glow_cg_int(i, 0x3f3504f3));
    cg_value n = LLVMBuildSIToFP(g->builder, e, t, "");

    n = cg_select(g, tiny, cg_fsub(g, n, glow_cg_real(t, 23.0)), n);
    m = cg_fsub(g, cg_bitcast(g, m, t), one);

    cg_value m2 = cg_fmul(g, m, m);
    cg_value p = cg_fmul(g, cg_fmul(g, horner(g, m, c, 9), m2), m);

    p = glow_cg_fma(g, n, glow_cg_real(t, -2.12194440e-4), p);
    p = glow_cg_fma(g, m2, glow_cg_real(t, -0.5), p);
    p = cg_fadd(g, p, m);
    p = glow_cg_fma(g, n, glow_cg_real(t, 0.693359375), p);

    cg_value inf = glow_cg_real(t, (double)INFINITY);

    p = cg_select(g, cg_fcmp(g, LLVMRealOEQ, x, zero),
                  glow_cg_real(t, -(double)INFINITY), p);
    p = cg_select(g, cg_fcmp(g, LLVMRealOEQ, x, inf), inf, p);
    return cg_select(g, cg_fcmp(g, LLVMRealULT, x, zero),
                     glow_cg_real(t, (double)NAN), p);
}

/* a / b by the method of glow_cg_quotient, but for any `a`, even infinity. */
static cg_value
quotient_of_any(cg *g, cg_value a, cg_value b)
{
    return estimates(g) ? cg_fmul(g, a,
                                  glow_cg_quotient(
                                      g, glow_cg_real(LLVMTypeOf(b), 1.0), b))
                        : cg_fdiv(g, a, b);
}

/*
 * sigmoid(x) = 1/2 / (1/2 + e^-x / 2), whose denominator is at most 2^125: 2.6
 * ulp; 0 for results below 2^-126.  A reciprocal estimate gets a second
 * Newton-Raphson step, for callers that subtract the result from 1.
 */
cg_value
glow_cg_sigmoid(cg *g, cg_value x)
{
    const double least = -87.33654; /* log(2^-126), rounded up */
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value one = glow_cg_real(t, 1.0), half = glow_cg_real(t, 0.5);
    cg_value y, n, power, q;

    if (is_double(g, x)) {
        y = glow_cg_exp(g, LLVMBuildFNeg(g->builder, x, ""));
        return cg_fdiv(g, one, cg_fadd(g, one, y));
    }
    y = LLVMBuildFNeg(g->builder, clamp(g, x, least, 87.0), "");
    n = next_integer(g, y, glow_cg_real(t, 1.44269504088896341), 126, false,
                     &power);
    y = glow_cg_fma(g, exp_reduced(g, y, n), power, half);
    if (estimates(g)) {
        q = glow_cg_quotient(g, one, y);
        q = glow_cg_fma(
            g, q, glow_cg_fma(g, LLVMBuildFNeg(g->builder, y, ""), q, one), q);
        q = cg_fmul(g, q, half);
    } else {
        q = cg_fdiv(g, half, y);
    }
    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, glow_cg_real(t, least)),
                     LLVMConstNull(t), q);
}

/*
 * swish(x) = x / (1 + e^-x): 6 ulp for x >= -5 (4.5 with FMA), 60 ulp below,
 * where the result is much smaller; -0 below -87, where the exact result is
 * above -1.5e-36.  The exponential is a power of 2, so that its reduction to
 * the fraction costs one operation.
 */
cg_value
glow_cg_swish(cg *g, cg_value x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value one = glow_cg_real(t, 1.0), y, n, power;
    cg_value scale = glow_cg_real(t, -1.44269504088896341);

    if (is_double(g, x)) {
        x = at_least(g, x, -1000.0);
        y = glow_cg_exp(g, LLVMBuildFNeg(g->builder, x, ""));
        return cg_fdiv(g, x, cg_fadd(g, one, y));
    }
    y = clamp(g, x, -87.0, 87.0);
    n = next_integer(g, y, scale, 127, false, &power);
    y = glow_cg_fma(g, y, scale, LLVMBuildFNeg(g->builder, n, ""));
    y = glow_cg_fma(g, horner(g, y, close_powers, 6), power, one);
    y = quotient_of_any(g, x, y);
    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, glow_cg_real(t, -87.0)),
                     glow_cg_real(t, -0.0), y);
}

/*
 * P(-size), P the normal distribution function, as `tail` * `density`: the density
 * exp(-size^2 / 2), and a polynomial in 2.5 / (2.5 + size).  Our own fit has relative
 * error 9.2e-8 up to 13.26; the rounding of size^2 adds size^2 / 2 ulp.  The density is
 * a power of 2, as in swish.
 */
static void
normal_tail(cg *g, cg_value size, cg_value *tail, cg_value *density)
{
    static const double fit[] = {
        -1.128230358973803e-05, 0.15988918149781425,   0.15591820589025585,
        0.15779454449619124,    -0.010648637675398323, 0.24802861539532764,
        -0.37071263286554396,   0.19896425360629294,   -0.03922220995164144};
    LLVMTypeRef t = LLVMTypeOf(size);
    cg_value scale = glow_cg_real(t, -0.72134752044448170), p, y, n, power;

    p = glow_cg_real(t, 2.5);
    *tail = horner(g, glow_cg_quotient(g, p, cg_fadd(g, p, size)), fit, 9);
    y = cg_fmul(g, size, size);
    n = next_integer(g, y, scale, 127, false, &power);
    y = glow_cg_fma(g, y, scale, LLVMBuildFNeg(g->builder, n, ""));
    *density = cg_fmul(g, horner(g, y, close_powers, 6), power);
}

static cg_value
bounded_size(cg *g, cg_value x)
{
    return at_most(g, glow_cg_intrinsic(g, "llvm.fabs", &x, 1), 13.26);
}

/*
 * gelu(x) = x P(x): for x < 0 by the tail, for x > 0 by 1 - P(-x).  Below -13.26 it
 * is 0.
 */
cg_value
glow_cg_gelu(cg *g, cg_value x)
{
    cg_value size = bounded_size(g, x), p, y;

    normal_tail(g, size, &p, &y);
    p = LLVMBuildFNeg(g->builder, cg_fmul(g, size, p), "");
    return glow_cg_fma(g, p, y, at_least(g, x, 0.0));
}

/* P(x) + x p(x), which is 1 - that of -x; absolute error 1.5e-7. */
cg_value
glow_cg_gelu_slope(cg *g, cg_value x)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value size = bounded_size(g, x), p, y, above;

    normal_tail(g, size, &p, &y);
    p = glow_cg_fma(g, size, glow_cg_real(t, -GLOW_ONE_BY_SQRT_2_PI), p);
    y = cg_fmul(g, p, y);
    above = cg_fsub(g, glow_cg_real(t, 1.0), y);
    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, glow_cg_real(t, 0.0)), y,
                     above);
}

/* 2^r for |r| <= 1/2, relative error 2.6e-6; our own fit. */
static const double short_powers[] = {0.9999992614067, 0.6931218148135,
                                      0.2402474495748, 0.0559178599073,
                                      0.0095700966623};

void
glow_cg_probe_scale(glow_arena *a, cpu_target *t)
{
    static const char *const feature = "avx512dq";

    if (strncmp(t->triple, "x86_64", 6) == 0 && t->vector_bytes == 64)
        glow_cg_features(a, t, &feature, 1, &t->has_scale);
}

/* Calls an intrinsic of AVX-512 with the lanes `mask` of its result, zeros in others. */
static cg_value
masked_call(cg *g, const char *name, cg_value x, cg_value y, cg_value mask)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    cg_value fn = LLVMGetIntrinsicDeclaration(g->module, id, NULL, 0);
    cg_value args[5] = {x, y, LLVMConstNull(LLVMTypeOf(x)),
                        cg_bitcast(g, mask, g->i16),
                        LLVMConstInt(g->i32, 4, false)}; /* MXCSR's rounding */

    return LLVMBuildCall2(g->builder,
                          LLVMIntrinsicGetType(g->context, id, NULL, 0), fn,
                          args, 5, "");
}

/*
 * 2^x by VREDUCEPS, which gives x - floor(x), and VSCALEFPS, which multiplies by
 * 2^floor(x): two instructions in place of five.  Results below 2^-126 are 0.
 */
static cg_value
scaled_power(cg *g, cg_value x)
{
    /* 2^r for r in [0, 1), relative error 2.6e-6; our own fit. */
    static const double powers[] = {1.000002593371, 0.6930038344711,
                                    0.2414427568862, 0.05201146061905,
                                    0.0135341679117};
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value seen = cg_fcmp(g, LLVMRealUGE, x, glow_cg_real(t, -126.0));
    cg_value r = masked_call(g, "llvm.x86.avx512.mask.reduce.ps.512", x,
                             LLVMConstInt(g->i32, 9, false), /* floor */
                             LLVMConstAllOnes(LLVMTypeOf(seen)));

    return masked_call(g, "llvm.x86.avx512.mask.scalef.ps.512",
                       horner(g, r, powers, 5), x, seen);
}

cg_value
glow_cg_short_power(cg *g, cg_value x)
{
    cg_value n, power;

    if (g->target->has_scale && glow_cg_lanes(LLVMTypeOf(x)) == 16)
        return scaled_power(g, x);
    x = at_least(g, x, -127.0);
    n = next_integer(g, x, glow_cg_real(LLVMTypeOf(x), 1.0), 127, false,
                     &power);
    return cg_fmul(g, horner(g, cg_fsub(g, x, n), short_powers, 5), power);
}

/*
 * As glow_cg_gelu, with a polynomial for the logarithm of P to base 2 down to -13, below
 * which the result is 0; our own fit, 1.2e-4.
 */
cg_value
glow_cg_short_gelu(cg *g, cg_value x)
{
    static const double tail[] = {
        -1.000171440666648,    -1.1491738993823173,     -0.46253823485763024,
        -0.050968006882650393, 0.007474067823112296,    -0.0007538590846615143,
        4.85727790739728e-05,  -1.7834147552710512e-06, 2.8236901456149293e-08};
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value size = at_most(g, glow_cg_intrinsic(g, "llvm.fabs", &x, 1), 13.01);
    cg_value y = horner(g, size, tail, 9), n, power;

    n = next_integer(g, y, glow_cg_real(t, 1.0), 127, false, &power);
    y = horner(g, cg_fsub(g, y, n), short_powers, 5);
    size = LLVMBuildFNeg(g->builder, cg_fmul(g, size, power), "");
    return glow_cg_fma(g, size, y, at_least(g, x, 0.0));
}

/*
 * Odd rational function x p(x^2) / q(x^2) on [-limit, limit], for a function
 * with the limits -1 and 1: at `limit` the quotient exceeds them by more than
 * its rounding error, and is clamped.
 */
static cg_value
odd_rational(cg *g, cg_value x, double limit, const double *p, int np,
             const double *q, int nq)
{
    x = clamp(g, x, -limit, limit);

    cg_value z = cg_fmul(g, x, x);
    cg_value above = cg_fmul(g, x, horner(g, z, p, np));

    x = glow_cg_quotient(g, above, horner(g, z, q, nq));
    return clamp(g, x, -1.0, 1.0);
}

/* tanh: 5.2 ulp, absolute error 3e-7; our own fit. */
cg_value
glow_cg_tanh(cg *g, cg_value x)
{
    static const double p[] = {0.999999979, 0.133810231, 0.00349558517,
                               2.06090348e-05, 1.33545986e-08};
    static const double q[] = {1.0, 0.467143387, 0.0258769709, 0.000328563003,
                               7.7765319e-07};

    if (is_double(g, x))
        return glow_cg_libm(g, "tanh", &x, 1);
    return odd_rational(g, x, 9.6, p, 5, q, 5);
}

/*
 * atan: 1.5 ulp; of numbers above 1 as pi / 2 - atan(1 / x).  Our own fit of
 * (atan(z) - z) / z^3 over z^2, z in [0, 1], relative error of atan 2.6e-9.
 */
cg_value
glow_cg_atan(cg *g, cg_value x)
{
    static const double c[] = {-0.3333329909,  0.1999854829,   -0.1426424171,
                               0.1095218592,   -0.08403450689, 0.05795759905,
                               -0.03117785072, 0.01091460809,  -0.001793622179};
    static const double half_pi = 1.57079637050628662109375; /* a float */
    static const double rest = -4.37113900018624283e-8;
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value size, is_above, z, y, p, args[2];

    if (is_double(g, x))
        return glow_cg_libm(g, "atan", &x, 1);
    size = glow_cg_intrinsic(g, "llvm.fabs", &x, 1);
    is_above = cg_fcmp(g, LLVMRealOGT, size, glow_cg_real(t, 1));
    z = cg_select(g, is_above, cg_fdiv(g, glow_cg_real(t, 1), size), size);
    y = cg_fmul(g, z, z);
    p = horner(g, y, c, 9);
    y = glow_cg_fma(g, p, cg_fmul(g, z, y), z);
    z = cg_fsub(g, y, glow_cg_real(t, rest));
    z = cg_fsub(g, glow_cg_real(t, half_pi), z);
    args[0] = cg_select(g, is_above, z, y);
    args[1] = x;
    return glow_cg_intrinsic(g, "llvm.copysign", args, 2);
}

#define MOST_TURNS 1048576.0 /* |x| up to which `turn` is exact enough */

/*
 * The remainder of a double `x` by pi / 2, in [-pi / 4, pi / 4], and the quotient in the
 * low bits of `quarters`: two-part reduction after Cody and Waite, whose first part has 33
 * bits, so that its product with a quotient of 20 bits is exact.
 */
static cg_value
turn(cg *g, cg_value x, cg_value *quarters)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value magic = glow_cg_real(t, 6755399441055744.0); /* 1.5 * 2^52 */
    cg_value n =
        glow_cg_fma(g, x, glow_cg_real(t, 0.63661977236758134308), magic);

    *quarters = cg_bitcast(g, n, glow_cg_like(x, g->i64));
    n = cg_fsub(g, n, magic);
    x = glow_cg_fma(g, n, glow_cg_real(t, -0x1.921fb544p0), x);
    return glow_cg_fma(g, n, glow_cg_real(t, -0x1.0b4611a626331p-34), x);
}

/*
 * The sine, or with `ahead` 1 the cosine, of floats up to MOST_TURNS: in double, rounded
 * once.  Our own fits of (sin r / r - 1) / r^2 and (cos r - 1) / r^2 over r^2, relative
 * errors of sine and cosine 5.2e-12 and 6.4e-11.
 */
static cg_value
wave(cg *g, cg_value x, int64_t ahead)
{
    static const double sines[] = {-0.1666666664078, 0.008333329302412,
                                   -0.0001983931148353, 2.71811409872e-06};
    static const double cosines[] = {-0.4999999969423, 0.04166662032879,
                                     -0.001388668075157, 2.438348285633e-05};
    LLVMTypeRef narrow = LLVMTypeOf(x), t = glow_cg_like(x, g->f64);
    LLVMTypeRef bits = glow_cg_like(x, g->i64);
    cg_value one = glow_cg_real(t, 1), k, r, z, sine, cosine, odd;

    r = turn(g, LLVMBuildFPExt(g->builder, x, t, ""), &k);
    k = cg_iadd(g, k, glow_cg_int(bits, ahead));
    z = cg_fmul(g, r, r);
    sine = cg_fmul(g, r, glow_cg_fma(g, horner(g, z, sines, 4), z, one));
    cosine = glow_cg_fma(g, horner(g, z, cosines, 4), z, one);
    odd = cg_icmp(g, LLVMIntNE, cg_and(g, k, glow_cg_int(bits, 1)),
                  LLVMConstNull(bits));
    z = cg_bitcast(g, cg_select(g, odd, cosine, sine), bits);
    k = cg_shl(g, cg_and(g, k, glow_cg_int(bits, 2)), glow_cg_int(bits, 62));
    z = cg_bitcast(g, LLVMBuildXor(g->builder, z, k, ""), t);
    return LLVMBuildFPTrunc(g->builder, z, narrow, "");
}

/* The same of all floats: vectors with a greater one, which are rare, go to libm. */
static cg_value
any_wave(cg *g, const char *name, cg_value x, int64_t ahead)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value most = glow_cg_real(t, MOST_TURNS), y, is_above;
    int lanes = glow_cg_lanes(t);
    cg_if s;

    if (is_double(g, x))
        return glow_cg_libm(g, name, &x, 1);
    y = glow_cg_local(g, wave(g, x, ahead));
    is_above = glow_cg_intrinsic(g, "llvm.fabs", &x, 1);
    is_above = cg_fcmp(g, LLVMRealOGT, is_above, most);
    if (lanes > 1) {
        LLVMTypeRef all = LLVMIntTypeInContext(g->context, (unsigned)lanes);

        is_above = cg_bitcast(g, is_above, all);
        is_above = cg_icmp(g, LLVMIntNE, is_above, LLVMConstNull(all));
    }
    glow_cg_if(g, &s, is_above);
    LLVMBuildStore(g->builder, glow_cg_libm(g, name, &x, 1), y);
    glow_cg_end_if(g, &s);
    return LLVMBuildLoad2(g->builder, t, y, "");
}

/* sin and cos: 0.5 ulp, and libm's from 2^20 on. */
cg_value
glow_cg_sin(cg *g, cg_value x)
{
    return any_wave(g, "sin", x, 0);
}

cg_value
glow_cg_cos(cg *g, cg_value x)
{
    return any_wave(g, "cos", x, 1);
}

/* erf: 5.9 ulp, absolute error 3.5e-7; our own fit. */
cg_value
glow_cg_erf(cg *g, cg_value x)
{
    static const double p[] = {1.12837914,   0.191550273,    0.0528754372,
                               0.0038081591, 0.000284687571, 2.02590699e-06};
    static const double q[] = {1.0,          0.503089685,   0.114559605,
                               0.0150550844, 0.00117072499, 3.78317818e-05};

    if (is_double(g, x))
        return glow_cg_libm(g, "erf", &x, 1);
    return odd_rational(g, x, 4.2, p, 6, q, 6);
}
