/*
 * Blocking of the sums.  Rows and vectors of a tile follow from the registers
 * of the target and the width of the result, the order of the loops from the
 * sizes of the caches.
 */

#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/direct/narrow.h"
#include "codegen/cpu/kernels/direct/tile.h"

#define MOST_ROWS 30
#define TWO_PLACES 14    /* rows at one of two page offsets */
#define MOST_WRITTEN 250 /* unrolled multiplications of a tile */
#define MOST_WHOLE 700   /* of the whole depth of a line of taps */
#define WIDEST 128       /* kernel that is cut into runs of equal taps */
#define ENOUGH_UNITS 16  /* for threads to share */
#define FEW_TILES 4      /* that do not repay the packing of a panel */
#define SHORT 160        /* multiplications of a sum */
#define WAY 4096         /* bytes of a way of the L1 cache, on all x86-64 */
#define WAYS 16          /* of the L1 cache, at most */
#define CUT_PANELS 4     /* of a part of the depth, that the cache holds */
#define LEAST_TILES 8    /* that read a panel, for a cut to pay */
#define TURNED 3         /* time of turning a weight, by that of reading it */
#define LEAST_CUT 256 /* of the depth: sums are kept and read once for each */
#define NEAR_PANEL (1 << 14) /* bytes of a part of a panel */
#define NEAR_TILES 8         /* that repay keeping their sums */
#define SHARED (1 << 23)     /* bytes that the cache of all cores holds */
#define FAR 4.0 /* time of a byte of memory, by that of one of this cache */

typedef cpu_direct direct;
typedef cpu_shape shape;

static bool
is_flat(const direct *d)
{
    return d->kernel_h == 1 && d->kernel_w == 1 && d->stride_h == 1 &&
           d->stride_w == 1 && !d->pad_h && !d->pad_w && d->in_h == d->out_h &&
           d->in_w == d->out_w;
}

int64_t
glow_cpu_row_bytes(const glow_node *n, int i, int64_t depth)
{
    const glow_type *t = n->in[i]->type;
    int64_t bytes = glow_cg_bytes(t);
    glow_dims step;

    for (int k = 0; k < n->n_in; k++)
        if (k != i && n->in[k] && n->in[k]->type->strides.rank)
            return 0;
    if (!t->strides.rank)
        return depth * bytes;
    if (t->elem != GLOW_FLOAT || t->shape.at[t->shape.rank - 1] != depth ||
        !glow_cpu_rows(t, &step) || (depth > 1 && step.at[1] != 1))
        return 0;
    if (glow_type_count(t) == depth)
        return depth * bytes;
    return step.at[0] * bytes;
}

/*
 * True if the input, and the weights of this and the next group of channels
 * (`group` bytes each), outgrow the cache, but not by far, and the weights do
 * too.
 */
static bool
outgrows(const cpu_target *t, const direct *d, int64_t group)
{
    int64_t input = glow_cpu_pixels_in(d) * d->pixel;

    return d->packed && !d->by_panels && d->form.numbers == CPU_FLOATS &&
           d->groups == 1 && d->batch == 1 && input <= 4 * t->cache_bytes &&
           input + 2 * group > 2 * t->cache_bytes &&
           glow_cpu_weight_bytes(d) > t->cache_bytes / 2;
}

/*
 * True if a tile should have four vectors instead of two, and there are
 * registers for enough rows of them: if sums are so short that the length of
 * stores counts; or if rows conflict in the sets of the cache, so that a tile
 * has few rows, and a quarter of the cache holds the weights of four vectors,
 * or the depth is cut.
 */
static bool
is_wide(const cpu_target *t, const direct *d, int64_t vectors)
{
    int64_t depth = d->kernel_h * d->kernel_w * d->channels;
    int64_t group = 4 * depth * t->vector_bytes;

    if (vectors < 4 || t->registers < 30)
        return false;
    return depth <= SHORT ||
           (is_flat(d) && d->pixel % 4096 == 0 &&
            (group <= t->cache_bytes / 4 || outgrows(t, d, group)));
}

/* The greatest number of rows of `blocks` vectors that fits the registers. */
static int
most_rows(const cpu_target *t, const direct *d, int blocks)
{
    /*
     * A register for the broadcast, and a spare one if there are less than 3
     * vectors.
     */
    int room = t->registers - (blocks < 3 ? 2 : 1);
    int most = (room - blocks) / blocks;
    int64_t step = d->pixel * d->stride_w;

    /* Rows at the same page offset conflict in the sets of the L1 cache. */
    if (step % 4096 == 0 && most > 8)
        most = 8;
    else if (step % 2048 == 0 && most > TWO_PLACES)
        most = TWO_PLACES;
    return most < MOST_ROWS ? most : MOST_ROWS;
}

