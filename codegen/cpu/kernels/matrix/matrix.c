/*
 * Convolution and matrix product by matrix registers (AMX tiles, or BFMMLA).
 *
 * Loops, from the outermost in:
 *
 *     for each image, and group of channels
 *       for each block of steps                mc: lines that stay in the cache
 *         for each cut of the depth            of floats: input stays in the cache
 *           for each nr = 32 output channels   two registers beside each other
 *             for each mr = 2 x 16 results     two registers one below the other
 *               for lines of taps, taps, 32 of the depth
 *                 4 sums += 2 tiles of input * 2 tiles of weights
 *
 * The four sums are stored to a buffer on the stack, from which rows are loaded
 * for the fused element-wise chain.  Tails are one tile instead of two, and
 * tiles of fewer rows or columns.  Between cuts they wait in scratch.
 *
 * The rows of two tiles wait in the buffer while the next two are summed up, and
 * each unit of the depth finishes some of them: vectors work while the registers
 * of matrices multiply.  The buffer has two halves.
 *
 * By parts the lines of a block are split first (parts.c), and each unit of the
 * depth is three products, the least first.  A tile whose input or weights are not
 * safe is summed up again by vectors (slow.c).  This is decided tile by tile, so that
 * it does not depend on what else a thread computes.
 *
 * Filters that are packed at run time and outgrow the cache are packed group by group,
 * and each group is used for all images before the next.
 *
 * Weights that no cache keeps are prefetched a group ahead, and so are the operands
 * and results of the chain of two tiles while these are summed up, since such weights
 * displace them.
 */

#include "codegen/cpu/kernels/matrix/matrix.h"

#define PITCH (CPU_MATRIX_COLUMNS * 4) /* bytes of a row of the buffer */
#define HALF CPU_MATRIX_PAIR           /* bytes of half of it */
#define MOST_AHEAD 16                  /* lines for each product of a unit */
#define PLACES 8                       /* of the weights to prefetch, at most */

typedef cpu_matrix matrix;

/* Rows that wait to be finished, beside each other in the result: locals. */
typedef struct waiting {
    cg_value from;    /* byte of the buffer at which the first is */
    cg_value pixel;   /* of that row */
    cg_value count;   /* of rows */
    cg_value channel; /* the first of all of them */
    cg_value next; /* byte of the half of the buffer for the rows behind them */
} waiting;

/*
 * The prefetching of the next group's weights: each multiplication prefetches `lines`
 * lines in each of `places` places, which are `apart` lines from each other.
 */
typedef struct reading {
    int64_t places, lines, apart;
} reading;

typedef struct maker {
    cpu_job *j;
    matrix m;
    cg_value batch, first; /* image; channel of the results of the group */
    cg_value in;           /* address of line 0 of the image, as it is read */
    cg_value flags;        /* of its lines, of floats: see parts.c */
    cpu_slow slow;
    cg_value unsafe; /* an i1: the weights of this group are not safe */
    cg_value buffer;
    waiting waits;
    cpu_within units;
    /* The current cut, an i64 and two i1; sums of the ones before; NULL without. */
    cg_value cut, begins, ends, sums;
    /* The current group of channels. */
    cg_value channel, weights, group;
    int beside, columns;
    reading ahead;
    /* Of the tiles that are summed up: the first pixel to finish, and a local: the
       rows from there on whose results are prefetched. */
    cg_value pixel, coming;
} maker;

/* A tile of a line: its first pixel, and how many of its rows are done. */
typedef struct place {
    cg_value tile, line, x, skip;
} place;

static place
place_of(const maker *k, cg_value tile)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    place p = {.tile = tile, .line = cg_over(g, tile, m->tiles)};
    cg_value x = cg_mulc(g, cg_modulo(g, tile, m->tiles), m->rows);

    p.x = glow_cg_imin(g, x, cg_i64(g, m->d.out_w - m->rows));
    p.skip = cg_sub(g, x, p.x);
    return p;
}

