/*
 * Input of products by digits: each block of a row as integers of 23 bits, in three
 * balanced digits of 8 bits.
 *
 *     q = rint(x / step) = 65536 d2 + 256 d1 + d0,    d0, d1 in -128 to 127
 *
 * The step is a power of two for each block, so that |q| <= 2^22 and |d2| <= 65: an
 * element is off by half a step at most, 2^-22 of the largest of its block, as the sums
 * of floats are that take its place.  Elements that are multiples of the step keep
 * their value.
 *
 * The record of a block, of `record` bytes in scratch:
 *
 *     step      float
 *     start     3 of i32    the sum of each digit by -z; by -1 if offsets are stated
 *     digits    [3][padded] i8, lowest first; those behind the block are 0
 */

#include "codegen/cpu/kernels/blocks/digits.h"

typedef cpu_blocks_maker maker;

enum {
    MANTISSA = 23,         /* bits of a float behind its leading one */
    SMALLEST = 22,         /* biased exponent below which the step stays */
    SCALE_EXPONENT = 275,  /* biased exponents of x and of 1 / step, added up */
    STEP_EXPONENT = 21,    /* of x less that of the step */
    INFINITE = 0x7f800000, /* bits of infinity: those of NaN are greater */
};

int64_t
glow_cpu_blocks_record(const cpu_blocks *s)
{
    return CPU_BLOCKS_RECORD +
           CPU_BLOCKS_DIGITS * glow_cpu_blocks_padded(s, s->block);
}

static int64_t
blocks_of(const cpu_blocks *s)
{
    return s->whole + (s->rest > 0);
}

int64_t
glow_cpu_blocks_digits_scratch(const cpu_blocks *s)
{
    return s->rows * blocks_of(s) * glow_cpu_blocks_record(s);
}

cg_value
glow_cpu_blocks_record_at(const maker *m, cg_value row, cg_value number)
{
    cg *g = m->j->g;
    int64_t each = glow_cpu_blocks_record(&m->s);

    return glow_cg_at(g, m->j->scratch,
                      cg_affine(g, row, blocks_of(&m->s) * each, number, each));
}

/* A block: its elements, its record, and the end of its whole chunks. */
typedef struct block {
    cg_value from, record;
    int64_t whole; /* chunks */
    int live;      /* elements of one more, or 0 */
} block;

/* Calls `add` for each chunk of the block; `sums` are carried. */
static void
each_chunk(const maker *m, const block *k, cg_value *sums, int n,
           void (*add)(const maker *m, const block *k, cg_value chunk,
                       cg_value x, cg_value const *scale, cg_value *sums),
           cg_value const *scale)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, CPU_BLOCKS_CHUNK);
    cg_value at;
    cg_loop l;

    if (k->whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, k->whole), 1, sums, n);
        for (int i = 0; i < n; i++)
            sums[i] = l.value[i];
        at = glow_cg_at(g, k->from, cg_mulc(g, l.i, CPU_BLOCKS_CHUNK * 4));
        add(m, k, l.i, glow_cg_load_raw(g, t, at), scale, sums);
        glow_cg_loop_end(g, &l, sums);
        for (int i = 0; i < n; i++)
            sums[i] = l.value[i];
    }
    if (!k->live)
        return;
    at = glow_cg_atc(g, k->from, k->whole * CPU_BLOCKS_CHUNK * 4);
    g->live = k->live;
    at = glow_cg_load_raw(g, t, at);
    g->live = 0;
    add(m, k, cg_i64(g, k->whole), at, scale, sums);
}

/* The largest of the elements without their signs, as the integers of their bits. */
static void
add_largest(const maker *m, const block *k, cg_value chunk, cg_value x,
            cg_value const *scale, cg_value *sums)
{
    cg *g = m->j->g;
    cg_value bits = cg_bitcast(g, x, glow_cg_like(x, g->i32)), args[2];

    (void)k;
    (void)chunk;
    (void)scale;
    args[0] = sums[0];
    args[1] = cg_and(g, bits, glow_cg_int(LLVMTypeOf(bits), INT32_MAX));
    sums[0] = glow_cg_intrinsic(g, "llvm.umax", args, 2);
}

