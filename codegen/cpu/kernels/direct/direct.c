/*
 * Direct convolution and matrix products by register tiles, of float and of
 * kinds that are computed as float.
 *
 * Both are sums over taps and depth of rows of input times vectors of output
 * channels: a matrix product is a convolution with one tap, whose pixels are
 * the rows of A.  Input is not padded: at the edges of the image, where other
 * taps are valid, other tiles are emitted.
 *
 * Loops, from the outermost in (README.md has the words of blocking):
 *
 *     for each image and group of channels
 *       for each block of lines                   mc: input that stays in the cache
 *         for each kc of the depth                only if the depth is cut (d.flat.cut)
 *           for each nr = vectors * lanes         a panel of weights, kc x nr
 *             for each kc of the depth              only if panels are cut (d.flat.near):
 *                                                   sums of some lines are kept
 *             for each line of the block
 *               for each mr = rows of the line    runs of equal taps; tails shorter
 *                 for lines of taps, unit of kc, taps, depth of the unit
 *                   mr x vectors sums += input[mr], broadcast, * weights[vectors]
 *
 * Where weights outgrow the cache, and there are several images, they are the loop
 * inside of that over panels, and weights that are no constants are packed panel by panel.
 * So are those of products whose rows conflict in the cache (d.by_panels).
 *
 * So a panel of weights is read from the cache for all tiles of the block, and
 * the input of the block for all panels.  Units of work are lines; or panels,
 * or tiles of the one line, if there are more of these.  The last panel and its
 * last vector are tails: fewer vectors, then fewer live lanes.
 */

#include "codegen/cpu/kernels/direct/dots.h"
#include "codegen/cpu/kernels/direct/narrow.h"
#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/direct/tile.h"

#define FEW_WEIGHTS 16 /* of the cache: smaller weights may be cached */
#define MEMORY 600     /* latency of memory, in cycles, under load */

typedef cpu_direct direct;
typedef cpu_shape shape;

/* The position of the emitting loops. */
typedef struct cursor {
    cg_value batch, group;
    cg_value channel; /* the first output channel, of all */
    cg_value weights, in;
    cg_value line0;        /* the first line of the block */
    cg_value group_number; /* of these channels, from 0 */
    cg_value part;         /* of the depth, if that is cut */
    cg_value kept;         /* partial sums of a panel, if that is cut */
    cg_value kept0;        /* the first line of these */
    bool keeps;            /* it is not the last */
    cpu_tile tile;         /* of this group of channels */
} cursor;

/* The blocking of the sums, which is constant, and the position of the loops. */
typedef struct maker {
    cpu_job *j;
    direct d;
    shape s;
    cpu_run runs[CPU_MOST_RUNS];
    int n_runs;
    bool by_channels, by_tiles, by_groups;
    cpu_within
        units; /* of a batch and group: lines, channel groups, or tiles of a
                       * line */
    cursor at;
} maker;

/* True if every line of the result is known to have taps within the input. */
static bool
always_has_taps(const direct *d)
{
    return d->pad_h < d->dilation_h * (d->kernel_h - 1) + 1 &&
           (d->out_h - 1) * d->stride_h - d->pad_h < d->in_h &&
           d->dilation_h == 1;
}

static void
start_sums(maker *m, int rows, cg_value *acc)
{
    cg *g = m->j->g;
    int bias = m->at.keeps || m->d.form.dots ? -1 : m->d.bias;

    for (int b = 0; b < m->at.tile.blocks; b++) {
        bool whole = b < m->at.tile.blocks - 1 || m->at.tile.last == m->s.lanes;
        cg_value v = LLVMConstNull(
            glow_cg_vector(g->f32, glow_cpu_tile_lanes(&m->at.tile, b)));

        if (bias >= 0 && whole)
            v = glow_cg_load(g, m->j->in[bias],
                             cg_addc(g, m->at.channel, b * m->s.lanes),
                             m->s.lanes);
        for (int r = 0; r < rows; r++)
            acc[r * m->at.tile.blocks + b] = v;
    }
}

