/*
 * Living bytes; see lives.h.
 */

#include "passes/program/lives.h"

#include "glow/heights.h"

struct lives {
    glow_heights *bytes; /* by mark */
    int64_t peak;
};

static int64_t
bytes_of(const glow_value *v)
{
    return glow_life_bytes(glow_type_bytes(v->type));
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

static glow_height_range
range_of(const buffer_info *infos, const glow_value *v)
{
    const buffer_info *b = &infos[v->def->mark];

    return (glow_height_range){b->first, b->last,
                               is_alloc(v) ? bytes_of(v) : 0};
}

bool
lives_join(lives *l, buffer_info *infos, const glow_value *from,
           const glow_value *to)
{
    glow_height_range f = range_of(infos, from), t = range_of(infos, to);

    if (!glow_heights_join(l->bytes, &f, &t, l->peak))
        return false;
    infos[to->def->mark].first = (uint32_t)t.first;
    infos[to->def->mark].last = (uint32_t)t.last;
    return true;
}
