/*
 * Living bytes; see lives.h.  A tree over the instructions: each inner node
 * knows the most of those below it, and what was added to all of them at once,
 * so that adding and asking take the logarithm of the program's length.
 */

#include "passes/program/lives.h"

#define UNIT 64 /* allocators round up to about that */

struct lives {
    size_t leaves;  /* a power of two */
    int64_t *most;  /* by node of the tree; 1 is its root, i has 2i, 2i+1 */
    int64_t *added; /* to all below */
    int64_t peak;
};

static int64_t
bytes_of(const glow_value *v)
{
    return (glow_type_bytes(v->type) + UNIT - 1) / UNIT * UNIT;
}

static void
note(int64_t *steps, const glow_node *n, const buffer_info *info)
{
    if (n->op != &glow_op_alloc || info->first == NO_ACCESS)
        return;
    steps[info->first] += bytes_of(n->out[0]);
    steps[info->last + 1] -= bytes_of(n->out[0]);
}

static int64_t
greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

lives *
lives_measure(glow_arena *a, const glow_func *f, const buffer_info *infos)
{
    lives *l = GLOW_NEW(a, lives);
    size_t count = (size_t)f->count + 1;

    l->leaves = 1;
    while (l->leaves < count)
        l->leaves *= 2;
    l->most = GLOW_NEW_ARRAY(a, int64_t, 2 * l->leaves);
    l->added = GLOW_NEW_ARRAY(a, int64_t, 2 * l->leaves);
    GLOW_FOR_EACH_NODE(n, f)
        note(&l->most[l->leaves], n, &infos[n->mark]);
    for (size_t i = 1; i < l->leaves; i++)
        l->most[l->leaves + i] += l->most[l->leaves + i - 1];
    for (size_t i = l->leaves - 1; i > 0; i--)
        l->most[i] = greater(l->most[2 * i], l->most[2 * i + 1]);
    l->peak = l->most[1];
    return l;
}

/* Adds to leaves [from, to) of the part [begin, end) below node `i`. */
static void
add(lives *l, size_t i, size_t begin, size_t end, size_t from, size_t to,
    int64_t bytes)
{
    size_t middle = begin + (end - begin) / 2;

    if (to <= begin || end <= from)
        return;
    if (from <= begin && end <= to) {
        l->most[i] += bytes;
        l->added[i] += bytes;
        return;
    }
    add(l, 2 * i, begin, middle, from, to, bytes);
    add(l, 2 * i + 1, middle, end, from, to, bytes);
    l->most[i] = l->added[i] + greater(l->most[2 * i], l->most[2 * i + 1]);
}

static int64_t
most(const lives *l, size_t i, size_t begin, size_t end, size_t from, size_t to)
{
    size_t middle = begin + (end - begin) / 2;

    if (to <= begin || end <= from)
        return 0;
    if (from <= begin && end <= to)
        return l->most[i];
    return l->added[i] + greater(most(l, 2 * i, begin, middle, from, to),
                                 most(l, 2 * i + 1, middle, end, from, to));
}

void
lives_add(lives *l, const glow_value *v, uint32_t first, uint32_t last,
          int sign)
{
    if (first <= last && is_alloc(v))
        add(l, 1, 0, l->leaves, first, (size_t)last + 1, sign * bytes_of(v));
}

bool
lives_fit(const lives *l, uint32_t first, uint32_t last)
{
    return most(l, 1, 0, l->leaves, first, (size_t)last + 1) <= l->peak;
}

bool
lives_join(lives *l, buffer_info *infos, const glow_value *from,
           const glow_value *to)
{
    const buffer_info *f = &infos[from->def->mark];
    buffer_info *t = &infos[to->def->mark];
    uint32_t first = f->first < t->first ? f->first : t->first;
    uint32_t last = f->last > t->last ? f->last : t->last;
    bool fits;

    lives_add(l, from, f->first, f->last, -1);
    lives_add(l, to, t->first, t->last, -1);
    lives_add(l, to, first, last, 1);
    fits = lives_fit(l, first, last);
    if (fits) {
        t->first = first;
        t->last = last;
        return true;
    }
    lives_add(l, to, first, last, -1);
    lives_add(l, to, t->first, t->last, 1);
    lives_add(l, from, f->first, f->last, 1);
    return false;
}