static void
finish_sums(maker *m, int rows, cg_value pixel, cg_value const *acc)
{
    int64_t apart = m->d.apart_w ? m->d.apart_w : 1;
    cg *g = m->j->g;
    int blocks = m->at.tile.blocks, last = m->at.tile.last;

    if (m->d.form.dots) {
        glow_cpu_finish_dots(
            m->j, &m->d, (cpu_place){pixel, m->at.channel, 0, 0}, rows, acc);
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int b = 0; b < blocks; b++) {
            cg_value v = acc[r * blocks + b];
            cpu_place at = {pixel, m->at.channel, r * apart, b * m->s.lanes};

            if (b == blocks - 1 && last < m->s.lanes) {
                v = glow_cg_first(g, v, last);
                if (m->d.bias >= 0)
                    v = cg_fadd(
                        g, v,
                        glow_cg_load(g, m->j->in[m->d.bias],
                                     cg_addc(g, m->at.channel, at.col_plus),
                                     last));
            }
            glow_cpu_finish(m->j, at, v);
        }
}

/* The partial sums of a tile, in scratch, if the depth is cut. */
typedef struct kept {
    cg_value at;
    int64_t vector; /* bytes */
    int count;
} kept;

static void
keep(cg *g, const kept *k, cg_value const *acc)
{
    for (int i = 0; i < k->count; i++)
        glow_cg_store_raw(g, acc[i], glow_cg_atc(g, k->at, i * k->vector));
}

static void
add_kept(cg *g, const kept *k, cg_value *acc)
{
    for (int i = 0; i < k->count; i++) {
        cg_value at = glow_cg_atc(g, k->at, i * k->vector);

        acc[i] =
            cg_fadd(g, acc[i], glow_cg_load_raw(g, LLVMTypeOf(acc[i]), at));
    }
}

/* Tiles of a line, but the last. */
static int64_t
line_tiles(const maker *m)
{
    int64_t tiles = 0;

    for (int i = 0; i < m->n_runs; i++)
        tiles += m->runs[i].count;
    return tiles;
}

/*
 * Stores the partial sums `acc` of a part of the depth to scratch, added to the
 * sums of the parts before.
 */
static void
keep_sums(maker *m, const kept *k, cg_value *acc)
{
    cg *g = m->j->g;
    cg_value zero = cg_i64(g, 0);
    cg_if s;

    glow_cg_if(g, &s, cg_icmp(g, LLVMIntEQ, m->at.part, zero));
    keep(g, k, acc);
    glow_cg_end_if(g, &s);
    glow_cg_if(g, &s, cg_icmp(g, LLVMIntNE, m->at.part, zero));
    add_kept(g, k, acc);
    keep(g, k, acc);
    glow_cg_end_if(g, &s);
}

/* Location of the partial sums of tile `tile` of `line`. */
static kept
kept_of(const maker *m, int rows, cg_value line, cg_value tile)
{
    cg *g = m->j->g;
    int64_t vector = m->s.lanes * (int64_t)sizeof(float);
    bool near = m->d.flat.near > 0;
    cg_value from = near ? m->at.kept : m->j->scratch;
    cg_value at =
        near ? cg_sub(g, line, m->at.kept0)
             : cg_add(g, cg_mulc(g, m->at.group_number, m->d.out_h), line);

    at = cg_add(g, cg_mulc(g, at, line_tiles(m)), tile);
    at = cg_mulc(g, at, m->s.rows * m->s.blocks * vector);
    return (kept){glow_cg_at(g, from, at), vector, rows * m->at.tile.blocks};
}

/*
 * True if the tile leaves registers for several streams: LLVM's scheduler loads from all
 * of them ahead of the multiplications, and spills the sums where there are many (13
 * rows of two vectors: half the speed).  One row is bound by memory.
 */
static bool
has_few_sums(const maker *m)
{
    int sums = m->s.rows * m->at.tile.blocks;

    return m->s.rows == 1 || sums <= m->j->g->target->registers / 4;
}

