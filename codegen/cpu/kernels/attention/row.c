/*
 * Fused attention of one row of Q, as decoders of one token have it: keys and values
 * are read once, where they lie.
 *
 *     for each batch and head                  units
 *       for each key                           scores: q k, the lanes added up
 *       weights                                weights.c
 *       for each panel of columns of V         up to 8 vectors
 *         for each key                         sums += weight v
 *         store the sums by the sum of weights
 *
 * The kernels of many rows copy keys and values into panels first, which costs as much
 * as this whole.
 */

#include "codegen/cpu/kernels/attention/attention.h"

typedef cpu_attention maker;
typedef cpu_attention_sizes sizes;

enum {
    LEAST_KEYS = 16,  /* of fewer a call is as good */
    MOST_DEPTH = 256, /* which is unrolled */
    MOST_GROUP = 4,   /* heads of the same keys, each of which reads them */
    VECTORS = 8,      /* of a panel of values */
};

static sizes
sizes_of(const cpu_target *t, const glow_node *n)
{
    sizes s = glow_cpu_attention_sizes_of(t, n);

    s.block = s.panels; /* not streamed */
    return s;
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    glow_kind k = n->in[ATTENTION_Q]->type->elem;
    sizes s = glow_cpu_attention_sizes_of(NULL, n);

    (void)t;
    for (int i = ATTENTION_Q; i <= ATTENTION_V; i++)
        if (glow_cpu_strides(n->in[i]->type).at[3] != 1)
            return false;
    return (k == GLOW_FLOAT || k == GLOW_FLOAT16 || k == GLOW_BFLOAT16) &&
           s.batch > 0 && s.heads > 0 && s.rows == 1 && s.group <= MOST_GROUP &&
           s.keys >= LEAST_KEYS && s.width > 0 && s.depth > 0 &&
           s.depth <= MOST_DEPTH;
}

static cpu_attention_places
places_of(const sizes *s)
{
    cpu_attention_places p = {.greatest = s->panels * s->panel};

    p.sum = p.greatest + 1;
    p.end = p.sum + 1;
    return p;
}

/* Calls glow_cg_load for `lanes` elements, or as many as are left of `count`. */
static cg_value
load(const maker *m, cg_tensor t, cg_value at, int64_t plus, int64_t count)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    cg_value v;

    g->live = count - plus < lanes ? (int)(count - plus) : 0;
    v = glow_cg_load(g, t, cg_addc(g, at, plus), lanes);
    g->live = 0;
    return v;
}

/* Scores of all keys, before scale and mask. */
static void
score(maker *m)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_tensor q = attention_operand(m, ATTENTION_Q, s->q, m->head);
    cg_tensor k =
        attention_operand(m, ATTENTION_K, s->k, cg_over(g, m->head, s->group));
    cg_value row[MOST_DEPTH], sum, at;
    int lanes = s->lanes;
    cg_loop l;

    for (int64_t i = 0; i < s->depth; i += lanes)
        row[i / lanes] = load(m, q, cg_i64(g, 0), i, s->depth);
    glow_cg_for(g, &l, s->keys);
    at = cg_mulc(g, l.i, s->k.row);
    sum = LLVMConstNull(glow_cg_vector(g->f32, lanes));
    for (int64_t i = 0; i < s->depth; i += lanes)
        sum = glow_cg_fma(g, row[i / lanes], load(m, k, at, i, s->depth), sum);
    sum = glow_cpu_across(g, m->work.type, sum, glow_cpu_sum);
    glow_cg_store(g, m->work, cg_addc(g, l.i, m->at.scores), sum);
    glow_cg_loop_end(g, &l, NULL);
}

/* Columns of Y from `column` on, `count` of them. */
static void
sum_panel(maker *m, int64_t column, int64_t count)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_tensor v =
        attention_operand(m, ATTENTION_V, s->v, cg_over(g, m->head, s->group));
    int lanes = s->lanes, vectors = (int)cg_ceil_div(count, lanes);
    cg_value sums[VECTORS], weight, at, by, zero = cg_i64(g, 0);
    cg_loop l;

    for (int i = 0; i < vectors; i++)
        sums[i] = LLVMConstNull(glow_cg_vector(g->f32, lanes));
    glow_cg_loop(g, &l, zero, cg_i64(g, s->keys), 1, sums, vectors);
    weight = glow_cg_load(g, m->work, cg_addc(g, l.i, m->at.scores), 1);
    weight = glow_cg_splat(g, weight, lanes);
    at = cg_addc(g, cg_mulc(g, l.i, s->v.row), column);
    for (int i = 0; i < vectors; i++)
        sums[i] = glow_cg_fma(
            g, weight, load(m, v, at, (int64_t)i * lanes, count), l.value[i]);
    glow_cg_loop_end(g, &l, sums);
    by = glow_cg_splat(g, attention_row_number(m, m->at.sum, zero), lanes);
    for (int i = 0; i < vectors; i++) {
        int64_t left = count - (int64_t)i * lanes;

        g->live = left < lanes ? (int)left : 0;
        glow_cpu_attention_store(m, zero,
                                 cg_i64(g, column + (int64_t)i * lanes),
                                 cg_fmul(g, l.value[i], by));
        g->live = 0;
    }
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    maker m = {
        .j = j, .f = j->n->attrs, .s = sizes_of(g->target, j->n), .count = 1};
    int64_t panel = (int64_t)VECTORS * m.s.lanes;
    glow_type *real = GLOW_NEW(g->arena, glow_type);
    cg_loop units;
    cg_value unit;

    *real = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(1));
    m.at = places_of(&m.s);
    m.work = (cg_tensor){j->scratch, real};
    m.row0 = m.first = cg_i64(g, 0);
    m.last = cg_i64(g, m.s.panels);
    unit = glow_cpu_unit_for(j, &units);
    m.batch = cg_over(g, unit, m.s.heads);
    m.head = cg_modulo(g, unit, m.s.heads);
    score(&m);
    glow_cpu_attention_weigh(&m, cg_i64(g, 0));
    for (int64_t i = 0; i < m.s.width; i += panel)
        sum_panel(&m, i, m.s.width - i < panel ? m.s.width - i : panel);
    glow_cg_loop_end(g, &units, NULL);
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    sizes s = sizes_of(t, n);

    return glow_cpu_room(places_of(&s).end, 4);
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    sizes s = sizes_of(t, n);

    return s.batch * s.heads;
}

const cpu_kernel glow_cpu_fusedattention_row = {
    .name = "fusedattention_row",
    .op = &glow_op_fusedattention,
    .takes = takes,
    .emit = emit,
    .strides = CPU_STRIDES_IN,
    .scratch_size = scratch_size,
    .units = units_of,
};
