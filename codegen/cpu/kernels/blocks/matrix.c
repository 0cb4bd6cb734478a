/*
 * Many rows by weights of 8 or 4 bits in blocks, by tile registers (AMX): a panel of
 * weights becomes bfloat16 parts once for a block of rows.
 *
 *     x w = x2 w1 + x1 w1 + x1 w2        ../matrix/parts.c has the parts and their errors
 *
 * Loops, from the outermost in (../README.md has the words of blocking):
 *
 *     split all rows of x                       in scratch, zeros behind the last row
 *     for each panel                            units: nr results
 *       for each row_block
 *         sums = 0                              in scratch
 *         for at_once blocks of weights         kc
 *           unpack kc x nr, split               in scratch
 *           for each 32 rows                    the last tiles 16
 *             sums += x w                       tiles of 16 x 16
 *         add the bias, finish
 *
 * A block of rows with a number that has no parts, and one by such weights, is summed up
 * by vectors, many.c.
 *
 * Scratch: that of many.c, whose panel of floats has the bytes of two parts; then the
 * parts of x, a plane each, with rows an odd number of cache lines apart; then an i32 for
 * each block of rows, not 0 if it has a number without parts.
 */

#include "codegen/cpu/emit/matrix.h"
#include "codegen/cpu/kernels/blocks/blocks.h"
#include "codegen/cpu/kernels/matrix/matrix.h"

typedef cpu_blocks_maker maker;

enum {
    PARTS = 2,
    UNIT = CPU_MATRIX_DEPTH,
    LANES = CPU_MATRIX_LANES,
    MOST_VECTORS = 2, /* of a panel */
    /*
     * To split a panel of weights takes some 10 instructions for 16 weights, 5 cycles,
     * as long as vectors take for 10 rows; so do the zeros of a tile of 16 rows at worst.
     */
    LEAST_ROWS = 32,
};

bool
glow_cpu_blocks_has_matrix(const cpu_target *t, const cpu_blocks *s)
{
    bool asked = t->parts == GLOW_PARTS_ON && s->rows > CPU_BLOCKS_FEW;
    bool pays = t->parts == GLOW_PARTS_AUTO && s->rows >= LEAST_ROWS;

    return t->matrix && t->has_amx && (asked || pays) && s->lanes == LANES &&
           s->block % UNIT == 0 && s->depth % UNIT == 0;
}

/* Layout of scratch. */

static int64_t
blocks_of(const cpu_blocks *s)
{
    return cg_ceil_div(s->rows, s->row_block);
}

/* Bytes from a row of a part of x to the next. */
static int64_t
row_step(const cpu_blocks *s)
{
    return (s->depth * 2 / CPU_LINE | 1) * CPU_LINE;
}

/* Rows of x and of zeros behind them. */
static int64_t
padded_rows(const cpu_blocks *s)
{
    return cg_ceil_div(s->rows, CPU_MATRIX_ROWS) * CPU_MATRIX_ROWS;
}

static int64_t
first_part(const cpu_blocks *s)
{
    return cg_ceil_div(glow_cpu_blocks_many_scratch(s), CPU_LINE) * CPU_LINE;
}

int64_t
glow_cpu_blocks_matrix_scratch(const cpu_blocks *s)
{
    int64_t plane, all, many = glow_cpu_blocks_many_scratch(s);

    if (many > INT64_MAX / 2 || s->depth > INT64_MAX / 4 ||
        s->rows > INT64_MAX / 4 ||
        __builtin_mul_overflow(padded_rows(s), row_step(s), &plane) ||
        __builtin_mul_overflow(plane, PARTS, &all) ||
        __builtin_add_overflow(all, first_part(s), &all) ||
        __builtin_add_overflow(all, blocks_of(s) * 4, &all))
        return INT64_MAX;
    return all;
}

/* Element `k` of row `row` of part `part` of x. */
static cg_value
part_at(const maker *m, int part, cg_value row, cg_value k)
{
    cg *g = m->j->g;
    int64_t plane = padded_rows(&m->s) * row_step(&m->s);
    cg_value at = cg_affine(g, row, row_step(&m->s), k, 2);

    at = glow_cg_at(g, m->j->scratch, at);
    return glow_cg_atc(g, at, first_part(&m->s) + part * plane);
}

static cg_value
flag_at(const maker *m, cg_value block)
{
    cg *g = m->j->g;
    int64_t planes = PARTS * padded_rows(&m->s) * row_step(&m->s);
    cg_value at = cg_mulc(g, block, 4);

    at = glow_cg_at(g, m->j->scratch, at);
    return glow_cg_atc(g, at, first_part(&m->s) + planes);
}