/*
 * Chooses how weights that are not cached are read: in several places at once
 * if there is one tile of few sums, else by prefetches in all tiles, if each chunk has
 * enough to prefetch.
 */
static void
plan_reading(maker *m, int64_t group)
{
    const direct *d = &m->d;
    int64_t times = m->s.lines * line_tiles(m) * d->kernel_h;
    int64_t chunks = times * glow_cpu_tile_chunks(&m->at.tile);
    int64_t most;

    m->at.tile.ahead = m->at.tile.streams = 0;
    if (!d->packed || d->by_panels || m->by_groups ||
        glow_cpu_weight_bytes(d) <= m->j->g->target->cache_bytes / FEW_WEIGHTS)
        return;
    if (times == 1 && d->kernel_w == 1 && has_few_sums(m))
        m->at.tile.streams = m->j->g->target->streams;
    else if (group >= CPU_LINE / 8 * chunks)
        m->at.tile.ahead = glow_cpu_tile_ahead(&m->at.tile, group, times);
    most = glow_cpu_knob(m->j->g->target, CPU_KNOB_AHEAD, m->at.tile.ahead);
    if (m->at.tile.ahead > most)
        m->at.tile.ahead = (int)most;
}

/*
 * Address of the weights of the next group that tile `tile` of `line`
 * prefetches.
 */
static cg_value
ahead_of(const maker *m, cg_value line, cg_value tile)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int64_t group = glow_cpu_group_bytes(d, &m->s, m->at.tile.blocks);
    int64_t share = m->at.tile.ahead * CPU_LINE * d->kernel_h *
                    glow_cpu_tile_chunks(&m->at.tile);
    cg_value number;

    if (!m->at.tile.ahead)
        return NULL;
    number = cg_mulc(g, cg_sub(g, line, m->at.line0), line_tiles(m));
    number = cg_add(g, number, tile);
    return glow_cg_at(g, m->at.weights,
                      cg_addc(g, cg_mulc(g, number, share), group));
}

/*
 * Lines of the input that are read first by the tiles of one block of lines, and so are
 * prefetched by those of the block before.  Where each group of channels reads all lines,
 * a block is a line.
 */
static int64_t
block_lines(const maker *m)
{
    return m->s.lines < m->d.out_h ? m->s.lines : 1;
}

/*
 * Chooses how many lines of the cache of the input of the next block each chunk
 * prefetches, where no cache holds the input: a tile reads several rows of it, of a few
 * lines each, which end before the hardware has found that they are sequential.  The first
 * group of channels would wait for memory.
 */
static void
plan_input(maker *m)
{
    const direct *d = &m->d;
    int64_t lines = block_lines(m), bytes;
    int64_t panels = m->s.lines < d->out_h ? glow_cpu_channel_groups(&m->s) : 1;
    int64_t chunks = panels * lines * line_tiles(m) * d->kernel_h *
                     glow_cpu_tile_chunks(&m->at.tile);

    m->at.tile.input_ahead = 0;
    if (chunks <= 0 || !d->packed || d->widens || d->groups > 1 ||
        d->flat.cut || d->flat.near || d->kernel_h < d->stride_h ||
        d->batch * glow_cpu_pixels_in(d) * d->pixel <=
            m->j->g->target->cache_bytes)
        return;
    bytes = lines * d->stride_h * d->in_w * d->pixel;
    bytes = cg_ceil_div(bytes, CPU_LINE * chunks);
    m->at.tile.input_ahead =
        bytes < CPU_MOST_AHEAD ? (int)bytes : CPU_MOST_AHEAD;
}

