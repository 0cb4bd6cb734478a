/*
 * Fused attention by matrix registers (codegen/cpu/emit/matrix.h): sizes, scratch layout
 * and functions that matrix.c, pairs.c, softmax.c and cost.c share.
 *
 * Operands are packed head by head into matrices of CPU_MATRIX_DEPTH elements of the depth,
 * two of which are the words of a row.  A panel is CPU_ATTENTION_PANEL keys, which are the
 * columns of two registers for Q K^T, and the depth of one product for the weights by V; or
 * so many columns of V.  A block of rows is two tiles, or one where the rest has no more.
 */

#ifndef CODEGEN_CPU_KERNELS_ATTENTION_MATRIX_H
#define CODEGEN_CPU_KERNELS_ATTENTION_MATRIX_H

#include "codegen/cpu/kernels/attention/attention.h"
#include "codegen/cpu/kernels/matrix/matrix.h"

#define CPU_ATTENTION_PANEL 32
/* Bytes of a row of a register, and of a register of 16 rows. */
#define CPU_ATTENTION_ROW 64
#define CPU_ATTENTION_REGISTER 1024

typedef struct cpu_attention_matrix {
    cpu_attention a;
    /*
     * Parts of a number, see matrix/parts.c: of weights and V, and of Q and K.  Errors of
     * scores grow with these, so scores of float have six products always.
     */
    int parts, q_parts;
    int tile; /* rows of a tile, an even number */
    int64_t tiles;
    int64_t units;         /* of the depth */
    int64_t panels, block; /* of keys: all, and of a block of scores */
    int64_t v_panels;      /* of columns of V */
    /* Bytes from a row to the next, of Q packed, of a block of scores and of sums. */
    int64_t q_row, row, sums_row;
    int64_t
        place; /* bytes of a panel in a row of scores, and then of weights */
    /* Bytes at which arrays begin in the scratch, and their end. */
    int64_t keys, values, queries, scores, sums, greatest, shift, down, weights,
        end;
    cg_value count; /* rows of the current block */
    /* Locals: the number of the head of K and V whose panels are in the scratch, or -1, and
       an i1: they have numbers without parts; the same of these or the rows of Q so far. */
    cg_value packed, unsafe, q_unsafe;
} cpu_attention_matrix;

/* False if matrix registers cannot do `n`. */
bool glow_cpu_attention_matrix_of(const cpu_target *t, const glow_node *n,
                                  cpu_attention_matrix *m);

/* Cycles of all heads by matrix registers, and by the kernel of vectors. */
double glow_cpu_attention_matrix_cycles(const cpu_target *t,
                                        const cpu_attention_matrix *m);
double glow_cpu_attention_vector_cycles(const cpu_target *t,
                                        const glow_node *n);
/* The number of rows of a tile, even, for which `rows` rows take the fewest cycles. */
int glow_cpu_attention_tile(const cpu_target *t, int64_t rows, int parts);

/* Packs the operands of the current head, and of the current block of rows: pairs.c. */
void glow_cpu_attention_pack_keys(cpu_attention_matrix *m);
void glow_cpu_attention_pack_values(cpu_attention_matrix *m);
void glow_cpu_attention_pack_queries(cpu_attention_matrix *m);

/*
 * Masks the scores of rows `row` and `row` + 1 of the block; finds their maxima, and rescales
 * the sums of weights to these: softmax.c.
 */
void glow_cpu_attention_find_most(cpu_attention_matrix *m, cg_value row);
/*
 * Replaces the scores of panel `panel`, which has `keys` keys, by weights, from row `row` of
 * the block on, as many rows as a tile has; adds the weights to their sums.
 */
void glow_cpu_attention_weigh_panel(cpu_attention_matrix *m, cg_value row,
                                    cg_value panel, int keys);

/* True if sums of several blocks of keys are added up. */
static inline bool
attention_has_blocks(const cpu_attention_matrix *m)
{
    return m->block < m->panels;
}

/* Registers beside each other of panel `panel` of V. */
static inline int
attention_beside(const cpu_attention_matrix *m, int64_t panel)
{
    int64_t left = m->a.s.width - panel * CPU_ATTENTION_PANEL;

    return left > CPU_MATRIX_LANES ? 2 : 1;
}

/* Address `plus` bytes from byte `at` of the scratch on. */
static inline cg_value
attention_byte_at(const cpu_attention_matrix *m, int64_t at, cg_value plus)
{
    cg *g = m->a.j->g;

    return glow_cg_at(g, m->a.j->scratch, cg_addc(g, plus, at));
}

/* Address of the number of row `row` of the block in the array at byte `at`. */
static inline cg_value
attention_number_at(const cpu_attention_matrix *m, int64_t at, cg_value row)
{
    return attention_byte_at(m, at, cg_mulc(m->a.j->g, row, 4));
}

#endif
