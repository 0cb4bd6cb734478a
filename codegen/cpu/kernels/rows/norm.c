/*
 * Layer normalization: a few sweeps over each row.
 *
 *     for each row                                 units
 *       sum; sum of squared distances from the mean; results: a sweep each, in vectors
 */

#include "codegen/cpu/kernels/common.h"

static cg_value
splat_like(cg *g, cg_value scalar, cg_value v)
{
    return glow_cg_splat(g, scalar, glow_cg_lanes(LLVMTypeOf(v)));
}

static cg_value
map_square(cg *g, cg_value v, const void *user)
{
    cg_value d = cg_fsub(g, v, splat_like(g, *(const cg_value *)user, v));

    return cg_fmul(g, d, d);
}

/* `factor` is 1 / `deviation`. */
typedef struct layer {
    cg_value at, mean, deviation, factor;
} layer;

/* x / deviation; by a product where quotients need not be rounded once. */
static cg_value
divide(cg *g, const layer *l, cg_value x, int lanes)
{
    if (g->target->exact)
        return cg_fdiv(g, x, glow_cg_splat(g, l->deviation, lanes));
    return cg_fmul(g, x, glow_cg_splat(g, l->factor, lanes));
}

static void
layer_lanes(cpu_job *j, cg_value i, int lanes, void *user)
{
    const layer *l = user;
    cg *g = j->g;
    cg_value at = cg_add(g, l->at, i);
    cg_value x = glow_cg_load(g, j->in[0], at, lanes);

    x = cg_fsub(g, x, glow_cg_splat(g, l->mean, lanes));
    x = divide(g, l, x, lanes);
    if (j->in[1].at)
        x = cg_fmul(g, x, glow_cg_load(g, j->in[1], i, lanes));
    if (j->in[2].at)
        x = cg_fadd(g, x, glow_cg_load(g, j->in[2], i, lanes));
    glow_cg_store(g, j->out[0], at, x);
}

static void
emit_layernormalization(cpu_job *j)
{
    const glow_layernormalization *a = j->n->attrs;
    cg *g = j->g;
    glow_dims x = j->in[0].type->shape;
    int64_t size = glow_dims_product(x, a->axis, x.rank);
    LLVMTypeRef c = glow_cg_computed(g, j->in[0].type);
    cg_value zero = LLVMConstNull(c), count = glow_cg_real(c, (double)size);
    layer s;
    cg_loop l;

    s.at = cg_mulc(g, glow_cpu_unit_for(j, &l), size);

    cg_value sum = glow_cpu_reduce_row(g, j->in[0], s.at, size, zero,
                                       glow_cpu_sum, NULL, NULL);

    s.mean = cg_fdiv(g, sum, count);

    cg_value var = glow_cpu_reduce_row(g, j->in[0], s.at, size, zero,
                                       glow_cpu_sum, map_square, &s.mean);

    var =
        cg_fadd(g, cg_fdiv(g, var, count), glow_cg_real(c, (double)a->epsilon));
    s.deviation = glow_cg_intrinsic(g, "llvm.sqrt", &var, 1);
    s.factor = cg_fdiv(g, glow_cg_real(c, 1), s.deviation);
    glow_cpu_lanes_for(j, 0, size, layer_lanes, &s);
    glow_cg_loop_end(g, &l, NULL);
}

static int64_t
layer_rows(const cpu_target *t, const glow_node *n)
{
    const glow_layernormalization *a = n->attrs;

    (void)t;
    return glow_dims_product(n->in[0]->type->shape, 0, a->axis);
}

const cpu_kernel glow_cpu_layernormalization = {
    .name = "layernormalization",
    .op = &glow_op_layernormalization,
    .emit = emit_layernormalization,
    .units = layer_rows,
};
