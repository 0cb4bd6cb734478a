/*
 * The placement problem: validation, items by begin, and a lower bound.
 *
 * Lower bound: the bytes live at one moment fit below the height, outside the
 * forbidden ranges; and no item ends below its lowest end in an empty space.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/place/problem.h"

/* Trees. */

uint32_t
glow_tree_leaves(uint32_t count)
{
    uint32_t leaves = 1;

    while (leaves < count)
        leaves *= 2;
    return leaves;
}

void
glow_tree_set(int64_t *tree, uint32_t leaves, uint32_t i, int64_t value)
{
    i += leaves;
    tree[i] = value;
    for (i /= 2; i > 0; i /= 2)
        tree[i] = tree[2 * i] > tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
}

int64_t
glow_tree_max(const int64_t *tree, uint32_t leaves, uint32_t from, uint32_t to)
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

/* Feasible offsets. */

size_t
glow_place_range_after(const glow_place_range *r, size_t count, int64_t address)
{
    size_t from = 0, to = count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (r[mid].end <= address)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

int64_t
glow_place_aligned(const glow_place_problem *p, const glow_place_item *x,
                   int64_t offset)
{
    int64_t rest = offset % x->align;

    if (rest)
        offset += x->align - rest;
    if (x->size <= p->bank && offset % p->bank > p->bank - x->size) {
        offset += p->bank - offset % p->bank;
        rest = offset % x->align;
        offset += rest ? x->align - rest : 0;
    }
    return offset;
}

int64_t
glow_place_fit(const glow_place_problem *p, const glow_place_item *x,
               int64_t offset)
{
    offset = glow_place_aligned(p, x, offset);
    for (size_t i =
             glow_place_range_after(p->forbidden, p->n_forbidden, offset);
         i < p->n_forbidden && p->forbidden[i].begin - offset < x->size; i++)
        if (p->forbidden[i].end > offset)
            offset = glow_place_aligned(p, x, p->forbidden[i].end);
    return offset;
}

int64_t
glow_place_clear(const glow_place_problem *p, const glow_place_item *x,
                 int64_t offset)
{
    offset = glow_place_fit(p, x, offset);
    for (uint32_t k = 0; k < p->n_fixed; k++) {
        const glow_place_item *y = &p->items[p->fixed[k]];

        if (y->begin < x->end && x->begin < y->end &&
            y->offset - offset < x->size && offset < y->offset + y->size)
            offset = glow_place_fit(p, x, y->offset + y->size);
    }
    return offset;
}

uint32_t
glow_place_first_at(const glow_place_problem *p, uint32_t from, int64_t time)
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

/* Construction. */

static int
by_range(const void *x, const void *y)
{
    const glow_place_range *a = x, *b = y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static bool
faulty(glow_placement *out, glow_place_fault fault, size_t buffer)
{
    out->fault = fault;
    out->buffer = out->other = buffer;
    return false;
}

size_t
glow_place_merge(glow_place_range *r, size_t count)
{
    size_t n = 0;

    if (count > 0)
        glow_sort(r, count, sizeof(*r), by_range);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || r[i].begin > r[n - 1].end)
            r[n++] = r[i];
        else if (r[i].end > r[n - 1].end)
            r[n - 1].end = r[i].end;
    return n;
}

/* Copies the space with its forbidden ranges merged. */
static bool
take_space(glow_place_problem *p, const glow_place_space *space,
           glow_placement *fault)
{
    size_t n = 0;

    p->capacity = INT64_MAX;
    if (!space)
        return true;
    if (space->capacity < 0 || space->bank < 0)
        return faulty(fault, GLOW_PLACE_NEGATIVE, 0);
    p->capacity = space->capacity;
    p->bank = space->bank;
    p->forbidden =
        GLOW_NEW_ARRAY(p->arena, glow_place_range, space->n_forbidden);
    for (size_t i = 0; i < space->n_forbidden; i++) {
        const glow_place_range *r = &space->forbidden[i];

        if (r->begin < 0 || r->end < r->begin)
            return faulty(fault, GLOW_PLACE_NEGATIVE, 0);
        if (r->begin < r->end)
            p->forbidden[n++] = *r;
    }
    p->n_forbidden = glow_place_merge(p->forbidden, n);
    return true;
}

static int
by_begin(const void *x, const void *y)
{
    const glow_place_item *a = x, *b = y;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->from < b->from ? -1 : 1;
}

/* Programs list them in this order but for few exceptions, so insertion is linear. */
static void
sort_items(glow_place_problem *p)
{
    uint32_t i = 1;

    while (i < p->count && by_begin(&p->items[i - 1], &p->items[i]) < 0)
        i++;
    if (i < p->count)
        glow_sort(p->items, p->count, sizeof(*p->items), by_begin);
}

/*
 * Adds to `limit` the height that `x` adds at most: its size, the padding for its
 * alignment, and the end of a bank that is too short for it.
 */
static bool
grows(const glow_place_problem *p, const glow_place_item *x, int64_t *limit)
{
    int64_t skips = x->align - 1, banks = x->size <= p->bank ? x->size : 0;

    return !glow_add_overflow(*limit, x->size, limit) &&
           !glow_add_overflow(*limit, banks, limit) &&
           !glow_add_overflow(*limit, skips, limit) &&
           !glow_add_overflow(*limit, banks ? skips : 0, limit);
}

/* The item of a buffer; false, and a fault, if it is invalid. */
static bool
take_item(glow_place_problem *p, const glow_lifetime *b, size_t from,
          glow_placement *fault)
{
    glow_place_item *x = &p->items[p->count];

    if (b->size < 0 || b->begin > b->end || b->align < 0 ||
        (b->is_fixed && b->offset < 0))
        return faulty(fault, GLOW_PLACE_NEGATIVE, from);
    if (b->size == 0 || b->begin == b->end)
        return true;
    *x = (glow_place_item){
        .begin = b->begin,
        .end = b->end,
        .size = b->size,
        .align = b->align ? b->align : 1,
        .offset = b->is_fixed ? b->offset : 0,
        .from = (uint32_t)from,
        .is_fixed = b->is_fixed,
    };
    if (p->bank && p->bank % x->align && x->align % p->bank)
        return faulty(fault, GLOW_PLACE_ODD_ALIGN, from);
    p->count++;
    p->n_fixed += b->is_fixed;
    return true;
}

/* True if no sum of sizes can overflow in any placement. */
static bool
take_limit(const glow_place_problem *p, glow_placement *fault)
{
    int64_t limit = p->n_forbidden ? p->forbidden[p->n_forbidden - 1].end : 0;

    for (uint32_t i = 0; i < p->count; i++) {
        const glow_place_item *x = &p->items[i];

        if (!grows(p, x, &limit) || glow_add_overflow(limit, x->offset, &limit))
            return faulty(fault, GLOW_PLACE_OVERFLOWS, x->from);
    }
    return true;
}

/* Lists the fixed items by offset. */
static void
list_fixed(glow_place_problem *p)
{
    glow_place_range *r =
        GLOW_NEW_ARRAY(p->arena, glow_place_range, p->n_fixed);
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->count; i++)
        if (p->items[i].is_fixed)
            r[n++] = (glow_place_range){p->items[i].offset, i};
    if (n > 0)
        glow_sort(r, n, sizeof(*r), by_range);
    p->fixed = GLOW_NEW_ARRAY(p->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        p->fixed[i] = (uint32_t)r[i].end;
}

/* Load. */

typedef struct ending {
    int64_t end;
    uint32_t item;
} ending;

static int
by_end(const void *x, const void *y)
{
    const ending *a = x, *b = y;

    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->item < b->item ? -1 : 1;
}

static void
list_ends(glow_place_problem *p)
{
    ending *ends = GLOW_NEW_ARRAY(p->arena, ending, p->count);

    for (uint32_t i = 0; i < p->count; i++)
        ends[i] = (ending){p->items[i].end, i};
    if (p->count > 0)
        glow_sort(ends, p->count, sizeof(*ends), by_end);
    p->ends = GLOW_NEW_ARRAY(p->arena, uint32_t, p->count);
    for (uint32_t i = 0; i < p->count; i++)
        p->ends[i] = ends[i].item;
}

/* Sets the loads and the number of pairs that are live together. */
static void
measure(glow_place_problem *p)
{
    uint32_t leaves = glow_tree_leaves(p->count), ended = 0;
    int64_t *loads = GLOW_NEW_ARRAY(p->arena, int64_t, 2 * (size_t)leaves);
    int64_t load = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        for (; p->items[p->ends[ended]].end <= p->items[i].begin; ended++)
            load -= p->items[p->ends[ended]].size;
        load += p->items[i].size;
        p->pairs += i - ended;
        loads[leaves + i] = load;
        if (load > p->load) {
            p->load = load;
            p->busiest = p->items[i].begin;
        }
    }
    for (uint32_t i = leaves - 1; i > 0; i--)
        loads[i] =
            loads[2 * i] > loads[2 * i + 1] ? loads[2 * i] : loads[2 * i + 1];
    for (uint32_t i = 0; i < p->count; i++)
        p->items[i].load = glow_tree_max(
            loads, leaves, i, glow_place_first_at(p, i + 1, p->items[i].end));
}

