/*
 * Living bytes; see lives.h.
 */

#include "passes/program/lives.h"

#include "glow/heights.h"

#define UNIT 64 /* allocators round up to about that */

struct lives {
    glow_heights *bytes; /* by mark */
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

lives *
lives_measure(glow_arena *a, const glow_func *f, const buffer_info *infos)
{
    lives *l = GLOW_NEW(a, lives);
    size_t count = (size_t)f->count + 1;
    int64_t *steps = GLOW_NEW_ARRAY(a, int64_t, count);

    GLOW_FOR_EACH_NODE(n, f)
        note(steps, n, &infos[n->mark]);
    for (size_t i = 1; i < count; i++)
        steps[i] += steps[i - 1];
    l->bytes = glow_heights_new(a, count, steps);
    l->peak = glow_heights_most(l->bytes, 0, count - 1);
    return l;
}

void
lives_add(lives *l, const glow_value *v, uint32_t first, uint32_t last,
          int sign)
{
    if (is_alloc(v))
        glow_heights_add(l->bytes, first, last, sign * bytes_of(v));
}

bool
lives_fit(const lives *l, uint32_t first, uint32_t last)
{
    return glow_heights_most(l->bytes, first, last) <= l->peak;
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
