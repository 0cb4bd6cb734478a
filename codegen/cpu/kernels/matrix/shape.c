/*
 * Blocking for matrix registers: tiles, cuts of the depth, blocks of steps, units, and
 * the bytes of scratch and of packed weights.
 *
 * A line of the result is cut into as few tiles as cover it, of equal size.
 */

#include "codegen/cpu/kernels/matrix/matrix.h"

#define CUT 0.6 /* of the cache for split input and weights of a cut */
#define MOST_CUTS 16
#define MANY 8 /* groups for which input is worth a copy to other cache lines */
#define HELD 0.625 /* of the cache, for input that is read in place instead */
#define NEAR (1 << 16) /* bytes of two tiles' input, beyond the L1 cache */

typedef cpu_direct direct;
typedef cpu_matrix matrix;

/* True if all taps are within an axis of the input. */
static bool
is_within(int64_t in, int64_t out, int64_t kernel, int64_t stride,
          int64_t dilation, int64_t pad)
{
    return pad == 0 && (out - 1) * stride + (kernel - 1) * dilation < in;
}

static bool
is_flat(const direct *d)
{
    return d->kernel_h == 1 && d->kernel_w == 1 && d->stride_h == 1 &&
           d->stride_w == 1 && d->in_h == d->out_h && d->in_w == d->out_w;
}

/*
 * True of flat input whose pixels are an even number of cache lines apart, so that they
 * share sets of the cache, and that fills much of it: copies have blocks and cuts.
 */
static bool
is_crowded(const cpu_target *t, const matrix *m)
{
    double cache = (double)glow_cpu_matrix_cache(t);
    double pixel = (double)m->d.channels * 2;
    double held = pixel * ((double)m->d.out_w + 2 * CPU_MATRIX_COLUMNS);

    return m->flat && m->d.channels * 2 % (2 * CPU_LINE) == 0 &&
           m->d.outputs >= MANY * CPU_MATRIX_COLUMNS && held > cache * HELD;
}

/* The depth, and how it is read. */
static void
set_depth(const cpu_target *t, matrix *m, bool within)
{
    const direct *d = &m->d;
    bool beside = (d->kernel_w == 1 || d->dilation_w == 1) &&
                  d->turns != CPU_TURNS_OUTPUTS;
    int64_t row = (beside ? d->kernel_w : 1) * d->channels, chunks;
    bool few = row % 2 && row < CPU_MATRIX_DEPTH;
    bool even = d->channels * 2 % (2 * CPU_LINE) == 0;

    m->copies = !within || few || m->parts > 1 || d->groups > 1 || m->joined ||
                is_crowded(t, m);
    beside &= !(m->copies && even); /* pixels are apart then */
    m->channels = d->channels + few;
    m->taps = beside ? 1 : (int)d->kernel_w;
    m->depth = (beside ? d->kernel_w : 1) * m->channels;
    chunks = cg_ceil_div(m->depth, CPU_MATRIX_DEPTH);
    m->unit = (int)(2 * cg_ceil_div(cg_ceil_div(m->depth, chunks), 2));
    m->in_w = m->copies ? (d->out_w - 1) * d->stride_w +
                              (d->kernel_w - 1) * d->dilation_w + 1
                        : d->in_w;
}

static int64_t
smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * Pixels of a line that is joined with others: these have the padding in common that is
 * both on its right and on the left of the next.
 */
static int64_t
joined_pixels(const matrix *m)
{
    const direct *d = &m->d;
    int64_t reach = (d->kernel_w - 1) * d->dilation_w, all = m->out_w + reach;
    int64_t right = all - d->pad_w - cg_ceil_div(d->in_w, m->copy_w);
    int64_t shared = smaller(smaller(d->pad_w, right), reach);

    return all - (shared > 0 ? shared : 0);
}

/*
 * Lines of input, as they are read.  Copied pixels are an odd number of cache lines
 * apart: rows of a tile that are an even number apart share the cache's sets and
 * banks.
 */
