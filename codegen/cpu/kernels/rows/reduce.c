/*
 * Reductions over any set of axes.  Adjacent axes that are both kept or both
 * reduced are merged, so that most reductions are over [outer, axis, inner]: a
 * vector of the inner elements at a time, or, if there are none, a vector along
 * the axis.
 *
 * Long sums of floats are made in two levels, BLOCK terms in float and the blocks in
 * double, so that what is off grows with the root of BLOCK and not of the number of terms:
 *
 *     for each block                               a sum in registers, of doubles
 *       for each of BLOCK reduced indices          a sum in registers
 *
 * Where several axes are reduced of which the last is dense, as the batch and the image of
 * NCHW, its rows are reduced in vectors, and the results of rows one by one; sums of rows
 * of floats are added in double.
 *
 * Sums of quantized elements are exact, their extremes are elements; what is stored
 * is rounded once.
 *
 *     for each kept index                          units; the last axis in vectors, some abreast
 *       for each reduced index                     sums in registers
 */

#include "codegen/cpu/emit/quant.h"
#include "codegen/cpu/kernels/common.h"

#define LEAST_BITS \
    32 /* of exact sums: vectors have as many lanes as of float */

#define BLOCK 128 /* terms that are added in float */
#define FLOAT_BYTES 4
#define ABREAST 4 /* vectors whose sums do not wait for each other */

typedef struct reducer {
    cg_combine_fn combine;
    cg_value start;
    bool mean;
    bool adds; /* quantized elements: widened to the type of `start` */
} reducer;

/* The axes in two lists, kept and reduced, with their strides. */
typedef struct axes {
    glow_dims kept, kept_step, gone, gone_step;
} axes;

static void
append(glow_dims *shape, glow_dims *step, int64_t size, int64_t by)
{
    int last = shape->rank - 1;

    if (size == 1)
        return;
    if (last >= 0 && step->at[last] == size * by) {
        shape->at[last] *= size;
        step->at[last] = by;
        return;
    }
    shape->at[shape->rank++] = size;
    step->at[step->rank++] = by;
}

static axes
split(const glow_node *n)
{
    const glow_reduce *r = n->attrs;
    const glow_type *x = n->in[0]->type;
    glow_dims strides = glow_cpu_strides(x);
    axes a = {0};
    int next = 0;

    for (int d = 0; d < x->shape.rank; d++)
        if (next < r->axes.rank && r->axes.at[next] == d) {
            append(&a.gone, &a.gone_step, x->shape.at[d], strides.at[d]);
            next++;
        } else {
            append(&a.kept, &a.kept_step, x->shape.at[d], strides.at[d]);
        }
    return a;
}

/* The elements of the result for an extreme of quantized elements. */
static cg_value
finish_extreme(cpu_job *j, const axes *a, cg_value q)
{
    const glow_type *x = j->in[0].type, *y = j->out[0].type;
    cg_value least;

    if (glow_dims_count(a->gone) > 0)
        return x->elem == y->elem && x->scale == y->scale &&
                       x->offset == y->offset && glow_cg_is_plain_grid(x)
                   ? q
                   : glow_cg_quantize(j->g, y, glow_cg_dequantize(j->g, x, q));
    least = j->n->op == &glow_op_batchedreducemax ? glow_cpu_lowest(j->g, y)
                                                  : glow_cpu_highest(j->g, y);
    return glow_cg_splat(j->g, least, glow_cg_lanes(LLVMTypeOf(q)));
}

static cg_value
finish(cpu_job *j, const axes *a, const reducer *r, cg_value sum)
{
    cg *g = j->g;
    int64_t count = glow_dims_count(a->gone);

    if (r->adds)
        return glow_cg_mean(g, j->in[0].type, j->out[0].type, sum,
                            cg_i64(g, count), cg_i64(g, r->mean ? count : 1));
    if (glow_is_quantized(j->in[0].type->elem))
        return finish_extreme(j, a, sum);
    return r->mean
               ? cg_fdiv(g, sum, glow_cg_real(LLVMTypeOf(sum), (double)count))
               : sum;
}

/* From elements to the type of their sums. */
typedef struct widening {
    const glow_type *from;
    LLVMTypeRef to;
} widening;

