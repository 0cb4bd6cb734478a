/*
 * reassociate: bring the constants of sums and products together.
 *
 *     (x + c) + d          =>  x + (c + d)
 *     (x * c) / d          =>  x * (c / d)
 *     (x + c) + (y + d)    =>  (x + y) + (c + d)
 *     x * y + x * z        =>  x * (y + z)
 *     x + 0                =>  x
 *
 * c and d are constants, and expressions of them alone are evaluated at once,
 * as by fold-constants: each rule leaves one node less.  The order of roundings
 * changes, and with it the last bits, the sign of a zero, and and the overflow
 * of intermediate sums and products; NaN and infinities for other reasons stay.
 * Integers wrap, so for them all rules are exact except division, which is left
 * alone.
 *
 * Such chains come from normalization in steps, (x / 255 - mean) / deviation,
 * from scales before and after attention, and from lowering.  Glow merges
 * chains only next to convolution and batch normalization; LLVM and XLA have
 * the same rules for scalars and tensors.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/rules.h"

#define FLOATS GLOW_CLASS_FLOAT
#define ORDER "roundings in another order"
#define ZERO "a zero may have another sign"

static bool
x_varies(glow_match *m)
{
    return !glow_is_constant_like(glow_match_value(m, 'x'));
}

#define X_VARIES .when = x_varies, .where = "x is no constant"

static const glow_rule rules[] = {
    /* Zeros, whose signs do not matter here. */
    GLOW_RULE("(Add x 0)", "x", .kinds = FLOATS, .inexact = ZERO),
    GLOW_RULE("(Sub x -0)", "x", .kinds = FLOATS, .inexact = ZERO),
    GLOW_RULE("(Sub 0 x)", "(Neg x)", .kinds = FLOATS, .inexact = ZERO,
              .ends = "a Neg more"),
    GLOW_RULE("(Neg (Sub x y))", "(Sub y x)", .kinds = FLOATS, .inexact = ZERO),
    /* Sums. */
    GLOW_RULE("(Add (Add x c) d)", "(Add x (Add c d))", .inexact = ORDER),
    GLOW_RULE("(Add (Sub x c) d)", "(Add x (Sub d c))", .inexact = ORDER),
    GLOW_RULE("(Add (Sub c x) d)", "(Sub (Add c d) x)", .inexact = ORDER),
    GLOW_RULE("(Sub (Add x c) d)", "(Add x (Sub c d))", .inexact = ORDER),
    GLOW_RULE("(Sub (Sub x c) d)", "(Sub x (Add c d))", .inexact = ORDER),
    GLOW_RULE("(Sub (Sub c x) d)", "(Sub (Sub c d) x)", .inexact = ORDER),
    GLOW_RULE("(Sub c (Add x d))", "(Sub (Sub c d) x)", .inexact = ORDER),
    GLOW_RULE("(Sub c (Sub x d))", "(Sub (Add c d) x)", .inexact = ORDER),
    GLOW_RULE("(Sub c (Sub d x))", "(Add x (Sub c d))", .inexact = ORDER),
    GLOW_RULE("(Neg (Add x c))", "(Sub (Neg c) x)", .inexact = ORDER),
    GLOW_RULE("(Add (Add x c) (Add y d))", "(Add (Add x y) (Add c d))",
              .inexact = ORDER),
    GLOW_RULE("(Sub (Add x c) (Add y d))", "(Add (Sub x y) (Sub c d))",
              .inexact = ORDER),
    /*
     * Products. x must not be constant: rewriting quotients of constants would
     * not terminate.
     */
    GLOW_RULE("(Mul (Mul x c) d)", "(Mul x (Mul c d))", .inexact = ORDER),
    GLOW_RULE("(Mul (Mul x c) (Mul y d))", "(Mul (Mul x y) (Mul c d))",
              .inexact = ORDER),
    GLOW_RULE("(Mul (Div x c) d)", "(Mul x (Div d c))", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    GLOW_RULE("(Mul (Div c x) d)", "(Div (Mul c d) x)", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    GLOW_RULE("(Div (Mul x c) d)", "(Mul x (Div c d))", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    GLOW_RULE("(Div (Div x c) d)", "(Div x (Mul c d))", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    GLOW_RULE("(Div (Div c x) d)", "(Div (Div c d) x)", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    GLOW_RULE("(Div c (Mul x d))", "(Div (Div c d) x)", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    GLOW_RULE("(Div c (Div x d))", "(Div (Mul c d) x)", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    GLOW_RULE("(Div c (Div d x))", "(Mul x (Div c d))", .kinds = FLOATS,
              X_VARIES, .inexact = ORDER),
    /* Common factors. */
    GLOW_RULE("(Add (Mul x y) (Mul x z))", "(Mul x (Add y z))",
              .inexact = ORDER),
    GLOW_RULE("(Sub (Mul x y) (Mul x z))", "(Mul x (Sub y z))",
              .inexact = ORDER),
    GLOW_RULE("(Add (Mul x c) x)", "(Mul x (Add c 1))", .inexact = ORDER),
    GLOW_RULE("(Sub (Mul x c) x)", "(Mul x (Sub c 1))", .inexact = ORDER),
    GLOW_RULE("(Sub x (Mul x c))", "(Mul x (Sub 1 c))", .inexact = ORDER),
    GLOW_RULE("(Add (Div x z) (Div y z))", "(Div (Add x y) z)", .kinds = FLOATS,
              .inexact = ORDER),
    GLOW_RULE("(Sub (Div x z) (Div y z))", "(Div (Sub x y) z)", .kinds = FLOATS,
              .inexact = ORDER),
    {0},
};

/*
 * A chain of n constants takes log n rounds: each combines pairs.  Expressions
 * of constants are evaluated first, since two constants matched as x and c
 * could be exchanged forever.
 */
static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const glow_pass *fold =
        glow_find_pass(glow_run_context(pass), "fold-constants");
    glow_result result = GLOW_UNCHANGED, round;

    do {
        round = glow_run_part(pass, fold, f, NULL);
        if (round == GLOW_FAILED)
            return round;
        result = round == GLOW_CHANGED ? round : result;
        round = glow_run_rules(pass, f);
        result = round == GLOW_CHANGED ? round : result;
    } while (round == GLOW_CHANGED);
    return round == GLOW_FAILED ? round : result;
}

const glow_pass glow_pass_reassociate = {
    .name = "reassociate",
    .summary = "bring the constants of sums and products together",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .rules = rules,
    .run = run,
    .source = "LLVM Reassociate and InstCombine; XLA AlgebraicSimplifier",
};