static void
set_lines(matrix *m)
{
    m->pixel = m->channels * 2;
    if (m->copies && m->pixel % (2 * CPU_LINE) == 0)
        m->pixel += CPU_LINE;
    if (m->flat && m->copies)
        m->in_w = m->rows;
    if (m->joined)
        m->in_w = joined_pixels(m);
    m->part = m->in_w * m->pixel;
    m->line = m->part * m->parts;
}

/*
 * The same convolution over the lines as they are read, for glow_cpu_lines_of
 * and glow_cpu_is_by_channels.
 */
static direct
as_direct(const matrix *m)
{
    direct d = m->d;

    d.form.numbers = m->parts > 1 ? CPU_FLOATS : CPU_NARROW;
    d.pixel = m->pixel * m->parts;
    d.in_w = m->in_w;
    d.out_h = m->steps;
    if (m->tiles > m->step) {
        d.in_w = m->rows;
        d.stride_h = 1;
    }
    return d;
}

/*
 * Steps whose input the cache holds beside two groups of weights, while a thread goes
 * through all groups; all of them if reading the weights again for each block of so
 * many takes longer than reading the input again for each group.
 */
static int64_t
most_steps(const cpu_target *t, const matrix *m)
{
    double group = (double)glow_cpu_matrix_bytes(m, 0);
    double step = (double)m->line * (m->flat ? 1 : (double)m->d.stride_h);
    double all = step * (double)m->steps;
    double cache = (double)glow_cpu_matrix_cache(t);
    double room = cache * 7 / 8 - 2 * group;
    int64_t most = room > 2 * step ? (int64_t)(room / step) / 2 * 2 : 2;

    if (most >= m->steps || group * (double)m->groups * 2 < cache ||
        all + 2 * group < cache * 5 / 4 ||
        (double)(cg_ceil_div(m->steps, most) - 1) * group >= all)
        return m->steps;
    return most;
}

/* Bytes of input that all taps of a pair of tiles read. */
static int64_t
pair_input(const matrix *m)
{
    int64_t pixels = 2 * m->rows * m->d.stride_w * m->d.kernel_h;

    return pixels * m->pixel * m->parts;
}

bool
glow_cpu_matrix_holds_group(const cpu_target *t, const matrix *m)
{
    return glow_cpu_matrix_bytes(m, 0) + pair_input(m) <=
           glow_cpu_matrix_cache(t);
}

/* Bytes of the input of a block, as it is read, of a cut. */
static double
block_input(const matrix *m)
{
    int64_t step = m->flat ? m->rows * m->pixel * m->parts : m->line;

    return (double)step * (double)glow_cpu_matrix_copied(m);
}

double
glow_cpu_matrix_input_again(const cpu_target *t, const matrix *m)
{
    double input = block_input(m);
    double held = input + 2 * (double)glow_cpu_matrix_bytes(m, 0);
    double blocks = (double)cg_ceil_div(m->steps, m->block);

    if (held <= (double)glow_cpu_matrix_cache(t) || m->by_groups)
        return 0;
    return input * blocks * m->cuts * (double)(m->groups - 1);
}

/*
 * Sets the lines of a block: half of them, a quarter and so on, if the cache then holds
 * its input and that takes fewer cycles, in spite of the weights that are read again.
 */
static void
fit_block(const cpu_target *t, matrix *m)
{
    double least = glow_cpu_matrix_cycles(t, m);
    matrix part = *m;

    if (glow_cpu_matrix_input_again(t, m) <= 0)
        return;
    while (part.block > 2) {
        int64_t half = cg_ceil_div(part.block, 4) * 2;
        double cycles;

        part.block = half < part.block ? half : 2;
        cycles = glow_cpu_matrix_cycles(t, &part);
        if (cycles >= least)
            continue;
        least = cycles;
        m->block = part.block;
    }
}