static cg_value
input_of(const maker *k, const place *p)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value at;

    at = m->flat && m->copies ? cg_mulc(g, p->tile, m->line)
                              : cg_affine(g, p->line, m->d.stride_h * m->line,
                                          p->x, m->d.stride_w * m->pixel);
    return glow_cg_at(g, k->in, at);
}

/*
 * Pointers that advance along the depth: one or two rows of input, the weights,
 * and the lines to prefetch.
 */
typedef struct streams {
    cg_value at[4];
    int tiles;
} streams;

#define WEIGHTS 2
#define AHEAD 3

static void
prefetch(const maker *k, streams *s)
{
    cg *g = k->j->g;
    const reading *r = &k->ahead;

    for (int64_t p = 0; p < r->places; p++)
        for (int64_t i = 0; i < r->lines; i++) {
            int64_t line = p * r->apart + i;

            glow_cg_prefetch(g, glow_cg_atc(g, s->at[AHEAD], line * CPU_LINE),
                             false, 2);
        }
    s->at[AHEAD] = glow_cg_atc(g, s->at[AHEAD], r->lines * CPU_LINE);
}

/* Bytes of one part of a unit of the weights of a register. */
static int64_t
unit_bytes(const maker *k)
{
    return k->m.unit * CPU_MATRIX_LANES * 2;
}

/* Part `part` of the weights of a unit. */
static void
load_weights(const maker *k, const streams *s, int part)
{
    cg *g = k->j->g;

    for (int n = 0; n < k->beside; n++)
        glow_cg_matrix_load(g, CPU_MATRIX_RIGHT + n,
                            glow_cg_atc(g, s->at[WEIGHTS],
                                        (part * k->beside + n) * unit_bytes(k)),
                            CPU_MATRIX_LANES * 4);
}

static void
load_input(const maker *k, const streams *s, int a, int part)
{
    cg *g = k->j->g;

    glow_cg_matrix_load(g, CPU_MATRIX_LEFT + a,
                        glow_cg_atc(g, s->at[a], part * k->m.part),
                        k->m.d.stride_w * k->m.pixel);
}

static void
add_product(const maker *k, int a)
{
    for (int n = 0; n < k->beside; n++)
        glow_cg_matrix_multiply(k->j->g, 2 * a + n, CPU_MATRIX_LEFT + a,
                                CPU_MATRIX_RIGHT + n);
}

/*
 * One multiplication of each sum, or three or six of its parts; moves the weights on.
 * Input goes back and forth over its parts, so that one is loaded already.
 */
static void
multiply(const maker *k, streams *s)
{
    int parts = k->m.parts, loaded = -1;

    prefetch(k, s);
    for (int b = 0; b < parts; b++) {
        int last = parts - 1 - b;

        load_weights(k, s, b);
        for (int i = 0; i <= last; i++) {
            int part = b % 2 ? i : last - i;

            for (int a = 0; a < s->tiles; a++) {
                if (part != loaded)
                    load_input(k, s, a, part);
                add_product(k, a);
            }
            loaded = part;
        }
    }
    s->at[WEIGHTS] =
        glow_cg_atc(k->j->g, s->at[WEIGHTS], parts * k->beside * unit_bytes(k));
}

static void
move(const maker *k, streams *s, int64_t bytes)
{
    for (int a = 0; a < s->tiles; a++)
        s->at[a] = glow_cg_atc(k->j->g, s->at[a], bytes);
}

/* Begins a loop with the streams, unless it runs once. */
static void
begin_loop(const maker *k, cg_loop *l, int64_t count, streams *s)
{
    cg *g = k->j->g;

    if (count == 1)
        return;
    glow_cg_loop(g, l, cg_i64(g, 0), cg_i64(g, count), 1, s->at, 4);
    for (int i = 0; i < 4; i++)
        s->at[i] = l->value[i];
}

