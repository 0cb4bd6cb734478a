/*
 * Softmax and its logarithm.
 *
 * The greatest element goes first.  Along the last axis short rows are done several
 * at once (softmax_short.c); a row that fits the registers is read once and written
 * once; a longer one is swept three times, its exponentials standing in the result in
 * between.  Along another axis vectors of neighbours are done, each lane its own
 * softmax.
 *
 * NaN needs no care: the greatest element passes it over, the sum does not.
 *
 *     for each row, or vector of neighbours        units
 *       greatest element      a sweep
 *       exponentials, sum     a sweep, which writes them
 *       quotients             a sweep
 */

#include "codegen/cpu/kernels/rows/softmax.h"

#include <math.h>

#define SWEEP 4 /* vectors that are swept side by side */
#define MOST 16 /* vectors of a row in registers, at most */

cg_value
glow_cpu_soft_greater(cg *g, const glow_type *t, cg_value b, cg_value x)
{
    (void)t;
    return cg_select(g, cg_fcmp(g, LLVMRealOGT, x, b), x, b);
}

static cg_value
lowest_like(cg_value v)
{
    return glow_cg_real(LLVMTypeOf(v), -(double)INFINITY);
}

static cg_value
splat_like(cg *g, cg_value scalar, cg_value v)
{
    return glow_cg_splat(g, scalar, glow_cg_lanes(LLVMTypeOf(v)));
}

cg_value
glow_cpu_soft_sum(cg *g, const cpu_soft *s, cg_value sum)
{
    if (s->logarithm)
        return glow_cg_log(g, sum);
    if (g->target->exact)
        return sum;
    return cg_fdiv(g, glow_cg_real(LLVMTypeOf(sum), 1), sum);
}

cg_value
glow_cpu_soft_weigh(cg *g, cg_value e, cg_value sum)
{
    return g->target->exact ? cg_fdiv(g, e, sum) : cg_fmul(g, e, sum);
}

/*
 * Result of an element from x - max and its exponential `e`, NULL if it is
 * still to be computed.
 */
static cg_value
finish(cg *g, const cpu_soft *s, cg_value x, cg_value e)
{
    cg_value sum = splat_like(g, s->sum, s->logarithm || !e ? x : e);

    if (s->logarithm)
        return cg_fsub(g, x, sum);
    return glow_cpu_soft_weigh(g, e ? e : glow_cg_exp(g, x), sum);
}

/* Rows in registers. */

/* Vector `i` of a row of `count`: how many lanes, of which how many live. */
typedef struct part {
    int64_t first;
    int lanes, live; /* live: 0: all */
} part;

static int
cut(const cg *g, int64_t size, part *parts, int most)
{
    int lanes = g->target->vector_bytes / 4, n = 0;

    if (size < lanes)
        lanes = glow_cg_lanes_over(size);
    if ((size + lanes - 1) / lanes > most)
        return 0;
    for (int64_t at = 0; at < size; at += lanes)
        parts[n++] =
            (part){at, lanes, size - at < lanes ? (int)(size - at) : 0};
    return n;
}

cg_value
glow_cpu_soft_lanes(cg *g, const glow_type *t, cg_value *v, int n,
                    cg_combine_fn fn)
{
    for (; n > 1; n = (n + 1) / 2)
        for (int i = 0; i < n / 2; i++)
            v[i] = fn(g, t, v[i], v[n - 1 - i]);
    return v[0];
}

/* Combines vectors of one width lane by lane, then their lanes. */
static cg_value
combine_all(cg *g, const glow_type *t, const cg_value *v, int n,
            cg_combine_fn fn)
{
    cg_value all[MOST];

    for (int i = 0; i < n; i++)
        all[i] = v[i];
    return glow_cpu_across(g, t, glow_cpu_soft_lanes(g, t, all, n, fn), fn);
}

