/* State of bodies as formals: a fixed point over the calls, then one rewrite of each. */

#include "passes/graph/common/variables.h"

#include <string.h>

#include "glow/ops.h"
#include "passes/graph/common/topology.h"

typedef struct variable {
    const char *name;
    const glow_type *type;
    glow_func *owner;          /* updates it itself; others pass it on */
    glow_storage *placeholder; /* of the functions that are no bodies */
} variable;

typedef struct site {
    glow_func *f;
    bool is_body;
    bool is_refused;     /* has no variables */
    bool is_looped;      /* the first formals are those of a Loop */
    bool *has;           /* by variable */
    int count;           /* of them */
    glow_storage **from; /* by variable: what `f` reads, and what it saves to */
    glow_storage **to;
} site;

struct variables {
    glow_arena *a;
    glow_module *m;
    const char *pass;
    site *sites;
    int n_sites;
    glow_map *by_name; /* site, by its function */
    variable *at;
    size_t count, cap;
};

static site *
site_of(const variables *l, const glow_func *f)
{
    return f ? glow_map_get(l->by_name, f->name) : NULL;
}

/* Functions that may have variables. */

static bool
is_plain_call(const variables *l, const glow_node *n)
{
    const site *s = site_of(l, n->func);

    if (s->is_refused || n->pred ||
        !(n->op == &glow_op_if || n->op == &glow_op_loop ||
          n->op == &glow_op_run))
        return false;
    for (int k = 0; k < glow_call_count(n); k++) {
        const site *g = site_of(l, glow_called(n, k));

        if (!g || g->is_refused)
            return false;
    }
    return true;
}

/* Refuses the functions that `n` calls; true if one was not refused before. */
static bool
refuse_callees(const variables *l, const glow_node *n)
{
    bool changed = false;

    for (int k = 0; k < glow_call_count(n); k++) {
        site *g = site_of(l, glow_called(n, k));

        changed |= g && !g->is_refused;
        if (g)
            g->is_refused = true;
    }
    return changed;
}

static void
refuse_all(const variables *l)
{
    bool changed = true;

    while (changed) {
        changed = false;
        GLOW_FOR_EACH_FUNC(f, l->m)
            GLOW_FOR_EACH_NODE(n, f)
                if (glow_op_calls(n->op) && !is_plain_call(l, n))
                    changed |= refuse_callees(l, n);
    }
}

/* Bodies that are called at all. */
static glow_map *
find_called(const variables *l)
{
    glow_map *called = glow_map_new(l->a);

    GLOW_FOR_EACH_FUNC(f, l->m)
        GLOW_FOR_EACH_NODE(n, f)
            for (int k = 0; glow_op_calls(n->op) && k < glow_call_count(n); k++)
                if (glow_called(n, k))
                    glow_map_set(called, glow_called(n, k)->name, n);
    return called;
}

variables *
glow_variables_new(glow_arena *a, glow_module *m, const char *pass)
{
    variables *l = GLOW_NEW(a, variables);
    const glow_map *called;
    int count = 0;

    GLOW_FOR_EACH_FUNC(f, m)
        count++;
    *l = (variables){.a = a, .m = m, .pass = pass};
    l->by_name = glow_map_new(a);
    l->sites = GLOW_NEW_ARRAY(a, site, count + 1);
    called = find_called(l);
    GLOW_FOR_EACH_FUNC(f, m) {
        site *s = &l->sites[l->n_sites++];
        bool is_body = glow_is_body(f);

        *s = (site){.f = f,
                    .is_body = is_body,
                    .is_refused = f->is_program ||
                                  (is_body && !glow_map_get(called, f->name))};
        glow_map_set(l->by_name, f->name, s);
    }
    refuse_all(l);
    return l;
}

bool
glow_variables_may(const variables *l, const glow_func *f)
{
    return !site_of(l, f)->is_refused;
}

int
glow_variables_add(variables *l, glow_func *f, const char *name,
                   const glow_type *type)
{
    l->at = glow_arena_grow(l->a, l->at, l->count, &l->cap, sizeof *l->at);
    l->at[l->count] = (variable){.name = name, .type = type, .owner = f};
    return (int)l->count++;
}

