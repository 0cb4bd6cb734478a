/*
 * Form, reading and blocking of integer sums.
 *
 * Input is read in place where the instruction takes its elements as they are or
 * inverted, all taps are within it, and the contiguous elements of a tap are a
 * multiple of the group.  Else the lines of a block are copied to scratch, with
 * pads: that costs less than a tenth of what 3 x 3 taps of 32 channels cost, and
 * leaves tiles without conditions.
 */

#include <math.h>

#include "codegen/cpu/kernels/integer/integer.h"

#define MOST_UNIT 96  /* unrolled dot products of a loop */
#define MOST_PAIRS 48 /* and of 16 bits, where more are no faster */
#define MOST_ROWS 24  /* of a tile */
#define FEW_PIXELS 2
#define LOADS 2   /* in a cycle */
#define LATENCY 5 /* cycles of a dot product */
#define FAR 30.0  /* bytes in a cycle from the L2 cache, beside dot products */
#define LESS 0.9  /* of the cycles, below which fewer vectors pay */
#define MATRIX_STEPS 16 /* of a multiplication of matrix registers */
#define WIDE_TILES 16   /* of a block that widens a panel, at least */
#define MANY_TILES \
    8 /* of a block, among which the first reads weights from memory */
#define SLACK CPU_LINE /* bytes that are read behind the copied lines */

typedef cpu_integer integer;

static bool
is_within(const cpu_window_axis *a)
{
    return a->start == 0 &&
           (a->out - 1) * a->stride + (a->kernel - 1) * a->dilation < a->in;
}

static bool
is_point(const cpu_window_axis *a)
{
    return a->kernel == 1 && a->stride == 1 && a->start == 0 && a->in == a->out;
}

/* True if two rows at a time are multiplied by columns of a group or more. */
static bool
takes_rows(const cpu_target *t, const integer *s)
{
    return t->dot_rows && s->packed && s->axis[2].out > 1 &&
           s->channels >= glow_cg_dot_group(CPU_DOT_SIGNED_ROWS);
}

/* True if weights are read for so few results that reading them takes longest. */
static bool
reads_weights(const integer *s)
{
    int64_t pixels = s->batch;

    for (int i = 0; i < 3; i++)
        pixels *= s->axis[i].out;
    return pixels <= FEW_PIXELS;
}

static void
set_form(const cpu_target *t, bool uses_matrix, integer *s)
{
    bool is_signed = s->x->elem == GLOW_INT8Q;
    int zero = (int)s->x->offset;

    s->form = uses_matrix ? CPU_DOT_TILES
              : is_signed ? t->dot
                          : t->dot_unsigned;
    if (!uses_matrix && takes_rows(t, s))
        s->form = is_signed ? CPU_DOT_SIGNED_ROWS : CPU_DOT_UNSIGNED_ROWS;
    s->group = glow_cg_dot_group(s->form);
    s->lanes = t->dot_bytes / 4;
    /* Weights of depthwise sums are few, and each tile of four pixels reads all of them. */
    s->narrow = s->packed && glow_cg_dot_bytes(s->form) > 1 &&
                (s->lanes == 1 || t->packing == GLOW_PACKING_SMALL ||
                 !glow_cpu_is_depthwise(t, s));
    s->x_zero = s->form == CPU_DOT_TILES                   ? zero
                : glow_cg_dot_bytes(s->form) > 1           ? 0
                : is_signed == glow_cg_dot_signed(s->form) ? zero
                : is_signed                                ? zero + 128
                                                           : zero - 128;
}

/* Makes one line of all pixels, where each has one tap: its own. */
static void
flatten(integer *s)
{
    int64_t pixels = s->w_batch ? 1 : s->batch;

    s->flat = true;
    for (int i = 0; i < 3; i++) {
        s->flat &= is_point(&s->axis[i]);
        pixels *= s->axis[i].out;
    }
    if (!s->flat)
        return;
    s->axis[2].in = s->axis[2].out = pixels;
    s->axis[0].in = s->axis[0].out = s->axis[1].in = s->axis[1].out = 1;
    s->batch = s->w_batch ? s->batch : 1;
}

/*
 * Two registers of up to 16 rows by two of 16 channels, and runs in equal parts of up
 * to 16 steps: one part more than need be if that leaves no steps beyond the run.
 */
static void
set_matrix(integer *s)
{
    int64_t steps = cg_ceil_div(s->run, s->group);
    int64_t parts = cg_ceil_div(steps, MATRIX_STEPS);

    if (parts > 1 && steps % parts && steps % (parts + 1) == 0)
        parts++;
    s->unit = (int)cg_ceil_div(steps, parts);
    s->steps = cg_ceil_div(steps, s->unit) * s->unit;
}