/* The lower bound of the height. */
static void
find_bound(glow_place_problem *p)
{
    p->bound = p->load;
    for (size_t i = 0; i < p->n_forbidden; i++)
        if (p->forbidden[i].begin < p->bound)
            p->bound += p->forbidden[i].end - p->forbidden[i].begin;
    for (uint32_t i = 0; i < p->count; i++) {
        const glow_place_item *x = &p->items[i];
        int64_t end =
            x->size + (x->is_fixed ? x->offset : glow_place_fit(p, x, 0));

        if (end > p->bound)
            p->bound = end;
    }
}

bool
glow_place_take(glow_place_problem *p, glow_arena *a,
                const glow_lifetime *buffers, size_t count,
                const glow_place_space *space, glow_placement *fault)
{
    *p = (glow_place_problem){.arena = a};
    if (count >= UINT32_MAX / 4)
        return faulty(fault, GLOW_PLACE_OVERFLOWS, count);
    if (!take_space(p, space, fault))
        return false;
    p->items = GLOW_NEW_ARRAY(a, glow_place_item, count + 1);
    for (size_t i = 0; i < count; i++)
        if (!take_item(p, &buffers[i], i, fault))
            return false;
    if (!take_limit(p, fault))
        return false;
    sort_items(p);
    list_fixed(p);
    list_ends(p);
    measure(p);
    find_bound(p);
    return true;
}
