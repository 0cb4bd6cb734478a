/*
 * Attention: both matrix products by matrix registers (AMX tiles, or BFMMLA), of bfloat16.
 *
 * Keys are transposed in pairs, and values interleaved two by two, so panels
 * have half as many rows as of floats.  Scores are float and have the same
 * layout as in tile.c; their weights are bfloat16 and overwrite the first half
 * of the same rows.  Sums are kept in scratch, also between blocks of keys.
 */

#include "codegen/cpu/emit/matrix.h"
#include "codegen/cpu/kernels/attention/attention.h"

#define MOST_TILES 3 /* of a block of rows */
#define TILE 3       /* overhead of a tile, in rows */

typedef cpu_attention maker;
typedef cpu_attention_sizes sizes;

/*
 * Chooses the rows of a tile and the tiles of a block.  Blocks have equal
 * sizes, and the last overlaps the one before it; the cost counts the rows that
 * are computed, plus TILE for each tile.
 */
void
glow_cpu_attention_by_matrix(sizes *s)
{
    int64_t least = INT64_MAX;
    int64_t most = s->rows < CPU_MATRIX_ROWS ? s->rows : CPU_MATRIX_ROWS;

    for (int64_t rows = (most + 1) / 2; rows <= most; rows++)
        for (int64_t tiles = 1; tiles <= MOST_TILES; tiles++) {
            int64_t block = rows * tiles;
            int64_t cost = cg_ceil_div(s->rows, block) * tiles * (rows + TILE);

            if (block > s->rows || cost >= least)
                continue;
            least = cost;
            s->tile = (int)rows;
            s->block_rows = block;
        }
}

/* Loads both registers of a row of panels, `pitch` numbers wide. */
static void
load_right(cg *g, cg_value at, int count, int64_t pitch)
{
    for (int n = 0; n < count; n++)
        glow_cg_matrix_load(g, CPU_MATRIX_RIGHT + n,
                            glow_cg_atc(g, at, n * CPU_MATRIX_LANES * 4),
                            pitch * 4);
}

static void
add_products(cg *g, int count)
{
    for (int n = 0; n < count; n++)
        glow_cg_matrix_multiply(g, n, CPU_MATRIX_LEFT, CPU_MATRIX_RIGHT + n);
}

static void
store_sums(cg *g, cg_value at, int count, int64_t pitch)
{
    for (int n = 0; n < count; n++)
        glow_cg_matrix_store(g, n, glow_cg_atc(g, at, n * CPU_MATRIX_LANES * 4),
                             pitch * 4);
}

/* Scores of a tile from row `row` of the block on, by panel `panel` of keys. */
static void
score_panel(maker *m, cg_value row, cg_value panel)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_tensor q = attention_operand(m, ATTENTION_Q, s->q, m->head);
    int64_t units = s->depth / CPU_MATRIX_DEPTH, pitch = s->block * s->panel;
    int64_t right = CPU_MATRIX_DEPTH / 2 * s->panel; /* of a unit */
    cg_value at, keys;
    cg_loop l;

    at = cg_mulc(g, cg_add(g, m->row0, row), s->q.row * 2);
    q.at = glow_cg_at(g, q.at, at);
    keys = attention_work_at(m, m->at.keys, cg_mulc(g, panel, units * right));
    for (int n = 0; n < s->blocks; n++)
        glow_cg_matrix_zero(g, n);
    glow_cg_for(g, &l, units);
    glow_cg_matrix_load(
        g, CPU_MATRIX_LEFT,
        glow_cg_at(g, q.at, cg_mulc(g, l.i, CPU_MATRIX_DEPTH * 2)),
        s->q.row * 2);
    load_right(g, glow_cg_at(g, keys, cg_mulc(g, l.i, right * 4)), s->blocks,
               s->panel);
    add_products(g, s->blocks);
    glow_cg_loop_end(g, &l, NULL);
    at = cg_mulc(g, cg_sub(g, panel, m->first), s->panel);
    at = cg_add(g, attention_scores_at(m, row), at);
    store_sums(g, attention_work_at(m, 0, at), s->blocks, pitch);
}

void
glow_cpu_attention_matrix_scores(maker *m)
{
    cg *g = m->j->g;
    cg_loop tiles, l;

    glow_cg_loop(g, &tiles, cg_i64(g, 0), cg_i64(g, m->count), m->s.tile, NULL,
                 0);
    glow_cg_loop(g, &l, m->first, m->last, 1, NULL, 0);
    score_panel(m, tiles.i, l.i);
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &tiles, NULL);
}

/* Rescales the sums of the blocks of keys so far to the new maximum. */
static void
scale_down(maker *m)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    cg_loop rows, l;

    glow_cg_for(g, &rows, m->count);

    cg_value down =
        glow_cg_splat(g, attention_row_number(m, m->at.down, rows.i), s->lanes);

    glow_cg_for(g, &l, s->v_panels * s->v_blocks);

    cg_value at = attention_sums_at(m, rows.i, cg_i64(g, 0));

    at = cg_add(g, at, cg_mulc(g, l.i, s->lanes));
    glow_cg_store(g, m->work, at,
                  cg_fmul(g, glow_cg_load(g, m->work, at, s->lanes), down));
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &rows, NULL);
}

/* Weights by values, for one panel of these. */
static void
sum_panel(maker *m, cg_value row, cg_value panel)
{
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int64_t pitch = s->v_panels * s->v_panel;
    int64_t right = s->panel / 2 * s->v_panel; /* of a panel of keys */
    cg_value sums = attention_work_at(m, 0, attention_sums_at(m, row, panel));
    cg_value weights = attention_work_at(m, 0, attention_scores_at(m, row));
    cg_value values = attention_work_at(m, m->at.values,
                                        cg_mulc(g, panel, s->panels * right));
    cg_loop l;

    for (int n = 0; n < s->v_blocks; n++)
        if (attention_adds_up(m))
            glow_cg_matrix_load(g, n,
                                glow_cg_atc(g, sums, n * CPU_MATRIX_LANES * 4),
                                pitch * 4);
        else
            glow_cg_matrix_zero(g, n);
    glow_cg_loop(g, &l, m->first, m->last, 1, NULL, 0);

    cg_value number = cg_sub(g, l.i, m->first);

    glow_cg_matrix_load(
        g, CPU_MATRIX_LEFT,
        glow_cg_at(g, weights, cg_mulc(g, number, s->panel * 2)),
        s->block * s->panel * 4);
    load_right(g, glow_cg_at(g, values, cg_mulc(g, l.i, right * 4)),
               s->v_blocks, s->v_panel);
    add_products(g, s->v_blocks);
    glow_cg_loop_end(g, &l, NULL);
    store_sums(g, sums, s->v_blocks, pitch);
}

void
glow_cpu_attention_matrix_sums(maker *m)
{
    cg *g = m->j->g;
    cg_loop tiles, l;

    if (attention_adds_up(m))
        scale_down(m);
    glow_cg_loop(g, &tiles, cg_i64(g, 0), cg_i64(g, m->count), m->s.tile, NULL,
                 0);
    glow_cg_for(g, &l, m->s.v_panels);
    sum_panel(m, tiles.i, l.i);
    glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &tiles, NULL);
}
