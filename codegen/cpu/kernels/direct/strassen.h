/*
 * Strassen's algorithm within a product of float by constants: seven products of halves
 * instead of eight, by Winograd's form, at one or two levels, for a panel of the columns of
 * each block at a time.
 */

#ifndef CODEGEN_CPU_KERNELS_DIRECT_STRASSEN_H
#define CODEGEN_CPU_KERNELS_DIRECT_STRASSEN_H

#include "codegen/cpu/kernels/direct/direct.h"

#define CPU_MOST_LEVELS 2
enum { CPU_BLOCKS = 4, CPU_PRODUCTS = 7 }; /* of a level */

/*
 * X [rows, depth << levels] by W [depth << levels, columns << levels, and rest], bytes
 * between rows of X in sums.pixel.  Each level halves blocks: the upper and the lower half
 * of rows[l] rows have rows[l + 1] each, and with an odd number of them the middle one is
 * in both.  A group is a panel of the columns of each block.  The last `rest` columns are a
 * plain product.
 */
typedef struct cpu_strassen {
    cpu_direct sums;
    int levels;
    int64_t rows[CPU_MOST_LEVELS + 1];
    int64_t depth, columns, rest; /* depth and columns of a smallest block */
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
strassen_groups(const cpu_strassen *s)
{
    return s->columns / strassen_panel(s);
}

/* Rows of a smallest block. */
static inline int64_t
strassen_rows(const cpu_strassen *s)
{
    return s->rows[s->levels];
}

/* Smallest blocks of X or W; products of them. */
static inline int64_t
strassen_all_blocks(const cpu_strassen *s)
{
    return s->levels == 1 ? CPU_BLOCKS : CPU_BLOCKS * CPU_BLOCKS;
}

static inline int64_t
strassen_all_products(const cpu_strassen *s)
{
    return s->levels == 1 ? CPU_PRODUCTS : CPU_PRODUCTS * CPU_PRODUCTS;
}

static inline int64_t
strassen_vector(const cpu_strassen *s)
{
    return s->lanes * (int64_t)sizeof(float);
}

/* Bytes of `depth` rows of a panel. */
static inline int64_t
strassen_panel_bytes(const cpu_strassen *s, int64_t depth)
{
    return depth * s->blocks * strassen_vector(s);
}

/* Bytes of the weights of a group. */
static inline int64_t
strassen_group_bytes(const cpu_strassen *s)
{
    return strassen_all_blocks(s) * strassen_panel_bytes(s, s->depth);
}

/* Vectors of panel `i` of the last columns. */
static inline int
strassen_rest_blocks(const cpu_strassen *s, int64_t i)
{
    int64_t left = s->rest - i * strassen_panel(s);

    return left < strassen_panel(s) ? (int)cg_ceil_div(left, s->lanes)
                                    : s->blocks;
}

/* An odd number of cache lines, so that rows or strips are in different sets of a cache. */
static inline int64_t
strassen_odd(int64_t bytes)
{
    return (cg_ceil_div(bytes, CPU_LINE) | 1) * CPU_LINE;
}

/* Bytes between rows of a part of an operand; of that part; and of those of all operands. */
static inline int64_t
strassen_pitch(const cpu_strassen *s)
{
    return strassen_odd(s->part * (int64_t)sizeof(float));
}

static inline int64_t
strassen_operand_bytes(const cpu_strassen *s)
{
    return strassen_odd(strassen_rows(s) * strassen_pitch(s));
}

static inline int64_t
strassen_operands_bytes(const cpu_strassen *s)
{
    return strassen_all_products(s) * strassen_operand_bytes(s);
}

static inline int64_t
strassen_parts(const cpu_strassen *s)
{
    return cg_ceil_div(s->depth, s->part);
}

/*
 * Bytes of a strip of level `l`, which has the results of a product for the columns of a
 * group: [rows[l]][panels][vectors][lane], of one panel at the last level.
 */
static inline int64_t
strassen_strip_row(const cpu_strassen *s, int l)
{
    return strassen_panel_bytes(s, 1) << (s->levels - l);
}

static inline int64_t
strassen_strip_bytes(const cpu_strassen *s, int l)
{
    return strassen_odd(s->rows[l] * strassen_strip_row(s, l));
}

/* Row and column, 0 or 1, of block `i` of weights: in the order of their first uses. */
static inline int64_t
strassen_block_row(int64_t i)
{
    return i & 1;
}

static inline int64_t
strassen_block_column(int64_t i)
{
    return i >> 1;
}

/* Bytes of scratch, or INT64_MAX. */
int64_t glow_cpu_strassen_room(const cpu_strassen *s);
/* Emits the product, whose packed weights are j->packed. */
void glow_cpu_emit_strassen(cpu_job *j, const cpu_strassen *s);

/*
 * The operands of all products, [part of the depth][product][row][depth], from the operand
 * of `j` to `to`.
 */
void glow_cpu_strassen_operands(cpu_job *j, const cpu_strassen *s, cg_value to);
/*
 * Results of level `l` - 1 from the seven strips of level `l` at `from`: to the strip `to`,
 * added to what it holds if `adds`; or, for l == 1, those of group `group` finished.
 */
void glow_cpu_strassen_combine(cpu_job *j, const cpu_strassen *s, cg_value from,
                               cg_value to, bool adds);
void glow_cpu_strassen_finish(cpu_job *j, const cpu_strassen *s, cg_value from,
                              cg_value group);

#endif
