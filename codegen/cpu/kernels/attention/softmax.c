/*
 * Attention by matrix registers: softmax of a block of scores, in place, between the two
 * products.
 *
 *     for two rows at a time
 *       for each panel of keys                 two vectors of a row
 *         maximum of the scores, masked
 *     for each panel of keys, between products of the weights by V
 *       for two rows at a time
 *         weights = exponentials; their sum; their parts of bfloat16
 *
 * Four vectors are independent, so that their latencies overlap, and the sums of rows too.
 * Weights overwrite the scores of their own panel.  A word of them is keys i and i + 16, as
 * of V in pairs.c: rounding two vectors and joining their halves takes four instructions.
 */

#include <math.h>

#include "codegen/cpu/kernels/attention/matrix.h"

#define LANES CPU_MATRIX_LANES
#define ROWS 2
#define VECTORS (ROWS * 2)
#define LOG2_E 1.44269504088896341

typedef cpu_attention_matrix matrix;

typedef struct rows {
    matrix *m;
    cg_value number[ROWS]; /* of Q */
    cg_value scores[ROWS]; /* addresses */
} rows;

static cg_value
hidden(const matrix *m)
{
    return glow_cg_real(glow_cg_vector(m->a.j->g->f32, LANES),
                        -(double)INFINITY);
}

static bool
is_plain(const matrix *m)
{
    return !m->a.j->in[ATTENTION_MASK].at && !m->a.f->causal &&
           !(m->a.f->soft_cap > 0) && m->a.f->scale > 0;
}

static cg_value
panel_at(const rows *r, int row, cg_value panel)
{
    cg *g = r->m->a.j->g;
    cg_value at = cg_sub(g, panel, r->m->a.first);

    return glow_cg_at(g, r->scores[row], cg_mulc(g, at, r->m->place));
}

/* Scores of half `half` of a panel of `keys` keys at `at`; minus infinity beyond these. */
static cg_value
load_scores(const matrix *m, cg_value at, int half, int keys)
{
    cg *g = m->a.j->g;
    int live = keys - half * LANES;
    cg_value v;

    if (live <= 0)
        return hidden(m);
    v = glow_cg_load_raw(g, glow_cg_vector(g->f32, LANES),
                         glow_cg_atc(g, at, (int64_t)half * CPU_ATTENTION_ROW));
    g->live = live < LANES ? live : 0;
    v = glow_cg_live(g, v, hidden(m));
    g->live = 0;
    return v;
}

/* The same, masked and stored, unless they are plain. */
static cg_value
mask_scores(const rows *r, int row, cg_value panel, int half, int keys)
{
    cg *g = r->m->a.j->g;
    cg_value at = panel_at(r, row, panel), key;
    cg_value v = load_scores(r->m, at, half, keys);
    int live = keys - half * LANES;

    if (is_plain(r->m))
        return v;
    if (live > 0) {
        key = cg_addc(g, cg_mulc(g, panel, CPU_ATTENTION_PANEL),
                      (int64_t)half * LANES);
        g->live = live < LANES ? live : 0;
        v = glow_cpu_attention_mask(&r->m->a, r->number[row], key, v);
        v = glow_cg_live(g, v, hidden(r->m));
        g->live = 0;
    }
    glow_cg_store_raw(g, v,
                      glow_cg_atc(g, at, (int64_t)half * CPU_ATTENTION_ROW));
    return v;
}

static cg_value
greater(cg *g, const glow_type *t, cg_value a, cg_value b)
{
    (void)t;
    return cg_select(g, cg_fcmp(g, LLVMRealOGT, b, a), b, a);
}

static void
find_most(const rows *r, cg_value panel, int keys, cg_value *most)
{
    cg *g = r->m->a.j->g;

    for (int i = 0; i < VECTORS; i++)
        most[i] = greater(g, NULL, most[i],
                          mask_scores(r, i / 2, panel, i % 2, keys));
}

/*
 * The maxima of the vectors of each half of the rows, over the panels of the block: the last
 * one of all keys apart, if it is not whole.
 */
static void
find_all(const rows *r, cg_value *most)
{
    const matrix *m = r->m;
    cg *g = m->a.j->g;
    int rest = (int)(m->a.s.keys % CPU_ATTENTION_PANEL);
    cg_value whole = cg_i64(g, m->panels - (rest > 0)), local[VECTORS];
    cg_value end = glow_cg_imin(g, m->a.last, whole);
    cg_loop l;
    cg_if last;

    for (int i = 0; i < VECTORS; i++)
        most[i] = hidden(m);
    glow_cg_loop_guarded(g, &l, m->a.first, end, 1, most, VECTORS);
    for (int i = 0; i < VECTORS; i++)
        most[i] = l.value[i];
    find_most(r, l.i, CPU_ATTENTION_PANEL, most);
    glow_cg_loop_end(g, &l, most);
    for (int i = 0; i < VECTORS; i++)
        most[i] = l.value[i];
    if (!rest)
        return;
    for (int i = 0; i < VECTORS; i++)
        local[i] = glow_cg_local(g, most[i]);
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, m->a.last, whole));
    find_most(r, whole, rest, most);
    for (int i = 0; i < VECTORS; i++)
        cg_set(g, local[i], most[i]);
    glow_cg_end_if(g, &last);
    for (int i = 0; i < VECTORS; i++)
        most[i] = cg_get(g, local[i]);
}

/* The address of the sums of weights of row `row`, one for each lane. */
static cg_value
weights_at(const matrix *m, cg_value row)
{
    return attention_byte_at(m, m->weights,
                             cg_mulc(m->a.j->g, row, CPU_ATTENTION_ROW));
}

