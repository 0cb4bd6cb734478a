/*
 * simplify-finite: identities that hold for finite numbers.
 *
 *     x * 0          =>  0
 *     x - x          =>  0
 *     (x + y) - y    =>  x
 *
 * The first two are NaN for an infinite or NaN x, and in the third an x that is
 * small beside y is lost by rounding.  Networks with finite numbers do not see
 * the difference, but a NaN that would have revealed a mistake is gone, so the
 * pass is not in any pipeline.  For integers all of these are exact, and
 * simplify-arithmetic has them.
 *
 * Glow does the first always (OptimizeArithmeticNodes), and 0 / x, which is NaN
 * where x is 0 even among finite numbers and is therefore not done here.
 */

#include "glow/ops.h"
#include "glow/rules.h"

#define FLOATS GLOW_CLASS_FLOAT
#define FINITE "NaN where x is infinite or NaN"
#define SWALLOWED "what y swallows of x comes back"

static const glow_rule rules[] = {
    GLOW_RULE("(Mul x 0)", "0", .kinds = FLOATS, .inexact = FINITE),
    GLOW_RULE("(Mul x -0)", "0", .kinds = FLOATS, .inexact = FINITE),
    GLOW_RULE("(Sub x x)", "0", .kinds = FLOATS, .inexact = FINITE),
    GLOW_RULE("(Add x (Neg x))", "0", .kinds = FLOATS, .inexact = FINITE),
    GLOW_RULE("(Sub (Add x y) y)", "x", .kinds = FLOATS, .inexact = SWALLOWED),
    GLOW_RULE("(Add (Sub x y) y)", "x", .kinds = FLOATS, .inexact = SWALLOWED),
    GLOW_RULE("(Sub x (Sub x y))", "y", .kinds = FLOATS, .inexact = SWALLOWED),
    GLOW_RULE("(Sub x (Add x y))", "(Neg y)", .kinds = FLOATS,
              .inexact = SWALLOWED),
    GLOW_RULE("(Sub (Sub x y) x)", "(Neg y)", .kinds = FLOATS,
              .inexact = SWALLOWED),
    GLOW_RULE("(Log (Exp x))", "x", .inexact = "infinite where Exp overflows"),
    {0},
};

const glow_pass glow_pass_simplify_finite = {
    .name = "simplify-finite",
    .summary = "apply identities of arithmetic that hold for finite numbers",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .rules = rules,
    .run = glow_run_rules,
    .doc = "No pipeline has it: what is NaN may not be NaN any more.",
};
