/*
 * Tiles of numbers whose parts are not safe: sums by vectors, one pixel at a time.
 *
 *     for each row of the tile
 *       for lines of taps, taps, channels
 *         vectors of columns += input, broadcast, * weights
 *
 * Input and weights that are packed at run time are read where they are.  Of
 * constant weights the parts are put together: all bits of them if the weights are
 * not safe themselves, else the parts, whose sum is as far from the weight as
 * that of products of tiles.
 */

#include "codegen/cpu/kernels/matrix/matrix.h"

#define VECTORS (CPU_MATRIX_COLUMNS / 4)

typedef cpu_matrix matrix;

typedef struct maker {
    cpu_job *j;
    const matrix *m;
    const cpu_slow *s;
    int lanes, vectors;
} maker;

/* Place of a weight: a row of the panel, and the bits by which its half is shifted. */
typedef struct weight {
    cg_value at, shift;
} weight;

/* The weight at line `i` and tap `j` of the kernel, of channel `c`. */
static weight
weight_of(const maker *k, cg_value i, cg_value j, cg_value c)
{
    cg *g = k->j->g;
    const matrix *m = k->m;
    int64_t done, last = glow_cpu_matrix_last(m, &done);
    int64_t units = m->depth / m->unit, whole = units * m->unit;
    int64_t half = m->unit * CPU_MATRIX_LANES * 2 * k->s->beside;
    cg_value e = c, chunk = i, unit, within, pair;

    if (m->taps > 1 || m->d.kernel_w == 1)
        chunk = cg_affine(g, i, m->taps, j, 1);
    else
        e = cg_affine(g, j, m->channels, c, 1);
    unit = cg_over(g, e, m->unit);
    within = cg_modulo(g, e, m->unit);
    if (done) {
        cg_value is = cg_icmp(g, LLVMIntSGE, e, cg_i64(g, whole));

        unit = cg_select(g, is, cg_i64(g, units), unit);
        within = cg_select(g, is, cg_addc(g, e, -last), within);
    }
    chunk = m->taps_within
                ? cg_affine(g, unit, m->d.kernel_h * m->taps, chunk, 1)
                : cg_affine(g, chunk, units + (done > 0), unit, 1);
    pair = cg_over(g, within, 2);
    return (weight){glow_cg_at(g, k->s->weights,
                               cg_affine(g, chunk, half * m->parts, pair,
                                         CPU_MATRIX_LANES * 4)),
                    LLVMBuildTrunc(g->builder,
                                   cg_mulc(g, cg_modulo(g, within, 2), 16),
                                   g->i32, "")};
}

/* The half of each pair at `at`, as the high half of 32 bits. */
static cg_value
halves_of(const maker *k, cg_value at, cg_value shift)
{
    cg *g = k->j->g;
    LLVMTypeRef t = glow_cg_vector(g->i32, k->lanes);
    cg_value v = glow_cg_load_raw(g, t, at);

    v = cg_lshr(g, v, glow_cg_splat(g, shift, k->lanes));
    return cg_shl(g, v, glow_cg_int(t, 16));
}

/* Weights of columns from `column` on, of packed ones. */
static cg_value
load_packed(const maker *k, const weight *w, int column)
{
    cg *g = k->j->g;
    int64_t half = k->m->unit * CPU_MATRIX_LANES * 2;
    int64_t at =
        column / CPU_MATRIX_LANES * half + column % CPU_MATRIX_LANES * 4;
    LLVMTypeRef t = glow_cg_vector(g->f32, k->lanes);
    cg_value first = halves_of(k, glow_cg_atc(g, w->at, at), w->shift);
    cg_value second =
        halves_of(k, glow_cg_atc(g, w->at, at + half * k->s->beside), w->shift);
    cg_value all = LLVMBuildAShr(g->builder, second,
                                 glow_cg_int(LLVMTypeOf(second), 16), "");

    all = cg_bitcast(g, cg_iadd(g, first, all), t);
    first = cg_bitcast(g, first, t);
    first = cg_fadd(g, first, cg_bitcast(g, second, t));
    if (k->m->parts == 3) {
        second = halves_of(
            k, glow_cg_atc(g, w->at, at + 2 * half * k->s->beside), w->shift);
        first = cg_fadd(g, first, cg_bitcast(g, second, t));
    }
    return cg_select(g, k->s->raw, all, first);
}

/* Weights of columns from `column` on, where they are. */
static cg_value
load_plain(const maker *k, cg_value c, int column)
{
    cg *g = k->j->g;
    int live = k->s->columns - column;
    cg_value at = cg_affine(g, c, k->m->d.outputs, k->s->channel, 1), v;
    cg_tensor t = {k->s->plain, k->m->d.type};

    g->live = live < k->lanes ? live : 0;
    v = glow_cg_load(g, t, cg_addc(g, at, column), k->lanes);
    g->live = 0;
    return v;
}

