/*
 * Placement from the bottom up: a skyline over time rises.
 *
 * The lowest valley is taken, and in it the longest buffer (or the one with the
 * largest area, or the largest) that lives within its time; where there is none
 * the valley rises to the lower one of its neighbours.  This is the rule of best
 * fit for strips (Burke, Kendall, Whitwell, Operations Research 52, 2004) as
 * Sekiyama, Imai, Negishi and Kawachiya use it for memory (arXiv 1804.10001).
 *
 * Candidates are found in a tree over the begins that holds the earliest end and
 * the largest key of what is not placed; a question looks at a limited number of
 * nodes.  Time n log(n), and as many looks at fixed buffers as there are.
 */

#include "irgen/place_ways.h"

enum { MOST_LOOKS = 256 };

typedef struct node { /* of what is not placed under it */
    int64_t end;      /* the earliest */
    double key;       /* the largest */
} node;

typedef struct step { /* of the skyline */
    int64_t begin, end, floor;
    uint32_t before, after; /* steps; 0: none */
    uint32_t at;            /* in the heap */
} step;

typedef struct skyline {
    glow_place_problem *p;
    int64_t *begins; /* of the items, close together */
    node *nodes;
    uint32_t leaves;
    step *steps;            /* from 1 on */
    uint32_t n_steps, free; /* a list by `after` */
    uint32_t *heap;         /* steps, the lowest first */
    uint32_t n_heap;
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
    for (i /= 2; i > 0; i /= 2)
        join(&s->nodes[i], &s->nodes[2 * i], &s->nodes[2 * i + 1]);
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

/* The item with the largest key that lives within [begin, end), or their
   number. */
static uint32_t
find(const skyline *s, int64_t begin, int64_t end)
{
    uint32_t from = first_at(s, begin), to = first_at(s, end);
    uint32_t stack[64], depth = 0, found = s->p->count;
    double best = -1;

    stack[depth++] = 1;
    for (int looks = 0; depth > 0 && looks < MOST_LOOKS; looks++) {
        uint32_t i = stack[--depth], first = i, last = i;

        if (s->nodes[i].end > end || s->nodes[i].key <= best)
            continue;
        for (; first < s->leaves; first *= 2)
            last = 2 * last + 1;
        if (first - s->leaves >= to || last - s->leaves < from)
            continue;
        if (i >= s->leaves) {
            found = i - s->leaves;
            best = s->nodes[i].key;
            continue;
        }
        bool left = s->nodes[2 * i].key >= s->nodes[2 * i + 1].key;

        stack[depth++] = 2 * i + left;
        stack[depth++] = 2 * i + !left;
    }
    return found;
}

/* The heap of steps. */

static bool
is_lower(const skyline *s, uint32_t a, uint32_t b)
{
    const step *x = &s->steps[a], *y = &s->steps[b];

    return x->floor != y->floor ? x->floor < y->floor : x->begin < y->begin;
}

static void
put_at(skyline *s, uint32_t at, uint32_t i)
{
    s->heap[at] = i;
    s->steps[i].at = at;
}

/* Brings what stands at `at` to where it belongs. */
static void
sift(skyline *s, uint32_t at)
{
    uint32_t i = s->heap[at];

    for (; at > 0 && is_lower(s, i, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put_at(s, at, s->heap[(at - 1) / 2]);
    for (uint32_t k; (k = 2 * at + 1) < s->n_heap; at = k) {
        if (k + 1 < s->n_heap && is_lower(s, s->heap[k + 1], s->heap[k]))
            k++;
        if (!is_lower(s, s->heap[k], i))
            break;
        put_at(s, at, s->heap[k]);
    }
    put_at(s, at, i);
}

static void
leave_heap(skyline *s, uint32_t i)
{
    uint32_t at = s->steps[i].at, last = s->heap[--s->n_heap];

    if (last == i)
        return;
    put_at(s, at, last);
    sift(s, at);
}

/* The skyline. */

/* Makes a step between two others. */
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
    put_at(s, s->n_heap++, i);
    sift(s, s->steps[i].at);
    return i;
}

/* Joins step `i` with the one after it, if they are level. */
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
    leave_heap(s, k);
    s->steps[k].after = s->free;
    s->free = k;
}

static void
rise_to(skyline *s, uint32_t i, int64_t floor)
{
    s->steps[i].floor = floor;
    sift(s, s->steps[i].at);
    join_after(s, i);
    join_after(s, s->steps[i].before);
}

/* Puts an item that lives within step `i` on it; returns its top. */
static int64_t
put(skyline *s, uint32_t i, uint32_t item)
{
    glow_place_item *x = &s->p->items[item];
    step *t = &s->steps[i];
    int64_t top;

    x->offset = glow_place_clear(s->p, x, t->floor);
    top = x->offset + x->size;
    take_out(s, item);
    if (x->end < t->end)
        add_step(s, (step){x->end, t->end, t->floor, i, t->after, 0});
    if (t->begin < x->begin)
        add_step(s, (step){t->begin, x->begin, t->floor, t->before, i, 0});
    t->begin = x->begin;
    t->end = x->end;
    rise_to(s, i, top);
    return top;
}

/* Raises step `i` to its lower neighbour; false if it has none. */
static bool
fill(skyline *s, uint32_t i)
{
    const step *t = &s->steps[i];
    int64_t floor = t->before ? s->steps[t->before].floor : INT64_MAX;

    if (t->after && s->steps[t->after].floor < floor)
        floor = s->steps[t->after].floor;
    if (floor == INT64_MAX)
        return false;
    rise_to(s, i, floor);
    return true;
}

int64_t
glow_place_rise(glow_place_problem *p, glow_place_rule rule)
{
    skyline s = {.p = p};
    int64_t height = 0, begin = INT64_MAX, end = INT64_MIN;

    plant(&s, rule);
    s.begins = GLOW_NEW_ARRAY(p->arena, int64_t, p->count);
    s.steps = GLOW_NEW_ARRAY(p->arena, step, 2 * (size_t)p->count + 2);
    s.heap = GLOW_NEW_ARRAY(p->arena, uint32_t, 2 * (size_t)p->count + 2);
    for (uint32_t i = 0; i < p->count; i++) {
        const glow_place_item *x = &p->items[i];

        s.begins[i] = x->begin;
        begin = x->begin < begin ? x->begin : begin;
        end = x->end > end ? x->end : end;
        if (x->is_fixed && x->offset + x->size > height)
            height = x->offset + x->size;
    }
    if (p->count > 0)
        add_step(&s, (step){.begin = begin, .end = end});
    while (s.n_heap > 0) {
        uint32_t i = s.heap[0];
        uint32_t item = find(&s, s.steps[i].begin, s.steps[i].end);
        int64_t top;

        if (item < p->count) {
            top = put(&s, i, item);
            height = top > height ? top : height;
        } else if (!fill(&s, i)) {
            break;
        }
    }
    return height;
}
