/*
 * Cost model of the register tiles for each blocking, and the choices of
 * blocking for tuning.
 *
 * Costs are cycles.  A tile multiplies all its rows by all its vectors at each
 * step of the depth; the time of a step is at least that of its loads, and the
 * latency of an addition to a sum.  The start of a tile and the stores of its
 * sums are added.  Weights are read from the cache again for each block of
 * lines, and from memory once: while multiplying if they are prefetched, else
 * before.  Input is read from the cache for every group of channels, if a block
 * of it fits.
 */

#include <math.h>

#include "codegen/cpu/kernels/direct/shape.h"

#define LATENCY 4.0  /* of a multiplication */
#define LOADS 2.0    /* of vectors, in a cycle */
#define BEGIN 10.0   /* of a tile */
#define NEXT 1.5     /* of a chunk */
#define CACHE 40.0   /* bytes in a cycle from the core's cache */
#define FAR 10.0     /* bytes in a cycle from beyond it */
#define MOST_UNIT 16 /* greatest unrolled depth that tuning tries */
#define WAYS 8       /* ways of the L1 cache: rows at one page offset */

typedef cpu_direct direct;
typedef cpu_shape shape;

static double
larger(double a, double b)
{
    return a > b ? a : b;
}

/* Share of taps, over all results of an axis, that are within the input. */
static double
valid_part(int64_t in, int64_t out, int64_t kernel, int64_t stride,
           int64_t dilation, int64_t pad)
{
    int64_t taps = 0;

    for (int64_t j = 0; j < kernel; j++) {
        int64_t at = j * dilation - pad, end = in - at;
        int64_t first = at < 0 ? cg_ceil_div(-at, stride) : 0;

        end = end > 0 ? cg_ceil_div(end, stride) : 0;
        end = end < out ? end : out;
        taps += end > first ? end - first : 0;
    }
    return kernel && out ? (double)taps / (double)(kernel * out) : 0;
}

/* One step of the depth of a tile. */
static double
step_cycles(const cpu_target *t, const direct *d, double rows, double blocks)
{
    double step =
        larger(rows * blocks / t->multiplies, (rows + blocks) / LOADS);
    double over = rows * blocks + blocks + 1 - t->registers;

    if (over > 0)
        step += 2 * over;
    if (d->pixel * d->stride_w % 4096 == 0 && rows > WAYS)
        step *= 1.5;
    return larger(step, LATENCY);
}

/* Bytes of weights that a tile of `blocks` vectors reads in a cycle, from where they are. */
static double
weights_rate(const cpu_target *t, const direct *d, const shape *s, int blocks)
{
    int64_t bytes = glow_cpu_group_bytes(d, s, blocks);

    if (d->flat.cut)
        bytes = bytes / d->channels * d->flat.cut;
    if (bytes <= CPU_NEAR_BYTES)
        return INFINITY;
    return bytes <= 2 * t->cache_bytes ? CACHE : FAR;
}

/* A line of `blocks` vectors, of which a sum takes `depth` steps. */
static double
line_cycles(const cpu_target *t, const direct *d, const shape *s, int blocks,
            double depth)
{
    int64_t rest = d->out_w % s->rows;
    double chunks = (double)(d->kernel_h * cg_ceil_div(d->channels, s->unit));
    double begin = BEGIN + NEXT * chunks, cycles;
    double steps = depth;

    cycles = step_cycles(t, d, s->rows, blocks) * steps;
    cycles = larger(cycles, steps * blocks * s->lanes * 4 /
                                weights_rate(t, d, s, blocks));
    cycles = (cycles + begin + s->rows * blocks) * (double)(d->out_w / s->rows);
    if (rest)
        cycles += step_cycles(t, d, (double)rest, blocks) * steps + begin +
                  (double)(rest * blocks);
    return cycles;
}

/*
 * Cycles with the reads of weights, from beyond the L1 cache, and of input;
 * `multiplying` are the cycles without.
 */
