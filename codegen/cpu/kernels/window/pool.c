/*
 * Max and average pooling, line by line, of kinds that are computed as float and of
 * quantized ones: a vector of channels of some pixels at a time.  Maxima of quantized
 * elements are integers of their own size; sums are exact, of 16 bits where these
 * suffice, else 32.
 *
 * As in direct.c a line of results is cut into tiles whose pixels have the same
 * taps inside of the input; the taps of a line are unrolled, the lines of the
 * kernel are a loop.  Wide kernels, such as of a global pooling, are left to
 * window.c.
 *
 * Max pooling propagates NaN: a mask of the lanes that met a NaN is kept beside
 * the maximum, so that both take one instruction for a tap.
 *
 *     for each image, slice and line               units
 *       for each tile of pixels of the line        runs of equal taps; tails shorter; an input
 *                                                  that no cache holds is prefetched for
 *                                                  the next line
 *         for each vector of channels              the last has live lanes
 *           for slices and lines of the kernel     loops
 *             for its taps                         written out
 */

#include <math.h>

#include "codegen/cpu/emit/quant.h"
#include "codegen/cpu/kernels/runs.h"

#define MOST_TAPS 16  /* of a line of the kernel */
#define MOST_PIXELS 4 /* of a tile */

typedef struct pool {
    cpu_window w;
    int64_t pixel;  /* elements from one pixel of Input to the next */
    int64_t pixels; /* of a line of the result */
    bool max, count_pads;
    const glow_type *quantized; /* of Input, or NULL */
    int bytes; /* of a lane: maxima and sums of quantized elements may be short */
    bool joined; /* the pixels of a line are one pixel of more channels */
    const cpu_run *run; /* the tiles at hand */
    cg_value const *at; /* batch, two axes */
    cg_value x;         /* first pixel of the tile */
} pool;

static const glow_type *
quantized_of(const glow_node *n)
{
    const glow_type *x = n->in[0]->type;

    return glow_is_quantized(x->elem) ? x : NULL;
}

static pool
max_of(const glow_node *n)
{
    const glow_maxpool *a = n->attrs;
    const glow_type *q = quantized_of(n);
    int bytes = q ? glow_cg_bytes(q) : 4;

    return (pool){.w = glow_cpu_window(n->in[0]->type->shape,
                                       n->out[0]->type->shape, a->kernels,
                                       a->strides, a->pads, a->dilation),
                  .max = true,
                  .quantized = q,
                  .bytes = bytes < 4 ? bytes : 4};
}

static pool
average_of(const glow_node *n)
{
    const glow_avgpool *a = n->attrs;
    const glow_type *q = quantized_of(n);
    int64_t taps = glow_dims_count(a->kernels);

    return (pool){.w = glow_cpu_window(n->in[0]->type->shape,
                                       n->out[0]->type->shape, a->kernels,
                                       a->strides, a->pads, a->dilation),
                  .count_pads = a->count_include_pads,
                  .quantized = q,
                  .bytes = q ? glow_cg_sum_bits(q, taps) / 8 : 4};
}

static int
pixels_of(const cpu_window_axis *x)
{
    return x->out < MOST_PIXELS ? (int)x->out : MOST_PIXELS;
}

static bool
takes(const glow_node *n, const pool *p)
{
    const cpu_window_axis *x = &p->w.axis[2];
    cpu_run runs[CPU_MOST_RUNS];
    glow_arena *a;
    int count;

    if (!(p->quantized ? p->bytes == 1 || p->bytes == 2 || p->bytes == 4
                       : glow_cpu_all_float(n)) ||
        x->kernel > MOST_TAPS)
        return false;
    a = glow_arena_new();
    count = glow_cpu_cut(a, x, pixels_of(x), runs);
    glow_arena_free(a);
    return count > 0;
}

/* Partial result of a pixel: the maximum and the mask of NaN, or the sum. */
typedef struct partial {
    cg_value best, nan; /* nan: all bits of the lane, or none */
} partial;

static cg_value
is_nan(cg *g, cg_value x, cg_value y)
{
    cg_value is = cg_fcmp(g, LLVMRealUNO, x, y);

    return LLVMBuildSExt(g->builder, is, glow_cg_like(x, g->i32), "");
}

/* Maximum of `count` taps; one comparison checks two taps for NaN. */
static void
take_greatest(cg *g, cg_value const *x, int count, partial *to)
{
    for (int i = 0; i < count; i++)
        to->best = cg_select(g, cg_fcmp(g, LLVMRealOGT, x[i], to->best), x[i],
                             to->best);
    for (int i = 0; i < count; i += 2)
        to->nan =
            cg_or(g, to->nan, is_nan(g, x[i], x[i + 1 < count ? i + 1 : i]));
}

