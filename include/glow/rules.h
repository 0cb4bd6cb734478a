/*
 * Rules: identities as data, in the pass that owns them.
 *
 *     static const glow_rule rules[] = {
 *         GLOW_RULE("(Add x (Neg y))", "(Sub x y)"),
 *         GLOW_RULE("(Mul x 1)", "x"),
 *         GLOW_RULE("(Add x 0)", "x", .inexact = "-0 + 0 is 0"),
 *         {0},
 *     };
 *     const glow_pass glow_pass_mine = {.rules = rules, .run = glow_run_rules};
 *
 * A term is a number, a letter, or an operator with its operands in order:
 *
 *     (Name{Attr a, Attr 6} x 1)
 *
 * Numbers are integers, quotients (1/2) and inf, with a sign; -0 is not 0.  As
 * an operand a number is a tensor of that number alone (glow_splat_value).
 * The letter tells the terms it matches:
 *
 *     a b k l m n   a number: of an attribute, or all elements of an operand
 *     c d e         a value for which glow_is_constant_like holds
 *     others        any value
 *
 * and is the same wherever the letter stands.  Attributes that `from` leaves out
 * may be anything; those that `to` leaves out are the default.  A term of
 * `to` that occurs in `from` is that node itself.  Both orders of the operands of
 * a commutative operator are tried.
 *
 * A rule fires if
 *   - no node of `from` has a predicate, and no value is quantized or strided;
 *   - the value of `x` is of `kinds`, and `when` holds;
 *   - the type stays the same;
 *   - it is exact, or glow_run_is_exact does not hold;
 *   - if it is inexact and `from` has a Div or a Reciprocal, no discontinuous
 *     operator is behind the root: see reach.h;
 *   - it adds no work: nodes of `from` with other uses stay, and
 *     `to` has at most as many nodes as go; fewer, if the rule is inexact and
 *     does not say how it ends.  Nodes of constants alone count for nothing,
 *     since they are folded; a rule that makes some is not for values that are
 *     all constant.
 * The first that fires is taken, in the order of the table.
 *
 * Each table is read once, at its first use: E0410 reports an invalid one.
 * test/unit/test_rules.c holds every rule of every registered pass to what it
 * says: both sides are evaluated on each element kind that the operators take.
 */

#ifndef GLOW_RULES_H
#define GLOW_RULES_H

#include "glow/pass.h"

GLOW_BEGIN

#define GLOW_RULE_NODES 12 /* operators in a `from` */

/* The values of the letters of a rule, at v[letter - 'a']. */
typedef struct glow_match {
    glow_node *root;
    glow_value *value[26]; /* NULL: none, or the number of an attribute */
    double number[26];
    uint32_t is_bound; /* a bit for each letter */
    glow_value
        *node[GLOW_RULE_NODES]; /* of the operators in `from`, in order */
} glow_match;

/*
 * Asked last.  May give letters that `to` alone has a number, by
 * glow_match_set.
 */
typedef bool (*glow_rule_fn)(glow_match *m);

typedef struct glow_rule {
    const char *from; /* NULL ends a table */
    const char *to;   /* the replacement */
    int kinds;        /* of x: GLOW_CLASS_FLOAT, ...; 0: all three of them */
    const char
        *inexact; /* NULL: equal bit for bit; else the permitted difference */
    glow_rule_fn when;   /* or NULL */
    const char *where;   /* `when` as a sentence, for the docs */
    const char *sets;    /* the letters that it gives a number: "ab" */
    const char *example; /* a term of the form of `from` for which `when`
                             holds, where random operands will not do */
    int spends;          /* nodes that it may add, as those removed cost more */
    const char *ends;    /* why rewriting ends although `to` is not smaller */
} glow_rule;

/* A row of a table: both sides, and designated members. */
#define GLOW_RULE(from_, ...) {.from = (from_), .to = __VA_ARGS__}

GLOW_API glow_value *glow_match_value(const glow_match *m, char letter);
GLOW_API double glow_match_number(const glow_match *m, char letter);
GLOW_API void glow_match_set(glow_match *m, char letter, double number);
/* The element kind of `x`. */
GLOW_API glow_kind glow_match_kind(const glow_match *m);

/* The `run` of a pass that is its rules. */
GLOW_API glow_result glow_run_rules(glow_pass_run *run, glow_func *f);

/* A line of Markdown for each rule. */
GLOW_API void glow_buf_rules(glow_buf *b, const glow_rule *rules);

GLOW_END

#endif