static int
best_rows(const cpu_target *t, const direct *d, int blocks)
{
    return glow_cpu_best_rows(d->out_w, blocks, most_rows(t, d, blocks));
}

/* The cost of a line of all channels by the best tiles of `blocks` vectors. */
static int64_t
line_cost(const cpu_target *t, const direct *d, int64_t vectors, int blocks)
{
    int rows = best_rows(t, d, blocks);
    int64_t rest = vectors % blocks;

    return vectors / blocks * glow_cpu_line_cost(d->out_w, rows, blocks) +
           (rest ? glow_cpu_line_cost(d->out_w, rows, (int)rest) : 0);
}

/*
 * True if a tile should have three vectors instead of two, on targets with few
 * registers: the tail of a line then has enough sums to hide the latency of a
 * multiplication.  On AVX2, seven results of two vectors take 8 cycles, in
 * tiles of 4 and 3 rows, and of three vectors 10.5, where 7 and 10.5 are the
 * least.
 */
static bool
is_three(const cpu_target *t, const direct *d, int64_t vectors)
{
    int64_t two = line_cost(t, d, vectors, 2);

    return t->registers < 30 && most_rows(t, d, 3) > 1 && !d->flat.rows &&
           !is_flat(d) && two - line_cost(t, d, vectors, 3) > two / 16;
}

/*
 * True if the tiles of pixels that are cut into lines at will should have three vectors of
 * 32 bytes: an odd number of vectors ends in one by itself, whose six sums do not hide the
 * latency of a multiplication, and in groups of three it does not.  They read half as many
 * bytes of weights again in a cycle, which the L1 cache has to hold.  72 channels by 24:
 * 10 % less time, 120 by 40: 5 %.
 */
static bool
is_odd(const cpu_target *t, const direct *d, int64_t vectors)
{
    int64_t panel = 3 * d->channels * t->vector_bytes;

    return t->vector_bytes == CPU_LINE / 2 && t->registers < 30 && is_flat(d) &&
           vectors % 2 == 1 && vectors % 3 != 1 && panel <= CPU_NEAR_BYTES;
}

/* Vectors of a tile, of the `vectors` of a row. */
static int
blocks_of(const cpu_target *t, const direct *d, int64_t vectors)
{
    int blocks = is_wide(t, d, vectors) ? 4 : 2;

    /* Enough sums for the latency of a multiplication, even of few rows. */
    if (!d->flat.rows && d->out_w <= 3)
        blocks = d->out_w == 1 ? 8 : 4;
    while (blocks > vectors)
        blocks /= 2;
    while (blocks > 1 && most_rows(t, d, blocks) < 1)
        blocks /= 2;
    if (blocks == 2 && (is_three(t, d, vectors) || is_odd(t, d, vectors)))
        blocks = 3;
    blocks = (int)glow_cpu_knob(t, CPU_KNOB_VECTORS, blocks);
    return blocks > vectors ? (int)vectors : blocks;
}

/*
 * Sets rows and vectors of a tile: by the choice of the target, else by the
 * rules above.
 */
static void
set_tile(const cpu_target *t, const direct *d, shape *s)
{
    int64_t vectors = d->outputs > 0 ? cg_ceil_div(d->outputs, s->lanes) : 1;

    s->blocks = d->form.dots ? (int)d->outputs : blocks_of(t, d, vectors);
    s->rows = best_rows(t, d, s->blocks);
    s->rows = (int)glow_cpu_knob(t, CPU_KNOB_ROWS, s->rows);
    if (d->flat.rows)
        s->rows = d->flat.rows;
}

/*
 * Unrolled depth: at most MOST_WRITTEN multiplications of a tile, because LLVM's
 * scheduler spills sums in longer blocks (lines of five taps, 12 rows by two vectors: 480
 * multiplications move 195 vectors to the stack and back, 240 none).
 */
