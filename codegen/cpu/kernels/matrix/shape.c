/*
 * Blocking for matrix registers, its cost model, and the packing of constant
 * weights.
 *
 * A line of the result is cut into as few tiles as cover it, of equal size.
 * Weights are packed in the order in which they are read: for each group of
 * channels, row of taps, tap and unit of the depth one or two matrices, whose
 * rows are a pair of the depth for each channel.
 *
 * Cycles are measured: a multiplication takes one for each row, but eight at
 * least, and its operands take about as long to load (Sapphire Rapids).  Those of BFMMLA
 * are counts of instructions, which no processor has been asked about.
 */

#include <math.h>
#include <string.h>

#include "codegen/cpu/kernels/matrix/matrix.h"

#define FAR 10.0    /* bytes in a cycle from beyond the core's cache */
#define COPIED 12.0 /* bytes in a cycle of lines that are copied */
#define APART 3.0   /* cycles of a pixel of a group */
#define TURNED 4.0  /* bytes in a cycle of filters packed at run time */
#define VECTOR 4.0  /* cycles of a vector of results */
#define BEGIN 80.0  /* of a pair of tiles */
#define CALL 300.0  /* of the kernel */
#define LOADS 2.0   /* of vectors in a cycle, of AArch64 */
#define WORTH 0.9   /* of the time of vectors */
#define CUT 0.6     /* of the cache for split input and weights of a cut */
#define MOST_CUTS 16
#define MANY 8 /* groups for which input is worth a copy to other cache lines */

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