/* Ends it; input moves by `bytes` from where it was at the start of the round. */
static void
end_loop(const maker *k, cg_loop *l, int64_t count, streams *s,
         const streams *start, int64_t bytes)
{
    for (int a = 0; a < s->tiles; a++)
        s->at[a] = start->at[a];
    move(k, s, bytes);
    if (count == 1)
        return;
    glow_cg_loop_end(k->j->g, l, s->at);
    for (int i = 0; i < 4; i++)
        s->at[i] = l->value[i];
}

/* Where pixel `pixel` of the results is among them, if they are apart. */
static cg_value
position_of(const maker *k, cg_value pixel)
{
    cg *g = k->j->g;
    const cpu_direct *d = &k->m.d;
    cg_value line, x, y, image;

    if (!d->apart_w)
        return pixel;
    line = cg_over(g, pixel, k->m.out_w);
    x = cg_modulo(g, pixel, k->m.out_w);
    y = cg_modulo(g, line, k->m.out_h);
    image = cg_mulc(g, cg_over(g, line, k->m.out_h), d->image);
    x = cg_affine(g, x, d->apart_w, y, d->apart_h);
    return cg_addc(g, cg_add(g, image, x), d->first);
}

/* A row of the buffer, at byte `at` of it, of pixel `pixel`. */
static void
finish_row(const maker *k, cg_value at, cg_value pixel, cg_value channel)
{
    cg *g = k->j->g;
    int lanes = g->target->vector_bytes / 4;

    at = glow_cg_at(g, k->buffer, at);
    lanes = lanes < CPU_MATRIX_LANES ? lanes : CPU_MATRIX_LANES;
    for (int c = 0; c < k->columns; c += lanes) {
        int live = k->columns - c < lanes ? k->columns - c : lanes;
        cg_value v = glow_cg_load_raw(g, glow_cg_vector(g->f32, lanes),
                                      glow_cg_atc(g, at, c * 4));

        v = glow_cg_first(g, v, live);
        if (k->m.d.bias >= 0)
            v = cg_fadd(g, v,
                        glow_cg_load(g, k->j->in[k->m.d.bias],
                                     cg_addc(g, channel, c), live));
        glow_cpu_finish(k->j, (cpu_place){pixel, channel, 0, c}, v);
    }
}

/* Finishes as many of the rows that wait, at most `most`. */
static void
finish_some(const maker *k, int64_t most)
{
    cg *g = k->j->g;
    const waiting *w = &k->waits;
    cg_value from = cg_get(g, w->from), pixel = cg_get(g, w->pixel);
    cg_value all = cg_get(g, w->count), channel = cg_get(g, w->channel);
    cg_value count = glow_cg_imin(g, all, cg_i64(g, most)), at;
    cg_loop l;

    glow_cg_loop_guarded(g, &l, cg_i64(g, 0), count, 1, NULL, 0);
    at = cg_add(g, from, cg_mulc(g, l.i, PITCH));
    finish_row(k, at, position_of(k, cg_add(g, pixel, l.i)), channel);
    glow_cg_loop_end(g, &l, NULL);
    cg_set(g, w->from, cg_add(g, from, cg_mulc(g, count, PITCH)));
    cg_set(g, w->pixel, cg_add(g, pixel, count));
    cg_set(g, w->count, cg_sub(g, all, count));
}

static void
finish_all(const maker *k)
{
    finish_some(k, 2 * CPU_MATRIX_ROWS);
}

/* Prefetches what the chain accesses of the next `count` rows of these tiles. */
static void
prefetch_rows(const maker *k, int64_t count)
{
    cg *g = k->j->g;
    int64_t beyond = k->ahead.places ? 0 : glow_cpu_matrix_cache(g->target);
    cg_value at = cg_get(g, k->coming);
    cg_value most = cg_i64(g, 2 * k->m.rows), end = cg_addc(g, at, count);
    cg_loop l;

    end = glow_cg_imin(g, end, most);
    glow_cg_loop_guarded(g, &l, at, end, 1, NULL, 0);
    glow_cpu_prefetch(
        k->j,
        (cpu_place){position_of(k, cg_add(g, k->pixel, l.i)), k->channel, 0, 0},
        1, 1, k->columns, beyond);
    glow_cg_loop_end(g, &l, NULL);
    cg_set(g, k->coming, end);
}

