/*
 * Attention by matrix registers: softmax of a block of scores, in place, between the two
 * products.
 *
 *     for two rows at a time
 *       for each panel of keys                 two vectors of a row
 *         maximum of the scores, masked
 *       for each panel of keys
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
    cg_value most[ROWS];   /* the maximum; 0 of a row without visible keys */
} rows;

/* Processes a panel, which has `keys` keys, and updates a vector for each half of a row. */
typedef void (*panel_fn)(const rows *r, cg_value panel, int keys,
                         cg_value *sums);

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

/* Scores of half `half` of a panel of `keys` keys; minus infinity beyond these. */
static cg_value
load_scores(const rows *r, int row, cg_value panel, int half, int keys)
{
    cg *g = r->m->a.j->g;
    cg_value at = panel_at(r, row, panel), v;
    int live = keys - half * LANES;

    if (live <= 0)
        return hidden(r->m);
    v = glow_cg_load_raw(g, glow_cg_vector(g->f32, LANES),
                         glow_cg_atc(g, at, (int64_t)half * CPU_ATTENTION_ROW));
    g->live = live < LANES ? live : 0;
    v = glow_cg_live(g, v, hidden(r->m));
    g->live = 0;
    return v;
}

/* The same, masked and stored, unless they are plain. */
static cg_value
mask_scores(const rows *r, int row, cg_value panel, int half, int keys)
{
    cg *g = r->m->a.j->g;
    cg_value v = load_scores(r, row, panel, half, keys), at, key;
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
    at = panel_at(r, row, panel);
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
 * Exponentials of scores less the maximum: of bfloat16 powers of 2, whose exponent is
 * one fused multiplication of the score.
 */
static cg_value
weigh(const rows *r, int row, cg_value v)
{
    cg *g = r->m->a.j->g;
    LLVMTypeRef t = LLVMTypeOf(v);
    double scale = is_plain(r->m) ? (double)r->m->a.f->scale : 1;
    cg_value down = LLVMBuildFNeg(g->builder, r->most[row], "");

    if (r->m->parts > 1) {
        v = glow_cg_fma(g, v, glow_cg_real(t, scale),
                        glow_cg_splat(g, down, LANES));
        return glow_cg_exp(g, v);
    }
    down = cg_fmul(g, down, glow_cg_real(g->f32, LOG2_E));
    v = glow_cg_fma(g, v, glow_cg_real(t, scale * LOG2_E),
                    glow_cg_splat(g, down, LANES));
    return glow_cg_short_power(g, v);
}

static void
store_weights(const rows *r, cg_value panel, int keys, cg_value *sums)
{
    const matrix *m = r->m;
    cg *g = m->a.j->g;

    for (int row = 0; row < ROWS; row++) {
        cg_value v[2], at = panel_at(r, row, panel);
        cpu_parts p;

        for (int half = 0; half < 2; half++) {
            v[half] = weigh(r, row, load_scores(r, row, panel, half, keys));
            sums[2 * row + half] = cg_fadd(g, sums[2 * row + half], v[half]);
        }
        p = glow_cpu_parts_pairs(g, NULL, v[0], v[1], m->parts);
        for (int i = 0; i < m->parts; i++)
            glow_cg_store_raw(
                g, p.part[i],
                glow_cg_atc(g, at, (int64_t)i * CPU_ATTENTION_ROW));
    }
}

/*
 * Folds `of` over the panels of the block, from vectors `start` on: the last one of all
 * keys apart, if it is not whole.
 */
static void
for_panels(const rows *r, panel_fn of, cg_value start, cg_value *sums)
{
    const matrix *m = r->m;
    cg *g = m->a.j->g;
    int rest = (int)(m->a.s.keys % CPU_ATTENTION_PANEL);
    cg_value whole = cg_i64(g, m->panels - (rest > 0)), local[VECTORS];
    cg_value end = glow_cg_imin(g, m->a.last, whole);
    cg_loop l;
    cg_if last;

    for (int i = 0; i < VECTORS; i++)
        sums[i] = start;
    glow_cg_loop_guarded(g, &l, m->a.first, end, 1, sums, VECTORS);
    for (int i = 0; i < VECTORS; i++)
        sums[i] = l.value[i];
    of(r, l.i, CPU_ATTENTION_PANEL, sums);
    glow_cg_loop_end(g, &l, sums);
    for (int i = 0; i < VECTORS; i++)
        sums[i] = l.value[i];
    if (!rest)
        return;
    for (int i = 0; i < VECTORS; i++)
        local[i] = glow_cg_local(g, sums[i]);
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, m->a.last, whole));
    of(r, whole, rest, sums);
    for (int i = 0; i < VECTORS; i++)
        cg_set(g, local[i], sums[i]);
    glow_cg_end_if(g, &last);
    for (int i = 0; i < VECTORS; i++)
        sums[i] = cg_get(g, local[i]);
}

