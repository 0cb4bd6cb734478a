/* Operators whose results depend in size on the elements. */

#ifndef GLOW_OPS_BOUNDED_H
#define GLOW_OPS_BOUNDED_H

#include "glow/graph.h"

GLOW_BEGIN

/* Results whose size depends on the elements: ir/ops/bounded.c, unique.c, nms.c.
   Results have the largest possible size; the rest is zero, and the last result is
   the number of valid elements. */

typedef struct glow_bound { /* zeros from Count on along Axis */
    int axis;
} glow_bound;

typedef struct glow_unique { /* of slices along the first axis */
    bool sorted;
} glow_unique;

typedef struct glow_nonmaxsuppression {
    bool center_point_box;
    int64_t max_output_boxes_per_class;
    float iou_threshold;
    float score_threshold; /* default -inf: none */
} glow_nonmaxsuppression;

extern GLOW_API const glow_op glow_op_bound;   /* Input, Count */
extern GLOW_API const glow_op glow_op_nonzero; /* Result, Count: index64 */
/* Boxes, Scores; Indices, NumberOfSelectedIndices: index64 */
extern GLOW_API const glow_op glow_op_nonmaxsuppression;
/* Indices, InverseIndices, Counts, Count: index64 */
extern GLOW_API const glow_op glow_op_unique;

GLOW_END

#endif