/* Rows to finish beside each multiplication of a loop over the depth. */
static int64_t
share_of(const matrix *m)
{
    return cg_ceil_div(2 * m->rows,
                       m->d.kernel_h * m->taps * (m->depth / m->unit));
}

/* The contiguous depth of one tap: `unit` elements for each multiplication. */
static void
run_depth(const maker *k, streams *s)
{
    const matrix *m = &k->m;
    int64_t done, last = glow_cpu_matrix_last(m, &done);
    int64_t units = m->depth / m->unit;
    streams first = *s, start;
    cg_loop l;

    begin_loop(k, &l, units, s);
    start = *s;
    multiply(k, s);
    finish_some(k, share_of(m));
    prefetch_rows(k, share_of(m));
    end_loop(k, &l, units, s, &start, m->unit * 2);
    if (!done)
        return;
    for (int a = 0; a < s->tiles; a++)
        s->at[a] = first.at[a];
    move(k, s, last * 2);
    multiply(k, s);
}

static void
run_taps(const maker *k, streams *s)
{
    const matrix *m = &k->m;
    streams row, tap;
    cg_loop rows, taps;

    begin_loop(k, &rows, m->d.kernel_h, s);
    row = *s;
    begin_loop(k, &taps, m->taps, s);
    tap = *s;
    run_depth(k, s);
    end_loop(k, &taps, m->taps, s, &tap, m->d.dilation_w * m->pixel);
    end_loop(k, &rows, m->d.kernel_h, s, &row, m->d.dilation_h * m->line);
}

/* True (an i1) if the input of a tile, or the weights, are not safe. */
static cg_value
is_unsafe(const maker *k, const place *p)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value line = m->flat ? p->tile : cg_mulc(g, p->line, m->d.stride_h);
    cg_value any = LLVMBuildZExt(g->builder, k->unsafe, g->i32, "");
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, m->d.kernel_h), 1, &any, 1);
    any = cg_affine(g, l.i, m->d.dilation_h, line, 1);
    any = glow_cg_load_raw(g, g->i32,
                           glow_cg_at(g, k->flags, cg_mulc(g, any, 4)));
    any = cg_or(g, any, l.value[0]);
    glow_cg_loop_end(g, &l, &any);
    return cg_icmp(g, LLVMIntNE, l.value[0], LLVMConstNull(g->i32));
}

/* Stores or loads the sums of tile `a`. */
static void
move_sums(const maker *k, int a, cg_value at, bool stores)
{
    cg *g = k->j->g;

    for (int n = 0; n < k->beside; n++) {
        cg_value to = glow_cg_atc(g, at, n * CPU_MATRIX_LANES * 4);

        if (stores)
            glow_cg_matrix_store(g, 2 * a + n, to, PITCH);
        else
            glow_cg_matrix_load(g, 2 * a + n, to, PITCH);
    }
}

/* Address of the sums of tile `a` of pair `number` of the group, between two cuts. */
static cg_value
sums_of(const maker *k, int a, cg_value number)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value at =
        cg_affine(g, k->group, cg_ceil_div(m->block * m->step, 2), number, 1);

    at = glow_cg_at(g, k->sums, cg_mulc(g, at, CPU_MATRIX_PAIR));
    return glow_cg_atc(g, at, a * CPU_MATRIX_ROWS * PITCH);
}

/*
 * Stores the sums of tile `a` of pair `number` at `to`; sums a tile up again, row by
 * row, that is not safe.
 */
