/*
 * Application of rewrite rules: matching, building, running.
 *
 * For each node with rules, a bit set of features of its operands is computed
 * (splat, constant, result of an operator that some rule needs): only rules
 * whose needs are in the set are tried.  Commutative operators are tried in
 * both orders, by the bits of a counter, so that a failed match needs no
 * backtracking.  A function is scanned without changes up to its first match,
 * where the rewrite driver starts.
 */

#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/reach.h"
#include "passes/rules.h"
#include "passes/run.h"

static const int default_kinds =
    GLOW_CLASS_FLOAT | GLOW_CLASS_INT | GLOW_CLASS_BOOL;

glow_value *
glow_match_value(const glow_match *m, char letter)
{
    return m->value[letter - 'a'];
}

double
glow_match_number(const glow_match *m, char letter)
{
    return m->number[letter - 'a'];
}

void
glow_match_set(glow_match *m, char letter, double number)
{
    int i = letter - 'a';

    m->number[i] = number;
    m->value[i] = NULL;
    m->is_bound |= UINT32_C(1) << i;
}

glow_kind
glow_match_kind(const glow_match *m)
{
    return m->value['x' - 'a']->type->elem;
}

/* Matching. */

typedef struct matcher {
    glow_match *m;
    unsigned order; /* a bit for each commutative operator: swapped */
    int gone;       /* nodes that become unused if the rule fires */
} matcher;

static bool match(matcher *w, const term *t, glow_value *v, bool goes);

/* True if both are the same number, sign of zero included. */
static bool
is_same(double a, double b)
{
    return a == b ? !signbit(a) == !signbit(b) : isnan(a) && isnan(b);
}

static bool
bind(matcher *w, int letter, glow_value *v, double number, bool is_number)
{
    glow_match *m = w->m;
    uint32_t bit = UINT32_C(1) << letter;

    if (m->is_bound & bit)
        return is_number ? is_same(m->number[letter], number)
                         : m->value[letter] == v;
    m->is_bound |= bit;
    m->number[letter] = number;
    m->value[letter] = v;
    return true;
}

static double
get_attr(const glow_field *f, const void *attrs)
{
    const void *at = (const char *)attrs + f->at;

    switch (f->kind) {
    case GLOW_FLOAT32:
        return (double)*(const float *)at;
    case GLOW_INT64:
        return (double)*(const int64_t *)at;
    case GLOW_FLAG:
        return *(const bool *)at;
    default:
        return *(const int *)at;
    }
}

static void
set_attr(const glow_field *f, void *attrs, double v)
{
    void *at = (char *)attrs + f->at;

    switch (f->kind) {
    case GLOW_FLOAT32:
        *(float *)at = (float)v;
        break;
    case GLOW_INT64:
        *(int64_t *)at = (int64_t)v;
        break;
    case GLOW_FLAG:
        *(bool *)at = v != 0;
        break;
    default:
        *(int *)at = (int)v;
    }
}

static bool
match_attrs(matcher *w, const term *t, const glow_node *n)
{
    for (int i = 0; i < t->n_attrs; i++) {
        const term_attr *a = &t->attrs[i];
        double v = get_attr(a->field, n->attrs);

        if (a->letter < 0 ? !is_same(a->number, v)
                          : !bind(w, a->letter, NULL, v, true))
            return false;
    }
    return true;
}

/* Matches `n` with `t`; `goes`: `n` becomes unused if the rule fires. */
static bool
match_node(matcher *w, const term *t, glow_node *n, bool goes)
{
    bool is_swapped = t->swap >= 0 && (w->order >> t->swap) % 2 == 1;

    if (n->op != t->op || n->pred || n->n_in != t->n_in ||
        !match_attrs(w, t, n))
        return false;
    goes = goes && !t->is_kept;
    w->gone += goes ? 1 : 0;
    w->m->node[t->position] = n->out[0];
    for (int i = 0; i < t->n_in; i++) {
        int from = is_swapped && i < 2 ? 1 - i : i;

        if (!n->in[from] || !match(w, t->in[i], n->in[from], goes))
            return false;
    }
    return true;
}

/* True for dense tensors of the element kinds that rules apply to. */
static bool
rules_take(const glow_type *t)
{
    return ((int)glow_kind_get(t->elem)->klass & default_kinds) &&
           t->strides.rank == 0;
}

