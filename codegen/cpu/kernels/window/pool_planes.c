/*
 * Max and average pooling of images of one channel, of kinds that are computed as float:
 * a vector of pixels of a line at a time.  A window is reduced along its slices and lines
 * first, for all pixels of Input, into a line in scratch, which has pads at both ends, and
 * then along that line.
 *
 *     for each image, slice and line               units
 *       for each vector of pixels of Input         ABREAST of them side by side
 *         for slices and lines of the kernel       loops
 *       for each vector of pixels of the result    the last has live lanes
 *         for taps of a line of the kernel         written out; a stride is a shuffle
 *
 * Such images are what pool-planes makes of NCHW.
 */

#include <math.h>

#include "codegen/cpu/kernels/common.h"

#define FLOAT_BYTES 4
#define ABREAST 4     /* vectors whose sums do not wait for each other */
#define MOST_TAPS 16  /* of a line of the kernel */
#define MOST_STRIDE 4 /* along a line, by shuffles of vectors */

typedef struct planes {
    cpu_window w;
    bool max, count_pads;
    cg_tensor line;     /* in scratch */
    cg_value const *at; /* image, slice, line */
    cpu_taps z, y;
    cg_value height; /* of an average: the taps of slices and lines, as float */
    cg_value across; /* those of each pixel, as float; or NULL: `taps` of all */
    int64_t taps;
} planes;

static planes
planes_of(const glow_node *n)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    const glow_maxpool *max = GLOW_AS(maxpool, n);
    const glow_avgpool *average = GLOW_AS(avgpool, n);

    if (max)
        return (planes){.w = glow_cpu_window(x, y, max->kernels, max->strides,
                                             max->pads, max->dilation),
                        .max = true};
    return (planes){.w = glow_cpu_window(x, y, average->kernels,
                                         average->strides, average->pads,
                                         average->dilation),
                    .count_pads = average->count_include_pads};
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    planes p = planes_of(n);
    const cpu_window_axis *x = &p.w.axis[2];

    (void)t;
    return p.w.channels == 1 && glow_cpu_all_float(n) &&
           glow_type_count(n->out[0]->type) > 0 && x->in > 1 &&
           x->kernel <= MOST_TAPS;
}

/* Lanes of a vector of pixels of the result. */
static int
lanes_of(const cpu_target *t, const planes *p)
{
    return p->w.axis[2].stride > MOST_STRIDE ? 1
                                             : glow_cpu_lanes(t, FLOAT_BYTES);
}

/* Elements of the line in scratch: all that the vectors of the result read. */
static int64_t
length_of(const cpu_target *t, const planes *p)
{
    const cpu_window_axis *x = &p->w.axis[2];
    int64_t lanes = lanes_of(t, p), taps = (x->kernel - 1) * x->dilation;
    int64_t pixels = cg_ceil_div(x->out, lanes) * lanes;
    int64_t read = (pixels + taps / x->stride) * x->stride + x->stride;
    int64_t written = x->start + x->in + x->end;

    return read > written ? read : written;
}

static cg_value
lowest(cg *g, const planes *p, int lanes)
{
    return glow_cg_real(glow_cg_vector(g->f32, lanes),
                        p->max ? -(double)INFINITY : 0);
}

/* Stores the neutral number to elements `first` to less than `end` of the line. */
static void
fill(cpu_job *j, const planes *p, int64_t first, int64_t end)
{
    cg *g = j->g;
    cg_loop l;

    if (first >= end)
        return;
    glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, end), 1, NULL, 0);
    glow_cg_store(g, p->line, l.i, lowest(g, p, 1));
    glow_cg_loop_end(g, &l, NULL);
}

/* The greater of both; `best` stays where it is equal or NaN, and NaN replaces numbers. */
static cg_value
greatest(cg *g, cg_value x, cg_value best)
{
    cg_value nan = cg_fcmp(g, LLVMRealUNO, x, x);

    best = cg_select(g, cg_fcmp(g, LLVMRealOGT, x, best), x, best);
    return cg_select(g, nan, x, best);
}

static cg_value
combine(cg *g, const planes *p, cg_value sum, cg_value x)
{
    return p->max ? greatest(g, x, sum) : cg_fadd(g, sum, x);
}

