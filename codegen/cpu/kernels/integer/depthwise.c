/*
 * Depthwise convolution of quantized elements: each channel by itself, with vectors
 * over channels.
 *
 *     for each image and plane of the result
 *       for each block of lines
 *         for each nr channels                       one vector of input
 *           copy their input to scratch              with pads, pixel behind pixel
 *           for each line, mr pixels of it
 *             for columns of the input of the mr pixels
 *               for groups of taps that begin there  vectors of x, interleaved
 *                 for those of mr pixels that the group belongs to
 *                   sums of nr channels += groups of x . groups of weights
 *             results: float, ratio, round, offset, saturate, pack, store
 *
 * A group of elements is the same channel in taps one below the other; of lines that
 * are left over, in taps beside each other too.  3 x 3 taps in groups of two:
 *
 *     0 2 4    0 and 1, 2 and 3, 4 and 5: of two lines
 *     1 3 5
 *     6 7 8    6 and 7: of two columns; 8 and a weight of 0
 *
 * The vectors are interleaved within each 16 bytes, so that sums have the order of
 * `natural`, and are packed back by instructions that work within 16 bytes too.
 */

#include <string.h>

#include "codegen/cpu/kernels/integer/integer.h"

#define MOST_TAPS 64 /* unrolled */
#define PIXELS 4     /* of a tile, at most */
#define PART 16      /* bytes within which vectors are interleaved */
#define MOST_SUMS 4  /* vectors of sums for a vector of input */

typedef cpu_integer integer;

/* Channels of a block: one vector of input. */
typedef struct block {
    int64_t first; /* channel */
    int channels, live;
    int lanes, sums; /* lanes of a vector of sums, and these vectors */
    int64_t weights; /* bytes of packed weights before it */
} block;

typedef struct maker {
    cpu_job *j;
    const integer *s;
    cg_value columns;      /* in scratch */
    cg_value any;          /* i1: some v is not 0 */
    cg_value plane, first; /* of the block of lines: plane of taps, line */
    cg_value from, in;     /* input of the image, and as it was copied */
    cg_value image;
    block b;
    cg_value channel; /* the first of the block at hand */
    cg_value weights;
    bool sums_input; /* of each channel: some v is not 0 */
    cpu_integer_column column[MOST_SUMS];
} maker;

static int64_t
lines_of(const integer *s)
{
    return s->axis[0].kernel * s->axis[1].kernel;
}

/*
 * Groups of taps: `whole` of each column, then of the lines left over as many as have
 * `across` columns each, of `down` lines.
 */
typedef struct grouping {
    int64_t whole, rest; /* lines in groups, times the group; those left over */
    int down, across;
    int64_t count; /* groups of a pixel */
} grouping;

static grouping
grouping_of(const integer *s)
{
    int64_t columns = s->axis[2].kernel;
    grouping g = {.whole = lines_of(s) / s->group,
                  .rest = lines_of(s) % s->group,
                  .down = 1};

    while (g.down < g.rest)
        g.down *= 2;
    g.across = s->group / g.down;
    g.count = columns * g.whole + (g.rest ? cg_ceil_div(columns, g.across) : 0);
    return g;
}

/* The first tap of group `i`, and its line. */
static int64_t
group_tap(const integer *s, const grouping *g, int64_t i)
{
    int64_t vertical = s->axis[2].kernel * g->whole;

    return i < vertical ? i / g->whole : (i - vertical) * g->across;
}

static int64_t
group_line(const integer *s, const grouping *g, int64_t i)
{
    int64_t vertical = s->axis[2].kernel * g->whole;

    return (i < vertical ? i % g->whole : g->whole) * s->group;
}

/*
 * Element `e` of a group that begins at a line of taps: its tap and line from there.
 */
static void
element_at(const integer *s, const grouping *g, int64_t line, int e, int *tap,
           int *below)
{
    bool is_whole = line < g->whole * s->group;

    *tap = is_whole ? 0 : e / g->down;
    *below = is_whole ? e : e % g->down;
}

static bool
has_tap(const integer *s, int64_t tap, int64_t line)
{
    return tap < s->axis[2].kernel && line < lines_of(s);
}

