/* Products of matrices, sums of products, attention. */

#ifndef GLOW_OPS_PRODUCT_H
#define GLOW_OPS_PRODUCT_H

#include "glow/graph.h"

GLOW_BEGIN

/* Matrix products: ir/ops/matmul.c. */

typedef struct glow_fullyconnected { /* axes from Axis on are flattened */
    int axis;
} glow_fullyconnected;

typedef struct glow_gemm {
    float alpha;
    float beta;
    bool transpose_a;
    bool transpose_b;
} glow_gemm;

extern GLOW_API const glow_op glow_op_batchedadd;  /* Batch, Slice */
extern GLOW_API const glow_op glow_op_batchmatmul; /* [B,M,K] [B,K,N] */
extern GLOW_API const glow_op glow_op_fullyconnected;
extern GLOW_API const glow_op glow_op_gemm;   /* A, B, C (optional, [M,N]) */
extern GLOW_API const glow_op glow_op_matmul; /* [M,K] [K,N] */

/* Sums of products, as an equation says: ir/ops/einsum.c. */

typedef struct glow_einsum {
    const char *equation; /* "bij,bjk->bik" */
} glow_einsum;

extern GLOW_API const glow_op glow_op_einsum;

/*
 * The equation of an Einsum, read: a label for each axis.  size[label] is that
 * of all axes with this label, but for those of one element, which are repeated;
 * -1: there are none.
 */
#define GLOW_EINSUM_OPERANDS 16
#define GLOW_EINSUM_LABELS 60 /* 52 letters, and the axes of `...` */
typedef struct glow_einsum_plan {
    int n_in, rank[GLOW_EINSUM_OPERANDS];
    int label[GLOW_EINSUM_OPERANDS][GLOW_MAX_RANK];
    int out_rank, out[GLOW_MAX_RANK];
    int64_t size[GLOW_EINSUM_LABELS];
} glow_einsum_plan;
/* False after glow_reject. */
GLOW_API bool glow_einsum_read(const glow_node *n, glow_einsum_plan *p);

/* Attention: ir/ops/attention.c. */

typedef struct glow_attention { /* Q, K, V, Mask?; Y, Scores */
    float scale;
    float soft_cap; /* default 0: none */
    bool causal;    /* default false */
    int64_t past;   /* default 0 */
    int scores;     /* GLOW_SCORES_...: which of them are given */
    bool nan_rows;  /* default false: a row that sees nothing gives 0 */
} glow_attention;
enum {
    GLOW_SCORES_RAW, /* the default */
    GLOW_SCORES_CAPPED,
    GLOW_SCORES_MASKED,
    GLOW_SCORES_WEIGHTS,
};

/*
 * The same without Scores.  Each of the last four flags says that rows of all
 * heads lie side by side: [B, S, H, D], not [B, H, S, D].
 */
typedef struct glow_fusedattention { /* Q, K, V, Mask?; Y */
    float scale;
    float soft_cap;
    bool causal;
    int64_t past;
    bool nan_rows;
    bool q_rows, k_rows, v_rows, y_rows; /* default false */
} glow_fusedattention;

typedef struct glow_rotaryembedding { /* Input, Cos, Sin */
    bool interleaved;                 /* default false */
} glow_rotaryembedding;

extern GLOW_API const glow_op glow_op_attention;
extern GLOW_API const glow_op glow_op_fusedattention;
extern GLOW_API const glow_op glow_op_rotaryembedding;

/* Determinants: ir/ops/det.c.  Glow's products within a batch: pairs.c. */

extern GLOW_API const glow_op glow_op_batchedmul; /* Batch, Slice */
extern GLOW_API const glow_op glow_op_batchedpairwisedotproduct;
extern GLOW_API const glow_op glow_op_det;

GLOW_END

#endif