/* The depth, and how it is read. */
static void
set_depth(matrix *m, bool within)
{
    const direct *d = &m->d;
    bool beside = (d->kernel_w == 1 || d->dilation_w == 1) &&
                  d->turns != CPU_TURNS_OUTPUTS;
    int64_t row = (beside ? d->kernel_w : 1) * d->channels, chunks;
    bool few = row % 2 && row < CPU_MATRIX_DEPTH;
    bool even = d->channels * 2 % (2 * CPU_LINE) == 0;

    m->copies = !within || few || m->parts > 1 || d->groups > 1 ||
                (even && m->flat && d->outputs >= MANY * CPU_MATRIX_COLUMNS);
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

/* True if the cache holds the weights of a group beside the input of two tiles. */
static bool
holds_group(const cpu_target *t, const matrix *m)
{
    int64_t pixels = 2 * m->rows * m->d.stride_w * m->d.kernel_h;

    return glow_cpu_matrix_bytes(m, 0) + pixels * m->pixel * m->parts <=
           glow_cpu_matrix_cache(t);
}

/*
 * Cuts the depth of products where the cache holds neither the weights nor the split
 * input beside two groups of them, and of windows where it does not hold one group: then
 * it does for a cut, and everything is read from memory once.
 */
static void
set_cuts(const cpu_target *t, matrix *m)
{
    int64_t units = m->depth / m->unit, cache = glow_cpu_matrix_cache(t);
    int64_t lines = m->flat ? m->steps : m->d.kernel_h;
    double group = (double)glow_cpu_matrix_bytes(m, 0);
    double needed = (double)m->line * (double)lines + 2 * group;
    int cuts = 1;

    if ((m->flat ? group * (double)m->groups * 2 <= (double)cache
                 : holds_group(t, m)) ||
        !m->copies || !m->d.packed || m->d.turns || m->groups < 2 ||
        m->d.groups > 1 || m->depth % m->unit || m->depth != m->d.channels)
        return;
    while (cuts < MOST_CUTS &&
           (units % cuts || needed / cuts > CUT * (double)cache))
        cuts++;
    if (units % cuts)
        return;
    m->cuts = cuts;
    m->channels /= cuts;
    m->depth /= cuts;
}

static void
set_blocks(const cpu_target *t, matrix *m)
{
    direct d = as_direct(m);
    cpu_shape s = {.lanes = CPU_MATRIX_COLUMNS,
                   .blocks = 1,
                   .full = m->groups,
                   .last = CPU_MATRIX_COLUMNS};
    int64_t least = m->copies ? 8 * d.kernel_h : 2;

    m->block = glow_cpu_lines_of(t, &d, &s);
    if (m->block < least && glow_cpu_knob(t, CPU_KNOB_LINES, 0) == 0)
        m->block = least;
    if (m->copies && m->flat && glow_cpu_knob(t, CPU_KNOB_LINES, 0) == 0)
        m->block = most_steps(t, m) < m->block ? most_steps(t, m) : m->block;
    if (m->block > m->steps || !d.packed || m->cuts > 1)
        m->block = m->steps;
    m->by_channels = !d.packed || glow_cpu_is_by_channels(t, &d, &s);
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

static int64_t
all_bytes(const matrix *m)
{
    return m->d.groups * m->cuts * glow_cpu_matrix_cut_bytes(m);
}

/* True if no cache keeps the weights: they are read again, and prefetched. */
static bool
is_far(const cpu_target *t, const matrix *m)
{
    return (double)all_bytes(m) > (double)glow_cpu_matrix_cache(t) / 2;
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
                  .out_h = d->out_h,
                  .out_w = d->out_w,
                  .parts = parts_of(t, d)};
    if (flat) {
        m->d.out_w = d->in_h * d->in_w * (d->w_batch ? 1 : d->batch);
        m->d.in_w = m->d.out_w;
        m->d.in_h = m->d.out_h = 1;
        m->d.batch = d->w_batch ? d->batch : 1;
    }
    set_depth(m, within);
    if (m->channels != d->channels &&
        (!d->packed || d->turns || (flat && m->parts == 1)))
        return false;
    m->tiles = cg_ceil_div(m->d.out_w, CPU_MATRIX_ROWS);
    m->rows = (int)cg_ceil_div(m->d.out_w, m->tiles);
    m->tiles = cg_ceil_div(m->d.out_w, m->rows);
    m->step = flat ? 1 : m->tiles;
    m->steps = flat ? m->tiles : m->d.out_h;
    m->groups = cg_ceil_div(d->outputs, CPU_MATRIX_COLUMNS);
    set_lines(m);
    set_cuts(t, m);
    set_lines(m);
    set_blocks(t, m);
    m->by_groups = m->d.turns && m->d.batch > 1 && is_far(t, m);
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
    return all_bytes(&m) + (m.parts > 1 ? CPU_LINE : 0);
}

/* Lines of a block that are copied, at most. */
int64_t
glow_cpu_matrix_copied(const matrix *m)
{
    if (m->flat)
        return m->block;
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

/* Cycles. */

/*
 * One unit of the depth of a pair of tiles by BFMMLA, by its instructions (bfmmla.c): two
 * in three of those on vectors multiply, and the others make vectors of the operands.  They
 * take as long as the loads at least, with those of sums for each product of tiles.
 */
static double
bfmmla_cycles(const cpu_target *t, const matrix *m, int beside)
{
    double squares = (double)(cg_ceil_div(m->rows, 2) * CPU_MATRIX_LANES / 2);
    double steps = (double)cg_ceil_div(m->unit, 4);
    double products = m->parts * (m->parts + 1) / 2.0;
    double vectors = 1.5 * squares * steps / t->multiplies;
    double loads = (0.75 * squares * steps + 2 * squares) / LOADS;

    return 2 * beside * products * (vectors > loads ? vectors : loads);
}

/* One unit of the depth of a pair of tiles. */
static double
unit_cycles(const cpu_target *t, const matrix *m, int beside)
{
    double rows = m->rows;

    if (t->bfmmla)
        return bfmmla_cycles(t, m, beside);
    if (m->parts == 3) /* six products */
        return beside == 2 ? 294 + 6 * rows : 147 + 3 * rows;
    if (m->parts == 2) /* three products, twice the loads */
        return beside == 2 ? 150 + 3 * rows : 80 + 1.5 * rows;
    return beside == 2 ? 56 + rows : 36 + rows / 2;
}

/* Results of all tiles, of all channels. */
static double
result_cycles(const cpu_target *t, const matrix *m)
{
    double vectors = (double)cg_ceil_div(m->d.outputs, t->vector_bytes / 4);

    return VECTOR * vectors * (double)(m->d.out_h * m->d.out_w);
}

/* Of the lines of an image, or of a group of it, whose pixels are apart. */
static double
copy_cycles(const matrix *m)
{
    double lines =
        (double)(cg_ceil_div(m->steps, m->block) * glow_cpu_matrix_copied(m));
    double line = (double)(m->line * m->parts) / COPIED;

    if (m->d.groups > 1)
        line += APART * (double)m->in_w;
    return lines * line;
}

/*
 * Of weights that each pair of tiles reads from beyond the cache, because it does not
 * hold those of a group, and of sums that wait there between two cuts.
 */
static double
far_cycles(const cpu_target *t, const matrix *m, double pairs)
{
    double again = holds_group(t, m) ? 0 : pairs - 1;
    double weights = (double)glow_cpu_matrix_cut_bytes(m) * m->cuts;

    return (weights * again +
            2 * (m->cuts - 1) * (double)glow_cpu_matrix_sums(m)) /
           FAR;
}

double
glow_cpu_matrix_cycles(const cpu_target *t, const matrix *m)
{
    double pairs = (double)cg_ceil_div(m->steps * m->step, 2);
    double chunks = (double)glow_cpu_matrix_chunks(m), cycles, reading;
    double images = (double)(m->d.batch * m->d.groups);
    double weights = (double)all_bytes(m);
    double blocks = (double)cg_ceil_div(m->steps, m->block) *
                    (m->d.w_batch ? 1 : (double)m->d.batch);
    int last = glow_cpu_matrix_beside(m, m->groups - 1);

    cycles = (double)(m->groups - 1) * (BEGIN + chunks * unit_cycles(t, m, 2));
    cycles += BEGIN + chunks * unit_cycles(t, m, last);
    cycles = images * (m->cuts * cycles * pairs + result_cycles(t, m) +
                       far_cycles(t, m, pairs));
    if (m->copies)
        cycles += images * m->cuts * (m->by_groups ? (double)m->groups : 1) *
                  copy_cycles(m);
    if (!m->d.packed)
        cycles += images * weights / COPIED;
    if (m->d.turns)
        cycles += weights / TURNED;
    reading =
        images * (m->d.w_batch ? weights : weights / images) / t->memory_bytes;
    if (!is_far(t, m) || m->by_groups)
        return CALL + cycles + reading;
    reading += weights * (blocks - 1) / FAR;
    return CALL + (cycles > reading ? cycles : reading);
}

double
glow_cpu_matrix_speed(const cpu_target *t, const direct *d)
{
    matrix m;
    double speed = 1;

    if (glow_cpu_matrix_of(t, d, &m))
        speed = glow_cpu_direct_cycles(t, d) / glow_cpu_matrix_cycles(t, &m);
    return speed > 1 ? speed : 1;
}

bool
glow_cpu_pays_matrix(const cpu_target *t, const glow_type *type, double cycles,
                     double vectors)
{
    return (type->elem != GLOW_BFLOAT16 && t->parts == GLOW_PARTS_ON) ||
           cycles < WORTH * vectors;
}

bool
glow_cpu_prefers_matrix(const cpu_target *t, const direct *d, double cycles)
{
    matrix m;

    return glow_cpu_matrix_of(t, d, &m) &&
           glow_cpu_pays_matrix(t, d->type, glow_cpu_matrix_cycles(t, &m),
                                cycles);
}

bool
glow_cpu_takes_matrix(const cpu_target *t, const direct *d)
{
    matrix m;

    if (!glow_cpu_matrix_of(t, d, &m))
        return false;
    return t->choice || glow_cpu_direct_code(t, d) > CPU_MOST_CODE ||
           glow_cpu_prefers_matrix(t, d, glow_cpu_direct_cycles(t, d));
}

void
glow_cpu_matrix_remark(const cpu_target *t, const direct *d, bool taken,
                       glow_buf *b)
{
    cpu_target u = *t;
    matrix m;
    bool pays;

    if (d->type->elem != GLOW_FLOAT)
        return;
    if (taken)
        glow_buf_puts(b, t->parts == GLOW_PARTS_SIX
                             ? "six products of bfloat16 parts, with errors as "
                               "of vectors"
                             : "three products of bfloat16 parts, with errors "
                               "of at most 1e-5 of the largest result");
    if (t->parts != GLOW_PARTS_SIX)
        u.parts = GLOW_PARTS_AUTO;
    u.matrix = t->has_amx || t->bfmmla;
    if (taken || t->choice || !u.matrix || !glow_cpu_matrix_of(&u, d, &m))
        return;
    pays = glow_cpu_takes_matrix(&u, d);
    if (pays && t->exact)
        glow_buf_puts(b, "-exact does without parts");
    else if (pays && t->parts == GLOW_PARTS_OFF)
        glow_buf_puts(b, "parts=off does without parts");
    else if (!pays && t->matrix && t->parts == u.parts)
        glow_buf_printf(b,
                        "products of parts take %.3g cycles, vectors %.3g, and "
                        "parts are to take at most %g of these",
                        glow_cpu_matrix_cycles(&u, &m),
                        glow_cpu_direct_cycles(&u, d), WORTH);
}

void
glow_cpu_matrix_choices(const cpu_target *t, const direct *d,
                        const cpu_kernel *kernel, cpu_choices *to)
{
    cpu_choice c = glow_cpu_free_choice(kernel);
    cpu_target u = *t;
    matrix m;

    u.choice = &c;
    if (!glow_cpu_matrix_of(&u, d, &m))
        return;
    c.cycles = glow_cpu_matrix_cycles(&u, &m);
    glow_cpu_add_choice(to, c);
    for (int64_t lines = 1; lines / 4 < m.steps; lines *= 4) {
        c.value[CPU_KNOB_LINES] = lines;
        if (glow_cpu_matrix_of(&u, d, &m)) {
            c.cycles = glow_cpu_matrix_cycles(&u, &m);
            glow_cpu_add_choice(to, c);
        }
    }
}

/* Weights. */

/* A row of taps in the filter. */
typedef struct row {
    const matrix *m;
    const cpu_filter *filter;
    int64_t at; /* element of the filter, of output 0, at the first tap */
    bool safe;  /* weights of float have two parts */
} row;

/*
 * Address of the weight of element `e` of the depth for output 0; NULL for
 * elements before `first` and for channels of padding, whose weights are zero.
 */
static const char *
weights_of(const row *r, int64_t e, int64_t first)
{
    const matrix *m = r->m;
    int64_t tap = e / m->channels, channel = e % m->channels;

    if (e < first || channel >= m->d.channels)
        return NULL;
    return (const char *)r->filter->from->data +
           (r->at + tap * r->filter->tap + channel * r->filter->depth) *
               glow_cg_bytes(m->d.type);
}

/*
 * Packs one half of each pair, every second element of `to`: part `part` of outputs
 * from `o` on, and zeros beyond the last.
 */
static void
pack_outputs(const row *r, const char *from, int64_t o, int part, uint16_t *to)
{
    int64_t there = r->m->d.outputs - o, step = r->filter->output;
    uint16_t narrow[CPU_MOST_PARTS] = {0};

    for (int c = 0; c < CPU_MATRIX_LANES; c++) {
        to[2 * c] = 0;
        if (!from || c >= there)
            continue;
        if (r->m->parts == 1) {
            memcpy(narrow, from + (o + c) * step * 2, 2);
        } else {
            float w = glow_cpu_matrix_weight(&r->m->d, from, (o + c) * step);

            glow_cpu_matrix_parts_of(w, r->safe, narrow);
        }
        to[2 * c] = narrow[part];
    }
}

/*
 * Packs the unit of the depth that begins at `e`, with zeros for elements
 * before `first`; returns the end.
 */
static uint16_t *
pack_unit(const row *r, int64_t e, int64_t first, int64_t group, uint16_t *to)
{
    int64_t o = group * CPU_MATRIX_COLUMNS;

    int beside = glow_cpu_matrix_beside(r->m, group);

    for (int i = 0; i < beside * r->m->parts; i++)
        for (int64_t k = e; k < e + r->m->unit; k += 2) {
            int64_t from = o + i % beside * CPU_MATRIX_LANES;

            pack_outputs(r, weights_of(r, k, first), from, i / beside, to);
            pack_outputs(r, weights_of(r, k + 1, first), from, i / beside,
                         to + 1);
            to += 2 * CPU_MATRIX_LANES;
        }
    return to;
}

void
glow_cpu_pack_matrix(const cpu_target *t, const direct *d,
                     const cpu_filter *filter, void *start)
{
    uint16_t *to = start;
    int64_t last, done;
    bool safe = true;
    matrix m;

    if (!glow_cpu_matrix_of(t, d, &m))
        return;
    if (m.parts > 1)
        safe = glow_cpu_matrix_weights_safe(d, filter);
    last = glow_cpu_matrix_last(&m, &done);
    for (int64_t k = 0; k < d->groups * m.cuts * m.groups; k++)
        for (int64_t i = 0; i < d->kernel_h; i++)
            for (int64_t j = 0; j < m.taps; j++) {
                int64_t g = k % m.groups, cut = k / m.groups % m.cuts;
                row r = {&m, filter,
                         filter->first + k / m.groups / m.cuts * filter->group +
                             i * filter->row + j * filter->tap +
                             cut * m.channels * filter->depth,
                         safe};

                for (int64_t e = 0; e + m.unit <= m.depth; e += m.unit)
                    to = pack_unit(&r, e, 0, g, to);
                if (done)
                    to = pack_unit(&r, last, last + done, g, to);
            }
    if (m.parts > 1)
        memcpy(to, &(uint32_t[CPU_LINE / 4]){!safe}, CPU_LINE);
}
