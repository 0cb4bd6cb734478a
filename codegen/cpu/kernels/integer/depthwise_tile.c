/*
 * The register tile of depthwise convolutions of quantized elements: sums of mr pixels of
 * a block of channels, and their results.
 *
 *     for columns of the input of the mr pixels
 *       for groups of taps that begin there        vectors of x, interleaved
 *         for those of mr pixels that the group belongs to
 *           sums of nr channels += groups of x . groups of weights
 *     results: float, ratio, round, offset, saturate, pack, store
 */

#include "codegen/cpu/kernels/integer/depthwise.h"

typedef cpu_integer integer;

/* Sums of mr pixels, and sums of their input if some v is not 0. */
typedef struct tile {
    cg_value sum[CPU_DEPTHWISE_PIXELS][CPU_DEPTHWISE_SUMS],
        input[CPU_DEPTHWISE_PIXELS][CPU_DEPTHWISE_SUMS];
    int rows;
    cg_value in;    /* the first line of taps of the first pixel */
    cg_value pixel; /* number of the first result */
} tile;

/* The last column of the input that a tile of `rows` pixels reads. */
static int64_t
last_column(const integer *s, int rows)
{
    const cpu_window_axis *a = &s->axis[2];

    return (rows - 1) * a->stride + (a->kernel - 1) * a->dilation;
}

/* A vector of input: column `x`, line of taps `line`; 0 behind the last of them. */
static cg_value
load_input(const cpu_depthwise_maker *m, const tile *t, int64_t x, int64_t line)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int bytes = glow_cg_dot_bytes(s->form);
    int64_t z = line / s->axis[1].kernel, y = line % s->axis[1].kernel;
    int64_t plane = glow_cpu_integer_copied(s) * s->line;
    LLVMTypeRef type =
        glow_cg_vector(bytes == 1 ? g->i8 : g->i16, m->b.channels);

    if (line >= glow_cpu_depthwise_lines(s) || x > last_column(s, t->rows))
        return LLVMConstNull(type);
    return glow_cg_load_raw(g, type,
                            glow_cg_atc(g, t->in,
                                        z * plane +
                                            y * s->axis[1].dilation * s->line +
                                            x * s->pixel));
}

/* The group of elements from column `x` and the line of taps `line` on. */
static void
load_groups(const cpu_depthwise_maker *m, const tile *t, int64_t x,
            int64_t line, cg_value *to)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int group = s->group, tap, below;
    cpu_depthwise_groups taps = glow_cpu_depthwise_grouping(s);
    LLVMTypeRef wide = glow_cg_vector(g->i32, m->b.lanes);
    LLVMTypeRef pair = glow_cg_vector(g->i16, 2 * m->b.lanes);
    cg_value v[4];

    for (int e = 0; e < group; e++) {
        glow_cpu_depthwise_element(s, &taps, line, e, &tap, &below);
        v[e] = load_input(m, t, x + tap * s->axis[2].dilation, line + below);
    }
    for (int q = 0; q < m->b.sums; q++) {
        cg_value a, b;

        if (group == 4) {
            a = cg_bitcast(g, glow_cg_unpack(g, v[0], v[1], q / 2), pair);
            b = cg_bitcast(g, glow_cg_unpack(g, v[2], v[3], q / 2), pair);
            a = glow_cg_unpack(g, a, b, q % 2);
        } else if (group == 2) {
            a = glow_cg_unpack(g, v[0], v[1], q);
        } else {
            a = v[0];
        }
        to[q] = group == 1 ? a : cg_bitcast(g, a, wide);
    }
}

/* Half `q` of the elements of each 16 bytes, for groups of one. */
static cg_value
half_of(const cpu_depthwise_maker *m, cg_value v, int q)
{
    cg *g = m->j->g;
    cg_value order[64];

    if (m->s->group > 1)
        return v;
    for (int l = 0; l < m->b.lanes; l++)
        order[l] = LLVMConstInt(
            g->i32, (unsigned)glow_cpu_depthwise_natural(m->s, q, l), false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(order, (unsigned)m->b.lanes),
                                  "");
}

