/*
 * recognize-piecewise: recognize piecewise linear functions.
 *
 *     Min(Max(x, k), l)                  =>  Clip(x, k, l)
 *     Max(x, x * k), 0 < k < 1           =>  LeakyRelu(x, k)
 *     Select(x < 0, x * y, x)            =>  PRelu(x, y)
 *     Relu(x) - k * Relu(-x)             =>  LeakyRelu(x, k)
 *     1 / Sqrt(x)                        =>  Rsqrt(x)
 *
 * Fusion, backends and other rules match the single operator; lowering expands
 * it again, so the pass is for high-level graphs.  LeakyRelu is exact; where
 * Relu replaces Max(x, 0) a zero may change its sign.
 *
 * PyTorch writes Hardtanh as Min and Max, TensorFlow LeakyRelu as Max, Keras
 * PRelu as a difference of two Relus.  Glow's FoldMinMaxToClip matches only Min
 * of Max, and its FoldLeakyRelu takes a slope of 0, where an infinite x gives
 * NaN before and 0 after.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/rules.h"

#define FLOATS GLOW_CLASS_FLOAT
#define ZERO "a zero may have another sign"

/* True if `v` is representable as an attribute, a float. */
static bool
is_float(double v)
{
    return (double)(float)v == v;
}

static bool
k_l_fit(glow_match *m)
{
    double k = glow_match_number(m, 'k'), l = glow_match_number(m, 'l');

    return is_float(k) && is_float(l) && k < l;
}

static bool
k_fits_above(glow_match *m)
{
    double k = glow_match_number(m, 'k');

    return is_float(k) && k > 0;
}

static bool
k_is_slope(glow_match *m)
{
    double k = glow_match_number(m, 'k');

    return is_float(k) && k > 0 && k < 1;
}

static bool
k_is_steep(glow_match *m)
{
    double k = glow_match_number(m, 'k');

    return is_float(k) && k > 1;
}

static bool
k_fits(glow_match *m)
{
    return is_float(glow_match_number(m, 'k'));
}

#define BOUNDS .when = k_l_fit, .where = "k < l"

static const glow_rule rules[] = {
    GLOW_RULE("(Min (Max x k) l)", "(Clip{Min k, Max l} x)", BOUNDS),
    GLOW_RULE("(Max (Min x l) k)", "(Clip{Min k, Max l} x)", BOUNDS),
    GLOW_RULE("(Min (Relu x) k)", "(Clip{Min 0, Max k} x)", .inexact = ZERO,
              .when = k_fits_above, .where = "k > 0"),
    GLOW_RULE("(Relu (Min x k))", "(Clip{Min 0, Max k} x)", .inexact = ZERO,
              .when = k_fits_above, .where = "k > 0"),
    GLOW_RULE("(Max x (Mul x k))", "(LeakyRelu{Alpha k} x)", .kinds = FLOATS,
              .when = k_is_slope, .where = "0 < k < 1"),
    GLOW_RULE("(Min x (Mul x k))", "(LeakyRelu{Alpha k} x)", .kinds = FLOATS,
              .when = k_is_steep, .where = "k > 1"),
    GLOW_RULE("(Select (CmpLT x 0) (Mul x k) x)", "(LeakyRelu{Alpha k} x)",
              .kinds = FLOATS, .when = k_fits, .where = "k is a float"),
    GLOW_RULE("(Select (CmpLT x 0) (Mul x y) x)", "(PRelu x y)"),
    GLOW_RULE("(Sub (Relu x) (Mul (Relu (Neg x)) k))", "(LeakyRelu{Alpha k} x)",
              .kinds = FLOATS, .inexact = ZERO, .when = k_fits,
              .where = "k is a float"),
    GLOW_RULE("(Sub (Relu x) (Mul (Relu (Neg x)) y))", "(PRelu x y)",
              .kinds = FLOATS, .inexact = ZERO),
    GLOW_RULE("(PRelu x k)", "(LeakyRelu{Alpha k} x)", .kinds = FLOATS,
              .when = k_fits, .where = "k is a float",
              .ends = "one operand less"),
    GLOW_RULE("(Div 1 (Sqrt x))", "(Rsqrt x)", .inexact = "rounds once"),
    GLOW_RULE("(Reciprocal (Sqrt x))", "(Rsqrt x)", .inexact = "rounds once"),
    {0},
};

const glow_pass glow_pass_recognize_piecewise = {
    .name = "recognize-piecewise",
    .summary = "recognize Clip, LeakyRelu, PRelu and other piecewise functions",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .rules = rules,
    .run = glow_run_rules,
};