static void
store_tile(const maker *k, int a, cg_value to, const place *p, cg_value number)
{
    cg *g = k->j->g;
    cpu_slow s = k->slow;
    cg_value unsafe;
    cg_if safe, bad;

    if (k->m.parts == 1) {
        move_sums(k, a, to, true);
        return;
    }
    s.to = to;
    if (k->sums) {
        s.from = sums_of(k, a, number);
        s.has = LLVMBuildNot(g->builder, k->begins, "");
    }
    unsafe = is_unsafe(k, p);
    glow_cg_if(g, &safe, LLVMBuildNot(g->builder, unsafe, ""));
    move_sums(k, a, to, true);
    glow_cg_end_if(g, &safe);
    glow_cg_if(g, &bad, unsafe);
    glow_cpu_matrix_slow(k->j, &k->m, &s, p->line, p->x, p->skip);
    glow_cg_end_if(g, &bad);
}

/*
 * Stores `count` tiles in the free half of the buffer, for the next to finish.  Their
 * pixels follow each other: the rows of the second that the first has, too, are
 * overwritten by these.
 */
static void
store_tiles(const maker *k, const place *p, int count, cg_value number)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    const waiting *w = &k->waits;
    cg_value half = cg_get(g, w->next), rows = cg_i64(g, m->rows);
    cg_value to = glow_cg_at(g, k->buffer, half);

    if (count > 1) {
        rows = cg_sub(g, rows, p[1].skip);
        store_tile(k, 1, glow_cg_at(g, to, cg_mulc(g, rows, PITCH)), &p[1],
                   number);
        rows = cg_addc(g, rows, m->rows);
    }
    store_tile(k, 0, to, &p[0], number);
    cg_set(g, w->from, cg_add(g, half, cg_mulc(g, p[0].skip, PITCH)));
    cg_set(g, w->pixel, k->pixel);
    cg_set(g, w->count, cg_sub(g, rows, p[0].skip));
    cg_set(g, w->channel, k->channel);
    cg_set(g, w->next, cg_sub(g, cg_i64(g, HALF), half));
}

/* Sums of `count` tiles of pair `number`: of the cuts before, or zeros. */
static void
begin_sums(const maker *k, int count, cg_value number)
{
    cg *g = k->j->g;
    cg_if first, other;

    if (k->sums)
        glow_cg_if(g, &first, k->begins);
    for (int a = 0; a < count; a++)
        for (int n = 0; n < k->beside; n++)
            glow_cg_matrix_zero(g, 2 * a + n);
    if (!k->sums)
        return;
    glow_cg_end_if(g, &first);
    glow_cg_if(g, &other, LLVMBuildNot(g->builder, k->begins, ""));
    for (int a = 0; a < count; a++)
        move_sums(k, a, sums_of(k, a, number), false);
    glow_cg_end_if(g, &other);
}

/* Leaves them for the next cut; those of the last are to be finished. */
static void
end_sums(const maker *k, const place *p, int count, cg_value number)
{
    cg *g = k->j->g;
    cg_if last, other;

    if (k->sums)
        glow_cg_if(g, &last, k->ends);
    store_tiles(k, p, count, number);
    if (!k->sums)
        return;
    glow_cg_end_if(g, &last);
    glow_cg_if(g, &other, LLVMBuildNot(g->builder, k->ends, ""));
    for (int a = 0; a < count; a++)
        store_tile(k, a, sums_of(k, a, number), &p[a], number);
    glow_cg_end_if(g, &other);
}

/* The first pixel of a tile that is to be finished. */
static cg_value
first_pixel(const maker *k, const place *p)
{
    cg *g = k->j->g;
    const cpu_direct *d = &k->m.d;
    cg_value at = cg_mulc(g, k->batch, d->out_h * d->out_w);

    at = cg_add(g, at, cg_mulc(g, p->line, d->out_w));
    return cg_add(g, at, cg_add(g, p->x, p->skip));
}

