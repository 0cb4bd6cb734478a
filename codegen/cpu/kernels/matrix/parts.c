/*
 * Floats, and float16 as float, by parts: a = a1 + a2 + r, where a1 and a2 are bfloat16 of 8 bits each.
 *
 *     a b = a2 b1 + a1 b1 + a1 b2 + (a2 b2 and what r and its twin add)
 *
 * Three products of tiles take the place of a float one that is five times as slow
 * by vectors.  With a third part, parts=six, there are six products: what is left out is
 * 2^-26 of a product, less than the rounding of float.
 *
 * Of two parts |r| is at most 2^-17 of |a|, and usually less by far, so a product is
 * off by 2^-15 of itself at most and by 2^-18 as a root mean square; in a sum such
 * errors cancel.  docs/accuracy.md has what was measured.  The 11 bits of a float16 are
 * in its two parts, so only a2 b2 is left out.
 *
 * The first part is rounded half away from zero, by one integer addition; it and
 * the low 16 bits of the float together give the float back.
 *
 * Tiles take subnormal numbers for zeros, and an infinity has no parts.  So numbers
 * are looked at while they are split: a line is safe if magnitudes are 0 or within
 * CPU_LEAST_INPUT and CPU_MOST_PART, so that products with safe weights are normal
 * numbers and sums of them finite.  Weights are judged
 * by the largest of their column, because gradients have tiny numbers beside usual ones,
 * which count for nothing in the sum.  Other lines go by vectors (slow.c), where an
 * infinity, a NaN, or a tiny number does what it does in float.
 *
 * Source: Henry, Tang, Heinecke, Leveraging the bfloat16 Artificial Intelligence
 * Datatype For Higher-Precision Computations, ARITH 2019, arXiv 1904.06376.
 */

#include <math.h>
#include <string.h>

#include "codegen/cpu/kernels/matrix/matrix.h"

#define LANES 16 /* of vectors that are split */
#define HALF 0x8000
#define HIGH 0xffff0000
#define MAGNITUDE 0x7fffffff

typedef cpu_matrix matrix;

/* Constant weights. */

static float
float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t
bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float
glow_cpu_matrix_weight(const cpu_direct *d, const void *from, int64_t i)
{
    uint16_t half;
    float w;

    if (d->type->elem == GLOW_FLOAT) {
        memcpy(&w, (const char *)from + i * 4, 4);
        return w;
    }
    memcpy(&half, (const char *)from + i * 2, 2);
    return glow_half_to_float(half);
}

void
glow_cpu_matrix_parts_of(float w, bool safe, uint16_t to[CPU_MOST_PARTS])
{
    for (int i = 0; i < CPU_MOST_PARTS; i++) {
        uint32_t part = (bits_of(w) + HALF) & HIGH;

        to[i] = (uint16_t)(part >> 16);
        if (!safe) {
            to[1] = (uint16_t)bits_of(w);
            to[2] = 0;
            return;
        }
        w -= float_of(part);
    }
}

/* The largest magnitude among the weights of output `o` of a group; NaN if one is. */
static float
largest(const cpu_direct *d, const cpu_filter *f, int64_t group, int64_t o)
{
    int64_t at = f->first + group * f->group + o * f->output;
    float most = 0;

    for (int64_t i = 0; i < d->kernel_h; i++)
        for (int64_t j = 0; j < d->kernel_w; j++)
            for (int64_t k = 0; k < d->channels; k++) {
                int64_t e = at + i * f->row + j * f->tap + k * f->depth;
                float w = fabsf(glow_cpu_matrix_weight(d, f->from->data, e));

                if (!(w <= most))
                    most = w;
                if (isnan(w))
                    return w;
            }
    return most;
}

bool
glow_cpu_matrix_weights_safe(const cpu_direct *d, const cpu_filter *f)
{
    for (int64_t i = 0; i < d->groups * d->outputs; i++) {
        float most = largest(d, f, i / d->outputs, i % d->outputs);

        if (!(most == 0 ||
              (most >= (float)CPU_LEAST_WEIGHT && most < (float)CPU_MOST_PART)))
            return false;
    }
    return true;
}

/* Splitting in code. */

cpu_split
glow_cpu_parts_begin(cg *g)
{
    LLVMTypeRef t = glow_cg_vector(g->i32, LANES);

    return (cpu_split){glow_cg_local(g, LLVMConstNull(t)),
                       glow_cg_local(g, LLVMConstAllOnes(t))};
}

