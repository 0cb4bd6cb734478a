/*
 * What join-parts will do, in the order that a graph will run in; and what
 * propagate-copy does to the copies that it leaves.
 */

#include <stdlib.h>

#include "irgen/sharing/program.h"

/* A class that could be joined. */
typedef struct piece {
    glow_lying at, to;
    int operand;
    uint32_t first, last; /* its life, by rank */
} piece;

typedef struct pieces {
    piece *at;
    int count;
} pieces;

static glow_node *
node_of(const glow_program_sharer *p, uint32_t i)
{
    return p->c->v->nodes[i];
}

static uint32_t
rank_of(const glow_program_sharer *p, uint32_t i)
{
    return p->m->ranks->rank[i];
}

/* What was measured of result 0 of node `i`; NULL: it was a part. */
static const glow_ranked_life *
life_of_result(const glow_program_sharer *p, uint32_t i, const glow_lying *at)
{
    uint32_t v = p->c->v->first[i];

    if (!p->lives->was_all[v])
        return NULL;
    return p->c->storage[p->lives->was[v]] ? glow_life_of(p->lives, at)
                                           : &p->lives->of[p->lives->was[v]];
}

/* Does somebody write the part that the class would be, while that is read? */
static bool
changes(const glow_program_sharer *p, uint32_t i, const glow_lying *a,
        const glow_lying *to)
{
    uint32_t rank = rank_of(p, i);
    glow_window w = {to, rank + 1, glow_life_of(p->lives, a)->last, true};
    const glow_ranked_life *r = life_of_result(p, i, to);
    uint32_t last = glow_life_of(p->lives, to)->last_write;

    return w.last > rank &&
           (!r || r->last_write > rank ||
            (last != GLOW_NO_RANK && last > rank && !glow_is_untouched(p, &w)));
}

/* Adds operand `k` of node `i`, if it could become what lies at `to`. */
static void
add_piece(glow_program_sharer *p, pieces *out, uint32_t i, int k,
          const glow_lying *to)
{
    const glow_node *n = node_of(p, i);
    glow_lying a;

    if (glow_type_count(n->in[k]->type) == 0 || !n->in[k]->def ||
        !glow_classes_find(p->c, n->in[k], &a) ||
        !glow_lying_is_all(p->c, &a) || a.class == to->class ||
        p->taken[a.class] == i + 1)
        return;
    const glow_ranked_life *life = glow_life_of(p->lives, &a);

    if ((life->last_write != GLOW_NO_RANK &&
         life->last_write > rank_of(p, i)) ||
        changes(p, i, &a, to) || !glow_class_can_lie(p->c, a.class, to, n))
        return;
    p->taken[a.class] = i + 1;
    out->at[out->count++] = (piece){a, *to, k, life->first, life->last};
}

static int
by_first(const void *x, const void *y)
{
    const piece *a = x, *b = y;

    return (a->first > b->first) - (a->first < b->first);
}

static void
set_life(glow_program_sharer *p, const glow_lying *base, uint32_t first,
         uint32_t last)
{
    glow_ranked_life *life = glow_life_of(p->lives, base);

    glow_lives_add(p->lives, base, life->first, life->last, -1);
    glow_lives_add(p->lives, base, first, last, 1);
    life->first = first;
    life->last = last;
}

/* Leaves out the pieces that begin first, until what is left costs no memory. */
static void
keep_affordable(glow_program_sharer *p, const glow_lying *base, pieces *all)
{
    const glow_ranked_life was = *glow_life_of(p->lives, base);

    glow_sort(all->at, (size_t)all->count, sizeof *all->at, by_first);
    for (int i = 0; i < all->count; i++)
        glow_lives_add(p->lives, &all->at[i].at, all->at[i].first,
                       all->at[i].last, -1);
    for (; all->count > 0; all->at++, all->count--) {
        uint32_t first =
            all->at->first < was.first ? all->at->first : was.first;
        uint32_t last = was.last;

        for (int i = 0; i < all->count; i++)
            if (all->at[i].last > last)
                last = all->at[i].last;
        set_life(p, base, first, last);
        if (glow_lives_fit(p->lives, first, last))
            return;
        glow_lives_add(p->lives, &all->at->at, all->at->first, all->at->last,
                       1);
    }
    set_life(p, base, was.first, was.last);
}

static void
join(glow_program_sharer *p, uint32_t i, const pieces *all)
{
    for (int k = 0; k < all->count; k++) {
        glow_class_lie(p->c, all->at[k].at.class, &all->at[k].to);
        p->m->shares[p->m->operand[i] + (uint32_t)all->at[k].operand] = true;
    }
    p->changed = true;
}

/* Inserts. */

static bool
same_place(const glow_lying *a, const glow_lying *b)
{
    return a->class == b->class && a->first == b->first &&
           a->type.strides.rank == b->type.strides.rank;
}