/* Reduces `count` vectors of pixels of Input, from pixel `x` on, into the line. */
static void
reduce_lines(cpu_job *j, const planes *p, cg_value x, int lanes, int count)
{
    cg *g = j->g;
    const cpu_window_axis *z = &p->w.axis[0], *y = &p->w.axis[1];
    cg_value sum[ABREAST], at;
    cg_loop k, i;

    for (int v = 0; v < count; v++)
        sum[v] = lowest(g, p, lanes);
    glow_cg_loop_guarded(g, &k, p->z.first, p->z.last, 1, sum, count);
    glow_cg_loop_guarded(g, &i, p->y.first, p->y.last, 1, k.value, count);
    at = cg_add(g, cg_mulc(g, p->at[0], z->in), p->z.base);
    at = cg_add(g, at, cg_mulc(g, k.i, z->dilation));
    at = cg_add(g, cg_mulc(g, at, y->in), p->y.base);
    at = cg_add(g, at, cg_mulc(g, i.i, y->dilation));
    at = cg_add(g, cg_mulc(g, at, p->w.axis[2].in), x);
    for (int v = 0; v < count; v++)
        sum[v] =
            combine(g, p, i.value[v],
                    glow_cg_load(g, j->in[0],
                                 cg_addc(g, at, (int64_t)v * lanes), lanes));
    glow_cg_loop_end(g, &i, sum);
    glow_cg_loop_end(g, &k, i.value);
    for (int v = 0; v < count; v++)
        glow_cg_store(g, p->line,
                      cg_addc(g, x, p->w.axis[2].start + (int64_t)v * lanes),
                      k.value[v]);
}

static void
reduce_vector(cpu_job *j, cg_value x, int lanes, void *user)
{
    reduce_lines(j, user, x, lanes, 1);
}

static void
reduce_line(cpu_job *j, planes *p)
{
    cg *g = j->g;
    int lanes = glow_cpu_lanes(g->target, FLOAT_BYTES);
    int64_t in = p->w.axis[2].in, step = (int64_t)ABREAST * lanes;
    int64_t first = in - in % step;
    int more = (int)((in - first) / lanes);
    cg_loop l;

    if (first) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, first), step, NULL, 0);
        reduce_lines(j, p, l.i, lanes, ABREAST);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (more)
        reduce_lines(j, p, cg_i64(g, first), lanes, more);
    first += (int64_t)more * lanes;
    if (first < in)
        glow_cpu_lanes_for(j, first, in - first, reduce_vector, p);
}

/* Tap `k` of `lanes` pixels of the result, from pixel `x` on. */
static cg_value
tap(cg *g, const planes *p, cg_value x, int64_t k, int lanes)
{
    const cpu_window_axis *a = &p->w.axis[2];
    int64_t by = k * a->dilation, rest = by % a->stride;
    cg_value at = cg_mulc(g, cg_addc(g, x, by / a->stride), a->stride), v;

    if (lanes == 1)
        return glow_cg_load(g, p->line, cg_addc(g, at, rest), 1);
    v = glow_cg_load(g, p->line, at, lanes * (int)a->stride);
    return a->stride == 1
               ? v
               : glow_cpu_every(g, v, (int)rest, (int)a->stride, lanes);
}

/* A vector of averages from sums. */
static cg_value
divide(cg *g, const planes *p, cg_value x, cg_value sum)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(sum));
    cg_value count = glow_cg_splat(g, p->height, lanes), across;

    if (p->across)
        across =
            glow_cg_load(g, (cg_tensor){p->across, &glow_cpu_float}, x, lanes);
    else
        across = glow_cg_real(LLVMTypeOf(sum), (double)p->taps);
    return cg_fdiv(g, sum, cg_fmul(g, count, across));
}

static void
pool_pixels(cpu_job *j, cg_value x, int lanes, void *user)
{
    const planes *p = user;
    cg *g = j->g;
    const cpu_window_axis *a = &p->w.axis[2];
    cg_value sum = NULL, to;
    int live = g->live;

    g->live = 0; /* the line is longer than what is live */
    for (int64_t k = 0; k < a->kernel; k++) {
        cg_value v = tap(g, p, x, k, lanes);

        sum = sum ? combine(g, p, sum, v) : v;
    }
    g->live = live;
    if (!p->max)
        sum = divide(g, p, x, sum);
    to = cg_add(g, cg_mulc(g, p->at[0], p->w.axis[0].out), p->at[1]);
    to = cg_add(g, cg_mulc(g, to, p->w.axis[1].out), p->at[2]);
    to = cg_add(g, cg_mulc(g, to, a->out), x);
    glow_cg_store(g, j->out[0], to, sum);
}