static void
note(cg *g, const cpu_split *s, cg_value bits)
{
    LLVMTypeRef t = LLVMTypeOf(bits);
    cg_value size = cg_and(g, bits, glow_cg_int(t, MAGNITUDE));
    cg_value less = cg_isub(g, size, glow_cg_int(t, 1)); /* 0: the largest */
    cg_value most = cg_get(g, s->most), least = cg_get(g, s->least);

    cg_set(g, s->most,
           cg_select(g, cg_icmp(g, LLVMIntUGT, size, most), size, most));
    cg_set(g, s->least,
           cg_select(g, cg_icmp(g, LLVMIntULT, less, least), less, least));
}

/* The high halves of 32 bits, rounded. */
static cg_value
rounded(cg *g, cg_value bits)
{
    return cg_iadd(g, bits, glow_cg_int(LLVMTypeOf(bits), HALF));
}

static cg_value
high_of(cg *g, cg_value bits)
{
    LLVMTypeRef t = LLVMTypeOf(bits);
    cg_value v = cg_lshr(g, bits, glow_cg_int(t, 16));

    return LLVMBuildTrunc(g->builder, v, glow_cg_like(bits, g->i16), "");
}

/* `v` less its part, the high half of `bits`. */
static cg_value
without_part(cg *g, cg_value v, cg_value bits)
{
    cg_value part =
        cg_and(g, bits, glow_cg_int(LLVMTypeOf(bits), -(HALF + HALF)));

    return cg_fsub(g, v, cg_bitcast(g, part, LLVMTypeOf(v)));
}

cpu_parts
glow_cpu_parts_split(cg *g, const cpu_split *s, cg_value v, int parts)
{
    LLVMTypeRef t = glow_cg_like(v, g->i32);
    cpu_parts p = {{NULL}};

    note(g, s, cg_bitcast(g, v, t));
    for (int i = 0; i < parts; i++) {
        cg_value bits = rounded(g, cg_bitcast(g, v, t));

        p.part[i] = high_of(g, bits);
        v = without_part(g, v, bits);
    }
    return p;
}

/* The high half of `v` rounded, as a float whose low half is 0. */
static cg_value
first_part(cg *g, cg_value v)
{
    LLVMTypeRef t = glow_cg_like(v, g->i32);
    cg_value bits = rounded(g, cg_bitcast(g, v, t));

    return cg_and(g, bits, glow_cg_int(t, -(HALF + HALF)));
}

cpu_parts
glow_cpu_parts_pairs(cg *g, const cpu_split *s, cg_value a, cg_value b,
                     int parts)
{
    LLVMTypeRef t = glow_cg_like(a, g->i32), f = LLVMTypeOf(a);
    cpu_parts p = {{NULL}};

    if (s) {
        note(g, s, cg_bitcast(g, a, t));
        note(g, s, cg_bitcast(g, b, t));
    }
    for (int i = 0; i < parts; i++) {
        cg_value low = first_part(g, a), high = first_part(g, b);

        p.part[i] = cg_or(g, cg_lshr(g, low, glow_cg_int(t, 16)), high);
        a = cg_fsub(g, a, cg_bitcast(g, low, f));
        b = cg_fsub(g, b, cg_bitcast(g, high, f));
    }
    return p;
}

static cg_value
any_lane(cg *g, cg_value bad)
{
    bad = cg_bitcast(g, bad, LLVMIntTypeInContext(g->context, LANES));
    return cg_icmp(g, LLVMIntNE, bad, LLVMConstNull(LLVMTypeOf(bad)));
}

/* True in each lane of magnitudes `most` that is too large. */
static cg_value
is_large(cg *g, cg_value most)
{
    return cg_icmp(
        g, LLVMIntUGE, most,
        glow_cg_int(LLVMTypeOf(most), bits_of((float)CPU_MOST_PART)));
}

/* True in each lane of magnitudes less 1, `less`, that is below `least`. */
static cg_value
is_small(cg *g, cg_value less, double least)
{
    return cg_icmp(
        g, LLVMIntULT, less,
        glow_cg_int(LLVMTypeOf(less), (int64_t)bits_of((float)least) - 1));
}

cg_value
glow_cpu_parts_unsafe(cg *g, const cpu_split *s, double least)
{
    cg_value large = is_large(g, cg_get(g, s->most));

    return any_lane(g,
                    cg_or(g, large, is_small(g, cg_get(g, s->least), least)));
}

