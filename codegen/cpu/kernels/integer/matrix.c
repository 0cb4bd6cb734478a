/*
 * Integer sums by matrix registers (AMX tiles; codegen/cpu/emit/matrix.h).
 *
 *     for pairs of tiles of mr = up to 16 pixels     those of all lines of a block
 *       for panels of 2 vectors of 16 channels       or panels outside, pairs within
 *         2 x 2 sums = start values                  rows that are all alike
 *         for planes, lines and taps, 64 elements of the run of a tap
 *           2 x 2 sums += 2 tiles of input * 2 tiles of weights
 *           for some rows of the pair and panel before    from a buffer on the stack
 *             results: float, ratio, round, offset, saturate, store
 *
 * The rows of the results are distributed over the multiplications of the next sums, which
 * do not depend on them: multiplications wait for the unit of the tiles, results for the
 * vectors, and the reorder buffer holds but some ten multiplications with their loads.
 *
 * While the L2 cache holds all weights and a block has many tiles, the panels are within:
 * the L1 cache keeps the rows of the pair, which lie far apart, and weights come from L2 one
 * after the other.  TILELOADDT1 keeps them from replacing the rows: 0.76 of the rate of the
 * registers in place of 0.54 for 192 x 1024 x 512 in a loop by itself (Granite Rapids).
 *
 * The first sums round what the buffer holds to the place of their own results, which the
 * next ones overwrite.  The last pair of an odd number of tiles has the last tile twice.
 *
 * Weights are packed as for VPDPBUSD, 16 channels in a vector.  The depth of a
 * multiplication is the same for all, so the run of a tap is padded with weights of
 * 0; input is copied where that reads beyond it.  The last tile of a line overlaps
 * the one before it, and only its new pixels are stored, which may be in another thread.
 *
 * Columns that are made at run time are those of one panel at a time, and their results
 * follow the sums.  Sums of input, for weights with offsets, are products with weights of
 * 1, packed behind the others.
 */

#include <string.h>

#include "codegen/cpu/kernels/integer/integer.h"

#define COLUMNS 16               /* of a register */
#define BUFFER (2 * COLUMNS * 4) /* bytes of a row of the buffer */
#define TILE_BYTES (CPU_MATRIX_ROWS * BUFFER)
#define TOGETHER 4      /* vectors that are rounded at once */
#define MOST_UNROLLED 4 /* rows of two tiles, in a multiplication */
#define FEW_ROWS 4      /* fewer: a tile takes as long as 16 rows */
#define FEW_COLUMNS 16
#define FEW_DEPTH 64

typedef cpu_integer integer;
typedef cpu_integer_panel_at panel;

bool
glow_cpu_integer_takes_matrix(const cpu_target *t, const integer *s)
{
    int64_t taps = s->axis[0].kernel * s->axis[1].kernel * s->axis[2].kernel;
    int64_t width = s->axis[2].out;

    for (int i = 0; i < 2; i++)
        if (s->axis[i].kernel == 1 && s->axis[2].kernel == 1)
            width *= s->axis[i].out;
    return t->matrix_bytes && t->dot_bytes == 4 * COLUMNS && s->packed &&
           width >= FEW_ROWS && s->outputs >= FEW_COLUMNS &&
           taps * s->channels >= FEW_DEPTH;
}

int64_t
glow_cpu_integer_ones(const integer *s)
{
    return s->form == CPU_DOT_TILES ? glow_cpu_integer_panel(s, 1) : 0;
}

void
glow_cpu_integer_pack_ones(const integer *s, uint8_t *to)
{
    int64_t lines = s->axis[0].kernel * s->axis[1].kernel * s->taps;

    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < s->steps; k++)
            for (int64_t c = 0; c < COLUMNS; c++)
                for (int64_t e = 4 * k; e < 4 * k + 4; e++)
                    *to++ = e < s->run;
}

#define TO 0    /* the address of the first row of a tile */
#define SKIP 2  /* the rows of it that the tile before it stores */
#define RATIO 4 /* the ratios of a vector */
#define VALUES 6

/* Results of a pair of tiles by a panel, whose sums are in the buffer. */
typedef struct pending {
    cg_value value[VALUES]; /* of loops: two of each of the following */
    cg_value offset[2];     /* of the weights, for sums of input; or NULL */
} pending;

typedef struct maker {
    cg *g;
    cpu_job *j;
    const integer *s;
    const panel *p;
    cg_value buffer, sums; /* of results, and of input */
    cg_value last;         /* tile of the block */
} maker;

