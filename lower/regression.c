/*
 * lower-regression: a mark for training, without effect in inference.
 *
 *     %y = Regression(%x, %expected)  =>  %x
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_type dense = *n->in[0]->type;

    if (n->out[0]->type == n->in[0]->type)
        return n->in[0];
    dense.strides = (glow_dims){0};
    return GLOW_BUILD_STATED_PLAIN(
        b, convertto, glow_type_get(glow_builder_context(b), dense),
        GLOW_IN(n->in[0]));
}

const glow_pass glow_pass_lower_regression = {
    .name = "lower-regression",
    .summary = "replace Regression by its operand",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_regression,
    .rewrite = lower,
};
