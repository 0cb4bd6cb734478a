/*
 * Attention by matrix registers: operands in matrices of words, each of two bfloat16.
 *
 *     Q    [row of the block][unit of the depth][part]     a row of a register
 *     K    [panel][unit][part][half of the keys]           a register: words by keys
 *     V    [panel of columns][panel of keys][part][half]   a register: words by columns
 *
 * Of bfloat16 a word of Q and K is two elements of the depth that follow each other; of
 * parts it is elements i and i + 16 of a unit, so that it takes no shuffle.  A word of V is
 * keys i and i + 16 of a panel, as those of the weights in softmax.c.  Elements beyond the
 * rows, keys, columns and the depth are zeros.
 *
 * By parts numbers are looked at: products of Q by K only have to be finite, since an error
 * below the least float does not change an exponential.  V is judged as the input of
 * products is (matrix/parts.c); of the weights of a row the largest is 1.
 */

#include "codegen/cpu/emit/narrow.h"
#include "codegen/cpu/kernels/attention/matrix.h"
#include "codegen/cpu/kernels/move/shuffle.h"

#define LANES CPU_MATRIX_LANES
#define ANY_SIZE 0x1p-149 /* the least magnitude that has parts: any */

typedef cpu_attention_matrix matrix;

static void
note_unsafe(matrix *m, cg_value local, cg_value unsafe)
{
    cg *g = m->a.j->g;

    cg_set(g, local, cg_or(g, cg_get(g, local), unsafe));
}

/* LANES elements at `at`, of which `live` are there. */
static cg_value
load_lanes(cg *g, cg_tensor from, cg_value at, int live)
{
    cg_value v;

    if (live <= 0)
        return LLVMConstNull(glow_cg_vector(g->f32, LANES));
    g->live = live < LANES ? live : 0;
    v = glow_cg_load(g, from, at, LANES);
    g->live = 0;
    return v;
}

/* The parts of a unit of the depth at element `at`, in words; `live` elements are there. */
static cpu_parts
load_unit(const matrix *m, const cpu_split *seen, cg_tensor from, cg_value at,
          int live)
{
    cg *g = m->a.j->g;
    cpu_parts p = {{NULL}};
    cg_value a, b;

    if (m->q_parts == 1) {
        g->live = live < CPU_MATRIX_DEPTH ? live : 0;
        a = glow_cg_load_raw(g, glow_cg_vector(g->i16, CPU_MATRIX_DEPTH),
                             glow_cg_at(g, from.at, cg_mulc(g, at, 2)));
        g->live = 0;
        p.part[0] = cg_bitcast(g, a, glow_cg_vector(g->i32, LANES));
        return p;
    }
    a = load_lanes(g, from, at, live);
    b = load_lanes(g, from, cg_addc(g, at, LANES), live - LANES);
    return glow_cpu_parts_pairs(g, seen, a, b, m->q_parts);
}

/* Elements of the last unit of the depth, if it is not whole, or 0. */
static int
rest_of_depth(const matrix *m)
{
    return (int)(m->a.s.depth % CPU_MATRIX_DEPTH);
}

/*
 * Prefetches the `count` elements of the next head that are where `at` is in this one: heads
 * that are apart in memory come from it line by line otherwise.
 */
static void
prefetch_next(const matrix *m, const cpu_attention_steps *s, cg_tensor from,
              cg_value at, int64_t count)
{
    cg *g = m->a.j->g;
    int64_t bytes = glow_cg_bytes(from.type);
    int64_t step = (m->a.s.heads > 1 ? s->head : s->batch) * bytes;
    cg_value to = glow_cg_at(g, from.at, cg_mulc(g, at, bytes));

    for (int64_t i = 0; i < count * bytes; i += CPU_LINE)
        glow_cg_prefetch(g, glow_cg_atc(g, to, step + i), false, 2);
}

