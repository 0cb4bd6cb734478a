/* Attention: products of queries by keys, and of weights by values. */

#include "codegen/cpu/kernels/direct/tile.h"
#include "codegen/cpu/kernels/attention/attention.h"

typedef cpu_attention maker;
typedef cpu_attention_sizes sizes;
typedef cpu_attention_steps steps;

/* Computes a register tile: `rows` rows from row `row` of the block on. */
typedef void (*tile_fn)(maker *m, cg_value row, int rows);

static void
for_tiles(maker *m, tile_fn make)
{
    cg *g = m->j->g;
    int64_t rest = m->count % m->s.tile, whole = m->count - rest;
    cg_loop l;

    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), m->s.tile, NULL, 0);
        make(m, l.i, m->s.tile);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        make(m, cg_i64(g, whole), (int)rest);
}

static void
score_tile(maker *m, cg_value row, int rows)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_tensor q = attention_operand(m, ATTENTION_Q, s->q, m->head);
    int64_t step = s->q.row * glow_cg_bytes(q.type);
    cpu_tile t = {
        .type = q.type,
        .blocks = s->blocks,
        .lanes = s->lanes,
        .last = s->lanes,
        .taps = 1,
        .unit = s->depth < 4 ? 1 : 4,
        .depth = s->depth,
        .row_step = step,
        .w_depth = s->panel * 4,
        .w_block = s->lanes * 4,
    };
    bool valid[CG_MAX_CARRIED];
    cg_value acc[CG_MAX_CARRIED], at = cg_add(g, m->row0, row);
    cg_loop l;

    q.at = glow_cg_at(g, q.at, cg_mulc(g, at, step));
    glow_cg_loop(g, &l, m->first, m->last, 1, NULL, 0);
    for (int i = 0; i < rows * s->blocks; i++) {
        acc[i] = LLVMConstNull(glow_cg_vector(g->f32, s->lanes));
        valid[i / s->blocks] = true;
    }
    glow_cpu_emit_tile(
        g, &t, rows, valid, q.at,
        attention_work_at(m, m->at.keys, cg_mulc(g, l.i, s->depth * s->panel)),
        (cpu_ahead){NULL, NULL}, cg_i64(g, 0), cg_i64(g, 1), false, acc);
    at = cg_mulc(g, cg_sub(g, l.i, m->first), s->panel);
    at = cg_add(g, attention_scores_at(m, row), at);
    for (int r = 0; r < rows; r++)
        for (int b = 0; b < s->blocks; b++)
            glow_cg_store(
                g, m->work,
                cg_addc(g, at, r * s->block * s->panel + b * s->lanes),
                acc[r * s->blocks + b]);
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * The scalar of row `row` + `r` in the array `place` of the scratch, in all
 * lanes.
 */
static cg_value
number_of(maker *m, int64_t place, cg_value row, int r)
{
    cg *g = m->j->g;

    return glow_cg_splat(
        g, glow_cg_load(g, m->work, cg_addc(g, row, place + r), 1), m->s.lanes);
}

void
glow_cpu_attention_store(maker *m, cg_value row, cg_value column, cg_value v)
{
    cg *g = m->j->g;
    cg_tensor y = m->j->out[0];
    const steps *r = &m->s.y;
    cg_value at = cg_affine(g, m->batch, r->batch, m->head, r->head);

    at = cg_add(g, at, cg_mulc(g, cg_add(g, m->row0, row), r->row));
    glow_cg_store(g, y, cg_add(g, at, column), v);
}

/* `v`, the vector of sums that begins at `column`, by the sum of weights. */
static void
finish_vector(maker *m, cg_value row, int r, cg_value column, cg_value v)
{
    v = cg_fmul(m->j->g, v, number_of(m, m->at.sum, row, r));
    glow_cpu_attention_store(m, cg_addc(m->j->g, row, r), column, v);
}

/*
 * Normalizes the sums of panel `panel`, in registers, and stores them to Y.
 * Columns of the last panel beyond Y are skipped: `panel` is a constant then.
 */
static void
finish_panel(maker *m, cg_value row, int rows, cg_value panel, bool is_last,
             cg_value const *acc)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;

    for (int r = 0; r < rows; r++)
        for (int b = 0; b < s->v_blocks; b++) {
            int64_t left = s->width - ((s->v_panels - 1) * s->v_panel +
                                       (int64_t)b * s->lanes);
            cg_value column =
                cg_addc(g, cg_mulc(g, panel, s->v_panel), b * s->lanes);

            if (is_last && left <= 0)
                continue;
            g->live = is_last && left < s->lanes ? (int)left : 0;
            finish_vector(m, row, r, column, acc[r * s->v_blocks + b]);
            g->live = 0;
        }
}

/* Weights by values, for one panel of these. */
static void
sum_panel(maker *m, cg_value row, int rows, cg_value panel, bool is_last)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int64_t apart = s->v_panels * s->v_panel;
    cpu_tile t = {
        .type = m->work.type,
        .blocks = s->v_blocks,
        .lanes = s->lanes,
        .last = s->lanes,
        .taps = 1,
        .unit = s->panel < 4 ? 1 : 4,
        .depth = s->panel,
        .row_step = s->block * s->panel * 4,
        .tap_row = s->panel * 4,
        .w_depth = s->v_panel * 4,
        .w_block = s->lanes * 4,
    };
    bool valid[CG_MAX_CARRIED];
    cg_value acc[CG_MAX_CARRIED], at = attention_sums_at(m, row, panel), from;

    for (int i = 0; i < rows * s->v_blocks; i++) {
        int r = i / s->v_blocks, b = i % s->v_blocks;

        valid[r] = true;
        acc[i] = LLVMConstNull(glow_cg_vector(g->f32, s->lanes));
        if (attention_is_streamed(s)) {
            acc[i] = glow_cg_load(
                g, m->work, cg_addc(g, at, r * apart + b * s->lanes), s->lanes);
            acc[i] = cg_fmul(g, acc[i], number_of(m, m->at.down, row, r));
        }
    }
    from = cg_affine(g, panel, s->panels * s->panel, m->first, s->panel);

    cg_value scores = attention_work_at(m, 0, attention_scores_at(m, row));
    cg_value values =
        attention_work_at(m, m->at.values, cg_mulc(g, from, s->v_panel));

    glow_cpu_emit_tile(g, &t, rows, valid, scores, values,
                       (cpu_ahead){NULL, NULL}, cg_i64(g, 0),
                       cg_sub(g, m->last, m->first), false, acc);
    if (!attention_is_streamed(s)) {
        finish_panel(m, row, rows, panel, is_last, acc);
        return;
    }
    for (int i = 0; i < rows * s->v_blocks; i++)
        glow_cg_store(
            g, m->work,
            cg_addc(g, at,
                    i / s->v_blocks * apart + i % s->v_blocks * s->lanes),
            acc[i]);
}

static void
sum_tile(maker *m, cg_value row, int rows)
{
    cg *g = m->j->g;
    int64_t whole = m->s.width / m->s.v_panel;
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        sum_panel(m, row, rows, l.i, false);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (whole < m->s.v_panels)
        sum_panel(m, row, rows, cg_i64(g, whole), true);
}

void
glow_cpu_attention_scores(maker *m)
{
    for_tiles(m, score_tile);
}

void
glow_cpu_attention_sums(maker *m)
{
    for_tiles(m, sum_tile);
}
