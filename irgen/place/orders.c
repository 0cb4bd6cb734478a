/*
 * Placement in a given order of buffers, by first fit or best fit.
 *
 * Each buffer goes to the lowest offset at which it overlaps no placed buffer that
 * is live at the same time (first fit), or into the smallest gap that holds it
 * (best fit).  The orders are those of Glow's offline allocator (from the moment
 * of the peak, by size and by time), and by size, time and area.  A result is
 * repaired by moving the topmost buffer to the front of the order and placing all
 * again (squeaky wheel optimization: Joslin and Clements, JAIR 10, 1999).
 *
 * The neighbours of a buffer in time are found in a tree over the begins that
 * holds the latest end of placed buffers: log(n) for each.  Where most buffers
 * overlap in time, a scan of all placed buffers, sorted by offset, is faster and
 * is used instead.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/place/strategies.h"

#define REPAIR_ROUNDS 400

typedef glow_place_item item;

typedef struct taken { /* a range of addresses */
    int64_t begin, end;
    uint32_t item;
} taken;

typedef struct placer {
    glow_place_problem *p;
    item *items;
    uint32_t count;
    bool dense, best_fit;
    int64_t *latest; /* tree: latest end of placed items */
    uint32_t leaves;
    taken *placed; /* dense: by offset */
    uint32_t n_placed;
    taken
        *near; /* placed items live together with the current one, by offset */
    uint32_t n_near;
    uint32_t *order;
} placer;

static int
by_offset(const void *x, const void *y)
{
    const taken *a = x, *b = y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->item < b->item ? -1 : 1;
}

static bool
is_dense(const glow_place_problem *p)
{
    return p->pairs / 32 > (int64_t)p->count * p->count / 1024;
}

int64_t
glow_place_work(const glow_place_problem *p)
{
    return p->count +
           (is_dense(p) ? (int64_t)p->count * p->count / 2 : 8 * p->pairs);
}

static void
begin(placer *s, glow_place_problem *p)
{
    glow_arena *a = p->arena;

    *s = (placer){.p = p,
                  .items = p->items,
                  .count = p->count,
                  .dense = is_dense(p),
                  .leaves = glow_tree_leaves(p->count)};
    s->latest = GLOW_NEW_ARRAY(a, int64_t, 2 * (size_t)s->leaves);
    s->placed = GLOW_NEW_ARRAY(a, taken, p->count);
    s->near = GLOW_NEW_ARRAY(a, taken, p->count);
    s->order = GLOW_NEW_ARRAY(a, uint32_t, p->count);
}

/* One item. */

static void
near_by_scan(placer *s, const item *x)
{
    for (uint32_t i = 0; i < s->n_placed; i++) {
        const item *y = &s->items[s->placed[i].item];

        if (y->begin < x->end && x->begin < y->end)
            s->near[s->n_near++] = s->placed[i];
    }
}

static void
near_by_tree(placer *s, const item *x)
{
    uint32_t stack[64], depth = 0, to = glow_place_first_at(s->p, 0, x->end);

    stack[depth++] = 1;
    while (depth > 0) {
        uint32_t node = stack[--depth], first = node;

        if (s->latest[node] <= x->begin)
            continue;
        while (first < s->leaves)
            first *= 2;
        if (first - s->leaves >= to)
            continue;
        if (node < s->leaves) {
            stack[depth++] = 2 * node + 1;
            stack[depth++] = 2 * node;
            continue;
        }
        const item *y = &s->items[node - s->leaves];

        s->near[s->n_near++] =
            (taken){y->offset, y->offset + y->size, node - s->leaves};
    }
    if (s->n_near > 0)
        glow_sort(s->near, s->n_near, sizeof(taken), by_offset);
}

static void
insert(placer *s, uint32_t i)
{
    item *x = &s->items[i];
    taken t = {x->offset, x->offset + x->size, i};
    uint32_t at = 0, to = s->n_placed;

    if (!s->dense) {
        glow_tree_set(s->latest, s->leaves, i, x->end);
        return;
    }
    while (at < to) {
        uint32_t mid = at + (to - at) / 2;

        if (by_offset(&s->placed[mid], &t) < 0)
            at = mid + 1;
        else
            to = mid;
    }
    memmove(&s->placed[at + 1], &s->placed[at],
            (s->n_placed++ - at) * sizeof(taken));
    s->placed[at] = t;
}

/* The lowest gap that holds `x`, or the smallest. */
static int64_t
find_gap(const placer *s, const item *x)
{
    int64_t offset = glow_place_fit(s->p, x, 0), chosen = -1;
    int64_t least = INT64_MAX, bottom = 0;

    for (uint32_t i = 0; i < s->n_near; i++) {
        const taken *y = &s->near[i];

        if (y->begin - offset >= x->size && y->begin - bottom < least) {
            if (!s->best_fit)
                return offset;
            least = y->begin - bottom;
            chosen = offset;
        }
        if (y->end > bottom)
            bottom = y->end;
        if (y->end > offset)
            offset = glow_place_fit(s->p, x, y->end);
    }
    return chosen < 0 ? offset : chosen;
}

