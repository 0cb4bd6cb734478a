/*
 * Convolutions and matrix products by register tiles, of float and of what is
 * computed as float.
 *
 * Both are sums over taps and depth of rows of input times vectors of output
 * channels: a matrix product is a convolution with one tap, whose pixels are
 * the rows of A.  Nothing is padded: at the edges of the image, where other
 * taps are valid, other tiles are made.
 *
 * Order of the loops: batch, group, a block of lines, a group of output
 * channels, the lines of the block, tiles of a line.  So the weights of one
 * group of channels are read from the cache for all tiles of the block, and the
 * input of the block for all groups.
 *
 * Constant weights are packed when the code is made, in the order in which the
 * tiles read them.
 */

#include "codegen/cpu/kernels/direct.h"
#include "codegen/cpu/kernels/runs.h"
#include "codegen/cpu/kernels/tile.h"

#define MOST_ROWS 30
#define ENOUGH_UNITS 16 /* for threads to share */

typedef cpu_direct direct;

/* How it is cut up. */
typedef struct shape {
    int lanes, rows, blocks, unit;
    int64_t full;  /* groups of `blocks` vectors of output channels */
    int rest;      /* vectors in the last, smaller group, or 0 */
    int last;      /* lanes of the very last vector */
    int64_t lines; /* of a block */
} shape;

static bool
is_flat(const direct *d)
{
    return d->kernel_h == 1 && d->kernel_w == 1 && d->stride_h == 1 &&
           d->stride_w == 1 && !d->pad_h && !d->pad_w && d->in_h == d->out_h &&
           d->in_w == d->out_w;
}

static int64_t
ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static shape
shape_of(const cpu_target *t, const direct *d)
{
    shape s = {.lanes = t->vector_bytes / 4};
    int64_t vectors = ceil_div(d->outputs, s.lanes);
    int64_t room = t->registers - 2; /* what is broadcast, and one to spare */
    int most;

    /* Enough sums for the latency of a multiplication, even of few rows. */
    s.blocks = d->out_w == 1 ? 8 : d->out_w <= 3 ? 4 : 2;
    while (s.blocks > vectors)
        s.blocks /= 2;
    while (s.blocks > 1 && 2 * s.blocks > room)
        s.blocks /= 2;
    most = (int)((room - s.blocks) / s.blocks);
    /* Rows that begin at the same place of a page fight for the same lines. */
    if (d->pixel * d->stride_w % 4096 == 0 && most > 8)
        most = 8;
    s.rows = glow_cpu_best_rows(d->out_w, s.blocks,
                                most < MOST_ROWS ? most : MOST_ROWS);
    s.unit = 4;
    while (s.unit > 1 && (s.unit > d->channels ||
                          s.unit * d->kernel_w * s.rows * s.blocks > 700))
        s.unit /= 2;
    if (d->channels <= 4 &&
        d->channels * d->kernel_w * s.rows * s.blocks <= 700)
        s.unit = (int)d->channels;
    s.full = vectors / s.blocks;
    s.rest = (int)(vectors % s.blocks);
    s.last = (int)(d->outputs - (vectors - 1) * s.lanes);
    return s;
}

/* Bytes of all weights, and of the input of `lines` lines of the result. */
static int64_t
weight_bytes(const direct *d)
{
    return d->groups * d->kernel_h * d->kernel_w * d->channels * d->outputs * 4;
}

static int64_t
input_bytes(const direct *d, int64_t lines)
{
    return (lines * d->stride_h + d->kernel_h - 1) * d->in_w * d->pixel;
}

/*
 * How many lines to take for all groups of channels before going on: as many as
 * the cache holds the input of, if it holds all weights beside it; else all
 * lines, so that weights are read once.
 */
static int64_t
lines_of(const cpu_target *t, const direct *d)
{
    int64_t lines = d->out_h;

    if (weight_bytes(d) > t->cache_bytes / 2)
        return lines;
    while (lines > 1 && input_bytes(d, lines) > t->cache_bytes / 4)
        lines = (lines + 1) / 2;
    return lines;
}

/*
 * Pixels without neighbours are one line; or, for lines_of to choose from,
 * lines of as many whole tiles as divide them.
 */
