/*
 * Reductions over any set of axes.  Adjacent axes that are both kept or both
 * reduced are merged, so that most reductions are over [outer, axis, inner]: a
 * vector of the inner elements at a time, or, if there are none, a vector along
 * the axis.
 *
 *     for each kept index                          units; the last axis in vectors
 *       for each reduced index                     sums in registers
 */

#include "codegen/cpu/kernels/common.h"

typedef struct reducer {
    cg_combine_fn combine;
    cg_value start;
    bool mean;
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

static cg_value
finish_mean(cg *g, const axes *a, const reducer *r, cg_value sum)
{
    if (!r->mean)
        return sum;

    double count = (double)glow_dims_count(a->gone);

    return cg_fdiv(g, sum, glow_cg_real(LLVMTypeOf(sum), count));
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
    cg_value sum;

    if (glow_dims_count(a->gone) == 0) {
        sum = glow_cg_splat(g, r->start, lanes);
    } else if (lanes == 1 && a->gone.rank == 1 && a->gone_step.at[0] == 1) {
        sum = glow_cpu_reduce_row(g, j->in[0], from, a->gone.at[0], r->start,
                                  r->combine, NULL, NULL);
    } else {
        cg_value local = glow_cg_local(g, glow_cg_splat(g, r->start, lanes));
        cg_nest n;

        glow_cg_nest(g, &n, a->gone);

        cg_value at = cg_add(g, from, glow_cg_offset(g, n.at, a->gone_step));
        cg_value x = glow_cg_load(g, j->in[0], at, lanes);

        cg_set(g, local, r->combine(g, t, cg_get(g, local), x));
        glow_cg_nest_end(g, &n);
        sum = cg_get(g, local);
    }
    glow_cg_store(g, j->out[0], to, finish_mean(g, a, r, sum));
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

        glow_cpu_lanes_for(j, 0, a.kept.at[last], reduce_inner, &x);
    } else {
        reduce_at(j, &a, r, from, to, 1);
    }
    glow_cg_nest_end(g, &n);
}

static cg_value
zero(cpu_job *j)
{
    return LLVMConstNull(glow_cg_computed(j->g, j->in[0].type));
}

static void
emit_add(cpu_job *j)
{
    emit_reduce(j, &(reducer){glow_cpu_sum, zero(j), false});
}

static void
emit_mean(cpu_job *j)
{
    emit_reduce(j, &(reducer){glow_cpu_sum, zero(j), true});
}

static void
emit_max(cpu_job *j)
{
    emit_reduce(j, &(reducer){glow_cg_max, glow_cpu_lowest(j->g, j->in[0].type),
                              false});
}

static void
emit_min(cpu_job *j)
{
    emit_reduce(j, &(reducer){glow_cg_min,
                              glow_cpu_highest(j->g, j->in[0].type), false});
}

static void
emit_prod(cpu_job *j)
{
    LLVMTypeRef t = glow_cg_computed(j->g, j->in[0].type);
    bool real = LLVMGetTypeKind(t) != LLVMIntegerTypeKind;

    emit_reduce(j, &(reducer){glow_cpu_times,
                              real ? glow_cg_real(t, 1) : glow_cg_int(t, 1),
                              false});
}

const cpu_kernel glow_cpu_reduceadd = {
    .name = "reduceadd",
    .op = &glow_op_batchedreduceadd,
    .strides = CPU_STRIDES_IN,
    .emit = emit_add,
    .units = units_of,
};

const cpu_kernel glow_cpu_reducemax = {
    .name = "reducemax",
    .op = &glow_op_batchedreducemax,
    .strides = CPU_STRIDES_IN,
    .emit = emit_max,
    .units = units_of,
};

const cpu_kernel glow_cpu_reducemean = {
    .name = "reducemean",
    .op = &glow_op_batchedreducemean,
    .strides = CPU_STRIDES_IN,
    .emit = emit_mean,
    .units = units_of,
};

const cpu_kernel glow_cpu_reducemin = {
    .name = "reducemin",
    .op = &glow_op_batchedreducemin,
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
