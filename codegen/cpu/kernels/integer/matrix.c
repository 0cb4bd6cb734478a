/*
 * Integer sums by matrix registers (AMX tiles; codegen/cpu/emit/matrix.h).
 *
 *     for pairs of tiles of mr = up to 16 pixels     those of all lines of a block
 *       2 x 2 sums = start values                    rows that are all alike
 *       for planes, lines and taps, 64 elements of the run of a tap
 *         2 x 2 sums += 2 tiles of input * 2 tiles of weights
 *       for each two pixels of the pair before       from a buffer on the stack
 *         results: float, ratio, round, offset, saturate, store
 *
 * The results of a pair do not depend on the multiplications before them in the code, of
 * the next pair, which the processor executes at the same time: they wait for the unit of
 * the tiles, not for the vectors.
 *
 * Weights are packed as for VPDPBUSD, 16 channels in a vector.  The depth of a
 * multiplication is the same for all, so the run of a tap is padded with weights of
 * 0; input is copied where that reads beyond it.  The last tile of a line overlaps
 * the one before it, and only its new pixels are stored.  Sums of input, for weights
 * with offsets, are products with weights of 1, packed behind the others.
 */

#include "codegen/cpu/kernels/integer/integer.h"

#define COLUMNS 16               /* of a register */
#define BUFFER (2 * COLUMNS * 4) /* bytes of a row of the buffer */
#define TILE_BYTES (CPU_MATRIX_ROWS * BUFFER)
#define MOST_TOGETHER 4 /* vectors that are rounded at once */
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

typedef struct maker {
    cpu_job *j;
    const integer *s;
    const panel *p;
    cg_value starts;       /* a row of start values */
    cg_value buffer, sums; /* of results of two pairs, and of input of one */
} maker;

/* Pointers that advance along the depth: one or two tiles of input, weights. */
typedef struct streams {
    cg_value at[3];
    int tiles, vectors;
} streams;

#define WEIGHTS 2

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
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t tiles = line_tiles(s), width = s->axis[2].out;
    place p = {.line = s->flat ? cg_i64(g, 0) : cg_over(g, tile, tiles)};
    cg_value x = s->flat ? tile : cg_modulo(g, tile, tiles);

    x = cg_mulc(g, x, s->rows);
    p.x = glow_cg_imin(g, x, cg_i64(g, width - s->rows));
    p.skip = cg_sub(g, x, p.x);
    return p;
}

/* Address of the first pixel of a tile; a copied block begins with its first. */
static cg_value
input_of(const maker *m, const place *p)
{
    cg *g = m->j->g;
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

/* One multiplication of each sum; moves the pointers on. */
static void
multiply(const maker *m, streams *s)
{
    cg *g = m->j->g;
    const integer *i = m->s;
    int64_t step = s->vectors * COLUMNS * 4;

    for (int v = 0; v < s->vectors; v++)
        glow_cg_matrix_load(g, CPU_MATRIX_RIGHT + v,
                            glow_cg_atc(g, s->at[WEIGHTS], v * COLUMNS * 4),
                            step);
    for (int a = 0; a < s->tiles; a++) {
        glow_cg_matrix_load(g, CPU_MATRIX_LEFT + a, s->at[a],
                            i->axis[2].stride * i->pixel);
        for (int v = 0; v < s->vectors; v++)
            glow_cg_matrix_multiply_bytes(g, 2 * a + v, CPU_MATRIX_LEFT + a,
                                          CPU_MATRIX_RIGHT + v,
                                          i->x->elem == GLOW_INT8Q);
        s->at[a] = glow_cg_atc(g, s->at[a], i->unit * 4);
    }
    s->at[WEIGHTS] = glow_cg_atc(g, s->at[WEIGHTS], i->unit * step);
}

/*
 * The loop over axis `axis` of taps, over taps of a line that are not contiguous, or
 * over their run, and the loops within it.
 */
static void
multiply_axis(const maker *m, int axis, streams *s)
{
    cg *g = m->j->g;
    const integer *i = m->s;
    int64_t count = axis == 3   ? i->steps / i->unit
                    : axis == 2 ? i->taps
                                : i->axis[axis].kernel;
    cg_value start[2];
    cg_loop l;

    if (count > 1) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, count), 1, s->at, 3);
        for (int k = 0; k < 3; k++)
            s->at[k] = l.value[k];
    }
    start[0] = s->at[0];
    start[1] = s->at[1];
    if (axis == 3)
        multiply(m, s);
    else
        multiply_axis(m, axis + 1, s);
    for (int a = 0; a < s->tiles && axis < 3; a++)
        s->at[a] = glow_cg_atc(g, start[a], glow_cpu_integer_apart(i, axis));
    if (count > 1) {
        glow_cg_loop_end(g, &l, s->at);
        for (int k = 0; k < 3; k++)
            s->at[k] = l.value[k];
    }
}

