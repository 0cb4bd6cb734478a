/*
 * Winograd's convolution: see winograd.h for what it is, winograd_rule.c for
 * when.
 *
 * For each block of tiles: the input is transformed, all points of a tile at
 * once and so many channels as a vector has; for each point the transformed
 * tiles are multiplied by the transformed weights, by register tiles; and the
 * products are transformed into results, which go on in registers into what is
 * stacked on them.
 *
 *     input      [point][tile][channel]
 *     weights    [group][point][vectors][channel][lane], made with the code
 *     products   [point][tile][output]
 *
 * Pixels beside the image are known where the code is made, and are not there;
 * lines above and below are read from a line of zeros.
 */

#include <string.h>

#include "codegen/cpu/kernels/runs.h"
#include "codegen/cpu/kernels/tile.h"
#include "codegen/cpu/kernels/winograd.h"

#define LINE 64
#define MOST_AHEAD 12 /* lines that a chunk prefetches */

typedef struct maker {
    cpu_job *j;
    cpu_winograd w;
    cpu_form form;
    cpu_product p;
    cpu_run runs[CPU_MOST_RUNS]; /* columns of tiles with the same pixels */
    int n_runs;
    cg_value in, v, products, zeros, weights;
    cg_value group;
    cg_value first, end;       /* rows of tiles to make */
    cg_value output0, output1; /* groups of vectors of outputs to make */
    cg_value row0, row1, column0, column1; /* of the block */
    cg_value row, column, tile;            /* at hand; tile in the block */
    cg_value image, line; /* of the tile: of its first result */
} maker;

/* Tiles. */

typedef void (*body_fn)(maker *m, const void *what);

/* Calls `body` for the tiles of a row from column `first` to `end`. */
static void
each_column(maker *m, int64_t first, int64_t end, body_fn body,
            const void *what)
{
    cg *g = m->j->g;
    cg_loop l;

    glow_cpu_loop_guarded(g, &l, glow_cpu_imax(g, m->column0, cg_i64(g, first)),
                          glow_cpu_imin(g, m->column1, cg_i64(g, end)), 1, NULL,
                          0);
    m->column = l.i;
    m->tile = cg_mul(g, cg_sub(g, m->row, m->row0),
                     cg_sub(g, m->column1, m->column0));
    m->tile = cg_add(g, m->tile, cg_sub(g, l.i, m->column0));
    body(m, what);
    glow_cpu_loop_end(g, &l, NULL);
}

static void
begin_rows(maker *m, cg_loop *l)
{
    cg *g = m->j->g;
    cg_value tiles = cg_i64(g, m->w.tiles_h);

    glow_cpu_loop(g, l, m->row0, m->row1, 1, NULL, 0);
    m->row = l->i;
    m->image = LLVMBuildSDiv(g->builder, l->i, tiles, "");
    m->line = cg_sub(g, l->i, cg_mul(g, m->image, tiles));
    m->line = cg_mulc(g, m->line, m->w.m);
}

/*
 * Calls `body` for vectors of the channels from `first` to less than `end`, but
 * of `count` at most, then for what is left of those.
 */
static void
each_vector(maker *m, cg_value first, cg_value end, int64_t count,
            void (*body)(maker *m, cg_value channel, int lanes,
                         const void *what),
            const void *what)
{
    cg *g = m->j->g;
    int lanes = m->p.lanes;
    int64_t whole = count / lanes * lanes;
    cg_value at = cg_i64(g, whole);
    cg_loop l;
    cg_if s;

    if (whole) {
        glow_cpu_loop_guarded(g, &l, first, glow_cpu_imin(g, end, at), lanes,
                              NULL, 0);
        body(m, l.i, lanes, what);
        glow_cpu_loop_end(g, &l, NULL);
    }
    if (whole == count)
        return;
    glow_cpu_if(g, &s, cg_icmp(g, LLVMIntSGT, end, at));
    body(m, at, (int)(count - whole), what);
    glow_cpu_end_if(g, &s);
}

/* The input. */

/* Where the pixels of a tile are: the first of each line, and which exist. */
typedef struct pixels {
    cg_value line[CPU_MOST_POINTS];
    const bool *valid;
} pixels;

