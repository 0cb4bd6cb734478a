/*
 * Many rows by weights of 8 or 4 bits in blocks: a panel of weights becomes floats once
 * for a block of rows, and is multiplied by register tiles.
 *
 * Loops, from the outermost in (../README.md has the words of blocking):
 *
 *     for each panel                            units: nr results
 *       for each row_block
 *         sums = 0                              in scratch
 *         for at_once blocks of weights         kc
 *           unpack kc x nr                      in scratch
 *           for each mr rows                    the last tile shorter
 *             copy mr x kc of x                 in scratch, if rows conflict
 *             sums += x w
 *         add the bias, finish
 *
 * At 256 weights and two vectors of AVX-512 an unpacked panel has 32 KB.  Rows of x are
 * copied where they are at the same page offset, and so fall into the same sets of the
 * L1 cache; a panel has half as many weights then.  64 rows by 1024 x 1024 of 4 bits take
 * 1.43 ms so, and 1.53 else; 126 rows by 512 x 512 would take 0.66, not 0.60.
 */

#include "codegen/cpu/kernels/blocks/blocks.h"

typedef cpu_blocks_maker maker;

static int64_t
kc_of(const cpu_blocks *s)
{
    return glow_cpu_blocks_padded(s, s->block) * s->at_once;
}

static int64_t
nr_of(const maker *m)
{
    return (int64_t)m->vectors * m->s.lanes;
}

/* Floats from a copied row of x to the next: in other sets of the cache. */
static int64_t
copy_step(const cpu_blocks *s)
{
    return kc_of(s) + CPU_LINE / 4;
}

/* Sums lie behind the panel, and copied rows behind those. */
int64_t
glow_cpu_blocks_many_scratch(const cpu_blocks *s)
{
    int64_t nr = (int64_t)s->vectors * s->lanes, floats;

    if (__builtin_mul_overflow(kc_of(s) + s->row_block, nr, &floats) ||
        (s->copies &&
         __builtin_add_overflow(floats, s->tile * copy_step(s), &floats)) ||
        floats > INT64_MAX / 4)
        return INT64_MAX;
    return floats * 4;
}

cg_value
glow_cpu_blocks_sum(const maker *m, cg_value row)
{
    cg *g = m->j->g;
    int64_t nr = (int64_t)m->s.vectors * m->s.lanes;

    cg_value sums = glow_cg_atc(g, m->j->scratch, kc_of(&m->s) * nr * 4);

    return glow_cg_at(g, sums, cg_mulc(g, row, nr_of(m) * 4));
}

static cg_value
vector_at(const maker *m, cg_value at, int v)
{
    return glow_cg_atc(m->j->g, at, (int64_t)v * m->s.lanes * 4);
}

/* Unpacking. */

cpu_blocks_scales
glow_cpu_blocks_scales(const maker *m, cg_value bytes)
{
    cpu_blocks_scales k = {.bytes = bytes};
    LLVMTypeRef t = glow_cg_vector(m->j->g->f32, m->s.lanes);

    for (int v = 0; v < m->vectors; v++) {
        k.scale[v] = glow_cpu_blocks_scale(m, bytes, v);
        if (m->s.offsets)
            k.zero[v] = glow_cpu_blocks_offset(m, bytes, v);
        else if (m->s.bits == 4)
            k.zero[v] = glow_cg_real(t, 8);
    }
    return k;
}

static void
unpack_chunk(const maker *m, const cpu_blocks_scales *k, cg_value chunk,
             int count, int v, cg_value *w)
{
    cg *g = m->j->g;
    cg_value all = glow_cpu_blocks_chunk(m, k->bytes, chunk, v);
    LLVMTypeRef t = LLVMTypeOf(k->scale[v]);

    for (int i = 0; i < count; i++) {
        double power = glow_cpu_blocks_power(i);

        w[i] = glow_cpu_blocks_nibble(m, all, i);
        w[i] = cg_fmul(g, w[i], glow_cg_real(t, 1 / power));
        w[i] = cg_fsub(g, w[i], k->zero[v]);
        w[i] = cg_fmul(g, w[i], k->scale[v]);
    }
}

void
glow_cpu_blocks_floats(const maker *m, const cpu_blocks_scales *k,
                       cg_value chunk, int each, int count, int v, cg_value *w)
{
    cg *g = m->j->g;
    cg_value first = cg_mulc(g, chunk, each);

    if (m->s.bits == 4) {
        unpack_chunk(m, k, chunk, count, v, w);
        return;
    }
    for (int i = 0; i < count; i++) {
        w[i] = glow_cpu_blocks_bytes(m, k->bytes, cg_addc(g, first, i), v,
                                     k->zero[v]);
        w[i] = cg_fmul(g, w[i], k->scale[v]);
    }
}