cg_value
glow_cpu_parts_unsafe_columns(cg *g, const cpu_split *s)
{
    cg_value most = cg_get(g, s->most);
    cg_value less = cg_isub(g, most, glow_cg_int(LLVMTypeOf(most), 1));

    cg_value large = is_large(g, most);

    return any_lane(g, cg_or(g, large, is_small(g, less, CPU_LEAST_WEIGHT)));
}

/* Lines of input. */

typedef struct splitter {
    cpu_job *j;
    const matrix *m;
    cpu_split seen;
    cg_value image; /* line 0 of the input */
} splitter;

static void
store_parts(const splitter *s, cg_value v, cg_value to)
{
    cg *g = s->j->g;
    cpu_parts p = glow_cpu_parts_split(g, &s->seen, v, s->m->parts);

    for (int i = 0; i < s->m->parts; i++)
        glow_cg_store_raw(g, p.part[i], glow_cg_atc(g, to, i * s->m->part));
}

/* `live` numbers. */
static void
split_some(const splitter *s, cg_value from, cg_value to, int live)
{
    cg *g = s->j->g;
    cg_tensor t = {from, s->m->d.type};

    g->live = live < LANES ? live : 0;
    store_parts(s, glow_cg_load(g, t, cg_i64(g, 0), LANES), to);
    g->live = 0;
}

/* The high halves of 32 bits of `a`, and then those of `b`. */
static cg_value
high_halves(cg *g, cg_value a, cg_value b)
{
    LLVMTypeRef words = glow_cg_vector(g->i16, 2 * LANES);
    cg_value order[2 * LANES];

    for (unsigned i = 0; i < 2 * LANES; i++)
        order[i] = LLVMConstInt(g->i32, 2 * i + 1, false);
    a = cg_bitcast(g, a, words);
    b = cg_bitcast(g, b, words);
    return LLVMBuildShuffleVector(g->builder, a, b,
                                  LLVMConstVector(order, 2 * LANES), "");
}

/*
 * Two vectors of numbers: a shuffle of both takes their high halves, in place of a shift
 * and a conversion to words for each.
 */
static void
split_two(const splitter *s, cg_value from, cg_value to)
{
    cg *g = s->j->g;
    cg_tensor t = {from, s->m->d.type};
    LLVMTypeRef type = glow_cg_vector(g->i32, LANES);
    cg_value v[2], bits[2], part;

    for (int n = 0; n < 2; n++) {
        v[n] = glow_cg_load(g, t, cg_i64(g, n * LANES), LANES);
        note(g, &s->seen, cg_bitcast(g, v[n], type));
    }
    for (int i = 0; i < s->m->parts; i++) {
        for (int n = 0; n < 2; n++)
            bits[n] = rounded(g, cg_bitcast(g, v[n], type));
        part = high_halves(g, bits[0], bits[1]);
        glow_cg_store_raw(g, part, glow_cg_atc(g, to, i * s->m->part));
        for (int n = 0; n < 2; n++)
            v[n] = without_part(g, v[n], bits[n]);
    }
}

/* `count` numbers beside each other: as many as two vectors hold at a time, then one. */
static void
split_run(const splitter *s, cg_value from, cg_value to, int64_t count)
{
    cg *g = s->j->g;
    int64_t two = 2 * LANES, whole = count / two;
    int64_t size = glow_cg_bytes(s->m->d.type);
    cg_value in;
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        in = glow_cg_at(g, from, cg_mulc(g, l.i, two * size));
        split_two(s, in, glow_cg_at(g, to, cg_mulc(g, l.i, two * 2)));
        glow_cg_loop_end(g, &l, NULL);
    }
    for (int64_t at = whole * two; at < count; at += LANES) {
        int live = count - at < LANES ? (int)(count - at) : LANES;

        in = glow_cg_atc(g, from, at * size);
        split_some(s, in, glow_cg_atc(g, to, at * 2), live);
    }
}

/* Zeros in all parts of `pixels` pixels. */
static void
clear(const splitter *s, cg_value to, int64_t pixels)
{
    cg *g = s->j->g;
    const matrix *m = s->m;
    glow_type words = glow_type_of(GLOW_BFLOAT16, GLOW_DIMS_OF(1));

    for (int i = 0; i < m->parts && pixels > 0; i++)
        glow_cpu_fill(g, (cg_tensor){glow_cg_atc(g, to, i * m->part), &words},
                      pixels * m->pixel / 2, LLVMConstNull(g->i16));
}