bool
glow_cpu_is_depthwise(const cpu_target *t, const integer *s)
{
    return t && t->dot_bytes >= PART && s->packed && !s->flat &&
           s->channels == 1 && s->outputs == 1 && s->groups > 1 &&
           lines_of(s) * s->axis[2].kernel <= MOST_TAPS;
}

/* Channels of the largest block. */
static int
most_channels(const integer *s)
{
    return s->lanes * 4 / glow_cg_dot_bytes(s->form);
}

/* Block `i`; blocks of most channels, then one of fewer. */
static block
block_at(const integer *s, int64_t i)
{
    int bytes = glow_cg_dot_bytes(s->form);
    int most = most_channels(s), channels = most;
    int64_t left = s->groups - i * most;
    block b = {.first = i * most, .live = left < most ? (int)left : most};

    while (channels / 2 >= b.live && channels / 2 * bytes >= PART)
        channels /= 2;
    b.channels = channels;
    b.lanes = channels * bytes / 4;
    b.sums = 4 / bytes;
    b.weights = grouping_of(s).count * b.first * s->group *
                glow_cpu_integer_weight_bytes(s);
    return b;
}

/*
 * Lines are copied, because a group of elements never lies in a tap's run of one: those
 * of a block of channels, which the L1 cache holds.
 */
void
glow_cpu_depthwise_shape(integer *s)
{
    const cpu_window_axis *a = &s->axis[1];
    int64_t width = s->axis[2].out, over = (a->kernel - 1) * a->dilation;
    int64_t fits, least = 4 * over / a->stride;

    s->rows = (int)cg_ceil_div(width, cg_ceil_div(width, PIXELS));
    s->by_panels = false;
    s->pixel = block_at(s, 0).channels * glow_cg_dot_bytes(s->form);
    s->line = s->width * s->pixel;
    fits = CPU_NEAR_BYTES / (s->line * s->axis[0].kernel);
    s->block = fits > over ? (fits - over - 1) / a->stride + 1 : 1;
    if (s->block < least)
        s->block = least; /* lines between blocks are copied twice */
    if (s->block > s->lines)
        s->block = s->lines;
}

/* Channel of the block of lane `lane` of sum `sum`. */
static int
natural(const integer *s, int sum, int lane)
{
    int part = PART / glow_cg_dot_bytes(s->form);

    return lane / 4 * part + sum * 4 + lane % 4;
}

static int64_t
block_count(const integer *s)
{
    return cg_ceil_div(s->groups, most_channels(s));
}

static int64_t
weight_bytes(const integer *s)
{
    int64_t last = block_count(s) - 1;
    block b = block_at(s, last);

    return b.weights + grouping_of(s).count * b.channels * s->group *
                           glow_cpu_integer_weight_bytes(s);
}

static int64_t
column_count(const integer *s)
{
    block last = block_at(s, block_count(s) - 1);

    /* Terms are made and read in vectors of s->lanes. */
    return cg_ceil_div(last.first + last.channels, s->lanes) * s->lanes;
}

int64_t
glow_cpu_depthwise_packed_size(const integer *s)
{
    int64_t columns = column_count(s);

    return weight_bytes(s) + (s->columns
                                  ? glow_cpu_integer_column_bytes(s, columns)
                                  : 4 * columns);
}

static int
weight_at(const integer *s, const glow_tensor *from, int64_t at)
{
    return s->w->elem == GLOW_INT8Q ? ((const int8_t *)from->data)[at]
                                    : ((const uint8_t *)from->data)[at] - 128;
}

/* A vector of weights of the group of taps from `x` and `line` on. */
static uint8_t *
pack_vector(const integer *s, const glow_tensor *from, const block *b,
            int64_t x, int64_t line, int sum, uint8_t *to)
{
    int bytes = glow_cpu_integer_weight_bytes(s), tap, below;
    grouping g = grouping_of(s);

    for (int l = 0; l < b->lanes; l++)
        for (int e = 0; e < s->group; e++) {
            int64_t c = natural(s, sum, l);
            bool is;
            int16_t w;

            element_at(s, &g, line, e, &tap, &below);
            is = c < b->live && has_tap(s, x + tap, line + below);
            w = is ? (int16_t)weight_at(s, from,
                                        (b->first + c) * s->step.output +
                                            (line + below) * s->step.row +
                                            (x + tap) * s->step.tap)
                   : 0;

            if (bytes == 1)
                *to = (uint8_t)w;
            else
                memcpy(to, &w, 2);
            to += bytes;
        }
    return to;
}