static void
take_greatest_element(cg *g, const pool *p, cg_value const *x, int count,
                      partial *to)
{
    for (int i = 0; i < count; i++)
        to->best = glow_cg_max(g, p->quantized, x[i], to->best);
}

/* Adds elements to exact sums. */
static void
take_elements(cg *g, const pool *p, cg_value const *x, int count, partial *to)
{
    LLVMTypeRef t = LLVMTypeOf(to->best);
    cg_value sum = LLVMConstNull(t);

    for (int i = 0; i < count; i++)
        sum = cg_iadd(g, sum,
                      LLVMBuildIntCast2(g->builder, x[i], t,
                                        glow_cg_is_signed(p->quantized), ""));
    to->best = cg_iadd(g, to->best, sum);
}

/*
 * Adds the sum of `count` taps: it is computed first, so that lines do not wait
 * for each other.
 */
static void
take_sum(cg *g, cg_value const *x, int count, partial *to)
{
    cg_value sum = LLVMConstNull(LLVMTypeOf(to->best));

    for (int i = 0; i < count; i++)
        sum = cg_fadd(g, sum, x[i]);
    to->best = cg_fadd(g, to->best, sum);
}

/* The taps of one line of the kernel; `in`: element 0 of the tile's first tap. */
static void
take_line(cpu_job *j, const pool *p, cg_value in, int lanes, partial *to)
{
    cg *g = j->g;
    const cpu_window_axis *x = &p->w.axis[2];

    for (int r = 0; r < p->run->rows; r++) {
        cg_value taps[MOST_TAPS];
        int count = 0;

        for (int64_t k = 0; k < x->kernel; k++) {
            int64_t pixel = r * x->stride + k * x->dilation;
            cg_value at = cg_addc(g, in, pixel * p->pixel);

            if (p->run->valid[r * x->kernel + k])
                taps[count++] = glow_cg_load(g, j->in[0], at, lanes);
        }
        if (p->quantized)
            (p->max ? take_greatest_element : take_elements)(g, p, taps, count,
                                                             &to[r]);
        else
            (p->max ? take_greatest : take_sum)(g, taps, count, &to[r]);
    }
}

/* The element of Input where the taps of a line begin, of channel `c`. */
static cg_value
line_at(cg *g, const pool *p, cg_value z, cg_value y, cg_value c)
{
    const cpu_window_axis *x = &p->w.axis[2];
    cg_value line = cg_add(g, cg_mulc(g, p->at[0], p->w.axis[0].in), z);
    cg_value first = cg_addc(g, cg_mulc(g, p->x, x->stride), -x->start);

    line = cg_add(g, cg_mulc(g, line, p->w.axis[1].in), y);
    line = cg_add(g, cg_mulc(g, line, x->in), first);
    return cg_add(g, cg_mulc(g, line, p->pixel), c);
}

static cg_value
how_many(cg *g, const cpu_taps *t)
{
    return glow_cg_imax(g, cg_sub(g, t->last, t->first), cg_i64(g, 0));
}

/*
 * Number of taps of pixel `r` that an average divides by, over slices `z` and
 * lines `y`.
 */
static cg_value
count_taps(cg *g, const pool *p, int r, const cpu_taps *z, const cpu_taps *y)
{
    const cpu_window_axis *x = &p->w.axis[2];
    cg_value planes = how_many(g, z);
    cg_value count = cg_mul(g, planes, how_many(g, y));
    int64_t across = 0;

    if (!p->count_pads) {
        for (int64_t k = 0; k < x->kernel; k++)
            across += p->run->valid[r * x->kernel + k];
        return cg_mulc(g, count, across);
    }

    cpu_taps t =
        glow_cpu_taps(g, x, cg_addc(g, p->x, r), -x->start, x->in + x->end);

    return cg_mul(g, count, how_many(g, &t));
}

static cpu_taps
counted_taps(cg *g, const pool *p, int axis)
{
    const cpu_window_axis *a = &p->w.axis[axis];

    return p->count_pads
               ? glow_cpu_taps(g, a, p->at[1 + axis], -a->start, a->in + a->end)
               : glow_cpu_taps(g, a, p->at[1 + axis], 0, a->in);
}

/* The number of taps of pixel `r` within Input. */
static cg_value
count_elements(cg *g, const pool *p, int r)
{
    pool within = *p;
    cpu_taps z, y;

    within.count_pads = false;
    z = counted_taps(g, &within, 0);
    y = counted_taps(g, &within, 1);
    return count_taps(g, &within, r, &z, &y);
}

