/*
 * What of a graph will be in one buffer, in the order that it will run in.
 *
 * The passes of optimize-program, one after the other, on classes in the place of
 * buffers and ranks in the place of marks: so that what they decide by bytes is
 * decided here as there.
 *
 *   view-slice       early, where the source lives as long anyway; then where
 *                    that costs no memory
 *   share-buffers    early, of nothing that a concat reads; then of all
 *   join-parts       what is put together, or inserted, where that costs none
 *   propagate-copy   the same for each copy that join-parts leaves
 */

#include "irgen/sharing/program.h"

/* As often as a fixpoint in a pipeline. */
enum { MOST_ROUNDS = 8 };

static glow_node *
node_of(const glow_program_sharer *p, uint32_t i)
{
    return p->c->v->nodes[i];
}

/* Windows. */

/* Does node `i` write the value, or read it, within the window? */
static bool
is_within(const glow_program_sharer *p, const glow_window *w, uint32_t i,
          bool writes)
{
    uint32_t rank = p->m->ranks->rank[i];

    return rank >= w->first && rank <= w->last && (writes || !w->writes) &&
           !p->c->gone[i];
}

static bool
may_meet(const glow_program_sharer *p, const glow_window *w, uint32_t value)
{
    glow_extent part = {NULL, &w->part->type, w->part->first};
    glow_extent here = {NULL, p->c->lies[value], p->c->first[value]};

    return glow_extents_meet(part, here);
}

static bool
is_value_outside(const glow_program_sharer *p, const glow_window *w,
                 uint32_t value, int *left)
{
    const glow_classes *c = p->c;

    if (is_within(p, w, c->v->def[value], true) && may_meet(p, w, value))
        return false;
    for (uint32_t k = c->starts[value]; k < c->starts[value + 1]; k++) {
        if ((*left)-- == 0)
            return false;
        if (c->users[k] != GLOW_NO_VALUE &&
            is_within(p, w, c->users[k], false) && may_meet(p, w, value))
            return false;
    }
    return true;
}

bool
glow_is_untouched(const glow_program_sharer *p, const glow_window *w)
{
    const glow_storage *storage = w->part->storage;
    const glow_target *t = storage ? glow_target_of(p->s, storage) : NULL;
    uint32_t class = w->part->class, v = class;
    int left = GLOW_MOST_USERS;

    for (uint32_t k = 0; t && k < t->n_readers; k++)
        if (is_within(p, w, t->readers[k], false))
            return false;
    do {
        if (!is_value_outside(p, w, v, &left))
            return false;
        v = p->c->next[v];
    } while (v != class);
    return true;
}

/* view-slice. */

static bool
is_slice(const glow_node *n)
{
    return n->op == &glow_op_slice && !n->pred;
}

static void
view_slice(glow_program_sharer *p, uint32_t i, bool early)
{
    uint32_t rank = p->m->ranks->rank[i];
    glow_lying at, to;

    if (!glow_may_view(p->s, i, &at, &to))
        return;
    const glow_ranked_life *a = glow_life_of(p->lives, &at);
    const glow_ranked_life *b = glow_life_of(p->lives, &to);

    if (a->first != rank || a->last_write != rank ||
        (b->last_write != GLOW_NO_RANK && b->last_write > rank) ||
        (early ? a->last > b->last : !glow_lives_join(p->lives, &at, &to)))
        return;
    glow_share_lie(p->s, i, &to);
    p->m->shares[p->m->operand[i]] = true;
    p->changed = true;
}

static void
view_slices(glow_program_sharer *p, bool early)
{
    p->lives = NULL;
    for (uint32_t r = 0; r < p->c->v->n_nodes; r++) {
        uint32_t i = p->m->ranks->node[r];

        if (!is_slice(node_of(p, i)) || p->c->gone[i])
            continue;
        if (!p->lives)
            p->lives = glow_memory_lives_new(p->m);
        view_slice(p, i, early);
    }
}

/* share-buffers. */

static void
find_parts(glow_program_sharer *p, bool early)
{
    glow_lying at;

    for (uint32_t v = 0; v < p->c->v->n_values; v++)
        p->is_part[v] = false;
    for (uint32_t i = 0; early && i < p->c->v->n_nodes; i++) {
        const glow_node *n = node_of(p, i);

        if (n->op != &glow_op_concat || n->pred || p->is_copied[i] ||
            p->is_joined[i])
            continue;
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k]->def && glow_classes_find(p->c, n->in[k], &at) &&
                glow_lying_is_all(p->c, &at))
                p->is_part[at.class] = true;
    }
}