/* The access of lines; of flat ones it depends on the blocking. */
static void
set_reading(integer *s)
{
    const cpu_window_axis *a = s->axis;
    int bytes = glow_cg_dot_bytes(s->form);
    int64_t all = s->groups * s->channels;
    bool beside = s->groups == 1 && (a[2].kernel == 1 || a[2].dilation == 1);
    bool here =
        bytes == 1 && is_within(&a[0]) && is_within(&a[1]) && is_within(&a[2]);
    bool dense = s->in_pixel == all || a[2].kernel == 1;

    s->taps = beside && (dense || !here) ? 1 : a[2].kernel;
    s->run = s->channels * (s->taps == 1 ? a[2].kernel : 1);
    if (s->form == CPU_DOT_TILES)
        set_matrix(s);
    s->copies = !here || s->run % s->group ||
                (s->form == CPU_DOT_TILES && s->run != s->steps * s->group);
    if (s->copies) {
        s->taps = beside ? 1 : a[2].kernel;
        s->run = s->channels * (beside ? a[2].kernel : 1);
    }
    if (s->form == CPU_DOT_TILES)
        set_matrix(s);
    else
        s->steps = cg_ceil_div(s->run, s->group);
    s->pixel = s->copies ? all * bytes : s->in_pixel;
    s->width = s->flat ? s->rows
                       : (a[2].out - 1) * a[2].stride +
                             (a[2].kernel - 1) * a[2].dilation + 1;
    s->line = (s->copies ? s->width : a[2].in) * s->pixel;
    if (s->flat)
        s->line = s->rows * s->pixel;
    s->plane = s->copies ? 0 : a[1].in * s->line;
}

int
glow_cpu_integer_unit(const cpu_target *t, const integer *s)
{
    bool wide = glow_cg_dot_bytes(s->form) > 1;
    int unit = (wide ? MOST_PAIRS : MOST_UNIT) / (s->rows * s->vectors);

    return t->unroll == 1 || unit < 1 ? 1 : unit > 8 ? 8 : unit;
}

/* Sets panels of `most` vectors at most, and the rows of their tiles. */
static void
set_panels(const cpu_target *t, int most, integer *s)
{
    int64_t vectors = cg_ceil_div(s->outputs, s->lanes);
    int64_t width = s->axis[2].out, tiles;
    int rows, beside;

    s->panels = cg_ceil_div(vectors, most);
    s->vectors = (int)cg_ceil_div(vectors, s->panels);
    s->panels = cg_ceil_div(vectors, s->vectors);
    beside = glow_cg_dot_rows(s->form) ? 2 * s->vectors : s->vectors;
    rows = (t->registers - beside - 2) / s->vectors;
    rows = rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : rows;
    if (glow_cg_dot_rows(s->form))
        rows &= ~1;
    if (s->form == CPU_DOT_TILES)
        rows = CPU_MATRIX_ROWS;
    tiles = cg_ceil_div(width, rows);
    if (s->form == CPU_DOT_TILES && s->flat && width > 1)
        tiles +=
            tiles % 2; /* pairs: the time of a product is that of its rows */
    s->rows = (int)cg_ceil_div(width, tiles);
}

/*
 * Cycles of a step of a tile of `rows` rows and `vectors` vectors: of its dot products, of
 * one after the other in a sum, of loads, and of weights beyond the L1 cache.
 */
static double
step_cycles(const cpu_target *t, const integer *s, int64_t rows, int vectors)
{
    const cpu_window_axis *a = s->axis;
    int64_t depth = s->channels * a[0].kernel * a[1].kernel * a[2].kernel;
    int64_t step = vectors * t->dot_bytes;
    bool is_near = depth / s->group * step <= CPU_NEAR_BYTES;
    double dots = (double)(rows * vectors) / t->multiplies;
    double loads = (double)(rows + vectors) / LOADS;

    dots = fmax(fmax(dots, LATENCY), loads);
    return is_near ? dots : fmax(dots, (double)step / FAR);
}

/* Cycles of a step of the tiles of a line for all panels of `s`. */
static double
line_cycles(const cpu_target *t, const integer *s)
{
    int64_t width = s->axis[2].out, rest = width % s->rows;
    double cycles = 0;

    for (int64_t p = 0; p < s->panels; p++) {
        int v = glow_cpu_integer_vectors(s, p);

        cycles += (double)(width / s->rows) * step_cycles(t, s, s->rows, v);
        cycles += rest ? step_cycles(t, s, rest, v) : 0;
    }
    return cycles;
}

