/*
 * Few rows by weights of 8 or 4 bits in blocks, converted in registers.
 *
 * Loops, from the outermost in (../README.md has the words of blocking):
 *
 *     for each panel                            units: nr results
 *       for each block
 *         for its weights, 8 of 4 bits at once
 *           for each vector of the panel        load, convert
 *             for each row                      part += x w
 *         sum += scale part
 *       add the bias, finish
 *
 * The weights of 4 bits in a word w are taken out by one AND each: (w & 15 << 4 i) is
 * weight i times 16^i, which the conversion to float keeps.  Input is multiplied by
 * 16^-i instead, once, in scratch.  The offset z is not taken off each weight either:
 * a part begins at -z times the sum of the block's input.  If such a sum is not
 * finite, that would make NaN of infinity, and loops that subtract offsets from weights
 * take the place of these.
 *
 * In cycles of Zen 4, 16 weights of 4 bits cost 1 for AND, 1 for the conversion and 1
 * for FMA on four pipes of 256 bits: 19 GB/s of weights, beside 25 of memory.  Lines
 * are prefetched before they are used: a core whose arithmetic takes nearly as long as
 * its reading looks less far ahead by itself.
 */

#include <math.h>

#include "codegen/cpu/kernels/blocks/blocks.h"

typedef cpu_blocks_maker maker;

enum {
    MOST_UNROLLED = 32, /* weights of a block */
    UNROLLED_BYTES = 8, /* weights of 8 bits in a longer one */
    MOST_SUMS = CPU_BLOCKS_FEW * CPU_BLOCKS_VECTORS,
};

/* Scratch: Input by powers of 16, in chunks; then the starts of parts. */

static int64_t
row_length(const cpu_blocks *s)
{
    int64_t count = s->whole * glow_cpu_blocks_padded(s, s->block);

    return s->rest ? count + glow_cpu_blocks_padded(s, s->rest) : count;
}

static int64_t
blocks_of(const cpu_blocks *s)
{
    return s->whole + (s->rest > 0);
}

int64_t
glow_cpu_blocks_few_scratch(const cpu_blocks *s)
{
    return s->bits == 8 ? 0 : s->rows * (row_length(s) + blocks_of(s)) * 4;
}

typedef struct few {
    bool plain; /* offsets are taken off each weight */
} few;

/* A block: its number, its weights, and the first one's number in a row of x. */
typedef struct block {
    cg_value number, bytes, x;
    cg_value zero[CPU_BLOCKS_VECTORS]; /* or NULL */
} block;

/* Element `at` of `row` of x, in all lanes. */
static cg_value
load_x(const maker *m, int row, cg_value at)
{
    cg *g = m->j->g;
    cg_value x = m->s.bits == 8 ? m->j->in[0].at : m->j->scratch;
    int64_t length = m->s.bits == 8 ? m->s.depth : row_length(&m->s);

    x = glow_cg_at(g, x, cg_mulc(g, at, 4));
    x = glow_cg_load_raw(g, g->f32, glow_cg_atc(g, x, row * length * 4));
    return glow_cg_splat(g, x, m->s.lanes);
}

static cg_value
start_at(const maker *m, int64_t row, cg_value number)
{
    cg *g = m->j->g;
    int64_t at = m->s.rows * row_length(&m->s) + row * blocks_of(&m->s);

    return glow_cg_at(g, m->j->scratch, cg_mulc(g, cg_addc(g, number, at), 4));
}

/* parts += x w, of one weight of each result. */
static void
multiply(const maker *m, cg_value at, cg_value const *w, cg_value *part)
{
    cg *g = m->j->g;

    for (int r = 0; r < m->s.rows; r++) {
        cg_value x = load_x(m, r, at);

        for (int v = 0; v < m->vectors; v++) {
            cg_value *p = &part[r * m->vectors + v];

            *p = glow_cg_fma(g, x, w[v], *p);
        }
    }
}

static void
add_chunk(const maker *m, const block *k, cg_value chunk, cg_value *part)
{
    cg *g = m->j->g;
    cg_value all[CPU_BLOCKS_VECTORS], w[CPU_BLOCKS_VECTORS];
    cg_value first = cg_add(g, k->x, cg_mulc(g, chunk, CPU_BLOCKS_CHUNK));

    for (int v = 0; v < m->vectors; v++)
        all[v] = glow_cpu_blocks_chunk(m, k->bytes, chunk, v);
    for (int i = 0; i < CPU_BLOCKS_CHUNK; i++) {
        for (int v = 0; v < m->vectors; v++) {
            w[v] = glow_cpu_blocks_nibble(m, all[v], i);
            if (k->zero[v])
                w[v] = cg_fsub(g, w[v],
                               cg_fmul(g, k->zero[v],
                                       glow_cg_real(LLVMTypeOf(k->zero[v]),
                                                    glow_cpu_blocks_power(i))));
        }
        multiply(m, cg_addc(g, first, i), w, part);
    }
}

