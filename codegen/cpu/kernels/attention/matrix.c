/*
 * Fused attention by matrix registers: of bfloat16, and of float and float16 by parts.
 *
 *     for each batch and head
 *       pack K and V, unless the head before had the same
 *       for each block of rows                 two tiles, at last one; pack Q
 *         for each block of keys               as many scores as the L1 cache holds
 *           for each panel of keys             2 x 2 registers: scores = Q K^T
 *           for two rows at a time             softmax.c: weights, in place of scores
 *           for each panel of columns of V     2 x 2 registers: sums += weights V
 *         store the sums by the sum of weights
 *
 * Each register that is loaded is an operand of two products.  By parts each product is
 * three, or six, the least first (matrix/parts.c): of scores of float it is six.  A head
 * with numbers that have no parts goes by the kernel of vectors.  With several blocks of
 * keys the sums wait in scratch, with the running maximum and the sum of weights of each
 * row, as in attention.c.
 */

#include <math.h>

#include "codegen/cpu/kernels/attention/matrix.h"

#define SCORES \
    32768 /* bytes of a block of scores, about; of a L1 cache of 48 KiB */
#define UNROLLED 4 /* units of the depth, at most */

extern const cpu_kernel glow_cpu_fusedattention;

typedef cpu_attention_matrix matrix;

/* Sizes. */

static int64_t
next_place(int64_t *end, int64_t bytes)
{
    int64_t at = *end;

    *end += glow_cpu_aligned(bytes);
    return at;
}

static void
set_places(matrix *m)
{
    int64_t rows = 2 * m->tile, end = 0;
    int64_t pair = m->panels * 2 * CPU_ATTENTION_REGISTER;

    m->keys = next_place(&end, m->q_parts * m->units * pair);
    m->values = next_place(&end, m->parts * m->v_panels * pair);
    m->queries = next_place(&end, rows * m->q_row);
    m->scores = next_place(&end, rows * m->row);
    m->sums = next_place(&end, rows * m->sums_row);
    m->greatest = next_place(&end, rows * 4);
    m->shift = next_place(&end, rows * 4);
    m->down = next_place(&end, rows * 4);
    m->weights = next_place(&end, rows * CPU_ATTENTION_ROW);
    m->end = end;
}

/* Rows are an odd number of cache lines apart, so that they share no sets of the cache. */
static int64_t
odd_lines(int64_t bytes)
{
    return (cg_ceil_div(bytes, CPU_LINE) | 1) * CPU_LINE;
}

/* 0 of elements that have no parts. */
static int
parts_of(const cpu_target *t, glow_kind kind)
{
    if (kind == GLOW_BFLOAT16)
        return 1;
    if ((kind != GLOW_FLOAT && kind != GLOW_FLOAT16) ||
        t->parts == GLOW_PARTS_OFF)
        return 0;
    return kind == GLOW_FLOAT && t->parts == GLOW_PARTS_SIX ? 3 : 2;
}

bool
glow_cpu_attention_matrix_of(const cpu_target *t, const glow_node *n, matrix *m)
{
    cpu_attention_sizes s = glow_cpu_attention_sizes_of(NULL, n);
    int64_t most;

    *m = (matrix){.a = {.f = n->attrs, .s = s},
                  .parts = parts_of(t, n->in[ATTENTION_Q]->type->elem)};
    if (!t->matrix || t->vector_bytes != CPU_ATTENTION_ROW || !m->parts ||
        s.depth < 1 || s.width < 1 || s.keys < 1)
        return false;
    m->q_parts = n->in[ATTENTION_Q]->type->elem == GLOW_FLOAT ? 3 : m->parts;
    m->a.s.lanes = CPU_MATRIX_LANES;
    m->a.s.panel = CPU_ATTENTION_PANEL;
    m->tile = glow_cpu_attention_tile(t, s.rows, m->parts);
    m->tiles = cg_ceil_div(s.rows, m->tile);
    m->units = cg_ceil_div(s.depth, CPU_MATRIX_DEPTH);
    m->panels = cg_ceil_div(s.keys, CPU_ATTENTION_PANEL);
    m->v_panels = cg_ceil_div(s.width, CPU_ATTENTION_PANEL);
    m->place = (m->parts > 2 ? m->parts : 2) * CPU_ATTENTION_ROW;
    most = SCORES / (2 * m->tile * m->place);
    m->block = cg_ceil_div(m->panels, cg_ceil_div(m->panels, most));
    m->q_row = odd_lines(m->units * m->q_parts * CPU_ATTENTION_ROW);
    m->row = odd_lines(m->block * m->place);
    m->sums_row = odd_lines(m->v_panels * CPU_ATTENTION_PANEL * 4);
    set_places(m);
    return true;
}