/* Variables of each function: its own, and those of the functions that it calls. */

/* Gives `to` the variables of `from`; true if it had not all of them. */
static bool
unite(const variables *l, site *to, const site *from)
{
    bool changed = false;

    for (size_t v = 0; v < l->count; v++)
        if (from->has[v] && !to->has[v]) {
            to->has[v] = true;
            to->count++;
            changed = true;
        }
    return changed;
}

/* Functions that one node calls have the same formals. */
static bool
equate(const variables *l, site *a, site *b)
{
    bool changed = a->is_looped != b->is_looped;

    a->is_looped = b->is_looped = a->is_looped || b->is_looped;
    changed |= unite(l, a, b);
    return unite(l, b, a) || changed;
}

static bool
spread_at(const variables *l, glow_node *n)
{
    site *s = site_of(l, n->func), *g = site_of(l, glow_called(n, 0));
    bool changed = false;

    if (!is_plain_call(l, n))
        return false;
    if (n->op == &glow_op_loop && !g->is_looped)
        changed = g->is_looped = true;
    for (int k = 1; k < glow_call_count(n); k++)
        changed |= equate(l, g, site_of(l, glow_called(n, k)));
    return unite(l, s, g) || changed;
}

static void
spread_all(variables *l)
{
    bool changed = true;

    for (int i = 0; i < l->n_sites; i++) {
        site *s = &l->sites[i];

        s->has = GLOW_NEW_ARRAY(l->a, bool, l->count + 1);
        s->from = GLOW_NEW_ARRAY(l->a, glow_storage *, l->count + 1);
        s->to = GLOW_NEW_ARRAY(l->a, glow_storage *, l->count + 1);
        for (size_t v = 0; v < l->count; v++)
            if (l->at[v].owner == s->f) {
                s->has[v] = true;
                s->count++;
            }
    }
    while (changed) {
        changed = false;
        GLOW_FOR_EACH_FUNC(f, l->m)
            GLOW_FOR_EACH_NODE(n, f)
                if (glow_op_calls(n->op))
                    changed |= spread_at(l, n);
    }
}

/* Formals. */

/* The place of the first variable among the formals. */
static int
first_of(const site *s, glow_formals which)
{
    return s->is_looped ? which == GLOW_INPUTS ? 2 : 1 : 0;
}

static glow_storage **
formals_with(const variables *l, const site *s, glow_formals which,
             glow_storage *const *added, int *count)
{
    int n = glow_formal_count(s->f, which), at = 0;
    glow_storage **list =
        GLOW_NEW_ARRAY(l->a, glow_storage *, n + s->count + 1);

    for (int i = 0; i <= n; i++) {
        for (size_t v = 0; i == first_of(s, which) && v < l->count; v++)
            if (s->has[v])
                list[at++] = added[v];
        if (i < n)
            list[at++] = glow_formal(s->f, which, i);
    }
    *count = at;
    return list;
}

static glow_storage *
formal(const variables *l, size_t v, const char *suffix)
{
    const char *name = glow_arena_printf(l->a, "%s.%s", l->at[v].name, suffix);

    return glow_placeholder_new(l->m, name, l->at[v].type);
}

static void
add_formals(const variables *l, site *s)
{
    glow_storage **in, **out;
    int n_in, n_out;

    for (size_t v = 0; v < l->count; v++)
        if (s->has[v]) {
            s->from[v] = formal(l, v, "in");
            s->to[v] = formal(l, v, "out");
        }
    in = formals_with(l, s, GLOW_INPUTS, s->from, &n_in);
    out = formals_with(l, s, GLOW_OUTPUTS, s->to, &n_out);
    glow_func_set_formals(s->f, in, n_in, out, n_out);
}

void
glow_variables_open(variables *l)
{
    spread_all(l);
    for (size_t v = 0; v < l->count; v++)
        l->at[v].placeholder =
            glow_placeholder_new(l->m, l->at[v].name, l->at[v].type);
    for (int i = 0; i < l->n_sites; i++) {
        site *s = &l->sites[i];

        if (s->is_body && s->count > 0)
            add_formals(l, s);
        for (size_t v = 0; !s->is_body && v < l->count; v++)
            s->from[v] = s->to[v] = l->at[v].placeholder;
    }
}

