/*
 * What of a graph will be in one buffer, in whatever order it runs, if all is
 * joined that may be joined, but for what is said to be apart.
 *
 * The rules are those of the passes over programs, in the same order:
 *
 *   propagate-copy   what is saved is computed in the placeholder, a copy is what
 *                    is copied
 *   view-slice       what is cut out is read where it lies
 *   share-buffers    a chain of instructions works in one buffer
 *   join-parts       what is put together is computed there, and with it the
 *                    whole chain; so nothing may work in place on what a concat
 *                    will read, while that can still become a part
 */

#include "irgen/sharing/share.h"

typedef struct always {
    glow_sharer *s;
    glow_memory_model *m;
    glow_classes *c;
    bool *is_part;    /* by value: a concat will read it */
    bool *is_changed; /* by value: somebody works in place on it, or on what
                         it has become a part of */
    bool *is_over;    /* by value: it is what works in place */
} always;

static glow_node *
node_of(const always *s, uint32_t i)
{
    return s->c->v->nodes[i];
}

/* Is operand `k` of the node kept where it is? */
static bool
is_apart(const always *s, uint32_t i, int k)
{
    const bool *apart = s->s->options->apart;

    return apart && apart[s->m->operand[i] + (uint32_t)k];
}

/* Slices. */

static void
view_slice(always *s, uint32_t i)
{
    glow_lying at, to;

    if (is_apart(s, i, 0) || !glow_may_view(s->s, i, &at, &to))
        return;
    s->m->shares[s->m->operand[i]] = true;
    glow_share_lie(s->s, i, &to);
}

/* In place. */

bool
glow_memory_in_place(const glow_memory_model *m, const glow_node *n, int out,
                     int k, glow_lying *made, glow_lying *over)
{
    const glow_value *a = n->in[k], *r = n->out[out];
    glow_lying other;

    if (n->pred || (n->op->traits & GLOW_UNKNOWN) || !a || !a->def ||
        a->type != r->type || !glow_classes_find(m->classes, a, over) ||
        !glow_lying_is_all(m->classes, over) ||
        !glow_classes_find(m->classes, r, made))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->def &&
            (n->in[i] != a || !glow_may_be_inplace(n, out, i)) &&
            (!glow_classes_find(m->classes, n->in[i], &other) ||
             other.class == over->class))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (!glow_classes_find(m->classes, n->out[i], &other) ||
            other.class == over->class)
            return false;
    return true;
}

/* Is it a whole buffer, and if that is a placeholder, does nobody read it? */
static bool
is_free(const always *s, const glow_lying *made)
{
    const glow_target *t =
        made->storage ? glow_target_of(s->s, made->storage) : NULL;

    return made->storage ? t && t->n_readers == 0
                         : glow_lying_is_all(s->c, made);
}

static bool
share(always *s, uint32_t i, int out, int k)
{
    const glow_node *n = node_of(s, i);
    glow_lying made, over;
    uint32_t a = n->in[k] ? glow_value_base(s->c->v, n->in[k]) : GLOW_NO_VALUE;
    uint32_t r = s->c->v->first[i] + (uint32_t)out;

    if (a == GLOW_NO_VALUE || s->is_part[a] || s->is_over[r] ||
        !glow_memory_in_place(s->m, n, out, k, &made, &over) ||
        !is_free(s, &made) ||
        !glow_ranks_is_last(s->m->ranks, s->c, over.class, i))
        return false;
    bool alone = s->c->next[made.class] == made.class;

    s->c->storage[over.class] = made.storage;
    glow_class_lie(s->c, made.class, &over);
    if (alone)
        s->c->latest[over.class] = r;
    s->is_changed[a] = s->is_over[r] = true;
    return true;
}

static bool
share_one(always *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    glow_inplace_at at = {0};

    while (glow_next_inplace(n, &at))
        if (share(s, i, at.out, at.in))
            return true;
    return false;
}

/* Parts. */

static void
find_parts(always *s)
{
    for (uint32_t i = 0; i < s->c->v->n_nodes; i++) {
        const glow_node *n = node_of(s, i);

        for (int k = 0; glow_is_concat(n) && k < n->n_in; k++) {
            uint32_t v = glow_value_base(s->c->v, n->in[k]);

            if (v != GLOW_NO_VALUE && !is_apart(s, i, k))
                s->is_part[v] = true;
        }
    }
}

/* What is written to `whole` later is written to all of the class. */
static void
pass_change(always *s, uint32_t class, uint32_t whole)
{
    uint32_t v = class;

    do {
        s->is_changed[v] |= s->is_changed[whole];
        v = s->c->next[v];
    } while (v != class);
}

/* Joins operand `k` to what lies at `to`. */
static void
join(always *s, uint32_t i, int k, const glow_lying *to)
{
    const glow_node *n = node_of(s, i);
    uint32_t whole = s->c->v->first[i];
    glow_lying a;

    if (is_apart(s, i, k) || glow_type_count(n->in[k]->type) == 0 ||
        !n->in[k]->def || !glow_classes_find(s->c, n->in[k], &a) ||
        !glow_lying_is_all(s->c, &a) || a.class == to->class ||
        (s->is_changed[whole] &&
         !glow_ranks_is_last(s->m->ranks, s->c, a.class, i)) ||
        !glow_class_can_lie(s->c, a.class, to, n))
        return;
    s->m->shares[s->m->operand[i] + (uint32_t)k] = true;
    pass_change(s, a.class, whole);
    glow_class_lie(s->c, a.class, to);
}

static void
join_parts(always *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    glow_dims at = {.rank = n->out[0]->type->shape.rank};
    glow_lying whole;

    if (!glow_classes_find(s->c, n->out[0], &whole))
        return;
    for (int k = 0; k < n->n_in; k++) {
        glow_lying to = glow_part_at(n, &whole, k, &at);

        join(s, i, k, &to);
    }
}

void
glow_share_always(glow_sharer *sharer)
{
    glow_classes *c = sharer->c;
    always s = {.s = sharer, .m = sharer->m, .c = c};
    const uint32_t *node = s.m->ranks->node;
    uint32_t count = c->v->n_nodes;

    s.is_part = GLOW_NEW_ARRAY(c->arena, bool, c->v->n_values);
    s.is_over = GLOW_NEW_ARRAY(c->arena, bool, c->v->n_values);
    s.is_changed = GLOW_NEW_ARRAY(c->arena, bool, c->v->n_values);
    for (uint32_t i = 0; i < count; i++)
        if (node_of(&s, node[i])->op == &glow_op_slice &&
            !node_of(&s, node[i])->pred)
            view_slice(&s, node[i]);
    find_parts(&s);
    for (uint32_t i = 0; i < count; i++)
        share_one(&s, node[i]);
    for (uint32_t i = count; i-- > 0;)
        if (glow_is_concat(node_of(&s, node[i])))
            join_parts(&s, node[i]);
    for (uint32_t i = 0; i < c->v->n_values; i++)
        s.is_part[i] = false;
    for (uint32_t i = 0; i < count; i++)
        share_one(&s, node[i]);
}