static void
soft_in_registers(cpu_job *j, cpu_soft *s, const part *parts, int n)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    cg_value x[MOST], e[MOST];

    for (int i = 0; i < n; i++) {
        g->live = parts[i].live;
        x[i] = glow_cg_load(g, j->in[0], cg_addc(g, s->at, parts[i].first),
                            parts[i].lanes);
        x[i] = glow_cg_live(g, x[i], lowest_like(x[i]));
    }
    g->live = 0;
    s->max = combine_all(g, t, x, n, glow_cpu_soft_greater);
    for (int i = 0; i < n; i++) {
        x[i] = cg_fsub(g, x[i], splat_like(g, s->max, x[i]));
        e[i] = glow_cg_exp(g, x[i]);
        g->live = parts[i].live;
        e[i] = glow_cg_live(g, e[i], LLVMConstNull(LLVMTypeOf(e[i])));
        g->live = 0;
    }
    s->sum = glow_cpu_soft_sum(g, s, combine_all(g, t, e, n, glow_cpu_sum));
    for (int i = 0; i < n; i++) {
        g->live = parts[i].live;

        cg_value y = finish(g, s, x[i], e[i]);

        glow_cg_store(g, j->out[0], cg_addc(g, s->at, parts[i].first), y);
    }
    g->live = 0;
}

/* Long rows. */

/* One vector: stores exp(x - max), and adds it to `sum`. */
static cg_value
exp_vector(cpu_job *j, const cpu_soft *s, cg_value i, cg_value sum)
{
    cg *g = j->g;
    int lanes = glow_cg_lanes(LLVMTypeOf(sum));
    cg_value at = cg_add(g, s->at, i);
    cg_value x = glow_cg_load(g, j->in[0], at, lanes);
    cg_value e = glow_cg_exp(g, cg_fsub(g, x, splat_like(g, s->max, x)));

    if (s->keeps)
        glow_cg_store(g, j->out[0], at, e);
    return glow_cg_live(g, cg_fadd(g, sum, e), sum);
}

static cg_value
exp_row(cpu_job *j, const cpu_soft *s)
{
    cg *g = j->g;
    int lanes = g->target->vector_bytes / 4;
    int64_t rest = s->size % lanes, whole = s->size - rest;
    int64_t wide = whole - whole % (SWEEP * lanes);
    LLVMTypeRef c = glow_cg_computed(g, j->in[0].type);
    cg_value none = LLVMConstNull(glow_cg_vector(c, lanes)), sums[SWEEP];
    cg_loop l;

    for (int i = 0; i < SWEEP; i++)
        sums[i] = none;
    if (wide) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, wide), SWEEP * lanes, sums,
                     SWEEP);
        for (int i = 0; i < SWEEP; i++)
            sums[i] = exp_vector(j, s, cg_addc(g, l.i, i * lanes), l.value[i]);
        glow_cg_loop_end(g, &l, sums);
        for (int i = 1; i < SWEEP; i++)
            sums[0] = cg_fadd(g, sums[0], sums[i]);
    }
    for (int64_t i = wide; i < whole; i += lanes)
        sums[0] = exp_vector(j, s, cg_i64(g, i), sums[0]);
    if (rest) {
        g->live = (int)rest;
        sums[0] = exp_vector(j, s, cg_i64(g, whole), sums[0]);
        g->live = 0;
    }
    return glow_cpu_across(g, j->in[0].type, sums[0], glow_cpu_sum);
}

static void
finish_lanes(cpu_job *j, cg_value i, int lanes, void *user)
{
    const cpu_soft *s = user;
    cg *g = j->g;
    cg_value at = cg_add(g, s->at, i), x = NULL, e = NULL;

    if (s->keeps) {
        e = glow_cg_load(g, j->out[0], at, lanes);
    } else {
        x = glow_cg_load(g, j->in[0], at, lanes);
        x = cg_fsub(g, x, splat_like(g, s->max, x));
    }
    glow_cg_store(g, j->out[0], at, finish(g, s, x, e));
}

void
glow_cpu_soft_row(cpu_job *j, cpu_soft s)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    part parts[MOST];
    int most = g->target->registers / 2;
    bool wide = glow_cg_computed(g, t) == g->f64; /* exp is a call */
    int n = wide ? 0 : cut(g, s.size, parts, most < MOST ? most : MOST);

    s.keeps = !s.logarithm && t->elem == GLOW_FLOAT &&
              j->out[0].type->elem == GLOW_FLOAT;
    if (n) {
        soft_in_registers(j, &s, parts, n);
    } else {
        s.max = glow_cpu_reduce_row(g, j->in[0], s.at, s.size,
                                    glow_cpu_lowest(g, t),
                                    glow_cpu_soft_greater, NULL, NULL);
        s.sum = glow_cpu_soft_sum(g, &s, exp_row(j, &s));
        glow_cpu_lanes_for(j, 0, s.size, finish_lanes, &s);
    }
}