static direct
flattened(const cpu_target *t, direct d)
{
    if (!is_flat(&d) || d.apart_w)
        return d;
    d.out_w = d.in_w = d.in_h * d.in_w;
    d.out_h = d.in_h = 1;
    if (!d.w_batch) {
        d.out_w = d.in_w = d.in_w * d.batch;
        d.batch = 1;
    }

    int64_t rows = shape_of(t, &d).rows, tiles = d.out_w / rows;

    if (weight_bytes(&d) > t->cache_bytes / 2 || d.out_w % rows != 0)
        return d;
    for (int64_t i = 1; i <= tiles; i++)
        if (tiles % i == 0 && (i >= ENOUGH_UNITS || i == tiles) &&
            rows * tiles / i * d.pixel <= t->cache_bytes / 4) {
            d.out_h = d.in_h = i;
            d.out_w = d.in_w = rows * tiles / i;
            break;
        }
    return d;
}

/* Bytes of the packed weights of `blocks` vectors of channels. */
static int64_t
group_bytes(const direct *d, const shape *s, int blocks)
{
    return d->kernel_h * d->kernel_w * d->channels * blocks * s->lanes * 4;
}

static int64_t
packed_bytes(const direct *d, const shape *s)
{
    return d->groups * (s->full * group_bytes(d, s, s->blocks) +
                        group_bytes(d, s, s->rest));
}

static int
cut(glow_arena *a, const direct *d, const shape *s, cpu_run *runs)
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
    direct d = flattened(t, *from);
    shape s = shape_of(t, &d);
    cpu_run runs[CPU_MOST_RUNS];
    int n = d.kernel_w > 64 ? 0 : cut(a, &d, &s, runs);
    int64_t code = 0;

    for (int i = 0; i < n; i++)
        code += runs[i].rows * s.blocks * d.kernel_w * s.unit;
    glow_arena_free(a);
    return n ? code : INT64_MAX;
}

/*
 * Units: lines of the result, so that their input is shared; or groups of
 * channels, so that weights are, where these are many or lines are few.
 */

static int64_t
channel_groups(const shape *s)
{
    return s->full + (s->rest > 0);
}

static bool
is_by_channels(const cpu_target *t, const direct *d, const shape *s)
{
    int64_t outer = d->batch * d->groups, groups = channel_groups(s);

    if (outer >= ENOUGH_UNITS)
        return false;
    if (weight_bytes(d) / d->groups > t->cache_bytes / 2)
        return groups >= 4 || groups >= d->out_h;
    return outer * d->out_h < ENOUGH_UNITS && groups > d->out_h;
}

int64_t
glow_cpu_direct_units(const cpu_target *t, const direct *from)
{
    direct d = flattened(t, *from);
    shape s = shape_of(t, &d);

    return d.batch * d.groups *
           (is_by_channels(t, &d, &s) ? channel_groups(&s) : d.out_h);
}

/* Code. */

typedef struct maker {
    cpu_job *j;
    direct d;
    shape s;
    cpu_run runs[CPU_MOST_RUNS];
    int n_runs;
    cg_value batch, group; /* at hand */
    cg_value channel;      /* the first output channel at hand, of all */
    cg_value weights, in;
    cg_value line0; /* the first line of the block */
    bool by_channels;
    cpu_within units; /* of this batch and group: lines, or channel groups */
    cpu_tile tile;
} maker;

/* Is line `out` known to have taps, whatever it is? */
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
    LLVMTypeRef t = glow_cpu_vector(g->f32, m->s.lanes);
    int bias = m->d.bias;

    for (int b = 0; b < m->tile.blocks; b++) {
        bool whole = b < m->tile.blocks - 1 || m->tile.last == m->s.lanes;
        cg_value v = LLVMConstNull(t);

        if (bias >= 0 && whole)
            v = glow_cpu_load(g, m->j->in[bias],
                              cg_addc(g, m->channel, b * m->s.lanes),
                              m->s.lanes);
        for (int r = 0; r < rows; r++)
            acc[r * m->tile.blocks + b] = v;
    }
}

