/* Normalizations: a few sweeps over each row. */

#include "codegen/cpu/kernels/common.h"

static cg_value
splat_like(cg *g, cg_value scalar, cg_value v)
{
    return glow_cpu_splat(g, scalar, glow_cpu_lanes(LLVMTypeOf(v)));
}

/* Layer normalization. */

static cg_value
map_square(cg *g, cg_value v, const void *user)
{
    cg_value d = cg_fsub(g, v, splat_like(g, *(const cg_value *)user, v));

    return cg_fmul(g, d, d);
}

typedef struct layer {
    cg_value at, mean, factor;
} layer;

static void
layer_lanes(cpu_job *j, cg_value i, int lanes, void *user)
{
    const layer *l = user;
    cg *g = j->g;
    cg_value at = cg_add(g, l->at, i);
    cg_value x = glow_cpu_load(g, j->in[0], at, lanes);

    x = cg_fsub(g, x, glow_cpu_splat(g, l->mean, lanes));
    x = cg_fmul(g, x, glow_cpu_splat(g, l->factor, lanes));
    if (j->in[1].at)
        x = cg_fmul(g, x, glow_cpu_load(g, j->in[1], i, lanes));
    if (j->in[2].at)
        x = cg_fadd(g, x, glow_cpu_load(g, j->in[2], i, lanes));
    glow_cpu_store(g, j->out[0], at, x);
}

static void
emit_layernormalization(cpu_job *j)
{
    const glow_layernormalization *a = j->n->attrs;
    cg *g = j->g;
    glow_dims x = j->in[0].type->shape;
    int64_t size = glow_dims_product(x, a->axis, x.rank);
    LLVMTypeRef c = glow_cpu_computed(g, j->in[0].type);
    cg_value zero = LLVMConstNull(c), count = glow_cpu_real(c, (double)size);
    layer s;
    cg_loop l;

    s.at = cg_mulc(g, glow_cpu_unit_for(j, &l), size);

    cg_value sum = glow_cpu_reduce_row(g, j->in[0], s.at, size, zero,
                                       glow_cpu_sum, NULL, NULL);

    s.mean = cg_fdiv(g, sum, count);

    cg_value var = glow_cpu_reduce_row(g, j->in[0], s.at, size, zero,
                                       glow_cpu_sum, map_square, &s.mean);

    var = cg_fadd(g, cg_fdiv(g, var, count),
                  glow_cpu_real(c, (double)a->epsilon));
    var = glow_cpu_intrinsic(g, "llvm.sqrt", &var, 1);
    s.factor = cg_fdiv(g, glow_cpu_real(c, 1), var);
    glow_cpu_lanes_for(j, 0, size, layer_lanes, &s);
    glow_cpu_loop_end(g, &l, NULL);
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

/* Local response normalization: vectors where all neighbours exist. */

typedef struct response {
    cg_value at; /* element of channel 0 */
    int64_t size;
    bool edge;
} response;

static void
response_lanes(cpu_job *j, cg_value c, int lanes, void *user)
{
    const glow_localresponsenormalization *a = j->n->attrs;
    const response *r = user;
    cg *g = j->g;
    int64_t half = a->half_window_size;
    LLVMTypeRef t = glow_cpu_vector(glow_cpu_computed(g, j->in[0].type), lanes);
    cg_value zero = LLVMConstNull(t), lo = cg_addc(g, c, -half),
             hi = cg_addc(g, c, half + 1);
    cg_loop l;

    if (r->edge) {
        lo = glow_cpu_imax(g, lo, cg_i64(g, 0));
        hi = glow_cpu_imin(g, hi, cg_i64(g, r->size));
    }
    glow_cpu_loop(g, &l, lo, hi, 1, &zero, 1);

    cg_value x = glow_cpu_load(g, j->in[0], cg_add(g, r->at, l.i), lanes);
    cg_value sum = glow_cpu_fma(g, x, x, l.value[0]);

    glow_cpu_loop_end(g, &l, &sum);

    double scale = (double)a->alpha / (2 * (double)half + 1);
    cg_value base = glow_cpu_fma(g, sum, glow_cpu_real(t, scale),
                                 glow_cpu_real(t, (double)a->k));
    cg_value power =
        cg_fmul(g, glow_cpu_log(g, base), glow_cpu_real(t, -(double)a->beta));

    x = glow_cpu_load(g, j->in[0], cg_add(g, r->at, c), lanes);
    glow_cpu_store(g, j->out[0], cg_add(g, r->at, c),
                   cg_fmul(g, x, glow_cpu_exp(g, power)));
}

static void
response_edge(cpu_job *j, response r, int64_t first, int64_t last)
{
    cg_loop l;

    if (first >= last)
        return;
    r.edge = true;
    glow_cpu_loop(j->g, &l, cg_i64(j->g, first), cg_i64(j->g, last), 1, NULL,
                  0);
    response_lanes(j, l.i, 1, &r);
    glow_cpu_loop_end(j->g, &l, NULL);
}

static void
emit_response(cpu_job *j)
{
    const glow_localresponsenormalization *a = j->n->attrs;
    cg *g = j->g;
    glow_dims x = j->in[0].type->shape;
    int64_t size = x.at[x.rank - 1], half = a->half_window_size;
    int64_t inner = half < size ? size - 2 * half : 0;
    response r = {.size = size};
    cg_loop l;

    if (inner < 0)
        inner = 0;
    r.at = cg_mulc(g, glow_cpu_unit_for(j, &l), size);
    if (inner) {
        glow_cpu_lanes_for(j, half, inner, response_lanes, &r);
        response_edge(j, r, 0, half);
        response_edge(j, r, half + inner, size);
    } else {
        response_edge(j, r, 0, size);
    }
    glow_cpu_loop_end(g, &l, NULL);
}

static int64_t
response_pixels(const cpu_target *t, const glow_node *n)
{
    glow_dims x = n->in[0]->type->shape;

    (void)t;
    return glow_dims_product(x, 0, x.rank - 1);
}

const cpu_kernel glow_cpu_localresponsenormalization = {
    .name = "localresponsenormalization",
    .op = &glow_op_localresponsenormalization,
    .emit = emit_response,
    .units = response_pixels,
};
