/*
 * simplify-clamp: intersect bounds, and drop redundant ones.
 *
 *     Clip(Clip(x, k, l), a, b)       =>  Clip(x, ...)
 *     Clip(Relu(x), -1, 6)            =>  Clip(x, 0, 6)
 *     Max(x, 0)                       =>  Relu(x)
 *     Max(Max(x, c), d)               =>  Max(x, Max(c, d))
 *     Relu(Sigmoid(x))                =>  Sigmoid(x)
 *
 * Bounds are intersected; if the intersection is empty, the outer bound
 * decides, as before. glow_range_of gives the range of a value, also through
 * layout operators.  NaN goes through every one of these operators and stays
 * NaN.  Max(x, 0) is 0 for -0 where Relu keeps it: rules that mix the two may
 * change the sign of a zero, and say so.
 *
 * Mobile networks write Relu6 in each of these ways, and quantizers and
 * precision conversion leave bounds behind.  Glow's OptimizeClips and ClipRelu
 * do the first two, but not Relu of Clip, and RemoveIdentityRelu and
 * RemoveIdentityClip use the ranges of quantized types alone.
 */

#include <math.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/range.h"
#include "glow/rules.h"

#define FLOATS GLOW_CLASS_FLOAT
#define INTS GLOW_CLASS_INT
#define ZERO "a zero may have another sign"

/* min(max(v, lo), hi) */
static double
clip(double v, double lo, double hi)
{
    return fmin(fmax(v, lo), hi);
}

/*
 * Sets the bounds of a Clip; false if they are not representable as float, or
 * -0.
 */
static bool
set_bounds(glow_match *m, double lo, double hi)
{
    glow_match_set(m, 'n', lo == 0 ? 0 : lo);
    glow_match_set(m, 'm', hi == 0 ? 0 : hi);
    return (double)(float)lo == lo && (double)(float)hi == hi;
}

static bool
clip_of_clip(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');
    double k = glow_match_number(m, 'k'), l = glow_match_number(m, 'l');

    return a <= b && k <= l && set_bounds(m, clip(k, a, b), clip(l, a, b));
}

/* Relu is a Clip from 0. */
static bool
clip_of_relu(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');

    return a <= b && set_bounds(m, clip(0, a, b), b);
}

static bool
relu_of_clip(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');

    return a < 0 && a <= b && set_bounds(m, 0, fmax(b, 0));
}

static bool
a_is_positive(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');

    return a <= b && a >= 0 && !signbit(a);
}

static bool
clip_of_max(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');

    return a <= b && set_bounds(m, clip(glow_match_number(m, 'k'), a, b), b);
}

static bool
clip_of_min(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');

    return a <= b && set_bounds(m, a, clip(glow_match_number(m, 'k'), a, b));
}

static bool
max_of_clip(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');
    double k = glow_match_number(m, 'k');

    return a <= b && set_bounds(m, fmax(a, k), fmax(b, k));
}

static bool
min_of_clip(glow_match *m)
{
    double a = glow_match_number(m, 'a'), b = glow_match_number(m, 'b');
    double k = glow_match_number(m, 'k');

    return a <= b && set_bounds(m, fmin(a, k), fmin(b, k));
}

static bool
k_is_positive(glow_match *m)
{
    return glow_match_number(m, 'k') > 0;
}

static bool
k_is_negative(glow_match *m)
{
    return glow_match_number(m, 'k') < 0;
}

static glow_range
range_of_x(const glow_match *m)
{
    return glow_range_of(glow_match_value(m, 'x'));
}

static bool
x_is_nonnegative(glow_match *m)
{
    return range_of_x(m).lo >= 0;
}

static bool
x_is_from_k(glow_match *m)
{
    return range_of_x(m).lo >= glow_match_number(m, 'k');
}

static bool
x_is_to_k(glow_match *m)
{
    return range_of_x(m).hi <= glow_match_number(m, 'k');
}

static bool
x_is_within(glow_match *m)
{
    glow_range r = range_of_x(m);

    return r.lo >= glow_match_number(m, 'a') &&
           r.hi <= glow_match_number(m, 'b');
}

#define NONNEGATIVE .when = x_is_nonnegative, .where = "x has nothing below 0"
#define POSITIVE .when = k_is_positive, .where = "k > 0"
#define NEGATIVE .when = k_is_negative, .where = "k < 0"
#define BOUNDS .sets = "mn", .inexact = ZERO