/* `count` tiles from number `first` of the image on; `number`: of the group. */
static void
make_tiles(maker *k, cg_value first, int count, cg_value number)
{
    cg *g = k->j->g;
    int64_t share = k->ahead.lines * CPU_LINE * glow_cpu_matrix_chunks(&k->m);
    streams s = {.tiles = count};
    place p[2];

    s.at[WEIGHTS] = s.at[AHEAD] = s.at[1] = k->weights;
    if (k->ahead.places) {
        s.at[AHEAD] =
            glow_cg_atc(g, k->weights, glow_cpu_matrix_bytes(&k->m, 0));
        s.at[AHEAD] = glow_cg_at(g, s.at[AHEAD], cg_mulc(g, number, share));
    }
    for (int a = 0; a < count; a++) {
        p[a] = place_of(k, cg_addc(g, first, a));
        s.at[a] = input_of(k, &p[a]);
    }
    begin_sums(k, count, number);
    k->pixel = first_pixel(k, &p[0]);
    cg_set(g, k->coming, cg_i64(g, 0));
    run_taps(k, &s);
    end_sums(k, p, count, number);
}

/*
 * All tiles of steps from `first` to `end`, for the current group of channels.
 */
static void
make_steps(maker *k, cg_value first, cg_value end)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value tile = cg_mulc(g, first, m->step);
    cg_value count = cg_sub(g, cg_mulc(g, end, m->step), tile);
    cg_value pairs = cg_over(g, count, 2);
    cg_loop l;
    cg_if odd;

    if (m->steps * m->step > 1) {
        glow_cg_loop_guarded(g, &l, cg_i64(g, 0), pairs, 1, NULL, 0);
        make_tiles(k, cg_add(g, tile, cg_mulc(g, l.i, 2)), 2, l.i);
        glow_cg_loop_end(g, &l, NULL);
    }
    glow_cg_if(g, &odd,
               cg_icmp(g, LLVMIntNE, cg_modulo(g, count, 2), cg_i64(g, 0)));
    make_tiles(k, cg_add(g, tile, cg_mulc(g, pairs, 2)), 1, pairs);
    glow_cg_end_if(g, &odd);
}

/*
 * Nothing to prefetch if half of the cache holds all weights.  Memory gives more to
 * several places at once, because the hardware prefetches each by itself: products of
 * 128 x 768 by 768 x 3072 take 695 us with one place, 510 with eight.
 */
static reading
ahead_of(const maker *k)
{
    const matrix *m = &k->m;
    int64_t group = glow_cpu_matrix_bytes(m, 0);
    int64_t times =
        cg_ceil_div(m->block * m->step, 2) * glow_cpu_matrix_chunks(m);
    int64_t lines = cg_ceil_div(group, CPU_LINE * times);
    int64_t most = MOST_AHEAD * (m->parts > 1 ? 3 : 1);
    reading r = {0};

    if (!m->d.packed || m->by_groups ||
        group * m->groups <= glow_cpu_matrix_cache(k->j->g->target) / 2)
        return r;
    lines = lines < most ? lines : most;
    r.lines = cg_ceil_div(lines, PLACES);
    r.places = cg_ceil_div(lines, r.lines);
    r.apart = r.lines * times;
    return r;
}

/*
 * Copies or splits the input of steps `first` to `end` where it is not read in
 * place.
 */
static void
begin_block(maker *k, cg_value image, cg_value first, cg_value end)
{
    const matrix *m = &k->m;
    int64_t panel =
        m->d.packed ? glow_cpu_matrix_turned(m) : glow_cpu_matrix_bytes(m, 0);
    cpu_job *j = k->j;
    cg_value at = glow_cg_atc(j->g, j->scratch, panel);

    k->in = image;
    if (m->parts > 1)
        k->in = glow_cpu_matrix_split(j, m, image, at, first, end, &k->flags);
    else if (m->copies)
        k->in = glow_cpu_matrix_copy(j, m, image, at, first, end);
}

/* Address of group `group` of the image k->batch of the input. */
static cg_value
image_of(const maker *k, cg_value group)
{
    cg *g = k->j->g;
    const cpu_direct *d = &k->m.d;
    int64_t one = d->channels * glow_cg_bytes(d->type);
    int64_t image = d->in_h * d->in_w * d->groups * one;

    return glow_cg_at(g, k->j->in[0].at,
                      cg_affine(g, k->batch, image, group, one));
}