/* Weights of group `k` of taps. */
static cg_value
load_weights(const cpu_depthwise_maker *m, int64_t k, int q)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int64_t vector = m->b.lanes * s->group * glow_cpu_integer_weight_bytes(s);

    return glow_cpu_integer_load_weights(
        g, s, m->b.lanes,
        glow_cg_atc(g, m->weights, (k * m->b.sums + q) * vector));
}

/* Weights of 1 for the taps that group `k` has. */
static cg_value
ones(const cpu_depthwise_maker *m, int64_t k)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    cpu_depthwise_groups taps = glow_cpu_depthwise_grouping(s);
    int64_t line = glow_cpu_depthwise_line(s, &taps, k), all = 0;
    int bits = 8 * glow_cg_dot_bytes(s->form), tap, below;

    for (int e = 0; e < s->group; e++) {
        glow_cpu_depthwise_element(s, &taps, line, e, &tap, &below);
        if (glow_cpu_depthwise_has_tap(
                s, glow_cpu_depthwise_tap(s, &taps, k) + tap, line + below))
            all |= INT64_C(1) << (e * bits);
    }
    return glow_cg_int(
        glow_cg_vector(s->group == 1 ? g->i16 : g->i32, m->b.lanes), all);
}

/* Adds the elements `x` of group `k` of taps to the sums of pixel `p`. */
static void
add_group(const cpu_depthwise_maker *m, tile *t, int p, int64_t k,
          cg_value const *x)
{
    cg *g = m->j->g;
    const integer *s = m->s;

    for (int q = 0; q < m->b.sums; q++) {
        cg_value v = half_of(m, x[q], q);

        t->sum[p][q] =
            glow_cg_dot(g, s->form, v, load_weights(m, k, q), t->sum[p][q]);
        if (m->sums_input)
            t->input[p][q] =
                glow_cg_dot(g, s->form, v, ones(m, k), t->input[p][q]);
    }
}

/*
 * The tap of pixel `p` that column `x` of the input is, or -1.
 */
static int64_t
tap_at(const integer *s, int p, int64_t x)
{
    const cpu_window_axis *a = &s->axis[2];
    int64_t from = x - p * a->stride;

    return from < 0 || from % a->dilation || from / a->dilation >= a->kernel
               ? -1
               : from / a->dilation;
}

/*
 * All sums that groups which begin at column `x` and the line of taps `line` take part
 * in.
 */
static void
add_groups(const cpu_depthwise_maker *m, tile *t, int64_t x, int64_t line)
{
    cpu_depthwise_groups taps = glow_cpu_depthwise_grouping(m->s);
    cg_value groups[CPU_DEPTHWISE_SUMS];
    bool loaded = false;

    for (int p = 0; p < t->rows; p++) {
        int64_t tap = tap_at(m->s, p, x);

        for (int64_t k = 0; k < taps.count && tap >= 0; k++) {
            if (glow_cpu_depthwise_tap(m->s, &taps, k) != tap ||
                glow_cpu_depthwise_line(m->s, &taps, k) != line)
                continue;
            if (!loaded)
                load_groups(m, t, x, line, groups);
            loaded = true;
            add_group(m, t, p, k, groups);
        }
    }
}

/* Results as elements of type `narrow`, in the order of the channels. */
static cg_value
pack_results(const cpu_depthwise_maker *m, cg_value *y)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int count = m->b.sums;
    int bytes = glow_cg_bytes(s->y);
    bool is_signed = s->y->elem != GLOW_UINT8Q;

    for (int size = 4; size > bytes && count > 1; size /= 2) {
        count /= 2;
        for (int i = 0; i < count; i++)
            y[i] =
                glow_cg_pack(g, y[2 * i], y[2 * i + 1], size == 4 || is_signed);
    }
    if (count > 1)
        return NULL;
    if (bytes == 1 && LLVMGetIntTypeWidth(glow_cg_scalar(LLVMTypeOf(y[0]))) > 8)
        return LLVMBuildTrunc(g->builder, y[0], glow_cg_like(y[0], g->i8), "");
    return y[0];
}

