/* Tracing of values through repetition and axes of one element. */

#include "glow/trace.h"
#include "glow/ops.h"

#define MAX_STEPS 16

/* Maps each axis of `t` by `to`. */
static void
map_axes(glow_trace *t, const glow_dims *to)
{
    for (int i = 0; i < t->axis.rank; i++)
        if (t->axis.at[i] >= 0)
            t->axis.at[i] = to->at[t->axis.at[i]];
}

static glow_dims
through_broadcast(const glow_node *n)
{
    const glow_broadcast *a = n->attrs;
    glow_dims from = n->in[0]->type->shape, to = a->target_dim, map = to;

    for (int i = 0; i < to.rank; i++) {
        int at = i - a->axis;

        map.at[i] =
            at >= 0 && at < from.rank && from.at[at] == to.at[i] ? at : -1;
    }
    return map;
}

/* False if the reshape does more than add and drop axes of one element. */
static bool
through_reshape(const glow_node *n, glow_dims *map)
{
    glow_dims from = n->in[0]->type->shape, to = n->out[0]->type->shape;
    int at = 0;

    map->rank = to.rank;
    for (int i = 0; i < to.rank; i++) {
        map->at[i] = -1;
        if (to.at[i] == 1)
            continue;
        while (at < from.rank && from.at[at] == 1)
            at++;
        if (at == from.rank || from.at[at] != to.at[i])
            return false;
        map->at[i] = at++;
    }
    while (at < from.rank && from.at[at] == 1)
        at++;
    return at == from.rank;
}

static bool
step(glow_trace *t)
{
    const glow_node *n = t->value->def;
    glow_dims map = {0};

    if (!n || n->pred)
        return false;
    if (n->op == &glow_op_broadcast) {
        map = through_broadcast(n);
    } else if (n->op == &glow_op_transpose) {
        map = ((const glow_transpose *)n->attrs)->shuffle;
    } else if (n->op != &glow_op_reshape || !through_reshape(n, &map)) {
        return false;
    }
    map_axes(t, &map);
    t->value = n->in[0];
    return true;
}

static void
walk(glow_trace *t)
{
    for (int i = 0; i < MAX_STEPS && step(t); i++)
        continue;
    for (int i = 0; i < t->axis.rank; i++)
        if (t->axis.at[i] >= 0 && t->value->type->shape.at[t->axis.at[i]] == 1)
            t->axis.at[i] = -1;
}

glow_trace
glow_trace_begin(glow_value *v)
{
    glow_trace t = {v, v->type->shape, v->type->shape};

    for (int i = 0; i < t.axis.rank; i++)
        t.axis.at[i] = i;
    walk(&t);
    return t;
}

glow_trace
glow_trace_into(const glow_trace *t, int i)
{
    glow_trace in = *t;

    in.value = t->value->def->in[i];
    walk(&in);
    return in;
}

glow_node *
glow_trace_def(const glow_trace *t, const glow_op *op)
{
    glow_node *n = t->value->def;

    return glow_is(n, op) && !n->pred ? n : NULL;
}

bool
glow_trace_is_reduced(const glow_trace *t, glow_dims axes)
{
    glow_dims from = t->value->type->shape;
    int at = 0, k = 0;

    for (int i = 0; i < t->shape.rank; i++) {
        bool gone = k < axes.rank && axes.at[k] == i;

        k += gone;
        if (gone && t->axis.at[i] >= 0)
            return false;
        if (gone)
            continue;
        if (at >= from.rank || from.at[at] != t->shape.at[i] ||
            (t->shape.at[i] != 1 && t->axis.at[i] != at))
            return false;
        at++;
    }
    return at == from.rank;
}

static bool
is_ordered(const glow_trace *t)
{
    int64_t last = -1;

    for (int i = 0; i < t->axis.rank; i++) {
        if (t->axis.at[i] < 0)
            continue;
        if (t->axis.at[i] <= last)
            return false;
        last = t->axis.at[i];
    }
    return true;
}

bool
glow_trace_is_inner(const glow_trace *t, int first)
{
    for (int i = 0; i < first; i++)
        if (t->axis.at[i] >= 0)
            return false;
    return is_ordered(t);
}

/*
 * t->value reshaped to the axes of t->shape from `first` on, 1 for repeated
 * axes.
 */
static glow_value *
reshaped(glow_builder *b, const glow_trace *t, int first)
{
    glow_dims small = {0};

    for (int i = first; i < t->shape.rank; i++)
        small.at[small.rank++] = t->axis.at[i] < 0 ? 1 : t->shape.at[i];
    if (glow_dims_equal(small, t->value->type->shape))
        return t->value;
    return GLOW_BUILD(b, reshape, GLOW_IN(t->value), .dims = small);
}

glow_value *
glow_trace_inner(glow_builder *b, const glow_trace *t, int first)
{
    glow_value *v = reshaped(b, t, first);
    glow_dims all = {0};

    for (int i = first; i < t->shape.rank; i++)
        all.at[all.rank++] = t->shape.at[i];
    if (!v || glow_dims_equal(all, v->type->shape))
        return v;
    return GLOW_BUILD(b, broadcast, GLOW_IN(v), .axis = 0, .target_dim = all);
}

glow_value *
glow_trace_small(glow_builder *b, const glow_trace *t)
{
    return is_ordered(t) ? reshaped(b, t, 0) : NULL;
}
