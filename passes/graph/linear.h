/*
 * Operators that are linear in weights, as data: what the passes share that
 * fold arithmetic before or behind them into the weights.
 */

#ifndef PASSES_GRAPH_LINEAR_H
#define PASSES_GRAPH_LINEAR_H

#include "passes/graph/affine.h"

typedef struct linear {
    const glow_op *op; /* operands: Input, weights, and a bias if any */
    affine_layout (*results)(const glow_node *n); /* weights by channel of the
                                                     result */
    affine_layout (*inputs)(
        const glow_node *n);               /* by that of Input; NULL: these
                                                    do not fold */
    int (*axis)(const glow_node *n);       /* of the channels of the result */
    int (*input_axis)(const glow_node *n); /* of Input; -1: none */
    /* The operator with other weights, and a bias unless that is NULL. */
    glow_value *(*again)(glow_builder *b, const glow_node *n, glow_value *x,
                         glow_value *w, glow_value *bias);
    bool any_weights; /* may be unknown if they are not scaled */
    /* Is the weight of what lies around Input no other than within? */
    bool (*shifts)(const glow_node *n);
} linear;

/* The row of n's operator, or NULL. */
const linear *linear_of(const glow_node *n);

/* Elements of floats, some of them, dense. */
bool linear_has_channels(const glow_node *n);

/* The numbers of the bias, as it is added; zeros if there is none. */
bool linear_bias(const glow_node *n, int64_t channels, double *out);

/* The one node that uses `v`, if it has one result and no predicate. */
glow_node *linear_only_user(const glow_value *v);

/* Remarks that `n` stays, since its kind does not hold the weights scaled. */
void linear_refuse(glow_pass_run *run, const glow_node *n);

/* Does the same as `n`, of one operand, to `v`. */
glow_value *linear_copy(glow_builder *b, const glow_node *n, glow_value *v);

#endif
