/*
 * Heights; see glow/heights.h.  A segment tree with lazy addition: each inner
 * node has the maximum of its leaves, and a number that was added to all of
 * them.
 */

#include "glow/heights.h"

struct glow_heights {
    size_t leaves;  /* a power of two */
    int64_t *most;  /* by node of the tree; 1 is its root, i has 2i, 2i+1 */
    int64_t *added; /* to all leaves below */
};

static int64_t
greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

glow_heights *
glow_heights_new(glow_arena *a, size_t count, const int64_t *start)
{
    glow_heights *h = GLOW_NEW(a, glow_heights);

    h->leaves = 1;
    while (h->leaves < count)
        h->leaves *= 2;
    h->most = GLOW_NEW_ARRAY(a, int64_t, 2 * h->leaves);
    h->added = GLOW_NEW_ARRAY(a, int64_t, 2 * h->leaves);
    for (size_t i = 0; start && i < count; i++)
        h->most[h->leaves + i] = start[i];
    for (size_t i = h->leaves - 1; i > 0; i--)
        h->most[i] = greater(h->most[2 * i], h->most[2 * i + 1]);
    return h;
}

/* Adds to the leaves [from, to); node `i` covers the leaves [begin, end). */
static void
add(glow_heights *h, size_t i, size_t begin, size_t end, size_t from, size_t to,
    int64_t by)
{
    size_t middle = begin + (end - begin) / 2;

    if (to <= begin || end <= from)
        return;
    if (from <= begin && end <= to) {
        h->most[i] += by;
        h->added[i] += by;
        return;
    }
    add(h, 2 * i, begin, middle, from, to, by);
    add(h, 2 * i + 1, middle, end, from, to, by);
    h->most[i] = h->added[i] + greater(h->most[2 * i], h->most[2 * i + 1]);
}

void
glow_heights_add(glow_heights *h, size_t first, size_t last, int64_t by)
{
    if (first <= last && by)
        add(h, 1, 0, h->leaves, first, last + 1, by);
}

/* The maximum of leaves [from, to), some of which are below the node. */
static int64_t
most(const glow_heights *h, size_t i, size_t begin, size_t end, size_t from,
     size_t to)
{
    size_t middle = begin + (end - begin) / 2;

    if (from <= begin && end <= to)
        return h->most[i];
    if (to <= middle)
        return h->added[i] + most(h, 2 * i, begin, middle, from, to);
    if (from >= middle)
        return h->added[i] + most(h, 2 * i + 1, middle, end, from, to);
    return h->added[i] + greater(most(h, 2 * i, begin, middle, from, to),
                                 most(h, 2 * i + 1, middle, end, from, to));
}

int64_t
glow_heights_most(const glow_heights *h, size_t first, size_t last)
{
    return first <= last ? most(h, 1, 0, h->leaves, first, last + 1) : 0;
}

static void
add_range(glow_heights *h, const glow_height_range *r, int sign)
{
    glow_heights_add(h, r->first, r->last, sign * r->by);
}

bool
glow_heights_join(glow_heights *h, const glow_height_range *from,
                  glow_height_range *to, int64_t most)
{
    glow_height_range both = {
        .first = from->first < to->first ? from->first : to->first,
        .last = from->last > to->last ? from->last : to->last,
        .by = to->by,
    };

    add_range(h, from, -1);
    add_range(h, to, -1);
    add_range(h, &both, 1);
    if (glow_heights_most(h, both.first, both.last) <= most) {
        *to = both;
        return true;
    }
    add_range(h, &both, -1);
    add_range(h, to, 1);
    add_range(h, from, 1);
    return false;
}