/* Pointers that advance along the depth: two tiles of input, weights; a row of results. */
typedef struct streams {
    cg_value at[4];
    int vectors;
    const pending *results; /* to be rounded meanwhile, or NULL */
} streams;

#define WEIGHTS 2
#define ROW 3

/* A tile: its first pixel, and how many of its rows are done. */
typedef struct place {
    cg_value line, x, skip;
} place;

static int64_t
line_tiles(const integer *s)
{
    return s->flat ? 1 : cg_ceil_div(s->axis[2].out, s->rows);
}

static place
place_of(const maker *m, cg_value tile)
{
    cg *g = m->g;
    const integer *s = m->s;
    int64_t tiles = line_tiles(s), width = s->axis[2].out;
    place p;
    cg_value x;

    tile = glow_cg_imin(g, tile, m->last);
    p.line = s->flat ? cg_i64(g, 0) : cg_over(g, tile, tiles);
    x = s->flat ? tile : cg_modulo(g, tile, tiles);
    x = cg_mulc(g, x, s->rows);
    p.x = glow_cg_imin(g, x, cg_i64(g, width - s->rows));
    p.skip = cg_sub(g, x, p.x);
    return p;
}

/* Address of the first pixel of a tile; a copied block begins with its first. */
static cg_value
input_of(const maker *m, const place *p)
{
    cg *g = m->g;
    const integer *s = m->s;
    cg_value at, first = m->p->first;

    if (s->flat)
        at = cg_mulc(g, cg_sub(g, p->x, cg_mulc(g, first, s->rows)), s->pixel);
    else
        at =
            cg_affine(g, cg_sub(g, p->line, first), s->axis[1].stride * s->line,
                      p->x, s->axis[2].stride * s->pixel);
    return glow_cg_at(g, m->p->in, at);
}

/* Results. */

/* True if no tile overlaps the one before it. */
static bool
is_apart(const integer *s)
{
    return s->axis[2].out % s->rows == 0;
}

/* Rows of both tiles that are rounded at once. */
static int
rows_together(const panel *p)
{
    return TOGETHER / 2 / p->vectors;
}

/* Where the results of tile `tile` begin, by the panel from `channel` on. */
static cg_value
output_of(const maker *m, const place *p, cg_value channel)
{
    cg *g = m->g;
    const integer *s = m->s;
    cg_value at = cg_add(g, cg_mulc(g, p->line, s->axis[2].out), p->x);

    at = cg_mulc(g, cg_add(g, at, m->p->image), s->out_pixel);
    at = cg_mulc(g, cg_add(g, at, channel), glow_cg_bytes(s->y));
    return glow_cg_at(g, m->j->out[0].at, at);
}

/* The sums of vector `v` in row `row` of tile `a`, less those of the input. */
static cg_value
sum_at(const maker *m, const pending *d, int a, cg_value row, int v)
{
    cg *g = m->g;
    LLVMTypeRef t = glow_cg_vector(g->i32, COLUMNS);
    cg_value at = glow_cg_at(g, m->buffer, cg_mulc(g, row, BUFFER)), y, input;

    y = glow_cg_load_raw(g, t,
                         glow_cg_atc(g, at, a * TILE_BYTES + v * COLUMNS * 4));
    if (!d->offset[v])
        return y;
    at = glow_cg_at(g, m->sums, cg_mulc(g, row, COLUMNS * 4));
    input = glow_cg_load_raw(
        g, t, glow_cg_atc(g, at, a * CPU_MATRIX_ROWS * COLUMNS * 4));
    return cg_isub(g, y, cg_imul(g, input, d->offset[v]));
}

/* Rows `row` to `row` + rows_together() of both tiles; the last one is as rows beyond it. */
static void
round_rows(const maker *m, const pending *d, cg_value row)
{
    cg *g = m->g;
    const integer *s = m->s;
    int bytes = glow_cg_bytes(s->y);
    int64_t step = s->out_pixel * bytes;
    int vectors = m->p->vectors, together = rows_together(m->p), n = 0;
    cpu_integer_result r[TOGETHER];

    for (int i = 0; i < together; i++)
        for (int a = 0; a < 2; a++) {
            cg_value at, from = cg_addc(g, row, i);

            if (!is_apart(s))
                from = glow_cg_imax(g, from, d->value[SKIP + a]);
            from = glow_cg_imin(g, from, cg_i64(g, s->rows - 1));
            at = glow_cg_at(g, d->value[TO + a], cg_mulc(g, from, step));
            for (int v = 0; v < vectors; v++) {
                cg_value sum = sum_at(m, d, a, from, v);

                r[n++] = (cpu_integer_result){
                    .sum = sum,
                    .ratio = d->value[RATIO + v],
                    .at = glow_cg_atc(g, at, v * COLUMNS * bytes),
                    .row = 2 * i + a,
                    .live = v == vectors - 1 ? m->p->last : COLUMNS};
            }
        }
    glow_cpu_integer_store(g, s, r, n);
}

