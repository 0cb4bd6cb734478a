/* Loops of kernels over their units; see fork.h. */

#include "codegen/cpu/kernels/kernel.h"

cg_value
glow_cpu_unit_for(cpu_job *j, cg_loop *l)
{
    glow_cg_loop(j->g, l, j->begin, j->end, 1, NULL, 0);
    return l->i;
}

/* The index whose number is `u`, of a shape. */
static void
index_of(cg *g, cg_value u, glow_dims shape, cg_value *at)
{
    for (int d = shape.rank - 1; d > 0; d--) {
        at[d] = cg_modulo(g, u, shape.at[d]);
        u = cg_over(g, u, shape.at[d]);
    }
    at[0] = u;
}

void
glow_cpu_unit_nest(cpu_job *j, cg_nest *n, glow_dims shape, int axes)
{
    cg *g = j->g;
    glow_dims units = shape;

    if (!j->split || axes == 0) {
        glow_cg_nest(g, n, shape);
        return;
    }
    units.rank = axes;
    glow_cg_loop(g, &n->loop[0], j->begin, j->end, 1, NULL, 0);
    index_of(g, n->loop[0].i, units, n->at);
    n->rank = 1;
    for (int d = axes; d < shape.rank; d++)
        n->at[d] = glow_cg_for(g, &n->loop[n->rank++], shape.at[d]);
}

cg_value
glow_cpu_units_within(cpu_job *j, cpu_within *w, int64_t outer, int64_t inner)
{
    cg *g = j->g;
    cg_value size = cg_i64(g, inner), last;

    if (!j->split) {
        w->begin = cg_i64(g, 0);
        w->end = size;
        return glow_cg_for(g, &w->loop, outer);
    }
    last = cg_addc(g, cg_over(g, cg_addc(g, j->end, -1), inner), 1);
    glow_cg_loop(g, &w->loop, cg_over(g, j->begin, inner), last, 1, NULL, 0);
    last = cg_mulc(g, w->loop.i, inner);
    w->begin = glow_cg_imax(g, cg_sub(g, j->begin, last), cg_i64(g, 0));
    w->end = glow_cg_imin(g, cg_sub(g, j->end, last), size);
    return w->loop.i;
}
