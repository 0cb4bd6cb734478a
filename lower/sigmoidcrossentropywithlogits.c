/*
 * lower-sigmoidcrossentropywithlogits: it is the loss without weights, and a
 * mean along the last axis.
 *
 *     %y = SigmoidCrossEntropyWithLogits(%x, %t)
 *         =>
 *     %l = BinaryCrossEntropyWithLogits(%x, %t, _, _) {Reduction: none}
 *     %y = BatchedReduceMean(%l) {Axes: [last]}
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];
    glow_dims last = GLOW_DIMS_OF(x->type->shape.rank - 1);
    glow_value *loss = GLOW_BUILD(b, binarycrossentropywithlogits,
                                  GLOW_IN(x, n->in[1], NULL, NULL),
                                  .reduction = GLOW_LOSS_NONE);

    return GLOW_BUILD(b, batchedreducemean, GLOW_IN(loss), .axes = last);
}

const glow_pass glow_pass_lower_sigmoidcrossentropywithlogits = {
    .name = "lower-sigmoidcrossentropywithlogits",
    .summary = "express SigmoidCrossEntropyWithLogits by a loss for each "
               "element and a mean",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_sigmoidcrossentropywithlogits,
    .rewrite = lower,
};
