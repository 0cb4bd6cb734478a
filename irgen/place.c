/*
 * Static placement by best of several orders, repair of the best, and search.
 *
 * Buffers are placed one after the other, each at the lowest offset where it
 * overlaps nothing that is placed and alive at the same time (first fit).  What
 * comes out depends on the order.  The orders are those of Glow's offline
 * allocator (from the busiest moment, by size and by time; as given) and those
 * that are known to do well where it does not (by size, time, area).  If none
 * meets the bound, the best one is repaired: the buffer on top is moved to the
 * front and all is placed again, as often as the size of the problem allows
 * (squeaky wheel optimization: Joslin and Clements, JAIR 10, 1999).  Should that
 * not do, place_search.c looks for a placement at the bound or near it, within
 * limits.
 *
 * A buffer's neighbours in time are found in a tree over the begins that holds
 * the latest end of what is placed: time log(n) for each.  Where most buffers
 * meet most others, a scan of all that is placed, kept sorted by offset, is
 * faster and is used instead.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/place_problem.h"
#include "irgen/place_search.h"

#define REPAIR_WORK 2000000 /* overlaps looked at while repairing */
#define REPAIR_ROUNDS 400
#define FIRST_SLICE 4000   /* steps of the search at the bound, at first */
#define CLIMBS 5           /* tries above the bound each time */
#define AUTO_WORK 20000000 /* steps in all, times buffers */
#define EXACT_WORK 2000000000
#define SEARCH_PAIRS 4000000 /* no search where more live together */

const char *const glow_place_strategies[] = {
    "auto",     "exact", "greedy",    "given",     "size",
    "lifetime", "area",  "load-size", "load-time", NULL,
};

typedef glow_place_item item;

typedef struct taken { /* a stretch of memory */
    int64_t begin, end;
    uint32_t item;
} taken;

typedef struct placer {
    const glow_place_problem *problem;
    item *items;
    uint32_t count;
    int64_t *latest; /* tree: latest end among the placed */
    uint32_t leaves;
    bool dense;
    taken *placed; /* dense: by offset */
    uint32_t n_placed;
    taken *near; /* alive together with the item at hand, by offset */
    uint32_t n_near;
} placer;

static int
by_offset(const void *x, const void *y)
{
    const taken *a = x, *b = y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->item < b->item ? -1 : 1;
}

/* Placing in one order. */

static void
near_by_scan(placer *p, const item *x)
{
    for (uint32_t i = 0; i < p->n_placed; i++) {
        const item *y = &p->items[p->placed[i].item];

        if (y->begin < x->end && x->begin < y->end)
            p->near[p->n_near++] = p->placed[i];
    }
}

static void
near_by_tree(placer *p, const item *x)
{
    uint32_t stack[64], depth = 0,
                        to = glow_place_first_at(p->problem, 0, x->end);

    stack[depth++] = 1;
    while (depth > 0) {
        uint32_t node = stack[--depth], first = node;

        if (p->latest[node] <= x->begin)
            continue;
        while (first < p->leaves)
            first *= 2;
        if (first - p->leaves >= to)
            continue;
        if (node < p->leaves) {
            stack[depth++] = 2 * node + 1;
            stack[depth++] = 2 * node;
            continue;
        }
        const item *y = &p->items[node - p->leaves];

        p->near[p->n_near++] =
            (taken){y->offset, y->offset + y->size, node - p->leaves};
    }
    if (p->n_near > 0)
        qsort(p->near, p->n_near, sizeof(taken), by_offset);
}

static void
insert(placer *p, uint32_t i)
{
    item *x = &p->items[i];
    taken t = {x->offset, x->offset + x->size, i};
    uint32_t at = 0, to = p->n_placed;

    if (!p->dense) {
        glow_tree_set(p->latest, p->leaves, i, x->end);
        return;
    }
    while (at < to) {
        uint32_t mid = at + (to - at) / 2;

        if (by_offset(&p->placed[mid], &t) < 0)
            at = mid + 1;
        else
            to = mid;
    }
    memmove(&p->placed[at + 1], &p->placed[at],
            (p->n_placed++ - at) * sizeof(taken));
    p->placed[at] = t;
}

/* The lowest offset where `x` shares nothing with what is near it. */
static int64_t
first_fit(const placer *p, const item *x)
{
    int64_t offset = glow_place_fit(p->problem, x, 0);

    for (uint32_t i = 0; i < p->n_near; i++) {
        if (p->near[i].begin - offset >= x->size)
            break;
        if (p->near[i].end > offset)
            offset = glow_place_fit(p->problem, x, p->near[i].end);
    }
    return offset;
}