static bool
always_within(const cpu_winograd *w, int i)
{
    return i >= w->pad_h && (w->tiles_h - 1) * w->m - w->pad_h + i < w->in_h;
}

static pixels
pixels_of(maker *m, const cpu_run *run)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    pixels p = {.valid = run->valid};
    cg_value x = cg_addc(g, cg_mulc(g, m->column, w->m), -w->pad_w);

    for (int i = 0; i < w->n; i++) {
        cg_value y = cg_addc(g, m->line, i - w->pad_h);
        cg_value at = cg_add(g, cg_mulc(g, m->image, w->in_h), y);
        cg_value from;

        at = cg_add(g, cg_mulc(g, at, w->in_w), x);
        from = glow_cpu_at(g, m->in, cg_mulc(g, at, w->pixel));
        if (!always_within(w, i)) {
            cg_value low = cg_icmp(g, LLVMIntSGE, y, cg_i64(g, 0));
            cg_value high = cg_icmp(g, LLVMIntSLT, y, cg_i64(g, w->in_h));

            from = cg_select(g, cg_and(g, low, high), from, m->zeros);
        }
        p.line[i] = from;
    }
    return p;
}

/* All points of a tile for the channels from `channel` on. */
static void
transform_input(maker *m, cg_value channel, int lanes, const void *what)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const pixels *p = what;
    LLVMTypeRef t = glow_cpu_vector(g->f32, lanes);
    cg_value half[CPU_MOST_POINTS][CPU_MOST_POINTS];
    cg_value x[CPU_MOST_POINTS], y[CPU_MOST_POINTS];
    cg_value at = cg_mulc(g, channel, 4);
    cg_value to =
        glow_cpu_at(g, m->v, cg_add(g, cg_mulc(g, m->tile, w->in_pitch), at));

    for (int k = 0; k < w->n; k++) {
        for (int i = 0; i < w->n; i++)
            x[i] = p->valid[k]
                       ? glow_cpu_load_raw(
                             g, t,
                             glow_cpu_atc(g, glow_cpu_at(g, p->line[i], at),
                                          k * w->pixel))
                       : NULL;
        glow_cpu_form_input(g, &m->form, x, y);
        for (int i = 0; i < w->n; i++)
            half[i][k] = y[i];
    }
    for (int i = 0; i < w->n; i++) {
        glow_cpu_form_input(g, &m->form, half[i], y);
        for (int k = 0; k < w->n; k++)
            glow_cpu_store_raw(
                g, y[k] ? y[k] : LLVMConstNull(t),
                glow_cpu_atc(g, to, (i * w->n + k) * w->in_plane));
    }
}

static void
transform_tile(maker *m, const void *run)
{
    pixels p = pixels_of(m, run);

    each_vector(m, cg_i64(m->j->g, 0), cg_i64(m->j->g, m->w.channels),
                m->w.channels, transform_input, &p);
}

static void
make_input(maker *m)
{
    cg_loop rows;

    begin_rows(m, &rows);
    for (int i = 0; i < m->n_runs; i++) {
        const cpu_run *r = &m->runs[i];

        each_column(m, r->first, r->first + r->count, transform_tile, r);
    }
    glow_cpu_loop_end(m->j->g, &rows, NULL);
}

/* The products. */

/* Those of one point. */
typedef struct product {
    cg_value in, weights, out; /* of the point; weights also of the group */
    cg_value tiles;            /* of the block */
    cpu_tile tile;
} product;

static int64_t
weights_of(const maker *m, int blocks)
{
    return m->w.channels * blocks * m->p.lanes * 4;
}