static void
finish_sums(maker *m, int rows, cg_value pixel, cg_value const *acc)
{
    int64_t apart = m->d.apart_w ? m->d.apart_w : 1;
    cg *g = m->j->g;
    int blocks = m->tile.blocks, last = m->tile.last;

    for (int r = 0; r < rows; r++)
        for (int b = 0; b < blocks; b++) {
            cg_value v = acc[r * blocks + b];
            cpu_place at = {pixel, m->channel, r * apart, b * m->s.lanes};

            if (b == blocks - 1 && last < m->s.lanes) {
                v = glow_cpu_first(g, v, last);
                if (m->d.bias >= 0)
                    v = cg_fadd(g, v,
                                glow_cpu_load(
                                    g, m->j->in[m->d.bias],
                                    cg_addc(g, m->channel, at.col_plus), last));
            }
            glow_cpu_finish(m->j, at, v);
        }
}

/* Tiles of a line. */
static int64_t
line_tiles(const maker *m)
{
    int64_t tiles = 0;

    for (int i = 0; i < m->n_runs; i++)
        tiles += m->runs[i].count;
    return tiles;
}

/*
 * Weights that are read once come from memory.  So while the tiles of a block
 * are made, each chunk prefetches its share of the weights that follow.
 */
static void
plan_prefetch(maker *m, int64_t group)
{
    const direct *d = &m->d;
    int64_t chunks = m->s.lines * line_tiles(m) * d->kernel_h *
                     glow_cpu_tile_chunks(&m->tile);

    m->tile.ahead = 0;
    if (d->packed && weight_bytes(d) > m->j->g->target->cache_bytes / 2 &&
        group >= 64 * chunks / 8)
        m->tile.ahead = (int)ceil_div(group, 64 * chunks);
    if (m->tile.ahead > 12)
        m->tile.ahead = 12;
}

/* What tile number `tile` of `line` prefetches. */
static cg_value
ahead_of(const maker *m, cg_value line, cg_value tile)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int64_t group = group_bytes(d, &m->s, m->tile.blocks);
    int64_t share =
        m->tile.ahead * 64 * d->kernel_h * glow_cpu_tile_chunks(&m->tile);
    cg_value number;

    if (!m->tile.ahead)
        return NULL;
    number = cg_mulc(g, cg_sub(g, line, m->line0), line_tiles(m));
    number = cg_add(g, number, tile);
    return glow_cpu_at(g, m->weights,
                       cg_addc(g, cg_mulc(g, number, share), group));
}

/* The number of a pixel of the result. */
static cg_value
pixel_of(const maker *m, cg_value line, cg_value x)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    cg_value pixel;

    if (!d->apart_w) {
        pixel = cg_add(g, cg_mulc(g, m->batch, d->out_h), line);
        return cg_add(g, cg_mulc(g, pixel, d->out_w), x);
    }
    pixel =
        cg_add(g, cg_mulc(g, m->batch, d->image), cg_mulc(g, line, d->apart_h));
    pixel = cg_add(g, pixel, cg_mulc(g, x, d->apart_w));
    return cg_addc(g, pixel, d->first);
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
    if (d->kernel_h * d->kernel_w > 0)
        glow_cpu_emit_tile(g, &m->tile, r->rows, r->valid,
                           glow_cpu_at(g, m->in, cg_mulc(g, at, d->pixel)),
                           m->weights, ahead_of(m, line, tile), taps.first,
                           taps.last, !always_has_taps(d), acc);
    finish_sums(m, r->rows, pixel_of(m, line, x), acc);
}

/* All tiles of lines from `first` to `end`, for the channels at hand. */
static void
make_lines(maker *m, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    cg_loop lines, tiles;
    int64_t done = 0;

    m->line0 = first;
    glow_cpu_loop(g, &lines, first, end, 1, NULL, 0);
    for (int i = 0; i < m->n_runs; i++) {
        const cpu_run *r = &m->runs[i];

        glow_cpu_for(g, &tiles, r->count);
        make_tile(m, r, lines.i,
                  cg_addc(g, cg_mulc(g, tiles.i, r->rows), r->first),
                  cg_addc(g, tiles.i, done));
        glow_cpu_loop_end(g, &tiles, NULL);
        done += r->count;
    }
    glow_cpu_loop_end(g, &lines, NULL);
}

/*
 * Begins a loop over those of `count` groups of channels, of which the first is
 * number `from` of all, that are to be made.
 */
