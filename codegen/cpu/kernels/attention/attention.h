/*
 * Fused attention: sizes, scratch layout and functions that attention.c,
 * row.c, tile.c, weights.c and pack.c share, and matrix.h for matrix registers.
 */

#ifndef CODEGEN_CPU_KERNELS_ATTENTION_ATTENTION_H
#define CODEGEN_CPU_KERNELS_ATTENTION_ATTENTION_H

#include "codegen/cpu/kernels/common.h"

/* Operands of FusedAttention. */
enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_MASK };

/* Strides of a tensor, in elements. */
typedef struct cpu_attention_steps {
    int64_t batch, head, row;
} cpu_attention_steps;

typedef struct cpu_attention_sizes {
    int64_t batch, heads, group, rows, keys, depth, width;
    int lanes, blocks, v_blocks; /* of a panel of keys, and of values */
    int64_t panel, v_panel;      /* keys, and columns of values, in a panel */
    int64_t panels, v_panels;
    int tile;           /* rows of a tile */
    int64_t block_rows; /* a multiple of `tile`, but for the last */
    int64_t block;      /* panels of a block of keys */
    cpu_attention_steps q, k, v, y;
} cpu_attention_sizes;

/* Layout of the scratch: offsets of its arrays, in floats. */
typedef struct cpu_attention_places {
    int64_t keys, values, scores, greatest, sum, down, sums, end;
} cpu_attention_places;

typedef struct cpu_attention {
    cpu_job *j;
    const glow_fusedattention *f;
    cpu_attention_sizes s;
    cpu_attention_places at;
    cg_tensor work; /* the scratch, as floats */
    cg_value batch, head;
    cg_value row0;        /* the first row of the block at hand */
    int64_t count;        /* of its rows */
    cg_value first, last; /* panels of the block of keys at hand */
} cpu_attention;

/* True if there are several blocks of keys, whose sums are added up. */
static inline bool
attention_is_streamed(const cpu_attention_sizes *s)
{
    return s->block < s->panels;
}

static inline cg_tensor
attention_operand(cpu_attention *m, int i, cpu_attention_steps r, cg_value head)
{
    cg *g = m->j->g;
    cg_tensor t = m->j->in[i];
    cg_value at = cg_affine(g, m->batch, r.batch, head, r.head);

    t.at = glow_cg_at(g, t.at, cg_mulc(g, at, glow_cg_bytes(t.type)));
    return t;
}

static inline cg_value
attention_work_at(cpu_attention *m, int64_t place, cg_value plus)
{
    cg *g = m->j->g;

    return glow_cg_at(g, m->work.at, cg_mulc(g, cg_addc(g, plus, place), 4));
}

/* Index of the scores of row `row` of the block in the scratch. */
static inline cg_value
attention_scores_at(cpu_attention *m, cg_value row)
{
    return cg_addc(m->j->g, cg_mulc(m->j->g, row, m->s.block * m->s.panel),
                   m->at.scores);
}

/*
 * Index in the scratch of the sums of row `row` and panel `panel` of values,
 * kept between blocks of keys.
 */
static inline cg_value
attention_sums_at(cpu_attention *m, cg_value row, cg_value panel)
{
    cg *g = m->j->g;
    const cpu_attention_sizes *s = &m->s;

    row = cg_mulc(g, row, s->v_panels * s->v_panel);
    return cg_addc(g, cg_add(g, row, cg_mulc(g, panel, s->v_panel)),
                   m->at.sums);
}

static inline cg_value
attention_row_number(cpu_attention *m, int64_t place, cg_value row)
{
    return glow_cg_load(m->j->g, m->work, cg_addc(m->j->g, row, place), 1);
}

static inline void
attention_set_row_number(cpu_attention *m, int64_t place, cg_value row,
                         cg_value v)
{
    glow_cg_store(m->j->g, m->work, cg_addc(m->j->g, row, place), v);
}

/*
 * Sizes of `n`; without the ones of tiles, panels and blocks where `t` is NULL.
 */
cpu_attention_sizes glow_cpu_attention_sizes_of(const cpu_target *t,
                                                const glow_node *n);

/*
 * Transposes the keys and copies the values of unit `unit` into panels, unless
 * they are there.
 */
void glow_cpu_attention_pack(cpu_attention *m, cg_value unit);

/*
 * For the current block of rows and of keys: scores Q K^T, and sums of weights
 * times V.
 */
void glow_cpu_attention_scores(cpu_attention *m);
void glow_cpu_attention_sums(cpu_attention *m);
/* A vector of Y: columns from `column` on. */
void glow_cpu_attention_store(cpu_attention *m, cg_value row, cg_value column,
                              cg_value v);

/*
 * Softmax of a row of the block: masks its scores and replaces them by weights,
 * the exponentials; updates the maximum and the sum of weights.
 */
void glow_cpu_attention_weigh(cpu_attention *m, cg_value row);
/* A vector of scores of row `row` of Q, from key `key` on: scaled, capped and masked. */
cg_value glow_cpu_attention_mask(cpu_attention *m, cg_value row, cg_value key,
                                 cg_value x);
/*
 * The factor that normalizes a row: 1 / `sum`, of the sum of its weights.  For
 * a row without visible keys: 0, or infinity if nan_rows is set.
 */
cg_value glow_cpu_attention_inverse(cpu_attention *m, cg_value sum);

#endif