static int64_t
sum_of(const integer *s, const glow_tensor *from, int64_t c)
{
    int64_t taps = lines_of(s) * s->axis[2].kernel, sum = 0;

    for (int64_t i = 0; i < taps && c < s->groups; i++)
        sum += weight_at(s, from, c * taps + i);
    return sum;
}

/* The terms -z sum w of all channels. */
static void
pack_terms(const integer *s, const glow_tensor *from, uint8_t *to)
{
    for (int64_t c = 0; c < column_count(s); c++) {
        uint32_t term = 0u - (uint32_t)s->x_zero * (uint32_t)sum_of(s, from, c);

        memcpy(to + 4 * c, &term, 4);
    }
}

/* The columns of all blocks, in the order of their sums. */
static void
pack_columns(const integer *s, const glow_node *n, const glow_tensor *from,
             uint8_t *to)
{
    cpu_integer_packer p = glow_cpu_integer_packer(s, n, column_count(s), to);

    for (int64_t i = 0; i < block_count(s); i++) {
        block b = block_at(s, i);

        for (int q = 0; q < b.sums; q++)
            for (int l = 0; l < b.lanes; l++) {
                int64_t c = b.first + natural(s, q, l);
                bool is = c < s->groups;

                glow_cpu_integer_pack_column(&p, is ? c : -1,
                                             sum_of(s, from, c));
            }
    }
}

void
glow_cpu_depthwise_pack(const integer *s, const glow_node *n,
                        const glow_tensor *from, void *start)
{
    uint8_t *to = start;

    grouping g = grouping_of(s);

    for (int64_t i = 0; i < block_count(s); i++) {
        block b = block_at(s, i);

        for (int64_t k = 0; k < g.count; k++)
            for (int q = 0; q < b.sums; q++)
                to = pack_vector(s, from, &b, group_tap(s, &g, k),
                                 group_line(s, &g, k), q, to);
    }
    if (s->columns)
        pack_columns(s, n, from, to);
    else
        pack_terms(s, from, to);
}

/*
 * Columns, those of constants packed, others kept in scratch: start values, offsets,
 * ratios of all channels.
 */

static int64_t
ratio_bytes(const integer *s)
{
    return glow_cpu_integer_is_wide(s) ? 8 : 4;
}

int64_t
glow_cpu_depthwise_scratch(const integer *s)
{
    int64_t copy = glow_cpu_integer_copy_bytes(s);
    int64_t columns = s->columns ? 0 : column_count(s) * (8 + ratio_bytes(s));

    return copy > INT64_MAX - columns ? INT64_MAX : copy + columns;
}

/* Address of the ratios from `channel` on. */
static cg_value
ratios_at(const maker *m, cg_value channel)
{
    cg *g = m->j->g;
    cg_value at = cg_mulc(g, channel, ratio_bytes(m->s));

    return glow_cg_at(g, m->columns, cg_addc(g, at, 8 * column_count(m->s)));
}

/* The columns of `live` channels from `channel` on; sets `any`. */
static void
keep_column(maker *m, cg_value channel, int live, cg_value any)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t count = column_count(s);
    cg_value term = glow_cg_load_raw(
        g, glow_cg_vector(g->i32, s->lanes),
        glow_cg_at(g, m->j->packed,
                   cg_addc(g, cg_mulc(g, channel, 4), weight_bytes(s))));
    cpu_integer_column c =
        glow_cpu_integer_column(m->j, s, channel, live, term);
    cg_value at = glow_cg_at(g, m->columns, cg_mulc(g, channel, 4));
    cg_value ratios = ratios_at(m, channel);

    glow_cg_store_raw(g, c.start, at);
    if (c.offset) {
        glow_cg_store_raw(g, c.offset, glow_cg_atc(g, at, 4 * count));
        cg_set(g, any, cg_or(g, cg_get(g, any), c.offset));
    }
    glow_cg_store_raw(g, c.ratio, ratios);
}

