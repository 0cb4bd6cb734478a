/*
 * Resize by nearest neighbour and by linear interpolation.  Shapes are static,
 * so the source element of each index of an axis is computed at compile time
 * and read from a table for each axis.
 *
 * Along a last axis that is resized, adjacent results read elements that are near each
 * other: a vector of them is a shuffle of a vector of Input.  An integer scale repeats one
 * shuffle, in a loop; other scales have one for each vector, up to MOST_RUNS of them.
 *
 *     for each index of the other axes             units
 *       for each run of vectors with one shuffle   the last vector overlaps the one before
 *         for each vector of the run
 */

#include <string.h>

#include "codegen/cpu/kernels/common.h"
#include "codegen/cpu/kernels/move/shuffle.h"

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
                  glow_cpu_table_real(j->g, j->g->f64, part, out)};
}

#define MOST_RUNS 64
#define MOST_VECTORS \
    4 /* of Input, that a vector of the result is shuffled from */

/* Lanes of a vector of the last axis of Input, from element `at` on. */
typedef struct pick {
    int64_t at;
    int lane[CPU_MOST_LANES];
} pick;

/* Vectors of results with one shuffle, the first from element `first` on. */
typedef struct run {
    int64_t first, count;
    pick low, high;
    int64_t low_step,
        high_step; /* elements of Input from one vector to the next */
} run;

typedef struct resize {
    grid axis[GLOW_MAX_RANK];
    cg_value *at; /* index of the result */
    int rank;
    bool linear;
    /* Of vectors along a resized last axis: */
    run *runs;
    int n_runs, lanes, width; /* lanes of results, and of Input */
    cg_value parts;           /* as float */
    const run *now;
    cg_value vector; /* its number within the run */
} resize;

/* The elements of Input that result `i` of the last axis lies between. */
typedef struct between {
    int64_t low, high;
    double part;
} between;

static between *
places(const cpu_job *j, const resize *r, int64_t out, int64_t in)
{
    glow_dims x = j->in[0].type->shape, y = j->out[0].type->shape;
    between *b = GLOW_NEW_ARRAY(j->g->arena, between, out);
    int axis = r->rank - 1;

    for (int64_t i = 0; i < out; i++) {
        double at;

        if (!r->linear) {
            b[i].low = glow_resize_nearest(j->n->attrs, x, y, axis, i);
            b[i].high = b[i].low;
            continue;
        }
        at = glow_resize_at(j->n->attrs, x, y, axis, i);
        b[i].low = (int64_t)at;
        b[i].part = at - (double)b[i].low;
        b[i].high =
            b[i].low + 1 < in && b[i].part > 0 ? b[i].low + 1 : b[i].low;
    }
    return b;
}

/* Elements that `lanes` results from `i` on lie within, of one side. */
static int64_t
span(const between *b, int64_t i, int lanes, bool high, int64_t *least)
{
    int64_t most = 0;

    *least = INT64_MAX;
    for (int k = 0; k < lanes; k++) {
        int64_t at = high ? b[i + k].high : b[i + k].low;

        *least = at < *least ? at : *least;
        most = at > most ? at : most;
    }
    return most - *least + 1;
}

static void
take(pick *p, const resize *r, const between *b, int64_t i, bool high,
     int64_t in)
{
    span(b, i, r->lanes, high, &p->at);
    if (p->at > in - r->width)
        p->at = in - r->width;
    for (int k = 0; k < r->lanes; k++)
        p->lane[k] = (int)((high ? b[i + k].high : b[i + k].low) - p->at);
}

static bool
has_lanes(const resize *r, const pick *a, const pick *b)
{
    return memcmp(a->lane, b->lane, (size_t)r->lanes * sizeof *a->lane) == 0;
}

/* Appends vector `v`, to the last run if it goes on there; false: there are too many. */
static bool
append(resize *r, const run *v)
{
    run *last = r->n_runs ? &r->runs[r->n_runs - 1] : NULL;
    int64_t low, high;

    if (last && v->first == last->first + last->count * r->lanes &&
        has_lanes(r, &last->low, &v->low) &&
        has_lanes(r, &last->high, &v->high)) {
        low = v->low.at - last->low.at;
        high = v->high.at - last->high.at;
        if (last->count == 1) {
            last->low_step = low;
            last->high_step = high;
        }
        if (low == last->count * last->low_step &&
            high == last->count * last->high_step) {
            last->count++;
            return true;
        }
    }
    if (r->n_runs == MOST_RUNS)
        return false;
    r->runs[r->n_runs++] = *v;
    return true;
}

/* The lanes of Input that all vectors are shuffled from; 0: too many. */
static int
width_of(const resize *r, const between *b, int64_t out, int64_t in)
{
    int64_t most = 1, least;
    int width = r->lanes;

    for (int64_t i = 0; i < out; i += r->lanes)
        for (int high = 0; high < 2; high++) {
            int64_t first = i + r->lanes <= out ? i : out - r->lanes;
            int64_t s = span(b, first, r->lanes, high, &least);

            most = s > most ? s : most;
        }
    while (width > 1 && width / 2 >= most)
        width /= 2;
    while (width < most)
        width *= 2;
    return width > 1 && width <= in && width <= MOST_VECTORS * r->lanes &&
                   width <= CPU_MOST_LANES
               ? width
               : 0;
}

