/*
 * Attention: keys and values as the register tile reads weights, in panels of
 * one or two vectors.
 */

#include "codegen/cpu/kernels/attention/attention.h"
#include "codegen/cpu/kernels/move/shuffle.h"

typedef cpu_attention maker;
typedef cpu_attention_sizes sizes;

/*
 * Transposes group `group` of keys, `some` of a vector's lanes, at `depths`
 * depths from `d` on.
 */
static void
turn_keys(maker *m, cg_tensor from, cg_value group, int some, cg_value d,
          int depths)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_value v[256], key = cg_mulc(g, group, s->lanes);
    cg_value panel = cg_over(g, group, s->blocks), at;

    for (int i = 0; i < s->lanes; i++) {
        at = cg_mulc(g, cg_addc(g, key, i), s->k.row);
        g->live = depths;
        v[i] = i < some ? glow_cg_load(g, from, cg_add(g, at, d), s->lanes)
                        : LLVMConstNull(glow_cg_vector(g->f32, s->lanes));
        g->live = 0;
    }
    glow_cpu_interleave(g, v, s->lanes);
    at = cg_add(g, cg_mulc(g, panel, s->depth), d);
    at = cg_mulc(g, at, s->panel);
    at = cg_add(g, at, cg_mulc(g, cg_modulo(g, group, s->blocks), s->lanes));
    for (int i = 0; i < depths; i++)
        glow_cg_store(g, m->work, cg_addc(g, at, m->at.keys + i * s->panel),
                      v[i]);
}

static void
turn_group(maker *m, cg_tensor from, cg_value group, int some)
{
    cg *g = m->j->g;
    int64_t rest = m->s.depth % m->s.lanes, whole = m->s.depth - rest;
    cg_loop l;

    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), m->s.lanes, NULL,
                     0);
        turn_keys(m, from, group, some, l.i, m->s.lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        turn_keys(m, from, group, some, cg_i64(g, whole), (int)rest);
}

static void
pack_keys(maker *m, cg_value head)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_tensor from = attention_operand(m, ATTENTION_K, s->k, head);
    int64_t whole = s->keys / s->lanes;
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        turn_group(m, from, l.i, s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    for (int64_t i = whole; i < s->panels * s->blocks; i++) {
        int64_t left = s->keys - i * s->lanes;

        turn_group(m, from, cg_i64(g, i), left > 0 ? (int)left : 0);
    }
}

/* Vector `i` of the values of row `row`; `some` of its lanes, 0 beyond. */
static void
copy_values(maker *m, cg_tensor from, cg_value row, cg_value i, int some)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_value panel = cg_over(g, i, s->v_blocks), at, v;

    at = cg_affine(g, row, s->v.row, i, s->lanes);
    g->live = some;
    v = some ? glow_cg_load(g, from, at, s->lanes)
             : LLVMConstNull(glow_cg_vector(g->f32, s->lanes));
    g->live = 0;
    at = cg_add(g, cg_mulc(g, panel, s->panels * s->panel), row);
    at = cg_affine(g, at, s->v_panel, cg_modulo(g, i, s->v_blocks), s->lanes);
    glow_cg_store(g, m->work, cg_addc(g, at, m->at.values), v);
}

/* Rows of values from `first` to `end`, which are zeros unless `are_keys`. */
static void
copy_rows(maker *m, cg_tensor from, int64_t first, int64_t end, bool are_keys)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int64_t width = are_keys ? s->width : 0;
    int64_t whole = width / s->lanes, all = s->v_panels * s->v_blocks;
    cg_loop rows, l;

    if (first >= end)
        return;
    glow_cg_loop(g, &rows, cg_i64(g, first), cg_i64(g, end), 1, NULL, 0);
    if (whole) {
        glow_cg_for(g, &l, whole);
        copy_values(m, from, rows.i, l.i, s->lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    for (int64_t i = whole; i < all; i++) {
        int64_t left = width - i * s->lanes;

        copy_values(m, from, rows.i, cg_i64(g, i), left > 0 ? (int)left : 0);
    }
    glow_cg_loop_end(g, &rows, NULL);
}

static void
pack_values(maker *m, cg_value head)
{
    const sizes *s = &m->s;
    cg_tensor from = attention_operand(m, ATTENTION_V, s->v, head);

    copy_rows(m, from, 0, s->keys, true);
    copy_rows(m, from, s->keys, s->panels * s->panel, false);
}

/* Heads that share keys are consecutive units: the first packs for all. */
void
glow_cpu_attention_pack(maker *m, cg_value unit)
{
    cg *g = m->j->g;
    int64_t group = m->s.group;
    cg_value head = cg_over(g, m->head, group), is_first;
    cg_if first;

    if (group > 1) {
        is_first =
            cg_icmp(g, LLVMIntEQ, cg_modulo(g, unit, group), cg_i64(g, 0));
        is_first = cg_or(g, is_first, cg_icmp(g, LLVMIntEQ, unit, m->j->begin));
        glow_cg_if(g, &first, is_first);
    }
    pack_keys(m, head);
    pack_values(m, head);
    if (group > 1)
        glow_cg_end_if(g, &first);
}