/* Places all in this order, after what is fixed, and returns the height. */
static int64_t
place(placer *p, const uint32_t *order)
{
    int64_t height = 0;

    p->n_placed = 0;
    for (uint32_t i = 0; !p->dense && i < 2 * p->leaves; i++)
        p->latest[i] = INT64_MIN;
    for (uint32_t i = 0; p->problem->n_fixed && i < p->count; i++)
        if (p->items[i].is_fixed)
            insert(p, i);
    for (uint32_t k = 0; k < p->count; k++) {
        item *x = &p->items[order[k]];

        if (!x->is_fixed) {
            p->n_near = 0;
            if (p->dense)
                near_by_scan(p, x);
            else
                near_by_tree(p, x);
            x->offset = first_fit(p, x);
            insert(p, order[k]);
        }
        if (x->offset + x->size > height)
            height = x->offset + x->size;
    }
    return height;
}

/* Orders: by two keys, the larger first, then as given. */

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
        return (sort_key){.first = size, .second = time};
    case GLOW_PLACE_LIFETIME:
        return (sort_key){.first = time, .second = size};
    case GLOW_PLACE_AREA:
        return (sort_key){.first = size * time, .second = size};
    case GLOW_PLACE_LOAD_SIZE:
        return (sort_key){.first = (double)x->load, .second = size};
    case GLOW_PLACE_LOAD_TIME:
        return (sort_key){.first = (double)x->load, .second = time};
    default:
        return (sort_key){.first = 0};
    }
}

static void
sort_items(const placer *p, glow_place_strategy order, sort_key *keys,
           uint32_t *out)
{
    for (uint32_t i = 0; i < p->count; i++) {
        keys[i] = key_of(&p->items[i], order);
        keys[i].item = i;
    }
    qsort(keys, p->count, sizeof(*keys), by_key);
    for (uint32_t i = 0; i < p->count; i++)
        out[i] = keys[i].item;
}

/* Moves what lies on top to the front of the order. */
static void
promote(const placer *p, uint32_t *order)
{
    uint32_t top = 0;
    int64_t height = 0;

    for (uint32_t k = 0; k < p->count; k++) {
        const item *x = &p->items[order[k]];

        if (!x->is_fixed && x->offset + x->size > height) {
            height = x->offset + x->size;
            top = k;
        }
    }
    uint32_t moved = order[top];

    memmove(&order[1], &order[0], top * sizeof(*order));
    order[0] = moved;
}

/* What is best so far. */
typedef struct best {
    int64_t height;
    int64_t *offsets;
    uint32_t *order;
    const char *name;
} best;

static void
keep_if_better(const placer *p, best *b, int64_t height, const uint32_t *order,
               const char *name)
{
    if (b->name && height >= b->height)
        return;
    b->height = height;
    b->name = name;
    for (uint32_t i = 0; i < p->count; i++)
        b->offsets[i] = p->items[i].offset;
    memcpy(b->order, order, p->count * sizeof(*order));
}

static void
repair(placer *p, best *b, uint32_t *order)
{
    int64_t work = p->dense ? (int64_t)p->count * p->count / 2
                            : p->problem->pairs + p->count;
    int64_t rounds = REPAIR_WORK / (work + 1);

    if (rounds > REPAIR_ROUNDS)
        rounds = REPAIR_ROUNDS;
    memcpy(order, b->order, p->count * sizeof(*order));
    for (uint32_t i = 0; i < p->count; i++)
        p->items[i].offset = b->offsets[i];
    while (rounds-- > 0 && b->height > p->problem->bound) {
        promote(p, order);
        keep_if_better(p, b, place(p, order), order, "repaired");
    }
}

/* The search. */

typedef struct hunt {
    glow_place_problem *p;
    best *b;
    int64_t grain;  /* of which every height worth a look is a multiple */
    int64_t enough; /* it ends at this height */
    int64_t budget; /* steps that are left */
    int64_t steps;
} hunt;

/* Looks for a placement of this height; what it finds becomes the best, that
   there is none raises the bound. */
static glow_place_answer
hunt_at(hunt *h, int64_t height, int64_t steps)
{
    glow_place_problem *p = h->p;
    glow_place_answer found;

    steps = steps < h->budget ? steps : h->budget;
    found = glow_place_search(p, p->items, p->count, height, &steps);
    h->budget -= steps;
    h->steps += steps;
    if (found == GLOW_PLACE_NONE)
        p->bound = height + h->grain;
    if (found != GLOW_PLACE_FOUND)
        return found;
    h->b->height = 0;
    h->b->name = "search";
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t top = p->items[i].offset + p->items[i].size;

        h->b->offsets[i] = p->items[i].offset;
        h->b->height = top > h->b->height ? top : h->b->height;
    }
    return found;
}

/* Somewhere between what is enough and the best, a few times. */
static void
climb(hunt *h, int64_t low, int64_t steps)
{
    for (int i = 0; i < CLIMBS && low < h->b->height && h->budget > 0; i++) {
        int64_t part = (h->b->height - low) / h->grain / 4 * h->grain;

        if (hunt_at(h, low + part, steps) != GLOW_PLACE_FOUND)
            low += part + h->grain;
    }
}