/* Address of the input that tile `tile` of `line` prefetches. */
static cg_value
input_ahead_of(const maker *m, cg_value line, cg_value tile)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int64_t lines = block_lines(m), row = d->in_w * d->pixel;
    int64_t reach = (d->kernel_h - 1) * d->dilation_h + 1 - d->pad_h;
    int64_t share = m->at.tile.input_ahead * CPU_LINE * d->kernel_h *
                    glow_cpu_tile_chunks(&m->at.tile);
    bool is_block = m->s.lines < d->out_h;
    cg_value first = is_block ? m->at.line0 : line, number = tile, at;

    if (!m->at.tile.input_ahead)
        return NULL;
    if (is_block) {
        number = cg_sub(g, line, first);
        number = cg_add(g, number, cg_mulc(g, m->at.group_number, lines));
        number = cg_add(g, cg_mulc(g, number, line_tiles(m)), tile);
    }
    at = cg_mulc(g, cg_addc(g, first, lines - 1), d->stride_h * row);
    at = cg_add(g, at, cg_mulc(g, number, share));
    return glow_cg_at(g, m->at.in, cg_addc(g, at, reach * row));
}

/* The number of a pixel of the result. */
static cg_value
pixel_of(const maker *m, cg_value line, cg_value x)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    cg_value pixel;

    if (!d->apart_w) {
        pixel =
            cg_affine(g, m->at.batch, glow_cpu_pixels_out(d), line, d->out_w);
        return cg_add(g, pixel, x);
    }
    pixel = cg_affine(g, m->at.batch, d->image, line, d->apart_h);
    pixel = cg_add(g, pixel, cg_mulc(g, x, d->apart_w));
    return cg_addc(g, pixel, d->first);
}

/*
 * Prefetches the operands and results of the epilogue of this tile, or of the
 * next tile if this one takes less than the latency of memory.
 */
static void
prefetch_epilogue(maker *m, const cpu_run *r, cg_value pixel)
{
    const direct *d = &m->d;
    int64_t apart = d->apart_w ? d->apart_w : 1;
    int64_t steps = d->kernel_h * d->kernel_w * m->at.tile.depth;
    double cycles = (double)(steps * r->rows * m->at.tile.blocks) /
                    m->j->g->target->multiplies;
    cpu_place at = {.row = pixel, .col = m->at.channel};

    if (cycles < MEMORY)
        at.row_plus = r->rows * apart;
    glow_cpu_prefetch(m->j, at, r->rows, apart,
                      d->form.dots ? d->outputs
                                   : m->at.tile.blocks * m->s.lanes,
                      m->j->g->target->cache_bytes);
}

/* One tile: `line` of the result, from pixel `x` of it on. */
static void
make_tile(maker *m, const cpu_run *r, cg_value line, cg_value x, cg_value tile)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    cpu_window_axis axis = {d->in_h,       d->out_h, d->kernel_h, d->stride_h,
                            d->dilation_h, d->pad_h, d->pad_h};
    cpu_taps taps = glow_cpu_taps(g, &axis, line, 0, d->in_h);
    cg_value ix = cg_addc(g, cg_mulc(g, x, d->stride_w), -d->pad_w);
    cg_value at = cg_add(g, cg_mulc(g, taps.base, d->in_w), ix);
    cg_value acc[CG_MAX_CARRIED];

    start_sums(m, r->rows, acc);
    if (!m->at.keeps)
        prefetch_epilogue(m, r, pixel_of(m, line, x));
    if (d->kernel_h * d->kernel_w > 0) {
        cg_value in = glow_cg_at(g, m->at.in, cg_mulc(g, at, d->pixel));
        cpu_ahead ahead;

        ahead.weights = ahead_of(m, line, tile);
        ahead.input = input_ahead_of(m, line, tile);
        glow_cpu_emit_tile(g, &m->at.tile, r->rows, r->valid, in, m->at.weights,
                           ahead, taps.first, taps.last, !always_has_taps(d),
                           acc);
    }
    if (d->flat.cut || d->flat.near) {
        kept k = kept_of(m, r->rows, line, tile);

        if (m->at.keeps) {
            keep_sums(m, &k, acc);
            return;
        }
        add_kept(g, &k, acc);
    }
    finish_sums(m, r->rows, pixel_of(m, line, x), acc);
}

