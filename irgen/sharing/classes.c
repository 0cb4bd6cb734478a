/*
 * Classes of results that share a buffer: a forest of parents with halved
 * paths, and a ring through the members of each.  See classes.h.
 */

#include "irgen/sharing/classes.h"

#include <string.h>

#include "glow/backend.h"

enum { MOST_OPERANDS = 256 }; /* of a node that the backend is asked for */

/* The uses of each value, views looked through. */

typedef void (*use_fn)(glow_classes *c, uint32_t value, uint32_t node);

static void
each_use(glow_classes *c, use_fn fn)
{
    for (uint32_t i = 0; i < c->v->n_nodes; i++) {
        const glow_node *n = c->v->nodes[i];

        for (int k = -1; !glow_is_view(n) && k < n->n_in; k++) {
            const glow_value *in = k < 0 ? n->pred : n->in[k];
            uint32_t v = in ? glow_value_base(c->v, in) : GLOW_NO_VALUE;

            if (v != GLOW_NO_VALUE)
                fn(c, v, i);
        }
    }
}

static void
count_use(glow_classes *c, uint32_t value, uint32_t node)
{
    (void)node;
    c->starts[value + 1]++;
}

/* After counting, next[v] is where v's list ends so far. */
static void
add_use(glow_classes *c, uint32_t value, uint32_t node)
{
    uint32_t *end = &c->next[value];

    if (*end == c->starts[value] || c->users[*end - 1] != node)
        c->users[(*end)++] = node;
}

static void
find_users(glow_classes *c)
{
    uint32_t n = c->v->n_values;

    c->starts = GLOW_NEW_ARRAY(c->arena, uint32_t, (size_t)n + 1);
    each_use(c, count_use);
    for (uint32_t v = 0; v < n; v++)
        c->starts[v + 1] += c->starts[v];
    c->users = GLOW_NEW_ARRAY(c->arena, uint32_t, c->starts[n]);
    for (uint32_t v = 0; v < n; v++)
        c->next[v] = c->starts[v];
    each_use(c, add_use);
    for (uint32_t v = 0; v < n; v++) /* what was there twice leaves room */
        for (uint32_t k = c->next[v]; k < c->starts[v + 1]; k++)
            c->users[k] = GLOW_NO_VALUE;
}

glow_classes *
glow_classes_new(glow_pass_run *run, glow_func *f, const glow_values *v)
{
    glow_arena *a = glow_run_scratch(run);
    glow_classes *c = GLOW_NEW(a, glow_classes);

    c->run = run;
    c->arena = a;
    c->f = f;
    c->v = v;
    c->gone = GLOW_NEW_ARRAY(a, bool, v->n_nodes);
    c->parent = GLOW_NEW_ARRAY(a, uint32_t, v->n_values);
    c->next = GLOW_NEW_ARRAY(a, uint32_t, v->n_values);
    c->first = GLOW_NEW_ARRAY(a, int64_t, v->n_values);
    c->lies = GLOW_NEW_ARRAY(a, const glow_type *, v->n_values);
    c->whole = GLOW_NEW_ARRAY(a, const glow_type *, v->n_values);
    c->storage = GLOW_NEW_ARRAY(a, glow_storage *, v->n_values);
    c->latest = GLOW_NEW_ARRAY(a, uint32_t, v->n_values);
    memset(c->latest, 0xff, v->n_values * sizeof *c->latest);
    find_users(c);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        c->gone[i] = glow_is_view(v->nodes[i]);
        for (int k = 0; k < v->nodes[i]->n_out; k++) {
            uint32_t at = v->first[i] + (uint32_t)k;

            c->parent[at] = c->next[at] = at;
            c->whole[at] = v->nodes[i]->out[k]->type;
            c->lies[at] = c->whole[at];
        }
    }
    return c;
}

uint32_t
glow_class_of(glow_classes *c, uint32_t value)
{
    while (c->parent[value] != value)
        value = c->parent[value] = c->parent[c->parent[value]];
    return value;
}

/* glow_type_move, which is nothing where both are dense. */
static bool
lie_in(const glow_type *in, glow_type *t, int64_t *first)
{
    return in->strides.rank || t->strides.rank ? glow_type_move(in, t, first)
                                               : glow_type_count(t) > 0;
}

bool
glow_classes_find(glow_classes *c, const glow_value *v, glow_lying *out)
{
    uint32_t at = glow_value_base(c->v, v);

    *out = (glow_lying){GLOW_NO_VALUE, NULL, 0, *v->type};
    if (at == GLOW_NO_VALUE) {
        out->storage = glow_storage_under(v);
        return true;
    }
    out->class = glow_class_of(c, at);
    out->storage = c->storage[out->class];
    if (!lie_in(c->lies[at], &out->type, &out->first))
        return false;
    out->first += c->first[at];
    return true;
}

