/*
 * Verification of placements by a sweep over time.
 *
 * The live buffers are kept in two trees over the order of offsets: a maximum of
 * their ends, which finds buffers that reach into a new one from below, and a
 * minimum of their begins, which finds buffers that the new one reaches.  Time
 * n log n.
 */

#include <stdlib.h>

#include "irgen/place/problem.h"

typedef struct checker {
    const glow_place_problem *p;
    uint32_t *rank; /* by item: its rank by offset */
    uint32_t leaves;
    int64_t *tops, *bottoms; /* of live items; bottoms negated */
} checker;

static bool
is_at_fault(const glow_place_problem *p, const glow_place_item *x,
            glow_placement *out)
{
    glow_place_fault fault = GLOW_PLACE_SOUND;

    if (x->offset < 0)
        fault = GLOW_PLACE_NEGATIVE;
    else if (x->offset % x->align != 0)
        fault = GLOW_PLACE_MISALIGNED;
    else if (x->size <= p->bank && x->offset % p->bank > p->bank - x->size)
        fault = GLOW_PLACE_CROSSES_BANK;
    else if (glow_place_fit(p, x, x->offset) != x->offset)
        fault = GLOW_PLACE_FORBIDDEN;
    else if (x->size > p->capacity || x->offset > p->capacity - x->size)
        fault = GLOW_PLACE_BEYOND;
    out->fault = fault;
    out->buffer = out->other = x->from;
    return fault != GLOW_PLACE_SOUND;
}

typedef struct ranked {
    int64_t key;
    uint32_t item;
} ranked;

static int
by_key(const void *x, const void *y)
{
    const ranked *a = x, *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->item < b->item ? -1 : 1;
}

static void
sort_by(ranked *r, const glow_place_problem *p, bool by_end)
{
    for (uint32_t i = 0; i < p->count; i++)
        r[i] = (ranked){by_end ? p->items[i].end : p->items[i].offset, i};
    glow_sort(r, p->count, sizeof(*r), by_key);
}

/* True if `x`, which becomes live, overlaps a live item. */
static bool
clashes(const checker *c, uint32_t i)
{
    const glow_place_item *x = &c->p->items[i];
    uint32_t rank = c->rank[i];

    return glow_tree_max(c->tops, c->leaves, 0, rank) > x->offset ||
           -glow_tree_max(c->bottoms, c->leaves, rank, c->leaves) <
               x->offset + x->size;
}

static void
set(checker *c, uint32_t i, bool lives)
{
    const glow_place_item *x = &c->p->items[i];

    glow_tree_set(c->tops, c->leaves, c->rank[i],
                  lives ? x->offset + x->size : -1);
    glow_tree_set(c->bottoms, c->leaves, c->rank[i],
                  lives ? -x->offset : -INT64_MAX);
}

/* The first item that overlaps item `i`. */
static size_t
clash_of(const glow_place_problem *p, uint32_t i)
{
    const glow_place_item *x = &p->items[i], *y = p->items;

    while (y->begin >= x->end || x->begin >= y->end ||
           y->offset >= x->offset + x->size || x->offset >= y->offset + y->size)
        y++;
    return y->from;
}

static bool
find_fault(const glow_place_problem *p, glow_placement *out)
{
    checker c = {.p = p, .leaves = glow_tree_leaves(p->count)};
    ranked *r = GLOW_NEW_ARRAY(p->arena, ranked, p->count + 1);
    uint32_t ended = 0;

    for (uint32_t i = 0; i < p->count; i++)
        if (is_at_fault(p, &p->items[i], out))
            return true;
    c.rank = GLOW_NEW_ARRAY(p->arena, uint32_t, p->count + 1);
    c.tops = GLOW_NEW_ARRAY(p->arena, int64_t, 2 * (size_t)c.leaves);
    c.bottoms = GLOW_NEW_ARRAY(p->arena, int64_t, 2 * (size_t)c.leaves);
    for (uint32_t i = 0; i < 2 * c.leaves; i++) {
        c.tops[i] = -1;
        c.bottoms[i] = -INT64_MAX;
    }
    sort_by(r, p, false);
    for (uint32_t i = 0; i < p->count; i++)
        c.rank[r[i].item] = i;
    sort_by(r, p, true);
    for (uint32_t i = 0; i < p->count; i++) {
        for (; r[ended].key <= p->items[i].begin; ended++)
            set(&c, r[ended].item, false);
        if (clashes(&c, i)) {
            out->fault = GLOW_PLACE_OVERLAPS;
            out->buffer = p->items[i].from;
            out->other = clash_of(p, i);
            return true;
        }
        set(&c, i, true);
    }
    return false;
}

bool
glow_place_fixed_fault(const glow_place_problem *p, glow_placement *out)
{
    glow_place_problem fixed = *p;

    if (p->n_fixed == 0)
        return false;
    fixed.items = GLOW_NEW_ARRAY(p->arena, glow_place_item, p->n_fixed);
    fixed.count = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->items[i].is_fixed)
            fixed.items[fixed.count++] = p->items[i];
    return find_fault(&fixed, out);
}

bool
glow_place_check(glow_arena *a, const glow_lifetime *buffers, size_t count,
                 const glow_place_space *space, glow_placement *out)
{
    glow_lifetime *fixed = glow_arena_copy(a, buffers, count * sizeof(*fixed));
    glow_place_problem p;

    *out = (glow_placement){0};
    for (size_t i = 0; i < count; i++)
        fixed[i].is_fixed = fixed[i].size > 0 && fixed[i].begin < fixed[i].end;
    if (!glow_place_take(&p, a, fixed, count, space, out))
        return false;
    if (glow_place_fixed_fault(&p, out))
        return false;
    for (uint32_t i = 0; i < p.count; i++) {
        int64_t top = p.items[i].offset + p.items[i].size;

        out->height = top > out->height ? top : out->height;
    }
    out->load = p.load;
    out->busiest = p.busiest;
    out->bound = p.bound;
    return true;
}
