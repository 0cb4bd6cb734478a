/*
 * reduce-strength: replace operators by cheaper ones.
 *
 *     Pow(x, 2)          =>  x * x
 *     Pow(x, 1 / 2)      =>  Sqrt(x)
 *     x / c              =>  x * (1 / c)
 *     Exp(x) * Exp(y)    =>  Exp(x + y)
 *     x * (1 / y)        =>  x / y
 *
 * A power takes dozens of operations, a quotient some, a product one.  A
 * quotient by a power of two is the same product, bit for bit; by another
 * constant the product rounds once more, so the quotient stays if a
 * discontinuous operator follows: Floor(41 / 41) is 1, Floor(41 * (1 / 41)) 0.
 * Integers are not divided by shifts, since BitShift rounds down; the compiler
 * of the backend optimizes their division.
 *
 * Models contain powers and quotients: variances are Pow(x, 2), scaled scores a
 * quotient by the root of a size.  Afterwards no Pow by 2, 3, 1/2, -1/2, -1 or
 * -2 is left, and no quotient of floats by a constant without a discontinuous
 * operator behind it.  Glow has no such pass; XLA's algebraic simplifier does
 * this.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/reach.h"
#include "glow/rules.h"

#define FLOATS GLOW_CLASS_FLOAT
#define ONCE_MORE "rounds once more"
#define POWER "Pow rounds otherwise"

/* Sets l = 1 / k if this is exact, in float16 too. */
static bool
is_power_of_two(glow_match *m)
{
    double k = glow_match_number(m, 'k');

    if (!glow_is_exact_divisor(k))
        return false;
    glow_match_set(m, 'l', 1 / k);
    return true;
}

static bool
x_varies(glow_match *m)
{
    return !glow_is_constant_like(glow_match_value(m, 'x'));
}

static bool
y_varies(glow_match *m)
{
    return !glow_is_constant_like(glow_match_value(m, 'y'));
}

#define X_VARIES .when = x_varies, .where = "x is no constant"
#define Y_VARIES .when = y_varies, .where = "y is no constant"

static const glow_rule rules[] = {
    /* Powers. */
    GLOW_RULE("(Pow x 2)", "(Mul x x)", .inexact = POWER,
              .ends = "no Pow is made again"),
    GLOW_RULE("(Pow x 3)", "(Mul x (Mul x x))", .inexact = POWER, .spends = 1,
              .ends = "no Pow is made again"),
    GLOW_RULE("(Pow x 1/2)", "(Sqrt x)", .kinds = FLOATS, .inexact = POWER,
              .ends = "no Pow is made again"),
    GLOW_RULE("(Pow x -1)", "(Div 1 x)", .kinds = FLOATS, .inexact = POWER,
              .ends = "no Pow is made again"),
    GLOW_RULE("(Pow x -2)", "(Div 1 (Mul x x))", .kinds = FLOATS,
              .inexact = POWER, .spends = 1, .ends = "no Pow is made again"),
    GLOW_RULE("(Pow x -1/2)", "(Div 1 (Sqrt x))", .kinds = FLOATS,
              .inexact = POWER, .spends = 1, .ends = "no Pow is made again"),
    GLOW_RULE("(Sqrt (Mul x x))", "(Abs x)", .kinds = FLOATS,
              .inexact = "x * x may over- and underflow"),
    /* Quotients. */
    GLOW_RULE("(Div x k)", "(Mul x l)", .kinds = FLOATS,
              .when = is_power_of_two,
              .where = "k is a power of two, and l is 1 / k", .sets = "l",
              .ends = "no quotient is made again"),
    GLOW_RULE("(Div x c)", "(Mul x (Div 1 c))", .kinds = FLOATS, X_VARIES,
              .inexact = ONCE_MORE, .ends = "no quotient is made again"),
    GLOW_RULE("(Mul x (Div 1 y))", "(Div x y)", .kinds = FLOATS, Y_VARIES,
              .inexact = ONCE_MORE),
    GLOW_RULE("(Mul x (Reciprocal y))", "(Div x y)", .inexact = ONCE_MORE),
    GLOW_RULE("(Div x (Reciprocal y))", "(Mul x y)", .inexact = ONCE_MORE),
    GLOW_RULE("(Div x (Div 1 y))", "(Mul x y)", .kinds = FLOATS,
              .inexact = ONCE_MORE),
    GLOW_RULE("(Reciprocal (Reciprocal x))", "x", .inexact = ONCE_MORE),
    GLOW_RULE("(Reciprocal (Div x y))", "(Div y x)", .inexact = ONCE_MORE),
    /* Exponentials. */
    GLOW_RULE("(Mul (Exp x) (Exp y))", "(Exp (Add x y))",
              .inexact = "one exponential may overflow where two do not"),
    GLOW_RULE("(Div (Exp x) (Exp y))", "(Exp (Sub x y))",
              .inexact = "one exponential may overflow where two do not"),
    {0},
};

const glow_pass glow_pass_reduce_strength = {
    .name = "reduce-strength",
    .summary = "replace powers and quotients by products",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .rules = rules,
    .run = glow_run_rules,
    .source = "Allen, Cocke, Kennedy, Reduction of Operator Strength, 1981; "
              "XLA AlgebraicSimplifier",
};
