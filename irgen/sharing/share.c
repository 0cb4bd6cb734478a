/*
 * Buffer sharing that holds in every order of a graph.  All operands that may be
 * joined are joined, except `apart` of glow_memory_options.
 *
 * The rules are those of the passes over programs, in the same order:
 *
 *   propagate-copy   the operand of a Save is computed in the placeholder, a Copy
 *                    shares the buffer of its operand (outputs.c)
 *   view-slice       a Slice becomes a view of its source
 *   share-buffers    a chain of in-place instructions has one buffer
 *   join-parts       the operands of a Concat are computed in its result, with their
 *                    whole chain.  So no instruction may update an operand of a
 *                    Concat in place as long as the operand may become a part.
 */

#include "irgen/sharing/share.h"

typedef struct always {
    glow_sharer *s;
    glow_memory_model *m;
    glow_graph_table *t;
    bool *is_part;    /* by value: operand of a concat that may be joined */
    bool *is_changed; /* by value: a node updates it in place, or the buffer of
                         which it is a part */
    bool *is_over;    /* by value: result of an in-place update */
} always;

static glow_node *
node_of(const always *s, uint32_t i)
{
    return s->t->v->nodes[i];
}

/* True if operand `k` of node `i` has to stay a copy. */
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
    glow_part at, to;

    if (is_apart(s, i, 0) || !glow_may_view(s->s, i, &at, &to))
        return;
    s->m->shares[s->m->operand[i]] = true;
    glow_share_move(s->s, i, &to);
}

/* In place. */

bool
glow_memory_in_place(const glow_memory_model *m, const glow_node *n, int out,
                     int k, glow_part *made, glow_part *over)
{
    const glow_value *a = n->in[k], *r = n->out[out];
    glow_part other;

    if (n->pred || (n->op->traits & GLOW_UNKNOWN) || !a || !a->def ||
        !glow_type_fits_inplace(a->type, r->type) ||
        !glow_table_find(m->table, a, over) ||
        !glow_table_is_all(m->table, over) ||
        !glow_table_find(m->table, r, made))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->def &&
            (n->in[i] != a || !glow_may_be_inplace(n, out, i)) &&
            (!glow_table_find(m->table, n->in[i], &other) ||
             other.buffer == over->buffer))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (!glow_table_find(m->table, n->out[i], &other) ||
            other.buffer == over->buffer)
            return false;
    return true;
}

/* True if `made` is a whole alloc, or in a placeholder that is saved to and that
   no node reads. */
static bool
is_free(const always *s, const glow_part *made)
{
    const glow_storage *storage = glow_table_storage(s->t, made);
    const glow_target *to = storage ? glow_target_of(s->s, storage) : NULL;

    return storage ? to && to->n_readers == 0 : glow_table_is_all(s->t, made);
}

static bool
share(always *s, uint32_t i, int out, int k)
{
    const glow_node *n = node_of(s, i);
    const glow_graph_table *t = s->t;
    uint32_t a = glow_table_base(t, n->in[k]);
    uint32_t r = t->value[t->v->first[i] + (uint32_t)out];
    glow_part made, over;

    if (a == GLOW_NONE || s->is_part[a] || s->is_over[r] ||
        !glow_memory_in_place(s->m, n, out, k, &made, &over) ||
        !is_free(s, &made) ||
        !glow_ranks_is_last(s->m->ranks, t, over.buffer, i))
        return false;
    t->x->buffers[over.buffer].storage = glow_table_storage(t, &made);
    glow_table_move(t, made.buffer, &over);
    if (!t->is_mixed[made.buffer])
        t->latest[over.buffer] = t->x->buffers[made.buffer].own;
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
    for (uint32_t i = 0; i < s->t->v->n_nodes; i++) {
        const glow_node *n = node_of(s, i);

        for (int k = 0; glow_is_concat(n) && k < n->n_in; k++) {
            uint32_t v = glow_table_base(s->t, n->in[k]);

            if (v != GLOW_NONE && !is_apart(s, i, k))
                s->is_part[v] = true;
        }
    }
}

/* If `whole` is updated in place, so are all values of the buffer, its part. */
static void
pass_change(always *s, uint32_t buffer, uint32_t whole)
{
    const glow_accesses *x = s->t->x;
    uint32_t v = x->buffers[buffer].values;

    for (; v != GLOW_NONE; v = x->values[v].next)
        s->is_changed[v] |= s->is_changed[whole];
}

/* Moves the buffer of operand `k` of Concat `i` to its part `to` of the result, if
   that is right in every order. */
static void
join(always *s, uint32_t i, int k, const glow_part *to)
{
    const glow_node *n = node_of(s, i);
    uint32_t whole = s->t->value[s->t->v->first[i]];
    glow_part a;

    if (is_apart(s, i, k) || glow_type_count(n->in[k]->type) == 0 ||
        !n->in[k]->def || !glow_table_find(s->t, n->in[k], &a) ||
        !glow_table_is_all(s->t, &a) || a.buffer == to->buffer ||
        (s->is_changed[whole] &&
         !glow_ranks_is_last(s->m->ranks, s->t, a.buffer, i)) ||
        !glow_table_can_move(s->t, a.buffer, to, i))
        return;
    s->m->shares[s->m->operand[i] + (uint32_t)k] = true;
    pass_change(s, a.buffer, whole);
    glow_table_move(s->t, a.buffer, to);
}

static void
join_parts(always *s, uint32_t i)
{
    const glow_node *n = node_of(s, i);
    glow_dims at = {.rank = n->out[0]->type->shape.rank};
    glow_part whole;

    if (!glow_table_find(s->t, n->out[0], &whole))
        return;
    for (int k = 0; k < n->n_in; k++) {
        glow_part to = glow_part_at(n, &whole, k, &at);

        join(s, i, k, &to);
    }
}

void
glow_share_always(glow_sharer *sharer)
{
    glow_graph_table *t = sharer->t;
    always s = {.s = sharer, .m = sharer->m, .t = t};
    const uint32_t *node = s.m->ranks->node;
    uint32_t count = t->v->n_nodes;

    s.is_part = GLOW_NEW_ARRAY(t->x->arena, bool, t->x->n_values);
    s.is_over = GLOW_NEW_ARRAY(t->x->arena, bool, t->x->n_values);
    s.is_changed = GLOW_NEW_ARRAY(t->x->arena, bool, t->x->n_values);
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
    for (uint32_t i = 0; i < t->x->n_values; i++)
        s.is_part[i] = false;
    for (uint32_t i = 0; i < count; i++)
        share_one(&s, node[i]);
}
