/* Strides of types, byte ranges of buffers, and last uses. */

#include "codegen/cpu/layout.h"

#include "glow/ops.h"

glow_dims
glow_cpu_strides(const glow_type *t)
{
    return t->strides.rank ? t->strides : glow_dims_strides(t->shape);
}

bool
glow_cpu_as_rows(glow_dims shape, const glow_dims *step, glow_dims *out)
{
    int last = shape.rank - 1;
    int64_t row = 0, size = 1;

    for (int d = last - 1; d >= 0; d--) {
        if (shape.at[d] == 1)
            continue;
        if (size == 1)
            row = step->at[d];
        else if (step->at[d] != row * size)
            return false;
        size *= shape.at[d];
    }
    *out =
        GLOW_DIMS_OF(row, last >= 0 && shape.at[last] > 1 ? step->at[last] : 0);
    return true;
}

bool
glow_cpu_rows(const glow_type *t, glow_dims *step)
{
    glow_dims steps = glow_cpu_strides(t);

    return glow_cpu_as_rows(t->shape, &steps, step);
}

int64_t
glow_cpu_aligned(int64_t n)
{
    return (n + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

int64_t
glow_cpu_room(int64_t count, int64_t bytes)
{
    int64_t n;

    return glow_mul_overflow(count, bytes, &n) ? INT64_MAX : n;
}

bool
glow_cpu_same_range(cpu_range a, cpu_range b)
{
    return a.base == b.base && a.offset == b.offset && a.size == b.size;
}

bool
glow_cpu_overlap(cpu_range a, cpu_range b)
{
    return a.base == b.base && a.offset < b.offset + b.size &&
           b.offset < a.offset + a.size;
}

bool
glow_cpu_has_elements(const glow_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (glow_type_count(n->out[i]->type) > 0)
            return true;
    return false;
}

int
glow_cpu_last_use(const cpu_plan *p, const glow_value *v)
{
    int last = -1;

    GLOW_FOR_EACH_USE(u, v) {
        int at = (int)glow_number_of(&p->numbers, u->user);

        if (u->user->op == &glow_op_dealloc)
            continue;
        if (u->user->op == &glow_op_tensorview)
            at = glow_cpu_last_use(p, u->user->out[0]);
        if (at > last)
            last = at;
    }
    return last;
}

glow_storage *
glow_cpu_whole_constant(const glow_value *v)
{
    const glow_value *b = v;

    while (b->def && b->def->op == &glow_op_tensorview)
        b = b->def->in[0];
    if ((b->def && b->def->op != &glow_op_weight) || !b->storage ||
        !b->storage->is_constant || v->type->strides.rank ||
        b->type->strides.rank ||
        glow_type_count(v->type) != glow_type_count(b->type))
        return NULL;
    return b->storage;
}

bool
glow_cpu_is_whole_constant(const glow_value *v)
{
    return glow_cpu_whole_constant(v) != NULL;
}

const cpu_binding *
glow_cpu_binding(const cpu_plan *p, const glow_storage *s)
{
    for (int i = 0; i < p->n_bindings; i++)
        if (p->bindings[i].storage == s)
            return &p->bindings[i];
    return NULL;
}

int64_t
glow_cpu_body_activations(const cpu_plan *body)
{
    return glow_cpu_aligned(body->size[CPU_PLACEHOLDERS]);
}