static void
fill(const matrix *m, cg_value at, int64_t bytes)
{
    static const glow_type words = {.elem = GLOW_BFLOAT16};

    glow_cpu_fill(m->a.j->g, (cg_tensor){at, &words}, bytes / 2,
                  LLVMConstNull(m->a.j->g->i16));
}

/* Queries. */

/* Zeros for the rows of the last tile beyond those of Q. */
static void
clear_rows(const matrix *m)
{
    cg *g = m->a.j->g;
    int64_t rest = m->a.s.rows % (2 * m->tile);
    int64_t beyond = (m->tile - rest % m->tile) % m->tile;
    cg_if last;

    if (!beyond)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntEQ, m->count, cg_i64(g, rest)));
    fill(m, attention_byte_at(m, m->queries, cg_i64(g, rest * m->q_row)),
         beyond * m->q_row);
    glow_cg_end_if(g, &last);
}

/* Packs unit `unit` of row `row` of the block, of which `live` elements are there. */
static void
pack_unit(matrix *m, const cpu_split *seen, cg_value row, cg_value unit,
          int live)
{
    cg *g = m->a.j->g;
    const cpu_attention_steps *s = &m->a.s.q;
    cg_tensor q = attention_operand(&m->a, ATTENTION_Q, *s, m->a.head);
    int64_t each = (int64_t)m->q_parts * CPU_ATTENTION_ROW;
    cg_value at = cg_add(g, m->a.row0, row);
    cpu_parts p;

    at = cg_affine(g, at, s->row, unit, CPU_MATRIX_DEPTH);
    p = load_unit(m, seen, q, at, live);
    prefetch_next(m, s, q, at, live);
    at = attention_byte_at(m, m->queries,
                           cg_affine(g, row, m->q_row, unit, each));
    for (int i = 0; i < m->q_parts; i++)
        glow_cg_store_raw(g, p.part[i],
                          glow_cg_atc(g, at, (int64_t)i * CPU_ATTENTION_ROW));
}

void
glow_cpu_attention_pack_queries(matrix *m)
{
    cg *g = m->a.j->g;
    cpu_split seen = glow_cpu_parts_begin(g);
    int rest = rest_of_depth(m);
    int64_t whole = m->units - (rest > 0);
    cg_loop rows, units;

    glow_cg_loop(g, &rows, cg_i64(g, 0), m->count, 1, NULL, 0);
    if (whole) {
        glow_cg_for(g, &units, whole);
        pack_unit(m, &seen, rows.i, units.i, CPU_MATRIX_DEPTH);
        glow_cg_loop_end(g, &units, NULL);
    }
    if (rest)
        pack_unit(m, &seen, rows.i, cg_i64(g, whole), rest);
    glow_cg_loop_end(g, &rows, NULL);
    clear_rows(m);
    if (m->q_parts > 1)
        note_unsafe(m, m->q_unsafe, glow_cpu_parts_unsafe(g, &seen, ANY_SIZE));
}

/* Keys. */

/*
 * Transposes `some` keys from key `group` * LANES on, at unit `unit` of the depth, of which
 * `live` elements are there.
 */
