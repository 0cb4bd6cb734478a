/* Operators that move elements: by axes, by number, by position. */

#ifndef GLOW_OPS_LAYOUT_H
#define GLOW_OPS_LAYOUT_H

#include "glow/graph.h"

GLOW_BEGIN

/* Layout: ir/ops/layout.c, slice.c, gather.c. */

typedef struct glow_transpose {
    glow_dims shuffle;
} glow_transpose;

typedef struct glow_reshape {
    glow_dims dims;
} glow_reshape;

typedef struct glow_concat {
    int dim;
} glow_concat;

typedef struct glow_slice { /* Result is stated: its shape is the size */
    glow_dims start;
    glow_dims steps; /* default rank 0: all 1; may be negative, never 0 */
} glow_slice;

typedef struct glow_inserttensor { /* Small into Big, Count times on Axis */
    glow_dims start;
    int64_t count;
    int axis;
} glow_inserttensor;

typedef struct glow_pad {
    int mode;
    glow_ints pads; /* all starts, then all ends; negative ones crop */
    float value;
} glow_pad;
enum {
    GLOW_PAD_CONSTANT,
    GLOW_PAD_REFLECT,
    GLOW_PAD_EDGE,
    GLOW_PAD_WRAP,
};

typedef struct glow_tile {
    int64_t count;
    int axis;
} glow_tile;

typedef struct glow_broadcast { /* Input's axis i is TargetDim's Axis + i */
    int axis;
    glow_dims target_dim;
} glow_broadcast;

typedef struct glow_gather {
    int axis;
    int batch_dims; /* default 0 */
} glow_gather;

typedef struct glow_splat { /* Result is stated */
    float value;
} glow_splat;

extern GLOW_API const glow_op glow_op_broadcast;
extern GLOW_API const glow_op glow_op_concat;
extern GLOW_API const glow_op glow_op_gather;
extern GLOW_API const glow_op glow_op_inserttensor;
extern GLOW_API const glow_op glow_op_pad;
extern GLOW_API const glow_op glow_op_reshape;
extern GLOW_API const glow_op glow_op_slice;
extern GLOW_API const glow_op glow_op_splat;
extern GLOW_API const glow_op glow_op_tile;
extern GLOW_API const glow_op glow_op_transpose;

/* Elements by number: ir/ops/gather.c, scatter.c, embedding.c. */

typedef struct glow_gatherelements {
    int dim;
} glow_gatherelements;

typedef struct glow_gathernd {
    int batch_dims; /* default 0 */
} glow_gathernd;

enum {                    /* combination with the element that is overwritten */
       GLOW_SCATTER_NONE, /* the default: it is replaced */
       GLOW_SCATTER_ADD,
       GLOW_SCATTER_MUL,
       GLOW_SCATTER_MAX,
       GLOW_SCATTER_MIN,
};

typedef struct glow_scatterdata {
    int reduction;
} glow_scatterdata;

typedef struct glow_scatterelements {
    int dim;
    int reduction;
} glow_scatterelements;

typedef struct glow_indexadd {
    int dim;
    float alpha; /* default 1 */
} glow_indexadd;

typedef struct glow_embedding {
    int64_t pad_idx; /* default -1: none */
} glow_embedding;

typedef struct glow_gatherranges {
    int64_t max_output_size;
} glow_gatherranges;

extern GLOW_API const glow_op glow_op_embedding; /* Weights, Indices */
extern GLOW_API const glow_op glow_op_gatherelements;
extern GLOW_API const glow_op glow_op_gathernd;
extern GLOW_API const glow_op glow_op_gatherranges; /* Output, Lengths */
extern GLOW_API const glow_op glow_op_indexadd;     /* Input, Index, Source */
extern GLOW_API const glow_op glow_op_scatterdata;  /* Data, Indices, Slices */
extern GLOW_API const glow_op glow_op_scatterelements;

/* Elements by position and compared with numbers: ir/ops/onehot.c, flip.c,
   trilu.c, cumsum.c. */

typedef struct glow_bucketize {
    glow_floats boundaries; /* ascending */
} glow_bucketize;

typedef struct glow_channelshuffle {
    int64_t group;
    int kernel; /* the axis of the channels */
} glow_channelshuffle;

typedef struct glow_cumsum {
    int dim;
    bool exclusive; /* default false */
    bool reverse;   /* default false */
} glow_cumsum;
typedef glow_cumsum glow_cumprod;

typedef struct glow_flip {
    int axis;
} glow_flip;

typedef struct glow_onehot {
    int64_t depth;
    int axis; /* of Result */
} glow_onehot;

typedef struct glow_reversesequence {
    int batch_axis;
    int time_axis;
} glow_reversesequence;

typedef struct glow_spacetodepth {
    int64_t block_size;
} glow_spacetodepth;

typedef struct glow_trilu {
    bool upper;
} glow_trilu;

extern GLOW_API const glow_op glow_op_batchonehot; /* Data, Lengths, Values */
extern GLOW_API const glow_op glow_op_bucketize;
extern GLOW_API const glow_op glow_op_channelshuffle;
extern GLOW_API const glow_op glow_op_cumprod;
extern GLOW_API const glow_op glow_op_cumsum;
extern GLOW_API const glow_op glow_op_flip;
extern GLOW_API const glow_op glow_op_onehot;          /* Indices, Values */
extern GLOW_API const glow_op glow_op_reversesequence; /* Input, Lengths */
extern GLOW_API const glow_op glow_op_spacetodepth;
extern GLOW_API const glow_op glow_op_trilu; /* Input, K? */

GLOW_END

#endif