/* Products. */

/*
 * Operands of the products of a unit: addresses of one part.  Either two tiles of rows by
 * one panel of columns, or one by two.
 */
typedef struct operands {
    int64_t row; /* bytes from a row of `left` to the next */
    int parts, tiles, columns;
    int beside[2]; /* registers of a panel of columns */
    cg_value left[2], right[2];
} operands;

static void
load_left(const matrix *m, const operands *o, int a, int part)
{
    cg *g = m->a.j->g;

    glow_cg_matrix_load(
        g, CPU_MATRIX_LEFT + a,
        glow_cg_atc(g, o->left[a], (int64_t)part * CPU_ATTENTION_ROW), o->row);
}

static void
load_right(const matrix *m, const operands *o, int c, int part)
{
    cg *g = m->a.j->g;

    for (int n = 0; n < o->beside[c]; n++)
        glow_cg_matrix_load(g, CPU_MATRIX_RIGHT + n,
                            glow_cg_atc(g, o->right[c],
                                        (int64_t)(part * o->beside[c] + n) *
                                            CPU_ATTENTION_REGISTER),
                            CPU_ATTENTION_ROW);
}

/*
 * Adds the products of a unit by panel `c` of columns.  The left operand goes back and forth
 * over its parts, so that one, `loaded`, is loaded already; returns the one that then is.
 */
static int
multiply_columns(const matrix *m, const operands *o, int c, int loaded)
{
    for (int b = 0; b < o->parts; b++) {
        int last = o->parts - 1 - b;

        load_right(m, o, c, b);
        for (int i = 0; i <= last; i++) {
            int part = b % 2 ? i : last - i;

            for (int a = 0; a < o->tiles; a++) {
                if (part != loaded)
                    load_left(m, o, a, part);
                for (int n = 0; n < o->beside[c]; n++)
                    glow_cg_matrix_multiply(m->a.j->g, 2 * (a + c) + n,
                                            CPU_MATRIX_LEFT + a,
                                            CPU_MATRIX_RIGHT + n);
            }
            loaded = part;
        }
    }
    return loaded;
}

static void
multiply(const matrix *m, const operands *o)
{
    int loaded = -1;

    for (int c = 0; c < o->columns; c++)
        loaded = multiply_columns(m, o, c, loaded);
}

/*
 * Moves the sums from or to address `at`: of the first tile and panel, whose rows are `row`
 * apart.
 */
static void
move_sums(const matrix *m, const operands *o, cg_value at, int64_t row,
          bool stores)
{
    cg *g = m->a.j->g;

    for (int a = 0; a < o->tiles; a++)
        for (int c = 0; c < o->columns; c++)
            for (int n = 0; n < o->beside[c]; n++) {
                cg_value to =
                    glow_cg_atc(g, at,
                                a * m->tile * row +
                                    (int64_t)(2 * c + n) * CPU_ATTENTION_ROW);

                if (stores)
                    glow_cg_matrix_store(g, 2 * (a + c) + n, to, row);
                else
                    glow_cg_matrix_load(g, 2 * (a + c) + n, to, row);
            }
}

static void
zero_sums(const matrix *m, const operands *o)
{
    for (int a = 0; a < o->tiles; a++)
        for (int c = 0; c < o->columns; c++)
            for (int n = 0; n < o->beside[c]; n++)
                glow_cg_matrix_zero(m->a.j->g, 2 * (a + c) + n);
}

/* Bytes of a unit of a right operand of `parts` parts. */
static int64_t
unit_bytes(int parts, int beside)
{
    return (int64_t)parts * beside * CPU_ATTENTION_REGISTER;
}

