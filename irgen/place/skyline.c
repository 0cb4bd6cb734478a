/*
 * Bottom-up placement on a rising skyline over time.
 *
 * A valley is chosen, and in it the longest buffer (or the one with the largest
 * area, or the largest) whose live range is within it; where there is none the
 * valley rises to its lower neighbour.  This is the best-fit rule for strip
 * packing (Burke, Kendall, Whitwell, Operations Research 52, 2004) as Sekiyama,
 * Imai, Negishi and Kawachiya apply it to memory (arXiv 1804.10001).  They take
 * the lowest valley; as the content of a valley does not depend on the others,
 * the adjacent one is taken here, which needs no heap and is local in memory.
 *
 * Candidates are found in a tree over the begins that holds the earliest end and
 * the largest key of unplaced items; a query visits a bounded number of nodes.
 * Time n log(n), and one visit of each fixed item for each placement.
 */

#include "irgen/place/strategies.h"

enum { MOST_LOOKS = 256 };

typedef struct node { /* over the unplaced items of a subtree */
    int64_t end;      /* the earliest */
    double key;       /* the largest */
} node;

typedef struct step { /* of the skyline */
    int64_t begin, end, floor;
    uint32_t before, after; /* neighbouring steps; 0: none */
} step;

typedef struct skyline {
    glow_place_problem *p;
    int64_t *begins; /* of the items, in one array for locality */
    node *nodes;
    uint32_t leaves;
    step *steps;            /* from index 1 on */
    uint32_t n_steps, free; /* free list, linked by `after` */
} skyline;

/* Candidates. */

static void
join(node *to, const node *a, const node *b)
{
    to->end = a->end < b->end ? a->end : b->end;
    to->key = a->key > b->key ? a->key : b->key;
}

static double
key_of(const glow_place_item *x, glow_place_rule rule)
{
    double time = (double)x->end - (double)x->begin, size = (double)x->size;

    return rule == GLOW_PLACE_LONGEST  ? time
           : rule == GLOW_PLACE_WIDEST ? time * size
                                       : size;
}

static void
plant(skyline *s, glow_place_rule rule)
{
    const glow_place_problem *p = s->p;

    s->leaves = glow_tree_leaves(p->count);
    s->nodes = GLOW_NEW_ARRAY(p->arena, node, 2 * (size_t)s->leaves);
    for (uint32_t i = 0; i < s->leaves; i++)
        s->nodes[s->leaves + i] =
            i < p->count && !p->items[i].is_fixed
                ? (node){p->items[i].end, key_of(&p->items[i], rule)}
                : (node){INT64_MAX, -1};
    for (uint32_t i = s->leaves - 1; i > 0; i--)
        join(&s->nodes[i], &s->nodes[2 * i], &s->nodes[2 * i + 1]);
}

static void
take_out(skyline *s, uint32_t item)
{
    uint32_t i = item + s->leaves;

    s->nodes[i] = (node){INT64_MAX, -1};
    for (i /= 2; i > 0; i /= 2) {
        node was = s->nodes[i];

        join(&s->nodes[i], &s->nodes[2 * i], &s->nodes[2 * i + 1]);
        if (s->nodes[i].end == was.end && s->nodes[i].key >= was.key)
            break;
    }
}