/* `rows` tiles from number `first` on. */
static void
make_rows(maker *m, const product *x, int rows, cg_value first)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const cpu_tile *t = &x->tile;
    int64_t share = t->ahead * LINE * glow_cpu_tile_chunks(t);
    cg_value acc[CG_MAX_CARRIED], ahead = NULL, in, out;
    bool valid[CG_MAX_CARRIED];

    for (int i = 0; i < rows * t->blocks; i++)
        acc[i] = LLVMConstNull(glow_cpu_vector(g->f32, t->lanes));
    memset(valid, true, sizeof(valid));
    in = glow_cpu_at(g, x->in, cg_mulc(g, first, w->in_pitch));
    out = glow_cpu_at(g, x->out, cg_mulc(g, first, w->out_pitch));
    if (t->ahead) {
        cg_value number =
            LLVMBuildSDiv(g->builder, first, cg_i64(g, m->p.rows), "");

        ahead = glow_cpu_at(
            g, x->weights,
            cg_addc(g, cg_mulc(g, number, share), weights_of(m, t->blocks)));
    }
    glow_cpu_emit_tile(g, t, rows, valid, in, x->weights, ahead, cg_i64(g, 0),
                       cg_i64(g, 1), false, acc);
    for (int r = 0; r < rows; r++)
        for (int b = 0; b < t->blocks; b++)
            glow_cpu_store_raw(
                g, acc[r * t->blocks + b],
                glow_cpu_atc(g, out, r * w->out_pitch + b * t->lanes * 4));
}

/* How many tiles blocks have: up to four numbers, the most first. */
static int
block_sizes(const cpu_winograd *w, int64_t sizes[4])
{
    int64_t rows = w->batch * w->tiles_h % w->rows;
    int64_t columns = w->tiles_w % w->columns;
    int n = 0;

    sizes[n++] = w->rows * w->columns;
    if (rows)
        sizes[n++] = rows * w->columns;
    if (columns)
        sizes[n++] = w->rows * columns;
    if (rows && columns)
        sizes[n++] = rows * columns;
    return n;
}

/* Any number of tiles that is less than a tile of registers has. */
static void
make_any_rest(maker *m, const product *x, cg_value first, cg_value left)
{
    cg *g = m->j->g;
    int rows = 1;

    while (2 * rows < m->p.rows)
        rows *= 2;
    for (; rows > 0; rows /= 2) {
        cg_value part = cg_and(g, left, cg_i64(g, rows));
        cg_if s;

        glow_cpu_if(g, &s, cg_icmp(g, LLVMIntNE, part, cg_i64(g, 0)));
        make_rows(m, x, rows, first);
        glow_cpu_end_if(g, &s);
        first = cg_add(g, first, part);
    }
}

/* Are the tiles of a block only known when it is made? */
static bool
any_size(const maker *m)
{
    return m->j->split && !glow_cpu_winograd_by_outputs(m->j->g->target, &m->w);
}

/* What is left of a block after whole tiles of registers. */
static void
make_rests(maker *m, const product *x, cg_value whole)
{
    cg *g = m->j->g;
    cg_value first = cg_mulc(g, whole, m->p.rows);
    cg_value left = cg_sub(g, x->tiles, first);
    int64_t sizes[4];
    int n = block_sizes(&m->w, sizes);

    if (any_size(m)) {
        make_any_rest(m, x, first, left);
        return;
    }
    for (int i = 0; i < n; i++) {
        int rest = (int)(sizes[i] % m->p.rows);
        bool known = rest == 0;
        cg_if s;

        for (int k = 0; k < i; k++)
            known = known || sizes[k] % m->p.rows == rest;
        if (known)
            continue;
        glow_cpu_if(g, &s, cg_icmp(g, LLVMIntEQ, left, cg_i64(g, rest)));
        make_rows(m, x, rest, first);
        glow_cpu_end_if(g, &s);
    }
}

/*
 * Weights that are read once come from memory: while the tiles of a block are
 * made, each chunk prefetches its share of the weights that follow.
 */
static int
lines_ahead(const maker *m, const cpu_tile *t)
{
    int64_t tiles = (m->w.rows * m->w.columns + m->p.rows - 1) / m->p.rows;
    int64_t chunks = tiles * glow_cpu_tile_chunks(t) * LINE;
    int64_t lines = (weights_of(m, t->blocks) + chunks - 1) / chunks;

    return lines < MOST_AHEAD ? (int)lines : MOST_AHEAD;
}

