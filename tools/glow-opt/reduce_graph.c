/*
 * Delta debugging of a graph.
 *
 * Any set of nodes makes a graph: operands from other nodes become
 * placeholders, and results used by other nodes are saved, so that a value
 * keeps more than one user if it had.  The reducer searches for a small failing
 * set: first neighbourhoods of growing radius around the nodes of the failing
 * rewrite, then by dropping shorter and shorter runs of nodes.  The remaining
 * nodes are simplified one by one.
 */

#include <string.h>

#include "tools/glow-opt/bisect.h"

typedef struct subset {
    glow_func *func;
    bool *kept;     /* of each node, by its id */
    uint32_t limit; /* nodes from this id on are new, and stay */
} subset;

static subset
subset_of(glow_arena *a, glow_func *f, bool all)
{
    subset s = {f, GLOW_NEW_ARRAY(a, bool, f->next_id + 1), f->next_id};

    GLOW_FOR_EACH_NODE(n, f)
        s.kept[n->id] = all;
    return s;
}

/* Keeping a set of nodes. */

/* True if `n` is in the set; a Save is in the set with its operand. */
static bool
is_kept(const subset *s, const glow_node *n)
{
    if (n->op == &glow_op_save && n->in[0]->def)
        n = n->in[0]->def;
    return n->id >= s->limit || s->kept[n->id];
}

/* Replaces `v` by a placeholder for its users in the set. */
static void
cut_before(const subset *s, glow_value *v)
{
    glow_storage *p = NULL;

    for (glow_use *u = v->uses, *next; u; u = next) {
        next = u->next;
        if (!is_kept(s, u->user))
            continue;
        if (!p)
            p = glow_placeholder_new(s->func->module, v->def->name, v->type);
        if (u->index < 0)
            glow_set_pred(u->user, &p->value);
        else
            glow_set_operand(u->user, u->index, &p->value);
    }
}

/* Saves `v` in place of its users outside of the set. */
static void
cut_after(const subset *s, glow_value *v)
{
    bool used = false, saved = false;

    GLOW_FOR_EACH_USE(u, v) {
        used |= !is_kept(s, u->user);
        saved |= is_kept(s, u->user) && u->user->op == &glow_op_save;
    }
    if (!used || saved)
        return;

    glow_storage *p = glow_placeholder_new(
        s->func->module,
        glow_arena_printf(s->func->module->arena, "%s.out", v->def->name),
        v->type);

    glow_node_new(s->func, &glow_op_save, NULL, (glow_value *[]){v, &p->value},
                  2, NULL, 0, NULL);
}

static bool
is_unused(const glow_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (!glow_is_unused(n->out[i]))
            return false;
    return true;
}

static void
erase_rest(const subset *s)
{
    bool again = true;

    while (again) {
        again = false;
        for (glow_node *n = s->func->last, *prev; n; n = prev) {
            prev = n->prev;
            if (is_kept(s, n) || !is_unused(n))
                continue;
            glow_node_erase(n);
            again = true;
        }
    }
}

static bool
keep(glow_module *m, void *user)
{
    const subset *s = user;
    glow_node *last = s->func->last;

    (void)m;
    GLOW_FOR_EACH_NODE(n, s->func) {
        for (int i = 0; i < n->n_out; i++)
            if (is_kept(s, n))
                cut_after(s, n->out[i]);
            else
                cut_before(s, n->out[i]);
        if (n == last)
            break;
    }
    erase_rest(s);
    drop_unused_storage(s->func->module);
    return true;
}

/* Neighbourhoods of the rewrite's nodes. */

static void
add_definition(bool *next, const glow_value *v)
{
    if (v && v->def)
        next[v->def->id] = true;
}

/* Grows the set by operands and users. */
static void
grow(glow_arena *a, subset *s)
{
    bool *next = GLOW_NEW_ARRAY(a, bool, s->limit + 1);

    GLOW_FOR_EACH_NODE(n, s->func) {
        if (!is_kept(s, n))
            continue;
        next[n->id] = true;
        for (int i = 0; i < n->n_in; i++)
            add_definition(next, n->in[i]);
        add_definition(next, n->pred);
        for (int i = 0; i < n->n_out; i++)
            GLOW_FOR_EACH_USE(u, n->out[i])
                next[u->user->id] = true;
    }
    s->kept = next;
}

/* Sets the set to the nodes in `names`; false if there are none. */
static bool
begin_at(glow_arena *a, subset *s, const char *names)
{
    bool any = false;

    while (names && *names) {
        size_t length = strcspn(names, "\n");
        const glow_node *n =
            glow_find_node(s->func, glow_arena_strndup(a, names, length));

        if (n)
            any = s->kept[n->id] = true;
        names += length + (names[length] == '\n');
    }
    return any;
}

static int
count_kept(const subset *s)
{
    int count = 0;

    GLOW_FOR_EACH_NODE(n, s->func)
        count += is_kept(s, n);
    return count;
}

static void
zoom(reducer *r, glow_func *f, const char *names)
{
    glow_arena *a = r->run.o->tool.arena;
    subset s = subset_of(a, f, false);

    if (!begin_at(a, &s, names))
        return;
    for (int steps = 1;; steps *= 2) {
        if (count_kept(&s) == f->count || reduce_try(r, keep, &s))
            return;
        for (int i = 0; i < steps; i++)
            grow(a, &s);
    }
}

/* Node by node. */

typedef struct place {
    const char *func, *node;
    int index;
} place;

static glow_node *
node_at(glow_module *m, const place *p)
{
    return glow_find_node(glow_find_func(m, p->func), p->node);
}

static bool
drop_pred(glow_module *m, void *user)
{
    glow_node *n = node_at(m, user);

    if (!n->pred)
        return false;
    glow_set_pred(n, NULL);
    return true;
}

/* Replaces the node's result by one of its operands. */
static bool
bypass(glow_module *m, void *user)
{
    const place *p = user;
    glow_node *n = node_at(m, p);

    if (n->n_out != 1 || !n->in[p->index] ||
        n->in[p->index]->type != n->out[0]->type)
        return false;
    glow_replace_uses(n->out[0], n->in[p->index]);
    glow_node_erase(n);
    drop_unused_storage(m);
    return true;
}

static bool
drop_save(glow_module *m, void *user)
{
    glow_node *n = node_at(m, user);

    if (n->op != &glow_op_save || glow_has_one_use(n->in[0]))
        return false;
    glow_node_erase(n);
    drop_unused_storage(m);
    return true;
}

/* Simplifies `n`; true on a change, after which the node may be erased. */
static bool
simplify(reducer *r, glow_node *n)
{
    place p = {n->func->name, n->name, 0};

    if (n->op == &glow_op_save)
        return !glow_has_one_use(n->in[0]) && reduce_try(r, drop_save, &p);
    if (n->pred)
        reduce_try(r, drop_pred, &p);
    for (; p.index < n->n_in; p.index++)
        if (n->n_out == 1 && n->in[p.index] &&
            n->in[p.index]->type == n->out[0]->type &&
            reduce_try(r, bypass, &p))
            return true;
    return false;
}

void
reduce_graph(reducer *r, glow_func *f, const char *names)
{
    bool again = true;

    zoom(r, f, names);
    while (again && !reduce_is_spent(r)) {
        int before = f->count;
        subset s = subset_of(r->run.o->tool.arena, f, true);

        reduce_set(r, s.kept, (int)s.limit, keep, &s);
        again = f->count < before;
        GLOW_FOR_EACH_NODE(n, f)
            again |= simplify(r, n);
    }
}