/* The first item that begins at `time` or later. */
static uint32_t
first_at(const skyline *s, int64_t time)
{
    uint32_t from = 0, to = s->p->count;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;

        if (s->begins[mid] < time)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* The items of a subtree. */
typedef struct reach {
    uint32_t node, first, count;
} reach;

/* The smallest subtree that contains all items of [from, to). */
static reach
reach_of(const skyline *s, uint32_t from, uint32_t to)
{
    uint32_t first = from + s->leaves, last = to - 1 + s->leaves, level = 0;

    for (; first != last; level++) {
        first /= 2;
        last /= 2;
    }
    return (reach){first, (first << level) - s->leaves, 1u << level};
}

/* The item with the largest key whose live range is within [begin, end), or the
   number of items. */
static uint32_t
find(const skyline *s, int64_t begin, int64_t end)
{
    uint32_t from = first_at(s, begin), to = first_at(s, end), depth = 0;
    uint32_t found = s->p->count;
    reach stack[64];
    double best = -1;

    if (from < to)
        stack[depth++] = reach_of(s, from, to);
    for (int looks = 0; depth > 0 && looks < MOST_LOOKS; looks++) {
        reach r = stack[--depth];

        if (s->nodes[r.node].end > end || s->nodes[r.node].key <= best ||
            r.first >= to || r.first + r.count <= from)
            continue;
        if (r.count == 1) {
            found = r.first;
            best = s->nodes[r.node].key;
            continue;
        }
        uint32_t half = r.count / 2, left = 2 * r.node;
        bool first = s->nodes[left].key < s->nodes[left + 1].key;

        /* the child with the larger key is visited first */
        stack[depth++] = (reach){left + !first, r.first + !first * half, half};
        stack[depth++] = (reach){left + first, r.first + first * half, half};
    }
    return found;
}

/* The skyline. */

/* Inserts a step between two others. */
static uint32_t
add_step(skyline *s, step x)
{
    uint32_t i = s->free ? s->free : ++s->n_steps;

    if (s->free)
        s->free = s->steps[i].after;
    s->steps[i] = x;
    if (x.before)
        s->steps[x.before].after = i;
    if (x.after)
        s->steps[x.after].before = i;
    return i;
}

/* Merges step `i` with the one after it if they are level. */
static void
join_after(skyline *s, uint32_t i)
{
    uint32_t k = i ? s->steps[i].after : 0;

    if (!k || s->steps[i].floor != s->steps[k].floor)
        return;
    s->steps[i].end = s->steps[k].end;
    s->steps[i].after = s->steps[k].after;
    if (s->steps[k].after)
        s->steps[s->steps[k].after].before = i;
    s->steps[k].after = s->free;
    s->free = k;
}

/* Merges step `i` with level neighbours; returns the step that holds it. */
static uint32_t
rise_to(skyline *s, uint32_t i, int64_t floor)
{
    uint32_t before = s->steps[i].before;

    s->steps[i].floor = floor;
    join_after(s, i);
    if (!before || s->steps[before].floor != floor)
        return i;
    join_after(s, before);
    return before;
}

/* Places an item whose live range is within step `*i` on it; returns its top. */
static int64_t
put(skyline *s, uint32_t *i, uint32_t item)
{
    glow_place_item *x = &s->p->items[item];
    step *t = &s->steps[*i];
    int64_t top;

    x->offset = glow_place_clear(s->p, x, t->floor);
    top = x->offset + x->size;
    take_out(s, item);
    if (x->end < t->end)
        add_step(s, (step){x->end, t->end, t->floor, *i, t->after});
    if (t->begin < x->begin)
        add_step(s, (step){t->begin, x->begin, t->floor, t->before, *i});
    t->begin = x->begin;
    t->end = x->end;
    *i = rise_to(s, *i, top);
    return top;
}

/* The lower neighbour of step `i`; 0 if there is none. */
static uint32_t
lower_neighbor(const skyline *s, uint32_t i)
{
    uint32_t before = s->steps[i].before, after = s->steps[i].after;

    if (!before || !after)
        return before ? before : after;
    return s->steps[before].floor <= s->steps[after].floor ? before : after;
}

/* Fills valleys, each next to the last one; returns the height. */
static int64_t
fill(skyline *s, uint32_t i)
{
    int64_t height = 0;

    for (;;) {
        uint32_t lower = lower_neighbor(s, i), item;

        if (lower && s->steps[lower].floor < s->steps[i].floor) {
            i = lower;
            continue;
        }
        item = find(s, s->steps[i].begin, s->steps[i].end);
        if (item < s->p->count) {
            int64_t top = put(s, &i, item);

            height = top > height ? top : height;
        } else if (lower) {
            i = rise_to(s, i, s->steps[lower].floor);
        } else {
            return height;
        }
    }
}

int64_t
glow_place_rise(glow_place_problem *p, glow_place_rule rule)
{
    skyline s = {.p = p};
    int64_t height = 0, begin = INT64_MAX, end = INT64_MIN, top;

    if (p->count == 0)
        return 0;
    plant(&s, rule);
    s.begins = GLOW_NEW_ARRAY(p->arena, int64_t, p->count);
    s.steps = GLOW_NEW_ARRAY(p->arena, step, 2 * (size_t)p->count + 2);
    for (uint32_t i = 0; i < p->count; i++) {
        const glow_place_item *x = &p->items[i];

        s.begins[i] = x->begin;
        begin = x->begin < begin ? x->begin : begin;
        end = x->end > end ? x->end : end;
        if (x->is_fixed && x->offset + x->size > height)
            height = x->offset + x->size;
    }
    top = fill(&s, add_step(&s, (step){.begin = begin, .end = end}));
    return top > height ? top : height;
}