glow_value *
glow_variables_read(const variables *l, const glow_func *f, int v)
{
    return &site_of(l, f)->from[v]->value;
}

glow_value *
glow_variables_written(const variables *l, const glow_func *f, int v)
{
    return &site_of(l, f)->to[v]->value;
}

/* Calls. */

/* The attributes of `n` with `more` carried values. */
static const void *
attrs_with(const variables *l, const glow_node *n, int more)
{
    glow_loop *a;

    if (n->op != &glow_op_loop)
        return n->attrs;
    a = glow_arena_copy(l->a, n->attrs, sizeof *a);
    a->carried += more;
    return a;
}

/* The operands of `n`, and the values `now` of the variables of `g` among them. */
static glow_value **
operands_with(const variables *l, const glow_node *n, const site *g,
              glow_value *const *now)
{
    int given = n->n_in - (glow_formal_count(g->f, GLOW_INPUTS) - g->count);
    int first = given + first_of(g, GLOW_INPUTS), at = 0;
    glow_value **in =
        GLOW_NEW_ARRAY(l->a, glow_value *, n->n_in + g->count + 1);

    for (int i = 0; i <= n->n_in; i++) {
        for (size_t v = 0; i == first && v < l->count; v++)
            if (g->has[v])
                in[at++] = now[v];
        if (i < n->n_in)
            in[at++] = n->in[i];
    }
    return in;
}

/* Replaces `n` by a call that passes the variables on, and sets `now` to its results. */
static bool
rewrite_call(const variables *l, glow_node *n, glow_value **now)
{
    const site *g = site_of(l, glow_called(n, 0));
    int given = glow_formal_count(g->f, GLOW_OUTPUTS) - g->count - n->n_out;
    int first = first_of(g, GLOW_OUTPUTS) - given, at = first;
    glow_value **in = operands_with(l, n, g, now);
    glow_builder *b = glow_builder_new(l->a, n->func, l->pass);
    const char *name = n->name;
    const glow_type **types =
        GLOW_NEW_ARRAY(l->a, const glow_type *, n->n_out + g->count + 1);
    glow_node *made;

    glow_builder_at(b, n);
    made = glow_build_node(b, n->op, types, n->n_out + g->count, in,
                           n->n_in + g->count, attrs_with(l, n, g->count));
    if (!made)
        return false;
    for (int i = 0; i < n->n_out; i++)
        glow_replace_uses(n->out[i], made->out[i < first ? i : i + g->count]);
    for (size_t v = 0; v < l->count; v++)
        if (g->has[v])
            now[v] = made->out[at++];
    made->loc = n->loc;
    glow_node_erase(n);
    glow_node_rename(made, name);
    return true;
}

static bool
save(const variables *l, const site *s, size_t v, glow_value *value)
{
    glow_builder *b = glow_builder_new(l->a, s->f, l->pass);

    glow_builder_named(b, s->to[v]->name, NULL);
    return glow_build_node(b, &glow_op_save, NULL, 0,
                           GLOW_IN(value, &s->to[v]->value), NULL);
}

/* Calls in order, each with the values that the one before returns. */
static bool
rewrite_calls(const variables *l, const site *s)
{
    glow_node **order = glow_nodes_in_order(l->a, s->f);
    glow_value **now = GLOW_NEW_ARRAY(l->a, glow_value *, l->count + 1);
    int count = s->f->count;

    for (size_t v = 0; v < l->count; v++)
        if (s->has[v])
            now[v] = &s->from[v]->value;
    for (int i = 0; i < count; i++) {
        glow_node *n = order[i];

        if (glow_op_calls(n->op) && is_plain_call(l, n) &&
            site_of(l, glow_called(n, 0))->count > 0 &&
            !rewrite_call(l, n, now))
            return false;
    }
    for (size_t v = 0; v < l->count; v++)
        if (s->has[v] && l->at[v].owner != s->f && !save(l, s, v, now[v]))
            return false;
    return true;
}

bool
glow_variables_close(variables *l)
{
    for (int i = 0; i < l->n_sites; i++)
        if (l->sites[i].count > 0 && !rewrite_calls(l, &l->sites[i]))
            return false;
    return true;
}