static void
turn_unit(matrix *m, const cpu_split *seen, cg_tensor from, cg_value group,
          int some, cg_value unit, int live)
{
    cg *g = m->a.j->g;
    int64_t each = (int64_t)m->q_parts * 2 * CPU_ATTENTION_REGISTER;
    LLVMTypeRef t = glow_cg_vector(g->f32, LANES);
    cg_value words[CPU_MOST_PARTS][LANES], at, key;

    for (int i = 0; i < LANES; i++) {
        cpu_parts p = {{NULL}};

        key = cg_addc(g, cg_mulc(g, group, LANES), i);
        at = cg_affine(g, key, m->a.s.k.row, unit, CPU_MATRIX_DEPTH);
        if (i < some) {
            p = load_unit(m, seen, from, at, live);
            prefetch_next(m, &m->a.s.k, from, at, live);
        }
        for (int n = 0; n < m->q_parts; n++)
            words[n][i] =
                i < some ? cg_bitcast(g, p.part[n], t) : LLVMConstNull(t);
    }
    at = cg_affine(g, cg_over(g, group, 2), m->units, unit, 1);
    at = cg_affine(g, at, each, cg_modulo(g, group, 2), CPU_ATTENTION_REGISTER);
    at = attention_byte_at(m, m->keys, at);
    for (int n = 0; n < m->q_parts; n++) {
        glow_cpu_interleave(g, words[n], LANES);
        for (int i = 0; i < LANES; i++)
            glow_cg_store_raw(
                g, words[n][i],
                glow_cg_atc(g, at,
                            (int64_t)n * 2 * CPU_ATTENTION_REGISTER +
                                (int64_t)i * CPU_ATTENTION_ROW));
    }
}

static void
turn_group(matrix *m, const cpu_split *seen, cg_tensor from, cg_value group,
           int some)
{
    cg *g = m->a.j->g;
    int rest = rest_of_depth(m);
    int64_t whole = m->units - (rest > 0);
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        turn_unit(m, seen, from, group, some, l.i, CPU_MATRIX_DEPTH);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        turn_unit(m, seen, from, group, some, cg_i64(g, whole), rest);
}

static cg_value
shared_head(const matrix *m)
{
    return cg_over(m->a.j->g, m->a.head, m->a.s.group);
}

void
glow_cpu_attention_pack_keys(matrix *m)
{
    cg *g = m->a.j->g;
    const cpu_attention_sizes *s = &m->a.s;
    cg_tensor k = attention_operand(&m->a, ATTENTION_K, s->k, shared_head(m));
    int64_t whole = s->keys / LANES;
    cpu_split seen = glow_cpu_parts_begin(g);
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        turn_group(m, &seen, k, l.i, LANES);
        glow_cg_loop_end(g, &l, NULL);
    }
    for (int64_t i = whole; i < 2 * m->panels; i++)
        turn_group(m, &seen, k, cg_i64(g, i),
                   i == whole ? (int)(s->keys % LANES) : 0);
    if (m->q_parts > 1)
        note_unsafe(m, m->unsafe, glow_cpu_parts_unsafe(g, &seen, ANY_SIZE));
}

/* Values. */

/* Columns of a panel of V from `column` on, `live` of which there are. */
typedef struct columns {
    cg_tensor from;
    cg_value column;
    int64_t live;
    cg_value
        to; /* address of the first register; bytes from a panel of keys to the next */
    int64_t apart;
    int beside;
    cpu_split seen;
} columns;

/*
 * The words of register `n` of those beside each other, of key `key` and the one 16 further,
 * of which `keys` are there.
 */
static cpu_parts
load_values(const matrix *m, const columns *c, int n, cg_value key, int keys)
{
    cg *g = m->a.j->g;
    int64_t row = m->a.s.v.row, live = c->live - (int64_t)n * LANES;
    cg_value at = cg_addc(g, cg_affine(g, key, row, c->column, 1), n * LANES);
    cg_value a, b;
    LLVMTypeRef t = glow_cg_vector(g->f32, LANES);
    cpu_parts p = {{NULL}};

    g->live = live < LANES ? (int)live : 0;
    if (!keys) {
        for (int i = 0; i < m->parts; i++)
            p.part[i] = LLVMConstNull(t);
    } else if (m->parts == 1) {
        p.part[0] =
            glow_cg_load_pairs(g, glow_cg_at(g, c->from.at, cg_mulc(g, at, 2)),
                               keys == 2 ? LANES * row * 2 : 0, LANES);
    } else {
        a = glow_cg_load(g, c->from, at, LANES);
        b = keys == 2
                ? glow_cg_load(g, c->from, cg_addc(g, at, LANES * row), LANES)
                : LLVMConstNull(t);
        p = glow_cpu_parts_pairs(g, &c->seen, a, b, m->parts);
    }
    g->live = 0;
    return p;
}

