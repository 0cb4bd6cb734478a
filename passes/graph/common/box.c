#include "passes/graph/common/box.h"
#include "glow/ops.h"

int64_t
glow_box_least(const box *p, int axis)
{
    int64_t step = p->step.at[axis];

    return p->start.at[axis] + (step < 0 ? (p->size.at[axis] - 1) * step : 0);
}

int64_t
glow_box_last(const box *p, int axis)
{
    int64_t step = p->step.at[axis];

    return p->start.at[axis] + (step > 0 ? (p->size.at[axis] - 1) * step : 0);
}

bool
glow_box_is_whole(const box *p, int axis, int64_t dim)
{
    return p->start.at[axis] == 0 && p->step.at[axis] == 1 &&
           p->size.at[axis] == dim;
}

bool
glow_box_is_all(const box *p, glow_dims shape)
{
    for (int i = 0; i < shape.rank; i++)
        if (!glow_box_is_whole(p, i, shape.at[i]))
            return false;
    return true;
}

box
glow_box_of(const glow_node *slice)
{
    const glow_slice *s = slice->attrs;
    box p = {s->start, s->start, slice->out[0]->type->shape};

    for (int i = 0; i < p.size.rank; i++)
        p.step.at[i] = s->steps.rank && p.size.at[i] > 1 ? s->steps.at[i] : 1;
    return p;
}

glow_value *
glow_box_take(glow_builder *b, glow_value *v, const box *p)
{
    glow_type t = glow_type_of(v->type->elem, p->size);
    glow_slice s = {.start = p->start};

    if (glow_box_is_all(p, v->type->shape) && v->type->strides.rank == 0)
        return v;
    t.scale = v->type->scale;
    t.offset = v->type->offset;
    for (int i = 0; i < p->size.rank; i++)
        if (p->step.at[i] != 1)
            s.steps = p->step;
    return glow_build(b, &glow_op_slice,
                      glow_type_get(glow_builder_context(b), t), GLOW_IN(v),
                      &s);
}

box_relation
glow_box_relate(const box *p, glow_dims at, glow_dims shape)
{
    box_relation r = {.inside = true, .by_one = true};

    for (int i = 0; i < shape.rank; i++) {
        int64_t end = at.at[i] + shape.at[i];
        int64_t first = glow_box_least(p, i), last = glow_box_last(p, i);

        r.inside = r.inside && first >= at.at[i] && last < end;
        r.outside = r.outside || last < at.at[i] || first >= end;
        r.by_one = r.by_one && p->step.at[i] == 1;
    }
    return r;
}

box
glow_box_moved(box p, glow_dims at)
{
    for (int i = 0; i < p.start.rank; i++)
        p.start.at[i] -= at.at[i];
    return p;
}