static cg_value
widen(cg *g, cg_value v, const void *user)
{
    const widening *w = user;

    return LLVMBuildIntCast2(g->builder, v, glow_cg_like(v, w->to),
                             glow_cg_is_signed(w->from), "");
}

/* True for sums of floats that are made in blocks of the last reduced axis. */
static bool
in_blocks(cpu_job *j, const axes *a, const reducer *r)
{
    return a->gone.rank > 0 && r->combine == glow_cpu_sum &&
           LLVMTypeOf(r->start) == j->g->f32 &&
           a->gone.at[a->gone.rank - 1] > 2 * BLOCK;
}

/* The sum of `lanes` columns from elements `from` on. */
static cg_value
sum_blocks(cpu_job *j, const axes *a, const reducer *r, cg_value from,
           int lanes)
{
    cg *g = j->g;
    int last = a->gone.rank - 1;
    glow_dims blocks = a->gone, step = a->gone_step;
    cg_value zero = glow_cg_splat(g, r->start, lanes), total, at, count, x;
    LLVMTypeRef wide = glow_cg_like(zero, g->f64);
    cg_nest n;
    cg_loop l;

    total = glow_cg_local(g, LLVMConstNull(wide));
    blocks.at[last] = cg_ceil_div(a->gone.at[last], BLOCK);
    step.at[last] *= BLOCK;
    glow_cg_nest(g, &n, blocks);
    at = cg_add(g, from, glow_cg_offset(g, n.at, step));
    count = cg_mulc(g, n.at[last], BLOCK);
    count = cg_sub(g, cg_i64(g, a->gone.at[last]), count);
    x = LLVMBuildICmp(g->builder, LLVMIntSLT, count, cg_i64(g, BLOCK), "");
    count = cg_select(g, x, count, cg_i64(g, BLOCK));
    glow_cg_loop(g, &l, cg_i64(g, 0), count, 1, &zero, 1);
    at = cg_add(g, at, cg_mulc(g, l.i, a->gone_step.at[last]));
    x = glow_cg_load(g, j->in[0], at, lanes);
    x = cg_fadd(g, l.value[0], x);
    glow_cg_loop_end(g, &l, &x);
    x = LLVMBuildFPExt(g->builder, l.value[0], wide, "");
    cg_set(g, total, cg_fadd(g, cg_get(g, total), x));
    glow_cg_nest_end(g, &n);
    return LLVMBuildFPTrunc(g->builder, cg_get(g, total), LLVMTypeOf(zero), "");
}

/* True if the reduced indices are several rows of adjacent elements. */
static bool
in_rows(const axes *a)
{
    int last = a->gone.rank - 1;

    return last > 0 && a->gone_step.at[last] == 1;
}

/* One element: the rows from element `from` on, each in vectors. */
static cg_value
reduce_rows(cpu_job *j, const axes *a, const reducer *r, cg_value from)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    widening w = {t, LLVMTypeOf(r->start)};
    bool wide = r->combine == glow_cpu_sum && LLVMTypeOf(r->start) == g->f32;
    int last = a->gone.rank - 1;
    glow_dims rows = a->gone, step = a->gone_step;
    cg_value total = r->start, x;
    cg_nest n;

    if (wide)
        total = LLVMBuildFPExt(g->builder, total, g->f64, "");
    total = glow_cg_local(g, total);
    rows.rank = step.rank = last;
    glow_cg_nest(g, &n, rows);
    x = cg_add(g, from, glow_cg_offset(g, n.at, step));
    x = glow_cpu_reduce_row(g, j->in[0], x, a->gone.at[last], r->start,
                            r->combine, r->adds ? widen : NULL, &w);
    if (wide)
        x = LLVMBuildFPExt(g->builder, x, g->f64, "");
    cg_set(g, total, r->combine(g, t, cg_get(g, total), x));
    glow_cg_nest_end(g, &n);
    x = cg_get(g, total);
    return wide ? LLVMBuildFPTrunc(g->builder, x, g->f32, "") : x;
}