static void
add_byte(const maker *m, const block *k, cg_value i, cg_value *part)
{
    cg_value w[CPU_BLOCKS_VECTORS];

    for (int v = 0; v < m->vectors; v++)
        w[v] = glow_cpu_blocks_bytes(m, k->bytes, i, v, k->zero[v]);
    multiply(m, cg_add(m->j->g, k->x, i), w, part);
}

/* `count` steps of a block from `from` on: weights of 8 bits, chunks of 4 bits. */
static void
add_steps(const maker *m, const block *k, cg_value from, int64_t count,
          cg_value *part)
{
    cg *g = m->j->g;
    int64_t bytes = (int64_t)m->vectors * m->s.lanes * (m->s.bits == 8 ? 1 : 4);
    cg_value at = glow_cg_at(g, k->bytes, cg_mulc(g, from, bytes));

    for (int64_t i = 0; i < count; i++) {
        glow_cpu_blocks_prefetch(m, glow_cg_atc(g, at, i * bytes), i * bytes,
                                 bytes);
        (m->s.bits == 8 ? add_byte : add_chunk)(m, k, cg_addc(g, from, i),
                                                part);
    }
}

static void
add_weights(const maker *m, const block *k, int64_t count, cg_value *part)
{
    cg *g = m->j->g;
    int sums = (int)m->s.rows * m->vectors;
    int64_t each = m->s.bits == 8 ? 1 : CPU_BLOCKS_CHUNK;
    int64_t steps = cg_ceil_div(count, each);
    int64_t unit = m->s.bits == 8 ? UNROLLED_BYTES : 1;
    int64_t whole = count <= MOST_UNROLLED ? 0 : steps / unit * unit;
    cg_loop l;

    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), unit, part, sums);
        for (int i = 0; i < sums; i++)
            part[i] = l.value[i];
        add_steps(m, k, l.i, unit, part);
        glow_cg_loop_end(g, &l, part);
        for (int i = 0; i < sums; i++)
            part[i] = l.value[i];
    }
    add_steps(m, k, cg_i64(g, whole), steps - whole, part);
}

/* The offsets of a block, where they are taken off each weight. */
static void
set_zeros(const maker *m, const few *f, block *k)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, m->s.lanes);

    for (int v = 0; v < m->vectors; v++)
        if (m->s.offsets && (f->plain || m->s.bits == 8))
            k->zero[v] = glow_cpu_blocks_offset(m, k->bytes, v);
        else
            k->zero[v] = f->plain && m->s.bits == 4 ? glow_cg_real(t, 8) : NULL;
}

/* Initial partial sum of `row` for vector `v` of the panel. */
static cg_value
start_of(const maker *m, const few *f, const block *k, int row, int v)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, m->s.lanes);
    cg_value start;

    if (f->plain || m->s.bits == 8)
        return LLVMConstNull(t);
    start = glow_cg_load_raw(g, g->f32, start_at(m, row, k->number));
    start = glow_cg_splat(g, start, m->s.lanes);
    if (!m->s.offsets)
        return start;
    return cg_fmul(g, start, glow_cpu_blocks_offset(m, k->bytes, v));
}

static void
add_block(const maker *m, const few *f, cg_value number, int64_t count,
          cg_value *sums)
{
    cg *g = m->j->g;
    int64_t step = glow_cpu_blocks_padded(&m->s, m->s.block);
    block k = {.number = number};
    cg_value part[MOST_SUMS];

    k.bytes = glow_cpu_blocks_at(m, number);
    k.x = cg_mulc(g, number, step);
    set_zeros(m, f, &k);
    for (int r = 0; r < m->s.rows; r++)
        for (int v = 0; v < m->vectors; v++)
            part[r * m->vectors + v] = start_of(m, f, &k, r, v);
    add_weights(m, &k, count, part);
    for (int v = 0; v < m->vectors; v++) {
        cg_value scale = glow_cpu_blocks_scale(m, k.bytes, v);

        for (int r = 0; r < m->s.rows; r++) {
            int i = r * m->vectors + v;

            sums[i] = glow_cg_fma(g, part[i], scale, sums[i]);
        }
    }
}

static void
make_panel(maker *m, void *user)
{
    cg *g = m->j->g;
    const few *f = user;
    int count = (int)m->s.rows * m->vectors;
    cg_value sums[MOST_SUMS];
    cg_loop l;

    for (int i = 0; i < count; i++)
        sums[i] = LLVMConstNull(glow_cg_vector(g->f32, m->s.lanes));
    if (m->s.whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, m->s.whole), 1, sums,
                     count);
        for (int i = 0; i < count; i++)
            sums[i] = l.value[i];
        add_block(m, f, l.i, m->s.block, sums);
        glow_cg_loop_end(g, &l, sums);
        for (int i = 0; i < count; i++)
            sums[i] = l.value[i];
    }
    if (m->s.rest)
        add_block(m, f, cg_i64(g, m->s.whole), m->s.rest, sums);
    for (int i = 0; i < count; i++)
        glow_cpu_blocks_finish(m, cg_i64(g, 0), i / m->vectors, i % m->vectors,
                               sums[i]);
}