/* The `count` groups of `blocks` vectors of outputs from number `from` on. */
static void
make_outputs(maker *m, product *x, int64_t from, int64_t count, int blocks)
{
    cg *g = m->j->g;
    product of = *x;
    int64_t lanes = m->p.lanes * 4;
    cg_value whole =
        LLVMBuildSDiv(g->builder, x->tiles, cg_i64(g, m->p.rows), "");
    cg_loop outputs, tiles;

    if (!count)
        return;
    of.tile.blocks = blocks;
    of.tile.w_depth = blocks * lanes;
    of.tile.ahead = lines_ahead(m, &of.tile);
    glow_cpu_loop_guarded(
        g, &outputs, glow_cpu_imax(g, m->output0, cg_i64(g, from)),
        glow_cpu_imin(g, m->output1, cg_i64(g, from + count)), 1, NULL, 0);
    of.out = glow_cpu_at(g, x->out, cg_mulc(g, outputs.i, m->p.blocks * lanes));
    of.weights = glow_cpu_at(g, x->weights,
                             cg_mulc(g, outputs.i, weights_of(m, m->p.blocks)));
    glow_cpu_loop_guarded(g, &tiles, cg_i64(g, 0), whole, 1, NULL, 0);
    make_rows(m, &of, m->p.rows, cg_mulc(g, tiles.i, m->p.rows));
    glow_cpu_loop_end(g, &tiles, NULL);
    make_rests(m, &of, whole);
    glow_cpu_loop_end(g, &outputs, NULL);
}

static void
make_products(maker *m)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const cpu_product *p = &m->p;
    int64_t vectors = p->full * p->blocks + p->rest, sizes[4];
    cg_loop points;
    product x = {
        .tile = {.type = m->j->in[0].type,
                 .lanes = p->lanes,
                 .last = p->lanes,
                 .taps = 1,
                 .unit = 4,
                 .depth = w->channels,
                 .row_step = w->in_pitch,
                 .w_block = p->lanes * 4},
        .tiles = cg_mul(g, cg_sub(g, m->row1, m->row0),
                        cg_sub(g, m->column1, m->column0)),
    };

    if (block_sizes(w, sizes) == 1 && !any_size(m))
        x.tiles = cg_i64(g, sizes[0]);
    glow_cpu_for(g, &points, w->n * w->n);
    x.in = glow_cpu_at(g, m->v, cg_mulc(g, points.i, w->in_plane));
    x.out = glow_cpu_at(g, m->products, cg_mulc(g, points.i, w->out_plane));
    x.weights = glow_cpu_at(g, m->weights,
                            cg_mulc(g, points.i, weights_of(m, (int)vectors)));
    make_outputs(m, &x, 0, p->full, p->blocks);
    make_outputs(m, &x, p->full, p->rest > 0, p->rest);
    glow_cpu_loop_end(g, &points, NULL);
}

/* The results. */

/* Line `i` of a tile, from what is transformed in the other direction. */
static void
finish_line(maker *m, int i, int columns, cg_value const *half, cg_value bias,
            cg_value channel, int lanes)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    cg_value y[CPU_MOST_POINTS], row;
    cg_if s;
    bool guarded = i >= w->out_h - (w->tiles_h - 1) * w->m;

    if (guarded)
        glow_cpu_if(g, &s,
                    cg_icmp(g, LLVMIntSLT, cg_addc(g, m->line, i),
                            cg_i64(g, w->out_h)));
    row = cg_add(g, cg_mulc(g, m->image, w->out_h), m->line);
    row = cg_add(g, cg_mulc(g, row, w->out_w), cg_mulc(g, m->column, w->m));
    glow_cpu_form_output(g, &m->form, half, y);
    for (int k = 0; k < columns; k++) {
        cg_value v = bias ? cg_fadd(g, y[k], bias) : y[k];

        glow_cpu_finish(m->j, (cpu_place){row, channel, i * w->out_w + k, 0},
                        glow_cpu_first(g, v, lanes));
    }
    if (guarded)
        glow_cpu_end_if(g, &s);
}