/*
 * Rows `first` to `end` of the registers of panel `panel` of keys: of those beside each
 * other at once, because they share lines of V, which strides of a power of 2 drop from the
 * cache soon.
 */
static void
copy_rows(const matrix *m, const columns *c, cg_value panel, int64_t first,
          int64_t end, int keys)
{
    cg *g = m->a.j->g;
    cg_value at, to;
    cg_loop l;
    cpu_parts p;

    if (first >= end)
        return;
    glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, end), 1, NULL, 0);
    at = cg_affine(g, panel, CPU_ATTENTION_PANEL, l.i, 1);
    to = cg_affine(g, panel, c->apart, l.i, CPU_ATTENTION_ROW);
    to = glow_cg_at(g, c->to, to);
    for (int n = 0; n < c->beside; n++) {
        p = load_values(m, c, n, at, keys);
        for (int i = 0; i < m->parts; i++)
            glow_cg_store_raw(g, p.part[i],
                              glow_cg_atc(g, to,
                                          ((int64_t)i * c->beside + n) *
                                              CPU_ATTENTION_REGISTER));
    }
    for (int i = 0; i < keys; i++)
        prefetch_next(m, &m->a.s.v, c->from,
                      cg_affine(g, cg_addc(g, at, (int64_t)i * LANES),
                                m->a.s.v.row, c->column, 1),
                      (int64_t)c->beside * LANES);
    glow_cg_loop_end(g, &l, NULL);
}

static void
copy_columns(matrix *m, columns *c)
{
    cg *g = m->a.j->g;
    int64_t keys = m->a.s.keys, whole = keys / CPU_ATTENTION_PANEL;
    int64_t rest = keys % CPU_ATTENTION_PANEL;
    int64_t some = rest < LANES ? rest : LANES;
    int64_t both = rest > LANES ? rest - LANES : 0;
    cg_value last = cg_i64(g, whole);
    cg_loop l;

    c->seen = glow_cpu_parts_begin(g);
    if (whole) {
        glow_cg_for(g, &l, whole);
        copy_rows(m, c, l.i, 0, LANES, 2);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest) {
        copy_rows(m, c, last, 0, both, 2);
        copy_rows(m, c, last, both, some, 1);
        copy_rows(m, c, last, some, LANES, 0);
    }
    if (m->parts > 1)
        note_unsafe(m, m->unsafe,
                    glow_cpu_parts_unsafe(g, &c->seen,
                                          m->parts == 3 ? CPU_LEAST_OF_THREE
                                                        : CPU_LEAST_INPUT));
}

/* Panel `panel` of columns, of which `live` are there. */
static void
copy_panel(matrix *m, cg_tensor from, cg_value panel, int beside, int64_t live)
{
    cg *g = m->a.j->g;
    int64_t each = (int64_t)m->parts * CPU_ATTENTION_REGISTER;
    columns c = {
        .from = from, .live = live, .apart = beside * each, .beside = beside};

    c.column = cg_mulc(g, panel, CPU_ATTENTION_PANEL);
    c.to = attention_byte_at(m, m->values,
                             cg_mulc(g, panel, m->panels * 2 * each));
    copy_columns(m, &c);
}

void
glow_cpu_attention_pack_values(matrix *m)
{
    cg *g = m->a.j->g;
    const cpu_attention_sizes *s = &m->a.s;
    cg_tensor v = attention_operand(&m->a, ATTENTION_V, s->v, shared_head(m));
    int64_t whole = s->width / CPU_ATTENTION_PANEL;
    int64_t rest = s->width % CPU_ATTENTION_PANEL;
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        copy_panel(m, v, l.i, 2, CPU_ATTENTION_PANEL);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        copy_panel(m, v, cg_i64(g, whole), attention_beside(m, whole), rest);
}