/* Places all items in their order after the fixed ones; returns the height. */
static int64_t
place(placer *s)
{
    int64_t height = 0;

    s->n_placed = 0;
    for (uint32_t i = 0; !s->dense && i < 2 * s->leaves; i++)
        s->latest[i] = INT64_MIN;
    for (uint32_t i = 0; s->p->n_fixed && i < s->count; i++)
        if (s->items[i].is_fixed)
            insert(s, i);
    for (uint32_t k = 0; k < s->count; k++) {
        item *x = &s->items[s->order[k]];

        if (!x->is_fixed) {
            s->n_near = 0;
            if (s->dense)
                near_by_scan(s, x);
            else
                near_by_tree(s, x);
            x->offset = find_gap(s, x);
            insert(s, s->order[k]);
        }
        if (x->offset + x->size > height)
            height = x->offset + x->size;
    }
    return height;
}

/* Orders: by two keys, descending, then by number. */

typedef struct sort_key {
    double first, second;
    uint32_t item;
} sort_key;

static int
by_key(const void *x, const void *y)
{
    const sort_key *a = x, *b = y;

    if (a->first != b->first)
        return a->first > b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second > b->second ? -1 : 1;
    return a->item < b->item ? -1 : 1;
}

static sort_key
key_of(const item *x, glow_place_strategy order)
{
    double size = (double)x->size, time = (double)x->end - (double)x->begin;

    switch (order) {
    case GLOW_PLACE_SIZE:
    case GLOW_PLACE_BEST_FIT:
        return (sort_key){.first = size, .second = time};
    case GLOW_PLACE_LIFETIME:
        return (sort_key){.first = time, .second = size};
    case GLOW_PLACE_AREA:
        return (sort_key){.first = size * time, .second = size};
    case GLOW_PLACE_LOAD_SIZE:
        return (sort_key){.first = (double)x->load, .second = size};
    default:
        return (sort_key){.first = (double)x->load, .second = time};
    }
}

int64_t
glow_place_in_order(glow_place_problem *p, glow_place_strategy order)
{
    sort_key *keys = GLOW_NEW_ARRAY(p->arena, sort_key, p->count + 1);
    placer s;

    begin(&s, p);
    s.best_fit = order == GLOW_PLACE_BEST_FIT;
    for (uint32_t i = 0; i < p->count; i++) {
        keys[i] = key_of(&p->items[i], order);
        keys[i].item = i;
    }
    glow_sort(keys, p->count, sizeof(*keys), by_key);
    for (uint32_t i = 0; i < p->count; i++)
        s.order[i] = keys[i].item;
    return place(&s);
}

/* Repair. */

/* Moves the topmost item to the front of the order. */
static void
promote(const placer *s)
{
    uint32_t top = 0;
    int64_t height = 0;

    for (uint32_t k = 0; k < s->count; k++) {
        const item *x = &s->items[s->order[k]];

        if (!x->is_fixed && x->offset + x->size > height) {
            height = x->offset + x->size;
            top = k;
        }
    }
    uint32_t moved = s->order[top];

    memmove(&s->order[1], &s->order[0], top * sizeof(*s->order));
    s->order[0] = moved;
}

static void
save(const placer *s, int64_t *offsets)
{
    for (uint32_t i = 0; i < s->count; i++)
        offsets[i] = s->items[i].offset;
}

int64_t
glow_place_repair(glow_place_problem *p, int64_t work)
{
    int64_t *offsets = GLOW_NEW_ARRAY(p->arena, int64_t, p->count);
    taken *now = GLOW_NEW_ARRAY(p->arena, taken, p->count + 1);
    int64_t rounds = work / glow_place_work(p), least = 0, height;
    placer s;

    begin(&s, p);
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t top = p->items[i].offset + p->items[i].size;

        now[i] = (taken){p->items[i].offset, top, i};
        least = top > least ? top : least;
    }
    glow_sort(now, p->count, sizeof(*now), by_offset);
    for (uint32_t i = 0; i < p->count; i++)
        s.order[i] = now[i].item;
    save(&s, offsets);
    if (rounds > REPAIR_ROUNDS)
        rounds = REPAIR_ROUNDS;
    while (rounds-- > 0 && least > p->bound) {
        promote(&s);
        height = place(&s);
        if (height < least) {
            least = height;
            save(&s, offsets);
        }
    }
    for (uint32_t i = 0; i < p->count; i++)
        p->items[i].offset = offsets[i];
    return least;
}