static bool
match(matcher *w, const term *t, glow_value *v, bool goes)
{
    double x;

    switch (t->kind) {
    case TERM_NODE:
        return v->def && v->def->op == t->op &&
               match_node(w, t, v->def, goes && glow_has_one_use(v));
    case TERM_NUMBER:
        return rules_take(v->type) && glow_is_number(v, t->number);
    case TERM_SCALAR:
        return rules_take(v->type) && glow_splat_value(v, &x) &&
               bind(w, t->letter, v, x, true);
    case TERM_CONSTANT:
        return rules_take(v->type) && glow_is_constant_like(v) &&
               bind(w, t->letter, v, 0, false);
    default:
        return rules_take(v->type) && bind(w, t->letter, v, 0, false);
    }
}

static bool
is_of_kinds(const glow_rule *r, const glow_match *m)
{
    return !r->kinds ||
           ((int)glow_kind_get(glow_match_kind(m))->klass & r->kinds);
}

/* True if no letter of `set` is bound to a constant. */
static bool
vary(uint32_t set, const glow_match *m)
{
    for (int i = 0; set >> i; i++)
        if ((set >> i & 1) && glow_is_constant_like(m->value[i]))
            return false;
    return true;
}

/*
 * Inexact rules must decrease the number of nodes: an apparent detour, such as
 * (x + c) - c with a sum that has other users, may be deliberate, to keep bits in
 * a careful formula.
 */
static bool
is_worth_it(const rule *r, int gone)
{
    bool must_pay = r->from->inexact && !r->from->ends;

    return r->size + (must_pay ? 1 : 0) <= gone + r->from->spends;
}

bool
glow_rule_matches(const rule *r, glow_node *n, glow_match *m)
{
    const glow_rule *from = r->from;

    if (!rules_take(n->out[0]->type))
        return false;
    for (unsigned order = 0; order < 1u << r->swaps; order++) {
        matcher w = {.m = m, .order = order};

        m->root = n;
        m->is_bound = 0;
        if (match_node(&w, r->left, n, true) && is_of_kinds(from, m) &&
            is_worth_it(r, w.gone) && vary(r->varies, m) &&
            (!from->when || from->when(m)))
            return true;
    }
    return false;
}

/* The features of the operands of `n` that the rules of its operator need. */
static uint32_t
features_of(const bucket *b, const glow_node *n)
{
    uint32_t has = n->n_in >= 2 && n->in[0] == n->in[1] ? HAS_EQUAL : 0;
    double x;

    for (int i = 0; i < n->n_in; i++) {
        const glow_value *v = n->in[i];

        if (!v)
            continue;
        if (glow_is_constant_like(v))
            has |= HAS_CONSTANT;
        if ((b->needs & HAS_SPLAT) && glow_splat_value(v, &x))
            has |= HAS_SPLAT;
        for (int k = 0; v->def && k < b->n_inner; k++)
            if (b->inner[k] == v->def->op)
                has |= (uint32_t)HAS_OP << k;
    }
    return has;
}

/*
 * False if the rule changes a rounding under -exact, or the rounding of a quotient
 * and a discontinuous operator follows.
 */
static bool
may_round(const rule *r, glow_pass_run *run, const glow_node *n)
{
    if (r->from->inexact && glow_run_is_exact(run))
        return false;
    return !r->breaks_quotient || !glow_run_reaches_jump(run, n);
}

static const rule *
find_rule(const rule_set *s, glow_pass_run *run, glow_node *n,
          const rule *after, glow_match *m)
{
    const bucket *b = glow_rules_for(s, n->op);
    uint32_t has;

    if (!b || n->pred || n->n_out != 1 || n->n_in == 0)
        return NULL;
    has = features_of(b, n);
    for (const rule *r = after ? after->next : b->first; r; r = r->next)
        if ((r->needs & ~has) == 0 && glow_rule_matches(r, n, m) &&
            may_round(r, run, n))
            return r;
    return NULL;
}

/* Building. */

typedef struct maker {
    glow_builder *b;
    const glow_match *m;
} maker;

static glow_value *build(const maker *k, const term *t, const glow_type *like);

static glow_value *
build_number(const maker *k, const glow_type *like, double v)
{
    if ((double)(float)v == v || isnan(v))
        return glow_build(k->b, &glow_op_splat, like, NULL, 0,
                          &(const glow_splat){.value = (float)v});
    return glow_build_splat(k->b, "number", like, v);
}