/*
 * Sums of one or two tiles, which begin with `starts` or, if it is NULL, 0, stored to
 * `to`, whose rows have `row` bytes.
 */
static void
sum_tiles(const maker *m, const place *p, int tiles, int vectors,
          cg_value weights, cg_value starts, cg_value to, int64_t row)
{
    cg *g = m->j->g;
    streams s = {.tiles = tiles, .vectors = vectors};

    for (int a = 0; a < tiles; a++)
        s.at[a] = input_of(m, &p[a]);
    if (tiles == 1)
        s.at[1] = s.at[0];
    s.at[WEIGHTS] = weights;
    for (int a = 0; a < tiles; a++)
        for (int v = 0; v < vectors; v++)
            if (starts)
                glow_cg_matrix_load(g, 2 * a + v,
                                    glow_cg_atc(g, starts, v * COLUMNS * 4), 0);
            else
                glow_cg_matrix_zero(g, 2 * a + v);
    multiply_axis(m, 0, &s);
    for (int a = 0; a < tiles; a++)
        for (int v = 0; v < vectors; v++)
            glow_cg_matrix_store(
                g, 2 * a + v,
                glow_cg_atc(g, to, a * CPU_MATRIX_ROWS * row + v * COLUMNS * 4),
                row);
}

/* A tile whose sums are at `from`, those of its input at `input`. */
typedef struct done {
    place p;
    cg_value from, input;
    bool has_offsets;
} done;

/* `rows` rows of the tile from `row` on. */
static void
finish_rows(const maker *m, const done *d, cg_value row, int rows)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    const panel *p = m->p;
    int bytes = glow_cg_bytes(s->y), n = 0;
    LLVMTypeRef t = glow_cg_vector(g->i32, COLUMNS);
    cpu_integer_result r[MOST_TOGETHER];
    cg_value pixel, at, from, sums, input = NULL;

    pixel = cg_add(g, cg_mulc(g, d->p.line, s->axis[2].out), d->p.x);
    pixel = cg_add(g, cg_add(g, pixel, p->image), row);
    at = cg_add(g, cg_mulc(g, pixel, s->out_pixel), p->channel);
    at = glow_cg_at(g, m->j->out[0].at, cg_mulc(g, at, bytes));
    from = glow_cg_at(g, d->from, cg_mulc(g, row, BUFFER));
    sums = glow_cg_at(g, d->input, cg_mulc(g, row, COLUMNS * 4));
    for (int i = 0; i < rows; i++) {
        if (d->has_offsets)
            input =
                glow_cg_load_raw(g, t, glow_cg_atc(g, sums, i * COLUMNS * 4));
        for (int v = 0; v < p->vectors; v++) {
            int64_t apart = i * s->out_pixel + v * COLUMNS;
            cg_value y = glow_cg_load_raw(
                g, t, glow_cg_atc(g, from, i * BUFFER + v * COLUMNS * 4));

            if (d->has_offsets)
                y = cg_isub(g, y, cg_imul(g, input, p->column[v].offset));
            r[n++] = (cpu_integer_result){
                .sum = y,
                .ratio = p->column[v].ratio,
                .at = glow_cg_atc(g, at, apart * bytes),
                .row = i,
                .live = v == p->vectors - 1 ? p->last : COLUMNS};
        }
    }
    glow_cpu_integer_store(g, s, r, n);
}

/* Its rows, as many together as are rounded at once, then one by one. */
static void
finish_tile(const maker *m, const done *d)
{
    cg *g = m->j->g;
    int together = MOST_TOGETHER / m->p->vectors;
    cg_value rows = cg_i64(g, m->s->rows), whole;
    cg_loop l;

    whole = cg_sub(g, rows, d->p.skip);
    whole = cg_sub(g, rows, cg_modulo(g, whole, together));
    glow_cg_loop_guarded(g, &l, d->p.skip, whole, together, NULL, 0);
    finish_rows(m, d, l.i, together);
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_guarded(g, &l, whole, rows, 1, NULL, 0);
    finish_rows(m, d, l.i, 1);
    glow_cg_loop_end(g, &l, NULL);
}

