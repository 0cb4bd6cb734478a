/*
 * lower-crossentropyloss: gather, then take logarithms.
 *
 *     %y = CrossEntropyLoss(%p, %labels)
 *         =>
 *     %t = Select(%labels < 0, classes, %labels)
 *     %g = Gather(%p, %t) {Axis: 1, BatchDims: 1}
 *     %y = Neg(BatchedReduceAdd(Log(%g)))
 */

#include "lower/loss.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *p = n->in[0];
    glow_kind kind = p->type->elem;
    glow_value *labels =
        glow_build_reshape(b, n->in[1], GLOW_DIMS_OF(p->type->shape.at[0]));
    glow_value *y = GLOW_BUILD(
        b, gather,
        GLOW_IN(p, glow_lower_class(b, labels, p->type->shape.at[1])),
        .axis = 1, .batch_dims = 1);

    y = glow_build_log(b, y);
    y = glow_lower_loss(b, y, NULL, GLOW_LOSS_SUM);
    y = glow_build_neg(b, y);
    return glow_build_reshape(b, glow_lower_convert(b, y, kind),
                              GLOW_DIMS_OF(1));
}

const glow_pass glow_pass_lower_crossentropyloss = {
    .name = "lower-crossentropyloss",
    .summary = "express CrossEntropyLoss by Gather, Log and a sum",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_crossentropyloss,
    .rewrite = lower,
};
