/*
 * Few rows by weights of 8 or 4 bits in blocks, by integer dot products (VPDPBUSD,
 * USDOT) of three digits of 8 bits of the input.
 *
 * Loops, from the outermost in (../README.md has the words of blocking):
 *
 *     records of the input                      digits_input.c
 *     for each panel                            units: nr results
 *       for each block
 *         for groups of four weights of a result
 *           for each vector of the panel        load, 4 bits: AND, a shift
 *             for each row and digit            part_d += w . x_d, exact in i32
 *         sum += scale step (65536 part_2 + 256 part_1 + part_0)
 *       add the bias, finish
 *
 * 64 weights cost a row three dot products, where floats cost four conversions, four
 * multiplications and as many AND of 4 bits.  A part begins at -z times the sum of the
 * digits, so that no offset is taken off a weight.  An input that is not all finite has
 * no digits: loops that convert the weights to floats take the place of these then.
 */

#include "codegen/cpu/kernels/blocks/digits.h"

#include "codegen/cpu/emit/dot.h"

typedef cpu_blocks_maker maker;

enum {
    GROUP = 4, /* weights of a dot product */
    UNIT = 4,  /* chunks that are unrolled */
    MOST_SUMS = CPU_BLOCKS_FEW * CPU_BLOCKS_VECTORS,
    MOST_PARTS = MOST_SUMS * CPU_BLOCKS_DIGITS,
    MOST_BLOCK = 32768, /* weights, of which 31 bits hold the sums */
    LEAST_LANES = 4,    /* of a dot product */
};

bool
glow_cpu_blocks_has_digits(const cpu_target *t, const cpu_blocks *s)
{
    return s->rows <= CPU_BLOCKS_FEW && t->dot_unsigned == CPU_DOT_UNSIGNED &&
           s->lanes >= LEAST_LANES && s->lanes * GROUP <= t->dot_bytes &&
           s->block <= MOST_BLOCK;
}

int
glow_cpu_blocks_digits_vectors(const cpu_target *t, const cpu_blocks *s)
{
    /* Sums and parts of a row; the weights at hand; a mask, an element. */
    int64_t each = s->rows * (1 + CPU_BLOCKS_DIGITS) + 8 / s->bits;
    int64_t fit = (t->registers - 2) / each;

    return fit < 1                    ? 1
           : fit < CPU_BLOCKS_VECTORS ? (int)fit
                                      : CPU_BLOCKS_VECTORS;
}

/* A block: its packed bytes, its number, and the records of its rows. */
typedef struct block {
    cg_value bytes, number, record[CPU_BLOCKS_FEW];
} block;

static LLVMTypeRef
words(const maker *m)
{
    return glow_cg_vector(m->j->g->i32, m->s.lanes);
}

/* Word `i` of `chunk` of the results of vector `v`. */
static cg_value
load_word(const maker *m, const block *k, cg_value chunk, int i, int v)
{
    cg *g = m->j->g;
    int64_t word = (int64_t)m->s.lanes * 4, row = m->vectors * word;
    cg_value at = cg_mulc(g, chunk, m->s.bits / 4 * row);

    at = glow_cg_at(g, k->bytes, at);
    return glow_cg_load_raw(
        g, words(m),
        glow_cg_atc(g, at, glow_cpu_blocks_header(m) + i * row + v * word));
}

/* Offsets of vector `v`, as integers. */
static cg_value
zeros(const maker *m, const block *k, int v)
{
    cg *g = m->j->g;
    cg_value z = glow_cpu_blocks_zeros(m, k->bytes, v);

    return LLVMBuildZExt(g->builder, z, words(m), "");
}

/* Products. */

static void
start_parts(const maker *m, const block *k, cg_value *part)
{
    cg *g = m->j->g;

    for (int r = 0; r < m->s.rows; r++)
        for (int d = 0; d < CPU_BLOCKS_DIGITS; d++) {
            cg_value at = glow_cg_atc(g, k->record[r], 4 + 4 * d);
            cg_value start =
                glow_cg_splat(g, glow_cg_load_raw(g, g->i32, at), m->s.lanes);

            for (int v = 0; v < m->vectors; v++)
                part[(r * m->vectors + v) * CPU_BLOCKS_DIGITS + d] =
                    m->s.offsets ? cg_imul(g, start, zeros(m, k, v)) : start;
        }
}

/* A group of weights of all results of a panel: what is multiplied by them. */
typedef struct group {
    cg_value x[CPU_BLOCKS_FEW * CPU_BLOCKS_DIGITS]; /* digits, row by row */
} group;

/* Loads the digits of group `at` of the block. */
static void
load_group(const maker *m, const block *k, cg_value at, group *to)
{
    cg *g = m->j->g;
    int64_t padded = glow_cpu_blocks_padded(&m->s, m->s.block);

    for (int r = 0; r < m->s.rows; r++)
        for (int d = 0; d < CPU_BLOCKS_DIGITS; d++) {
            cg_value x = glow_cg_at(g, k->record[r], cg_mulc(g, at, GROUP));

            x = glow_cg_atc(g, x, CPU_BLOCKS_RECORD + d * padded);
            to->x[r * CPU_BLOCKS_DIGITS + d] =
                glow_cg_splat(g, glow_cg_load_raw(g, g->i32, x), m->s.lanes);
        }
}