/* Rescales the sums of the blocks of keys so far of a row to its new maximum. */
static void
rescale(const matrix *m, cg_value most, cg_value row)
{
    cg *g = m->a.j->g;
    cg_value most_at = attention_number_at(m, m->greatest, row), down, sum;
    LLVMTypeRef t = glow_cg_vector(g->f32, LANES);

    down = cg_fsub(g, glow_cg_load_raw(g, g->f32, most_at), most);
    down = glow_cg_exp(g, down);
    sum = glow_cg_load_raw(g, t, weights_at(m, row));
    sum = cg_fmul(g, sum, glow_cg_splat(g, down, LANES));
    glow_cg_store_raw(g, sum, weights_at(m, row));
    glow_cg_store_raw(g, down, attention_number_at(m, m->down, row));
}

/*
 * Sets the number to add to the scaled scores of row `i`: less the maximum, from the vectors
 * of its halves.
 */
static void
set_most(const rows *r, int i, cg_value const *most, cg_value row)
{
    const matrix *m = r->m;
    cg *g = m->a.j->g;
    cg_value low = glow_cg_real(g->f32, -(double)INFINITY), v, used;

    v = greater(g, NULL, most[2 * i], most[2 * i + 1]);
    v = glow_cpu_across(g, &glow_cpu_float, v, greater);
    if (is_plain(m))
        v = cg_fmul(g, v, glow_cg_real(g->f32, (double)m->a.f->scale));
    if (attention_has_blocks(m))
        v = greater(g, NULL, v,
                    glow_cg_load_raw(g, g->f32,
                                     attention_number_at(m, m->greatest, row)));
    /* All weights of a row without visible keys are 0. */
    used =
        cg_select(g, cg_fcmp(g, LLVMRealOEQ, v, low), LLVMConstNull(g->f32), v);
    if (attention_has_blocks(m)) {
        rescale(m, used, row);
        glow_cg_store_raw(g, v, attention_number_at(m, m->greatest, row));
    }
    used = cg_fmul(g, used, glow_cg_real(g->f32, m->parts > 1 ? -1 : -LOG2_E));
    glow_cg_store_raw(g, used, attention_number_at(m, m->shift, row));
}

void
glow_cpu_attention_find_most(matrix *m, cg_value row)
{
    cg *g = m->a.j->g;
    rows r = {.m = m};
    cg_value most[VECTORS], at[ROWS];
    cg_value end = cg_i64(g, m->a.s.rows - 1);

    for (int i = 0; i < ROWS; i++) {
        at[i] = cg_addc(g, row, i);
        /* The row beyond an odd number of rows has the mask of the last. */
        r.number[i] = glow_cg_imin(g, cg_add(g, m->a.row0, at[i]), end);
        r.scores[i] =
            attention_byte_at(m, m->scores, cg_mulc(g, at[i], m->row));
    }
    find_all(&r, most);
    for (int i = 0; i < ROWS; i++)
        set_most(&r, i, most, at[i]);
}

/* Weights. */

/*
 * Exponentials of scores less the maximum: of bfloat16 powers of 2, whose exponent is
 * one fused multiplication of the score.
 */
static cg_value
weigh(const matrix *m, cg_value v, cg_value shift)
{
    cg *g = m->a.j->g;
    double scale = is_plain(m) ? (double)m->a.f->scale : 1;
    double unit = m->parts > 1 ? 1 : LOG2_E;

    v = glow_cg_fma(g, v, glow_cg_real(LLVMTypeOf(v), scale * unit), shift);
    return m->parts > 1 ? glow_cg_exp(g, v) : glow_cg_short_power(g, v);
}

/* The weights of row `row`, at address `at`. */
static void
weigh_row(const matrix *m, cg_value row, cg_value at, int keys)
{
    cg *g = m->a.j->g;
    LLVMTypeRef t = glow_cg_vector(g->f32, LANES);
    cg_value shift =
        glow_cg_load_raw(g, g->f32, attention_number_at(m, m->shift, row));
    cg_value v[2] = {LLVMConstNull(t), LLVMConstNull(t)}, sum;
    cpu_parts p;

    shift = glow_cg_splat(g, shift, LANES);
    for (int half = 0; half < 2 && half * LANES < keys; half++)
        v[half] = weigh(m, load_scores(m, at, half, keys), shift);
    sum = glow_cg_load_raw(g, t, weights_at(m, row));
    sum = cg_fadd(g, sum, cg_fadd(g, v[0], v[1]));
    glow_cg_store_raw(g, sum, weights_at(m, row));
    p = glow_cpu_parts_pairs(g, NULL, v[0], v[1], m->parts);
    for (int i = 0; i < m->parts; i++)
        glow_cg_store_raw(g, p.part[i],
                          glow_cg_atc(g, at, (int64_t)i * CPU_ATTENTION_ROW));
}

void
glow_cpu_attention_weigh_panel(matrix *m, cg_value row, cg_value panel,
                               int keys)
{
    cg *g = m->a.j->g;
    cg_value at = cg_mulc(g, cg_sub(g, panel, m->a.first), m->place), to;
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, m->tile), ROWS, NULL, 0);
    for (int i = 0; i < ROWS; i++) {
        cg_value one = cg_addc(g, cg_add(g, row, l.i), i);

        to = cg_add(g, cg_mulc(g, one, m->row), at);
        weigh_row(m, one, attention_byte_at(m, m->scores, to), keys);
    }
    glow_cg_loop_end(g, &l, NULL);
}