/* At what is enough first, and then above it: with few steps at each height,
   and as long as there are any left with ever more. */
static void
search(hunt *h)
{
    for (int64_t slice = FIRST_SLICE; h->budget > 0; slice *= 4) {
        int64_t low = h->p->bound > h->enough ? h->p->bound : h->enough;
        glow_place_answer found;

        if (h->b->height <= low)
            return;
        found = hunt_at(h, low, slice);
        if (found == GLOW_PLACE_FOUND)
            return;
        if (found != GLOW_PLACE_NONE)
            climb(h, low + h->grain, slice / 4);
    }
}

static int64_t
common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* What all offsets and ends are multiples of, where each buffer is as low as it
   may be above what is under it. */
static int64_t
find_grain(const glow_place_problem *p)
{
    int64_t grain = p->bank;

    for (size_t i = 0; i < p->n_forbidden; i++)
        grain = common_divisor(p->forbidden[i].end, grain);
    for (uint32_t i = 0; i < p->count; i++) {
        const item *x = &p->items[i];

        grain = common_divisor(x->size, grain);
        if (x->align > 1)
            grain = common_divisor(x->align, grain);
        if (x->is_fixed)
            grain = common_divisor(x->offset, grain);
    }
    return grain;
}

static void
run_orders(glow_place_problem *p, glow_place_strategy strategy, best *b)
{
    glow_arena *a = p->arena;
    bool all = strategy <= GLOW_PLACE_GREEDY;
    placer s = {.problem = p,
                .items = p->items,
                .count = p->count,
                .leaves = glow_tree_leaves(p->count)};
    sort_key *keys = GLOW_NEW_ARRAY(a, sort_key, p->count);
    uint32_t *at = GLOW_NEW_ARRAY(a, uint32_t, p->count);

    s.dense = p->pairs / 32 > (int64_t)p->count * p->count / 1024;
    s.latest = GLOW_NEW_ARRAY(a, int64_t, 2 * (size_t)s.leaves);
    s.placed = GLOW_NEW_ARRAY(a, taken, p->count);
    s.near = GLOW_NEW_ARRAY(a, taken, p->count);
    for (int k = GLOW_PLACE_GIVEN; k <= GLOW_PLACE_LOAD_TIME; k++)
        if ((all && (!b->name || b->height > p->bound)) || (int)strategy == k) {
            sort_items(&s, (glow_place_strategy)k, keys, at);
            keep_if_better(&s, b, place(&s, at), at, glow_place_strategies[k]);
        }
    if (all)
        repair(&s, b, at);
}

/* Takes the strategy; returns the steps of the search. */
static int64_t
run_strategy(glow_place_problem *p, const glow_place_options *o, best *b)
{
    hunt h = {.p = p, .b = b, .enough = o->enough, .budget = o->budget};

    run_orders(p, o->strategy, b);
    if (o->strategy >= GLOW_PLACE_GREEDY || p->pairs > SEARCH_PAIRS ||
        p->count == p->n_fixed)
        return 0;
    h.grain = find_grain(p);
    p->bound = (p->bound + h.grain - 1) / h.grain * h.grain;
    if (h.budget == 0)
        h.budget = (o->strategy == GLOW_PLACE_EXACT ? EXACT_WORK : AUTO_WORK) /
                   p->count;
    search(&h);
    return h.steps;
}

bool
glow_place_buffers(glow_arena *a, glow_lifetime *buffers, size_t count,
                   const glow_place_options *options, glow_placement *out)
{
    const glow_place_options defaults = {0};
    glow_place_problem p;
    best b = {0};

    if (!options)
        options = &defaults;
    *out = (glow_placement){0};
    if (!glow_place_take(&p, a, buffers, count, options->space, out) ||
        glow_place_fixed_fault(&p, out))
        return false;
    b.offsets = GLOW_NEW_ARRAY(a, int64_t, p.count);
    b.order = GLOW_NEW_ARRAY(a, uint32_t, p.count);

    int64_t steps = run_strategy(&p, options, &b);

    for (size_t i = 0; i < count; i++)
        if (!buffers[i].is_fixed)
            buffers[i].offset = 0;
    for (uint32_t i = 0; i < p.count; i++)
        buffers[p.items[i].from].offset = b.offsets[i];
    *out = (glow_placement){.height = b.height,
                            .bound = p.bound,
                            .load = p.load,
                            .busiest = p.busiest,
                            .proved = b.height == p.bound,
                            .steps = steps,
                            .by = b.name};
    return true;
}

int64_t
glow_place_bound(glow_arena *a, const glow_lifetime *buffers, size_t count)
{
    glow_place_problem p;
    glow_placement fault;

    return glow_place_take(&p, a, buffers, count, NULL, &fault) ? p.load
                                                                : INT64_MAX;
}