/* parts += w x, of the results of vector `v`. */
static void
multiply(const maker *m, const group *of, int v, cg_value w, cg_value *part)
{
    for (int r = 0; r < m->s.rows; r++)
        for (int d = 0; d < CPU_BLOCKS_DIGITS; d++) {
            cg_value *p = &part[(r * m->vectors + v) * CPU_BLOCKS_DIGITS + d];

            *p = glow_cg_dot(m->j->g, CPU_DOT_UNSIGNED, w,
                             of->x[r * CPU_BLOCKS_DIGITS + d], *p);
        }
}

/*
 * Adds a chunk.  Each line is prefetched beside the products of one: products of a decoder
 * read weights of 4 bits out of memory at 24.4 GB/s with bursts of eight prefetches, and at
 * 27.5 so (Zen 4, 4 KiB ahead in both).
 */
static void
add_chunk(const maker *m, const block *k, cg_value chunk, int64_t before,
          cg_value *part)
{
    cg *g = m->j->g;
    int64_t bytes = (int64_t)m->s.lanes * 4;
    cg_value mask = glow_cg_int(words(m), 0x0f0f0f0f), word;
    cg_value at = glow_cg_at(
        g, k->bytes, cg_mulc(g, chunk, m->vectors * bytes * m->s.bits / 4));
    group of[2];

    load_group(m, k, cg_mulc(g, chunk, 2), &of[0]);
    load_group(m, k, cg_addc(g, cg_mulc(g, chunk, 2), 1), &of[1]);
    for (int i = 0; i < m->s.bits / 4; i++)
        for (int v = 0; v < m->vectors; v++) {
            int64_t here = (i * m->vectors + v) * bytes;

            word = load_word(m, k, chunk, i, v);
            glow_cpu_blocks_prefetch(m, glow_cg_atc(g, at, here), before + here,
                                     bytes);
            if (m->s.bits == 8) {
                multiply(m, &of[i], v, word, part);
                continue;
            }
            multiply(m, &of[0], v, cg_and(g, word, mask), part);
            word = cg_lshr(g, word, glow_cg_int(words(m), 4));
            multiply(m, &of[1], v, cg_and(g, word, mask), part);
        }
}

static void
add_chunks(const maker *m, const block *k, cg_value from, int64_t count,
           cg_value *part)
{
    int64_t bytes = (int64_t)m->vectors * m->s.lanes * m->s.bits;

    for (int64_t i = 0; i < count; i++)
        add_chunk(m, k, cg_addc(m->j->g, from, i), i * bytes, part);
}

static void
add_weights(const maker *m, const block *k, int64_t count, cg_value *part)
{
    cg *g = m->j->g;
    int n = (int)m->s.rows * m->vectors * CPU_BLOCKS_DIGITS;
    int64_t chunks = cg_ceil_div(count, CPU_BLOCKS_CHUNK);
    int64_t whole = chunks <= UNIT ? 0 : chunks / UNIT * UNIT;
    cg_loop l;

    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), UNIT, part, n);
        for (int i = 0; i < n; i++)
            part[i] = l.value[i];
        add_chunks(m, k, l.i, UNIT, part);
        glow_cg_loop_end(g, &l, part);
        for (int i = 0; i < n; i++)
            part[i] = l.value[i];
    }
    add_chunks(m, k, cg_i64(g, whole), chunks - whole, part);
}

/* The sum of the digits `part` in steps, as floats. */
static cg_value
join(const maker *m, cg_value const *part)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, m->s.lanes);
    cg_value sum = NULL, base = glow_cg_real(t, 256);

    for (int d = CPU_BLOCKS_DIGITS - 1; d >= 0; d--) {
        cg_value x = LLVMBuildSIToFP(g->builder, part[d], t, "");

        sum = sum ? glow_cg_fma(g, sum, base, x) : x;
    }
    return sum;
}

static void
add_block(const maker *m, block *k, int64_t count, cg_value *sums)
{
    cg *g = m->j->g;
    cg_value part[MOST_PARTS];

    for (int r = 0; r < m->s.rows; r++)
        k->record[r] = glow_cpu_blocks_record_at(m, cg_i64(g, r), k->number);
    start_parts(m, k, part);
    add_weights(m, k, count, part);
    for (int v = 0; v < m->vectors; v++) {
        cg_value scale = glow_cpu_blocks_scale(m, k->bytes, v);

        for (int r = 0; r < m->s.rows; r++) {
            int i = r * m->vectors + v;
            cg_value step = glow_cg_load_raw(g, g->f32, k->record[r]);
            cg_value x = join(m, &part[i * CPU_BLOCKS_DIGITS]);

            x = cg_fmul(g, x, glow_cg_splat(g, step, m->s.lanes));
            sums[i] = glow_cg_fma(g, x, scale, sums[i]);
        }
    }
}