static void
keep_columns(maker *m)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t whole = s->groups / s->lanes * s->lanes;
    LLVMTypeRef t = glow_cg_vector(g->i32, s->lanes);
    cg_value any = glow_cg_local(g, LLVMConstNull(t));
    cg_loop l;

    m->columns = glow_cg_atc(g, m->j->scratch, glow_cpu_integer_copy_bytes(s));
    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), s->lanes, NULL, 0);
        keep_column(m, l.i, s->lanes, any);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (whole < s->groups)
        keep_column(m, cg_i64(g, whole), (int)(s->groups - whole), any);
    m->any = glow_cpu_integer_any(g, cg_get(g, any));
}

/*
 * Sum `q` of a block of numbers of type `scalar`, channel by channel from `at` on.
 */
static cg_value
load_natural(const maker *m, LLVMTypeRef scalar, int bytes, cg_value at, int q)
{
    cg *g = m->j->g;
    const block *b = &m->b;
    LLVMTypeRef t = glow_cg_vector(scalar, b->lanes);
    cg_value v = LLVMGetPoison(t);

    for (int l = 0; l < b->lanes; l++)
        v = LLVMBuildInsertElement(
            g->builder, v,
            glow_cg_load_raw(g, scalar,
                             glow_cg_atc(g, at, natural(m->s, q, l) * bytes)),
            LLVMConstInt(g->i32, (unsigned)l, false), "");
    return v;
}

static void
load_packed_columns(maker *m)
{
    cg *g = m->j->g;
    cg_value from = glow_cg_atc(g, m->j->packed, weight_bytes(m->s));

    for (int q = 0; q < m->b.sums; q++)
        m->column[q] = glow_cpu_integer_load_column(
            g, m->s, m->b.lanes, from, column_count(m->s),
            cg_addc(g, m->channel, q * m->b.lanes));
}

static void
load_columns(maker *m)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t count = column_count(s);
    int wide = (int)ratio_bytes(s);
    cg_value at = glow_cg_at(g, m->columns, cg_mulc(g, m->channel, 4));
    cg_value ratios = ratios_at(m, m->channel);

    for (int q = 0; q < m->b.sums; q++) {
        cpu_integer_column *c = &m->column[q];

        c->start = load_natural(m, g->i32, 4, at, q);
        c->offset =
            m->sums_input
                ? load_natural(m, g->i32, 4, glow_cg_atc(g, at, 4 * count), q)
                : NULL;
        c->ratio =
            load_natural(m, wide == 8 ? g->f64 : g->f32, wide, ratios, q);
    }
}

/* Tiles. */

/* Sums of mr pixels, and sums of their input if some v is not 0. */
typedef struct tile {
    cg_value sum[PIXELS][MOST_SUMS], input[PIXELS][MOST_SUMS];
    int rows;
    cg_value in;    /* the first line of taps of the first pixel */
    cg_value pixel; /* number of the first result */
} tile;

/* The last column of the input that a tile of `rows` pixels reads. */
static int64_t
last_column(const integer *s, int rows)
{
    const cpu_window_axis *a = &s->axis[2];

    return (rows - 1) * a->stride + (a->kernel - 1) * a->dilation;
}

/* A vector of input: column `x`, line of taps `line`; 0 behind the last of them. */
static cg_value
load_input(const maker *m, const tile *t, int64_t x, int64_t line)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int bytes = glow_cg_dot_bytes(s->form);
    int64_t z = line / s->axis[1].kernel, y = line % s->axis[1].kernel;
    int64_t plane = glow_cpu_integer_copied(s) * s->line;
    LLVMTypeRef type =
        glow_cg_vector(bytes == 1 ? g->i8 : g->i16, m->b.channels);

    if (line >= lines_of(s) || x > last_column(s, t->rows))
        return LLVMConstNull(type);
    return glow_cg_load_raw(g, type,
                            glow_cg_atc(g, t->in,
                                        z * plane +
                                            y * s->axis[1].dilation * s->line +
                                            x * s->pixel));
}

