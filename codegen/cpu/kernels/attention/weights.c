/* Attention: softmax of the scores, row by row. */

#include "codegen/cpu/kernels/attention/attention.h"

#include <math.h>

typedef cpu_attention maker;
typedef cpu_attention_sizes sizes;

/*
 * Mask of `row` for a vector of keys from `key` on: numbers to add to scores,
 * or booleans, true for visible keys.
 */
static cg_value
load_mask(maker *m, cg_value row, cg_value key)
{
    cg *g = m->j->g;
    cg_tensor t = m->j->in[ATTENTION_MASK];
    glow_dims d = t.type->shape, step = glow_cpu_strides(t.type);
    cg_value index[4] = {m->batch, m->head, row, key}, at = cg_i64(g, 0);

    for (int i = 0; i < 4; i++)
        if (d.at[i] > 1)
            at = cg_add(g, at, cg_mulc(g, index[i], step.at[i]));
    if (d.at[3] > 1)
        return glow_cg_load(g, t, at, m->s.lanes);
    return glow_cg_splat(g, glow_cg_load(g, t, at, 1), m->s.lanes);
}

static cg_value
hidden(maker *m)
{
    return glow_cg_real(glow_cg_vector(m->j->g->f32, m->s.lanes),
                        -(double)INFINITY);
}

/*
 * Causal mask: true for each key of the vector from `key` on with key <= row +
 * past.
 */
static cg_value
not_later(maker *m, cg_value row, cg_value key)
{
    cg *g = m->j->g;
    int64_t most = m->s.rows + m->s.keys;
    int64_t past = m->f->past < most ? m->f->past : most;
    LLVMTypeRef t = most < INT32_MAX / 4 ? g->i32 : g->i64;
    cg_value ahead = cg_addc(g, cg_sub(g, row, key), past), lane[256];

    ahead = LLVMBuildTruncOrBitCast(g->builder, ahead, t, "");
    for (int i = 0; i < m->s.lanes; i++)
        lane[i] = LLVMConstInt(t, (unsigned)i, false);
    return cg_icmp(g, LLVMIntSLE,
                   m->s.lanes > 1 ? LLVMConstVector(lane, (unsigned)m->s.lanes)
                                  : lane[0],
                   glow_cg_splat(g, ahead, m->s.lanes));
}

cg_value
glow_cpu_attention_mask(maker *m, cg_value row, cg_value key, cg_value x)
{
    cg *g = m->j->g;
    LLVMTypeRef t = LLVMTypeOf(x);
    double cap = (double)m->f->soft_cap;

    x = cg_fmul(g, x, glow_cg_real(t, (double)m->f->scale));
    if (cap > 0) {
        x = glow_cg_tanh(g, cg_fmul(g, x, glow_cg_real(t, 1 / cap)));
        x = cg_fmul(g, x, glow_cg_real(t, cap));
    }
    if (m->j->in[ATTENTION_MASK].at) {
        cg_value mask = load_mask(m, row, key);

        x = m->j->in[ATTENTION_MASK].type->elem == GLOW_BOOL
                ? cg_select(g, mask, x, hidden(m))
                : cg_fadd(g, x, mask);
    }
    if (m->f->causal)
        x = cg_select(g, not_later(m, row, key), x, hidden(m));
    return x;
}

/*
 * A pass over the scores of a row: `of` processes a vector and returns the new
 * value of the accumulator `carried`.
 */
typedef struct sweep {
    cg_value row;    /* of the block */
    cg_value scores; /* index of the first in the scratch */
    cg_value max;
} sweep;

typedef cg_value (*sweep_fn)(maker *m, const sweep *w, cg_value at,
                             cg_value carried);

/* Masks a vector of scores, stores it, and returns the maximum with `carried`. */
static cg_value
sweep_scores(maker *m, const sweep *w, cg_value at, cg_value carried)
{
    cg *g = m->j->g;
    int live = g->live;
    cg_value place = cg_add(g, w->scores, at), x;
    cg_value key = cg_add(g, cg_mulc(g, m->first, m->s.panel), at);

    g->live = 0; /* a panel has all lanes */
    x = glow_cg_load(g, m->work, place, m->s.lanes);
    g->live = live;
    x = glow_cpu_attention_mask(m, cg_add(g, m->row0, w->row), key, x);
    x = glow_cg_live(g, x, hidden(m));
    g->live = 0;
    glow_cg_store(g, m->work, place, x);
    g->live = live;
    return cg_select(g, cg_fcmp(g, LLVMRealOGT, x, carried), x, carried);
}