/* Unpacks weights `each` * `chunk` on, `count` of them, to row 0 of `to` on. */
static void
store_chunk(const maker *m, const cpu_blocks_scales *k, cg_value chunk,
            int each, int count, cg_value to)
{
    cg *g = m->j->g;
    cg_value w[CPU_BLOCKS_CHUNK];

    to = glow_cg_at(g, to, cg_mulc(g, chunk, each * nr_of(m) * 4));
    for (int v = 0; v < m->vectors; v++) {
        glow_cpu_blocks_floats(m, k, chunk, each, count, v, w);
        for (int i = 0; i < count; i++)
            glow_cg_store_raw(
                g, w[i], vector_at(m, glow_cg_atc(g, to, i * nr_of(m) * 4), v));
    }
}

/* Unpacks `count` weights of the block whose bytes are at `bytes`, to `to`. */
static void
unpack_block(const maker *m, cg_value bytes, cg_value to, int64_t count)
{
    cg *g = m->j->g;
    cpu_blocks_scales k = glow_cpu_blocks_scales(m, bytes);
    int each = m->s.bits == 8 ? 1 : CPU_BLOCKS_CHUNK;
    cg_loop l;

    if (count / each) {
        glow_cg_for(g, &l, count / each);
        store_chunk(m, &k, l.i, each, each, to);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (count % each)
        store_chunk(m, &k, cg_i64(g, count / each), each, (int)(count % each),
                    to);
}

/* Products. */

/* Rows `first` on of the row block, whose row 0 is `row` of Input. */
typedef struct tile {
    cg_value row, first;
    cg_value k, depth; /* of Input, from where and how much */
} tile;

/* Element `k` of row `r` of the copy of x. */
static cg_value
copy_at(const maker *m, cg_value k, int r)
{
    cg *g = m->j->g;
    int64_t nr = (int64_t)m->s.vectors * m->s.lanes;
    int64_t at = (kc_of(&m->s) + m->s.row_block) * nr + r * copy_step(&m->s);

    return glow_cg_atc(g, glow_cg_at(g, m->j->scratch, cg_mulc(g, k, 4)),
                       at * 4);
}

/* Copies elements `k` on of `rows` rows of x, as many as `t` has lanes. */
static void
copy_vector(const maker *m, cg_value x, cg_value k, LLVMTypeRef t, int rows)
{
    cg *g = m->j->g;

    x = glow_cg_at(g, x, cg_mulc(g, k, 4));
    for (int r = 0; r < rows; r++) {
        cg_value v =
            glow_cg_load_raw(g, t, glow_cg_atc(g, x, r * m->s.depth * 4));

        glow_cg_store_raw(g, v, copy_at(m, k, r));
    }
}

/* The first element of a tile in Input. */
static cg_value
input_at(const maker *m, const tile *a)
{
    cg *g = m->j->g;
    cg_value x = cg_affine(g, cg_add(g, a->row, a->first), m->s.depth, a->k, 1);

    return glow_cg_at(g, m->j->in[0].at, cg_mulc(g, x, 4));
}

static void
copy_rows(const maker *m, const tile *a, int rows)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    LLVMTypeRef t = glow_cg_vector(g->f32, lanes);
    cg_value x = input_at(m, a);
    cg_value whole = cg_mulc(g, cg_over(g, a->depth, lanes), lanes);
    cg_loop l;

    glow_cg_loop_guarded(g, &l, cg_i64(g, 0), whole, lanes, NULL, 0);
    copy_vector(m, x, l.i, t, rows);
    glow_cg_loop_end(g, &l, NULL);
    if (lanes == 1)
        return;
    glow_cg_loop_guarded(g, &l, whole, a->depth, 1, NULL, 0);
    copy_vector(m, x, l.i, g->f32, rows);
    glow_cg_loop_end(g, &l, NULL);
}

/* Element `k` of row `r` of the tile that begins at `x`, or of its copy. */
static cg_value
element_at(const maker *m, cg_value x, cg_value k, int r)
{
    cg *g = m->j->g;

    if (m->s.copies)
        return copy_at(m, k, r);
    return glow_cg_atc(g, glow_cg_at(g, x, cg_mulc(g, k, 4)),
                       r * m->s.depth * 4);
}

static void
make_tile(const maker *m, const tile *a, int rows)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, m->s.lanes);
    cg_value sums[CG_MAX_CARRIED], w[CPU_BLOCKS_VECTORS];
    cg_value to = glow_cpu_blocks_sum(m, a->first), from, in, x;
    int count = rows * m->vectors;
    cg_loop l;

    if (m->s.copies)
        copy_rows(m, a, rows);
    in = input_at(m, a);
    for (int i = 0; i < count; i++)
        sums[i] = glow_cg_load_raw(g, t, vector_at(m, to, i));
    glow_cg_loop(g, &l, cg_i64(g, 0), a->depth, 1, sums, count);
    from = glow_cg_at(g, m->j->scratch, cg_mulc(g, l.i, nr_of(m) * 4));
    for (int v = 0; v < m->vectors; v++)
        w[v] = glow_cg_load_raw(g, t, vector_at(m, from, v));
    for (int r = 0; r < rows; r++) {
        x = glow_cg_load_raw(g, g->f32, element_at(m, in, l.i, r));
        x = glow_cg_splat(g, x, m->s.lanes);
        for (int v = 0; v < m->vectors; v++) {
            int i = r * m->vectors + v;

            sums[i] = glow_cg_fma(g, x, w[v], l.value[i]);
        }
    }
    glow_cg_loop_end(g, &l, sums);
    for (int i = 0; i < count; i++)
        glow_cg_store_raw(g, l.value[i], vector_at(m, to, i));
}