/* The group of elements from column `x` and the line of taps `line` on. */
static void
load_groups(const maker *m, const tile *t, int64_t x, int64_t line,
            cg_value *to)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int group = s->group, tap, below;
    grouping taps = grouping_of(s);
    LLVMTypeRef wide = glow_cg_vector(g->i32, m->b.lanes);
    LLVMTypeRef pair = glow_cg_vector(g->i16, 2 * m->b.lanes);
    cg_value v[4];

    for (int e = 0; e < group; e++) {
        element_at(s, &taps, line, e, &tap, &below);
        v[e] = load_input(m, t, x + tap * s->axis[2].dilation, line + below);
    }
    for (int q = 0; q < m->b.sums; q++) {
        cg_value a, b;

        if (group == 4) {
            a = cg_bitcast(g, glow_cg_unpack(g, v[0], v[1], q / 2), pair);
            b = cg_bitcast(g, glow_cg_unpack(g, v[2], v[3], q / 2), pair);
            a = glow_cg_unpack(g, a, b, q % 2);
        } else if (group == 2) {
            a = glow_cg_unpack(g, v[0], v[1], q);
        } else {
            a = v[0];
        }
        to[q] = group == 1 ? a : cg_bitcast(g, a, wide);
    }
}

/* Half `q` of the elements of each 16 bytes, for groups of one. */
static cg_value
half_of(const maker *m, cg_value v, int q)
{
    cg *g = m->j->g;
    cg_value order[64];

    if (m->s->group > 1)
        return v;
    for (int l = 0; l < m->b.lanes; l++)
        order[l] = LLVMConstInt(g->i32, (unsigned)natural(m->s, q, l), false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(order, (unsigned)m->b.lanes),
                                  "");
}

/* Weights of group `k` of taps. */
static cg_value
load_weights(const maker *m, int64_t k, int q)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t vector = m->b.lanes * s->group * glow_cpu_integer_weight_bytes(s);

    return glow_cpu_integer_load_weights(
        g, s, m->b.lanes,
        glow_cg_atc(g, m->weights, (k * m->b.sums + q) * vector));
}

/* Weights of 1 for the taps that group `k` has. */
static cg_value
ones(const maker *m, int64_t k)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    grouping taps = grouping_of(s);
    int64_t line = group_line(s, &taps, k), all = 0;
    int bits = 8 * glow_cg_dot_bytes(s->form), tap, below;

    for (int e = 0; e < s->group; e++) {
        element_at(s, &taps, line, e, &tap, &below);
        if (has_tap(s, group_tap(s, &taps, k) + tap, line + below))
            all |= INT64_C(1) << (e * bits);
    }
    return glow_cg_int(
        glow_cg_vector(s->group == 1 ? g->i16 : g->i32, m->b.lanes), all);
}

/* Adds the elements `x` of group `k` of taps to the sums of pixel `p`. */
static void
add_group(const maker *m, tile *t, int p, int64_t k, cg_value const *x)
{
    cg *g = m->j->g;
    const integer *s = m->s;

    for (int q = 0; q < m->b.sums; q++) {
        cg_value v = half_of(m, x[q], q);

        t->sum[p][q] =
            glow_cg_dot(g, s->form, v, load_weights(m, k, q), t->sum[p][q]);
        if (m->sums_input)
            t->input[p][q] =
                glow_cg_dot(g, s->form, v, ones(m, k), t->input[p][q]);
    }
}

/*
 * The tap of pixel `p` that column `x` of the input is, or -1.
 */
static int64_t
tap_at(const integer *s, int p, int64_t x)
{
    const cpu_window_axis *a = &s->axis[2];
    int64_t from = x - p * a->stride;

    return from < 0 || from % a->dilation || from / a->dilation >= a->kernel
               ? -1
               : from / a->dilation;
}

/*
 * All sums that groups which begin at column `x` and the line of taps `line` take part
 * in.
 */
static void
add_groups(const maker *m, tile *t, int64_t x, int64_t line)
{
    grouping taps = grouping_of(m->s);
    cg_value groups[MOST_SUMS];
    bool loaded = false;

    for (int p = 0; p < t->rows; p++) {
        int64_t tap = tap_at(m->s, p, x);

        for (int64_t k = 0; k < taps.count && tap >= 0; k++) {
            if (group_tap(m->s, &taps, k) != tap ||
                group_line(m->s, &taps, k) != line)
                continue;
            if (!loaded)
                load_groups(m, t, x, line, groups);
            loaded = true;
            add_group(m, t, p, k, groups);
        }
    }
}