/*
 * A tile of `vectors` vectors and as many rows as registers hold beside them, a
 * broadcast element and a product or a mask.  Tiles of few rows of a short line wait for
 * panels that the L1 cache does not keep, which each of them reads: fewer vectors leave
 * registers for more rows.
 */
static void
set_tile(const cpu_target *t, integer *s)
{
    bool uses_matrix = s->form == CPU_DOT_TILES;
    int most = t->registers >= 32 && !uses_matrix ? CPU_INTEGER_VECTORS : 2;
    integer other = *s;

    set_panels(t, most, s);
    for (int v = s->vectors - 1; v >= 2 && most > 2; v--) {
        set_panels(t, v, &other);
        if (line_cycles(t, &other) < LESS * line_cycles(t, s))
            *s = other;
    }
    s->unit = glow_cpu_integer_unit(t, s);
    if (s->flat) {
        s->lines = cg_ceil_div(s->axis[2].out, s->rows);
        s->last_rows = s->axis[2].out - (s->lines - 1) * s->rows;
    } else {
        s->lines = s->axis[1].out;
        s->last_rows = 0;
    }
}

/* True if half the cache holds all weights. */
static bool
holds_weights(const cpu_target *t, const integer *s)
{
    return s->packed && glow_cpu_integer_weights(s) <= t->cache_bytes / 2;
}

/*
 * Bytes of lines of a block: while the cache holds all weights, the L1 cache holds the
 * input; else weights are read once for as many lines as half the cache holds.  Of
 * matrix registers a quarter of the cache holds the lines and their results.
 */
static int64_t
most_bytes(const cpu_target *t, const integer *s, int64_t *line)
{
    bool held = holds_weights(t, s);
    int64_t width = s->flat ? s->rows : s->axis[2].out;

    *line = s->line * s->axis[0].kernel;
    if (!held)
        return t->cache_bytes / 2;
    if (s->form != CPU_DOT_TILES)
        return CPU_NEAR_BYTES / 2;
    *line += width * s->out_pixel * glow_cg_bytes(s->y);
    return t->cache_bytes / 4;
}

static int64_t
tiles_of_line(const integer *s)
{
    return s->flat ? 1 : cg_ceil_div(s->axis[2].out, s->rows);
}

/*
 * Weights of 8 bits are widened by the loads of each tile, which takes 3 to 10 % of its
 * time with AVX2, or panel by panel for all tiles of a block, of which there are then at
 * least WIDE_TILES if their input fits a quarter of the cache.
 */
static void
set_widening(const cpu_target *t, int64_t line, int64_t over, int64_t step,
             integer *s)
{
    int64_t most = t->cache_bytes / 4, fits = line > 0 ? most / line : s->lines;
    int64_t least = cg_ceil_div(WIDE_TILES, tiles_of_line(s)), blocks;

    s->widens = s->narrow && s->lanes > 1 && t->packing != GLOW_PACKING_SMALL &&
                !reads_weights(s) &&
                glow_cpu_integer_wide_panel(s, s->vectors) <= most;
    if (!s->widens)
        return;
    fits = fits > over ? (fits - over - 1) / step + 1 : 1;
    if (s->block < least)
        s->block = least < fits ? least : s->block > fits ? s->block : fits;
    if (s->block < s->lines) {
        blocks = s->lines / s->block;
        s->block = cg_ceil_div(s->lines, blocks);
    }
}

static void
set_block(const cpu_target *t, integer *s)
{
    int64_t weights = glow_cpu_integer_weights(s), line;
    int64_t most = most_bytes(t, s, &line);
    int64_t step = s->flat ? 1 : s->axis[1].stride;
    int64_t over = s->flat ? 0 : (s->axis[1].kernel - 1) * s->axis[1].dilation;
    int64_t fits = line > 0 ? most / line : s->lines;

    s->block = fits > over ? (fits - over - 1) / step + 1 : 1;
    if (s->copies && s->block < 4 * over / step)
        s->block = 4 * over / step; /* lines between blocks are copied twice */
    set_widening(t, line, over, step, s);
    if (s->block > s->lines)
        s->block = s->lines;
    s->by_panels =
        s->groups == 1 &&
        (!s->packed || (weights > t->cache_bytes / 2 && s->panels >= 8 &&
                        s->lines * s->batch < 4 * s->panels));
    if (s->by_panels && !s->copies)
        s->block = s->lines;
    if (!s->packed)
        s->block = s->lines;
    s->panels_within =
        holds_weights(t, s) && s->block * tiles_of_line(s) >= MANY_TILES;
}