/* `count` vectors beside each other, from elements `from` on to `to` on. */
static void
reduce_abreast(cpu_job *j, const axes *a, const reducer *r, cg_value from,
               cg_value to, int lanes, int count)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    widening w = {t, LLVMTypeOf(r->start)};
    cg_value sum[ABREAST], at;
    cg_nest n;

    for (int i = 0; i < count; i++)
        sum[i] = glow_cg_local(g, glow_cg_splat(g, r->start, lanes));
    glow_cg_nest(g, &n, a->gone);
    at = cg_add(g, from, glow_cg_offset(g, n.at, a->gone_step));
    for (int i = 0; i < count; i++) {
        cg_value x = glow_cg_load(g, j->in[0],
                                  cg_addc(g, at, (int64_t)i * lanes), lanes);

        x = r->adds ? widen(g, x, &w) : x;
        cg_set(g, sum[i], r->combine(g, t, cg_get(g, sum[i]), x));
    }
    glow_cg_nest_end(g, &n);
    for (int i = 0; i < count; i++) {
        cg_value v = finish(j, a, r, cg_get(g, sum[i]));

        glow_cg_store(g, j->out[0], cg_addc(g, to, (int64_t)i * lanes), v);
    }
}

/*
 * One element, or a vector of them, from elements `from` on to `to` on.  Loops
 * run at least once: where there is nothing to reduce, there must be none.
 */
static void
reduce_at(cpu_job *j, const axes *a, const reducer *r, cg_value from,
          cg_value to, int lanes)
{
    cg *g = j->g;
    const glow_type *t = j->in[0].type;
    widening w = {t, LLVMTypeOf(r->start)};
    cg_value sum;

    if (glow_dims_count(a->gone) == 0) {
        sum = glow_cg_splat(g, r->start, lanes);
    } else if (lanes == 1 && a->gone.rank == 1 && a->gone_step.at[0] == 1) {
        sum = glow_cpu_reduce_row(g, j->in[0], from, a->gone.at[0], r->start,
                                  r->combine, r->adds ? widen : NULL, &w);
    } else if (lanes == 1 && in_rows(a)) {
        sum = reduce_rows(j, a, r, from);
    } else if (in_blocks(j, a, r)) {
        sum = sum_blocks(j, a, r, from, lanes);
    } else {
        reduce_abreast(j, a, r, from, to, lanes, 1);
        return;
    }
    glow_cg_store(g, j->out[0], to, finish(j, a, r, sum));
}

typedef struct inner {
    const axes *a;
    const reducer *r;
    cg_value from, to;
} inner;

static void
reduce_inner(cpu_job *j, cg_value i, int lanes, void *user)
{
    const inner *x = user;

    cg_value from = cg_add(j->g, x->from, i);

    reduce_at(j, x->a, x->r, from, cg_add(j->g, x->to, i), lanes);
}

/*
 * The first columns of a row of `size`, ABREAST vectors at a time, so that whole lines of the
 * cache are read at once; returns their number.
 */
static int64_t
reduce_first(cpu_job *j, const inner *x, int64_t size)
{
    cg *g = j->g;
    int lanes = glow_cpu_lanes(g->target, FLOAT_BYTES);
    int64_t step = (int64_t)ABREAST * lanes, first = size - size % step;
    cg_value from, to;
    cg_loop l;

    if (!first || glow_dims_count(x->a->gone) == 0 || in_blocks(j, x->a, x->r))
        return 0;
    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, first), step, NULL, 0);
    from = cg_add(g, x->from, l.i);
    to = cg_add(g, x->to, l.i);
    reduce_abreast(j, x->a, x->r, from, to, lanes, ABREAST);
    glow_cg_loop_end(g, &l, NULL);
    return first;
}

/* True if adjacent results are computed in one vector. */
static bool
is_vector(const axes *a)
{
    int last = a->kept.rank - 1;

    return last >= 0 && a->kept_step.at[last] == 1;
}

/* Units: the kept axes, without the last one if it is vectorized. */
static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    axes a = split(n);

    (void)t;
    return glow_dims_product(a.kept, 0, a.kept.rank - is_vector(&a));
}

