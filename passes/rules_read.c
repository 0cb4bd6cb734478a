/*
 * Parser of rewrite rules, by recursive descent; static checks; index by
 * operator.
 */

#include <math.h>
#include <string.h>

#include "glow/ops.h"
#include "ir/base/context.h"
#include "passes/rules.h"

typedef struct reader {
    glow_context *ctx;
    const char *at;
    const char *wrong; /* the first error, or NULL */
} reader;

static const term *read_term(reader *r);

static void *
fail(reader *r, const char *wrong)
{
    if (!r->wrong)
        r->wrong = wrong;
    return NULL;
}

static void
skip_blanks(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool
take(reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static bool
is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_name(char c)
{
    return is_letter(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.';
}

static term_kind
kind_of_letter(char c)
{
    if (strchr("abklmn", c))
        return TERM_SCALAR;
    return strchr("cde", c) ? TERM_CONSTANT : TERM_VALUE;
}

/* A name of at most 63 bytes; empty if there is none. */
static void
read_name(reader *r, char name[64])
{
    size_t n = 0;

    skip_blanks(r);
    while (is_name(*r->at) && n < 63)
        name[n++] = *r->at++;
    name[n] = 0;
}

static double
read_digits(reader *r)
{
    double v = 0;

    if (!is_digit(*r->at))
        fail(r, "a number, a letter or `(` was expected");
    while (is_digit(*r->at))
        v = 10 * v + (*r->at++ - '0');
    return v;
}

static double
read_number(reader *r)
{
    double sign = take(r, '-') ? -1 : 1, v;

    if (strncmp(r->at, "inf", 3) == 0) {
        r->at += 3;
        return sign * INFINITY;
    }
    v = read_digits(r);
    if (*r->at == '/') {
        r->at++;
        v /= read_digits(r);
    }
    return sign * v;
}

static bool
is_lone_letter(const char *at)
{
    return is_letter(at[0]) && !is_name(at[1]);
}

/* True for attributes that are numbers. */
static bool
is_numeric(const glow_field *f)
{
    return f->kind == GLOW_INT || f->kind == GLOW_INT64 ||
           f->kind == GLOW_FLOAT32 || f->kind == GLOW_ENUM ||
           f->kind == GLOW_FLAG;
}

static void
read_attrs(reader *r, term *t)
{
    do {
        char name[64];
        term_attr *a = &t->attrs[t->n_attrs++];

        read_name(r, name);
        a->field = glow_schema_find(glow_op_schema(t->op), name);
        if (!a->field || !is_numeric(a->field)) {
            fail(r, "the operator has no such number as attribute");
            return;
        }
        skip_blanks(r);
        a->letter = -1;
        if (!is_lone_letter(r->at))
            a->number = read_number(r);
        else if (kind_of_letter(*r->at) == TERM_SCALAR)
            a->letter = *r->at++ - 'a';
        else
            fail(r, "the letter of an attribute stands for a value");
    } while (take(r, ',') && t->n_attrs < RULE_ATTRS);
    if (!take(r, '}'))
        fail(r, "`}` was expected");
}

/*
 * True if the number of operands is that of the definition, or an operand is
 * variadic.
 */
static bool
has_arity(const term *t)
{
    return glow_op_variadic(t->op) < 0 && t->n_in == glow_op_operands(t->op) &&
           glow_op_results(t->op) == 1;
}

static const term *
read_node(reader *r)
{
    term *t = GLOW_NEW(r->ctx->arena, term);
    char name[64];

    *t = (term){.kind = TERM_NODE, .swap = -1};
    read_name(r, name);
    t->op = glow_find_op(r->ctx, name);
    if (!t->op)
        return fail(r, "no operator has this name");
    if (take(r, '{'))
        read_attrs(r, t);
    while (!take(r, ')')) {
        if (t->n_in == RULE_OPERANDS)
            return fail(r, "`)` was expected");
        t->in[t->n_in++] = read_term(r);
        if (r->wrong)
            return NULL;
    }
    return has_arity(t) ? t : fail(r, "the operator has more or less operands");
}

static const term *
read_term(reader *r)
{
    if (take(r, '('))
        return read_node(r);

    term *t = GLOW_NEW(r->ctx->arena, term);

    *t = (term){.kind = TERM_NUMBER, .swap = -1};
    skip_blanks(r);
    if (is_lone_letter(r->at)) {
        t->kind = kind_of_letter(*r->at);
        t->letter = *r->at++ - 'a';
    } else {
        t->number = read_number(r);
    }
    return t;
}

const term *
glow_rule_read(glow_context *ctx, const char *text, const char **wrong)
{
    reader r = {.ctx = ctx, .at = text};
    const term *t = read_term(&r);

    skip_blanks(&r);
    if (!r.wrong && *r.at)
        fail(&r, "something stands behind the term");
    if (r.wrong && wrong)
        *wrong = r.wrong;
    return r.wrong ? NULL : t;
}

/* Static checks and properties of rules. */

bool
glow_term_is_constant(const term *t)
{
    if (t->kind != TERM_NODE)
        return t->kind != TERM_VALUE;
    for (int i = 0; i < t->n_in; i++)
        if (!glow_term_is_constant(t->in[i]))
            return false;
    return true;
}

/* The number of nodes to build, without nodes of constants and reused nodes. */
static int
size_of(const term *t)
{
    int size = t->kind == TERM_NODE && !glow_term_is_constant(t);

    for (int i = 0; i < t->n_in && !t->same; i++)
        size += size_of(t->in[i]);
    return t->same ? 0 : size;
}

/* The number of all nodes of `t`. */
static int
full_size(const term *t)
{
    int size = t->kind == TERM_NODE && !glow_term_is_constant(t);

    for (int i = 0; i < t->n_in; i++)
        size += full_size(t->in[i]);
    return size;
}

static uint32_t
letters_of(const term *t)
{
    uint32_t letters = 0;

    if (t->kind != TERM_NUMBER && t->kind != TERM_NODE)
        letters |= UINT32_C(1) << t->letter;
    for (int i = 0; i < t->n_attrs; i++)
        if (t->attrs[i].letter >= 0)
            letters |= UINT32_C(1) << t->attrs[i].letter;
    for (int i = 0; i < t->n_in; i++)
        letters |= letters_of(t->in[i]);
    return letters;
}

/* True if `t` lacks an attribute that has no default. */
static bool
lacks_attrs(const term *t)
{
    glow_schema s = {0};
    int required = 0, given = 0;

    if (t->kind == TERM_NODE)
        s = glow_op_schema(t->op);
    for (int i = 0; s.fields && i < glow_schema_count(s); i++)
        required += !s.fields[i].has_default;
    for (int i = 0; i < t->n_attrs; i++)
        given += !t->attrs[i].field->has_default;
    for (int i = 0; i < t->n_in && !t->same; i++)
        if (lacks_attrs(t->in[i]))
            return true;
    return given < required && !t->same;
}

static bool
is_stated(const term *t)
{
    if (t->kind == TERM_NODE && (t->op->traits & GLOW_STATED))
        return !t->same;
    for (int i = 0; i < t->n_in && !t->same; i++)
        if (is_stated(t->in[i]))
            return true;
    return false;
}

static const char *
wrong_rule(const rule *r)
{
    uint32_t letters = letters_of(r->left);

    if (r->from->kinds && !(letters & UINT32_C(1) << ('x' - 'a')))
        return "kinds are those of x, which the left side has not";
    for (const char *c = r->from->sets; c && *c; c++)
        letters |= UINT32_C(1) << (*c - 'a');
    if (r->left->kind != TERM_NODE)
        return "the left side is no operator";
    if (r->swaps > RULE_SWAPS || r->nodes > GLOW_RULE_NODES)
        return "the left side has too many operators";
    if (letters_of(r->right) & ~letters)
        return "the right side has a letter that the left one has not";
    if (lacks_attrs(r->right))
        return "the right side leaves out an attribute that has no default";
    if (is_stated(r->right))
        return "the right side has an operator whose type must be stated";
    if (full_size(r->right) >= full_size(r->left) && !r->from->ends)
        return "the right side is not smaller, and nothing says why it ends";
    if (!r->from->when != !r->from->where)
        return "not exactly both of when and where";
    return NULL;
}

/*
 * Numbers the operators of the left side, and the commutative ones among them:
 * inner operators first, so that they are swapped before outer ones.
 */
static void
number_nodes(rule *r, term *t)
{
    if (t->kind != TERM_NODE)
        return;
    t->position = r->nodes++;
    for (int i = 0; i < t->n_in; i++)
        number_nodes(r, (term *)(uintptr_t)t->in[i]);
    if (t->op->traits & GLOW_COMMUTATIVE)
        t->swap = r->swaps++;
}

static bool
same_attr(const term_attr *a, const term_attr *b)
{
    return a->field == b->field && a->letter == b->letter &&
           a->number == b->number;
}

static bool
same_term(const term *a, const term *b)
{
    bool same = a->kind == b->kind && a->letter == b->letter &&
                a->number == b->number && a->op == b->op &&
                a->n_in == b->n_in && a->n_attrs == b->n_attrs &&
                !signbit(a->number) == !signbit(b->number);

    for (int i = 0; same && i < a->n_attrs; i++)
        same = same_attr(&a->attrs[i], &b->attrs[i]);
    for (int i = 0; same && i < a->n_in; i++)
        same = same_term(a->in[i], b->in[i]);
    return same;
}

/* The subterm of `t` that equals `wanted`, or NULL. */
static term *
find_term(const term *t, const term *wanted)
{
    term *found = NULL;

    if (t->kind != TERM_NODE)
        return NULL;
    if (same_term(t, wanted))
        return (term *)(uintptr_t)t;
    for (int i = 0; i < t->n_in && !found; i++)
        found = find_term(t->in[i], wanted);
    return found;
}

/* Finds the subterms of the right side that reuse nodes of the left side. */
static void
keep_nodes(const term *left, term *t)
{
    term *same = t->kind == TERM_NODE ? find_term(left, t) : NULL;

    t->same = same;
    if (same)
        same->is_kept = true;
    for (int i = 0; i < t->n_in && !same; i++)
        keep_nodes(left, (term *)(uintptr_t)t->in[i]);
}

static uint32_t
inner_bit(bucket *b, const glow_op *op)
{
    int i = 0;

    while (i < b->n_inner && b->inner[i] != op)
        i++;
    if (i == (int)(sizeof b->inner / sizeof b->inner[0]))
        return 0; /* too many operators: not part of the features */
    if (i == b->n_inner)
        b->inner[b->n_inner++] = op;
    return (uint32_t)HAS_OP << i;
}

static uint32_t
needs_of(bucket *b, const term *t)
{
    uint32_t needs = 0;

    for (int i = 0; i < t->n_in; i++) {
        const term *in = t->in[i];

        if (in->kind == TERM_NUMBER || in->kind == TERM_SCALAR)
            needs |= HAS_SPLAT;
        else if (in->kind == TERM_CONSTANT)
            needs |= HAS_CONSTANT;
        else if (in->kind == TERM_NODE)
            needs |= inner_bit(b, in->op);
    }
    if (t->n_in >= 2 && t->in[0]->kind == TERM_VALUE &&
        t->in[1]->kind == TERM_VALUE && t->in[0]->letter == t->in[1]->letter)
        needs |= HAS_EQUAL;
    return needs;
}

/* The slot of `op` in the hash table. */
static bucket *
place_of(const rule_set *s, const glow_op *op)
{
    size_t i = ((uintptr_t)op >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    for (i &= s->size - 1; s->buckets[i].op && s->buckets[i].op != op;)
        i = (i + 1) & (s->size - 1);
    return &s->buckets[i];
}

const bucket *
glow_rules_for(const rule_set *s, const glow_op *op)
{
    const bucket *b = place_of(s, op);

    return b->op ? b : NULL;
}

static void
sort_rule(rule_set *s, rule *r)
{
    bucket *b = place_of(s, r->left->op);
    rule **end = &b->first;

    b->op = r->left->op;
    while (*end)
        end = &(*end)->next;
    *end = r;
    r->needs = needs_of(b, r->left);
    b->needs |= r->needs;
}

/* True if `t` builds nodes of constants alone. */
static bool
makes_constants(const term *t)
{
    if (t->kind != TERM_NODE || t->same)
        return false;
    if (glow_term_is_constant(t))
        return true;
    for (int i = 0; i < t->n_in; i++)
        if (makes_constants(t->in[i]))
            return true;
    return false;
}

static uint32_t
values_of(const term *t)
{
    uint32_t letters =
        t->kind == TERM_VALUE ? UINT32_C(1) << t->letter : UINT32_C(0);

    for (int i = 0; i < t->n_in; i++)
        letters |= values_of(t->in[i]);
    return letters;
}

static bool
has_quotient(const term *t)
{
    bool has = t->op == &glow_op_div || t->op == &glow_op_reciprocal;

    for (int i = 0; i < t->n_in && !has; i++)
        has = has_quotient(t->in[i]);
    return has;
}

/*
 * Nodes of constants alone count as 0.  A rule that builds one would not
 * terminate if its other letters were constants as well, so these must not be:
 * fold-constants and fold-splat evaluate constant terms.
 */
static const char *
read_rule(glow_context *ctx, const glow_rule *from, rule *r)
{
    const char *wrong = NULL;

    *r = (rule){.from = from};
    r->left = glow_rule_read(ctx, from->from, &wrong);
    r->right = wrong ? NULL : glow_rule_read(ctx, from->to, &wrong);
    if (wrong)
        return wrong;
    number_nodes(r, (term *)(uintptr_t)r->left);
    keep_nodes(r->left, (term *)(uintptr_t)r->right);
    r->size = size_of(r->right);
    r->breaks_quotient = from->inexact && has_quotient(r->left);
    r->varies = makes_constants(r->right) ? values_of(r->left) : 0;
    return wrong_rule(r);
}

static const rule_set *
read_table(glow_context *ctx, const glow_pass *p)
{
    rule_set *s = GLOW_NEW(ctx->arena, rule_set);
    rule *rules;

    while (p->rules[s->count].from)
        s->count++;
    for (s->size = 8; s->size < 2 * (size_t)s->count;)
        s->size *= 2;
    s->rules = rules = GLOW_NEW_ARRAY(ctx->arena, rule, s->count + 1);
    s->buckets = GLOW_NEW_ARRAY(ctx->arena, bucket, s->size);
    for (int i = 0; i < s->count; i++) {
        const char *wrong = read_rule(ctx, &p->rules[i], &rules[i]);

        if (wrong) {
            glow_error(ctx, "E0410", "pass '%s', rule '%s' to '%s': %s",
                       p->name, p->rules[i].from, p->rules[i].to, wrong);
            return NULL;
        }
        sort_rule(s, &rules[i]);
    }
    return s;
}

const rule_set *
glow_rules_of(glow_context *ctx, const glow_pass *p)
{
    const rule_set *s;

    if (!ctx->rules)
        ctx->rules = glow_map_new(ctx->arena);
    s = glow_map_get(ctx->rules, p->name);
    if (!s) {
        s = read_table(ctx, p);
        glow_map_set(ctx->rules, p->name, (void *)(uintptr_t)s);
    }
    return s;
}