/* Sets the runs of vectors along the last axis; false: one element at a time. */
static bool
find_runs(cpu_job *j, resize *r)
{
    cg *g = j->g;
    int axis = r->rank - 1, bytes = glow_cg_bytes(j->in[0].type);
    int64_t in = j->in[0].type->shape.at[axis];
    int64_t out = j->out[0].type->shape.at[axis];
    between *b;
    double *parts;

    if (r->linear && glow_cg_computed(g, j->in[0].type) != g->f32)
        return false;
    r->lanes = glow_cpu_lanes(g->target, r->linear ? 4 : bytes);
    if (r->lanes < 2 || out < r->lanes)
        return false;
    b = places(j, r, out, in);
    r->width = width_of(r, b, out, in);
    if (!r->width)
        return false;
    r->runs = GLOW_NEW_ARRAY(g->arena, run, MOST_RUNS);
    for (int64_t i = 0; i < out; i += r->lanes) {
        run v = {.first = i + r->lanes <= out ? i : out - r->lanes, .count = 1};

        take(&v.low, r, b, v.first, false, in);
        take(&v.high, r, b, v.first, true, in);
        if (!append(r, &v))
            return false;
    }
    parts = GLOW_NEW_ARRAY(g->arena, double, out);
    for (int64_t i = 0; i < out; i++)
        parts[i] = b[i].part;
    if (r->linear)
        r->parts = glow_cpu_table_real(g, g->f32, parts, out);
    return true;
}

/* The first element of the vector of Input at hand, from offset `from` of its line. */
static cg_value
vector_at(cg *g, const resize *r, cg_value from, const pick *p, int64_t step)
{
    return cg_add(g, from, cg_affine(g, cg_i64(g, p->at), 1, r->vector, step));
}

/* x (1 - part) + y part, and x where `part` is 0. */
static cg_value
mix(cg *g, cg_value x, cg_value y, cg_value part)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value mixed = cg_fmul(g, x, cg_fsub(g, glow_cg_real(t, 1), part));

    mixed = cg_fadd(g, mixed, cg_fmul(g, y, part));
    return cg_select(g, cg_fcmp(g, LLVMRealOEQ, part, LLVMConstNull(t)), x,
                     mixed);
}

/* A vector of results along the last axis, of the line from offset `from` on. */
static cg_value
sample_vector(cpu_job *j, const resize *r, cg_value from)
{
    cg *g = j->g;
    const run *v = r->now;
    cg_value low = vector_at(g, r, from, &v->low, v->low_step);
    cg_value high = vector_at(g, r, from, &v->high, v->high_step);
    cg_value x = glow_cg_load(g, j->in[0], low, r->width);
    cg_value y = glow_cg_load(g, j->in[0], high, r->width);

    cg_tensor parts = {r->parts, &glow_cpu_float};

    x = glow_cpu_shuffle(g, x, NULL, v->low.lane, r->lanes);
    y = glow_cpu_shuffle(g, y, NULL, v->high.lane, r->lanes);
    return mix(g, x, y, glow_cg_load(g, parts, r->at[r->rank - 1], r->lanes));
}

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
    if (d == r->rank - 1 && r->now)
        return sample_vector(j, r, from);
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
    return mix(g, x, y, glow_cg_splat(g, part, lanes));
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

    cg_value from = cg_i64(g, 0), x;
    glow_dims steps = glow_cpu_strides(j->in[0].type);

    for (int d = 0; d < r->rank - (r->now != NULL); d++)
        from =
            cg_add(g, from,
                   r->axis[d].low
                       ? glow_cpu_table_at(g, g->i64, r->axis[d].low, r->at[d])
                       : cg_mulc(g, r->at[d], steps.at[d]));
    if (r->now) {
        from = vector_at(g, r, from, &r->now->low, r->now->low_step);
        x = glow_cg_load_bits(g, j->in[0], from, r->width);
        x = glow_cpu_shuffle(g, x, NULL, r->now->low.lane, lanes);
    } else {
        x = glow_cg_load_bits(g, j->in[0], from, lanes);
    }
    glow_cg_store_bits(g, j->out[0], to, x);
}

/* A line in runs of vectors. */
static void
resize_runs(cpu_job *j, resize *r)
{
    cg *g = j->g;
    cg_loop l;

    for (int i = 0; i < r->n_runs; i++) {
        r->now = &r->runs[i];
        r->vector = glow_cg_for(g, &l, r->now->count);
        resize_lanes(
            j, cg_affine(g, cg_i64(g, r->now->first), 1, r->vector, r->lanes),
            r->lanes, r);
        glow_cg_loop_end(g, &l, NULL);
    }
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
    } else if (moves(j, last) && find_runs(j, &r)) {
        resize_runs(j, &r);
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