/* Sets the maximum of row `i` from the vectors of its halves; returns it. */
static cg_value
set_most(rows *r, int i, cg_value const *most, cg_value row)
{
    matrix *m = r->m;
    cg *g = m->a.j->g;
    cg_value low = glow_cg_real(g->f32, -(double)INFINITY), v;

    v = greater(g, NULL, most[2 * i], most[2 * i + 1]);
    v = glow_cpu_across(g, &glow_cpu_float, v, greater);
    if (is_plain(m))
        v = cg_fmul(g, v, glow_cg_real(g->f32, (double)m->a.f->scale));
    if (attention_has_blocks(m))
        v = greater(g, NULL, v,
                    glow_cg_load_raw(g, g->f32,
                                     attention_number_at(m, m->greatest, row)));
    /* All weights of a row without visible keys are 0. */
    r->most[i] =
        cg_select(g, cg_fcmp(g, LLVMRealOEQ, v, low), LLVMConstNull(g->f32), v);
    return v;
}

/* Adds the weights of row `i` to their sum so far, rescaled to the new maximum `most`. */
static void
add_weights(const rows *r, int i, cg_value const *sums, cg_value most,
            cg_value row)
{
    const matrix *m = r->m;
    cg *g = m->a.j->g;
    cg_value sum_at = attention_number_at(m, m->sum, row);
    cg_value most_at = attention_number_at(m, m->greatest, row), down, sum;

    sum = cg_fadd(g, sums[2 * i], sums[2 * i + 1]);
    sum = glow_cpu_across(g, &glow_cpu_float, sum, glow_cpu_sum);
    if (attention_has_blocks(m)) {
        down = cg_fsub(g, glow_cg_load_raw(g, g->f32, most_at), r->most[i]);
        down = glow_cg_exp(g, down);
        sum = glow_cg_fma(g, glow_cg_load_raw(g, g->f32, sum_at), down, sum);
        glow_cg_store_raw(g, down, attention_number_at(m, m->down, row));
        glow_cg_store_raw(g, most, most_at);
    }
    glow_cg_store_raw(g, sum, sum_at);
}

void
glow_cpu_attention_weigh_rows(matrix *m, cg_value row)
{
    cg *g = m->a.j->g;
    rows r = {.m = m};
    cg_value sums[VECTORS], most[ROWS], at[ROWS];
    cg_value end = cg_i64(g, m->a.s.rows - 1);

    for (int i = 0; i < ROWS; i++) {
        at[i] = cg_addc(g, row, i);
        /* The row beyond an odd number of rows has the mask of the last. */
        r.number[i] = glow_cg_imin(g, cg_add(g, m->a.row0, at[i]), end);
        r.scores[i] =
            attention_byte_at(m, m->scores, cg_mulc(g, at[i], m->row));
    }
    for_panels(&r, find_most, hidden(m), sums);
    for (int i = 0; i < ROWS; i++)
        most[i] = set_most(&r, i, sums, at[i]);
    for_panels(&r, store_weights, LLVMConstNull(glow_cg_vector(g->f32, LANES)),
               sums);
    for (int i = 0; i < ROWS; i++)
        add_weights(&r, i, sums, most[i], at[i]);
}