/*
 * Pixels beside each other, each with a zero behind its channels if need be; of a cut
 * some channels of each.
 */
static void
split_pixels(const splitter *s, cg_value from, cg_value to, int64_t pixels)
{
    cg *g = s->j->g;
    const matrix *m = s->m;
    int64_t in = m->d.channels, out = m->channels;
    cg_loop l;

    if (in * 2 == m->pixel && m->d.groups == 1) {
        split_run(s, from, to, pixels * in);
        return;
    }
    if (in < out)
        clear(s, to, pixels);
    glow_cg_for(g, &l, pixels);
    from = glow_cg_at(g, from, cg_mulc(g, l.i, m->d.pixel));
    to = glow_cg_at(g, to, cg_mulc(g, l.i, m->pixel));
    split_run(s, from, to, in < out ? in : out);
    glow_cg_loop_end(g, &l, NULL);
}

/* Line `y` of the input, and zeros around it; zeros alone beyond the image. */
static void
split_line(const splitter *s, cg_value y, cg_value to)
{
    cg *g = s->j->g;
    const matrix *m = s->m;
    const cpu_direct *d = &m->d;
    int64_t left = d->pad_w < m->in_w ? d->pad_w : m->in_w;
    int64_t pixels = d->in_w < m->in_w - left ? d->in_w : m->in_w - left;
    cg_value from = glow_cg_at(g, s->image, cg_mulc(g, y, d->in_w * d->pixel));
    cg_value is = cg_icmp(g, LLVMIntULT, y, cg_i64(g, d->in_h));
    cg_if inside, outside;

    glow_cg_if(g, &inside, is);
    clear(s, to, left);
    clear(s, glow_cg_atc(g, to, (left + pixels) * m->pixel),
          m->in_w - left - pixels);
    if (pixels > 0)
        split_pixels(s, from, glow_cg_atc(g, to, left * m->pixel), pixels);
    glow_cg_end_if(g, &inside);
    glow_cg_if(g, &outside, LLVMBuildNot(g->builder, is, ""));
    clear(s, to, m->in_w);
    glow_cg_end_if(g, &outside);
}

/* The pixels of tile `tile` of the only line. */
static void
split_tile(const splitter *s, cg_value tile, cg_value to)
{
    cg *g = s->j->g;
    const matrix *m = s->m;
    cg_value x = glow_cpu_matrix_tile(g, m, tile);

    split_pixels(s, glow_cg_at(g, s->image, cg_mulc(g, x, m->d.pixel)), to,
                 m->rows);
}

cg_value
glow_cpu_matrix_split(cpu_job *j, const matrix *m, cg_value image, cg_value at,
                      cg_value first, cg_value end, cg_value *flags)
{
    cg *g = j->g;
    const cpu_direct *d = &m->d;
    int64_t stride = m->flat ? 1 : d->stride_h;
    int64_t reach =
        m->flat ? 0 : (d->kernel_h - 1) * d->dilation_h + 1 - d->stride_h;
    cg_value low = cg_mulc(g, first, stride);
    cg_value high = cg_addc(g, cg_mulc(g, end, stride), reach);
    cg_value zero = glow_cg_at(g, at, cg_mulc(g, low, -m->line)), to, bad;
    splitter s = {j, m, glow_cpu_parts_begin(g), image};
    LLVMTypeRef t = glow_cg_vector(g->i32, LANES);
    cg_loop lines;

    *flags = glow_cg_atc(g, at, glow_cpu_matrix_copied(m) * m->line);
    *flags = glow_cg_at(g, *flags, cg_mulc(g, low, -4));
    glow_cg_loop(g, &lines, low, high, 1, NULL, 0);
    cg_set(g, s.seen.most, LLVMConstNull(t));
    cg_set(g, s.seen.least, LLVMConstAllOnes(t));
    to = glow_cg_at(g, zero, cg_mulc(g, lines.i, m->line));
    if (m->flat)
        split_tile(&s, lines.i, to);
    else
        split_line(&s, cg_addc(g, lines.i, -d->pad_h), to);
    bad = glow_cpu_parts_unsafe(
        g, &s.seen, m->parts == 3 ? CPU_LEAST_OF_THREE : CPU_LEAST_INPUT);
    bad = LLVMBuildZExt(g->builder, bad, g->i32, "");
    glow_cg_store_raw(g, bad, glow_cg_at(g, *flags, cg_mulc(g, lines.i, 4)));
    glow_cg_loop_end(g, &lines, NULL);
    return zero;
}