/* The steps of all images, for the current group of channels. */
static void
make_images(maker *k, cg_value first, cg_value end)
{
    cg *g = k->j->g;
    cg_loop l;

    k->batch = glow_cg_for(g, &l, k->m.d.batch);
    begin_block(k, image_of(k, cg_i64(g, 0)), first, end);
    make_steps(k, first, end);
    glow_cg_loop_end(g, &l, NULL);
}

/* Group `group`, which has `columns` channels. */
static void
make_group(maker *k, cg_value weights, cg_value group, int columns,
           cg_value first, cg_value end)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;

    k->group = group;
    k->columns = columns;
    k->beside = columns > CPU_MATRIX_LANES ? 2 : 1;
    k->channel = cg_affine(g, group, CPU_MATRIX_COLUMNS, k->first, 1);
    if (m->by_groups) {
        k->weights = k->j->scratch;
        glow_cpu_matrix_turn_group(k->j, m, group, columns);
    } else if (m->d.packed) {
        k->weights = glow_cg_at(g, weights,
                                cg_mulc(g, group, glow_cpu_matrix_bytes(m, 0)));
    } else {
        k->weights = k->j->scratch;
        k->unsafe = glow_cpu_matrix_pack_panel(
            k->j, m,
            glow_cg_at(g, weights,
                       cg_mulc(g, k->channel, glow_cg_bytes(m->d.type))),
            m->d.outputs * glow_cg_bytes(m->d.type), columns, k->weights);
    }
    k->slow.weights = k->weights;
    k->slow.channel = k->channel;
    k->slow.columns = columns;
    k->slow.beside = k->beside;
    k->ahead = ahead_of(k);
    if (m->by_groups)
        make_images(k, first, end);
    else
        make_steps(k, first, end);
}

/* The groups from `low` to `high`. */
static void
make_groups(maker *k, cg_value weights, cg_value low, cg_value high,
            cg_value first, cg_value end)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    int rest = (int)(m->d.outputs % CPU_MATRIX_COLUMNS);
    int64_t full = m->groups - (rest > 0);
    cg_loop l;
    cg_if last;

    if (full) {
        glow_cg_loop_guarded(g, &l, low, glow_cg_imin(g, high, cg_i64(g, full)),
                             1, NULL, 0);
        make_group(k, weights, l.i, CPU_MATRIX_COLUMNS, first, end);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (!rest)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, high, cg_i64(g, full)));
    if (full)
        finish_all(k);
    make_group(k, weights, cg_i64(g, full), rest, first, end);
    finish_all(k);
    k->columns = CPU_MATRIX_COLUMNS;
    glow_cg_end_if(g, &last);
}

static cg_value
new_buffer(cg *g)
{
    LLVMTypeRef t = LLVMArrayType2(g->i8, 2 * HALF);
    cg_value at = glow_cg_local(g, LLVMGetUndef(t));

    LLVMSetAlignment(at, CPU_LINE);
    return at;
}

/* No rows. */
static waiting
wait_for_none(cg *g)
{
    cg_value none = cg_i64(g, 0);

    return (waiting){glow_cg_local(g, none), glow_cg_local(g, none),
                     glow_cg_local(g, none), glow_cg_local(g, none),
                     glow_cg_local(g, none)};
}

/* True (an i1) if the constant weights are not safe, which they say at the end. */
static cg_value
are_raw(const maker *k)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    int64_t size = m->d.groups * m->cuts * glow_cpu_matrix_cut_bytes(m);

    return cg_icmp(
        g, LLVMIntNE,
        glow_cg_load_raw(g, g->i32,
                         glow_cg_atc(g, k->j->packed, m->d.w_first + size)),
        LLVMConstNull(g->i32));
}

