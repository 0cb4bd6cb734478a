/*
 * Extents: the elements of a program's values in their base buffers.  Views are
 * composed, and strides become runs of contiguous elements.
 */

#include "ir/eval_run.h"

glow_extent
glow_extent_of(const glow_value *v)
{
    glow_extent w = {.layout = v->type};

    while (glow_is(v->def, &glow_op_tensorview)) {
        const glow_tensorview *view = v->def->attrs;

        v = v->def->in[0];
        w.first += glow_type_index(v->type, view->offsets);
    }
    w.base = v->def;
    return w;
}

glow_strips
glow_extent_strips(glow_extent w)
{
    const glow_type *t = w.layout;
    glow_strips r = {.extent = w, .outer = t->shape.rank, .length = 1};

    if (t->strides.rank == 0) {
        r.outer = 0;
        r.length = glow_dims_count(t->shape);
    }
    while (r.outer > 0 && (t->shape.at[r.outer - 1] == 1 ||
                           t->strides.at[r.outer - 1] == r.length))
        r.length *= t->shape.at[--r.outer];
    r.count = 1;
    for (int i = 0; i < r.outer; i++)
        r.count *= t->shape.at[i];
    if (r.length == 0)
        r.count = 0;
    return r;
}

int64_t
glow_strip_at(const glow_strips *r, int64_t k)
{
    const glow_type *t = r->extent.layout;
    int64_t at = r->extent.first;

    for (int i = r->outer - 1; i >= 0; i--) {
        at += k % t->shape.at[i] * t->strides.at[i];
        k /= t->shape.at[i];
    }
    return at;
}