/* All rows of a row block, `count` of them. */
static void
multiply(const maker *m, tile a, int64_t count)
{
    cg *g = m->j->g;
    int64_t tiles = count / m->s.tile;
    int rest = (int)(count % m->s.tile);
    cg_loop l;

    if (tiles) {
        glow_cg_for(g, &l, tiles);
        a.first = cg_mulc(g, l.i, m->s.tile);
        make_tile(m, &a, m->s.tile);
        glow_cg_loop_end(g, &l, NULL);
    }
    a.first = cg_i64(g, tiles * m->s.tile);
    if (rest)
        make_tile(m, &a, rest);
}

/* Rows. */

void
glow_cpu_blocks_clear(const maker *m, int64_t count)
{
    cg *g = m->j->g;
    cg_loop l;
    cg_value to;

    glow_cg_for(g, &l, count);
    to = glow_cpu_blocks_sum(m, l.i);
    for (int v = 0; v < m->vectors; v++)
        glow_cg_store_raw(g, LLVMConstNull(glow_cg_vector(g->f32, m->s.lanes)),
                          vector_at(m, to, v));
    glow_cg_loop_end(g, &l, NULL);
}

void
glow_cpu_blocks_finish_rows(const maker *m, cg_value row, int64_t count)
{
    cg *g = m->j->g;
    cg_loop l;
    cg_value at;

    glow_cg_for(g, &l, count);
    at = glow_cpu_blocks_sum(m, l.i);
    row = cg_add(g, row, l.i);
    for (int v = 0; v < m->vectors; v++)
        glow_cpu_blocks_finish(
            m, row, 0, v,
            glow_cg_load_raw(g, glow_cg_vector(g->f32, m->s.lanes),
                             vector_at(m, at, v)));
    glow_cg_loop_end(g, &l, NULL);
}

/* Blocks `first` to `end` of weights. */
static void
add_blocks(const maker *m, cg_value row, int64_t rows, cg_value first,
           cg_value end)
{
    cg *g = m->j->g;
    int64_t bytes = m->s.block * nr_of(m) * 4;
    tile a = {.row = row, .k = cg_mulc(g, first, m->s.block)};
    cg_value to;
    cg_loop l;

    glow_cg_loop(g, &l, first, end, 1, NULL, 0);
    to = cg_mulc(g, cg_sub(g, l.i, first), bytes);
    to = glow_cg_at(g, m->j->scratch, to);
    unpack_block(m, glow_cpu_blocks_at(m, l.i), to, m->s.block);
    glow_cg_loop_end(g, &l, NULL);
    a.depth = cg_mulc(g, cg_sub(g, end, first), m->s.block);
    multiply(m, a, rows);
}

void
glow_cpu_blocks_sum_rows(const maker *m, cg_value row, int64_t count)
{
    cg *g = m->j->g;
    cg_value whole = cg_i64(g, m->s.whole), end;
    cg_loop l;

    glow_cpu_blocks_clear(m, count);
    if (m->s.whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), whole, m->s.at_once, NULL, 0);
        end = glow_cg_imin(g, cg_addc(g, l.i, m->s.at_once), whole);
        add_blocks(m, row, count, l.i, end);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (m->s.rest) {
        unpack_block(m, glow_cpu_blocks_at(m, whole), m->j->scratch, m->s.rest);
        multiply(m,
                 (tile){.row = row,
                        .k = cg_i64(g, m->s.whole * m->s.block),
                        .depth = cg_i64(g, m->s.rest)},
                 count);
    }
}

/* `count` rows from `row` on. */
static void
make_rows(const maker *m, cg_value row, int64_t count)
{
    glow_cpu_blocks_sum_rows(m, row, count);
    glow_cpu_blocks_finish_rows(m, row, count);
}

static void
make_panel(maker *m, void *user)
{
    cg *g = m->j->g;
    int64_t blocks = m->s.rows / m->s.row_block;
    int64_t rest = m->s.rows % m->s.row_block;
    cg_loop l;

    (void)user;
    if (blocks) {
        glow_cg_for(g, &l, blocks);
        make_rows(m, cg_mulc(g, l.i, m->s.row_block), m->s.row_block);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        make_rows(m, cg_i64(g, blocks * m->s.row_block), rest);
}

void
glow_cpu_blocks_many(maker *m)
{
    glow_cpu_blocks_each(m, make_panel, NULL);
}