/* `o`, moved on by `i` units, the left operand by `left` bytes for each. */
static operands
moved(const matrix *m, operands o, cg_value i, int64_t left)
{
    cg *g = m->a.j->g;

    for (int a = 0; a < o.tiles; a++)
        o.left[a] = glow_cg_at(g, o.left[a], cg_mulc(g, i, left));
    for (int c = 0; c < o.columns; c++)
        o.right[c] = glow_cg_at(
            g, o.right[c], cg_mulc(g, i, unit_bytes(o.parts, o.beside[c])));
    return o;
}

/* Scores of the block by panel `panel` of keys. */
static void
score_panel(matrix *m, const operands *from, cg_value panel)
{
    cg *g = m->a.j->g;
    int64_t left = (int64_t)m->q_parts * CPU_ATTENTION_ROW;
    cg_value at = cg_mulc(g, cg_sub(g, panel, m->a.first), m->place);
    operands o = *from, unit;
    cg_loop l;

    o.right[0] = attention_byte_at(
        m, m->keys, cg_mulc(g, panel, m->units * unit_bytes(m->q_parts, 2)));
    zero_sums(m, &o);
    if (m->units > UNROLLED) {
        glow_cg_for(g, &l, m->units);
        unit = moved(m, o, l.i, left);
        multiply(m, &unit);
        glow_cg_loop_end(g, &l, NULL);
    } else {
        for (int64_t i = 0; i < m->units; i++) {
            unit = moved(m, o, cg_i64(g, i), left);
            multiply(m, &unit);
        }
    }
    move_sums(m, &o, attention_byte_at(m, m->scores, at), m->row, true);
}

static void
score(matrix *m, int tiles)
{
    cg *g = m->a.j->g;
    operands o = {.row = m->q_row,
                  .parts = m->q_parts,
                  .tiles = tiles,
                  .columns = 1,
                  .beside = {2}};
    cg_loop l;

    for (int a = 0; a < tiles; a++)
        o.left[a] = attention_byte_at(
            m, m->queries, cg_i64(g, (int64_t)a * m->tile * m->q_row));
    glow_cg_loop(g, &l, m->a.first, m->a.last, 1, NULL, 0);
    score_panel(m, &o, l.i);
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * Adds weights by values of panel `panel` of keys, whose weights are computed before, if
 * `weighs` is set.
 */
static void
sum_panel(matrix *m, const operands *o, cg_value row, cg_value panel, int keys,
          bool weighs)
{
    cg *g = m->a.j->g;
    operands unit;

    if (weighs)
        glow_cpu_attention_weigh_panel(m, row, panel, keys);
    unit = moved(m, *o, cg_sub(g, panel, m->a.first), m->place);
    multiply(m, &unit);
}

/* Panels of V from `column` on, one or two, by the tile of rows from row `row` on. */
static void
sum_columns(matrix *m, cg_value row, int64_t column)
{
    cg *g = m->a.j->g;
    int rest = (int)(m->a.s.keys % CPU_ATTENTION_PANEL);
    cg_value whole = cg_i64(g, m->panels - (rest > 0)), sums;
    operands o = {.row = m->row, .parts = m->parts, .tiles = 1};
    cg_loop l;
    cg_if last;

    o.left[0] = attention_byte_at(m, m->scores, cg_mulc(g, row, m->row));
    for (int64_t i = column; i < m->v_panels && i < column + 2; i++) {
        int64_t bytes = m->panels * unit_bytes(m->parts, 2);
        int beside = attention_beside(m, i), c = o.columns++;
        cg_value at = cg_mulc(g, m->a.first, unit_bytes(m->parts, beside));

        o.beside[c] = beside;
        o.right[c] = attention_byte_at(m, m->values + i * bytes, at);
    }
    sums = attention_byte_at(m, m->sums + column * CPU_ATTENTION_PANEL * 4,
                             cg_mulc(g, row, m->sums_row));
    if (attention_has_blocks(m))
        move_sums(m, &o, sums, m->sums_row, false);
    else
        zero_sums(m, &o);
    glow_cg_loop_guarded(g, &l, m->a.first, glow_cg_imin(g, m->a.last, whole),
                         1, NULL, 0);
    sum_panel(m, &o, row, l.i, CPU_ATTENTION_PANEL, !column);
    glow_cg_loop_end(g, &l, NULL);
    if (rest) {
        glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, m->a.last, whole));
        sum_panel(m, &o, row, whole, rest, !column);
        glow_cg_end_if(g, &last);
    }
    move_sums(m, &o, sums, m->sums_row, true);
}