static void
set_blocks(const cpu_target *t, matrix *m)
{
    direct d = as_direct(m);
    cpu_shape s = {.lanes = CPU_MATRIX_COLUMNS,
                   .blocks = 1,
                   .full = m->groups,
                   .last = CPU_MATRIX_COLUMNS};
    int64_t least = m->copies || m->flat ? 8 * d.kernel_h : 2;
    bool is_set = glow_cpu_knob(t, CPU_KNOB_LINES, 0) != 0;

    m->block = glow_cpu_lines_of(t, &d, &s);
    if (m->block < least && !is_set)
        m->block = least;
    if (m->copies && m->flat && !is_set)
        m->block = most_steps(t, m) < m->block ? most_steps(t, m) : m->block;
    if (m->block > m->steps || !d.packed || (m->joined && !is_set) ||
        (m->cuts > 1 && (m->flat || !is_set)))
        m->block = m->steps;
    if (m->copies && !m->flat && !m->joined && d.packed && !is_set)
        fit_block(t, m);
    m->by_channels = !d.packed || glow_cpu_is_by_channels(t, &d, &s);
}

/* Cuts the depth in `cuts`; false if its units are no multiple of them. */
static bool
cut(const cpu_target *t, matrix *m, int cuts)
{
    if (m->depth / m->unit % cuts)
        return false;
    m->cuts = cuts;
    m->channels /= cuts;
    m->depth /= cuts;
    set_lines(m);
    set_blocks(t, m);
    return true;
}

/*
 * Cuts the depth of products where the cache holds neither the weights nor the split
 * input beside two groups of them: then it does for a cut, and everything is read from
 * memory once.
 */
static void
cut_product(const cpu_target *t, matrix *m)
{
    int64_t units = m->depth / m->unit, cache = glow_cpu_matrix_cache(t);
    double group = (double)glow_cpu_matrix_bytes(m, 0);
    double needed = (double)m->line * (double)m->steps + 2 * group;
    int cuts = 1;

    if (group * (double)m->groups * 2 <= (double)cache)
        return;
    while (cuts < MOST_CUTS &&
           (units % cuts || needed / cuts > CUT * (double)cache))
        cuts++;
    cut(t, m, cuts);
}

/*
 * Cuts the depth of windows where the cache does not hold one group of weights, so that it
 * does for a cut, in as many as take the fewest cycles: more let the cache hold the input
 * of more lines, and move more sums.
 */
static void
cut_window(const cpu_target *t, matrix *m)
{
    double least = glow_cpu_matrix_cycles(t, m);
    const matrix whole = *m;

    if (glow_cpu_matrix_holds_group(t, m))
        return;
    for (int cuts = 2; cuts <= MOST_CUTS; cuts++) {
        matrix part = whole;
        double cycles;

        if (!cut(t, &part, cuts))
            continue;
        cycles = glow_cpu_matrix_cycles(t, &part);
        if (cycles >= least)
            continue;
        least = cycles;
        *m = part;
    }
}

/* True if the depth of `m` may be cut, along the channels of copied pixels. */
static bool
may_cut(const matrix *m)
{
    return m->copies && m->d.packed && !m->d.turns && m->groups > 1 &&
           m->d.groups == 1 && m->depth % m->unit == 0 &&
           m->depth == m->d.channels;
}

/* bfloat16, or float or float16 that may be computed by parts. */
static bool
has_numbers(const cpu_target *t, const direct *d)
{
    glow_kind kind = d->type->elem;

    return kind == GLOW_BFLOAT16 ||
           ((kind == GLOW_FLOAT || kind == GLOW_FLOAT16) && !d->turns &&
            t->parts != GLOW_PARTS_OFF &&
            d->pixel == d->groups * d->channels * glow_cg_bytes(d->type));
}

static int
parts_of(const cpu_target *t, const direct *d)
{
    if (d->type->elem == GLOW_BFLOAT16)
        return 1;
    return d->type->elem == GLOW_FLOAT && t->parts == GLOW_PARTS_SIX ? 3 : 2;
}

/* False of groups that could not be copied, one by one, to dense lines. */
static bool
has_groups(const direct *d)
{
    return d->groups == 1 ||
           (d->groups > 1 && d->packed && !d->turns && !d->w_batch &&
            d->channels % 2 == 0 &&
            d->pixel == d->groups * d->channels * glow_cg_bytes(d->type));
}

int64_t
glow_cpu_matrix_all_bytes(const matrix *m)
{
    return m->d.groups * m->cuts * glow_cpu_matrix_cut_bytes(m);
}