static void
join_insert(glow_program_sharer *p, uint32_t i)
{
    const glow_node *n = node_of(p, i);
    const glow_inserttensor *t = n->attrs;
    glow_lying big, to;
    piece room;
    pieces one = {&room, 0};

    if (!n->in[0]->def || !glow_classes_find(p->c, n->in[0], &big) ||
        !glow_classes_find(p->c, n->out[0], &to) || !same_place(&big, &to))
        return;
    to.type = glow_type_box(&to.type, t->start, (glow_dims){0},
                            n->in[1]->type->shape, &to.first);
    add_piece(p, &one, i, 1, &to);

    glow_window w = {&to, room.first, rank_of(p, i) - 1, false};

    if (one.count == 0 || !glow_is_untouched(p, &w))
        return;
    keep_affordable(p, &to, &one);
    if (one.count == 0)
        return;
    join(p, i, &one);
    p->is_joined[i] = p->c->gone[i] = true;
}

/* Concats. */

/* Does operand `k` lie where it belongs, or is there nothing of it? */
static bool
is_there(const glow_program_sharer *p, const glow_node *n, int k,
         const glow_lying *to)
{
    glow_lying a;

    return glow_type_count(n->in[k]->type) == 0 ||
           (n->in[k]->def && glow_classes_find(p->c, n->in[k], &a) &&
            a.class == to->class && a.first == to->first);
}

/* What has all of its parts is none any more. */
static void
finish(glow_program_sharer *p, uint32_t i, const glow_lying *whole)
{
    const glow_node *n = node_of(p, i);
    glow_dims at = {.rank = n->out[0]->type->shape.rank};

    p->is_copied[i] = true;
    for (int k = 0; k < n->n_in; k++) {
        glow_lying to = glow_part_at(n, whole, k, &at);

        if (!is_there(p, n, k, &to))
            return;
    }
    p->is_joined[i] = p->c->gone[i] = true;
}

static void
join_concat(glow_program_sharer *p, uint32_t i)
{
    const glow_node *n = node_of(p, i);
    glow_dims at = {.rank = n->out[0]->type->shape.rank};
    pieces all = {GLOW_NEW_ARRAY(p->c->arena, piece, n->n_in), 0};
    const glow_ranked_life *r;
    glow_lying whole;

    if (!glow_classes_find(p->c, n->out[0], &whole))
        return;
    r = life_of_result(p, i, &whole);
    if (!r || r->first != rank_of(p, i))
        return;
    for (int k = 0; k < n->n_in; k++) {
        glow_lying to = glow_part_at(n, &whole, k, &at);

        add_piece(p, &all, i, k, &to);
    }
    if (all.count > 0)
        keep_affordable(p, &whole, &all);
    if (all.count == 0)
        return;
    join(p, i, &all);
    if (!glow_classes_find(p->c, n->out[0], &whole))
        return;
    finish(p, i, &whole);
}

void
glow_join_parts(glow_program_sharer *p)
{
    uint32_t n = p->c->v->n_nodes;
    bool any = false;

    for (uint32_t i = 0; i < n; i++)
        any |= node_of(p, i)->op == &glow_op_concat ||
               node_of(p, i)->op == &glow_op_inserttensor;
    if (!any)
        return;
    p->lives = glow_memory_lives_new(p->m);
    for (uint32_t v = 0; v < p->c->v->n_values; v++)
        p->taken[v] = 0;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t i = p->m->ranks->node[r];

        if (glow_is_insert(node_of(p, i)) && !p->is_joined[i])
            join_insert(p, i);
    }
    for (uint32_t r = n; r-- > 0;) {
        uint32_t i = p->m->ranks->node[r];

        if (glow_is_concat(node_of(p, i)) && !p->is_copied[i] &&
            !p->is_joined[i])
            join_concat(p, i);
    }
}

/* Copies. */

static void
join_copy(glow_program_sharer *p, uint32_t i, int k, const glow_lying *to)
{
    const glow_node *n = node_of(p, i);
    uint32_t rank = rank_of(p, i);
    glow_lying a;

    if (is_there(p, n, k, to) || !n->in[k]->def || to->type.strides.rank ||
        !glow_classes_find(p->c, n->in[k], &a) ||
        !glow_lying_is_all(p->c, &a) || a.class == to->class)
        return;
    const glow_ranked_life *life = glow_life_of(p->lives, &a);
    glow_window before = {to, life->first, rank - 1, false};
    glow_window after = {to, rank + 1, life->last, true};

    if ((life->last_write != GLOW_NO_RANK && life->last_write >= rank) ||
        !glow_is_untouched(p, &before) || !glow_is_untouched(p, &after) ||
        !glow_lives_join(p->lives, &a, to))
        return;
    glow_class_lie(p->c, a.class, to);
    p->m->shares[p->m->operand[i] + (uint32_t)k] = true;
    p->changed = true;
}

void
glow_join_copies(glow_program_sharer *p)
{
    p->lives = NULL;
    for (uint32_t r = 0; r < p->c->v->n_nodes; r++) {
        uint32_t i = p->m->ranks->node[r];
        const glow_node *n = node_of(p, i);
        glow_dims at = {.rank = n->n_out ? n->out[0]->type->shape.rank : 0};
        glow_lying whole;

        if (!glow_is_concat(n) || !p->is_copied[i] || p->is_joined[i] ||
            !glow_classes_find(p->c, n->out[0], &whole))
            continue;
        if (!p->lives)
            p->lives = glow_memory_lives_new(p->m);
        for (int k = 0; k < n->n_in; k++) {
            glow_lying to = glow_part_at(n, &whole, k, &at);

            join_copy(p, i, k, &to);
        }
        finish(p, i, &whole);
    }
}