static double
memory_cycles(const cpu_target *t, const direct *d, const shape *s,
              double multiplying)
{
    double weights = (double)glow_cpu_packed_bytes(d, s);
    double blocks = (double)cg_ceil_div(d->out_h, s->lines);
    double images = (double)d->batch * (d->w_batch ? 1 : blocks);
    double input = (double)(s->lines * d->stride_h + d->kernel_h - 1) *
                   (double)(d->in_w * d->pixel);
    double groups = (double)glow_cpu_channel_groups(s);
    double reading = weights / t->memory_bytes, cycles = multiplying;
    bool ahead = glow_cpu_knob(t, CPU_KNOB_AHEAD, 12) > 0;

    if (glow_cpu_is_by_groups(t, d)) {
        input = (double)(glow_cpu_pixels_in(d) * d->pixel * d->batch);
        return cycles + reading +
               (input > (double)t->cache_bytes / 2 ? input * (groups - 1) / FAR
                                                   : 0);
    }
    if (weights > (double)t->cache_bytes / 2)
        reading += weights * (images - 1) / FAR;
    else
        ahead = false;
    cycles = ahead ? larger(cycles, reading) : cycles + reading;
    if (!d->flat.cut && input > (double)t->cache_bytes / 2)
        cycles += input * blocks * (double)d->batch * (groups - 1) / FAR;
    return cycles;
}

double
glow_cpu_direct_cycles(const cpu_target *t, const direct *from)
{
    direct d = glow_cpu_flattened(t, *from);
    shape s = glow_cpu_direct_shape(t, &d);
    double lines = (double)(d.batch * d.groups * glow_cpu_pixels_out(&d)) /
                   (double)d.out_w;
    double cycles, depth;

    s.lines = glow_cpu_lines_of(t, &d, &s);
    depth = (double)(d.kernel_h * d.kernel_w * d.channels) *
            valid_part(d.in_h, d.out_h, d.kernel_h, d.stride_h, d.dilation_h,
                       d.pad_h) *
            valid_part(d.in_w, d.out_w, d.kernel_w, d.stride_w, d.dilation_w,
                       d.pad_w);
    cycles = (double)s.full * line_cycles(t, &d, &s, s.blocks, depth);
    if (s.rest)
        cycles += line_cycles(t, &d, &s, s.rest, depth);
    return memory_cycles(t, &d, &s, cycles * lines);
}

/* Choices. */

typedef struct lister {
    const cpu_target *target;
    const direct *d;
    cpu_choices *to;
    cpu_choice best;
} lister;

static void
add(lister *l, cpu_choice c)
{
    cpu_target u = *l->target;

    u.choice = &c;
    if (glow_cpu_direct_code(&u, l->d) > CPU_MOST_CODE)
        return;
    c.cycles = glow_cpu_direct_cycles(&u, l->d);
    if (c.cycles < l->best.cycles)
        l->best = c;
    glow_cpu_add_choice(l->to, c);
}

/* Adds `c` with `knob` set to `value`. */
static void
vary(lister *l, cpu_choice c, cpu_knob knob, int64_t value)
{
    c.value[knob] = value;
    add(l, c);
}

/* Adds tiles whose sums fit the registers. */
static void
add_tiles(lister *l, const cpu_choice *free)
{
    static const int vectors[] = {1, 2, 3, 4, 6, 8};
    int registers = l->target->registers;

    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (int rows = 1; (rows + 1) * vectors[i] < registers; rows++) {
            cpu_choice c = *free;

            c.value[CPU_KNOB_VECTORS] = vectors[i];
            c.value[CPU_KNOB_ROWS] = rows;
            if (rows <= l->d->out_w * l->d->out_h)
                add(l, c);
        }
}

/*
 * Varies the tile with all other knobs free; then, for the best tile, one other
 * knob at a time.
 */
void
glow_cpu_direct_choices(const cpu_target *t, const direct *d,
                        const cpu_kernel *kernel, cpu_choices *to)
{
    cpu_choice free = glow_cpu_free_choice(kernel), c;
    lister l = {.target = t, .d = d, .to = to, .best = {.cycles = INFINITY}};

    add(&l, free);
    add_tiles(&l, &free);
    c = l.best;
    if (!c.kernel)
        return;
    vary(&l, c, CPU_KNOB_AHEAD, 0);
    for (int64_t unit = 1; unit <= MOST_UNIT; unit *= 2)
        vary(&l, c, CPU_KNOB_UNIT, unit);
    for (int64_t lines = 1; lines / 4 < d->out_h; lines *= 4)
        vary(&l, c, CPU_KNOB_LINES, lines);
}