static int
unit_of(const cpu_target *t, const direct *d, const shape *s)
{
    int64_t tile = d->kernel_w * s->rows * s->blocks;
    int64_t unit = t->unroll;

    while (unit > 1 && (unit > d->channels || unit * tile > MOST_WRITTEN))
        unit /= 2;
    if (d->channels <= t->unroll && d->channels * tile <= MOST_WHOLE)
        unit = d->channels;
    unit = glow_cpu_knob(t, CPU_KNOB_UNIT, unit);
    return (int)(unit > d->channels && d->channels > 0 ? d->channels : unit);
}

/*
 * Half vectors on targets with vectors of 64 bytes, if they hold all outputs:
 * they are never slower, and a core that executes such a vector in halves takes
 * half the time.
 */
static int
lanes_of(const cpu_target *t, const direct *d)
{
    int lanes = t->vector_bytes / 4;
    bool is_half = t->vector_bytes == CPU_LINE &&
                   d->form.numbers == CPU_FLOATS && d->outputs <= lanes / 2;

    return is_half ? lanes / 2 : lanes;
}

shape
glow_cpu_direct_shape(const cpu_target *t, const direct *d)
{
    shape s = {.lanes = lanes_of(t, d)};
    int64_t vectors =
        d->form.dots ? d->outputs : cg_ceil_div(d->outputs, s.lanes);

    set_tile(t, d, &s);
    s.unit = unit_of(t, d, &s);
    s.full = vectors / s.blocks;
    s.rest = (int)(vectors % s.blocks);
    s.last =
        d->form.dots ? s.lanes : (int)(d->outputs - (vectors - 1) * s.lanes);
    return s;
}

int64_t
glow_cpu_weight_bytes(const direct *d)
{
    return d->groups * d->kernel_h * d->kernel_w * d->channels * d->outputs *
           (d->form.dots ? d->form.dots : 1) * glow_cpu_weight_size(d);
}

int64_t
glow_cpu_near_lines(const direct *d, const shape *s)
{
    int64_t line = cg_ceil_div(d->out_w, s->rows) * s->rows * s->blocks *
                   s->lanes * (int64_t)sizeof(float);
    int64_t lines = CPU_NEAR_KEPT / line;

    return lines < d->out_h ? lines : d->out_h;
}

/* Bytes of the input of `lines` lines of the result. */
static int64_t
input_bytes(const direct *d, int64_t lines)
{
    return (lines * d->stride_h + d->kernel_h - 1) * d->in_w * d->pixel;
}

/* Lines of the result, halved until their input is at most `bytes`. */
static int64_t
lines_within(const direct *d, int64_t bytes)
{
    int64_t lines = d->out_h;

    while (lines > 1 && input_bytes(d, lines) > bytes)
        lines = (lines + 1) / 2;
    return lines;
}

int64_t
glow_cpu_lines_of(const cpu_target *t, const direct *d, const shape *s)
{
    int64_t weights = glow_cpu_weight_bytes(d) / d->groups;
    int64_t input = input_bytes(d, d->out_h);
    int64_t lines = glow_cpu_knob(t, CPU_KNOB_LINES, 0);

    if (lines)
        return lines < d->out_h ? lines : d->out_h;
    if (d->flat.cut)
        return d->out_h;
    if (weights <= t->cache_bytes / 2)
        return lines_within(d, CPU_NEAR_BYTES);
    if (input <= t->cache_bytes)
        return d->out_h;
    lines = lines_within(d, t->cache_bytes / 2);
    if (d->by_panels)
        weights *= TURNED;
    return (cg_ceil_div(d->out_h, lines) - 1) * weights <
                   (glow_cpu_channel_groups(s) - 1) * input
               ? lines
               : d->out_h;
}

/*
 * Part of the depth that is summed up for all results at once, 0: all of it.
 * The cache holds the input of this part beside the weights of one group of
 * channels and of the next, so that only weights are read from memory, and
 * once.  Keeping partial sums costs about as much as an input a little larger
 * than the cache (196 x 1536 x 384: 2 % more).  A much larger input is left to
 * blocks of lines.
 */
static int64_t
cut_of(const cpu_target *t, const direct *d)
{
    shape s = glow_cpu_direct_shape(t, d);
    int64_t pixels = glow_cpu_pixels_in(d);
    int64_t group = glow_cpu_group_bytes(d, &s, s.blocks);
    int64_t needed = pixels * d->pixel + 2 * group;
    int64_t parts = cg_ceil_div(needed, t->cache_bytes / 2);
    int64_t cut = cg_ceil_div(d->channels, parts * s.unit) * s.unit;

    if (!outgrows(t, d, group) || pixels <= 2 * d->flat.rows ||
        cut < LEAST_CUT || glow_cpu_knob(t, CPU_KNOB_LINES, 0))
        return 0;
    return cut;
}

