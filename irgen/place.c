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

#include "irgen/place_search.h"

#define REPAIR_WORK 2000000 /* overlaps looked at while repairing */
#define REPAIR_ROUNDS 400
#define SEARCH_WORK 8000000 /* see place_search.h */
#define SEARCH_TRIES 5

const char *const glow_place_orders[] = {
    "best", "given", "size", "lifetime", "area", "load-size", "load-time", NULL,
};

typedef struct item { /* a buffer, in the order of begins */
    int64_t begin, end, size, offset;
    int64_t load; /* bytes alive at its busiest moment */
    size_t from;  /* which of the caller's */
} item;

typedef struct taken { /* a stretch of memory */
    int64_t begin, end;
    uint32_t item;
} taken;

typedef struct placer {
    item *items;
    uint32_t count;
    int64_t bound;
    int64_t pairs;   /* of items alive together */
    int64_t *latest; /* tree: latest end among the placed */
    uint32_t leaves;
    bool dense;
    taken *placed; /* dense: by offset */
    uint32_t n_placed;
    taken *near; /* alive together with the item at hand, by offset */
    uint32_t n_near;
} placer;

/* Trees: the maximum of ranges of an array; node 1 is the root. */

static void
tree_set(int64_t *tree, uint32_t leaves, uint32_t i, int64_t value)
{
    i += leaves;
    tree[i] = value;
    for (i /= 2; i > 0; i /= 2)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
}

/* The largest of [from, to), which is not empty. */
static int64_t
tree_max(const int64_t *tree, uint32_t leaves, uint32_t from, uint32_t to)
{
    int64_t max = INT64_MIN;

    for (from += leaves, to += leaves; from < to; from /= 2, to /= 2) {
        if (from & 1 && tree[from++] > max)
            max = tree[from - 1];
        if (to & 1 && tree[--to] > max)
            max = tree[to];
    }
    return max;
}

static uint32_t
leaves_for(uint32_t count)
{
    uint32_t leaves = 1;

    while (leaves < count)
        leaves *= 2;
    return leaves;
}

/* Preparing. */

static int
by_begin(const void *x, const void *y)
{
    const item *a = x, *b = y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->from < b->from ? -1 : 1;
}

static int
by_end(const void *x, const void *y)
{
    const glow_lifetime *a = x, *b = y;

    return (a->end > b->end) - (a->end < b->end);
}

static int
by_offset(const void *x, const void *y)
{
    const taken *a = x, *b = y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->item < b->item ? -1 : 1;
}

/* The first item from `from` on that begins at `time` or later. */
static uint32_t
first_at(const placer *p, uint32_t from, int64_t time)
{
    uint32_t to = p->count;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;

        if (p->items[mid].begin < time)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Copies what takes memory; false if the numbers make no sense. */
static bool
take(placer *p, glow_arena *a, const glow_lifetime *buffers, size_t count)
{
    int64_t sum = 0;

    if (count >= UINT32_MAX / 4)
        return false;
    p->items = GLOW_NEW_ARRAY(a, item, count + 1);
    for (size_t i = 0; i < count; i++) {
        const glow_lifetime *b = &buffers[i];

        if (b->size < 0 || b->begin > b->end ||
            glow_add_overflow(sum, b->size, &sum))
            return false;
        if (b->size > 0 && b->begin < b->end)
            p->items[p->count++] = (item){
                .begin = b->begin, .end = b->end, .size = b->size, .from = i};
    }
    qsort(p->items, p->count, sizeof(item), by_begin);
    return true;
}

/* Sets the loads, the bound and how many pairs are alive together. */
static void
measure(placer *p, glow_arena *a)
{
    glow_lifetime *ends = GLOW_NEW_ARRAY(a, glow_lifetime, p->count);
    int64_t *loads = GLOW_NEW_ARRAY(a, int64_t, 2 * (size_t)p->leaves);
    int64_t load = 0;
    uint32_t ended = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        ends[i].end = p->items[i].end;
        ends[i].size = p->items[i].size;
    }
    qsort(ends, p->count, sizeof(*ends), by_end);
    for (uint32_t i = 0; i < p->count; i++) {
        for (; ends[ended].end <= p->items[i].begin; ended++)
            load -= ends[ended].size;
        load += p->items[i].size;
        p->pairs += i - ended;
        loads[p->leaves + i] = load;
        if (load > p->bound)
            p->bound = load;
    }
    for (uint32_t i = p->leaves - 1; i > 0; i--)
        loads[i] =
            loads[2 * i] > loads[2 * i + 1] ? loads[2 * i] : loads[2 * i + 1];
    for (uint32_t i = 0; i < p->count; i++)
        p->items[i].load =
            tree_max(loads, p->leaves, i, first_at(p, i + 1, p->items[i].end));
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
    uint32_t stack[64], depth = 0, to = first_at(p, 0, x->end);

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
    qsort(p->near, p->n_near, sizeof(taken), by_offset);
}