static cg_value
finish(cpu_job *j, const pool *p, int r, const partial *sum)
{
    cg *g = j->g;
    LLVMTypeRef t = LLVMTypeOf(sum->best);

    if (p->max && p->quantized)
        return sum->best;
    if (p->max)
        return cg_select(g,
                         cg_icmp(g, LLVMIntNE, sum->nan,
                                 LLVMConstNull(LLVMTypeOf(sum->nan))),
                         glow_cg_real(t, (double)NAN), sum->best);

    cpu_taps z = counted_taps(g, p, 0), y = counted_taps(g, p, 1);
    cg_value count = count_taps(g, p, r, &z, &y);

    if (p->quantized)
        return glow_cg_mean(g, p->quantized, j->out[0].type, sum->best,
                            count_elements(g, p, r), count);
    count = LLVMBuildSIToFP(g->builder, count, glow_cg_scalar(t), "");
    return cg_fdiv(g, sum->best, glow_cg_splat(g, count, glow_cg_lanes(t)));
}

static bool
meets_nan(const pool *p)
{
    return p->max && !p->quantized;
}

static void
split_carried(const pool *p, const cg_value *carried, partial *to)
{
    int each = meets_nan(p) ? 2 : 1;

    for (int r = 0; r < p->run->rows; r++)
        to[r] = (partial){carried[r * each],
                          each == 2 ? carried[r * each + 1] : NULL};
}

static int
join_carried(const pool *p, const partial *from, cg_value *carried)
{
    int n = 0;

    for (int r = 0; r < p->run->rows; r++) {
        carried[n++] = from[r].best;
        if (meets_nan(p))
            carried[n++] = from[r].nan;
    }
    return n;
}

/* The partial result of a pixel without an element. */
static partial
nothing(cg *g, const pool *p, int lanes)
{
    LLVMTypeRef bits = glow_cg_vector(g->i32, lanes);
    LLVMTypeRef sums = LLVMIntTypeInContext(g->context, (unsigned)p->bytes * 8);

    if (p->quantized && p->max)
        return (partial){
            glow_cg_splat(g, glow_cpu_lowest(g, p->quantized), lanes), NULL};
    if (p->quantized)
        return (partial){LLVMConstNull(glow_cg_vector(sums, lanes)), NULL};
    return (partial){glow_cg_real(glow_cg_vector(g->f32, lanes),
                                  p->max ? -(double)INFINITY : 0),
                     LLVMConstNull(bits)};
}

/* A tile for the channels from `c` on. */
static void
pool_channels(cpu_job *j, cg_value c, int lanes, void *user)
{
    const pool *p = user;
    cg *g = j->g;
    const cpu_window_axis *z = &p->w.axis[0], *y = &p->w.axis[1];
    cpu_taps depth = glow_cpu_taps(g, z, p->at[1], 0, z->in);
    cpu_taps lines = glow_cpu_taps(g, y, p->at[2], 0, y->in);
    partial sums[MOST_PIXELS];
    cg_value carried[2 * MOST_PIXELS];
    cg_loop k, i;
    int n;

    for (int r = 0; r < p->run->rows; r++)
        sums[r] = nothing(g, p, lanes);
    n = join_carried(p, sums, carried);
    glow_cg_loop_guarded(g, &k, depth.first, depth.last, 1, carried, n);
    glow_cg_loop_guarded(g, &i, lines.first, lines.last, 1, k.value, n);
    split_carried(p, i.value, sums);

    cg_value iz = cg_add(g, depth.base, cg_mulc(g, k.i, z->dilation));
    cg_value iy = cg_add(g, lines.base, cg_mulc(g, i.i, y->dilation));

    take_line(j, p, line_at(g, p, iz, iy, c), lanes, sums);
    join_carried(p, sums, carried);
    glow_cg_loop_end(g, &i, carried);
    glow_cg_loop_end(g, &k, i.value);
    split_carried(p, k.value, sums);

    cg_value to = cg_add(g, cg_mulc(g, p->at[0], z->out), p->at[1]);

    to = cg_add(g, cg_mulc(g, to, y->out), p->at[2]);
    to = cg_add(g, cg_mulc(g, to, p->pixels), p->x);
    if (p->joined) {
        to = cg_add(g, cg_mulc(g, to, p->pixel), c);
        glow_cg_store(g, j->out[0], to, finish(j, p, 0, &sums[0]));
        return;
    }
    for (int r = 0; r < p->run->rows; r++)
        glow_cpu_finish(j, (cpu_place){to, c, r, 0}, finish(j, p, r, &sums[r]));
}

/*
 * True if the cache does not hold the input, whose lines are then read before the hardware
 * has found that they are sequential: the taps of a tile are some lines of the cache each,
 * as far apart as pixels.
 */
static bool
is_far(const cpu_job *j, const pool *p)
{
    int64_t elements = p->w.batch * p->w.axis[0].in * p->w.axis[1].in *
                       p->w.axis[2].in * p->w.channels;

    return p->w.axis[0].kernel == 1 && !p->joined &&
           elements * glow_cg_bytes(j->in[0].type) > j->g->target->cache_bytes;
}

