/*
 * Sums of blocks of X and of results in Strassen's algorithm (strassen_loops.c).
 *
 *     S1 = X21 + X22     U = M0 + M3     Y11 = M0 + M1
 *     S2 = S1 - X11      V = U + M2      Y12 = V + M6
 *     S3 = X11 - X21                     Y21 = U + M4 + M5
 *     S4 = X12 - S2                      Y22 = V + M5
 *
 * M0 to M6 are the products in the order of strassen_loops.c.  All sums of an element are
 * in registers: each block is read once and each operand or result written once.
 */

#include "codegen/cpu/kernels/direct/strassen.h"

/* Operands of X. */

/* The seven operands of X11, X12, X21, X22. */
static void
operands_of(cg *g, cg_value const *x, cg_value *to)
{
    to[0] = x[0];
    to[1] = x[1];
    to[2] = cg_fadd(g, x[2], x[3]);
    to[3] = cg_fsub(g, to[2], x[0]);
    to[4] = x[3];
    to[5] = cg_fsub(g, x[0], x[2]);
    to[6] = cg_fsub(g, x[1], to[3]);
}

/* A row of the smallest blocks of X, and of all operands. */
typedef struct row_sums {
    const cpu_strassen *s;
    cg_value x; /* of the first block */
    cg_value to;
} row_sums;

/* Bytes from a row of the first of the smallest blocks to the same of block `i`. */
static int64_t
block_at(const cpu_strassen *s, int64_t i)
{
    int64_t rows = 0, columns = 0;

    for (int l = s->levels; l > 0; l--, i /= CPU_BLOCKS) {
        rows += i % CPU_BLOCKS / 2 * (s->rows[l - 1] - s->rows[l]);
        columns += i % 2 * (s->depth << (s->levels - l));
    }
    return rows * s->sums.pixel + columns * (int64_t)sizeof(float);
}

static cg_value
load_block(cpu_job *j, const row_sums *r, int64_t i, cg_value at, int lanes)
{
    cg_value from = glow_cg_atc(j->g, r->x, block_at(r->s, i));

    return glow_cg_load(j->g, (cg_tensor){from, &glow_cpu_float}, at, lanes);
}

static void
sum_lanes(cpu_job *j, cg_value at, int lanes, void *user)
{
    const row_sums *r = user;
    cg *g = j->g;
    int inner = r->s->levels == 1 ? 1 : CPU_BLOCKS;
    cg_value outer[CPU_BLOCKS][CPU_PRODUCTS];

    for (int i = 0; i < inner; i++) {
        cg_value x[CPU_BLOCKS];

        for (int o = 0; o < CPU_BLOCKS; o++)
            x[o] = load_block(j, r, o * inner + i, at, lanes);
        operands_of(g, x, outer[i]);
    }
    for (int o = 0; o < CPU_PRODUCTS; o++) {
        cg_value x[CPU_BLOCKS], y[CPU_PRODUCTS];
        int count = r->s->levels == 1 ? 1 : CPU_PRODUCTS;

        y[0] = outer[0][o];
        for (int i = 0; i < inner; i++)
            x[i] = outer[i][o];
        if (count > 1)
            operands_of(g, x, y);
        for (int i = 0; i < count; i++) {
            int64_t to = (o * count + i) * strassen_operand_bytes(r->s);

            glow_cg_store(
                g, (cg_tensor){glow_cg_atc(g, r->to, to), &glow_cpu_float}, at,
                y[i]);
        }
    }
}

/* The operands of part `part` of the depth. */
static void
sum_part(cpu_job *j, const cpu_strassen *s, cg_value to, cg_value part,
         int64_t depth)
{
    cg *g = j->g;
    row_sums r = {.s = s};
    cg_loop rows;

    glow_cg_for(g, &rows, strassen_rows(s));
    r.x = glow_cg_at(g, j->in[0].at,
                     cg_affine(g, rows.i, s->sums.pixel, part,
                               s->part * (int64_t)sizeof(float)));
    r.to = glow_cg_at(g, to,
                      cg_affine(g, rows.i, strassen_pitch(s), part,
                                strassen_operands_bytes(s)));
    glow_cpu_lanes_for(j, 0, depth, sum_lanes, &r);
    glow_cg_loop_end(g, &rows, NULL);
}

void
glow_cpu_strassen_operands(cpu_job *j, const cpu_strassen *s, cg_value to)
{
    cg *g = j->g;
    int64_t whole = s->depth / s->part, rest = s->depth % s->part;
    cg_loop l;

    glow_cg_for(g, &l, whole);
    sum_part(j, s, to, l.i, s->part);
    glow_cg_loop_end(g, &l, NULL);
    if (rest)
        sum_part(j, s, to, cg_i64(g, whole), rest);
}

/* Results. */

enum { Y11, Y12, Y21, Y22 };