/* All rows. */
static void
round_tiles(const maker *m, const pending *d)
{
    cg *g = m->g;
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, m->s->rows),
                 rows_together(m->p), NULL, 0);
    round_rows(m, d, l.i);
    glow_cg_loop_end(g, &l, NULL);
}

/* The share of a multiplication: rows from s->at[ROW] on, which it moves. */
static void
round_share(const maker *m, streams *s)
{
    cg *g = m->g;
    int64_t bodies = glow_cpu_integer_bodies(m->s), rows = m->s->rows;
    int together = rows_together(m->p);
    int64_t share = cg_ceil_div(cg_ceil_div(rows, bodies), together) * together;
    cg_value row = s->at[ROW], end = cg_addc(g, row, share);
    bool some = (bodies - 1) * share >= rows;
    cg_if is_left;
    cg_loop l;

    if (some)
        glow_cg_if(g, &is_left, cg_icmp(g, LLVMIntSLT, row, cg_i64(g, rows)));
    if (share <= MOST_UNROLLED) {
        for (int64_t i = 0; i < share; i += together)
            round_rows(m, s->results, cg_addc(g, row, i));
    } else {
        glow_cg_loop(g, &l, row, glow_cg_imin(g, end, cg_i64(g, rows)),
                     together, NULL, 0);
        round_rows(m, s->results, l.i);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (some)
        glow_cg_end_if(g, &is_left);
    s->at[ROW] = end;
}

/* Sums. */

/* True if a panel reads each element of the block once, and the L1 cache keeps none. */
static bool
is_swept(const integer *s)
{
    return s->flat && s->block * s->line > CPU_NEAR_BYTES;
}

/* Loads a tile; `passes`: it is not read again soon. */
static void
load(cg *g, bool passes, int r, cg_value at, int64_t step)
{
    if (passes)
        glow_cg_matrix_stream(g, r, at, step);
    else
        glow_cg_matrix_load(g, r, at, step);
}

/* One multiplication of each sum; moves the pointers on. */
static void
multiply(const maker *m, streams *s)
{
    cg *g = m->g;
    const integer *i = m->s;
    int64_t tile = i->unit * COLUMNS * 4;

    for (int k = 0; k < 2; k++) {
        load(g, !i->panels_within && is_swept(i), CPU_MATRIX_LEFT + k, s->at[k],
             i->axis[2].stride * i->pixel);
        if (k < s->vectors)
            load(g, i->panels_within, CPU_MATRIX_RIGHT + k,
                 glow_cg_atc(g, s->at[WEIGHTS], k * tile), COLUMNS * 4);
        s->at[k] = glow_cg_atc(g, s->at[k], i->unit * 4);
    }
    for (int a = 0; a < 2; a++)
        for (int v = 0; v < s->vectors; v++)
            glow_cg_matrix_multiply_bytes(g, 2 * a + v, CPU_MATRIX_LEFT + a,
                                          CPU_MATRIX_RIGHT + v,
                                          i->x->elem == GLOW_INT8Q);
    s->at[WEIGHTS] = glow_cg_atc(g, s->at[WEIGHTS], s->vectors * tile);
    if (s->results)
        round_share(m, s);
}

/*
 * The loop over axis `axis` of taps, over taps of a line that are not contiguous, or
 * over their run, and the loops within it.
 */
static void
multiply_axis(const maker *m, int axis, streams *s)
{
    cg *g = m->g;
    const integer *i = m->s;
    int64_t count = axis == 3   ? i->steps / i->unit
                    : axis == 2 ? i->taps
                                : i->axis[axis].kernel;
    cg_value start[2];
    cg_loop l;

    if (count > 1) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, count), 1, s->at, 4);
        for (int k = 0; k < 4; k++)
            s->at[k] = l.value[k];
    }
    start[0] = s->at[0];
    start[1] = s->at[1];
    if (axis == 3)
        multiply(m, s);
    else
        multiply_axis(m, axis + 1, s);
    for (int a = 0; a < 2 && axis < 3; a++)
        s->at[a] = glow_cg_atc(g, start[a], glow_cpu_integer_apart(i, axis));
    if (count > 1) {
        glow_cg_loop_end(g, &l, s->at);
        for (int k = 0; k < 4; k++)
            s->at[k] = l.value[k];
    }
}