static bool
is_number(const term *t)
{
    return t->kind == TERM_NUMBER || t->kind == TERM_SCALAR;
}

/*
 * Builds `t`; numbers take the type of the last operand that is not a number,
 * else `like`.
 */
static glow_value *
build_node(const maker *k, const term *t, const glow_type *like)
{
    glow_schema s = glow_op_schema(t->op);
    glow_value *in[RULE_OPERANDS];
    char *attrs = NULL;

    for (int i = 0; i < t->n_in; i++)
        if (!is_number(t->in[i])) {
            in[i] = build(k, t->in[i], like);
            if (!in[i])
                return NULL;
        }
    for (int i = 0; i < t->n_in; i++)
        if (!is_number(t->in[i]))
            like = in[i]->type;
    for (int i = 0; i < t->n_in; i++)
        if (is_number(t->in[i]))
            in[i] = build(k, t->in[i], like);
    if (glow_schema_count(s) > 0) {
        size_t size = glow_schema_size(s);

        attrs = glow_arena_alloc(glow_builder_scratch(k->b), size);
        if (s.defaults)
            memcpy(attrs, s.defaults, size);
    }
    for (int i = 0; i < t->n_attrs; i++) {
        const term_attr *a = &t->attrs[i];

        set_attr(a->field, attrs,
                 a->letter < 0 ? a->number : k->m->number[a->letter]);
    }
    return glow_build(k->b, t->op, NULL, in, t->n_in, attrs);
}

static glow_value *
build(const maker *k, const term *t, const glow_type *like)
{
    glow_value *v = NULL;

    if (t->same)
        return k->m->node[t->same->position];
    if (t->kind == TERM_NODE)
        return build_node(k, t, like);
    if (t->kind == TERM_NUMBER)
        return build_number(k, like, t->number);
    v = k->m->value[t->letter];
    if (t->kind == TERM_SCALAR && (!v || v->type != like))
        return build_number(k, like, k->m->number[t->letter]);
    return v;
}

glow_value *
glow_rule_build(const rule *r, glow_builder *b, const glow_match *m)
{
    const glow_type *type = m->root->out[0]->type;
    maker k = {b, m};
    glow_value *v = build(&k, r->right, type);

    return v && v->type == type ? v : NULL;
}

/* Running. */

static glow_value *
rewrite(glow_builder *b, glow_node *n)
{
    glow_pass_run *run = glow_builder_run(b);
    const rule_set *s = glow_rules_of(run->ctx, run->pass);
    glow_match m;

    for (const rule *r = NULL; (r = find_rule(s, run, n, r, &m));) {
        glow_value *v = glow_rule_build(r, b, &m);

        if (v || glow_builder_failed(b))
            return v;
    }
    return NULL;
}

glow_result
glow_run_rules(glow_pass_run *run, glow_func *f)
{
    const rule_set *s = glow_rules_of(run->ctx, run->pass);
    glow_match m;

    if (!s)
        return GLOW_FAILED;
    GLOW_FOR_EACH_NODE(n, f)
        if (find_rule(s, run, n, NULL, &m))
            return glow_rewrite(run, f, NULL, rewrite);
    return GLOW_UNCHANGED;
}

/* Documentation. */

static void
put_kinds(glow_buf *b, int kinds)
{
    static const struct {
        glow_kind_class klass;
        const char *name;
    } names[] = {{GLOW_CLASS_FLOAT, "floats"},
                 {GLOW_CLASS_INT, "integers"},
                 {GLOW_CLASS_BOOL, "bool"}};
    const char *comma = ", for ";

    for (size_t i = 0; kinds && i < sizeof names / sizeof names[0]; i++)
        if (kinds & (int)names[i].klass) {
            glow_buf_printf(b, "%s%s", comma, names[i].name);
            comma = " and ";
        }
}

void
glow_buf_rules(glow_buf *b, const glow_rule *rules)
{
    for (const glow_rule *r = rules; r->from; r++) {
        glow_buf_printf(b, "- `%s` => `%s`", r->from, r->to);
        put_kinds(b, r->kinds);
        if (r->where)
            glow_buf_printf(b, ", where %s", r->where);
        if (r->inexact)
            glow_buf_printf(b, " (inexact: %s)", r->inexact);
        if (r->ends)
            glow_buf_printf(b, " (ends: %s)", r->ends);
        glow_buf_putc(b, '\n');
    }
}