/*
 * Stores results that were not packed into one vector: groups of channels, of which
 * some may be behind the last.
 */
static void
store_parts(const cpu_depthwise_maker *m, cg_value at, cg_value const *y)
{
    cg *g = m->j->g;
    int bytes = glow_cg_bytes(m->s->y), sums = m->b.sums;

    for (int q = 0; q < sums; q++)
        for (int l = 0; l < m->b.lanes; l++) {
            int c = glow_cpu_depthwise_natural(m->s, q, l);
            cg_value v;

            if (c >= m->b.live)
                continue;
            v = LLVMBuildExtractElement(
                g->builder, y[q], LLVMConstInt(g->i32, (unsigned)l, false), "");
            if (bytes == 2)
                v = LLVMBuildTrunc(g->builder, v, g->i16, "");
            glow_cg_store_raw(g, v, glow_cg_atc(g, at, c * bytes));
        }
}

static void
finish_pixel(const cpu_depthwise_maker *m, tile *t, int p)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    int bytes = glow_cg_bytes(s->y);
    cg_value sum[CPU_DEPTHWISE_SUMS], ratio[CPU_DEPTHWISE_SUMS];
    cg_value y[CPU_DEPTHWISE_SUMS], parts[CPU_DEPTHWISE_SUMS], v;
    cg_value at = cg_mulc(g, t->pixel, s->out_pixel);

    at = cg_mulc(g, cg_add(g, at, m->channel), bytes);
    at = glow_cg_at(g, m->j->out[0].at,
                    cg_addc(g, at, p * s->out_pixel * bytes));
    for (int q = 0; q < m->b.sums; q++) {
        const cpu_integer_column *c = &m->column[q];

        sum[q] = t->sum[p][q];
        ratio[q] = c->ratio;
        if (c->offset)
            sum[q] = cg_isub(g, sum[q], cg_imul(g, t->input[p][q], c->offset));
    }
    v = m->b.sums == CPU_DEPTHWISE_SUMS
            ? glow_cpu_integer_pack_results(g, s, sum, ratio)
        : m->b.sums == 2 ? glow_cpu_integer_pack_pair(g, s, sum, ratio)
                         : NULL;
    if (!v) {
        for (int q = 0; q < m->b.sums; q++)
            parts[q] = y[q] = glow_cpu_integer_round(g, s, sum[q], ratio[q]);
        v = pack_results(m, y);
    }
    if (v)
        glow_cg_store_raw(g, glow_cg_first(g, v, m->b.live), at);
    else
        store_parts(m, at, parts);
}

void
glow_cpu_depthwise_tile(const cpu_depthwise_maker *m, int rows, cg_value line,
                        cg_value x)
{
    cg *g = m->j->g;
    const integer *s = m->s;
    const cpu_window_axis *a = s->axis;
    tile t = {.rows = rows};
    cg_value in = cg_affine(g, cg_sub(g, line, m->first), a[1].stride * s->line,
                            x, a[2].stride * s->pixel);
    int64_t last = last_column(s, rows);

    t.in = glow_cg_opaque(g, glow_cg_at(g, m->in, in));
    t.pixel = cg_add(g, cg_add(g, cg_mulc(g, line, a[2].out), x), m->image);
    for (int p = 0; p < rows; p++)
        for (int q = 0; q < m->b.sums; q++) {
            t.sum[p][q] = m->column[q].start;
            t.input[p][q] = LLVMConstNull(LLVMTypeOf(t.sum[p][q]));
        }
    for (int64_t c = 0; c <= last; c++) {
        for (int64_t y = 0; y < glow_cpu_depthwise_lines(s); y += s->group)
            add_groups(m, &t, c, y);
        for (int p = 0; p < rows; p++)
            if (c == p * a[2].stride + (a[2].kernel - 1) * a[2].dilation)
                finish_pixel(m, &t, p);
    }
}