/*
 * Sums of two tiles, which begin with `starts` or, if it is NULL, 0, stored to `to`, whose
 * rows have `row` bytes; meanwhile `results`, if not NULL, are rounded.
 */
static void
sum_tiles(const maker *m, const place *p, int vectors, cg_value weights,
          cg_value starts, cg_value to, int64_t row, const pending *results)
{
    cg *g = m->g;
    streams s = {.vectors = vectors, .results = results};

    for (int a = 0; a < 2; a++)
        s.at[a] = input_of(m, &p[a]);
    s.at[WEIGHTS] = weights;
    s.at[ROW] = cg_i64(g, 0);
    for (int a = 0; a < 2; a++)
        for (int v = 0; v < vectors; v++)
            if (starts)
                glow_cg_matrix_load(g, 2 * a + v,
                                    glow_cg_atc(g, starts, v * COLUMNS * 4), 0);
            else
                glow_cg_matrix_zero(g, 2 * a + v);
    multiply_axis(m, 0, &s);
    for (int a = 0; a < 2; a++)
        for (int v = 0; v < vectors; v++)
            glow_cg_matrix_store(
                g, 2 * a + v,
                glow_cg_atc(g, to, a * CPU_MATRIX_ROWS * row + v * COLUMNS * 4),
                row);
}

static cg_value
new_buffer(cg *g, uint64_t vectors)
{
    LLVMTypeRef t = glow_cg_vector(g->i32, COLUMNS);
    cg_value at = glow_cg_local(g, LLVMGetUndef(LLVMArrayType2(t, vectors)));

    LLVMSetAlignment(at, CPU_LINE);
    return at;
}

/* Tiles *from to *to of the lines up to `end`. */
static maker
new_maker(cpu_job *j, const integer *s, const panel *p, cg_value end,
          cg_value *from, cg_value *to)
{
    maker m = {.g = j->g, .j = j, .s = s, .p = p};
    int64_t tiles = line_tiles(s);

    m.buffer = new_buffer(j->g, 2 * 2 * CPU_MATRIX_ROWS);
    *from = cg_mulc(j->g, p->first, tiles);
    *to = cg_mulc(j->g, end, tiles);
    m.last = cg_addc(j->g, *to, -1);
    return m;
}

static void
place_pair(const maker *m, cg_value tile, place *p)
{
    for (int a = 0; a < 2; a++)
        p[a] = place_of(m, cg_addc(m->g, tile, a));
}

/* Panels of packed columns. */

/* The results of the pair at `p` by panel `number`. */
static pending
results_of(const maker *m, const place *p, cg_value number)
{
    cg *g = m->g;
    const integer *s = m->s;
    int64_t all = glow_cpu_integer_columns(s);
    int width = s->vectors * COLUMNS;
    cg_value from = glow_cg_atc(g, m->j->packed, glow_cpu_integer_weights(s));
    cg_value column = cg_affine(g, m->p->group, all / s->groups, number, width);
    cg_value channel = cg_add(g, m->p->channel, cg_mulc(g, number, width));
    pending d = {.offset = {NULL}};

    for (int a = 0; a < 2; a++) {
        d.value[TO + a] = output_of(m, &p[a], channel);
        d.value[SKIP + a] = p[a].skip;
    }
    for (int v = 0; v < 2; v++)
        d.value[RATIO + v] =
            v < m->p->vectors
                ? glow_cpu_integer_load_column(g, s, COLUMNS, from, all,
                                               cg_addc(g, column, v * COLUMNS))
                      .ratio
                : d.value[RATIO];
    return d;
}