static void
begin_channels(maker *m, cg_loop *l, int64_t from, int64_t count)
{
    cg *g = m->j->g;

    if (!m->by_channels || !m->j->split) {
        glow_cpu_for(g, l, count);
        return;
    }
    glow_cpu_loop_guarded(
        g, l, glow_cpu_imax(g, cg_addc(g, m->units.begin, -from), cg_i64(g, 0)),
        glow_cpu_imin(g, cg_addc(g, m->units.end, -from), cg_i64(g, count)), 1,
        NULL, 0);
}

/* `count` groups of `blocks` vectors of channels from vector `from` on. */
static void
make_channels(maker *m, int64_t from, int64_t count, int blocks, int last,
              cg_value weights, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    int64_t lanes = m->s.lanes;
    cg_loop l;

    if (!count)
        return;
    m->tile.blocks = blocks;
    m->tile.last = last;
    m->tile.w_depth = d->packed ? blocks * lanes * 4 : d->outputs * 4;
    plan_prefetch(m, group_bytes(d, &m->s, blocks));
    begin_channels(m, &l, from / m->s.blocks, count);
    m->channel = cg_addc(g, cg_mulc(g, l.i, blocks * lanes), from * lanes);
    m->channel = cg_add(g, m->channel, cg_mulc(g, m->group, d->outputs));
    m->weights = glow_cpu_at(g, weights,
                             cg_mulc(g, l.i,
                                     d->packed ? group_bytes(d, &m->s, blocks)
                                               : blocks * lanes * 4));
    make_lines(m, first, end);
    glow_cpu_loop_end(g, &l, NULL);
}

static void
make_block(maker *m, cg_value weights, cg_value first, cg_value end)
{
    cg *g = m->j->g;
    const direct *d = &m->d;
    const shape *s = &m->s;
    int64_t done = s->full * (d->packed ? group_bytes(d, s, s->blocks)
                                        : s->blocks * s->lanes * 4);
    bool ends = !s->rest && s->last < s->lanes;
    int64_t whole = s->full - ends;

    make_channels(m, 0, whole, s->blocks, s->lanes, weights, first, end);
    if (ends)
        make_channels(m, whole * s->blocks, 1, s->blocks, s->last,
                      glow_cpu_atc(g, weights, done / s->full * whole), first,
                      end);
    if (s->rest)
        make_channels(m, s->full * s->blocks, 1, s->rest, s->last,
                      glow_cpu_atc(g, weights, done), first, end);
}

void
glow_cpu_emit_direct(cpu_job *j, const direct *from)
{
    cg *g = j->g;
    maker m = {.j = j, .d = flattened(g->target, *from)};
    direct *d = &m.d;
    cg_loop block;
    cg_value base = d->packed ? glow_cpu_atc(g, j->packed, d->w_first)
                              : j->in[1].at,
             weights, outer;
    cg_value first = cg_i64(g, 0), end;

    m.s = shape_of(g->target, d);
    m.s.lines = lines_of(g->target, d);
    m.n_runs = cut(g->arena, d, &m.s, m.runs);
    m.tile = (cpu_tile){
        .type = d->type,
        .lanes = m.s.lanes,
        .taps = (int)d->kernel_w,
        .unit = m.s.unit,
        .depth = d->channels,
        .row_step = d->stride_w * d->pixel,
        .tap_row = d->dilation_h * d->in_w * d->pixel,
        .tap_step = d->dilation_w * d->pixel,
        .w_block = m.s.lanes * 4,
    };
    m.by_channels = is_by_channels(g->target, d, &m.s);
    outer =
        glow_cpu_units_within(j, &m.units, d->batch * d->groups,
                              m.by_channels ? channel_groups(&m.s) : d->out_h);
    m.batch = cg_over(g, outer, d->groups);
    m.group = cg_modulo(g, outer, d->groups);
    end = cg_i64(g, d->out_h);
    if (!m.by_channels) {
        first = m.units.begin;
        end = m.units.end;
    }
    m.in = glow_cpu_at(g, j->in[0].at,
                       cg_mulc(g, m.batch, d->in_h * d->in_w * d->pixel));
    m.in = glow_cpu_at(
        g, m.in, cg_mulc(g, m.group, d->channels * glow_cpu_bytes(d->type)));
    weights = glow_cpu_at(g, base, cg_mulc(g, m.batch, d->w_batch));
    weights = glow_cpu_at(
        g, weights, cg_mulc(g, m.group, packed_bytes(d, &m.s) / d->groups));
    glow_cpu_loop(g, &block, first, end, m.s.lines, NULL, 0);
    make_block(&m, weights, block.i,
               glow_cpu_imin(g, cg_addc(g, block.i, m.s.lines), end));
    glow_cpu_loop_end(g, &block, NULL);
    glow_cpu_loop_end(g, &m.units.loop, NULL);
}