static void
emit_reduce(cpu_job *j, const reducer *r)
{
    cg *g = j->g;
    axes a = split(j->n);
    glow_dims outer = a.kept, to_step = glow_dims_strides(a.kept);
    int last = outer.rank - 1;
    cg_nest n;
    bool vector = is_vector(&a);

    if (vector)
        outer.rank = to_step.rank = a.kept_step.rank = last;
    glow_cpu_unit_nest(j, &n, outer, outer.rank);

    cg_value from = glow_cg_offset(g, n.at, a.kept_step);
    cg_value to = glow_cg_offset(g, n.at, to_step);

    if (vector) {
        inner x = {&a, r, from, to};

        int64_t first = reduce_first(j, &x, a.kept.at[last]);

        if (first < a.kept.at[last])
            glow_cpu_lanes_for(j, first, a.kept.at[last] - first, reduce_inner,
                               &x);
    } else {
        reduce_at(j, &a, r, from, to, 1);
    }
    glow_cg_nest_end(g, &n);
}

/* Bits of the sums of quantized elements; 0: of others, or too many. */
static int
sum_bits(const glow_node *n)
{
    const glow_type *x = n->in[0]->type;
    axes a = split(n);
    int bits = glow_is_quantized(x->elem)
                   ? glow_cg_sum_bits(x, glow_dims_count(a.gone))
                   : 0;

    return bits && bits < LEAST_BITS ? LEAST_BITS : bits;
}

static void
emit_sum(cpu_job *j, bool mean)
{
    int bits = sum_bits(j->n);
    LLVMTypeRef t = glow_cg_computed(j->g, j->in[0].type);

    if (bits)
        t = LLVMIntTypeInContext(j->g->context, (unsigned)bits);
    emit_reduce(j, &(reducer){glow_cpu_sum, LLVMConstNull(t), mean, bits != 0});
}

static void
emit_add(cpu_job *j)
{
    emit_sum(j, false);
}

static void
emit_mean(cpu_job *j)
{
    emit_sum(j, true);
}

static bool
takes_sum(const cpu_target *t, const glow_node *n)
{
    (void)t;
    return !glow_computes_quantized(n) || sum_bits(n);
}

static void
emit_max(cpu_job *j)
{
    emit_reduce(j, &(reducer){glow_cg_max, glow_cpu_lowest(j->g, j->in[0].type),
                              false, false});
}

static void
emit_min(cpu_job *j)
{
    emit_reduce(j,
                &(reducer){glow_cg_min, glow_cpu_highest(j->g, j->in[0].type),
                           false, false});
}

static void
emit_prod(cpu_job *j)
{
    LLVMTypeRef t = glow_cg_computed(j->g, j->in[0].type);
    bool real = LLVMGetTypeKind(t) != LLVMIntegerTypeKind;

    emit_reduce(j, &(reducer){glow_cpu_times,
                              real ? glow_cg_real(t, 1) : glow_cg_int(t, 1),
                              false, false});
}

const cpu_kernel glow_cpu_reduceadd = {
    .name = "reduceadd",
    .op = &glow_op_batchedreduceadd,
    .takes = takes_sum,
    .strides = CPU_STRIDES_IN,
    .emit = emit_add,
    .units = units_of,
};

const cpu_kernel glow_cpu_reducemax = {
    .name = "reducemax",
    .op = &glow_op_batchedreducemax,
    .quantized = true,
    .strides = CPU_STRIDES_IN,
    .emit = emit_max,
    .units = units_of,
};

const cpu_kernel glow_cpu_reducemean = {
    .name = "reducemean",
    .op = &glow_op_batchedreducemean,
    .takes = takes_sum,
    .strides = CPU_STRIDES_IN,
    .emit = emit_mean,
    .units = units_of,
};

const cpu_kernel glow_cpu_reducemin = {
    .name = "reducemin",
    .op = &glow_op_batchedreducemin,
    .quantized = true,
    .strides = CPU_STRIDES_IN,
    .emit = emit_min,
    .units = units_of,
};

const cpu_kernel glow_cpu_reduceprod = {
    .name = "reduceprod",
    .op = &glow_op_batchedreduceprod,
    .strides = CPU_STRIDES_IN,
    .emit = emit_prod,
    .units = units_of,
};