/*
 * Prefetches the taps of this tile in the next line of results that this line does not
 * have: as many lines of Input as the stride.
 */
static void
prefetch_below(cpu_job *j, const pool *p)
{
    cg *g = j->g;
    const cpu_window_axis *y = &p->w.axis[1], *x = &p->w.axis[2];
    int64_t size = glow_cg_bytes(j->in[0].type);
    int64_t bytes = p->run->rows * x->stride * p->pixel * size;
    cg_value below = cg_addc(g, cg_mulc(g, p->at[2], y->stride),
                             (y->kernel - 1) * y->dilation + 1 - y->start);
    cg_value at = line_at(g, p, p->at[1], below, cg_i64(g, 0));
    cg_loop lines, l;

    at = glow_cg_at(g, j->in[0].at, cg_mulc(g, at, size));
    glow_cg_for(g, &lines, y->stride);
    at = glow_cg_at(g, at, cg_mulc(g, lines.i, x->in * p->pixel * size));
    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, bytes), CPU_LINE, NULL, 0);
    glow_cg_prefetch(g, glow_cg_at(g, at, l.i), false, 2);
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &lines, NULL);
}

/*
 * True if neighbouring pixels have neighbouring taps, all inside of the input, and
 * the result is dense with nothing fused behind: a line is then computed as one
 * pixel of `out * channels` channels, where its channels alone do not fill vectors.
 * Such vectors cross rows of the result, so they bypass glow_cpu_finish.
 */
static bool
joins_pixels(const cpu_job *j, const pool *p)
{
    const cpu_window_axis *x = &p->w.axis[2];

    return p->w.channels % glow_cpu_lanes(j->g->target, p->bytes) &&
           x->stride == 1 && x->start == 0 &&
           (x->out - 1) + (x->kernel - 1) * x->dilation < x->in &&
           j->step->n_items == 0 && j->out[0].type->strides.rank == 0;
}

static void
emit_lines(cpu_job *j, pool p)
{
    cg *g = j->g;
    cpu_window_axis *x = &p.w.axis[2];
    cpu_run runs[CPU_MOST_RUNS];
    int count;
    cg_nest n;
    cg_loop l;

    p.pixel = p.w.channels;
    p.pixels = x->out;
    p.joined = joins_pixels(j, &p);
    if (p.joined) {
        p.w.channels *= x->out;
        x->out = 1;
    }
    count = glow_cpu_cut(g->arena, x, pixels_of(x), runs);
    glow_cpu_unit_nest(
        j, &n, GLOW_DIMS_OF(p.w.batch, p.w.axis[0].out, p.w.axis[1].out), 3);
    p.at = n.at;
    for (int i = 0; i < count; i++) {
        p.run = &runs[i];
        glow_cg_for(g, &l, runs[i].count);
        p.x = cg_addc(g, cg_mulc(g, l.i, runs[i].rows), runs[i].first);
        if (is_far(j, &p))
            prefetch_below(j, &p);
        glow_cpu_lanes_of(j, p.bytes, 0, p.w.channels, pool_channels, &p);
        glow_cg_loop_end(g, &l, NULL);
    }
    glow_cg_nest_end(g, &n);
}

static int64_t
lines_of(const pool *p)
{
    return p->w.batch * p->w.axis[0].out * p->w.axis[1].out;
}

static bool
takes_max(const cpu_target *t, const glow_node *n)
{
    pool p = max_of(n);

    (void)t;
    return takes(n, &p);
}

static int64_t
max_units(const cpu_target *t, const glow_node *n)
{
    pool p = max_of(n);

    (void)t;
    return lines_of(&p);
}

static void
emit_max(cpu_job *j)
{
    emit_lines(j, max_of(j->n));
}

const cpu_kernel glow_cpu_maxpool_lines = {
    .name = "maxpool_lines",
    .op = &glow_op_maxpool,
    .takes = takes_max,
    .emit = emit_max,
    .stacks = true,
    .units = max_units,
};

static bool
takes_average(const cpu_target *t, const glow_node *n)
{
    pool p = average_of(n);

    (void)t;
    return takes(n, &p);
}

static int64_t
average_units(const cpu_target *t, const glow_node *n)
{
    pool p = average_of(n);

    (void)t;
    return lines_of(&p);
}

static void
emit_average(cpu_job *j)
{
    emit_lines(j, average_of(j->n));
}

const cpu_kernel glow_cpu_avgpool_lines = {
    .name = "avgpool_lines",
    .op = &glow_op_avgpool,
    .takes = takes_average,
    .emit = emit_average,
    .stacks = true,
    .units = average_units,
};