static const glow_rule rules[] = {
    /* Equal operands and infinite bounds. */
    GLOW_RULE("(Max x x)", "x"),
    GLOW_RULE("(Min x x)", "x"),
    GLOW_RULE("(Max x -inf)", "x", .kinds = FLOATS),
    GLOW_RULE("(Min x inf)", "x", .kinds = FLOATS),
    GLOW_RULE("(Clip{Min -inf, Max inf} x)", "x"),
    GLOW_RULE("(LeakyRelu{Alpha 1} x)", "x"),
    GLOW_RULE("(PRelu x 1)", "x"),
    /* Operators that are redundant by the range of their operand. */
    GLOW_RULE("(Relu x)", "x", NONNEGATIVE, .example = "(Relu (Exp x))"),
    GLOW_RULE("(Abs x)", "x", NONNEGATIVE, .kinds = FLOATS, .inexact = ZERO,
              .example = "(Abs (Sigmoid x))"),
    GLOW_RULE("(LeakyRelu x)", "x", NONNEGATIVE,
              .example = "(LeakyRelu{Alpha 1/2} (Abs x))"),
    GLOW_RULE("(PRelu x y)", "x", NONNEGATIVE, .kinds = FLOATS,
              .example = "(PRelu (Relu x) y)"),
    GLOW_RULE("(Max x k)", "x", .when = x_is_from_k,
              .where = "x has nothing below k", .inexact = ZERO,
              .example = "(Max (Tanh x) -1)"),
    GLOW_RULE("(Min x k)", "x", .when = x_is_to_k,
              .where = "x has nothing above k", .inexact = ZERO,
              .example = "(Min (Tanh x) 2)"),
    GLOW_RULE("(Clip{Min a, Max b} x)", "x", .when = x_is_within,
              .where = "x has nothing outside a and b", .inexact = ZERO,
              .example = "(Clip{Min 0, Max 1} (Sigmoid x))"),
    GLOW_RULE("(CmpLT x k)", "0", .when = x_is_from_k,
              .where = "x has nothing below k",
              .example = "(CmpLT (Sigmoid x) 0)"),
    /* Relu, Max and Min. */
    GLOW_RULE("(Max x 0)", "(Relu x)", .inexact = ZERO,
              .ends = "Relu stays Relu"),
    GLOW_RULE("(Max x (Neg x))", "(Abs x)", .kinds = FLOATS),
    GLOW_RULE("(Max (Relu x) k)", "(Max x k)", POSITIVE),
    GLOW_RULE("(Relu (Max x k))", "(Max x k)", POSITIVE),
    GLOW_RULE("(Relu (Max x k))", "(Relu x)", NEGATIVE),
    GLOW_RULE("(Relu (LeakyRelu{Alpha k} x))", "(Relu x)", POSITIVE,
              .inexact = ZERO),
    GLOW_RULE("(Max (Relu x) (Relu y))", "(Relu (Max x y))", .inexact = ZERO),
    GLOW_RULE("(Min (Relu x) (Relu y))", "(Relu (Min x y))", .inexact = ZERO),
    GLOW_RULE("(Max x (Max x y))", "(Max x y)"),
    GLOW_RULE("(Min x (Min x y))", "(Min x y)"),
    GLOW_RULE("(Max (Max x c) d)", "(Max x (Max c d))"),
    GLOW_RULE("(Min (Min x c) d)", "(Min x (Min c d))"),
    GLOW_RULE("(Max (Max x c) (Max y d))", "(Max (Max x y) (Max c d))"),
    GLOW_RULE("(Min (Min x c) (Min y d))", "(Min (Min x y) (Min c d))"),
    GLOW_RULE("(Max (Neg x) (Neg y))", "(Neg (Min x y))", .kinds = FLOATS),
    GLOW_RULE("(Min (Neg x) (Neg y))", "(Neg (Max x y))", .kinds = FLOATS),
    /* Clip with each of them. */
    GLOW_RULE("(Clip{Min a, Max b} (Clip{Min k, Max l} x))",
              "(Clip{Min n, Max m} x)", .when = clip_of_clip,
              .where = "n and m are k and l held between a and b", BOUNDS),
    GLOW_RULE("(Clip{Min a, Max b} (Relu x))", "(Clip{Min n, Max m} x)",
              .when = clip_of_relu, .where = "n and m are 0 and b, from a on",
              BOUNDS),
    GLOW_RULE("(Relu (Clip{Min a, Max b} x))", "(Clip{Min a, Max b} x)",
              .when = a_is_positive, .where = "0 <= a <= b"),
    GLOW_RULE("(Relu (Clip{Min a, Max b} x))", "(Clip{Min n, Max m} x)",
              .when = relu_of_clip, .where = "a < 0, and n is 0", BOUNDS),
    GLOW_RULE("(Clip{Min a, Max b} (Max x k))", "(Clip{Min n, Max m} x)",
              .when = clip_of_max, .where = "n is k held between a and b",
              BOUNDS),
    GLOW_RULE("(Clip{Min a, Max b} (Min x k))", "(Clip{Min n, Max m} x)",
              .when = clip_of_min, .where = "m is k held between a and b",
              BOUNDS),
    GLOW_RULE("(Max (Clip{Min a, Max b} x) k)", "(Clip{Min n, Max m} x)",
              .when = max_of_clip, .where = "n and m are a and b from k on",
              BOUNDS),
    GLOW_RULE("(Min (Clip{Min a, Max b} x) k)", "(Clip{Min n, Max m} x)",
              .when = min_of_clip, .where = "n and m are a and b up to k",
              BOUNDS),
    GLOW_RULE("(Clip{Min 0, Max inf} x)", "(Relu x)", .inexact = ZERO,
              .ends = "Relu stays Relu"),
    {0},
};

const glow_pass glow_pass_simplify_clamp = {
    .name = "simplify-clamp",
    .summary = "intersect the bounds of Clip, Relu, Max and Min",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .rules = rules,
    .run = glow_run_rules,
    .source = "interval arithmetic",
};
