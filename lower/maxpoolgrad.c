/*
 * lower-maxpoolgrad: add the gradients where the greatest elements are.
 *
 *     %p = MaxPoolWithArgmax(%x)
 *     %d' = Select(%p#Argmax < 0, 0, %d)
 *     %g = ScatterData(zeros, %p#Argmax, %d') {Reduction: add}
 */

#include "lower/common.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_type *x = n->in[0]->type;
    int64_t count = glow_type_count(n->in[1]->type);
    glow_value *found, *at, *d, *zeros;
    glow_type flat = glow_type_of(x->elem, GLOW_DIMS_OF(glow_type_count(x)));

    if (glow_type_count(x) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    found = glow_build(b, &glow_op_maxpoolwithargmax, NULL, n->in, 1, n->attrs);
    if (!found)
        return NULL;
    at = found->def->out[1];
    d = glow_lower_splat(b, n->in[1]->type, 0);
    d = glow_build_select(b, glow_lower_below(b, at, 0), d, n->in[1]);
    d = glow_build_reshape(b, d, GLOW_DIMS_OF(count));
    at = glow_build_reshape(b, at, GLOW_DIMS_OF(count, 1));
    zeros =
        glow_lower_splat(b, glow_type_get(glow_builder_context(b), flat), 0);
    d = GLOW_BUILD(b, scatterdata, GLOW_IN(zeros, at, d),
                   .reduction = GLOW_SCATTER_ADD);
    return glow_build_reshape(b, d, x->shape);
}

const glow_pass glow_pass_lower_maxpoolgrad = {
    .name = "lower-maxpoolgrad",
    .summary = "express MaxPoolGrad by MaxPoolWithArgmax and ScatterData",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_maxpoolgrad,
    .rewrite = lower,
};
