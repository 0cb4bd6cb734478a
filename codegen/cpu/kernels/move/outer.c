#include "codegen/cpu/kernels/move/outer.h"

int
glow_cpu_outer_axes(const cpu_job *j, int axes)
{
    return j->split ? axes : 0;
}

void
glow_cpu_outer_begin(cpu_job *j, cg_nest *n, int axes)
{
    glow_dims shape = j->out[0].type->shape;

    shape.rank = axes;
    glow_cpu_unit_nest(j, n, shape, axes);
}

cg_tensor
glow_cpu_outer_part(cpu_job *j, cg_tensor t, cg_value const *at, int axes)
{
    glow_dims step = glow_cpu_strides(t.type);

    step.rank = axes;
    t.at = glow_cg_at(
        j->g, t.at,
        cg_mulc(j->g, glow_cg_offset(j->g, at, step), glow_cg_bytes(t.type)));
    return t;
}

glow_dims
glow_cpu_behind(glow_dims d, int axes)
{
    glow_dims rest = {.rank = d.rank - axes};

    for (int i = 0; i < rest.rank; i++)
        rest.at[i] = d.at[axes + i];
    return rest;
}
