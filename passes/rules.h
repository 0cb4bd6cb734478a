/* Tables of rewrite rules, parsed, checked and indexed by operator. */

#ifndef GLOW_PASSES_RULES_H
#define GLOW_PASSES_RULES_H

#include "glow/rules.h"

#define RULE_OPERANDS 4
#define RULE_ATTRS 4
#define RULE_SWAPS 5 /* commutative operators in one rule */

typedef enum term_kind {
    TERM_NUMBER,
    TERM_SCALAR,   /* a letter for a number */
    TERM_CONSTANT, /* a letter for a constant */
    TERM_VALUE,    /* any other letter */
    TERM_NODE,
} term_kind;

typedef struct term_attr {
    const glow_field *field;
    int letter; /* 0 to 25; -1: `number` */
    double number;
} term_attr;

typedef struct term term;
struct term {
    term_kind kind;
    int letter;
    double number;
    const glow_op *op;
    const term *in[RULE_OPERANDS];
    int n_in;
    term_attr attrs[RULE_ATTRS];
    int n_attrs;
    int swap;         /* number among commutative operators; -1: none */
    int position;     /* of a node on the left: its index in glow_match.node */
    bool is_kept;     /* a node on the left that the right side reuses */
    const term *same; /* a node on the right: the reused node, or NULL */
};

/* Features of the operands of the root; see rules.c. */
enum {
    HAS_SPLAT = 1,
    HAS_CONSTANT = 2,
    HAS_EQUAL = 4, /* the first two operands are one value */
    HAS_OP = 8,    /* and its higher bits: defined by that operator */
};

typedef struct rule rule;
struct rule {
    const glow_rule *from;
    const term *left, *right;
    int swaps;       /* commutative operators on the left */
    int nodes;       /* operators on the left */
    int size;        /* nodes to build, without those of constants alone */
    uint32_t varies; /* letters that must not be constants; see read_rule */
    uint32_t needs;
    bool breaks_quotient; /* inexact, with a Div or Reciprocal on the left */
    rule *next;           /* of the same root, in the order of the table */
};

/* The rules of one operator. */
typedef struct bucket {
    const glow_op *op;
    rule *first;
    const glow_op *inner[28]; /* HAS_OP << i: an operand is defined by this
                               * operator */
    int n_inner;
    uint32_t needs; /* of all rules */
} bucket;

typedef struct rule_set {
    const rule *rules; /* all of them, as in the table */
    int count;
    bucket *buckets; /* a hash table by address: never iterated */
    size_t size;     /* a power of two */
} rule_set;

/* Reads a table, once for each context.  NULL after a report. */
const rule_set *glow_rules_of(glow_context *ctx, const glow_pass *p);
/* The bucket of `op`, or NULL. */
const bucket *glow_rules_for(const rule_set *s, const glow_op *op);

/* Parses one term; NULL, with *wrong set, on an error. */
const term *glow_rule_read(glow_context *ctx, const char *text,
                           const char **wrong);

/* Sets *m if the rule matches at `n`. */
bool glow_rule_matches(const rule *r, glow_node *n, glow_match *m);
/* Builds the replacement; NULL if it has another type. */
glow_value *glow_rule_build(const rule *r, glow_builder *b,
                            const glow_match *m);

/* True if all letters of `t` are bound to constants. */
bool glow_term_is_constant(const term *t);

#endif