/* `tiles` tiles from `tile` on, whose sums are at `from`. */
static void
finish_tiles(const maker *m, cg_value tile, int tiles, cg_value from,
             bool has_offsets)
{
    cg *g = m->j->g;
    done d = {.has_offsets = has_offsets};
    place p[2];
    cg_loop l;

    for (int a = 0; a < tiles && has_offsets; a++)
        p[a] = place_of(m, cg_addc(g, tile, a));
    if (has_offsets)
        sum_tiles(m, p, tiles, 1,
                  glow_cg_atc(g, m->j->packed,
                              glow_cpu_integer_packed_size(m->s) -
                                  glow_cpu_integer_ones(m->s)),
                  NULL, m->sums, COLUMNS * 4);
    glow_cg_for(g, &l, tiles);
    d.p = place_of(m, cg_add(g, tile, l.i));
    d.from = glow_cg_at(g, from, cg_mulc(g, l.i, TILE_BYTES));
    d.input =
        glow_cg_at(g, m->sums, cg_mulc(g, l.i, CPU_MATRIX_ROWS * COLUMNS * 4));
    finish_tile(m, &d);
    glow_cg_loop_end(g, &l, NULL);
}

/* The results of one or two tiles from `tile` on. */
static void
finish(const maker *m, cg_value tile, int tiles, cg_value from)
{
    cg *g = m->j->g;
    cg_if has, none;

    if (!m->p->column[0].offset || !m->p->has_offsets) {
        finish_tiles(m, tile, tiles, from, m->p->column[0].offset != NULL);
        return;
    }
    glow_cg_if(g, &none, LLVMBuildNot(g->builder, m->p->has_offsets, ""));
    finish_tiles(m, tile, tiles, from, false);
    glow_cg_end_if(g, &none);
    glow_cg_if(g, &has, m->p->has_offsets);
    finish_tiles(m, tile, tiles, from, true);
    glow_cg_end_if(g, &has);
}

/* The sums of one or two tiles from `tile` on. */
static void
sum(const maker *m, cg_value tile, int tiles, cg_value to)
{
    place p[2];

    for (int a = 0; a < tiles; a++)
        p[a] = place_of(m, cg_addc(m->j->g, tile, a));
    sum_tiles(m, p, tiles, m->p->vectors, m->p->weights, m->starts, to, BUFFER);
}

/* Pairs of tiles: the sums of each before the results of the one before. */
static void
make_pairs(const maker *m, cg_value from, cg_value to)
{
    cg *g = m->j->g;
    cg_value half, now, before;
    cg_if sums, results;
    cg_loop l;

    glow_cg_loop(g, &l, from, cg_addc(g, to, 2), 2, NULL, 0);
    half = cg_and(g, cg_sub(g, l.i, from), cg_i64(g, 2));
    now = glow_cg_at(g, m->buffer, cg_mulc(g, half, TILE_BYTES));
    half = LLVMBuildXor(g->builder, half, cg_i64(g, 2), "");
    before = glow_cg_at(g, m->buffer, cg_mulc(g, half, TILE_BYTES));
    glow_cg_if(g, &sums, cg_icmp(g, LLVMIntSLT, l.i, to));
    sum(m, l.i, 2, now);
    glow_cg_end_if(g, &sums);
    glow_cg_if(g, &results, cg_icmp(g, LLVMIntSGT, l.i, from));
    finish(m, cg_addc(g, l.i, -2), 2, before);
    glow_cg_end_if(g, &results);
    glow_cg_loop_end(g, &l, NULL);
}

static cg_value
new_buffer(cg *g, uint64_t vectors)
{
    LLVMTypeRef t = glow_cg_vector(g->i32, COLUMNS);
    cg_value at = glow_cg_local(g, LLVMGetUndef(LLVMArrayType2(t, vectors)));

    LLVMSetAlignment(at, CPU_LINE);
    return at;
}

void
glow_cpu_integer_matrix_lines(cpu_job *j, const integer *s, const panel *p,
                              cg_value end)
{
    cg *g = j->g;
    maker m = {.j = j, .s = s, .p = p};
    int64_t tiles = line_tiles(s);
    cg_value from, to, pairs, odd;
    cg_if rest;

    m.buffer = new_buffer(g, 2 * 2 * 2 * CPU_MATRIX_ROWS);
    m.sums = new_buffer(g, 2 * CPU_MATRIX_ROWS);
    m.starts = new_buffer(g, 2);
    for (int v = 0; v < p->vectors; v++)
        glow_cg_store_raw(g, p->column[v].start,
                          glow_cg_atc(g, m.starts, v * COLUMNS * 4));
    from = cg_mulc(g, p->first, tiles);
    to = cg_mulc(g, end, tiles);
    odd = cg_and(g, cg_sub(g, to, from), cg_i64(g, 1));
    pairs = cg_sub(g, to, odd);
    make_pairs(&m, from, pairs);
    glow_cg_if(g, &rest, cg_icmp(g, LLVMIntSLT, pairs, to));
    sum(&m, pairs, 1, m.buffer);
    finish(&m, pairs, 1, m.buffer);
    glow_cg_end_if(g, &rest);
}
