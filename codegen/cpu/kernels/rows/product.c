/*
 * Naive matrix product of any element kind and strides, one element at a time:
 * the fallback where the tiled kernels do not take the node.
 *
 *     for each batch, row and column               units: batches and rows, or all
 *       for each element of the depth              one sum
 */

#include "codegen/cpu/kernels/common.h"

/* c[b, m, n] = bias[n] + sum over k of a[b, m, k] * w[b, k, n] */
typedef struct product {
    int64_t batch, rows, columns, depth;
    int64_t a_batch, a_row, a_depth;
    int64_t b_batch, b_depth, b_column;
} product;

#define FEW_ROWS 16 /* that threads cannot share */

/* Units: rows, or elements if there are fewer than FEW_ROWS rows. */

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    glow_dims y = n->out[0]->type->shape;
    int64_t rows = glow_dims_product(y, 0, y.rank - 1);

    (void)t;
    return rows < FEW_ROWS ? glow_dims_count(y) : rows;
}

static void
emit_product(cpu_job *j, product p)
{
    cg *g = j->g;
    const glow_type *t = j->out[0].type;
    LLVMTypeRef c = glow_cg_computed(g, t);
    cg_nest n;
    cg_loop l;

    glow_cpu_unit_nest(j, &n, GLOW_DIMS_OF(p.batch, p.rows, p.columns),
                       p.batch * p.rows < FEW_ROWS ? 3 : 2);

    cg_value sum = LLVMConstNull(c);
    cg_value a = cg_affine(g, n.at[0], p.a_batch, n.at[1], p.a_row);
    cg_value b = cg_affine(g, n.at[0], p.b_batch, n.at[2], p.b_column);

    if (j->n->n_in > 2 && j->in[2].at)
        sum = glow_cg_load(g, j->in[2], n.at[2], 1);
    glow_cg_loop_guarded(g, &l, cg_i64(g, 0), cg_i64(g, p.depth), 1, &sum, 1);

    cg_value x =
        glow_cg_load(g, j->in[0], cg_add(g, a, cg_mulc(g, l.i, p.a_depth)), 1);
    cg_value y =
        glow_cg_load(g, j->in[1], cg_add(g, b, cg_mulc(g, l.i, p.b_depth)), 1);

    sum = glow_cpu_sum(g, t, l.value[0], glow_cpu_times(g, t, x, y));
    glow_cg_loop_end(g, &l, &sum);

    cg_value at = cg_add(g, cg_mulc(g, n.at[0], p.rows), n.at[1]);

    at = cg_add(g, cg_mulc(g, at, p.columns), n.at[2]);
    glow_cg_store(g, j->out[0], at, l.value[0]);
    glow_cg_nest_end(g, &n);
}

/*
 * Refuses strided operands while `t` is NULL: a dense copy lets the tiled
 * kernels take the product.
 */
static bool
takes(const cpu_target *t, const glow_node *n)
{
    for (int i = 0; !t && i < n->n_in; i++)
        if (n->in[i] && n->in[i]->type->strides.rank)
            return false;
    return !glow_computes_quantized(n);
}

static void
emit_matmul(cpu_job *j)
{
    glow_dims a = j->in[0].type->shape, b = j->in[1].type->shape;
    glow_dims as = glow_cpu_strides(j->in[0].type);
    glow_dims bs = glow_cpu_strides(j->in[1].type);

    emit_product(j, (product){1, a.at[0], b.at[1], a.at[1], 0, as.at[0],
                              as.at[1], 0, bs.at[0], bs.at[1]});
}

const cpu_kernel glow_cpu_matmul = {
    .name = "matmul",
    .op = &glow_op_matmul,
    .takes = takes,
    .strides = CPU_STRIDES_IN,
    .emit = emit_matmul,
    .units = units_of,
};

static void
emit_batchmatmul(cpu_job *j)
{
    glow_dims a = j->in[0].type->shape, b = j->in[1].type->shape;
    glow_dims as = glow_cpu_strides(j->in[0].type);
    glow_dims bs = glow_cpu_strides(j->in[1].type);

    emit_product(j,
                 (product){a.at[0], a.at[1], b.at[2], a.at[2], as.at[0],
                           as.at[1], as.at[2], bs.at[0], bs.at[1], bs.at[2]});
}

const cpu_kernel glow_cpu_batchmatmul = {
    .name = "batchmatmul",
    .op = &glow_op_batchmatmul,
    .takes = takes,
    .strides = CPU_STRIDES_IN,
    .emit = emit_batchmatmul,
    .units = units_of,
};

static void
emit_fullyconnected(cpu_job *j)
{
    glow_dims w = j->in[1].type->shape, y = j->out[0].type->shape;

    emit_product(j, (product){1, y.at[0], w.at[1], w.at[0], 0, w.at[0], 1, 0,
                              w.at[1], 1});
}

const cpu_kernel glow_cpu_fullyconnected = {
    .name = "fullyconnected",
    .op = &glow_op_fullyconnected,
    .emit = emit_fullyconnected,
    .units = units_of,
};