static void
transform_output(maker *m, cg_value channel, int lanes, const void *what)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const int *columns = what;
    LLVMTypeRef t = glow_cpu_vector(g->f32, lanes);
    cg_value half[CPU_MOST_POINTS][CPU_MOST_POINTS];
    cg_value x[CPU_MOST_POINTS], y[CPU_MOST_POINTS], bias = NULL;
    cg_value from = glow_cpu_at(
        g, m->products,
        cg_add(g, cg_mulc(g, m->tile, w->out_pitch), cg_mulc(g, channel, 4)));

    channel = cg_add(g, channel, cg_mulc(g, m->group, w->outputs));
    if (m->j->in[2].at)
        bias = glow_cpu_load(g, m->j->in[2], channel, lanes);
    for (int k = 0; k < w->n; k++) {
        for (int i = 0; i < w->n; i++)
            x[i] = glow_cpu_load_raw(
                g, t, glow_cpu_atc(g, from, (i * w->n + k) * w->out_plane));
        glow_cpu_form_output(g, &m->form, x, y);
        for (int i = 0; i < w->m; i++)
            half[i][k] = y[i];
    }
    for (int i = 0; i < w->m; i++)
        finish_line(m, i, *columns, half[i], bias, channel, lanes);
}

static void
finish_tile(maker *m, const void *columns)
{
    cg *g = m->j->g;
    int64_t size = m->p.blocks * m->p.lanes;

    each_vector(m, cg_mulc(g, m->output0, size), cg_mulc(g, m->output1, size),
                m->w.outputs, transform_output, columns);
}

static void
make_output(maker *m)
{
    const cpu_winograd *w = &m->w;
    int64_t whole = w->out_w / w->m;
    int rest = (int)(w->out_w % w->m);
    cg_loop rows;

    begin_rows(m, &rows);
    if (whole)
        each_column(m, 0, whole, finish_tile, &w->m);
    if (rest)
        each_column(m, whole, whole + 1, finish_tile, &rest);
    glow_cpu_loop_end(m->j->g, &rows, NULL);
}

/* The whole. */

static int
cut(glow_arena *a, const cpu_winograd *w, cpu_run *runs)
{
    const cpu_window_axis x = {w->in_w, w->tiles_w, w->n, w->m, 1, w->pad_w, 0};

    return glow_cpu_cut(a, &x, 1, runs);
}

static void
clear_zeros(maker *m)
{
    cg *g = m->j->g;
    glow_type t = {.elem = GLOW_FLOAT};

    glow_cpu_fill(g, (cg_tensor){m->zeros, &t}, m->w.n * m->w.pixel / 4,
                  LLVMConstNull(g->f32));
}

static void
make_blocks(maker *m)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    cg_loop down, across;

    glow_cpu_loop(g, &down, m->first, m->end, w->rows, NULL, 0);
    glow_cpu_loop(g, &across, cg_i64(g, 0), cg_i64(g, w->tiles_w), w->columns,
                  NULL, 0);
    m->row0 = down.i;
    m->row1 = glow_cpu_imin(g, cg_addc(g, down.i, w->rows), m->end);
    m->column0 = across.i;
    m->column1 = glow_cpu_imin(g, cg_addc(g, across.i, w->columns),
                               cg_i64(g, w->tiles_w));
    make_input(m);
    make_products(m);
    make_output(m);
    glow_cpu_loop_end(g, &across, NULL);
    glow_cpu_loop_end(g, &down, NULL);
}

/* What is to be made of a group. */
static void
set_units(maker *m, const cpu_within *units)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    bool by_outputs = glow_cpu_winograd_by_outputs(g->target, w);

    m->first = by_outputs ? cg_i64(g, 0) : units->begin;
    m->end = by_outputs ? cg_i64(g, w->batch * w->tiles_h) : units->end;
    m->output0 = by_outputs ? units->begin : cg_i64(g, 0);
    m->output1 =
        by_outputs ? units->end : cg_i64(g, m->p.full + (m->p.rest > 0));
}

static void
emit_winograd(cpu_job *j)
{
    cg *g = j->g;
    const cpu_target *t = g->target;
    maker m = {.j = j};
    const cpu_winograd *w = &m.w;
    int64_t points;
    cpu_within units;

    glow_cpu_winograd_choice(t, j->n, &m.w);
    m.form = glow_cpu_form(w->m);
    m.p = glow_cpu_winograd_product(t, w);
    m.n_runs = cut(g->arena, w, m.runs);
    points = w->n * w->n;
    m.v = j->scratch;
    m.products = glow_cpu_atc(g, m.v, points * w->in_plane);
    m.zeros = glow_cpu_atc(g, m.products, points * w->out_plane);
    clear_zeros(&m);
    m.group = glow_cpu_units_within(j, &units, w->groups,
                                    glow_cpu_winograd_units(t, &m.p, w));
    set_units(&m, &units);
    m.in = glow_cpu_at(g, j->in[0].at, cg_mulc(g, m.group, w->channels * 4));
    m.weights = glow_cpu_at(
        g, j->packed,
        cg_mulc(g, m.group, glow_cpu_winograd_weights(&m.p, w) / w->groups));
    make_blocks(&m);
    glow_cpu_loop_end(g, &units.loop, NULL);
}

