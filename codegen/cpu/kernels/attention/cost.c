/*
 * Cycles of fused attention, by matrix registers and by vectors.
 *
 * Cycles of products of registers are measured, as in matrix/cost.c.  Others are counts of
 * the instructions of inner loops, for each vector of 16 floats: two in a cycle, but one
 * that shuffles.  LLVM's machine code analyzer (llvm-mca -mcpu=sapphirerapids) agrees where
 * no register of a matrix takes part, of which it knows no time, but has one port for FMA
 * where the processor has two.
 */

#include "codegen/cpu/kernels/attention/matrix.h"

#define BEGIN 80.0 /* of the sums of 2 x 2 registers: zeros, and stores */
#define CALL 300.0 /* of the kernel */
#define TURN 64.0  /* of 16 x 16 words that are transposed */
#define SPLIT 3.0  /* of a vector of words, or of their parts */
#define POWER 7.0  /* of a vector of scores and weights of bfloat16 */
#define EXP 11.0   /* of float, by four vectors at a time */
#define PART 1.5   /* of each of its parts */
#define CHAIN 14.0 /* of float by one vector after the other */
#define RESULT 4.0 /* of a vector of results */

typedef cpu_attention_matrix matrix;

int
glow_cpu_attention_tile(const cpu_target *t, int64_t rows, int parts)
{
    double least = 0;
    int best = 0;

    for (int r = 2; r <= CPU_MATRIX_ROWS; r += 2) {
        int64_t tiles = cg_ceil_div(rows, r);
        double cycles = 0;

        cycles += (double)(tiles / 2) *
                  glow_cpu_matrix_unit_cycles(t, r, CPU_MATRIX_DEPTH, parts, 2);
        cycles += (double)(tiles % 2) *
                  glow_cpu_matrix_unit_cycles(t, r, CPU_MATRIX_DEPTH, parts, 1);
        if (best && cycles >= least)
            continue;
        least = cycles;
        best = r;
    }
    return best;
}

/* Of `n` units of the depth of 2 x 2 registers, or of 1 x 2, and their sums. */
static double
block_cycles(const cpu_target *t, int rows, int parts, int beside, int64_t n)
{
    return BEGIN / 2 * beside +
           (double)n * glow_cpu_matrix_unit_cycles(t, rows, CPU_MATRIX_DEPTH,
                                                   parts, beside);
}

/* Both products of a head. */
static double
product_cycles(const cpu_target *t, const matrix *m)
{
    double pairs = (double)(m->tiles / 2), single = (double)(m->tiles % 2);
    double blocks = (double)cg_ceil_div(m->panels, m->block), cycles = 0;

    for (int beside = 1; beside <= 2; beside++)
        cycles += (beside == 2 ? pairs : single) *
                  ((double)m->panels *
                       block_cycles(t, m->tile, m->q_parts, beside, m->units) +
                   (double)m->v_panels *
                       block_cycles(t, m->tile, m->parts, beside, m->panels) +
                   (blocks - 1) * (double)m->v_panels * BEGIN);
    return cycles;
}

double
glow_cpu_attention_matrix_cycles(const cpu_target *t, const matrix *m)
{
    const cpu_attention_sizes *s = &m->a.s;
    double keys = 2.0 * (double)m->panels; /* vectors of a row of scores */
    double columns = 2.0 * (double)m->v_panels;
    double parts = m->parts, rows = (double)s->rows, packs, cycles;

    packs = m->q_parts * (double)m->units *
                (keys * (TURN + CPU_MATRIX_LANES * SPLIT) + rows * SPLIT) +
            parts * CPU_MATRIX_LANES / 2.0 * keys * columns * SPLIT;
    cycles = product_cycles(t, m) + packs +
             rows * (keys * (parts > 1 ? EXP + PART * parts : POWER) +
                     columns * RESULT);
    return CALL + (double)(s->batch * s->heads) * cycles;
}

double
glow_cpu_attention_vector_cycles(const cpu_target *t, const glow_node *n)
{
    cpu_attention_sizes s = glow_cpu_attention_sizes_of(t, n);
    double keys = (double)(s.panels * s.blocks);
    double columns = (double)(s.v_panels * s.v_blocks);
    double rows = (double)s.rows, depth = (double)s.depth, cycles;

    cycles = rows * keys * depth / t->multiplies +
             rows * keys * s.lanes * columns / t->multiplies +
             rows * keys * CHAIN + rows * columns * RESULT +
             keys * depth * TURN / CPU_MATRIX_LANES + keys * s.lanes * columns;
    return CALL + (double)(s.batch * s.heads) * cycles;
}