static void
insert(placer *p, uint32_t i)
{
    item *x = &p->items[i];
    taken t = {x->offset, x->offset + x->size, i};
    uint32_t at = 0, to = p->n_placed;

    if (!p->dense) {
        tree_set(p->latest, p->leaves, i, x->end);
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

/* Places all in this order and returns the height. */
static int64_t
place(placer *p, const uint32_t *order)
{
    int64_t height = 0;

    p->n_placed = 0;
    for (uint32_t i = 0; !p->dense && i < 2 * p->leaves; i++)
        p->latest[i] = INT64_MIN;
    for (uint32_t k = 0; k < p->count; k++) {
        item *x = &p->items[order[k]];

        p->n_near = 0;
        if (p->dense)
            near_by_scan(p, x);
        else
            near_by_tree(p, x);
        x->offset = 0;
        for (uint32_t i = 0; i < p->n_near; i++) {
            if (p->near[i].begin - x->offset >= x->size)
                break;
            if (p->near[i].end > x->offset)
                x->offset = p->near[i].end;
        }
        insert(p, order[k]);
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
key_of(const item *x, glow_place_order order)
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
sort_items(const placer *p, glow_place_order order, sort_key *keys,
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

        if (x->offset + x->size > height) {
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
    int64_t work =
        p->dense ? (int64_t)p->count * p->count / 2 : p->pairs + p->count;
    int64_t rounds = REPAIR_WORK / (work + 1);

    if (rounds > REPAIR_ROUNDS)
        rounds = REPAIR_ROUNDS;
    memcpy(order, b->order, p->count * sizeof(*order));
    for (uint32_t i = 0; i < p->count; i++)
        p->items[i].offset = b->offsets[i];
    while (rounds-- > 0 && b->height > p->bound) {
        promote(p, order);
        keep_if_better(p, b, place(p, order), order, "repaired");
    }
}

/* Looks for a placement of this height; a better one becomes the best. */
static bool
search_at(placer *p, glow_arena *a, best *b, int64_t height, int64_t work)
{
    glow_lifetime *lives = GLOW_NEW_ARRAY(a, glow_lifetime, p->count);

    for (uint32_t i = 0; i < p->count; i++)
        lives[i] = (glow_lifetime){p->items[i].begin, p->items[i].end,
                                   p->items[i].size, 0};
    if (!glow_place_search(a, lives, p->count, height, work))
        return false;
    b->height = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        b->offsets[i] = lives[i].offset;
        if (lives[i].offset + lives[i].size > b->height)
            b->height = lives[i].offset + lives[i].size;
    }
    b->name = "search";
    return true;
}

/* At the bound first, and then between it and the best. */
static void
search(placer *p, glow_arena *a, best *b)
{
    int64_t low = p->bound;

    if (search_at(p, a, b, low, SEARCH_WORK))
        return;
    for (int i = 0; i < SEARCH_TRIES && low < b->height; i++) {
        int64_t height = low + (b->height - low) / 4;

        if (!search_at(p, a, b, height, SEARCH_WORK / 5))
            low = height;
    }
}

bool
glow_place_buffers(glow_arena *a, glow_lifetime *buffers, size_t count,
                   glow_place_order order, glow_placement *out)
{
    placer p = {0};
    best b = {0};

    if (!take(&p, a, buffers, count))
        return false;
    p.leaves = leaves_for(p.count);
    measure(&p, a);
    p.dense = p.pairs / 32 > (int64_t)p.count * p.count / 1024;
    p.latest = GLOW_NEW_ARRAY(a, int64_t, 2 * (size_t)p.leaves);
    p.placed = GLOW_NEW_ARRAY(a, taken, p.count);
    p.near = GLOW_NEW_ARRAY(a, taken, p.count);
    b.offsets = GLOW_NEW_ARRAY(a, int64_t, p.count);
    b.order = GLOW_NEW_ARRAY(a, uint32_t, p.count);

    sort_key *keys = GLOW_NEW_ARRAY(a, sort_key, p.count);
    uint32_t *at = GLOW_NEW_ARRAY(a, uint32_t, p.count);

    for (glow_place_order k = GLOW_PLACE_GIVEN; k <= GLOW_PLACE_LOAD_TIME; k++)
        if ((order == GLOW_PLACE_BEST && (!b.name || b.height > p.bound)) ||
            order == k) {
            sort_items(&p, k, keys, at);
            keep_if_better(&p, &b, place(&p, at), at, glow_place_orders[k]);
        }
    if (order == GLOW_PLACE_BEST)
        repair(&p, &b, at);
    if (order == GLOW_PLACE_BEST && b.height > p.bound)
        search(&p, a, &b);

    for (size_t i = 0; i < count; i++)
        buffers[i].offset = 0;
    for (uint32_t i = 0; i < p.count; i++)
        buffers[p.items[i].from].offset = b.offsets[i];
    *out = (glow_placement){b.height, p.bound, b.name};
    return true;
}

int64_t
glow_place_bound(glow_arena *a, const glow_lifetime *buffers, size_t count)
{
    placer p = {0};

    if (!take(&p, a, buffers, count))
        return INT64_MAX;
    p.leaves = leaves_for(p.count);
    measure(&p, a);
    return p.bound;
}