/* Input.  Of numbers that are split, `seen` notes x, or each vector of weights. */

/* Splits rows `row` to `row + count`, row block `block`. */
static void
split_rows(const maker *m, const cpu_split *seen, cg_value block, cg_value row,
           int64_t count)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, LANES);
    cg_loop rows, vectors;
    cg_value x, k, bad;
    cpu_parts p;

    cg_set(g, seen->most, LLVMConstNull(glow_cg_vector(g->i32, LANES)));
    cg_set(g, seen->least, LLVMConstAllOnes(glow_cg_vector(g->i32, LANES)));
    glow_cg_for(g, &rows, count);
    glow_cg_for(g, &vectors, m->s.depth / LANES);
    k = cg_mulc(g, vectors.i, LANES);
    x = glow_cg_at(g, m->j->in[0].at,
                   cg_affine(g, cg_add(g, row, rows.i), m->s.depth * 4, k, 4));
    p = glow_cpu_parts_split(g, seen, glow_cg_load_raw(g, t, x), PARTS);
    for (int i = 0; i < PARTS; i++)
        glow_cg_store_raw(g, p.part[i],
                          part_at(m, i, cg_add(g, row, rows.i), k));
    glow_cg_loop_end(g, &vectors, NULL);
    glow_cg_loop_end(g, &rows, NULL);
    bad = glow_cpu_parts_unsafe(g, seen, CPU_LEAST_INPUT);
    bad = LLVMBuildZExt(g->builder, bad, g->i32, "");
    glow_cg_store_raw(g, bad, flag_at(m, block));
}

/* Zeros in the rows behind the last one. */
static void
pad_rows(const maker *m)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->i16, LANES);
    cg_loop rows, vectors;

    if (padded_rows(&m->s) == m->s.rows)
        return;
    glow_cg_loop(g, &rows, cg_i64(g, m->s.rows), cg_i64(g, padded_rows(&m->s)),
                 1, NULL, 0);
    glow_cg_for(g, &vectors, m->s.depth / LANES);
    for (int i = 0; i < PARTS; i++)
        glow_cg_store_raw(g, LLVMConstNull(t),
                          part_at(m, i, rows.i, cg_mulc(g, vectors.i, LANES)));
    glow_cg_loop_end(g, &vectors, NULL);
    glow_cg_loop_end(g, &rows, NULL);
}

/* Calls `make` for each block of rows, of `count` from `row` on. */
static void
each_block(const maker *m, const cpu_split *seen,
           void (*make)(const maker *m, const cpu_split *seen, cg_value block,
                        cg_value row, int64_t count))
{
    cg *g = m->j->g;
    int64_t each = m->s.row_block, whole = m->s.rows / each;
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        make(m, seen, l.i, cg_mulc(g, l.i, each), each);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (m->s.rows % each)
        make(m, seen, cg_i64(g, whole), cg_i64(g, whole * each),
             m->s.rows % each);
}

/* Weights. */

/* Bytes of a row of pairs of the depth, and of a part of a unit of it. */
static int64_t
pairs_row(const maker *m)
{
    return (int64_t)m->vectors * LANES * 4;
}

static int64_t
unit_part(const maker *m)
{
    return UNIT / 2 * pairs_row(m);
}

/* Stores parts of two adjacent elements of the depth, of vector `v`, as pairs. */
static void
store_pair(const maker *m, const cpu_split *seen, cg_value const w[2], int v,
           cg_value to)
{
    cg *g = m->j->g;
    LLVMTypeRef t = glow_cg_vector(g->i32, LANES);
    cpu_parts low = glow_cpu_parts_split(g, &seen[v], w[0], PARTS);
    cpu_parts high = glow_cpu_parts_split(g, &seen[v], w[1], PARTS);

    to = glow_cg_atc(g, to, (int64_t)v * LANES * 4);
    for (int i = 0; i < PARTS; i++) {
        cg_value a = LLVMBuildZExt(g->builder, low.part[i], t, "");
        cg_value b = LLVMBuildZExt(g->builder, high.part[i], t, "");

        b = cg_shl(g, b, glow_cg_int(t, 16));
        a = cg_or(g, a, b);
        glow_cg_store_raw(g, a, glow_cg_atc(g, to, i * unit_part(m)));
    }
}