/* Stores the digits of a chunk, and adds them up. */
static void
add_digits(const maker *m, const block *k, cg_value chunk, cg_value x,
           cg_value const *scale, cg_value *sums)
{
    cg *g = m->j->g;
    int64_t padded = glow_cpu_blocks_padded(&m->s, m->s.block);
    LLVMTypeRef wide = glow_cg_like(x, g->i32);
    cg_value to = glow_cg_at(g, k->record, cg_mulc(g, chunk, CPU_BLOCKS_CHUNK));
    cg_value q = cg_fmul(g, x, *scale);

    q = glow_cg_intrinsic(g, "llvm.rint", &q, 1);
    q = LLVMBuildFPToSI(g->builder, q, wide, "");
    for (int d = 0; d < CPU_BLOCKS_DIGITS; d++) {
        cg_value digit =
            LLVMBuildTrunc(g->builder, q, glow_cg_like(q, g->i8), "");

        glow_cg_store_raw(g, digit,
                          glow_cg_atc(g, to, CPU_BLOCKS_RECORD + d * padded));
        digit = LLVMBuildSExt(g->builder, digit, wide, "");
        sums[d] = cg_iadd(g, sums[d], digit);
        q = LLVMBuildAShr(g->builder, cg_isub(g, q, digit),
                          glow_cg_int(wide, 8), "");
    }
}

/* The float that is 2 to the power of `exponent`, which is biased. */
static cg_value
power_of_two(cg *g, cg_value exponent)
{
    return cg_bitcast(g, cg_shl(g, exponent, glow_cg_int(g->i32, MANTISSA)),
                      g->f32);
}

/* Makes the record of a block; returns the bits of its largest element. */
static cg_value
convert_block(const maker *m, const block *k)
{
    cg *g = m->j->g;
    LLVMTypeRef wide = glow_cg_vector(g->i32, CPU_BLOCKS_CHUNK);
    cg_value sums[CPU_BLOCKS_DIGITS], largest = LLVMConstNull(wide);
    cg_value exponent, least = glow_cg_int(g->i32, SMALLEST), scale, step;
    int z = m->s.offsets ? 1 : 1 << (m->s.bits - 1);

    each_chunk(m, k, &largest, 1, add_largest, NULL);
    largest = glow_cg_intrinsic(g, "llvm.vector.reduce.umax", &largest, 1);
    exponent = cg_lshr(g, largest, glow_cg_int(g->i32, MANTISSA));
    exponent =
        cg_select(g, cg_icmp(g, LLVMIntULT, exponent, least), least, exponent);
    scale = power_of_two(
        g, cg_isub(g, glow_cg_int(g->i32, SCALE_EXPONENT), exponent));
    scale = glow_cg_splat(g, scale, CPU_BLOCKS_CHUNK);
    step = power_of_two(
        g, cg_isub(g, exponent, glow_cg_int(g->i32, STEP_EXPONENT)));
    for (int d = 0; d < CPU_BLOCKS_DIGITS; d++)
        sums[d] = LLVMConstNull(wide);
    each_chunk(m, k, sums, CPU_BLOCKS_DIGITS, add_digits, &scale);
    glow_cg_store_raw(g, step, k->record);
    for (int d = 0; d < CPU_BLOCKS_DIGITS; d++) {
        cg_value sum =
            glow_cg_intrinsic(g, "llvm.vector.reduce.add", &sums[d], 1);

        sum = cg_imul(g, sum, glow_cg_int(g->i32, -z));
        glow_cg_store_raw(g, sum, glow_cg_atc(g, k->record, 4 + 4 * d));
    }
    return largest;
}

static cg_value
convert(const maker *m, cg_value row, cg_value number, int64_t count)
{
    cg *g = m->j->g;
    block k = {.record = glow_cpu_blocks_record_at(m, row, number),
               .whole = count / CPU_BLOCKS_CHUNK,
               .live = (int)(count % CPU_BLOCKS_CHUNK)};

    k.from = glow_cg_at(
        g, m->j->in[0].at,
        cg_mulc(g, cg_affine(g, row, m->s.depth, number, m->s.block), 4));
    return convert_block(m, &k);
}

static cg_value
greater(cg *g, cg_value a, cg_value b)
{
    return cg_select(g, cg_icmp(g, LLVMIntUGT, a, b), a, b);
}

cg_value
glow_cpu_blocks_digits_input(const maker *m)
{
    cg *g = m->j->g;
    cg_value largest = glow_cg_int(g->i32, 0), inner;
    cg_loop rows, blocks;

    glow_cg_loop(g, &rows, cg_i64(g, 0), cg_i64(g, m->s.rows), 1, &largest, 1);
    largest = rows.value[0];
    if (m->s.whole) {
        glow_cg_loop(g, &blocks, cg_i64(g, 0), cg_i64(g, m->s.whole), 1,
                     &largest, 1);
        inner = convert(m, rows.i, blocks.i, m->s.block);
        inner = greater(g, blocks.value[0], inner);
        glow_cg_loop_end(g, &blocks, &inner);
        largest = blocks.value[0];
    }
    if (m->s.rest)
        largest = greater(g, largest,
                          convert(m, rows.i, cg_i64(g, m->s.whole), m->s.rest));
    glow_cg_loop_end(g, &rows, &largest);
    return cg_icmp(g, LLVMIntULT, rows.value[0], glow_cg_int(g->i32, INFINITE));
}
