/*
 * Strassen's algorithm within a product of float by constants: seven products of halves
 * instead of eight, by Winograd's form, panel by panel of the results.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_STRASSEN_H
#define CODEGEN_CPU_KERNELS_DIRECT_STRASSEN_H

#include "codegen/cpu/kernels/direct/direct.h"

/*
 * X [rows, 2 depth] by W [2 depth, 2 columns + rest], bytes between rows of X in
 * sums.pixel.  The upper and lower half of the rows have `half` rows each: with an odd
 * number of them the middle one is in both.  A pair of panels is one of the left and one of
 * the right columns.  The last `rest` columns are a plain product.
 */
typedef struct cpu_strassen {
    cpu_direct sums;
    int64_t rows, half, depth, columns, rest;
    int64_t part; /* of the depth, that a panel of weights is cut into */
    int lanes, blocks,
        tile; /* lanes of a vector, vectors of a panel, rows of a tile */
} cpu_strassen;

static inline int64_t
strassen_panel(const cpu_strassen *s)
{
    return (int64_t)s->blocks * s->lanes;
}

static inline int64_t
strassen_pairs(const cpu_strassen *s)
{
    return s->columns / strassen_panel(s);
}

/* Bytes of the four panels of weights of a pair. */
static inline int64_t
strassen_pair_bytes(const cpu_strassen *s)
{
    return 4 * s->depth * strassen_panel(s) * (int64_t)sizeof(float);
}

/* Vectors of panel `i` of the last columns. */
static inline int
strassen_rest_blocks(const cpu_strassen *s, int64_t i)
{
    int64_t left = s->rest - i * strassen_panel(s);

    return left < strassen_panel(s) ? (int)cg_ceil_div(left, s->lanes)
                                    : s->blocks;
}

/* Bytes of scratch, or INT64_MAX. */
int64_t glow_cpu_strassen_room(const cpu_strassen *s);
/* Emits the product, whose packed weights are j->packed. */
void glow_cpu_emit_strassen(cpu_job *j, const cpu_strassen *s);

#endif