/* The steps `first` to `end`, cut by cut. */
static void
make_block(maker *k, cg_value image, cg_value weights, cg_value first,
           cg_value end)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value low = cg_i64(g, 0), high = cg_i64(g, m->groups), zero = low;
    cg_loop cuts;

    if (m->by_channels) {
        low = k->units.begin;
        high = k->units.end;
    }
    if (m->cuts > 1) {
        k->sums = glow_cg_atc(g, k->j->scratch, glow_cpu_matrix_input_room(m));
        k->cut = glow_cg_for(g, &cuts, m->cuts);
        k->begins = cg_icmp(g, LLVMIntEQ, k->cut, zero);
        k->ends = cg_icmp(g, LLVMIntEQ, k->cut, cg_i64(g, m->cuts - 1));
        image = glow_cg_at(
            g, image,
            cg_mulc(g, k->cut, m->channels * glow_cg_bytes(m->d.type)));
        k->slow.image = image;
        weights = glow_cg_at(g, weights,
                             cg_mulc(g, k->cut, glow_cpu_matrix_cut_bytes(m)));
    }
    begin_block(k, image, first, end);
    make_groups(k, weights, low, high, first, end);
    if (m->cuts > 1)
        glow_cg_loop_end(g, &cuts, NULL);
}

/* Address of the weights of group `group` of a convolution, or of image k->batch. */
static cg_value
weights_of(const maker *k, cg_value group)
{
    const matrix *m = &k->m;
    const cpu_job *j = k->j;
    cg *g = j->g;
    int64_t size = m->cuts * glow_cpu_matrix_cut_bytes(m);

    if (m->d.turns)
        return j->scratch;
    if (!m->d.packed)
        return glow_cg_at(g, j->in[1].at, cg_mulc(g, k->batch, m->d.w_batch));
    return glow_cg_at(g, j->packed,
                      cg_addc(g, cg_mulc(g, group, size), m->d.w_first));
}

/* All images for a group of channels, then the next group. */
static void
emit_groups(maker *k)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;

    k->first = cg_i64(g, 0);
    glow_cpu_units_within(k->j, &k->units, 1, m->groups);
    make_groups(k, k->j->scratch, k->units.begin, k->units.end, cg_i64(g, 0),
                cg_i64(g, m->steps));
    glow_cg_loop_end(g, &k->units.loop, NULL);
    if (m->d.outputs >= CPU_MATRIX_COLUMNS)
        finish_all(k);
    glow_cg_matrix_end(g);
}

void
glow_cpu_emit_matrix(cpu_job *j, const cpu_direct *d)
{
    cg *g = j->g;
    maker k = {.j = j};
    matrix *m = &k.m;
    cg_value weights, image, first = cg_i64(g, 0), end, group, outer;
    cg_loop block;

    glow_cpu_matrix_of(g->target, d, m);
    k.buffer = new_buffer(g);
    k.waits = wait_for_none(g);
    k.coming = glow_cg_local(g, cg_i64(g, 0));
    glow_cg_matrix_begin(g, m->rows, m->unit);
    if (m->by_groups) {
        emit_groups(&k);
        return;
    }
    if (m->d.turns)
        glow_cpu_matrix_turn(j, m);
    outer = glow_cpu_units_within(j, &k.units, m->d.batch * m->d.groups,
                                  m->by_channels ? m->groups : m->steps);
    k.batch = cg_over(g, outer, m->d.groups);
    group = cg_modulo(g, outer, m->d.groups);
    k.first = cg_mulc(g, group, m->d.outputs);
    image = image_of(&k, group);
    weights = weights_of(&k, group);
    k.slow.image = image;
    k.slow.plain = weights;
    if (m->parts > 1 && m->d.packed)
        k.unsafe = k.slow.raw = are_raw(&k);
    end = cg_i64(g, m->steps);
    if (!m->by_channels) {
        first = k.units.begin;
        end = k.units.end;
    }
    glow_cg_loop(g, &block, first, end, m->block, NULL, 0);
    end = glow_cg_imin(g, cg_addc(g, block.i, m->block), end);
    make_block(&k, image, weights, block.i, end);
    glow_cg_loop_end(g, &block, NULL);
    glow_cg_loop_end(g, &k.units.loop, NULL);
    if (m->d.outputs >= CPU_MATRIX_COLUMNS)
        finish_all(&k);
    glow_cg_matrix_end(g);
}