/*
 * Part of the depth that is summed up for the results of a panel at once, 0: all of it.
 * A panel of weights that outgrows the L1 cache is read from the next for every tile,
 * besides the input; a part of it stays in the L1 cache for all tiles.  Vectors of 64
 * bytes do not gain: their tiles have twice the rows for each vector of weights.
 */
static int64_t
near_of(const cpu_target *t, const direct *d)
{
    shape s = glow_cpu_direct_shape(t, d);
    int64_t group = glow_cpu_group_bytes(d, &s, s.blocks);
    int64_t parts = cg_ceil_div(group, NEAR_PANEL);
    int64_t cut = cg_ceil_div(d->channels, parts * s.unit) * s.unit;

    if (t->vector_bytes != CPU_LINE / 2 || !d->packed || d->by_panels ||
        d->form.numbers != CPU_FLOATS || d->batch > 1 || d->flat.cut ||
        group <= CPU_NEAR_BYTES || glow_cpu_near_lines(d, &s) < 1 ||
        glow_cpu_pixels_out(d) < NEAR_TILES * s.rows ||
        glow_cpu_knob(t, CPU_KNOB_LINES, 0))
        return 0;
    return cut;
}

/*
 * True for one line of windows that do not overlap, so that it can be cut after
 * any.
 */
static bool
is_row(const direct *d)
{
    int64_t reach = (d->kernel_w - 1) * d->dilation_w;

    return d->batch == 1 && d->in_h == 1 && d->out_h == 1 && d->kernel_h == 1 &&
           d->kernel_w > 0 && !d->pad_h && !d->pad_w && reach < d->stride_w &&
           (d->out_w - 1) * d->stride_w + reach < d->in_w;
}

/*
 * Part of the depth of a window of several taps that is summed up for all results at once,
 * 0: all of it.  A panel of weights that outgrows the cache is read from beyond it for each
 * tile: three by three taps of 2048 channels to 32 outputs are 2.4 MB.
 */
static int64_t
window_cut_of(const cpu_target *t, const direct *d)
{
    shape s = glow_cpu_direct_shape(t, d);
    int64_t group = glow_cpu_group_bytes(d, &s, s.blocks);
    int64_t parts = cg_ceil_div(group, t->cache_bytes / CUT_PANELS), cut;

    if (!d->packed || !d->may_dot || d->by_panels || d->w_batch ||
        d->form.numbers != CPU_FLOATS || d->groups != 1 ||
        group <= t->cache_bytes ||
        d->out_h * cg_ceil_div(d->out_w, s.rows) < LEAST_TILES ||
        glow_cpu_knob(t, CPU_KNOB_LINES, 0))
        return 0;
    cut = cg_ceil_div(d->channels, parts * s.unit) * s.unit;
    return cut < d->channels ? cut : 0;
}

/*
 * Has each part of a cut depth copied to scratch, at an odd number of cache lines, unless
 * the cache is far from holding it: in the operand its pixels are in few sets of the cache.
 */
static void
copy_parts(const cpu_target *t, direct *d)
{
    int64_t size = d->flat.cut * (int64_t)sizeof(float);
    int64_t pitch = (cg_ceil_div(size, CPU_LINE) | 1) * CPU_LINE;

    if (!size || glow_cpu_pixels_in(d) * pitch > 4 * t->cache_bytes)
        return;
    d->flat.from = d->pixel;
    d->pixel = pitch;
}

