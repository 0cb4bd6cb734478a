/*
 * Packs filters that are no constants, in the layout of glow_cpu_pack_matrix.
 *
 *     for each group of channels, row of taps, tap
 *       (if depths are beside each other: transpose to a panel of rows of outputs)
 *       pack the panel as the right operand of a product
 *
 * Each thread packs all of the filter, or its groups; the sums take as long for a few
 * dozen pixels.
 */

#include "codegen/cpu/kernels/matrix/matrix.h"
#include "codegen/cpu/kernels/move/shuffle.h"

#define LANES CPU_MATRIX_LANES

typedef cpu_matrix matrix;

typedef struct turner {
    cpu_job *j;
    const matrix *m;
    cg_value panel; /* scratch: rows of CPU_MATRIX_COLUMNS outputs */
} turner;

static int64_t
packed_bytes(const matrix *m)
{
    return glow_cpu_aligned(m->by_groups ? glow_cpu_matrix_bytes(m, 0)
                                         : glow_cpu_matrix_cut_bytes(m));
}

static int64_t
panel_row(const matrix *m)
{
    return CPU_MATRIX_COLUMNS * glow_cg_bytes(m->d.type);
}

int64_t
glow_cpu_matrix_turned(const matrix *m)
{
    if (m->d.turns == CPU_CONSTANT)
        return 0;
    return packed_bytes(m) + (m->d.turns == CPU_TURNS_DEPTHS
                                  ? glow_cpu_aligned(m->depth * panel_row(m))
                                  : 0);
}

/* Transposes `depths` depths from `depth` on, of `columns` outputs from `from` on. */
static void
transpose_block(const turner *t, cg_value from, cg_value depth, int depths,
                int column, int columns)
{
    cg *g = t->j->g;
    const cpu_direct *d = &t->m->d;
    cg_tensor in = {t->j->in[1].at, d->type}, out = {t->panel, d->type};
    cg_value v[LANES], at = cg_add(g, from, depth);

    g->live = depths < LANES ? depths : 0;
    for (int i = 0; i < LANES; i++)
        v[i] =
            column + i < columns
                ? glow_cg_load(g, in,
                               cg_addc(g, at, (column + i) * d->turned->output),
                               LANES)
                : LLVMConstNull(glow_cg_vector(g->f32, LANES));
    g->live = 0;
    glow_cpu_interleave(g, v, LANES);
    for (int i = 0; i < depths; i++)
        glow_cg_store(g, out,
                      cg_affine(g, cg_addc(g, depth, i), CPU_MATRIX_COLUMNS,
                                cg_i64(g, column), 1),
                      v[i]);
}

static void
transpose(const turner *t, cg_value from, int columns)
{
    cg *g = t->j->g;
    int64_t depth = t->m->depth, whole = depth - depth % LANES;
    cg_loop l;

    if (whole > 0) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), LANES, NULL, 0);
        for (int c = 0; c < columns; c += LANES)
            transpose_block(t, from, l.i, LANES, c, columns);
        glow_cg_loop_end(g, &l, NULL);
    }
    for (int c = 0; c < columns && depth > whole; c += LANES)
        transpose_block(t, from, cg_i64(g, whole), (int)(depth - whole), c,
                        columns);
}

/* A tap: the weights from element `from` of the filter on. */
static void
turn_tap(const turner *t, cg_value from, int columns, cg_value to)
{
    cg *g = t->j->g;
    const matrix *m = t->m;
    int64_t size = glow_cg_bytes(m->d.type);

    if (m->d.turns == CPU_TURNS_OUTPUTS) {
        from = glow_cg_at(g, t->j->in[1].at, cg_mulc(g, from, size));
        glow_cpu_matrix_pack_panel(t->j, m, from, m->d.turned->depth * size,
                                   columns, to);
        return;
    }
    transpose(t, from, columns);
    glow_cpu_matrix_pack_panel(t->j, m, t->panel, panel_row(m), columns, to);
}

static void
turn_group(const turner *t, cg_value group, int columns)
{
    cg *g = t->j->g;
    const matrix *m = t->m;
    const cpu_filter *f = m->d.turned;
    int64_t taps = m->d.kernel_h * m->taps;
    int64_t last = columns < CPU_MATRIX_COLUMNS ? m->groups - 1 : 0;
    cg_value at, to;
    cg_loop row, tap;

    glow_cg_for(g, &row, m->d.kernel_h);
    glow_cg_for(g, &tap, m->taps);
    at = cg_affine(g, row.i, f->row, tap.i, f->tap);
    at = cg_affine(g, group, CPU_MATRIX_COLUMNS * f->output, at, 1);
    to = cg_affine(g, row.i, m->taps, tap.i, 1);
    to = cg_affine(g, group, m->by_groups ? 0 : glow_cpu_matrix_bytes(m, 0), to,
                   glow_cpu_matrix_bytes(m, last) / taps);
    at = cg_addc(g, at, f->first);
    turn_tap(t, at, columns, glow_cg_at(g, t->j->scratch, to));
    glow_cg_loop_end(g, &tap, NULL);
    glow_cg_loop_end(g, &row, NULL);
}

static turner
new_turner(cpu_job *j, const matrix *m)
{
    return (turner){j, m, glow_cg_atc(j->g, j->scratch, packed_bytes(m))};
}

void
glow_cpu_matrix_turn_group(cpu_job *j, const matrix *m, cg_value group,
                           int columns)
{
    turner t = new_turner(j, m);

    turn_group(&t, group, columns);
}

void
glow_cpu_matrix_turn(cpu_job *j, const matrix *m)
{
    cg *g = j->g;
    int rest = (int)(m->d.outputs % CPU_MATRIX_COLUMNS);
    int64_t full = m->groups - (rest > 0);
    turner t = new_turner(j, m);
    cg_loop l;

    if (full > 0) {
        glow_cg_for(g, &l, full);
        turn_group(&t, l.i, CPU_MATRIX_COLUMNS);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        turn_group(&t, cg_i64(g, full), rest);
}