/* Unpacks and splits `count` weights of the block whose bytes are at `bytes`, to `to`. */
static void
unpack_block(const maker *m, const cpu_split *seen, cg_value bytes, cg_value to,
             int64_t count)
{
    cg *g = m->j->g;
    cpu_blocks_scales k = glow_cpu_blocks_scales(m, bytes);
    int each = m->s.bits == 8 ? 2 : CPU_BLOCKS_CHUNK;
    cg_value w[CPU_BLOCKS_CHUNK], chunk, at;
    cg_loop units, chunks;

    glow_cg_for(g, &units, count / UNIT);
    glow_cg_for(g, &chunks, UNIT / each);
    chunk = cg_affine(g, units.i, UNIT / each, chunks.i, 1);
    at = glow_cg_at(g, to,
                    cg_affine(g, units.i, PARTS * unit_part(m), chunks.i,
                              each / 2 * pairs_row(m)));
    for (int v = 0; v < m->vectors; v++) {
        glow_cpu_blocks_floats(m, &k, chunk, each, each, v, w);
        for (int i = 0; i < each; i += 2)
            store_pair(m, seen, w + i, v,
                       glow_cg_atc(g, at, i / 2 * pairs_row(m)));
    }
    glow_cg_loop_end(g, &chunks, NULL);
    glow_cg_loop_end(g, &units, NULL);
}

/* Products. */

/* Rows `first` on of the row block that begins at `row`. */
typedef struct tile {
    cg_value row, first;
    cg_value k, units; /* of Input, from where and how much */
} tile;

static void
load_left(const maker *m, const tile *a, cg_value k, int part, int tiles)
{
    cg *g = m->j->g;
    cg_value row = cg_add(g, a->row, a->first);

    for (int r = 0; r < tiles; r++)
        glow_cg_matrix_load(
            g, CPU_MATRIX_LEFT + r,
            part_at(m, part, cg_addc(g, row, r * CPU_MATRIX_ROWS), k),
            row_step(&m->s));
}

static void
load_right(const maker *m, cg_value unit, int part)
{
    cg *g = m->j->g;
    cg_value at = glow_cg_atc(g, unit, part * unit_part(m));

    for (int v = 0; v < m->vectors; v++)
        glow_cg_matrix_load(g, CPU_MATRIX_RIGHT + v,
                            glow_cg_atc(g, at, (int64_t)v * LANES * 4),
                            pairs_row(m));
}

static void
multiply(const maker *m, int tiles)
{
    for (int r = 0; r < tiles; r++)
        for (int v = 0; v < m->vectors; v++)
            glow_cg_matrix_multiply(m->j->g, 2 * r + v, CPU_MATRIX_LEFT + r,
                                    CPU_MATRIX_RIGHT + v);
}

/* The register of sums `i` of the tiles, and their address where those begin at `to`. */
static int
register_of(const maker *m, int i)
{
    return i / m->vectors * 2 + i % m->vectors;
}

static cg_value
sum_at(const maker *m, cg_value to, int i)
{
    int64_t each = CPU_MATRIX_ROWS * pairs_row(m);

    return glow_cg_atc(m->j->g, to,
                       i / m->vectors * each + i % m->vectors * LANES * 4);
}

/* Loads the sums of `tiles` tiles, adds the products, and stores them. */
static void
make_tiles(const maker *m, const tile *a, int tiles)
{
    cg *g = m->j->g;
    cg_value to = glow_cpu_blocks_sum(m, a->first), unit, k;
    cg_loop l;

    for (int i = 0; i < tiles * m->vectors; i++)
        glow_cg_matrix_load(g, register_of(m, i), sum_at(m, to, i),
                            pairs_row(m));
    glow_cg_loop(g, &l, cg_i64(g, 0), a->units, 1, NULL, 0);
    k = cg_affine(g, l.i, UNIT, a->k, 1);
    unit = glow_cg_at(g, m->j->scratch, cg_mulc(g, l.i, PARTS * unit_part(m)));
    load_left(m, a, k, 1, tiles);
    load_right(m, unit, 0);
    multiply(m, tiles);
    load_left(m, a, k, 0, tiles);
    multiply(m, tiles);
    load_right(m, unit, 1);
    multiply(m, tiles);
    glow_cg_loop_end(g, &l, NULL);
    for (int i = 0; i < tiles * m->vectors; i++)
        glow_cg_matrix_store(g, register_of(m, i), sum_at(m, to, i),
                             pairs_row(m));
}

