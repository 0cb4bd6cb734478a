/*
 * Operators that are linear in their weights, as data, for passes that fold
 * affine maps before or behind them into the weights.
 */

#ifndef PASSES_GRAPH_COMMON_LINEAR_H
#define PASSES_GRAPH_COMMON_LINEAR_H

#include "passes/graph/common/affine.h"

typedef struct linear {
    const glow_op *op; /* operands: Input, weights, and a bias if any */
    affine_layout (*results)(const glow_node *n); /* weights by channel of the
                                                     result */
    affine_layout (*inputs)(
        const glow_node *n);               /* by channel of Input; NULL: maps of
                                            * Input do not fold */
    int (*axis)(const glow_node *n);       /* of the channels of the result */
    int (*input_axis)(const glow_node *n); /* of Input's channels; -1: none */
    /* Builds the operator with other weights, and a bias unless NULL. */
    glow_value *(*again)(glow_builder *b, const glow_node *n, glow_value *x,
                         glow_value *w, glow_value *bias);
    bool any_weights; /* weights may be unknown if they are not scaled */
    /* True if all results sum the same weights: no padding. */
    bool (*shifts)(const glow_node *n);
} linear;

/* The row of n's operator, or NULL. */
const linear *glow_linear_of(const glow_node *n);

/* True if the result is a dense, non-empty float tensor. */
bool glow_linear_has_channels(const glow_node *n);

/* Reads the bias, as it is added; zeros if there is none. */
bool glow_linear_bias(const glow_node *n, int64_t channels, double *out);

/* The only user of `v`, if it has one result and no predicate, else NULL. */
glow_node *glow_linear_only_user(const glow_value *v);

/*
 * Remarks that `n` stays, since its kind cannot represent the scaled weights.
 */
void glow_linear_refuse(glow_pass_run *run, const glow_node *n);

/* Builds a copy of `n`, of one operand, on `v`. */
glow_value *glow_linear_copy(glow_builder *b, const glow_node *n,
                             glow_value *v);

#endif