/* Packing. */

/* Outputs `first` to `end` of what lies `at`, and zeros behind the last. */
static float *
pack_outputs(const direct *d, const cpu_filter *src, int64_t at, int64_t first,
             int64_t end, float *to)
{
    const glow_tensor *from = src->from;
    int64_t last = end < d->outputs ? end : d->outputs;

    if (from->type->elem == GLOW_FLOAT) {
        const float *x = (const float *)from->data + at;

        for (int64_t o = first; o < last; o++)
            *to++ = x[o * src->output];
    } else {
        for (int64_t o = first; o < last; o++)
            *to++ = (float)glow_get_double(from, at + o * src->output);
    }
    for (int64_t o = last; o < end; o++)
        *to++ = 0.0f;
    return to;
}

static float *
pack_group(const direct *d, const shape *s, const cpu_filter *src,
           int64_t group, int64_t vector, int blocks, float *to)
{
    for (int64_t i = 0; i < d->kernel_h; i++)
        for (int64_t c = 0; c < d->channels; c += s->unit) {
            int64_t left = d->channels - c;
            int64_t count = left < s->unit ? left : s->unit;

            for (int64_t j = 0; j < d->kernel_w; j++)
                for (int64_t k = c; k < c + count; k++)
                    to = pack_outputs(
                        d, src,
                        src->first + group * src->group + i * src->row +
                            k * src->depth + j * src->tap,
                        vector * s->lanes, (vector + blocks) * s->lanes, to);
        }
    return to;
}

float *
glow_cpu_pack_direct(const cpu_target *t, const direct *from,
                     const cpu_filter *src, float *to)
{
    direct d = flattened(t, *from);
    shape s = shape_of(t, &d);

    for (int64_t g = 0; g < d.groups; g++) {
        for (int64_t k = 0; k < s.full; k++)
            to = pack_group(&d, &s, src, g, k * s.blocks, s.blocks, to);
        if (s.rest)
            to = pack_group(&d, &s, src, g, s.full * s.blocks, s.rest, to);
    }
    return to;
}

int64_t
glow_cpu_direct_size(const cpu_target *t, const direct *from)
{
    direct d = flattened(t, *from);
    shape s = shape_of(t, &d);

    return packed_bytes(&d, &s);
}

/* Convolution. */

/* False if there are three spatial axes that matter. */
static bool
conv_of(const glow_node *n, direct *out)
{
    const glow_convolution *a = n->attrs;
    glow_dims y = n->out[0]->type->shape;
    cpu_window w = glow_cpu_window(n->in[0]->type->shape, y, a->kernels,
                                   a->strides, a->pads, a->dilation);
    const cpu_window_axis *z = &w.axis[0], *v = &w.axis[1], *h = &w.axis[2];

    *out = (direct){
        .batch = w.batch * z->in,
        .groups = a->group,
        .in_h = v->in,
        .in_w = h->in,
        .out_h = v->out,
        .out_w = h->out,
        .kernel_h = v->kernel,
        .kernel_w = h->kernel,
        .stride_h = v->stride,
        .stride_w = h->stride,
        .dilation_h = v->dilation,
        .dilation_w = h->dilation,
        .pad_h = v->start,
        .pad_w = h->start,
        .channels = w.channels / a->group,
        .outputs = y.at[y.rank - 1] / a->group,
        .pixel = w.channels * glow_cpu_bytes(n->in[0]->type),
        .type = n->in[0]->type,
        .packed = true,
        .bias = n->in[2] ? 2 : -1,
    };
    return z->kernel == 1 && z->stride == 1 && z->start == 0 && z->end == 0;
}

static bool
takes_conv(const cpu_target *t, const glow_node *n)
{
    direct d;

    return t && glow_cpu_all_float(n) && glow_cpu_is_whole_constant(n->in[1]) &&
           conv_of(n, &d) && glow_cpu_direct_code(t, &d) <= CPU_MOST_CODE;
}