/* Results as elements of type `narrow`, in the order of the channels. */
static cg_value
pack_results(const maker *m, cg_value *y)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int count = m->b.sums;
    int bytes = glow_cg_bytes(s->y);
    bool is_signed = s->y->elem != GLOW_UINT8Q;

    for (int size = 4; size > bytes && count > 1; size /= 2) {
        count /= 2;
        for (int i = 0; i < count; i++)
            y[i] =
                glow_cg_pack(g, y[2 * i], y[2 * i + 1], size == 4 || is_signed);
    }
    if (count > 1)
        return NULL;
    if (bytes == 1 && LLVMGetIntTypeWidth(glow_cg_scalar(LLVMTypeOf(y[0]))) > 8)
        return LLVMBuildTrunc(g->builder, y[0], glow_cg_like(y[0], g->i8), "");
    return y[0];
}

/*
 * Stores results that were not packed into one vector: groups of channels, of which
 * some may be behind the last.
 */
static void
store_parts(const maker *m, cg_value at, cg_value const *y)
{
    cg *g = m->j->g;
    int bytes = glow_cg_bytes(m->s->y), sums = m->b.sums;

    for (int q = 0; q < sums; q++)
        for (int l = 0; l < m->b.lanes; l++) {
            int c = natural(m->s, q, l);
            cg_value v;

            if (c >= m->b.live)
                continue;
            v = LLVMBuildExtractElement(
                g->builder, y[q], LLVMConstInt(g->i32, (unsigned)l, false), "");
            if (bytes == 2)
                v = LLVMBuildTrunc(g->builder, v, g->i16, "");
            glow_cg_store_raw(g, v, glow_cg_atc(g, at, c * bytes));
        }
}

static void
finish_pixel(const maker *m, tile *t, int p)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int bytes = glow_cg_bytes(s->y);
    cg_value sum[MOST_SUMS], ratio[MOST_SUMS];
    cg_value y[MOST_SUMS], parts[MOST_SUMS], v;
    cg_value at = cg_mulc(g, t->pixel, s->out_pixel);

    at = cg_mulc(g, cg_add(g, at, m->channel), bytes);
    at = glow_cg_at(g, m->j->out[0].at,
                    cg_addc(g, at, p * s->out_pixel * bytes));
    for (int q = 0; q < m->b.sums; q++) {
        const cpu_integer_column *c = &m->column[q];

        sum[q] = t->sum[p][q];
        ratio[q] = c->ratio;
        if (c->offset)
            sum[q] = cg_isub(g, sum[q], cg_imul(g, t->input[p][q], c->offset));
    }
    v = m->b.sums == MOST_SUMS ? glow_cpu_integer_pack_results(g, s, sum, ratio)
        : m->b.sums == 2       ? glow_cpu_integer_pack_pair(g, s, sum, ratio)
                               : NULL;
    if (!v) {
        for (int q = 0; q < m->b.sums; q++)
            parts[q] = y[q] = glow_cpu_integer_round(g, s, sum[q], ratio[q]);
        v = pack_results(m, y);
    }
    if (v)
        glow_cg_store_raw(g, glow_cg_first(g, v, m->b.live), at);
    else
        store_parts(m, at, parts);
}

/* Pixels from `x` of `line` on. */
static void
make_tile(const maker *m, int rows, cg_value line, cg_value x)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    const cpu_window_axis *a = s->axis;
    tile t = {.rows = rows};
    cg_value in = cg_affine(g, cg_sub(g, line, m->first), a[1].stride * s->line,
                            x, a[2].stride * s->pixel);
    int64_t last = last_column(s, rows);

    t.in = glow_cg_opaque(g, glow_cg_at(g, m->in, in));
    t.pixel = cg_add(g, cg_add(g, cg_mulc(g, line, a[2].out), x), m->image);
    for (int p = 0; p < rows; p++)
        for (int q = 0; q < m->b.sums; q++) {
            t.sum[p][q] = m->column[q].start;
            t.input[p][q] = LLVMConstNull(LLVMTypeOf(t.sum[p][q]));
        }
    for (int64_t c = 0; c <= last; c++) {
        for (int64_t y = 0; y < lines_of(s); y += s->group)
            add_groups(m, &t, c, y);
        for (int p = 0; p < rows; p++)
            if (c == p * a[2].stride + (a[2].kernel - 1) * a[2].dilation)
                finish_pixel(m, &t, p);
    }
}