/* Along another axis. */

typedef struct soft_column {
    cpu_soft s;
    int64_t step;
} soft_column;

static cg_value
load_column(cpu_job *j, const soft_column *c, cg_value at, cg_value k,
            int lanes)
{
    at = cg_add(j->g, at, cg_mulc(j->g, k, c->step));
    return glow_cg_load(j->g, j->in[0], at, lanes);
}

static void
soft_columns(cpu_job *j, cg_value column, int lanes, void *user)
{
    const soft_column *c = user;
    cpu_soft s = c->s;
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    cg_value at = cg_add(g, s.at, column), x, y;
    cg_value low = glow_cg_splat(g, glow_cpu_lowest(g, t), lanes);
    cg_value none = LLVMConstNull(LLVMTypeOf(low));
    cg_value size = cg_i64(g, s.size), zero = cg_i64(g, 0);
    cg_loop l;

    glow_cg_loop(g, &l, zero, size, 1, &low, 1);
    x = load_column(j, c, at, l.i, lanes);
    s.max = glow_cpu_soft_greater(g, t, l.value[0], x);
    glow_cg_loop_end(g, &l, &s.max);
    glow_cg_loop(g, &l, zero, size, 1, &none, 1);
    x = cg_fsub(g, load_column(j, c, at, l.i, lanes), s.max);
    s.sum = cg_fadd(g, l.value[0], glow_cg_exp(g, x));
    glow_cg_loop_end(g, &l, &s.sum);
    s.sum = glow_cpu_soft_sum(g, &s, s.sum);
    glow_cg_for(g, &l, s.size);
    x = cg_fsub(g, load_column(j, c, at, l.i, lanes), s.max);
    y = s.logarithm ? cg_fsub(g, x, s.sum)
                    : glow_cpu_soft_weigh(g, glow_cg_exp(g, x), s.sum);
    glow_cg_store(g, j->out[0], cg_add(g, at, cg_mulc(g, l.i, c->step)), y);
    glow_cg_loop_end(g, &l, NULL);
}

static void
emit_soft(cpu_job *j, int axis, bool logarithm)
{
    glow_dims x = j->in[0].type->shape;
    int64_t step = glow_dims_product(x, axis + 1, x.rank);
    cpu_soft s = {.size = x.at[axis], .logarithm = logarithm};
    cg_loop l;

    if (step == 1 &&
        glow_cpu_soft_rows(j->g->target, j->in[0].type, s.size) > 1) {
        glow_cpu_soft_short(j, s);
        return;
    }
    s.at = cg_mulc(j->g, glow_cpu_unit_for(j, &l), s.size * step);
    if (step == 1)
        glow_cpu_soft_row(j, s);
    else
        glow_cpu_lanes_for(j, 0, step, soft_columns, &(soft_column){s, step});
    glow_cg_loop_end(j->g, &l, NULL);
}

/* Size of the iteration space: rows, blocks of rows, or blocks of columns. */
static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    const glow_softmax *s = n->attrs;
    const glow_type *type = n->in[0]->type;
    glow_dims x = type->shape;
    int64_t before = glow_dims_product(x, 0, s->axis);

    return glow_dims_product(x, s->axis + 1, x.rank) == 1
               ? cg_ceil_div(before, glow_cpu_soft_rows(t, type, x.at[s->axis]))
               : before;
}

static void
emit_softmax(cpu_job *j)
{
    const glow_softmax *s = j->n->attrs;

    emit_soft(j, s->axis, false);
}

static void
emit_logsoftmax(cpu_job *j)
{
    const glow_softmax *s = j->n->attrs;

    emit_soft(j, s->axis, true);
}

const cpu_kernel glow_cpu_softmax = {
    .name = "softmax",
    .op = &glow_op_softmax,
    .emit = emit_softmax,
    .units = units_of,
};

const cpu_kernel glow_cpu_logsoftmax = {
    .name = "logsoftmax",
    .op = &glow_op_logsoftmax,
    .emit = emit_logsoftmax,
    .units = units_of,
};
