/*
 * Sums of two tiles over lines of taps, taps and depth: loads and multiplications of
 * matrix registers.
 *
 *     for 32 of the depth, lines of taps, taps; or these before the depth
 *       4 sums += 2 tiles of input * 2 tiles of weights
 *       finish some of the rows of the two tiles before
 */

#include "codegen/cpu/kernels/matrix/make.h"

typedef cpu_matrix matrix;
typedef cpu_matrix_maker maker;
typedef cpu_matrix_place place;

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

    s->at[AHEAD] = glow_cpu_matrix_prefetch(k, s->at[AHEAD]);
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

/*
 * Rows to finish beside this multiplication of a loop over the depth: all of two tiles
 * are spread evenly.  A row of GELU takes 44 cycles of the vectors' ports (llvm-mca), four
 * products of tiles 64, so two rows would be the longer.
 */
static cg_value
rows_due(const maker *k)
{
    const matrix *m = &k->m;
    cg *g = k->j->g;
    int64_t times = m->d.kernel_h * m->taps * (m->depth / m->unit);
    cg_value due, rows;

    if (2 * m->rows % times == 0)
        return cg_i64(g, 2 * m->rows / times);
    due = cg_addc(g, cg_get(g, k->due), 2 * m->rows);
    rows = cg_over(g, due, times);
    cg_set(g, k->due, cg_sub(g, due, cg_mulc(g, rows, times)));
    return rows;
}

typedef void part(const maker *k, streams *s);

/* One multiplication of each sum, and rows of the tiles before. */
static void
multiply_and_finish(const maker *k, streams *s)
{
    cg_value rows;

    multiply(k, s);
    rows = rows_due(k);
    glow_cpu_matrix_finish(k, rows);
    glow_cpu_matrix_prefetch_rows(k, rows);
}

/* `whole` for each whole unit of the contiguous depth, and `rest` for the last. */
static void
run_depth(const maker *k, streams *s, part *whole, part *rest)
{
    const matrix *m = &k->m;
    int64_t done, last = glow_cpu_matrix_last(m, &done);
    int64_t units = m->depth / m->unit;
    streams first = *s, start;
    cg_loop l;

    begin_loop(k, &l, units, s);
    start = *s;
    whole(k, s);
    end_loop(k, &l, units, s, &start, m->unit * 2);
    if (!done)
        return;
    for (int a = 0; a < s->tiles; a++)
        s->at[a] = first.at[a];
    move(k, s, last * 2);
    rest(k, s);
}

/* `each` for each tap of each line of taps. */
static void
run_taps(const maker *k, streams *s, part *each)
{
    const matrix *m = &k->m;
    streams row, tap;
    cg_loop rows, taps;

    begin_loop(k, &rows, m->d.kernel_h, s);
    row = *s;
    begin_loop(k, &taps, m->taps, s);
    tap = *s;
    each(k, s);
    end_loop(k, &taps, m->taps, s, &tap, m->d.dilation_w * m->pixel);
    end_loop(k, &rows, m->d.kernel_h, s, &row, m->d.dilation_h * m->line);
}

static void
run_depth_of_tap(const maker *k, streams *s)
{
    run_depth(k, s, multiply_and_finish, multiply);
}

static void
run_taps_of_unit(const maker *k, streams *s)
{
    run_taps(k, s, multiply_and_finish);
}

static void
run_taps_of_rest(const maker *k, streams *s)
{
    run_taps(k, s, multiply);
}

/* The first pixel of a tile that is to be finished. */
static cg_value
first_pixel(const maker *k, const place *p)
{
    cg *g = k->j->g;
    const cpu_direct *d = &k->m.d;
    cg_value at =
        cg_mulc(g, k->batch,
                k->m.joined ? k->m.out_h * k->m.in_w : d->out_h * d->out_w);

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
    glow_cpu_matrix_begin_sums(k, count, number);
    k->pixel = first_pixel(k, &p[0]);
    cg_set(g, k->coming, cg_i64(g, 0));
    cg_set(g, k->due, cg_i64(g, 0));
    if (k->m.taps_within)
        run_depth(k, &s, run_taps_of_unit, run_taps_of_rest);
    else
        run_taps(k, &s, run_depth_of_tap);
    glow_cpu_matrix_end_sums(k, p, count, number);
}

void
glow_cpu_matrix_steps(maker *k, cg_value first, cg_value end)
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