/*
 * One tap and channel of the pixel whose first tap is at `line` and `x`: adds to
 * `sums`.  Outside of the input it is 0, times a weight that may be a NaN.
 */
static void
add_products(const maker *k, cg_value const at[3], cg_value line, cg_value x0,
             cg_value *sums)
{
    cg *g = k->j->g;
    const cpu_direct *d = &k->m->d;
    cg_value y = cg_affine(g, at[0], d->dilation_h, line, 1);
    cg_value x = cg_affine(g, at[1], d->dilation_w, x0, 1);
    cg_value inside = cg_icmp(g, LLVMIntULT, y, cg_i64(g, d->in_h));
    cg_value beside = cg_icmp(g, LLVMIntULT, x, cg_i64(g, d->in_w));
    cg_value is = cg_and(g, inside, beside);
    cg_value from = cg_affine(g, cg_affine(g, y, d->in_w, x, 1),
                              d->groups * d->channels, at[2], 1);
    cg_tensor image = {k->s->image, d->type};
    cg_value v =
        glow_cg_load(g, image, cg_select(g, is, from, cg_i64(g, 0)), 1);
    weight w = {0};

    v = cg_select(g, is, v, LLVMConstNull(LLVMTypeOf(v)));
    v = glow_cg_splat(g, v, k->lanes);
    if (d->packed)
        w = weight_of(k, at[0], at[1], at[2]);
    for (int i = 0; i < k->vectors; i++) {
        cg_value b = d->packed ? load_packed(k, &w, i * k->lanes)
                               : load_plain(k, at[2], i * k->lanes);

        sums[i] = glow_cg_fma(g, v, b, sums[i]);
    }
}

/* The sums of the pixel at `line` and `x`. */
static void
sum_up(const maker *k, cg_value line, cg_value x, cg_value *sums)
{
    cg *g = k->j->g;
    const cpu_direct *d = &k->m->d;
    int64_t counts[3] = {d->kernel_h, d->kernel_w,
                         k->m->cuts > 1 ? k->m->channels : d->channels};
    cg_value at[3];
    cg_loop loops[3];

    line = cg_addc(g, cg_mulc(g, line, d->stride_h), -d->pad_h);
    x = cg_addc(g, cg_mulc(g, x, d->stride_w), -d->pad_w);
    for (int i = 0; i < 3; i++) {
        glow_cg_loop(g, &loops[i], cg_i64(g, 0), cg_i64(g, counts[i]), 1, sums,
                     k->vectors);
        at[i] = loops[i].i;
        for (int v = 0; v < k->vectors; v++)
            sums[v] = loops[i].value[v];
    }
    add_products(k, at, line, x, sums);
    for (int i = 2; i >= 0; i--) {
        glow_cg_loop_end(g, &loops[i], sums);
        for (int v = 0; v < k->vectors; v++)
            sums[v] = loops[i].value[v];
    }
}

/* Vector `i` of row `row` of the sums to add to; zeros if there are none. */
static cg_value
sum_so_far(const maker *k, cg_value row, int i)
{
    cg *g = k->j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, k->lanes);
    cg_value at, v;

    if (!k->s->from)
        return LLVMConstNull(t);
    at = glow_cg_at(g, k->s->from, cg_mulc(g, row, CPU_MATRIX_COLUMNS * 4));
    v = glow_cg_load_raw(g, t, glow_cg_atc(g, at, i * k->lanes * 4));
    return cg_select(g, k->s->has, v, LLVMConstNull(t));
}

void
glow_cpu_matrix_slow(cpu_job *j, const matrix *m, const cpu_slow *s,
                     cg_value line, cg_value x, cg_value skip)
{
    cg *g = j->g;
    int lanes = g->target->vector_bytes / 4;
    maker k = {.j = j, .m = m, .s = s};
    cg_value sums[VECTORS * 4], to;
    cg_loop rows;

    k.lanes = lanes < CPU_MATRIX_LANES ? lanes : CPU_MATRIX_LANES;
    k.vectors = (int)cg_ceil_div(s->columns, k.lanes);
    glow_cg_loop(g, &rows, skip, cg_i64(g, m->rows), 1, NULL, 0);
    for (int i = 0; i < k.vectors; i++)
        sums[i] = sum_so_far(&k, rows.i, i);
    sum_up(&k, line, cg_add(g, x, rows.i), sums);
    to = glow_cg_at(g, s->to, cg_mulc(g, rows.i, CPU_MATRIX_COLUMNS * 4));
    for (int i = 0; i < k.vectors; i++)
        glow_cg_store_raw(g, sums[i], glow_cg_atc(g, to, i * k.lanes * 4));
    glow_cg_loop_end(g, &rows, NULL);
}