direct
glow_cpu_flattened(const cpu_target *t, direct d)
{
    int64_t pixels, all, tiles, most;

    d = glow_cpu_with_numbers(t, d);
    if (d.apart_w)
        return d;
    if (!is_flat(&d) && !is_row(&d)) {
        d.flat.cut = window_cut_of(t, &d);
        copy_parts(t, &d);
        return d;
    }
    pixels = d.out_h * d.out_w * (d.w_batch ? 1 : d.batch);
    all = is_row(&d) ? d.in_w : pixels;
    d.batch = d.w_batch ? d.batch : 1;
    d.out_w = pixels;
    d.in_w = all;
    d.out_h = d.in_h = d.stride_h = 1;
    if (pixels <= 3)
        return d;
    d.flat.rows = glow_cpu_direct_shape(t, &d).rows;
    tiles = pixels / d.flat.rows / ENOUGH_UNITS;
    most = CPU_NEAR_BYTES / (d.flat.rows * d.stride_w * d.pixel);
    tiles = tiles < most ? tiles : most;
    if (glow_cpu_knob(t, CPU_KNOB_LINES, 0))
        tiles = 1;
    d.out_w = d.flat.rows * (tiles > 1 ? tiles : 1);
    d.in_w = d.out_w * d.stride_w;
    d.in_h = d.out_h = cg_ceil_div(pixels, d.out_w);
    d.flat.last_w = pixels - (d.out_h - 1) * d.out_w;
    d.flat.last_in = all - (d.in_h - 1) * d.in_w;
    if (d.kernel_w == 1 && d.stride_w == 1) {
        d.flat.cut = cut_of(t, &d);
        d.flat.near = near_of(t, &d);
    }
    return d;
}

/* Pixels of `lines` lines of `width`, of which the last has `last` if not 0. */
static int64_t
pixels_of(int64_t lines, int64_t width, int64_t last)
{
    return last ? (lines - 1) * width + last : lines * width;
}

/*
 * True if a panel of row-major weights outgrows its sets of a cache.  Rows that are an
 * odd multiple of 2^n bytes apart begin in cache_bytes / 2^n places of the cache, and rows
 * a multiple of WAY apart in one set of the L1 cache, which more than WAYS of them outgrow:
 * 1600 x 128 by 128 x 1024 took 9.0 ms on an AMD Zen 3, 6.3 ms packed.
 */
static bool
has_conflicts(const cpu_target *t, const direct *d)
{
    int64_t row = d->outputs * (int64_t)sizeof(float), apart = row & -row;

    return apart > t->cache_bytes / d->channels ||
           (apart >= WAY && d->channels > WAYS);
}

bool
glow_cpu_pays_panels(const cpu_target *t, const direct *from)
{
    direct d;
    shape s;

    if (from->channels <= 0 || !has_conflicts(t, from))
        return false;
    d = glow_cpu_flattened(t, *from);
    s = glow_cpu_direct_shape(t, &d);
    return glow_cpu_lines_of(t, &d, &s) * d.out_w >= FEW_TILES * s.rows;
}

int64_t
glow_cpu_pixels_in(const direct *d)
{
    return pixels_of(d->in_h, d->in_w, d->flat.last_in);
}

int64_t
glow_cpu_pixels_out(const direct *d)
{
    return pixels_of(d->out_h, d->out_w, d->flat.last_w);
}

int64_t
glow_cpu_group_bytes(const direct *d, const shape *s, int blocks)
{
    return d->kernel_h * d->kernel_w * d->channels * blocks * s->lanes *
           glow_cpu_weight_size(d);
}

int64_t
glow_cpu_packed_bytes(const direct *d, const shape *s)
{
    return d->groups * (s->full * glow_cpu_group_bytes(d, s, s->blocks) +
                        glow_cpu_group_bytes(d, s, s->rest));
}

int64_t
glow_cpu_kept_bytes(const direct *d, const shape *s)
{
    int64_t tiles = d->flat.cut ? d->out_h * cg_ceil_div(d->out_w, s->rows) : 0;
    int64_t tile = s->rows * s->blocks * s->lanes * (int64_t)sizeof(float);

    return glow_cpu_room(tiles * glow_cpu_channel_groups(s), tile);
}

int64_t
glow_cpu_parts_bytes(const direct *d, const cpu_shape *s)
{
    int64_t copied = d->flat.from ? glow_cpu_pixels_in(d) * d->pixel : 0;
    int64_t kept = glow_cpu_kept_bytes(d, s), sum;

    return glow_add_overflow(kept, copied, &sum) ? INT64_MAX : sum;
}

int
glow_cpu_cut_lines(glow_arena *a, const direct *d, const shape *s,
                   cpu_run *runs)
{
    const cpu_window_axis x = {d->in_w,     d->out_w,      d->kernel_w,
                               d->stride_w, d->dilation_w, d->pad_w,
                               d->pad_w};

    return glow_cpu_cut(a, &x, s->rows, runs);
}