bool
glow_cpu_matrix_is_far(const cpu_target *t, const matrix *m)
{
    return (double)glow_cpu_matrix_all_bytes(m) >
           (double)glow_cpu_matrix_cache(t) / 2;
}

/* Blocks `m`, whose convolution is set; false if its input cannot be read so. */
static bool
block(const cpu_target *t, matrix *m, bool within)
{
    const direct *d = &m->d;

    set_depth(t, m, within);
    if (m->channels != d->channels &&
        (!d->packed || d->turns || (m->flat && m->parts == 1)))
        return false;
    m->tiles = cg_ceil_div(m->d.out_w, CPU_MATRIX_ROWS);
    m->rows = (int)cg_ceil_div(m->d.out_w, m->tiles);
    m->tiles = cg_ceil_div(m->d.out_w, m->rows);
    m->step = m->flat || m->joined ? 1 : m->tiles;
    m->steps = m->flat || m->joined ? m->tiles : m->d.out_h;
    m->groups = cg_ceil_div(d->outputs, CPU_MATRIX_COLUMNS);
    set_lines(m);
    set_blocks(t, m);
    if (may_cut(m)) {
        if (m->flat)
            cut_product(t, m);
        else
            cut_window(t, m);
    }
    return true;
}

/*
 * Joins the lines of an image if these are fewer tiles then and that takes no more cycles,
 * of kernels that move by one pixel, or read one.
 */
static void
join(const cpu_target *t, matrix *m)
{
    const direct *d = &m->d;
    bool one = d->kernel_h * d->kernel_w == 1 && !d->pad_h && !d->pad_w;
    matrix all = *m;

    if (m->flat || m->parts > 1 || m->d.turns || !m->d.packed || m->out_h < 2 ||
        m->channels != d->channels ||
        (!one && (d->stride_h != 1 || d->stride_w != 1)))
        return;
    all.joined = true;
    all.cuts = 1;
    all.copy_h = d->stride_h;
    all.copy_w = d->stride_w;
    all.d.stride_h = all.d.stride_w = 1;
    all.d.out_w = (m->out_h - 1) * joined_pixels(&all) + m->out_w;
    all.d.out_h = 1;
    if (block(t, &all, false) && all.steps * all.step < m->steps * m->step &&
        glow_cpu_matrix_cycles(t, &all) <= glow_cpu_matrix_cycles(t, m))
        *m = all;
}

bool
glow_cpu_matrix_of(const cpu_target *t, const direct *from, matrix *m)
{
    const direct *d = from;
    bool flat = is_flat(d) && !d->pad_h && !d->pad_w;
    bool within = is_within(d->in_h, d->out_h, d->kernel_h, d->stride_h,
                            d->dilation_h, d->pad_h) &&
                  is_within(d->in_w, d->out_w, d->kernel_w, d->stride_w,
                            d->dilation_w, d->pad_w);

    if (!t->matrix || !has_numbers(t, d) || !has_groups(d) || d->pad_h < 0 ||
        d->pad_w < 0 || d->channels < 2 || d->outputs < 1 ||
        d->batch * d->out_h * d->out_w < 1 || d->kernel_h * d->kernel_w < 1)
        return false;
    *m = (matrix){.d = *d,
                  .flat = flat,
                  .cuts = 1,
                  .copy_h = 1,
                  .copy_w = 1,
                  .out_h = d->out_h,
                  .out_w = d->out_w,
                  .parts = parts_of(t, d)};
    if (flat) {
        m->d.out_w = d->in_h * d->in_w * (d->w_batch ? 1 : d->batch);
        m->d.in_w = m->d.out_w;
        m->d.in_h = m->d.out_h = 1;
        m->d.batch = d->w_batch ? d->batch : 1;
    }
    if (!block(t, m, within))
        return false;
    join(t, m);
    m->taps_within = !m->d.turns && pair_input(m) > NEAR;
    m->by_groups = m->d.turns && m->d.batch > 1 && glow_cpu_matrix_is_far(t, m);
    if (m->by_groups)
        m->block = m->steps;
    return true;
}