/* The tail of the last line, after whole tiles. */
static void
make_rest(maker *m, cg_value line)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int rest = d->flat.rows ? (int)(d->flat.last_w % d->flat.rows) : 0;
    int64_t taps = rest * d->kernel_w;
    cpu_run run = {d->flat.last_w - rest, 1, rest, NULL};
    bool *valid;
    cg_if s;

    if (!rest)
        return;
    valid = GLOW_NEW_ARRAY(g->arena, bool, (size_t)taps);
    for (int64_t i = 0; i < taps; i++)
        valid[i] = true;
    run.valid = valid;
    glow_cg_if(g, &s, cg_icmp(g, LLVMIntEQ, line, cg_i64(g, d->out_h - 1)));
    make_tile(m, &run, line, cg_i64(g, run.first),
              cg_i64(g, d->flat.last_w / d->flat.rows));
    glow_cg_end_if(g, &s);
}

/* Begins a loop over the assigned units among `count`, from number `from` on. */
static void
begin_some(maker *m, cg_loop *l, int64_t from, int64_t count)
{
    cg *g = m->j->g;
    cg_value begin = cg_addc(g, m->units.begin, -from);
    cg_value end = cg_addc(g, m->units.end, -from);

    begin = glow_cg_imax(g, begin, cg_i64(g, 0));
    end = glow_cg_imin(g, end, cg_i64(g, count));
    glow_cg_loop_guarded(g, l, begin, end, 1, NULL, 0);
}

/* Begins a loop over the tiles of a run in a line, `done` tiles behind its first. */
static void
begin_tiles(maker *m, cg_loop *l, const cpu_run *r, cg_value line, int64_t done)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    cg_value whole = cg_i64(g, r->count);

    if (m->by_tiles && m->j->split) {
        begin_some(m, l, done, r->count);
        return;
    }
    if (!d->flat.rows || d->flat.last_w / d->flat.rows == r->count) {
        glow_cg_for(g, l, r->count);
        return;
    }
    glow_cg_loop_guarded(
        g, l, cg_i64(g, 0),
        cg_select(g, cg_icmp(g, LLVMIntEQ, line, cg_i64(g, d->out_h - 1)),
                  cg_i64(g, d->flat.last_w / d->flat.rows), whole),
        1, NULL, 0);
}

/*
 * All tiles of lines from `first` to `end`, for the current group of channels.
 */
static void
make_lines(maker *m, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    cg_loop lines, tiles;
    int64_t done = 0;

    glow_cg_loop(g, &lines, first, end, 1, NULL, 0);
    for (int i = 0; i < m->n_runs; i++) {
        const cpu_run *r = &m->runs[i];

        begin_tiles(m, &tiles, r, lines.i, done);

        cg_value x = cg_addc(g, cg_mulc(g, tiles.i, r->rows), r->first);

        make_tile(m, r, lines.i, x, cg_addc(g, tiles.i, done));
        glow_cg_loop_end(g, &tiles, NULL);
        done += r->count;
    }
    make_rest(m, lines.i);
    glow_cg_loop_end(g, &lines, NULL);
}

/* Lines from `first` to `end`, whose sums are kept, part by part of the depth. */
static void
make_near(maker *m, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    cpu_tile *t = &m->at.tile;
    int64_t near = d->flat.near, whole = (d->channels - 1) / near;
    int64_t part = near * glow_cpu_depth_size(d);
    cg_value in = m->at.in, weights = m->at.weights;
    cg_loop l;

    m->at.kept0 = first;
    m->at.keeps = true;
    t->depth = near;
    m->at.part = glow_cg_for(g, &l, whole);
    m->at.in = glow_cg_at(g, in, cg_mulc(g, l.i, part));
    m->at.weights = glow_cg_at(g, weights, cg_mulc(g, l.i, near * t->w_depth));
    make_lines(m, first, end);
    glow_cg_loop_end(g, &l, NULL);
    m->at.keeps = false;
    t->depth = d->channels - whole * near;
    m->at.part = cg_i64(g, whole);
    m->at.in = glow_cg_atc(g, in, whole * part);
    m->at.weights = glow_cg_atc(g, weights, whole * near * t->w_depth);
    make_lines(m, first, end);
    t->depth = d->channels;
    m->at.in = in;
    m->at.weights = weights;
}