/* Blocks. */

/* Emits `make` for the tiles of the current block: two, or one in the last block. */
static void
for_tiles(matrix *m, void (*make)(matrix *m, int tiles))
{
    cg *g = m->a.j->g;
    cg_value two, rows = cg_i64(g, (m->tiles - 1) * m->tile);
    cg_if pair, one;

    if (m->tiles % 2 == 0 || m->tiles == 1) {
        make(m, m->tiles == 1 ? 1 : 2);
        return;
    }
    two = cg_icmp(g, LLVMIntSLT, m->a.row0, rows);
    glow_cg_if(g, &pair, two);
    make(m, 2);
    glow_cg_end_if(g, &pair);
    glow_cg_if(g, &one, LLVMBuildNot(g->builder, two, ""));
    make(m, 1);
    glow_cg_end_if(g, &one);
}

/* Vector `column` / CPU_MATRIX_LANES of the sums of row `row` of the block. */
static cg_value
sums_at(const matrix *m, cg_value row, cg_value column)
{
    cg *g = m->a.j->g;

    return attention_byte_at(m, m->sums,
                             cg_affine(g, row, m->sums_row, column, 4));
}

/* Sums of weights of a block of rows without keys; with several blocks sums and maxima. */
static void
begin_rows(matrix *m)
{
    cg *g = m->a.j->g;
    cg_value none = LLVMConstNull(glow_cg_vector(g->f32, CPU_MATRIX_LANES));
    cg_loop rows, l;

    glow_cg_for(g, &rows, 2 * m->tile);
    glow_cg_store_raw(g, none,
                      attention_byte_at(m, m->weights,
                                        cg_mulc(g, rows.i, CPU_ATTENTION_ROW)));
    if (attention_has_blocks(m)) {
        glow_cg_store_raw(g, glow_cg_real(g->f32, -(double)INFINITY),
                          attention_number_at(m, m->greatest, rows.i));
        glow_cg_for(g, &l, 2 * m->v_panels);
        glow_cg_store_raw(
            g, none, sums_at(m, rows.i, cg_mulc(g, l.i, CPU_MATRIX_LANES)));
        glow_cg_loop_end(g, &l, NULL);
    }
    glow_cg_loop_end(g, &rows, NULL);
}

/* Rescales the sums of the blocks of keys so far to the new maximum. */
static void
scale_down(matrix *m)
{
    cg *g = m->a.j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, CPU_MATRIX_LANES);
    cg_value down, at;
    cg_loop rows, l;

    glow_cg_loop(g, &rows, cg_i64(g, 0), m->count, 1, NULL, 0);
    down = glow_cg_load_raw(g, g->f32, attention_number_at(m, m->down, rows.i));
    down = glow_cg_splat(g, down, CPU_MATRIX_LANES);
    glow_cg_for(g, &l, 2 * m->v_panels);
    at = sums_at(m, rows.i, cg_mulc(g, l.i, CPU_MATRIX_LANES));
    glow_cg_store_raw(g, cg_fmul(g, glow_cg_load_raw(g, t, at), down), at);
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &rows, NULL);
}

/* Stores a vector of `live` lanes of the sums of a row by its sum of weights. */
static void
finish_vector(matrix *m, cg_value row, cg_value column, cg_value by,
              int64_t live)
{
    cg *g = m->a.j->g;
    cg_value v = glow_cg_load_raw(g, LLVMTypeOf(by), sums_at(m, row, column));

    g->live = live < CPU_MATRIX_LANES ? (int)live : 0;
    glow_cpu_attention_store(&m->a, row, column, cg_fmul(g, v, by));
    g->live = 0;
}