/* Weights as floats. */

/* Weight `i` of `chunk`, less its offset. */
static cg_value
weight_of(const maker *m, const block *k, cg_value chunk, int i, int v)
{
    cg *g = m->j->g;
    bool bytes = m->s.bits == 8;
    cg_value w = load_word(m, k, chunk, bytes ? i / GROUP : 0, v);
    int bit = i % GROUP * 8 + (bytes ? 0 : i / GROUP * 4);

    w = cg_lshr(g, w, glow_cg_int(words(m), bit));
    w = cg_and(g, w, glow_cg_int(words(m), bytes ? 255 : 15));
    w = cg_isub(g, w,
                m->s.offsets ? zeros(m, k, v)
                             : glow_cg_int(words(m), bytes ? 128 : 8));
    return LLVMBuildSIToFP(g->builder, w, glow_cg_vector(g->f32, m->s.lanes),
                           "");
}

static void
add_floats(const maker *m, const block *k, cg_value chunk, int count,
           cg_value *part)
{
    cg *g = m->j->g;
    cg_value first =
        cg_affine(g, k->number, m->s.block, chunk, CPU_BLOCKS_CHUNK);

    for (int i = 0; i < count; i++)
        for (int v = 0; v < m->vectors; v++) {
            cg_value w = weight_of(m, k, chunk, i, v);

            for (int r = 0; r < m->s.rows; r++) {
                cg_value *p = &part[r * m->vectors + v];
                cg_value at = cg_addc(g, first, r * m->s.depth + i);
                cg_value x = glow_cg_load_raw(
                    g, g->f32,
                    glow_cg_at(g, m->j->in[0].at, cg_mulc(g, at, 4)));

                *p = glow_cg_fma(g, glow_cg_splat(g, x, m->s.lanes), w, *p);
            }
        }
}

static void
add_block_of_floats(const maker *m, block *k, int64_t count, cg_value *sums)
{
    cg *g = m->j->g;
    int n = (int)m->s.rows * m->vectors;
    int64_t whole = count / CPU_BLOCKS_CHUNK;
    cg_value part[MOST_SUMS];
    cg_loop l;

    for (int i = 0; i < n; i++)
        part[i] = LLVMConstNull(glow_cg_vector(g->f32, m->s.lanes));
    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), 1, part, n);
        for (int i = 0; i < n; i++)
            part[i] = l.value[i];
        add_floats(m, k, l.i, CPU_BLOCKS_CHUNK, part);
        glow_cg_loop_end(g, &l, part);
        for (int i = 0; i < n; i++)
            part[i] = l.value[i];
    }
    add_floats(m, k, cg_i64(g, whole), (int)(count % CPU_BLOCKS_CHUNK), part);
    for (int i = 0; i < n; i++)
        sums[i] = glow_cg_fma(
            g, part[i], glow_cpu_blocks_scale(m, k->bytes, i % m->vectors),
            sums[i]);
}

/* Panels. */

typedef void add_fn(const maker *m, block *k, int64_t count, cg_value *sums);

static void
make_panel(maker *m, void *user)
{
    cg *g = m->j->g;
    add_fn *const *add = user;
    int n = (int)m->s.rows * m->vectors;
    cg_value sums[MOST_SUMS];
    cg_loop l;
    block k;

    for (int i = 0; i < n; i++)
        sums[i] = LLVMConstNull(glow_cg_vector(g->f32, m->s.lanes));
    if (m->s.whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, m->s.whole), 1, sums, n);
        for (int i = 0; i < n; i++)
            sums[i] = l.value[i];
        k = (block){.number = l.i, .bytes = glow_cpu_blocks_at(m, l.i)};
        (*add)(m, &k, m->s.block, sums);
        glow_cg_loop_end(g, &l, sums);
        for (int i = 0; i < n; i++)
            sums[i] = l.value[i];
    }
    if (m->s.rest) {
        k.number = cg_i64(g, m->s.whole);
        k.bytes = glow_cpu_blocks_at(m, k.number);
        (*add)(m, &k, m->s.rest, sums);
    }
    for (int i = 0; i < n; i++)
        glow_cpu_blocks_finish(m, cg_i64(g, 0), i / m->vectors, i % m->vectors,
                               sums[i]);
}

void
glow_cpu_blocks_by_digits(maker *m)
{
    static add_fn *const digits = add_block, *const floats =
                                                 add_block_of_floats;
    cg *g = m->j->g;
    cg_value finite = glow_cpu_blocks_digits_input(m);
    cg_if s;

    glow_cg_if(g, &s, finite);
    glow_cpu_blocks_each(m, make_panel, (void *)&digits);
    glow_cg_end_if(g, &s);
    glow_cg_if(g, &s, LLVMBuildNot(g->builder, finite, ""));
    glow_cpu_blocks_each(m, make_panel, (void *)&floats);
    glow_cg_end_if(g, &s);
}