/* Input in scratch. */

static cg_value
powers(cg *g)
{
    LLVMValueRef at[CPU_BLOCKS_CHUNK];

    for (int i = 0; i < CPU_BLOCKS_CHUNK; i++)
        at[i] = LLVMConstReal(g->f32, 1 / glow_cpu_blocks_power(i));
    return LLVMConstVector(at, CPU_BLOCKS_CHUNK);
}

/*
 * Copies `live` elements of the chunk at `at` bytes, with zeros behind them; returns
 * `sum` and their sum.
 */
static cg_value
copy_chunk(const maker *m, cg_value from, cg_value to, cg_value at, int live,
           cg_value sum)
{
    cg *g = m->j->g;
    cg_value x;

    from = glow_cg_at(g, from, at);
    to = glow_cg_at(g, to, at);
    g->live = live < CPU_BLOCKS_CHUNK ? live : 0;
    x = glow_cg_load_raw(g, glow_cg_vector(g->f32, CPU_BLOCKS_CHUNK), from);
    g->live = 0;
    glow_cg_store_raw(g, cg_fmul(g, x, powers(g)), to);
    return cg_fadd(g, sum, x);
}

/* Copies block `number` of `row`, and stores where its parts begin; that. */
static cg_value
copy_block(const maker *m, cg_value row, cg_value number, int64_t count)
{
    cg *g = m->j->g;
    const cpu_blocks *s = &m->s;
    int64_t whole = count / CPU_BLOCKS_CHUNK;
    int rest = (int)(count % CPU_BLOCKS_CHUNK);
    LLVMTypeRef t = glow_cg_vector(g->f32, CPU_BLOCKS_CHUNK);
    cg_value sum = LLVMConstNull(t), from, to, at;
    cg_loop l;

    from = cg_affine(g, row, s->depth, number, s->block);
    from = glow_cg_at(g, m->j->in[0].at, cg_mulc(g, from, 4));
    to = cg_affine(g, row, row_length(s), number,
                   glow_cpu_blocks_padded(s, s->block));
    to = glow_cg_at(g, m->j->scratch, cg_mulc(g, to, 4));
    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), 1, &sum, 1);
        at = cg_mulc(g, l.i, CPU_BLOCKS_CHUNK * 4);
        sum = copy_chunk(m, from, to, at, CPU_BLOCKS_CHUNK, l.value[0]);
        glow_cg_loop_end(g, &l, &sum);
        sum = l.value[0];
    }
    at = cg_i64(g, whole * CPU_BLOCKS_CHUNK * 4);
    if (rest)
        sum = copy_chunk(m, from, to, at, rest, sum);
    sum = glow_cpu_across(g, m->j->in[0].type, sum, glow_cpu_sum);
    sum = cg_fmul(g, sum, glow_cg_real(g->f32, s->offsets ? -1 : -8));
    at = start_at(m, 0, number);
    at = glow_cg_at(g, at, cg_mulc(g, row, blocks_of(s) * 4));
    glow_cg_store_raw(g, sum, at);
    return sum;
}

/* Copies all rows; true if each start is finite. */
static cg_value
copy_input(const maker *m)
{
    cg *g = m->j->g;
    cg_value zero = LLVMConstNull(g->f32), all = zero, sum;
    cg_loop rows, blocks;

    glow_cg_loop(g, &rows, cg_i64(g, 0), cg_i64(g, m->s.rows), 1, &all, 1);
    all = rows.value[0];
    if (m->s.whole) {
        glow_cg_loop(g, &blocks, cg_i64(g, 0), cg_i64(g, m->s.whole), 1, &all,
                     1);
        sum = copy_block(m, rows.i, blocks.i, m->s.block);
        /* 0 or NaN */
        all = cg_fadd(g, blocks.value[0], cg_fmul(g, sum, zero));
        glow_cg_loop_end(g, &blocks, &all);
        all = blocks.value[0];
    }
    if (m->s.rest) {
        sum = copy_block(m, rows.i, cg_i64(g, m->s.whole), m->s.rest);
        all = cg_fadd(g, all, cg_fmul(g, sum, zero));
    }
    glow_cg_loop_end(g, &rows, &all);
    return cg_fcmp(g, LLVMRealOEQ, rows.value[0], zero);
}

void
glow_cpu_blocks_few(maker *m)
{
    cg *g = m->j->g;
    cg_value finite;
    cg_if s;

    if (m->s.bits == 8) {
        glow_cpu_blocks_each(m, make_panel, &(few){false});
        return;
    }
    finite = copy_input(m);
    glow_cg_if(g, &s, finite);
    glow_cpu_blocks_each(m, make_panel, &(few){false});
    glow_cg_end_if(g, &s);
    glow_cg_if(g, &s, LLVMBuildNot(g->builder, finite, ""));
    glow_cpu_blocks_each(m, make_panel, &(few){true});
    glow_cg_end_if(g, &s);
}