static void
finish_rows(matrix *m)
{
    cg *g = m->a.j->g;
    int64_t width = m->a.s.width, rest = width % CPU_MATRIX_LANES;
    cg_value by;
    cg_loop rows, l;

    glow_cg_loop(g, &rows, cg_i64(g, 0), m->count, 1, NULL, 0);
    by = glow_cg_load_raw(
        g, glow_cg_vector(g->f32, CPU_MATRIX_LANES),
        attention_byte_at(m, m->weights,
                          cg_mulc(g, rows.i, CPU_ATTENTION_ROW)));
    by = glow_cpu_across(g, &glow_cpu_float, by, glow_cpu_sum);
    by = glow_cpu_attention_inverse(&m->a, by);
    by = glow_cg_splat(g, by, CPU_MATRIX_LANES);
    if (width > rest) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, width - rest),
                     CPU_MATRIX_LANES, NULL, 0);
        finish_vector(m, rows.i, l.i, by, CPU_MATRIX_LANES);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        finish_vector(m, rows.i, cg_i64(g, width - rest), by, rest);
    glow_cg_loop_end(g, &rows, NULL);
}

/* The current block of rows by the panels of keys from a.first to a.last. */
static void
attend_keys(matrix *m)
{
    cg *g = m->a.j->g;
    cg_loop l;

    for_tiles(m, score);
    glow_cg_loop(g, &l, cg_i64(g, 0), m->count, 2, NULL, 0);
    glow_cpu_attention_find_most(m, l.i);
    glow_cg_loop_end(g, &l, NULL);
    if (attention_has_blocks(m))
        scale_down(m);
    glow_cg_loop(g, &l, cg_i64(g, 0), m->count, m->tile, NULL, 0);
    for (int64_t c = 0; c < m->v_panels; c += 2)
        sum_columns(m, l.i, c);
    glow_cg_loop_end(g, &l, NULL);
}

/* Panels of keys that the rows of the block may see: all, unless causal. */
static cg_value
seen_panels(matrix *m)
{
    cg *g = m->a.j->g;
    const cpu_attention_sizes *s = &m->a.s;
    int64_t most = s->rows + s->keys;
    int64_t past = m->a.f->past < most ? m->a.f->past : most;
    cg_value all = cg_i64(g, m->panels), end;

    if (!m->a.f->causal)
        return all;
    end = cg_addc(g, m->a.row0, 2 * m->tile + past + CPU_ATTENTION_PANEL - 1);
    return glow_cg_imin(g, all, cg_over(g, end, CPU_ATTENTION_PANEL));
}

static void
attend_rows(matrix *m, cg_value row0)
{
    cg *g = m->a.j->g;
    cg_value seen;
    cg_loop l;

    m->a.row0 = row0;
    m->count = glow_cg_imin(g, cg_i64(g, 2 * m->tile),
                            cg_sub(g, cg_i64(g, m->a.s.rows), row0));
    seen = seen_panels(m);
    glow_cpu_attention_pack_queries(m);
    begin_rows(m);
    if (attention_has_blocks(m)) {
        glow_cg_loop(g, &l, cg_i64(g, 0), seen, m->block, NULL, 0);
        m->a.first = l.i;
        m->a.last = glow_cg_imin(g, cg_addc(g, l.i, m->block), seen);
        attend_keys(m);
        glow_cg_loop_end(g, &l, NULL);
    } else {
        m->a.first = cg_i64(g, 0);
        m->a.last = seen;
        attend_keys(m);
    }
    finish_rows(m);
}

static void
attend(matrix *m)
{
    cg *g = m->a.j->g;
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, m->a.s.rows), 2 * m->tile, NULL,
                 0);
    attend_rows(m, l.i);
    glow_cg_loop_end(g, &l, NULL);
}

/* Heads. */

/* Heads that share keys and values are consecutive units: the first packs for all. */
static void
pack(matrix *m)
{
    cg *g = m->a.j->g;
    const cpu_attention_sizes *s = &m->a.s;
    cg_value head = cg_affine(g, m->a.batch, s->heads / s->group,
                              cg_over(g, m->a.head, s->group), 1);
    cg_if other;

    glow_cg_if(g, &other, cg_icmp(g, LLVMIntNE, cg_get(g, m->packed), head));
    cg_set(g, m->unsafe, LLVMConstNull(g->i1));
    glow_cpu_attention_pack_keys(m);
    glow_cpu_attention_pack_values(m);
    cg_set(g, m->packed, head);
    glow_cg_end_if(g, &other);
}