/* All lines of a panel, if panels are cut as many at a time as sums are kept of. */
static void
make_panel(maker *m, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    int64_t lines = glow_cpu_near_lines(&m->d, &m->s);
    cg_loop l;

    m->at.line0 = first;
    if (!m->d.flat.near) {
        make_lines(m, first, end);
        return;
    }
    glow_cg_loop(g, &l, first, end, lines, NULL, 0);
    make_near(m, l.i, glow_cg_imin(g, cg_addc(g, l.i, lines), end));
    glow_cg_loop_end(g, &l, NULL);
}

/* A place on the stack for the partial sums of a panel. */
static cg_value
kept_on_stack(const maker *m)
{
    cg *g = m->j->g;
    LLVMTypeRef vector = glow_cg_vector(g->f32, m->s.lanes);
    int64_t count = CPU_NEAR_KEPT / (m->s.lanes * (int64_t)sizeof(float));
    cg_value at =
        glow_cg_local(g, LLVMGetUndef(LLVMArrayType2(vector, (uint64_t)count)));

    LLVMSetAlignment(at, CPU_LINE);
    return at;
}

/*
 * Begins a loop over the assigned ones of `count` groups of channels, which
 * have the numbers from `from` on; over all unless threads share channels.
 */
static void
begin_channels(maker *m, cg_loop *l, int64_t from, int64_t count)
{
    if (m->by_channels && m->j->split)
        begin_some(m, l, from, count);
    else
        glow_cg_for(m->j->g, l, count);
}

/* The input of the image and group of channels at hand. */
static cg_value
input_of(const maker *m)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int64_t pixel = d->flat.from ? d->flat.from : d->pixel;
    cg_value at =
        glow_cg_at(g, m->j->in[0].at,
                   cg_mulc(g, m->at.batch, glow_cpu_pixels_in(d) * pixel));

    return glow_cg_at(
        g, at, cg_mulc(g, m->at.group, d->channels * glow_cpu_depth_size(d)));
}