/* Y11 to Y22 of a vector at `at` of each of the strips of level `l`; Y21 and Y22 alone. */
static void
results_at(cg *g, const cpu_strassen *s, int l, cg_value at, bool is_low,
           cg_value *y)
{
    LLVMTypeRef type = glow_cg_vector(g->f32, s->lanes);
    cg_value m[CPU_PRODUCTS], u, v;

    for (int i = 0; i < CPU_PRODUCTS; i++)
        m[i] = is_low && (i == 1 || i == 6)
                   ? NULL
                   : glow_cg_load_raw(
                         g, type,
                         glow_cg_atc(g, at, i * strassen_strip_bytes(s, l)));
    u = cg_fadd(g, m[0], m[3]);
    v = cg_fadd(g, u, m[2]);
    y[Y21] = cg_fadd(g, cg_fadd(g, u, m[4]), m[5]);
    y[Y22] = cg_fadd(g, v, m[5]);
    if (is_low)
        return;
    y[Y11] = cg_fadd(g, m[0], m[1]);
    y[Y12] = cg_fadd(g, v, m[6]);
}

/* Adds row `row` of level 2 to the rows of a strip of level 1 that it belongs to. */
static void
combine_row(cpu_job *j, const cpu_strassen *s, cg_value from, cg_value to,
            cg_value row, bool is_low, bool adds)
{
    cg *g = j->g;
    int64_t width = strassen_strip_row(s, 2), pitch = strassen_strip_row(s, 1);

    from = glow_cg_at(g, from, cg_mulc(g, row, width));
    to = glow_cg_at(g, to, cg_mulc(g, row, pitch));
    for (int b = 0; b < s->blocks; b++) {
        int64_t at = b * strassen_vector(s);
        cg_value y[CPU_BLOCKS];

        results_at(g, s, 2, glow_cg_atc(g, from, at), is_low, y);
        for (int i = is_low ? Y21 : Y11; i <= Y22; i++) {
            int64_t plus = i >= Y21 ? (s->rows[1] - s->rows[2]) * pitch : 0;
            cg_value p = glow_cg_atc(g, to, plus + i % 2 * width + at);

            if (adds)
                y[i] =
                    cg_fadd(g, y[i], glow_cg_load_raw(g, LLVMTypeOf(y[i]), p));
            glow_cg_store_raw(g, y[i], p);
        }
    }
}

void
glow_cpu_strassen_combine(cpu_job *j, const cpu_strassen *s, cg_value from,
                          cg_value to, bool adds)
{
    cg *g = j->g;
    int64_t upper = s->rows[1] - s->rows[2];
    cg_loop l;

    glow_cg_for(g, &l, upper);
    combine_row(j, s, from, to, l.i, false, adds);
    glow_cg_loop_end(g, &l, NULL);
    if (upper < s->rows[2])
        combine_row(j, s, from, to, cg_i64(g, upper), true, adds);
}

/* Finishes a panel of row `row` of each block of level 1; `at` is the first of its columns. */
static void
finish_panel(cpu_job *j, const cpu_strassen *s, cg_value from, cg_value row,
             cg_value column, bool is_low)
{
    cg *g = j->g;
    int64_t right = s->columns << (s->levels - 1);

    for (int b = 0; b < s->blocks; b++) {
        cg_value y[CPU_BLOCKS];

        results_at(g, s, 1, glow_cg_atc(g, from, b * strassen_vector(s)),
                   is_low, y);
        for (int i = is_low ? Y21 : Y11; i <= Y22; i++) {
            cpu_place at = {.row = row,
                            .col = cg_addc(g, column, i % 2 ? right : 0)};

            at.row_plus = i >= Y21 ? s->rows[0] - s->rows[1] : 0;
            at.col_plus = b * s->lanes;
            if (s->sums.bias >= 0)
                y[i] = cg_fadd(g, y[i],
                               glow_cg_load(g, j->in[s->sums.bias],
                                            cg_addc(g, at.col, at.col_plus),
                                            s->lanes));
            glow_cpu_finish(j, at, y[i]);
        }
    }
}

static void
finish_row(cpu_job *j, const cpu_strassen *s, cg_value from, cg_value row,
           cg_value column, bool is_low)
{
    cg *g = j->g;
    cg_loop l;

    from = glow_cg_at(g, from, cg_mulc(g, row, strassen_strip_row(s, 1)));
    glow_cg_for(g, &l, 1 << (s->levels - 1));
    from = glow_cg_at(g, from, cg_mulc(g, l.i, strassen_panel_bytes(s, 1)));
    column = cg_add(g, column, cg_mulc(g, l.i, s->columns));
    finish_panel(j, s, from, row, column, is_low);
    glow_cg_loop_end(g, &l, NULL);
}

void
glow_cpu_strassen_finish(cpu_job *j, const cpu_strassen *s, cg_value from,
                         cg_value group)
{
    cg *g = j->g;
    int64_t upper = s->rows[0] - s->rows[1];
    cg_value column = cg_mulc(g, group, strassen_panel(s));
    cg_loop l;

    glow_cg_for(g, &l, upper);
    finish_row(j, s, from, l.i, column, false);
    glow_cg_loop_end(g, &l, NULL);
    if (upper < s->rows[1])
        finish_row(j, s, from, cg_i64(g, upper), column, true);
}