/* The unit by the kernel of vectors, which has the same scratch. */
static void
attend_by_vectors(matrix *m, cg_value unit)
{
    cg *g = m->a.j->g;
    cpu_job one = *m->a.j;

    one.begin = unit;
    one.end = cg_addc(g, unit, 1);
    one.split = true;
    glow_cpu_fusedattention.emit(&one);
    cg_set(g, m->packed, cg_i64(g, -1));
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    cg_loop units;
    cg_value unit, unsafe;
    cg_if safe, bad;
    matrix m;

    glow_cpu_attention_matrix_of(g->target, j->n, &m);
    m.a.j = j;
    m.packed = glow_cg_local(g, cg_i64(g, -1));
    m.unsafe = glow_cg_local(g, LLVMConstNull(g->i1));
    m.q_unsafe = glow_cg_local(g, LLVMConstNull(g->i1));
    glow_cg_matrix_begin(g, m.tile, CPU_MATRIX_DEPTH);
    unit = glow_cpu_unit_for(j, &units);
    m.a.batch = cg_over(g, unit, m.a.s.heads);
    m.a.head = cg_modulo(g, unit, m.a.s.heads);
    pack(&m);
    if (m.parts == 1) {
        attend(&m);
    } else {
        /* Numbers of Q are looked at on the way. */
        cg_set(g, m.q_unsafe, cg_get(g, m.unsafe));
        unsafe = cg_get(g, m.unsafe);
        glow_cg_if(g, &safe, LLVMBuildNot(g->builder, unsafe, ""));
        attend(&m);
        glow_cg_end_if(g, &safe);
        glow_cg_if(g, &bad, cg_get(g, m.q_unsafe));
        attend_by_vectors(&m, unit);
        glow_cg_end_if(g, &bad);
    }
    glow_cg_loop_end(g, &units, NULL);
    glow_cg_matrix_end(g);
}

/* Kernels. */

static bool
pays(const cpu_target *t, const glow_node *n, matrix *m)
{
    return glow_cpu_fusedattention.takes(t, n) &&
           glow_cpu_attention_matrix_of(t, n, m) &&
           glow_cpu_pays_matrix(t, n->in[ATTENTION_Q]->type,
                                glow_cpu_attention_matrix_cycles(t, m),
                                glow_cpu_attention_vector_cycles(t, n));
}

static bool
takes_matrix(const cpu_target *t, const glow_node *n)
{
    matrix m;

    return t && pays(t, n, &m) && m.parts == 1;
}

static bool
takes_parts(const cpu_target *t, const glow_node *n)
{
    matrix m;

    return t && pays(t, n, &m) && m.parts > 1;
}

static int64_t
room_of(const cpu_target *t, const glow_node *n)
{
    int64_t vectors;
    matrix m;

    if (!glow_cpu_attention_matrix_of(t, n, &m))
        return 0;
    vectors = m.parts > 1 ? glow_cpu_fusedattention.scratch_size(t, n) : 0;
    return m.end > vectors ? m.end : vectors;
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    return glow_cpu_fusedattention.units(t, n);
}

static void
remark(const cpu_target *t, const glow_node *n, bool taken, glow_buf *b)
{
    cpu_target u = glow_cpu_parts_target(t);
    double cycles = 0, vectors = 0;
    matrix m;

    if (n->in[ATTENTION_Q]->type->elem != GLOW_FLOAT)
        return;
    if (glow_cpu_fusedattention.takes(&u, n) &&
        glow_cpu_attention_matrix_of(&u, n, &m)) {
        cycles = glow_cpu_attention_matrix_cycles(&u, &m);
        vectors = glow_cpu_attention_vector_cycles(&u, n);
    }
    glow_cpu_parts_remark(t, taken, cycles, vectors, b);
}

const cpu_kernel glow_cpu_fusedattention_matrix = {
    .name = "fusedattention_matrix",
    .op = &glow_op_fusedattention,
    .takes = takes_matrix,
    .emit = emit,
    .strides = CPU_STRIDES_IN,
    .matrix = true,
    .scratch_size = room_of,
    .units = units_of,
};

const cpu_kernel glow_cpu_fusedattention_parts = {
    .name = "fusedattention_parts",
    .op = &glow_op_fusedattention,
    .takes = takes_parts,
    .emit = emit,
    .strides = CPU_STRIDES_IN,
    .matrix = true,
    .scratch_size = room_of,
    .units = units_of,
    .remark = remark,
};