bool
glow_lying_is_all(const glow_classes *c, const glow_lying *s)
{
    return s->class != GLOW_NO_VALUE && !s->storage && s->first == 0 &&
           s->type.strides.rank == 0 &&
           glow_type_bytes(&s->type) == glow_type_bytes(c->whole[s->class]);
}

/* Of the value alone. */
static bool
each_of(const glow_classes *c, uint32_t v, glow_toucher_fn fn, void *user,
        int *left)
{
    for (uint32_t k = c->starts[v]; k < c->starts[v + 1]; k++) {
        uint32_t node = c->users[k];

        if (node == GLOW_NO_VALUE || c->gone[node])
            continue;
        if ((*left)-- == 0 || !fn(user, node))
            return false;
    }
    return (*left)-- > 0 && (c->gone[c->v->def[v]] || fn(user, c->v->def[v]));
}

bool
glow_class_each(const glow_classes *c, uint32_t class, glow_toucher_fn fn,
                void *user)
{
    int left = GLOW_MOST_USERS;
    uint32_t v = class;

    do {
        if (!each_of(c, v, fn, user, &left))
            return false;
        v = c->next[v];
    } while (v != class);
    return true;
}

bool
glow_class_each_late(const glow_classes *c, uint32_t class, glow_toucher_fn fn,
                     void *user)
{
    int left = GLOW_MOST_USERS;

    return c->latest[class] == GLOW_NO_VALUE
               ? glow_class_each(c, class, fn, user)
               : each_of(c, c->latest[class], fn, user, &left);
}

/* Lying elsewhere. */

typedef struct move {
    glow_classes *c;
    uint32_t class;
    const glow_lying *to;
    const glow_node *but; /* is not asked */
    bool movers;          /* nor is what only moves elements */
} move;

static bool
only_moves(const glow_node *n)
{
    return n->op == &glow_op_slice || n->op == &glow_op_concat ||
           n->op == &glow_op_inserttensor || n->op == &glow_op_copy ||
           n->op == &glow_op_save;
}

/* The values as they would lie; *strided if one of the class gets strides. */
static bool
lie_there(const move *m, glow_value *const *v, int count, glow_value **out,
          bool *strided)
{
    for (int i = 0; i < count; i++) {
        glow_lying s;

        out[i] = v[i];
        if (!v[i] || glow_type_count(v[i]->type) == 0)
            continue;
        if (!glow_classes_find(m->c, v[i], &s))
            return false;
        if (s.class == m->class) {
            if (!glow_type_move(&m->to->type, &s.type, &s.first))
                return false;
            *strided |= s.type.strides.rank > 0;
        }
        out[i] = glow_arena_copy(m->c->arena, v[i], sizeof *v[i]);
        out[i]->type = glow_type_get(glow_run_context(m->c->run), s.type);
    }
    return true;
}

static bool
can_work(void *user, uint32_t node)
{
    const move *m = user;
    const glow_node *n = m->c->v->nodes[node];
    const glow_backend *b = glow_run_backend(m->c->run);
    glow_arena *a = m->c->arena;
    const char *why;
    glow_node as = *n;
    bool strided = false;

    if (n == m->but || (m->movers && only_moves(n)))
        return true;
    if (n->n_in > MOST_OPERANDS)
        return false;
    as.in = GLOW_NEW_ARRAY(a, glow_value *, n->n_in);
    as.out = GLOW_NEW_ARRAY(a, glow_value *, n->n_out);
    if (!lie_there(m, n->in, n->n_in, as.in, &strided) ||
        !lie_there(m, n->out, n->n_out, as.out, &strided))
        return false;
    return !strided || (b && !(n->op->traits & GLOW_UNKNOWN) &&
                        b->takes(&as, a, &why) == GLOW_TAKES);
}

static bool
can_move(const move *m)
{
    const glow_type *to = &m->to->type;

    return glow_type_count(to) == glow_type_count(m->c->whole[m->class]) &&
           (to->strides.rank == 0 ||
            glow_class_each(m->c, m->class, can_work, (void *)m));
}

bool
glow_class_can_lie(glow_classes *c, uint32_t class, const glow_lying *to,
                   const glow_node *but)
{
    return can_move(&(move){c, class, to, but, false});
}

bool
glow_class_could_lie(glow_classes *c, uint32_t class, const glow_lying *to)
{
    return can_move(&(move){c, class, to, NULL, true});
}

void
glow_class_lie(glow_classes *c, uint32_t class, const glow_lying *to)
{
    uint32_t v = class, next = c->next[class];

    do {
        glow_type t = *c->lies[v];

        if (to->type.strides.rank && lie_in(&to->type, &t, &c->first[v]))
            c->lies[v] = glow_type_get(glow_run_context(c->run), t);
        c->first[v] += to->first;
        v = c->next[v];
    } while (v != class);
    if (to->class == GLOW_NO_VALUE) {
        c->storage[class] = to->storage;
        return;
    }
    c->parent[class] = to->class;
    c->latest[to->class] = GLOW_NO_VALUE;
    c->next[class] = c->next[to->class];
    c->next[to->class] = next;
}