/* Replaces a vector of scores by exponentials, and adds them to `carried`. */
static cg_value
sweep_weights(maker *m, const sweep *w, cg_value at, cg_value carried)
{
    cg *g = m->j->g;
    int live = g->live;
    cg_value place = cg_add(g, w->scores, at), x;

    g->live = 0;
    x = glow_cg_load(g, m->work, place, m->s.lanes);
    x = cg_fsub(g, x, glow_cg_splat(g, w->max, m->s.lanes));
    x = glow_cg_exp(g, x);
    glow_cg_store(g, m->work, place, x);
    g->live = live;
    return cg_fadd(g, carried, x);
}

/*
 * Folds `of` over the vectors of keys of the block, beginning with `start`.
 * The vector with the last key, if only a part of it is live, is processed by
 * itself, if the block includes the last panel.
 */
static cg_value
sweep_row(maker *m, const sweep *w, sweep_fn of, cg_value start)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int64_t rest = s->keys % s->lanes, whole = s->keys - rest;
    cg_value from = cg_mulc(g, m->first, s->panel), carried, now;
    cg_value to = cg_mulc(g, m->last, s->panel);
    cg_value end = glow_cg_imin(g, to, cg_i64(g, whole));
    cg_loop l;
    cg_if last;

    carried = glow_cg_local(g, start);
    glow_cg_loop_guarded(g, &l, cg_i64(g, 0), cg_sub(g, end, from), s->lanes,
                         &start, 1);
    now = of(m, w, l.i, l.value[0]);
    glow_cg_loop_end(g, &l, &now);
    cg_set(g, carried, l.value[0]);
    if (rest) {
        glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, to, cg_i64(g, whole)));
        g->live = (int)rest;
        now = cg_get(g, carried);
        now = of(m, w, cg_sub(g, cg_i64(g, whole), from), now);
        g->live = 0;
        cg_set(g, carried, now);
        glow_cg_end_if(g, &last);
    }
    return cg_get(g, carried);
}

/* Zeros for the vectors of the last panel that have no key. */
static void
clear_rest(maker *m, const sweep *w)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int64_t all = s->panels * s->panel;
    cg_value none = LLVMConstNull(glow_cg_vector(g->f32, s->lanes));
    cg_value from = cg_mulc(g, m->first, s->panel);
    cg_if last;

    if (all - s->keys < s->lanes)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntEQ, m->last, cg_i64(g, s->panels)));
    from = cg_sub(g, cg_i64(g, all - s->lanes), from);
    glow_cg_store(g, m->work, cg_add(g, w->scores, from), none);
    glow_cg_end_if(g, &last);
}

static cg_value
greater(cg *g, const glow_type *t, cg_value a, cg_value b)
{
    (void)t;
    return cg_select(g, cg_fcmp(g, LLVMRealOGT, b, a), b, a);
}

cg_value
glow_cpu_attention_inverse(maker *m, cg_value sum)
{
    cg *g = m->j->g;
    cg_value one = glow_cg_real(g->f32, 1), none = LLVMConstNull(g->f32);

    if (m->f->nan_rows)
        return cg_fdiv(g, one, sum); /* 0 by 0: inf, by sums of 0 */

    cg_value is_none = cg_fcmp(g, LLVMRealOEQ, sum, none);

    return cg_select(g, is_none, none, cg_fdiv(g, one, sum));
}

void
glow_cpu_attention_weigh(maker *m, cg_value row)
{
    cg *g = m->j->g;
    sweep w = {.row = row, .scores = attention_scores_at(m, row)};
    cg_value low = glow_cg_real(g->f32, -(double)INFINITY), max, sum;
    cg_value zero = LLVMConstNull(g->f32);

    max = sweep_row(m, &w, sweep_scores, hidden(m));
    max = glow_cpu_across(g, m->work.type, max, greater);
    if (attention_is_streamed(&m->s))
        max =
            greater(g, NULL, max, attention_row_number(m, m->at.greatest, row));
    /* All weights of a row without visible keys are 0. */
    w.max = cg_select(g, cg_fcmp(g, LLVMRealOEQ, max, low), zero, max);
    sum = sweep_row(m, &w, sweep_weights,
                    LLVMConstNull(glow_cg_vector(g->f32, m->s.lanes)));
    clear_rest(m, &w);
    sum = glow_cpu_across(g, m->work.type, sum, glow_cpu_sum);
    if (attention_is_streamed(&m->s)) {
        cg_value down = glow_cg_exp(
            g, cg_fsub(g, attention_row_number(m, m->at.greatest, row), w.max));

        sum =
            glow_cg_fma(g, attention_row_number(m, m->at.sum, row), down, sum);
        attention_set_row_number(m, m->at.down, row, down);
        attention_set_row_number(m, m->at.greatest, row, max);
    } else {
        sum = glow_cpu_attention_inverse(m, sum);
    }
    attention_set_row_number(m, m->at.sum, row, sum);
}