static void
emit_conv(cpu_job *j)
{
    direct d;

    conv_of(j->n, &d);
    glow_cpu_emit_direct(j, &d);
}

static int64_t
conv_packed_size(const cpu_target *t, const glow_node *n)
{
    direct d;

    conv_of(n, &d);
    return glow_cpu_direct_size(t, &d);
}

static int64_t
conv_units(const cpu_target *t, const glow_node *n)
{
    direct d;

    conv_of(n, &d);
    return glow_cpu_direct_units(t, &d);
}

/* Filter [O, kernel_h, kernel_w, C]. */
static void
pack_conv(const cpu_target *t, const glow_node *n, const glow_tensor *from,
          void *to)
{
    direct d;

    conv_of(n, &d);

    int64_t row = d.kernel_w * d.channels, output = d.kernel_h * row;

    glow_cpu_pack_direct(
        t, &d,
        &(cpu_filter){from, 0, d.outputs * output, output, row, 1, d.channels},
        to);
}

const cpu_kernel glow_cpu_conv_direct = {
    .name = "conv_direct",
    .op = &glow_op_convolution,
    .takes = takes_conv,
    .emit = emit_conv,
    .stacks = true,
    .packs = 1,
    .packed_size = conv_packed_size,
    .pack = pack_conv,
    .units = conv_units,
};

/* Products. */

/* [rows, depth] [depth, columns], `batch` times with B's apart. */
static direct
product_of(const glow_node *n, int64_t batch, int64_t rows, int64_t depth,
           int64_t columns)
{
    bool packed = batch == 1 && glow_cpu_is_whole_constant(n->in[1]);

    return (direct){
        .batch = batch,
        .groups = 1,
        .in_h = 1,
        .in_w = rows,
        .out_h = 1,
        .out_w = rows,
        .kernel_h = 1,
        .kernel_w = 1,
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = 1,
        .dilation_w = 1,
        .channels = depth,
        .outputs = columns,
        .pixel = depth * glow_cpu_bytes(n->in[0]->type),
        .type = n->in[0]->type,
        .packed = packed,
        .w_batch = batch > 1 ? depth * columns * 4 : 0,
        .bias = n->n_in > 2 && n->in[2] ? 2 : -1,
    };
}

static direct
matmul_of(const glow_node *n)
{
    glow_dims a = n->in[0]->type->shape, b = n->in[1]->type->shape;

    if (n->op == &glow_op_batchmatmul)
        return product_of(n, a.at[0], a.at[1], a.at[2], b.at[2]);
    return product_of(n, 1, n->out[0]->type->shape.at[0], b.at[0], b.at[1]);
}

static bool
takes_matmul(const cpu_target *t, const glow_node *n)
{
    direct d = matmul_of(n);

    return t && glow_cpu_all_float(n) && d.channels > 0 &&
           (d.packed || d.type->elem == GLOW_FLOAT);
}

static void
emit_matmul(cpu_job *j)
{
    direct d = matmul_of(j->n);

    d.packed = j->packed != NULL;
    glow_cpu_emit_direct(j, &d);
}

static int64_t
matmul_packed_size(const cpu_target *t, const glow_node *n)
{
    direct d = matmul_of(n);

    return d.packed ? glow_cpu_direct_size(t, &d) : 0;
}

static int64_t
matmul_units(const cpu_target *t, const glow_node *n)
{
    direct d = matmul_of(n);

    return glow_cpu_direct_units(t, &d);
}

/* B [depth, columns]. */
static void
pack_matmul(const cpu_target *t, const glow_node *n, const glow_tensor *from,
            void *to)
{
    direct d = matmul_of(n);

    glow_cpu_pack_direct(t, &d, &(cpu_filter){from, 0, 0, 1, 0, d.outputs, 0},
                         to);
}

#define PRODUCT(id)                             \
    const cpu_kernel glow_cpu_##id##_direct = { \
        .name = #id "_direct",                  \
        .op = &glow_op_##id,                    \
        .takes = takes_matmul,                  \
        .emit = emit_matmul,                    \
        .stacks = true,                         \
        .packs = 1,                             \
        .packed_size = matmul_packed_size,      \
        .pack = pack_matmul,                    \
        .units = matmul_units,                  \
    }

PRODUCT(batchmatmul);
PRODUCT(fullyconnected);
PRODUCT(matmul);
