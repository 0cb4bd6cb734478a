/*
 * Epilogue of tiles: rows of sums that wait in the buffer go through the fused
 * element-wise chain while the registers of matrices multiply.
 */

#include "codegen/cpu/kernels/matrix/make.h"

typedef cpu_matrix_maker maker;
typedef cpu_matrix_waiting waiting;

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

/* The pixel of the results at `place` among the pixels of joined lines. */
static cg_value
joined_pixel(const maker *k, cg_value place)
{
    cg *g = k->j->g;
    const cpu_matrix *m = &k->m;
    cg_value line = cg_over(g, place, m->in_w);
    cg_value x = cg_modulo(g, place, m->in_w);

    return cg_affine(g, line, m->out_w, x, 1);
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

void
glow_cpu_matrix_finish(const maker *k, cg_value most)
{
    cg *g = k->j->g;
    const waiting *w = &k->waits;
    cg_value from = cg_get(g, w->from), pixel = cg_get(g, w->pixel);
    cg_value all = cg_get(g, w->count), channel = cg_get(g, w->channel);
    cg_value count = glow_cg_imin(g, all, most), at, place;
    cg_loop l;
    cg_if is;

    glow_cg_loop_guarded(g, &l, cg_i64(g, 0), count, 1, NULL, 0);
    at = cg_add(g, from, cg_mulc(g, l.i, CPU_MATRIX_PITCH));
    place = cg_add(g, pixel, l.i);
    if (k->m.joined) {
        cg_value x = cg_modulo(g, place, k->m.in_w);

        glow_cg_if(g, &is, cg_icmp(g, LLVMIntSLT, x, cg_i64(g, k->m.out_w)));
        place = joined_pixel(k, place);
    }
    finish_row(k, at, position_of(k, place), channel);
    if (k->m.joined)
        glow_cg_end_if(g, &is);
    glow_cg_loop_end(g, &l, NULL);
    cg_set(g, w->from, cg_add(g, from, cg_mulc(g, count, CPU_MATRIX_PITCH)));
    cg_set(g, w->pixel, cg_add(g, pixel, count));
    cg_set(g, w->count, cg_sub(g, all, count));
}

void
glow_cpu_matrix_finish_all(const maker *k)
{
    glow_cpu_matrix_finish(k, cg_i64(k->j->g, 2 * CPU_MATRIX_ROWS));
}

void
glow_cpu_matrix_prefetch_rows(const maker *k, cg_value count)
{
    cg *g = k->j->g;
    int64_t beyond = k->ahead.places && glow_cpu_matrix_is_far(g->target, &k->m)
                         ? 0
                         : glow_cpu_matrix_cache(g->target);
    cg_value at, most = cg_i64(g, 2 * k->m.rows), end, pixel;
    cg_loop l;

    if (!glow_cpu_may_prefetch(k->j, 1, k->columns, beyond))
        return;
    at = cg_get(g, k->coming);
    end = cg_add(g, at, count);
    end = glow_cg_imin(g, end, most);
    glow_cg_loop_guarded(g, &l, at, end, 1, NULL, 0);
    pixel = cg_add(g, k->pixel, l.i);
    if (k->m.joined)
        pixel = joined_pixel(k, pixel);
    glow_cpu_prefetch(k->j,
                      (cpu_place){position_of(k, pixel), k->channel, 0, 0}, 1,
                      1, k->columns, beyond);
    glow_cg_loop_end(g, &l, NULL);
    cg_set(g, k->coming, end);
}
void
glow_cpu_matrix_begin_results(maker *k)
{
    cg *g = k->j->g;
    cg_value none = cg_i64(g, 0);
    LLVMTypeRef t = LLVMArrayType2(g->i8, 2 * CPU_MATRIX_PAIR);

    k->buffer = glow_cg_local(g, LLVMGetUndef(t));
    LLVMSetAlignment(k->buffer, CPU_LINE);
    k->waits.from = glow_cg_local(g, none);
    k->waits.pixel = glow_cg_local(g, none);
    k->waits.count = glow_cg_local(g, none);
    k->waits.channel = glow_cg_local(g, none);
    k->waits.next = glow_cg_local(g, none);
    k->coming = glow_cg_local(g, none);
    k->due = glow_cg_local(g, none);
}