typedef struct span {
    const glow_program_sharer *p;
    uint32_t first, last; /* ranks */
} span;

static bool
note_rank(void *user, uint32_t node)
{
    span *s = user;
    uint32_t rank = s->p->m->ranks->rank[node];

    if (rank < s->first)
        s->first = rank;
    if (rank > s->last)
        s->last = rank;
    return true;
}

/* The life of a class now; false if too many touch it. */
static bool
find_span(const glow_program_sharer *p, uint32_t class, span *s)
{
    *s = (span){p, GLOW_NO_RANK, 0};
    return glow_class_each(p->c, class, note_rank, s);
}

/* What uses the result takes the buffer of the operand. */
static bool
take_operand(glow_program_sharer *p, uint32_t rank, const glow_lying *made,
             const glow_lying *over)
{
    span s;

    if (!glow_lying_is_all(p->c, made) || !find_span(p, made->class, &s) ||
        s.first != rank)
        return false;
    p->is_part[over->class] |= p->is_part[made->class];
    glow_class_lie(p->c, made->class, over);
    return true;
}

/* Does the node read from where the result is? */
static bool
reads_there(const glow_program_sharer *p, const glow_node *n,
            const glow_lying *made)
{
    glow_lying at;

    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] && n->in[k]->def &&
            (!glow_classes_find(p->c, n->in[k], &at) ||
             at.class == made->class))
            return true;
    return false;
}

/* What was computed in the operand's buffer is computed where the result is. */
static bool
go_to_result(glow_program_sharer *p, const glow_node *n, uint32_t first,
             const glow_lying *made, const glow_lying *over)
{
    uint32_t rank = p->m->ranks->rank[n->mark];
    glow_window w = {made, first, rank - 1, false};

    if (made->type.strides.rank || reads_there(p, n, made) ||
        (first < rank && !glow_is_untouched(p, &w)))
        return false;
    glow_class_lie(p->c, over->class, made);
    return true;
}

static bool
share(glow_program_sharer *p, uint32_t i, int out, int k)
{
    const glow_node *n = node_of(p, i);
    uint32_t rank = p->m->ranks->rank[i];
    glow_lying made, over;
    span s;

    if (!glow_memory_in_place(p->m, n, out, k, &made, &over) ||
        p->is_part[over.class] || !find_span(p, over.class, &s) ||
        s.last != rank)
        return false;
    return take_operand(p, rank, &made, &over) ||
           go_to_result(p, n, s.first, &made, &over);
}

static void
share_buffers(glow_program_sharer *p, bool early)
{
    find_parts(p, early);
    for (uint32_t r = 0; r < p->c->v->n_nodes; r++) {
        uint32_t i = p->m->ranks->node[r];
        glow_inplace_at at = {0};

        while (!p->c->gone[i] && glow_next_inplace(node_of(p, i), &at))
            if (share(p, i, at.out, at.in)) {
                p->changed = true;
                break;
            }
    }
}

/* The pipeline. */

static void
optimize(glow_program_sharer *p, bool early)
{
    p->changed = true;
    for (int i = 0; i < MOST_ROUNDS && p->changed; i++) {
        p->changed = false;
        glow_join_copies(p);
        view_slices(p, early);
        share_buffers(p, early);
        glow_join_parts(p);
    }
}

void
glow_share_in_order(glow_sharer *s)
{
    glow_arena *a = s->c->arena;
    const glow_values *v = s->c->v;
    glow_program_sharer p = {
        .s = s,
        .m = s->m,
        .c = s->c,
        .is_part = GLOW_NEW_ARRAY(a, bool, v->n_values),
        .is_copied = GLOW_NEW_ARRAY(a, bool, v->n_nodes),
        .is_joined = GLOW_NEW_ARRAY(a, bool, v->n_nodes),
        .taken = GLOW_NEW_ARRAY(a, uint32_t, v->n_values),
    };

    optimize(&p, true);
    optimize(&p, false);
    for (uint32_t i = 0; i < v->n_nodes; i++)
        s->c->gone[i] &= !p.is_joined[i];
}