int64_t
glow_cpu_direct_code(const cpu_target *t, const direct *from)
{
    glow_arena *a = glow_arena_new();
    direct d = glow_cpu_flattened(t, *from);
    shape s = glow_cpu_direct_shape(t, &d);
    cpu_run runs[CPU_MOST_RUNS];
    int n = d.kernel_w > WIDEST || !glow_cpu_fits_tile(s.rows, s.blocks)
                ? 0
                : glow_cpu_cut_lines(a, &d, &s, runs);
    int64_t code = 0;

    for (int i = 0; i < n; i++)
        code += runs[i].rows * s.blocks * d.kernel_w * s.unit;
    if (d.flat.rows)
        code += d.flat.last_w % d.flat.rows * s.blocks * d.kernel_w * s.unit;
    glow_arena_free(a);
    return n ? code : INT64_MAX;
}

int64_t
glow_cpu_channel_groups(const shape *s)
{
    return s->full + (s->rest > 0);
}

bool
glow_cpu_is_by_channels(const cpu_target *t, const direct *d, const shape *s)
{
    int64_t outer = d->batch * d->groups, groups = glow_cpu_channel_groups(s);

    if (outer >= ENOUGH_UNITS)
        return false;
    if (glow_cpu_weight_bytes(d) / d->groups > t->cache_bytes / 2)
        return groups >= 4 || groups >= d->out_h;
    return outer * d->out_h < ENOUGH_UNITS && groups > d->out_h;
}

static int64_t
lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The time to read `bytes` again `times` times, by that of a byte from the shared cache. */
static double
rereading(int64_t bytes, int64_t times)
{
    return (bytes > SHARED ? FAR : 1.0) * (double)bytes * (double)times;
}

/*
 * True if it takes no longer to read the input of all images again for each group of
 * channels than the weights for each block of lines: by AVX2, taps of 1 x 1 and stride 2 of
 * 8 x 56 x 56 x 256 to 512 outputs took 20 to 29 ms in the order of groups, and 15.6 in that
 * of lines.
 */
static bool
rereads_input(const cpu_target *t, const direct *d)
{
    shape s = glow_cpu_direct_shape(t, d);
    int64_t blocks = cg_ceil_div(d->out_h, glow_cpu_lines_of(t, d, &s));
    int64_t input = d->batch * lesser(d->in_h, d->out_h * d->kernel_h) *
                    lesser(d->in_w, d->out_w * d->kernel_w) * d->pixel;

    return rereading(input, glow_cpu_channel_groups(&s) - 1) <=
           rereading(glow_cpu_weight_bytes(d) / d->groups,
                     d->batch * blocks - 1);
}

bool
glow_cpu_is_by_groups(const cpu_target *t, const direct *d)
{
    return d->packed && d->form.numbers == CPU_FLOATS && !d->w_batch &&
           !d->flat.cut && d->batch > 1 &&
           glow_cpu_weight_bytes(d) / d->groups > t->cache_bytes / 2 &&
           (d->turned || rereads_input(t, d));
}

int64_t
glow_cpu_line_tiles(const cpu_target *t, const direct *d, const shape *s)
{
    glow_arena *a;
    cpu_run runs[CPU_MOST_RUNS];
    int64_t tiles = 0;
    int n;

    if (d->out_h != 1 || d->flat.rows || d->flat.cut || d->widens ||
        d->batch * d->groups >= ENOUGH_UNITS ||
        glow_cpu_weight_bytes(d) / d->groups > t->cache_bytes / 2)
        return 0;
    a = glow_arena_new();
    n = glow_cpu_cut_lines(a, d, s, runs);
    for (int i = 0; i < n; i++)
        tiles += runs[i].count;
    glow_arena_free(a);
    return tiles >= ENOUGH_UNITS ? tiles : 0;
}

int64_t
glow_cpu_direct_units(const cpu_target *t, const direct *from)
{
    direct d = glow_cpu_flattened(t, *from);
    shape s = glow_cpu_direct_shape(t, &d);
    int64_t tiles = glow_cpu_line_tiles(t, &d, &s);

    if (glow_cpu_is_by_groups(t, &d))
        return d.groups * glow_cpu_channel_groups(&s);
    if (tiles)
        return d.batch * d.groups * tiles;
    return d.batch * d.groups *
           (glow_cpu_is_by_channels(t, &d, &s) ? glow_cpu_channel_groups(&s)
                                               : d.out_h);
}

int64_t
glow_cpu_direct_size(const cpu_target *t, const direct *from)
{
    direct d = glow_cpu_flattened(t, *from);
    shape s = glow_cpu_direct_shape(t, &d);

    return glow_cpu_packed_bytes(&d, &s);
}
