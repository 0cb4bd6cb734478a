/*
 * simplify-arithmetic: the identities of arithmetic that hold bit for bit.
 *
 *     x * 1, x / 1, x - 0, x + -0, x^1   =>  x
 *     --x                                =>  x
 *     x + -y                             =>  x - y
 *     (x + y) - y, for integers          =>  x
 *
 * Each rule below is exact for the kinds that it names.  For floats, x + 0
 * stays, because -0 + 0 is 0, and so do x * 0 and x - x, which are NaN for an
 * infinite x; simplify-finite rewrites these, and reassociate has rules that
 * round differently.  Integers wrap, so sums may be rearranged freely;
 * quotients may not, since the least integer has no negative.
 *
 * Such nodes come from importers, which write scales of 1 and offsets of 0,
 * from lowering composite operators with such attributes, and from other passes
 * that merge constants.  Glow's OptimizeArithmeticNodes drops x * 0 and 0 / x
 * of floats for any x, and has no rules for negatives; it moves constants to
 * the right, which is not needed here, as both orders match.
 */

#include "glow/ops.h"
#include "glow/rules.h"

#define FLOATS GLOW_CLASS_FLOAT
#define INTS GLOW_CLASS_INT

static const glow_rule rules[] = {
    /* Neutral elements. */
    GLOW_RULE("(Add x -0)", "x", .kinds = FLOATS),
    GLOW_RULE("(Add x 0)", "x", .kinds = INTS),
    GLOW_RULE("(Sub x 0)", "x"),
    GLOW_RULE("(Mul x 1)", "x"),
    GLOW_RULE("(Div x 1)", "x"),
    GLOW_RULE("(Pow x 1)", "x"),
    GLOW_RULE("(MulConst{Lhs 1} x)", "x"),
    /* Constant results. */
    GLOW_RULE("(Mul x 0)", "0", .kinds = INTS),
    GLOW_RULE("(Div 0 x)", "0", .kinds = INTS),
    GLOW_RULE("(Div x 0)", "0", .kinds = INTS),
    GLOW_RULE("(Sub x x)", "0", .kinds = INTS),
    GLOW_RULE("(Pow x 0)", "1"),
    GLOW_RULE("(Pow 1 x)", "1"),
    /* Negatives. */
    GLOW_RULE("(Neg (Neg x))", "x"),
    GLOW_RULE("(Add x (Neg y))", "(Sub x y)"),
    GLOW_RULE("(Sub x (Neg y))", "(Add x y)"),
    GLOW_RULE("(Sub -0 x)", "(Neg x)", .kinds = FLOATS, .ends = "a Neg more"),
    GLOW_RULE("(Sub 0 x)", "(Neg x)", .kinds = INTS, .ends = "a Neg more"),
    GLOW_RULE("(Mul x -1)", "(Neg x)", .ends = "a Neg more"),
    GLOW_RULE("(Div x -1)", "(Neg x)", .ends = "a Neg more"),
    GLOW_RULE("(Neg (Sub x y))", "(Sub y x)", .kinds = INTS),
    GLOW_RULE("(Mul (Neg x) (Neg y))", "(Mul x y)"),
    GLOW_RULE("(Div (Neg x) (Neg y))", "(Div x y)", .kinds = FLOATS),
    GLOW_RULE("(Mul (Neg x) c)", "(Mul x (Neg c))"),
    GLOW_RULE("(Div (Neg x) c)", "(Div x (Neg c))", .kinds = FLOATS),
    GLOW_RULE("(Div c (Neg x))", "(Div (Neg c) x)", .kinds = FLOATS),
    GLOW_RULE("(Neg (Mul x c))", "(Mul x (Neg c))"),
    GLOW_RULE("(Neg (Div x c))", "(Div x (Neg c))", .kinds = FLOATS),
    GLOW_RULE("(Neg (Div c x))", "(Div (Neg c) x)", .kinds = FLOATS),
    GLOW_RULE("(Abs (Neg x))", "(Abs x)", .kinds = FLOATS),
    GLOW_RULE("(Cos (Neg x))", "(Cos x)"),
    GLOW_RULE("(Cosh (Neg x))", "(Cosh x)"),
    /* Sums and differences that cancel. */
    GLOW_RULE("(Sub (Add x y) y)", "x", .kinds = INTS),
    GLOW_RULE("(Add (Sub x y) y)", "x", .kinds = INTS),
    GLOW_RULE("(Sub x (Sub x y))", "y", .kinds = INTS),
    GLOW_RULE("(Sub x (Add x y))", "(Neg y)", .kinds = INTS),
    GLOW_RULE("(Sub (Sub x y) x)", "(Neg y)", .kinds = INTS),
    /* Absolute values. */
    GLOW_RULE("(Mul (Abs x) (Abs x))", "(Mul x x)"),
    GLOW_RULE("(Mul (Abs x) (Abs y))", "(Abs (Mul x y))", .kinds = FLOATS),
    GLOW_RULE("(Div (Abs x) (Abs y))", "(Abs (Div x y))", .kinds = FLOATS),
    /* Idempotent operators; the first of several roundings decides. */
    GLOW_RULE("(Abs (Abs x))", "(Abs x)"),
    GLOW_RULE("(Sign (Sign x))", "(Sign x)"),
    GLOW_RULE("(Ceil (Ceil x))", "(Ceil x)"),
    GLOW_RULE("(Ceil (Floor x))", "(Floor x)"),
    GLOW_RULE("(Ceil (Round x))", "(Round x)"),
    GLOW_RULE("(Ceil (Truncate x))", "(Truncate x)"),
    GLOW_RULE("(Floor (Ceil x))", "(Ceil x)"),
    GLOW_RULE("(Floor (Floor x))", "(Floor x)"),
    GLOW_RULE("(Floor (Round x))", "(Round x)"),
    GLOW_RULE("(Floor (Truncate x))", "(Truncate x)"),
    GLOW_RULE("(Round (Ceil x))", "(Ceil x)"),
    GLOW_RULE("(Round (Floor x))", "(Floor x)"),
    GLOW_RULE("(Round (Round x))", "(Round x)"),
    GLOW_RULE("(Round (Truncate x))", "(Truncate x)"),
    GLOW_RULE("(Truncate (Ceil x))", "(Ceil x)"),
    GLOW_RULE("(Truncate (Floor x))", "(Floor x)"),
    GLOW_RULE("(Truncate (Round x))", "(Round x)"),
    GLOW_RULE("(Truncate (Truncate x))", "(Truncate x)"),
    {0},
};

const glow_pass glow_pass_simplify_arithmetic = {
    .name = "simplify-arithmetic",
    .summary = "apply identities of arithmetic that hold bit for bit",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .rules = rules,
    .run = glow_run_rules,
    .source = "IEEE 754-2019",
};