int64_t
glow_cpu_integer_bodies(const integer *s)
{
    int64_t odd = s->run % s->group != 0, whole = (s->steps - odd) / s->unit;
    int64_t bodies = whole + (s->steps > whole * s->unit);

    return s->axis[0].kernel * s->axis[1].kernel * s->taps * bodies;
}

/*
 * Weights beyond what the L1 cache keeps: the tiles of a block prefetch the next panel
 * while they multiply by the one at hand.
 */
static void
set_ahead(const cpu_target *t, integer *s)
{
    int64_t tiles = s->block * tiles_of_line(s);
    int64_t bytes = glow_cpu_integer_panel(s, s->vectors);
    int64_t lines =
        cg_ceil_div(bytes, tiles * glow_cpu_integer_bodies(s) * CPU_LINE);

    s->ahead = 0;
    if (s->packed && s->form != CPU_DOT_TILES && s->panels > 1 &&
        glow_cpu_integer_weights(s) > CPU_NEAR_BYTES)
        s->ahead = (int)(lines < CPU_MOST_AHEAD ? lines : CPU_MOST_AHEAD);
    s->ahead = (int)glow_cpu_knob(t, CPU_KNOB_AHEAD, s->ahead);
}

void
glow_cpu_integer_shape(const cpu_target *t, bool uses_matrix, integer *s)
{
    set_form(t, uses_matrix, s);
    if (!glow_cpu_is_depthwise(t, s)) /* it knows lines of images alone */
        flatten(s);
    set_tile(t, s);
    set_reading(s);
    set_block(t, s);
    set_ahead(t, s);
}

int
glow_cpu_integer_vectors(const integer *s, int64_t panel)
{
    int64_t left = cg_ceil_div(s->outputs, s->lanes) - panel * s->vectors;

    return left < s->vectors ? (int)left : s->vectors;
}

int
glow_cpu_integer_last(const integer *s, int64_t panel)
{
    int64_t before =
        panel * s->vectors + glow_cpu_integer_vectors(s, panel) - 1;
    int64_t left = s->outputs - before * s->lanes;

    return left < s->lanes ? (int)left : s->lanes;
}

int
glow_cpu_integer_weight_bytes(const integer *s)
{
    return s->narrow ? 1 : glow_cg_dot_bytes(s->form);
}

int64_t
glow_cpu_integer_vector(const integer *s)
{
    return s->lanes * s->group * glow_cpu_integer_weight_bytes(s);
}

int64_t
glow_cpu_integer_panel(const integer *s, int vectors)
{
    return s->axis[0].kernel * s->axis[1].kernel * s->taps * s->steps *
           vectors * glow_cpu_integer_vector(s);
}

int64_t
glow_cpu_integer_wide_panel(const integer *s, int vectors)
{
    return glow_cpu_integer_panel(s, vectors) * glow_cg_dot_bytes(s->form) /
           glow_cpu_integer_weight_bytes(s);
}

int64_t
glow_cpu_integer_group_weights(const integer *s)
{
    return glow_cpu_integer_panel(s, 1) * cg_ceil_div(s->outputs, s->lanes);
}

int64_t
glow_cpu_integer_weights(const integer *s)
{
    int64_t bytes = s->groups * glow_cpu_integer_group_weights(s);

    return cg_ceil_div(bytes, 8) * 8;
}

int64_t
glow_cpu_integer_columns(const integer *s)
{
    return s->groups * cg_ceil_div(s->outputs, s->lanes) * s->lanes;
}

int64_t
glow_cpu_integer_copied(const integer *s)
{
    if (s->flat)
        return s->block;
    return (s->block - 1) * s->axis[1].stride +
           (s->axis[1].kernel - 1) * s->axis[1].dilation + 1;
}

int64_t
glow_cpu_integer_copy_bytes(const integer *s)
{
    int64_t lines, bytes;

    if (!s->copies)
        return 0;
    lines = glow_cpu_integer_copied(s) * s->axis[0].kernel;
    bytes = glow_cpu_room(lines, s->line);
    return bytes > INT64_MAX - 2 * SLACK ? INT64_MAX
                                         : glow_cpu_aligned(bytes + SLACK);
}

int64_t
glow_cpu_integer_scratch(const integer *s)
{
    int64_t copy = glow_cpu_integer_copy_bytes(s), panel;

    if ((s->packed && !s->widens) || copy == INT64_MAX)
        return copy;
    panel = glow_cpu_integer_wide_panel(s, s->vectors);
    return copy > INT64_MAX - panel ? INT64_MAX : copy + panel;
}

int64_t
glow_cpu_integer_units(const integer *s)
{
    return s->batch * s->axis[0].out * (s->by_panels ? s->panels : s->lines);
}
