/*
 * Fused attention with online softmax, as FlashAttention: the scores are never
 * written to memory as a whole.
 *
 * For each head its keys are transposed and its values copied into panels, the
 * layout in which the register tile reads weights; heads that share them do so
 * once.  Loops, from the outermost in:
 *
 *     for each batch and head                  units; keys and values into panels
 *       for each mc = block of rows of Q       about 48
 *         for each nc = block of keys          512, or all; up to the last visible
 *           scores   for each mr x panel:      Q K^T, the depth of a head inside
 *           weights  for each row:             scale, cap, mask; exponentials,
 *                                              against the running maximum
 *           sums     for each mr x panel:      the sums before, rescaled to that
 *                                              maximum, and weights V
 *
 * A block of scores stays in the cache.  If all keys are one block nothing is
 * rescaled, and the sums are stored from registers to Y; else they are kept in
 * scratch between blocks, with the running maximum and the sum of weights of
 * each row.  Milakov and Gimelshein, Online normalizer calculation for softmax,
 * arXiv:1805.02867; Dao et al., FlashAttention, arXiv:2205.14135.
 */

#include "codegen/cpu/kernels/attention/attention.h"

#include <math.h>

#include "codegen/cpu/kernels/direct/shape.h"
#include "codegen/cpu/kernels/runs.h"

#define FEW_ROWS 4    /* for which transposing the keys does not pay */
#define BLOCK_ROWS 48 /* of Q, about */
#define BLOCK_KEYS 512

typedef cpu_attention maker;
typedef cpu_attention_sizes sizes;
typedef cpu_attention_steps steps;
typedef cpu_attention_places places;

static steps
steps_of(const glow_type *t, bool by_rows)
{
    glow_dims s = glow_cpu_strides(t);

    return (steps){s.at[0], s.at[by_rows ? 2 : 1], s.at[by_rows ? 1 : 2]};
}

static int64_t
heads_of(const glow_type *t, bool by_rows)
{
    return t->shape.at[by_rows ? 2 : 1];
}

static int64_t
count_of(const glow_type *t, bool by_rows)
{
    return t->shape.at[by_rows ? 1 : 2];
}

sizes
glow_cpu_attention_sizes_of(const cpu_target *t, const glow_node *n)
{
    const glow_fusedattention *f = n->attrs;
    const glow_type *q = n->in[ATTENTION_Q]->type,
                    *k = n->in[ATTENTION_K]->type;
    const glow_type *v = n->in[ATTENTION_V]->type;
    sizes s = {
        .batch = q->shape.at[0],
        .heads = heads_of(q, f->q_rows),
        .rows = count_of(q, f->q_rows),
        .keys = count_of(k, f->k_rows),
        .depth = q->shape.at[3],
        .width = v->shape.at[3],
        .q = steps_of(q, f->q_rows),
        .k = steps_of(k, f->k_rows),
        .v = steps_of(v, f->v_rows),
        .y = steps_of(n->out[0]->type, f->y_rows),
    };
    int most;

    s.group = s.heads / heads_of(k, f->k_rows);
    if (!t)
        return s;
    s.lanes = t->vector_bytes / 4;
    s.blocks = s.keys > s.lanes ? 2 : 1;
    s.v_blocks = s.width > s.lanes ? 2 : 1;
    s.panel = s.blocks * s.lanes;
    s.v_panel = s.v_blocks * s.lanes;
    s.panels = cg_ceil_div(s.keys, s.panel);
    s.v_panels = cg_ceil_div(s.width, s.v_panel);
    most = (t->registers - 4) / 2;
    /* Rows at the same page offset conflict in the sets of the L1 cache. */
    if (s.q.row * glow_cg_bytes(q) % 4096 == 0 && most > 8)
        most = 8;
    s.tile = glow_cpu_best_rows(s.rows, 2, most);
    s.block_rows = cg_ceil_div(BLOCK_ROWS, s.tile) * s.tile;
    s.block = cg_ceil_div(BLOCK_KEYS, s.panel);
    if (s.block > s.panels)
        s.block = s.panels;
    return s;
}

static bool
is_dense_within(const glow_value *v)
{
    return glow_cpu_strides(v->type).at[3] == 1 || v->type->shape.at[3] == 1;
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    glow_kind k = n->in[ATTENTION_Q]->type->elem;
    sizes s = glow_cpu_attention_sizes_of(NULL, n);

    (void)t;
    return (k == GLOW_FLOAT || k == GLOW_FLOAT16 || k == GLOW_BFLOAT16) &&
           is_dense_within(n->in[ATTENTION_Q]) &&
           is_dense_within(n->in[ATTENTION_K]) &&
           is_dense_within(n->in[ATTENTION_V]) && s.depth > 0 &&
           s.group * s.rows > FEW_ROWS;
}

static places
places_of(const sizes *s)
{
    int64_t most = s->block_rows < s->rows ? s->block_rows : s->rows;
    places p = {.values = s->panels * s->panel * s->depth};

    p.scores = p.values + s->panels * s->panel * s->v_panels * s->v_panel;
    p.greatest = p.scores + most * s->block * s->panel;
    p.sum = p.greatest + most;
    p.down = p.sum + most;
    p.sums = p.down + most;
    p.end = p.sums +
            (attention_is_streamed(s) ? most * s->v_panels * s->v_panel : 0);
    return p;
}