static bool
takes_winograd(const cpu_target *t, const glow_node *n)
{
    glow_arena *a;
    cpu_winograd w;
    cpu_run runs[CPU_MOST_RUNS];
    int count;

    if (!glow_cpu_winograd_choice(t, n, &w))
        return false;
    a = glow_arena_new();
    count = cut(a, &w, runs);
    glow_arena_free(a);
    return count > 0;
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    cpu_winograd w;

    glow_cpu_winograd_choice(t, n, &w);
    return glow_cpu_winograd_room(&w);
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    cpu_winograd w;
    cpu_product p;

    glow_cpu_winograd_choice(t, n, &w);
    p = glow_cpu_winograd_product(t, &w);
    return w.groups * glow_cpu_winograd_units(t, &p, &w);
}

static int64_t
packed_size(const cpu_target *t, const glow_node *n)
{
    cpu_winograd w;
    cpu_product p;

    glow_cpu_winograd_choice(t, n, &w);
    p = glow_cpu_winograd_product(t, &w);
    return glow_cpu_winograd_weights(&p, &w);
}

/* Where the weights of a group of vectors of one point are. */
typedef struct vectors {
    int64_t first; /* output */
    int64_t count; /* outputs, with those that there are not */
    float *to;
    int64_t point; /* elements from one point to the next */
} vectors;

/* Filter [O, 3, 3, C] of a group of channels. */
static void
pack_vectors(const cpu_winograd *w, const cpu_form *f, const float *from,
             vectors v)
{
    double taps[9], points[CPU_MOST_POINTS * CPU_MOST_POINTS];

    for (int64_t c = 0; c < w->channels; c++)
        for (int64_t o = v.first; o < v.first + v.count; o++, v.to++) {
            if (o >= w->outputs)
                continue; /* they are zero */
            for (int64_t i = 0; i < 9; i++)
                taps[i] = (double)from[(o * 9 + i) * w->channels + c];
            glow_cpu_form_weights(f, taps, points);
            for (int64_t i = 0; i < w->n * w->n; i++)
                v.to[i * v.point] = (float)points[i];
        }
}

static void
pack_winograd(const cpu_target *t, const glow_node *n, const glow_tensor *from,
              void *to)
{
    cpu_winograd w;
    cpu_product p;
    cpu_form f;
    int64_t group, point;

    glow_cpu_winograd_choice(t, n, &w);
    p = glow_cpu_winograd_product(t, &w);
    f = glow_cpu_form(w.m);
    group = glow_cpu_winograd_weights(&p, &w) / w.groups / 4;
    point = group / (w.n * w.n);
    memset(to, 0, (size_t)(group * w.groups * 4));
    for (int64_t g = 0; g < w.groups; g++)
        for (int64_t k = 0; k < p.full + (p.rest > 0); k++) {
            int64_t outputs = p.blocks * p.lanes;
            vectors v = {.first = k * outputs,
                         .count = k < p.full ? outputs : p.rest * p.lanes,
                         .to =
                             (float *)to + g * group + k * outputs * w.channels,
                         .point = point};

            pack_vectors(
                &w, &f,
                (const float *)from->data + g * w.outputs * 9 * w.channels, v);
        }
}

const cpu_kernel glow_cpu_conv_winograd = {
    .name = "conv_winograd",
    .op = &glow_op_convolution,
    .takes = takes_winograd,
    .emit = emit_winograd,
    .stacks = true,
    .packs = 1,
    .packed_size = packed_size,
    .pack = pack_winograd,
    .scratch_size = scratch_size,
    .units = units_of,
};
