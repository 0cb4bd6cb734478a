/*
 * Traces: the origin of the elements of a value, through the nodes that repeat
 * elements, add or drop axes of one element, or permute axes.
 *
 * Importers write x - mean(x) with the mean behind a Reshape and a Broadcast.
 * The trace of the second operand ends at the mean and knows which axes of x it
 * is repeated along.  An element-wise node keeps the axes, so that a trace can
 * go on behind its operands, past more such nodes.
 */

#ifndef GLOW_TRACE_H
#define GLOW_TRACE_H

#include "glow/build.h"

GLOW_BEGIN

typedef struct glow_trace {
    glow_value *value; /* where the elements are */
    glow_dims shape;   /* shape at the begin of the trace */
    glow_dims axis;    /* the axis of `value` that axis i of `shape` runs along;
                          -1: elements repeat along it, or it has one */
} glow_trace;

/* `v` itself, and then through every Broadcast, Transpose, and Reshape of axes
   of one element.  At most 16 nodes: the work is bounded. */
GLOW_API glow_trace glow_trace_begin(glow_value *v);
/* Goes on at operand `i` of the element-wise node that defines t->value. */
GLOW_API glow_trace glow_trace_into(const glow_trace *t, int i);
/* The definition of t->value if it is an `op` without predicate, else NULL. */
GLOW_API glow_node *glow_trace_def(const glow_trace *t, const glow_op *op);

/*
 * True if t->value has the axes of t->shape but `axes` (ascending), in order,
 * and is repeated along those, as the result of a reduction over them is.
 */
GLOW_API bool glow_trace_is_reduced(const glow_trace *t, glow_dims axes);
/*
 * True if the elements depend on axes of t->shape from `first` on alone, and
 * these are in order.
 */
GLOW_API bool glow_trace_is_inner(const glow_trace *t, int first);
/* Builds the value for which glow_trace_is_inner holds, with shape[first..]. */
GLOW_API glow_value *glow_trace_inner(glow_builder *b, const glow_trace *t,
                                      int first);
/*
 * The elements as a tensor of the rank of `shape`, with one element along each
 * axis that they repeat along; NULL if the axes are not in order.
 */
GLOW_API glow_value *glow_trace_small(glow_builder *b, const glow_trace *t);

GLOW_END

#endif