static void
make_lines(const maker *m, cg_value end)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t tiles = s->axis[2].out / s->rows;
    int rest = (int)(s->axis[2].out % s->rows);
    cg_loop lines, l;

    glow_cg_loop(g, &lines, m->first, end, 1, NULL, 0);
    glow_cg_for(g, &l, tiles);
    make_tile(m, s->rows, lines.i, cg_mulc(g, l.i, s->rows));
    glow_cg_loop_end(g, &l, NULL);
    if (rest)
        make_tile(m, rest, lines.i, cg_i64(g, tiles * s->rows));
    glow_cg_loop_end(g, &lines, NULL);
}

/* Copies the input of the channels at hand. */
static cg_value
copy_block(const maker *m, cg_value end)
{
    integer some = *m->s;

    some.groups = m->b.live;
    return glow_cpu_integer_copy(m->j, &some,
                                 glow_cg_at(m->j->g, m->from, m->channel),
                                 m->plane, m->first, end);
}

/* Block `number` of channels, or the one `at` behind it that is as it is. */
static void
make_block(maker *m, int64_t number, cg_value at, cg_value end)
{
    cg *g = m->j->g;
    block first = block_at(m->s, 0);
    int64_t apart =
        m->s->groups > first.channels ? block_at(m->s, 1).weights : 0;
    cg_if some, none;

    m->b = block_at(m->s, number);
    m->channel = cg_mulc(g, at, first.channels);
    m->weights = glow_cg_at(g, m->j->packed, cg_mulc(g, at, apart));
    m->in = copy_block(m, end);
    if (m->s->columns) {
        load_packed_columns(m);
        make_lines(m, end);
        return;
    }
    glow_cg_if(g, &none, LLVMBuildNot(g->builder, m->any, ""));
    m->sums_input = false;
    load_columns(m);
    make_lines(m, end);
    glow_cg_end_if(g, &none);
    glow_cg_if(g, &some, m->any);
    m->sums_input = true;
    load_columns(m);
    make_lines(m, end);
    glow_cg_end_if(g, &some);
}

static void
make_blocks(maker *m, cg_value end)
{
    cg *g = m->j->g;
    int64_t count = block_count(m->s);
    block last = block_at(m->s, count - 1);
    bool ends = last.live < most_channels(m->s);
    cg_loop l;

    if (count - ends > 0) {
        glow_cg_for(g, &l, count - ends);
        make_block(m, 0, l.i, end);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (ends)
        make_block(m, count - 1, cg_i64(g, count - 1), end);
}

void
glow_cpu_emit_depthwise(cpu_job *j, const integer *s)
{
    cg *g = j->g;
    maker m = {.j = j, .s = s};
    cpu_within units;
    const cpu_window_axis *a = s->axis;
    cg_value outer, n, end;
    cg_loop l;

    if (!s->columns)
        keep_columns(&m);
    outer = glow_cpu_units_within(j, &units, s->batch * a[0].out, s->lines);
    n = cg_over(g, outer, a[0].out);
    m.plane = cg_addc(g, cg_mulc(g, cg_modulo(g, outer, a[0].out), a[0].stride),
                      -a[0].start);
    m.from =
        glow_cg_at(g, j->in[0].at,
                   cg_mulc(g, n, a[0].in * a[1].in * a[2].in * s->in_pixel));
    m.image = cg_mulc(g, outer, a[1].out * a[2].out);
    glow_cg_loop(g, &l, units.begin, units.end, s->block, NULL, 0);
    m.first = l.i;
    end = glow_cg_imin(g, cg_addc(g, l.i, s->block), units.end);
    make_blocks(&m, end);
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &units.loop, NULL);
}