/* Blocks. */

static void
attend_keys(maker *m)
{
    cg *g = m->j->g;
    cg_loop l;

    glow_cpu_attention_scores(m);
    glow_cg_for(g, &l, m->count);
    glow_cpu_attention_weigh(m, l.i);
    glow_cg_loop_end(g, &l, NULL);
    glow_cpu_attention_sums(m);
}

static void
begin_rows(maker *m)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_value none = LLVMConstNull(glow_cg_vector(g->f32, s->lanes)), at;
    cg_loop l, k;

    if (!attention_is_streamed(&m->s))
        return;
    glow_cg_for(g, &l, m->count);
    attention_set_row_number(m, m->at.greatest, l.i,
                             glow_cg_real(g->f32, -(double)INFINITY));
    attention_set_row_number(m, m->at.sum, l.i, LLVMConstNull(g->f32));
    glow_cg_for(g, &k, s->v_panels * s->v_blocks);
    at = attention_sums_at(m, l.i, cg_i64(g, 0));
    at = cg_add(g, at, cg_mulc(g, k.i, s->lanes));
    glow_cg_store(g, m->work, at, none);
    glow_cg_loop_end(g, &k, NULL);
    glow_cg_loop_end(g, &l, NULL);
}

/* A vector of the sums of a row, in scratch. */
static void
end_lanes(cpu_job *j, cg_value column, int lanes, void *user)
{
    maker *m = user;
    cg *g = j->g;
    cg_value row = m->first; /* see end_rows */
    cg_value at = cg_add(g, attention_sums_at(m, row, cg_i64(g, 0)), column);
    cg_value v = glow_cg_load(g, m->work, at, lanes);
    cg_value by = attention_row_number(m, m->at.sum, row);

    glow_cpu_attention_store(m, row, column,
                             cg_fmul(g, v, glow_cg_splat(g, by, lanes)));
}

static void
end_rows(maker *m)
{
    cg *g = m->j->g;
    cg_loop l;

    glow_cg_for(g, &l, m->count);
    if (attention_is_streamed(&m->s))
        attention_set_row_number(
            m, m->at.sum, l.i,
            glow_cpu_attention_inverse(
                m, attention_row_number(m, m->at.sum, l.i)));
    m->first = l.i;
    glow_cpu_lanes_for(m->j, 0, m->s.width, end_lanes, m);
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * Number of panels of keys that any row of the block may see: all, unless the
 * attention is causal.
 */
static cg_value
seen_panels(maker *m)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int64_t most = s->rows + s->keys;
    int64_t past = m->f->past < most ? m->f->past : most;
    cg_value all = cg_i64(g, s->panels), end;

    if (!m->f->causal)
        return all;
    end = cg_addc(g, m->row0, m->count + past + s->panel - 1);
    return glow_cg_imin(g, all, cg_over(g, end, s->panel));
}

static void
attend_rows(maker *m, cg_value row0, int64_t count)
{
    cg *g = m->j->g;
    cg_value seen;
    cg_loop l;

    m->row0 = row0;
    m->count = count;
    seen = seen_panels(m);
    if (!attention_is_streamed(&m->s)) {
        m->first = cg_i64(g, 0);
        m->last = seen;
        attend_keys(m);
        return;
    }
    begin_rows(m);
    glow_cg_loop(g, &l, cg_i64(g, 0), seen, m->s.block, NULL, 0);
    m->first = l.i;
    m->last = glow_cg_imin(g, cg_addc(g, l.i, m->s.block), seen);
    attend_keys(m);
    glow_cg_loop_end(g, &l, NULL);
    end_rows(m);
}

static void
attend(maker *m)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int64_t rest = s->rows % s->block_rows, whole = s->rows - rest;
    cg_loop l;

    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), s->block_rows, NULL,
                     0);
        attend_rows(m, l.i, s->block_rows);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        attend_rows(m, cg_i64(g, whole), rest);
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    maker m = {.j = j,
               .f = j->n->attrs,
               .s = glow_cpu_attention_sizes_of(g->target, j->n)};
    glow_type *real = GLOW_NEW(g->arena, glow_type);
    cg_loop units;
    cg_value unit;

    unit = glow_cpu_unit_for(j, &units);
    *real = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(1));
    m.at = places_of(&m.s);
    m.work = (cg_tensor){j->scratch, real};
    m.batch = cg_over(g, unit, m.s.heads);
    m.head = cg_modulo(g, unit, m.s.heads);
    glow_cpu_attention_pack(&m, unit);
    attend(&m);
    glow_cg_loop_end(g, &units, NULL);
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    sizes s = glow_cpu_attention_sizes_of(t, n);

    return glow_cpu_room(places_of(&s).end, 4);
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    sizes s = glow_cpu_attention_sizes_of(t, n);

    return s.batch * s.heads;
}

const cpu_kernel glow_cpu_fusedattention = {
    .name = "fusedattention",
    .op = &glow_op_fusedattention,
    .takes = takes,
    .emit = emit,
    .strides = CPU_STRIDES_IN,
    .scratch_size = scratch_size,
    .units = units_of,
};