/* All tiles of a row block of `count` rows. */
static void
multiply_rows(const maker *m, tile a, int64_t count)
{
    cg *g = m->j->g;
    int64_t tiles = cg_ceil_div(count, CPU_MATRIX_ROWS);
    cg_loop l;

    if (tiles / 2) {
        glow_cg_for(g, &l, tiles / 2);
        a.first = cg_mulc(g, l.i, 2 * CPU_MATRIX_ROWS);
        make_tiles(m, &a, 2);
        glow_cg_loop_end(g, &l, NULL);
    }
    a.first = cg_i64(g, tiles / 2 * 2 * CPU_MATRIX_ROWS);
    if (tiles % 2)
        make_tiles(m, &a, 1);
}

/* Adds blocks `first` to `end` of weights, which are whole. */
static void
add_blocks(const maker *m, const cpu_split *seen, cg_value row, int64_t count,
           cg_value first, cg_value end)
{
    cg *g = m->j->g;
    int64_t units = m->s.block / UNIT;
    tile a = {.row = row, .k = cg_mulc(g, first, m->s.block)};
    cg_value to;
    cg_loop l;

    glow_cg_loop(g, &l, first, end, 1, NULL, 0);
    to = cg_mulc(g, cg_sub(g, l.i, first), units * PARTS * unit_part(m));
    to = glow_cg_at(g, m->j->scratch, to);
    unpack_block(m, seen, glow_cpu_blocks_at(m, l.i), to, m->s.block);
    glow_cg_loop_end(g, &l, NULL);
    a.units = cg_mulc(g, cg_sub(g, end, first), units);
    multiply_rows(m, a, count);
}

/* Sums of `count` rows; true (an i1) if a weight has no parts. */
static cg_value
sum_rows(const maker *m, const cpu_split *seen, cg_value row, int64_t count)
{
    cg *g = m->j->g;
    cg_value whole = cg_i64(g, m->s.whole), end, unsafe;
    cg_loop l;

    for (int v = 0; v < m->vectors; v++)
        cg_set(g, seen[v].most, LLVMConstNull(glow_cg_vector(g->i32, LANES)));
    glow_cpu_blocks_clear(m, cg_ceil_div(count, CPU_MATRIX_ROWS) *
                                 CPU_MATRIX_ROWS);
    if (m->s.whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), whole, m->s.at_once, NULL, 0);
        end = glow_cg_imin(g, cg_addc(g, l.i, m->s.at_once), whole);
        add_blocks(m, seen, row, count, l.i, end);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (m->s.rest) {
        unpack_block(m, seen, glow_cpu_blocks_at(m, whole), m->j->scratch,
                     m->s.rest);
        multiply_rows(m,
                      (tile){.row = row,
                             .k = cg_i64(g, m->s.whole * m->s.block),
                             .units = cg_i64(g, m->s.rest / UNIT)},
                      count);
    }
    unsafe = glow_cpu_parts_unsafe_columns(g, &seen[0]);
    for (int v = 1; v < m->vectors; v++)
        unsafe = cg_or(g, unsafe, glow_cpu_parts_unsafe_columns(g, &seen[v]));
    return unsafe;
}

static void
make_rows(const maker *m, const cpu_split *seen, cg_value block, cg_value row,
          int64_t count)
{
    cg *g = m->j->g;
    cg_value zero = glow_cg_int(g->i32, 0), bad;
    cg_value again = glow_cg_local(g, zero);
    cg_if s;

    cg_set(g, again, glow_cg_load_raw(g, g->i32, flag_at(m, block)));
    glow_cg_if(g, &s, cg_icmp(g, LLVMIntEQ, cg_get(g, again), zero));
    bad = sum_rows(m, seen, row, count);
    cg_set(g, again, LLVMBuildZExt(g->builder, bad, g->i32, ""));
    glow_cg_end_if(g, &s);
    glow_cg_if(g, &s, cg_icmp(g, LLVMIntNE, cg_get(g, again), zero));
    glow_cpu_blocks_sum_rows(m, row, count);
    glow_cg_end_if(g, &s);
    glow_cpu_blocks_finish_rows(m, row, count);
}

static void
make_panel(maker *m, void *user)
{
    each_block(m, user, make_rows);
}

void
glow_cpu_blocks_by_matrix(maker *m)
{
    cg *g = m->j->g;
    cpu_split seen[MOST_VECTORS];

    for (int v = 0; v < MOST_VECTORS; v++)
        seen[v] = glow_cpu_parts_begin(g);
    glow_cg_matrix_begin(g, CPU_MATRIX_ROWS, UNIT);
    each_block(m, seen, split_rows);
    pad_rows(m);
    glow_cpu_blocks_each(m, make_panel, seen);
    glow_cg_matrix_end(g);
}