/* The sums of the pair from `tile` on by panel `number`, and the results before them. */
static void
make_pair(const maker *m, cg_value tile, cg_value number, cg_value *carried)
{
    cg *g = m->g;
    const integer *s = m->s;
    int64_t all = glow_cpu_integer_columns(s);
    cg_value weights, starts = cg_affine(g, m->p->group, all / s->groups,
                                         number, s->vectors * COLUMNS);
    pending before = {.offset = {NULL}}, now;
    place p[2];

    memcpy(before.value, carried, sizeof before.value);
    starts = cg_addc(g, cg_mulc(g, starts, 4), glow_cpu_integer_weights(s));
    starts = glow_cg_at(g, m->j->packed, starts);
    weights = cg_mulc(g, number, glow_cpu_integer_panel(s, s->vectors));
    weights = glow_cg_at(g, m->p->weights, weights);
    place_pair(m, tile, p);
    now = results_of(m, p, number);
    sum_tiles(m, p, m->p->vectors, weights, starts, m->buffer, BUFFER, &before);
    memcpy(carried, now.value, sizeof now.value);
}

void
glow_cpu_integer_matrix_panels(cpu_job *j, const integer *s, const panel *p,
                               cg_value low, cg_value high, cg_value end)
{
    cg *g = j->g;
    bool within = s->panels_within;
    cg_value from, to, carried[VALUES];
    maker m = new_maker(j, s, p, end, &from, &to);
    pending d;
    place first[2];
    cg_loop outer, inner;

    place_pair(&m, from, first);
    d = results_of(&m, first, low);
    glow_cg_loop(g, &outer, within ? from : low, within ? to : high,
                 within ? 2 : 1, d.value, VALUES);
    glow_cg_loop(g, &inner, within ? low : from, within ? high : to,
                 within ? 1 : 2, outer.value, VALUES);
    memcpy(carried, inner.value, sizeof carried);
    make_pair(&m, within ? outer.i : inner.i, within ? inner.i : outer.i,
              carried);
    glow_cg_loop_end(g, &inner, carried);
    glow_cg_loop_end(g, &outer, inner.value);
    memcpy(d.value, outer.value, sizeof d.value);
    round_tiles(&m, &d);
}

/* A panel whose columns are made at run time. */

/* The results of the pair at `p`, whose sums are in the buffer. */
static void
finish_pair(const maker *m, const place *p, bool has_offsets)
{
    cg *g = m->g;
    pending d = {.offset = {NULL}};

    for (int a = 0; a < 2; a++) {
        d.value[TO + a] = output_of(m, &p[a], m->p->channel);
        d.value[SKIP + a] = p[a].skip;
    }
    for (int v = 0; v < m->p->vectors; v++) {
        d.value[RATIO + v] = m->p->column[v].ratio;
        d.offset[v] = has_offsets ? m->p->column[v].offset : NULL;
    }
    if (has_offsets)
        sum_tiles(m, p, 1,
                  glow_cg_atc(g, m->j->packed,
                              glow_cpu_integer_packed_size(m->s) -
                                  glow_cpu_integer_ones(m->s)),
                  NULL, m->sums, COLUMNS * 4, NULL);
    round_tiles(m, &d);
}

static void
finish(const maker *m, const place *p)
{
    cg *g = m->g;
    cg_if has, none;

    if (!m->p->column[0].offset || !m->p->has_offsets) {
        finish_pair(m, p, m->p->column[0].offset != NULL);
        return;
    }
    glow_cg_if(g, &none, LLVMBuildNot(g->builder, m->p->has_offsets, ""));
    finish_pair(m, p, false);
    glow_cg_end_if(g, &none);
    glow_cg_if(g, &has, m->p->has_offsets);
    finish_pair(m, p, true);
    glow_cg_end_if(g, &has);
}

void
glow_cpu_integer_matrix_panel(cpu_job *j, const integer *s, const panel *p,
                              cg_value end)
{
    cg *g = j->g;
    cg_value from, to, starts = new_buffer(g, 2);
    maker m = new_maker(j, s, p, end, &from, &to);
    place pair[2];
    cg_loop l;

    m.sums = new_buffer(g, 2 * CPU_MATRIX_ROWS);
    for (int v = 0; v < p->vectors; v++)
        glow_cg_store_raw(g, p->column[v].start,
                          glow_cg_atc(g, starts, v * COLUMNS * 4));
    glow_cg_loop(g, &l, from, to, 2, NULL, 0);
    place_pair(&m, l.i, pair);
    sum_tiles(&m, pair, p->vectors, p->weights, starts, m.buffer, BUFFER, NULL);
    finish(&m, pair);
    glow_cg_loop_end(g, &l, NULL);
}