/* All images, for the current group of channels. */
static void
make_images(maker *m)
{
    cg *g = m->j->g;
    cg_loop l;

    m->at.batch = glow_cg_for(g, &l, m->d.batch);
    m->at.in = input_of(m);
    make_lines(m, cg_i64(g, 0), cg_i64(g, m->d.out_h));
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * Lanes of half a vector of 64 bytes, if it holds the `last` channels of the last of `blocks`
 * vectors; else 0.  Alone it is never slower.  Beside whole vectors it loads the input
 * once more, which pays where the core executes these in halves: 72 channels by 24 took
 * 0.126 ms on an AMD Zen 4, and 0.096 so.
 */
static int
half_of(const maker *m, int blocks, int last)
{
    const direct *d = &m->d;
    int lanes = m->s.lanes;

    return d->packed && d->form.numbers == CPU_FLOATS &&
                   (blocks == 1 || m->j->g->target->halves) &&
                   lanes * (int)sizeof(float) == CPU_LINE && last <= lanes / 2
               ? lanes / 2
               : 0;
}

/* `count` groups of `blocks` vectors of channels from vector `from` on. */
static void
make_channels(maker *m, int64_t from, int64_t count, int blocks, int last,
              cg_value weights, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int64_t lanes = m->s.lanes;
    cg_value channel;
    cg_loop l;

    if (!count)
        return;
    m->at.tile.blocks = blocks;
    m->at.tile.last = last;
    m->at.tile.last_lanes = half_of(m, blocks, last);
    m->at.tile.w_depth =
        (d->packed ? blocks * lanes : d->outputs) * glow_cpu_weight_size(d);
    plan_reading(m, d->kernel_h * d->kernel_w * m->at.tile.depth *
                        m->at.tile.w_depth);
    plan_input(m);
    begin_channels(m, &l, from / m->s.blocks, count);
    m->at.group_number = cg_addc(g, l.i, from / m->s.blocks);
    m->at.channel = cg_addc(g, cg_mulc(g, l.i, blocks * lanes), from * lanes);
    channel = m->at.channel;
    m->at.channel =
        cg_add(g, m->at.channel, cg_mulc(g, m->at.group, d->outputs));
    if (m->by_groups) {
        m->at.weights =
            d->turned
                ? glow_cpu_turn_group(m->j, d, &m->s, m->at.group, channel,
                                      blocks, last)
                : glow_cg_at(
                      g, weights,
                      cg_mulc(g, l.i, glow_cpu_group_bytes(d, &m->s, blocks)));
        make_images(m);
        glow_cg_loop_end(g, &l, NULL);
        return;
    }
    m->at.weights =
        d->by_panels
            ? glow_cpu_turn_group(m->j, d, &m->s, m->at.group, channel, blocks,
                                  last)
            : glow_cg_at(g, weights,
                         cg_mulc(g, l.i,
                                 d->packed
                                     ? glow_cpu_group_bytes(d, &m->s, blocks)
                                     : blocks * m->at.tile.w_block));
    if (d->flat.cut)
        m->at.weights =
            glow_cg_at(g, m->at.weights,
                       cg_mulc(g, m->at.part,
                               d->kernel_h * d->kernel_w * d->flat.cut *
                                   m->at.tile.w_depth));
    make_panel(m, first, end);
    glow_cg_loop_end(g, &l, NULL);
}

static void
make_block(maker *m, cg_value weights, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    const shape *s = &m->s;
    int64_t done = s->full * (d->packed ? glow_cpu_group_bytes(d, s, s->blocks)
                                        : s->blocks * m->at.tile.w_block);
    bool ends = !s->rest && s->last < s->lanes;
    int64_t whole = s->full - ends;

    make_channels(m, 0, whole, s->blocks, s->lanes, weights, first, end);
    if (ends)
        make_channels(m, whole * s->blocks, 1, s->blocks, s->last,
                      glow_cg_atc(g, weights, done / s->full * whole), first,
                      end);
    if (s->rest)
        make_channels(m, s->full * s->blocks, 1, s->rest, s->last,
                      glow_cg_atc(g, weights, done), first, end);
}

/* A pixel of the operand and its copy. */
typedef struct pixel_copy {
    cg_tensor from, to;
} pixel_copy;

static void
copy_lanes(cpu_job *j, cg_value at, int lanes, void *user)
{
    const pixel_copy *p = user;

    glow_cg_store(j->g, p->to, at, glow_cg_load(j->g, p->from, at, lanes));
}

/* Copies m->at.tile.depth elements of all pixels at `in` to scratch; returns their address. */
static cg_value
copy_part(maker *m, cg_value in)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    pixel_copy p = {{NULL, &glow_cpu_float}, {NULL, &glow_cpu_float}};
    cg_value part =
        glow_cg_atc(g, m->j->scratch, glow_cpu_kept_bytes(d, &m->s));
    cg_loop pixels;

    glow_cg_for(g, &pixels, glow_cpu_pixels_in(d));
    p.from.at = glow_cg_at(g, in, cg_mulc(g, pixels.i, d->flat.from));
    p.to.at = glow_cg_at(g, part, cg_mulc(g, pixels.i, d->pixel));
    glow_cpu_lanes_for(m->j, 0, m->at.tile.depth, copy_lanes, &p);
    glow_cg_loop_end(g, &pixels, NULL);
    return part;
}

/* Sets m->at.in to the part of the input at `in`. */
static void
begin_part(maker *m, cg_value in)
{
    m->at.in = m->d.flat.from ? copy_part(m, in) : in;
}

/* Computes a block in passes over parts of the depth, if it is cut. */
static void
make_parts(maker *m, cg_value weights, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int64_t whole = d->flat.cut ? (d->channels - 1) / d->flat.cut : 0;
    int64_t part = d->flat.cut * glow_cpu_depth_size(d);
    cg_value in = m->at.in;
    cg_loop l;

    if (d->flat.cut) {
        m->at.keeps = true;
        m->at.tile.depth = d->flat.cut;
        glow_cg_for(g, &l, whole);
        m->at.part = l.i;
        begin_part(m, glow_cg_at(g, in, cg_mulc(g, m->at.part, part)));
        make_block(m, weights, first, end);
        glow_cg_loop_end(g, &l, NULL);
        m->at.keeps = false;
        m->at.tile.depth = d->channels - whole * d->flat.cut;
        m->at.part = cg_i64(g, whole);
        begin_part(m, glow_cg_atc(g, in, whole * part));
    }
    make_block(m, weights, first, end);
    m->at.in = in;
}

