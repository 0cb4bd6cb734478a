/* Reductions, sorting and searching. */

#ifndef GLOW_OPS_REDUCE_H
#define GLOW_OPS_REDUCE_H

#include "glow/graph.h"

GLOW_BEGIN

/* Reductions: ir/ops/reduce.c, vectornorm.c.  The reduced axes are gone from
   the result. */

typedef struct glow_reduce {
    glow_dims axes; /* ascending */
} glow_reduce;
typedef glow_reduce glow_batchedreduceadd;
typedef glow_reduce glow_batchedreducemax;
typedef glow_reduce glow_batchedreducemean;
typedef glow_reduce glow_batchedreducemin;
typedef glow_reduce glow_batchedreduceprod;
typedef glow_reduce glow_batchedreducesumsquare;
typedef glow_reduce glow_reducel1;
typedef glow_reduce glow_reducel2;
typedef glow_reduce glow_reducelogsum;
typedef glow_reduce glow_reducelogsumexp;

typedef struct glow_vectornorm {
    int axis;
    int p;
} glow_vectornorm;

extern GLOW_API const glow_op glow_op_batchedreduceadd;
extern GLOW_API const glow_op glow_op_batchedreducemax;
extern GLOW_API const glow_op glow_op_batchedreducemean;
extern GLOW_API const glow_op glow_op_batchedreducemin;
extern GLOW_API const glow_op glow_op_batchedreduceprod;
extern GLOW_API const glow_op glow_op_batchedreducesumsquare;
extern GLOW_API const glow_op glow_op_reducel1;
extern GLOW_API const glow_op glow_op_reducel2;
extern GLOW_API const glow_op glow_op_reducelogsum;
extern GLOW_API const glow_op glow_op_reducelogsumexp;
extern GLOW_API const glow_op glow_op_vectornorm;

/* Sorting and searching: ir/ops/order.c. */

typedef struct glow_argmax { /* Result: index64 */
    int axis;
    bool keep_dims;
    bool select_last; /* default false: the first of equal ones */
} glow_argmax;
typedef glow_argmax glow_argmin;

typedef struct glow_topk { /* along the last axis, sorted; ties: least index */
    int64_t k;
    bool smallest; /* default false */
} glow_topk;

extern GLOW_API const glow_op glow_op_argmax;
extern GLOW_API const glow_op glow_op_argmin;
extern GLOW_API const glow_op glow_op_topk; /* Values, Indices: index64 */

GLOW_END

#endif
