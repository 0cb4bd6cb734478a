/*
 * Resize by nearest neighbour and by linear interpolation.  Shapes are static,
 * so the source element of each index of an axis is computed at compile time
 * and read from a table for each axis.
 */

#include "codegen/cpu/kernels/common.h"

#include "ir/ops/resize.h"

/* Tables of a resized axis; NULL for an axis that keeps its size. */
typedef struct grid {
    cg_value low, high, part; /* elements of Input, elements, double */
} grid;

static bool
moves(const cpu_job *j, int axis)
{
    return glow_is_resized(j->n->attrs, j->in[0].type->shape,
                           j->out[0].type->shape, axis);
}

static grid
nearest_grid(cpu_job *j, int axis)
{
    glow_dims x = j->in[0].type->shape, y = j->out[0].type->shape;
    int64_t step = glow_cpu_strides(j->in[0].type).at[axis];
    int64_t *low = GLOW_NEW_ARRAY(j->g->arena, int64_t, y.at[axis]);

    for (int64_t i = 0; i < y.at[axis]; i++)
        low[i] = step * glow_resize_nearest(j->n->attrs, x, y, axis, i);
    return (grid){glow_cpu_table(j->g, low, y.at[axis]), NULL, NULL};
}

static grid
linear_grid(cpu_job *j, int axis)
{
    glow_dims x = j->in[0].type->shape, y = j->out[0].type->shape;
    int64_t in = x.at[axis], out = y.at[axis];
    int64_t step = glow_cpu_strides(j->in[0].type).at[axis];
    int64_t *low = GLOW_NEW_ARRAY(j->g->arena, int64_t, out);
    int64_t *high = GLOW_NEW_ARRAY(j->g->arena, int64_t, out);
    double *part = GLOW_NEW_ARRAY(j->g->arena, double, out);

    for (int64_t i = 0; i < out; i++) {
        double at = glow_resize_at(j->n->attrs, x, y, axis, i);
        int64_t k = (int64_t)at;

        low[i] = k * step;
        part[i] = at - (double)k;
        high[i] = (k + 1 < in && part[i] > 0 ? k + 1 : k) * step;
    }
    return (grid){glow_cpu_table(j->g, low, out),
                  glow_cpu_table(j->g, high, out),
                  glow_cpu_table_real(j->g, part, out)};
}

typedef struct resize {
    grid axis[GLOW_MAX_RANK];
    cg_value *at; /* index of the result */
    int rank;
    bool linear;
} resize;

/*
 * Interpolates along axes `d` to the last; `from` is the offset of the sample
 * along the axes before `d`.
 */
static cg_value
sample(cpu_job *j, const resize *r, int d, cg_value from, int lanes)
{
    cg *g = j->g;
    const grid *a = &r->axis[d];

    if (d == r->rank)
        return glow_cg_load(g, j->in[0], from, lanes);
    if (!a->low) {
        int64_t step = glow_cpu_strides(j->in[0].type).at[d];

        from = cg_add(g, from, cg_mulc(g, r->at[d], step));
        return sample(j, r, d + 1, from, lanes);
    }

    cg_value low = glow_cpu_table_at(g, g->i64, a->low, r->at[d]);
    cg_value x = sample(j, r, d + 1, cg_add(g, from, low), lanes);

    if (!a->high)
        return x;

    cg_value high = glow_cpu_table_at(g, g->i64, a->high, r->at[d]);
    cg_value part = glow_cpu_table_at(g, g->f64, a->part, r->at[d]);
    cg_value y = sample(j, r, d + 1, cg_add(g, from, high), lanes);
    LLVMTypeRef t = LLVMTypeOf(x);

    part = LLVMBuildFPCast(g->builder, part, glow_cg_scalar(t), "");
    part = glow_cg_splat(g, part, lanes);

    cg_value mixed = cg_fmul(g, x, cg_fsub(g, glow_cg_real(t, 1), part));

    mixed = cg_fadd(g, mixed, cg_fmul(g, y, part));
    return cg_select(g, cg_fcmp(g, LLVMRealOEQ, part, LLVMConstNull(t)), x,
                     mixed);
}

static void
resize_lanes(cpu_job *j, cg_value i, int lanes, void *user)
{
    resize *r = user;
    cg *g = j->g;
    cg_value to;

    if (r->rank)
        r->at[r->rank - 1] = i;
    to = glow_cg_offset(g, r->at, glow_dims_strides(j->out[0].type->shape));
    if (r->linear) {
        glow_cg_store(g, j->out[0], to, sample(j, r, 0, cg_i64(g, 0), lanes));
        return;
    }

    cg_value from = cg_i64(g, 0);
    glow_dims steps = glow_cpu_strides(j->in[0].type);

    for (int d = 0; d < r->rank; d++)
        from =
            cg_add(g, from,
                   r->axis[d].low
                       ? glow_cpu_table_at(g, g->i64, r->axis[d].low, r->at[d])
                       : cg_mulc(g, r->at[d], steps.at[d]));
    glow_cg_store_bits(g, j->out[0], to,
                       glow_cg_load_bits(g, j->in[0], from, lanes));
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    glow_dims y = n->out[0]->type->shape;

    (void)t;
    return glow_dims_product(y, 0, y.rank ? y.rank - 1 : 0);
}

static void
emit_resize(cpu_job *j, bool linear)
{
    glow_dims y = j->out[0].type->shape, outer = y;
    int last = y.rank - 1;
    resize r = {.rank = y.rank, .linear = linear};
    cg_nest n;
    cg_loop l;

    for (int d = 0; d < y.rank; d++)
        if (moves(j, d))
            r.axis[d] = linear ? linear_grid(j, d) : nearest_grid(j, d);
    if (last >= 0)
        outer.rank = last;
    glow_cpu_unit_nest(j, &n, outer, outer.rank);
    r.at = n.at;
    if (last < 0) {
        resize_lanes(j, cg_i64(j->g, 0), 1, &r);
    } else if (moves(j, last)) {
        resize_lanes(j, glow_cg_for(j->g, &l, y.at[last]), 1, &r);
        glow_cg_loop_end(j->g, &l, NULL);
    } else {
        glow_cpu_lanes_for(j, 0, y.at[last], resize_lanes, &r);
    }
    glow_cg_nest_end(j->g, &n);
}

static void
emit_resizenearest(cpu_job *j)
{
    emit_resize(j, false);
}

static void
emit_resizebilinear(cpu_job *j)
{
    emit_resize(j, true);
}

const cpu_kernel glow_cpu_resizenearest = {
    .name = "resizenearest",
    .op = &glow_op_resizenearest,
    .emit = emit_resizenearest,
    .units = units_of,
};

const cpu_kernel glow_cpu_resizebilinear = {
    .name = "resizebilinear",
    .op = &glow_op_resizebilinear,
    .emit = emit_resizebilinear,
    .units = units_of,
};
