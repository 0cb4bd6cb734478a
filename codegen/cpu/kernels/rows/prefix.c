/*
 * Prefix sums and products of floats (CumSum, CumProd), of several lines at a time, whose
 * additions do not wait for each other.  They are made in double and rounded once, in the
 * order of the axis, so that all bits are those of the evaluator.
 *
 *     for each index before the axis
 *       for ABREAST vectors of columns             beside each other in memory
 *         for each index of the axis               sums in registers
 *
 * Where the axis is the last one, there are rows instead of columns:
 *
 *     for ROWS rows
 *       for each element                           sums in registers
 */

#include "codegen/cpu/kernels/common.h"

#define ABREAST 2
#define ROWS 8
#define FLOAT_BYTES 4

typedef struct prefix {
    bool exclusive, reverse, multiplies;
    int64_t before, size, rest;
    cg_value at; /* the first element of an index before the axis */
} prefix;

static prefix
prefix_of(const glow_node *n)
{
    const glow_cumsum *a = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    return (prefix){.exclusive = a->exclusive,
                    .reverse = a->reverse,
                    .multiplies = n->op == &glow_op_cumprod,
                    .before = glow_dims_product(x, 0, a->dim),
                    .size = x.at[a->dim],
                    .rest = glow_dims_product(x, a->dim + 1, x.rank)};
}

static cg_value
wide(cg *g, cg_value v)
{
    LLVMTypeRef t = glow_cg_like(v, g->f64);

    return LLVMTypeOf(v) == t ? v : LLVMBuildFPExt(g->builder, v, t, "");
}

static cg_value
narrow(cg *g, cg_value v, const glow_type *to)
{
    LLVMTypeRef t = glow_cg_like(v, glow_cg_computed(g, to));

    return LLVMTypeOf(v) == t ? v : LLVMBuildFPTrunc(g->builder, v, t, "");
}

/* `count` values of `lanes` lines each, from elements `at`, `at` + `apart`, ... on. */
static void
scan(cpu_job *j, const prefix *p, cg_value at, int64_t apart, int lanes,
     int count)
{
    cg *g = j->g;
    cg_value start = glow_cg_real(g->f64, p->multiplies ? 1 : 0);
    cg_value sum[ROWS], k;
    cg_loop l;

    for (int i = 0; i < count; i++)
        sum[i] = glow_cg_splat(g, start, lanes);
    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, p->size), 1, sum, count);
    k = p->reverse ? cg_sub(g, cg_i64(g, p->size - 1), l.i) : l.i;
    k = cg_add(g, at, cg_mulc(g, k, p->rest));
    for (int i = 0; i < count; i++) {
        cg_value to = cg_addc(g, k, i * apart), old = l.value[i];
        cg_value x = wide(g, glow_cg_load(g, j->in[0], to, lanes));

        sum[i] =
            (p->multiplies ? glow_cpu_times : glow_cpu_sum)(g, NULL, old, x);
        x = narrow(g, p->exclusive ? old : sum[i], j->out[0].type);
        glow_cg_store(g, j->out[0], to, x);
    }
    glow_cg_loop_end(g, &l, sum);
}

static void
scan_columns(cpu_job *j, cg_value column, int lanes, void *user)
{
    const prefix *p = user;

    scan(j, p, cg_add(j->g, p->at, column), 0, lanes, 1);
}

static void
emit_columns(cpu_job *j, prefix *p)
{
    cg *g = j->g;
    int lanes = glow_cpu_lanes(g->target, FLOAT_BYTES);
    int64_t step = (int64_t)ABREAST * lanes, first = p->rest - p->rest % step;
    cg_loop outer, l;

    p->at = cg_mulc(g, glow_cg_for(g, &outer, p->before), p->size * p->rest);
    if (first) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, first), step, NULL, 0);
        scan(j, p, cg_add(g, p->at, l.i), lanes, lanes, ABREAST);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (first < p->rest)
        glow_cpu_lanes_for(j, first, p->rest - first, scan_columns, p);
    glow_cg_loop_end(g, &outer, NULL);
}

static void
emit_rows(cpu_job *j, const prefix *p)
{
    cg *g = j->g;
    int64_t rest = p->before % ROWS, first = p->before - rest;
    cg_loop l;

    if (first) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, first), ROWS, NULL, 0);
        scan(j, p, cg_mulc(g, l.i, p->size), p->size, 1, ROWS);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        scan(j, p, cg_i64(g, first * p->size), p->size, 1, (int)rest);
}

static void
emit(cpu_job *j)
{
    prefix p = prefix_of(j->n);

    if (p.rest == 1)
        emit_rows(j, &p);
    else
        emit_columns(j, &p);
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return glow_type_count(n->out[0]->type) > 0 &&
           (glow_cpu_all(n, GLOW_FLOAT) || glow_cpu_all(n, GLOW_FLOAT64));
}

const cpu_kernel glow_cpu_cumsum_lines = {
    .name = "cumsum_lines",
    .op = &glow_op_cumsum,
    .takes = takes,
    .emit = emit,
};

const cpu_kernel glow_cpu_cumprod_lines = {
    .name = "cumprod_lines",
    .op = &glow_op_cumprod,
    .takes = takes,
    .emit = emit,
};