void
glow_cpu_emit_direct(cpu_job *j, const direct *from)
{
    cg *g = j->g;
    maker m = {.j = j, .d = glow_cpu_flattened(g->target, *from)};
    direct *d = &m.d;
    cg_loop block;
    cg_value base, weights, outer, first = cg_i64(g, 0), end;
    int64_t tiles;

    m.s = glow_cpu_direct_shape(g->target, d);
    m.s.lines = glow_cpu_lines_of(g->target, d, &m.s);
    m.n_runs = glow_cpu_cut_lines(g->arena, d, &m.s, m.runs);
    m.at.tile = (cpu_tile){
        .type = d->type,
        .lanes = m.s.lanes,
        .taps = (int)d->kernel_w,
        .unit = m.s.unit,
        .depth = d->channels,
        .row_step = d->stride_w * d->pixel,
        .tap_row = d->dilation_h * d->in_w * d->pixel,
        .tap_step = d->dilation_w * d->pixel,
        .w_block = m.s.lanes * (d->packed ? glow_cpu_weight_size(d)
                                          : glow_cg_bytes(d->type)),
        .numbers = d->form.numbers,
        .odd = d->form.odd,
        .tail = d->form.tail,
        .weights = d->type,
        .pair_step = d->form.numbers == CPU_PAIRS && !d->packed
                         ? d->outputs * glow_cg_bytes(d->type)
                         : 0,
    };
    if (d->widens)
        m.at.tile.type = &glow_cpu_float;
    m.by_groups = glow_cpu_is_by_groups(g->target, d);
    if (d->flat.near)
        m.at.kept = kept_on_stack(&m);
    base = d->by_panels || (d->turned && m.by_groups) ? j->scratch
           : d->turned ? glow_cpu_turn_weights(j, d, &m.s)
           : d->packed ? glow_cg_atc(g, j->packed, d->w_first)
                       : j->in[1].at;
    tiles = glow_cpu_line_tiles(g->target, d, &m.s);
    m.by_tiles = !m.by_groups && tiles > 0;
    m.by_channels =
        m.by_groups ||
        (!m.by_tiles && glow_cpu_is_by_channels(g->target, d, &m.s));
    if (m.by_groups)
        m.s.lines = d->out_h;
    outer = glow_cpu_units_within(
        j, &m.units, m.by_groups ? d->groups : d->batch * d->groups,
        m.by_tiles      ? tiles
        : m.by_channels ? glow_cpu_channel_groups(&m.s)
                        : d->out_h);
    m.at.batch = cg_over(g, outer, d->groups);
    m.at.group = cg_modulo(g, outer, d->groups);
    end = cg_i64(g, d->out_h);
    if (!m.by_channels && !m.by_tiles) {
        first = m.units.begin;
        end = m.units.end;
    }
    m.at.in = input_of(&m);
    weights = glow_cg_at(g, base, cg_mulc(g, m.at.batch, d->w_batch));
    weights = glow_cg_at(
        g, weights,
        cg_mulc(g, m.at.group, glow_cpu_packed_bytes(d, &m.s) / d->groups));
    glow_cg_loop(g, &block, first, end, m.s.lines, NULL, 0);
    end = glow_cg_imin(g, cg_addc(g, block.i, m.s.lines), end);
    if (d->widens)
        m.at.in = glow_cpu_widen_lines(j, d, m.at.batch, block.i, end);
    make_parts(&m, weights, block.i, end);
    glow_cg_loop_end(g, &block, NULL);
    glow_cg_loop_end(g, &m.units.loop, NULL);
}