/* Taps of pixel `i` of a line that its average counts. */
static int64_t
count_across(const planes *p, int64_t i)
{
    const cpu_window_axis *a = &p->w.axis[2];
    int64_t low = p->count_pads ? -a->start : 0, count = 0;
    int64_t high = a->in + (p->count_pads ? a->end : 0);

    for (int64_t k = 0; k < a->kernel; k++) {
        int64_t at = i * a->stride + k * a->dilation - a->start;

        count += at >= low && at < high;
    }
    return count;
}

/* Sets `across`, if pixels differ, or `taps`. */
static void
count_line(cpu_job *j, planes *p)
{
    cg *g = j->g;
    int64_t out = p->w.axis[2].out;
    double *count = GLOW_NEW_ARRAY(g->arena, double, out);
    bool differ = false;

    p->taps = count_across(p, 0);
    for (int64_t i = 0; i < out; i++) {
        differ |= count_across(p, i) != p->taps;
        count[i] = (double)count_across(p, i);
    }
    if (differ)
        p->across = glow_cpu_table_real(g, g->f32, count, out);
}

static cg_value
count_taps(cg *g, const planes *p, int axis)
{
    const cpu_window_axis *a = &p->w.axis[axis];
    int64_t low = p->count_pads ? -a->start : 0;
    int64_t high = a->in + (p->count_pads ? a->end : 0);
    cpu_taps t = glow_cpu_taps(g, a, p->at[1 + axis], low, high);

    return glow_cg_imax(g, cg_sub(g, t.last, t.first), cg_i64(g, 0));
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    planes p = planes_of(j->n);
    const cpu_window_axis *x = &p.w.axis[2];
    int64_t length = length_of(g->target, &p);
    cg_nest n;
    cg_loop l;

    p.line = (cg_tensor){j->scratch, &glow_cpu_float};
    fill(j, &p, 0, x->start);
    fill(j, &p, x->start + x->in, length);
    if (!p.max)
        count_line(j, &p);
    glow_cpu_unit_nest(
        j, &n, GLOW_DIMS_OF(p.w.batch, p.w.axis[0].out, p.w.axis[1].out), 3);
    p.at = n.at;
    p.z = glow_cpu_taps(g, &p.w.axis[0], p.at[1], 0, p.w.axis[0].in);
    p.y = glow_cpu_taps(g, &p.w.axis[1], p.at[2], 0, p.w.axis[1].in);
    if (!p.max) {
        p.height = count_taps(g, &p, 0);
        p.height = cg_mul(g, p.height, count_taps(g, &p, 1));
        p.height = LLVMBuildSIToFP(g->builder, p.height, g->f32, "");
    }
    reduce_line(j, &p);
    if (lanes_of(g->target, &p) > 1) {
        glow_cpu_lanes_for(j, 0, x->out, pool_pixels, &p);
    } else {
        pool_pixels(j, glow_cg_for(g, &l, x->out), 1, &p);
        glow_cg_loop_end(g, &l, NULL);
    }
    glow_cg_nest_end(g, &n);
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    planes p = planes_of(n);

    return glow_cpu_room(length_of(t, &p), FLOAT_BYTES);
}

static int64_t
units(const cpu_target *t, const glow_node *n)
{
    planes p = planes_of(n);

    (void)t;
    return p.w.batch * p.w.axis[0].out * p.w.axis[1].out;
}

#define KERNEL(operator)                              \
    const cpu_kernel glow_cpu_##operator##_planes = { \
        .name = #operator"_planes",                   \
        .op = &glow_op_##operator,                    \
        .takes = takes,                               \
        .emit = emit,                                 \
        .scratch_size = scratch_size,                 \
        .units = units,                               \
    }

KERNEL(maxpool);
KERNEL(avgpool);
