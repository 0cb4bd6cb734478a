/*
 * simplify-logic: identities of truth values, comparisons, selections and bits.
 *
 *     not not p               =>  p
 *     not (x < y), integers   =>  y <= x
 *     select p (x, x)         =>  x
 *     select (x < 0) (0, x)   =>  Relu(x)
 *     x & -1                  =>  x
 *
 * All of them are exact.  For floats not (x < y) is not y <= x, since both are
 * false for NaN; the rules for floats hold for NaN too.  A Select that computes
 * Min or Max is rewritten for integers alone: Max of -0 and 0 is 0.
 *
 * Masks of attention, padding and loops are made of such nodes; importers write
 * GreaterOrEqual and similar operators as Not and CmpLT.  Glow's EliminateNoop
 * handles a Select by a constant, and nothing else.
 */

#include "glow/ops.h"
#include "glow/rules.h"

#define FLOATS GLOW_CLASS_FLOAT
#define INTS GLOW_CLASS_INT
#define BOOLS GLOW_CLASS_BOOL

static const glow_rule rules[] = {
    /* Truth values. */
    GLOW_RULE("(Not (Not x))", "x"),
    GLOW_RULE("(And x x)", "x"),
    GLOW_RULE("(And x 1)", "x"),
    GLOW_RULE("(And x 0)", "0"),
    GLOW_RULE("(And x (Not x))", "0"),
    GLOW_RULE("(And x (Or x y))", "x"),
    GLOW_RULE("(And x (And x y))", "(And x y)"),
    GLOW_RULE("(And (Not x) (Not y))", "(Not (Or x y))"),
    GLOW_RULE("(And (And x c) d)", "(And x (And c d))"),
    GLOW_RULE("(Or x x)", "x"),
    GLOW_RULE("(Or x 0)", "x"),
    GLOW_RULE("(Or x 1)", "1"),
    GLOW_RULE("(Or x (Not x))", "1"),
    GLOW_RULE("(Or x (And x y))", "x"),
    GLOW_RULE("(Or x (Or x y))", "(Or x y)"),
    GLOW_RULE("(Or (Not x) (Not y))", "(Not (And x y))"),
    GLOW_RULE("(Or (Or x c) d)", "(Or x (Or c d))"),
    GLOW_RULE("(Xor x 0)", "x"),
    GLOW_RULE("(Xor x 1)", "(Not x)", .ends = "a Not more"),
    GLOW_RULE("(Xor x x)", "0"),
    GLOW_RULE("(Xor x (Not x))", "1"),
    GLOW_RULE("(Xor x (Xor x y))", "y"),
    GLOW_RULE("(Xor (Not x) (Not y))", "(Xor x y)"),
    GLOW_RULE("(Not (Xor (Not x) y))", "(Xor x y)"),
    /* Comparisons. */
    GLOW_RULE("(Not (CmpEQ x y))", "(CmpNEQ x y)"),
    GLOW_RULE("(Not (CmpNEQ x y))", "(CmpEQ x y)"),
    GLOW_RULE("(Not (CmpLT x y))", "(CmpLTE y x)", .kinds = INTS),
    GLOW_RULE("(Not (CmpLTE x y))", "(CmpLT y x)", .kinds = INTS),
    GLOW_RULE("(CmpEQ x x)", "1", .kinds = INTS | BOOLS),
    GLOW_RULE("(CmpNEQ x x)", "0", .kinds = INTS | BOOLS),
    GLOW_RULE("(CmpLT x x)", "0"),
    GLOW_RULE("(CmpLTE x x)", "1", .kinds = INTS),
    GLOW_RULE("(CmpEQ x 1)", "x", .kinds = BOOLS),
    GLOW_RULE("(CmpEQ x 0)", "(Not x)", .kinds = BOOLS, .ends = "a Not more"),
    GLOW_RULE("(CmpNEQ x 0)", "x", .kinds = BOOLS),
    GLOW_RULE("(CmpNEQ x 1)", "(Not x)", .kinds = BOOLS, .ends = "a Not more"),
    GLOW_RULE("(Or (CmpLT x y) (CmpEQ x y))", "(CmpLTE x y)"),
    GLOW_RULE("(And (CmpLTE x y) (CmpNEQ x y))", "(CmpLT x y)"),
    GLOW_RULE("(And (CmpLTE x y) (CmpLTE y x))", "(CmpEQ x y)"),
    GLOW_RULE("(CmpEQ (Neg x) (Neg y))", "(CmpEQ x y)"),
    GLOW_RULE("(CmpNEQ (Neg x) (Neg y))", "(CmpNEQ x y)"),
    GLOW_RULE("(CmpLT (Neg x) (Neg y))", "(CmpLT y x)", .kinds = FLOATS),
    GLOW_RULE("(CmpLTE (Neg x) (Neg y))", "(CmpLTE y x)", .kinds = FLOATS),
    GLOW_RULE("(CmpEQ (Add x c) d)", "(CmpEQ x (Sub d c))", .kinds = INTS),
    GLOW_RULE("(CmpNEQ (Add x c) d)", "(CmpNEQ x (Sub d c))", .kinds = INTS),
    /* Selections. */
    GLOW_RULE("(Select p x x)", "x"),
    GLOW_RULE("(Select 1 x y)", "x"),
    GLOW_RULE("(Select 0 x y)", "y"),
    GLOW_RULE("(Select (Not p) x y)", "(Select p y x)"),
    GLOW_RULE("(Select p (Select p x y) z)", "(Select p x z)"),
    GLOW_RULE("(Select p x (Select p y z))", "(Select p x z)"),
    GLOW_RULE("(Select x 1 0)", "x"),
    GLOW_RULE("(Select p 0 x)", "(And (Not p) x)", .kinds = BOOLS, .spends = 1,
              .ends = "no Select is made again"),
    GLOW_RULE("(Select p x 0)", "(And p x)", .kinds = BOOLS,
              .ends = "no Select is made again"),
    GLOW_RULE("(Select p 1 x)", "(Or p x)", .kinds = BOOLS,
              .ends = "no Select is made again"),
    GLOW_RULE("(Select (CmpLT x y) x y)", "(Min x y)", .kinds = INTS),
    GLOW_RULE("(Select (CmpLT x y) y x)", "(Max x y)", .kinds = INTS),
    GLOW_RULE("(Select (CmpLTE x y) x y)", "(Min x y)", .kinds = INTS),
    GLOW_RULE("(Select (CmpLTE x y) y x)", "(Max x y)", .kinds = INTS),
    GLOW_RULE("(Select (CmpLT x 0) 0 x)", "(Relu x)"),
    GLOW_RULE("(Select (CmpLT x 0) (Neg x) x)", "(Abs x)", .kinds = INTS),
    GLOW_RULE("(Select (CmpEQ x y) x y)", "y", .kinds = INTS | BOOLS),
    GLOW_RULE("(Select (CmpNEQ x y) x y)", "x", .kinds = INTS | BOOLS),
    /* Bits. */
    GLOW_RULE("(BitwiseNot (BitwiseNot x))", "x"),
    GLOW_RULE("(BitwiseAnd x x)", "x"),
    GLOW_RULE("(BitwiseAnd x 0)", "0"),
    GLOW_RULE("(BitwiseAnd x -1)", "x"),
    GLOW_RULE("(BitwiseAnd x (BitwiseOr x y))", "x"),
    GLOW_RULE("(BitwiseAnd (BitwiseAnd x c) d)",
              "(BitwiseAnd x (BitwiseAnd c d))"),
    GLOW_RULE("(BitwiseAnd (BitwiseNot x) (BitwiseNot y))",
              "(BitwiseNot (BitwiseOr x y))"),
    GLOW_RULE("(BitwiseOr x x)", "x"),
    GLOW_RULE("(BitwiseOr x 0)", "x"),
    GLOW_RULE("(BitwiseOr x -1)", "-1"),
    GLOW_RULE("(BitwiseOr x (BitwiseAnd x y))", "x"),
    GLOW_RULE("(BitwiseOr (BitwiseOr x c) d)", "(BitwiseOr x (BitwiseOr c d))"),
    GLOW_RULE("(BitwiseOr (BitwiseNot x) (BitwiseNot y))",
              "(BitwiseNot (BitwiseAnd x y))"),
    GLOW_RULE("(BitwiseXor x x)", "0"),
    GLOW_RULE("(BitwiseXor x 0)", "x"),
    GLOW_RULE("(BitwiseXor x -1)", "(BitwiseNot x)",
              .ends = "a BitwiseNot more"),
    GLOW_RULE("(BitwiseXor x (BitwiseXor x y))", "y"),
    GLOW_RULE("(BitwiseXor (BitwiseXor x c) d)",
              "(BitwiseXor x (BitwiseXor c d))"),
    GLOW_RULE("(BitwiseXor (BitwiseNot x) (BitwiseNot y))", "(BitwiseXor x y)"),
    GLOW_RULE("(BitShift x 0)", "x"),
    {0},
};

const glow_pass glow_pass_simplify_logic = {
    .name = "simplify-logic",
    .summary = "apply identities of truth values, comparisons and bits",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .rules = rules,
    .run = glow_run_rules,
    .source = "Boolean algebra; IEEE 754-2019 for what NaN keeps",
};