int64_t
glow_cpu_matrix_chunks(const matrix *m)
{
    return m->d.kernel_h * m->taps * cg_ceil_div(m->depth, m->unit);
}

int64_t
glow_cpu_matrix_last(const matrix *m, int64_t *done)
{
    int64_t whole = m->depth / m->unit * m->unit;

    *done = whole < m->depth ? whole - (m->depth - m->unit) : 0;
    return m->depth - m->unit;
}

int
glow_cpu_matrix_beside(const matrix *m, int64_t group)
{
    return m->d.outputs - group * CPU_MATRIX_COLUMNS > CPU_MATRIX_LANES ? 2 : 1;
}

int64_t
glow_cpu_matrix_cache(const cpu_target *t)
{
    if (t->bfmmla)
        return t->cache_bytes;
    return 2 * t->cache_bytes; /* other kernels count on half of it */
}

int64_t
glow_cpu_matrix_bytes(const matrix *m, int64_t group)
{
    return glow_cpu_matrix_chunks(m) * m->unit * CPU_MATRIX_LANES * 2 *
           m->parts * glow_cpu_matrix_beside(m, group);
}

int64_t
glow_cpu_matrix_cut_bytes(const matrix *m)
{
    return (m->groups - 1) * glow_cpu_matrix_bytes(m, 0) +
           glow_cpu_matrix_bytes(m, m->groups - 1);
}

int64_t
glow_cpu_matrix_sums(const matrix *m)
{
    int64_t pairs = m->groups * cg_ceil_div(m->block * m->step, 2);

    if (m->cuts == 1)
        return 0;
    return pairs > INT64_MAX / CPU_MATRIX_PAIR ? INT64_MAX
                                               : pairs * CPU_MATRIX_PAIR;
}

int64_t
glow_cpu_matrix_size(const cpu_target *t, const direct *d)
{
    matrix m;

    if (!glow_cpu_matrix_of(t, d, &m))
        return 0;
    return glow_cpu_matrix_all_bytes(&m) + (m.parts > 1 ? CPU_LINE : 0);
}

/* Lines that the tiles of a block touch at most. */
static int64_t
joined_lines(const matrix *m)
{
    int64_t lines = m->block * m->rows / m->in_w + 2;

    return smaller(lines, m->out_h);
}

/*
 * Lines of a block that are copied, at most; of joined ones one more, whose first pixels
 * are the padding of the last.
 */
int64_t
glow_cpu_matrix_copied(const matrix *m)
{
    if (m->flat)
        return m->block;
    if (m->joined)
        return joined_lines(m) + (m->d.kernel_h - 1) * m->d.dilation_h + 1;
    return (m->block - 1) * m->d.stride_h +
           (m->d.kernel_h - 1) * m->d.dilation_h + 1;
}

int64_t
glow_cpu_matrix_input_room(const matrix *m)
{
    int64_t lines = glow_cpu_matrix_copied(m);
    int64_t line = m->line + (m->parts > 1 ? 4 : 0);

    if (!m->copies)
        return 0;
    return lines > (INT64_MAX - CPU_LINE) / 2 / line
               ? INT64_MAX
               : glow_cpu_aligned(lines * line);
}

int64_t
glow_cpu_matrix_room(const cpu_target *t, const direct *d)
{
    int64_t panel, input, sums;
    matrix m;

    if (!glow_cpu_matrix_of(t, d, &m))
        return 0;
    panel =
        d->packed ? glow_cpu_matrix_turned(&m) : glow_cpu_matrix_bytes(&m, 0);
    input = glow_cpu_matrix_input_room(&m);
    sums = glow_cpu_matrix_sums(&m);
    if (input > INT64_MAX - panel || sums > INT64_MAX - panel - input)
        return INT64_MAX;
    return panel + input + sums;
}

int64_t
glow_cpu_matrix_units(const cpu_target *t, const direct *d)
{
    matrix m;

    if (!glow_cpu_matrix_of(t, d, &m))
        return 1;
    if (m.by_groups)
        return m.groups;
    return m.d.batch * m.d.groups * (m.by_channels ? m.groups : m.steps);
}
