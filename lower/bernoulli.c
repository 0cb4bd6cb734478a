/*
 * lower-bernoulli: compare with random numbers.
 *
 *     %y = Bernoulli(%p) {Seed: s}
 *         =>
 *     %u = RandomUniform() {Seed: s} : float64<..>
 *     %y = ConvertTo(CmpLT(%u, ConvertTo(%p)))
 *
 * In float64, where u stays below 1: a probability of 1 is certain.
 */

#include "lower/random.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_bernoulli *a = n->attrs;
    glow_value *p = glow_lower_convert(b, n->in[0], GLOW_FLOAT64);
    glow_value *u =
        glow_lower_random_uniform(b, n->in[0]->type->shape, a->seed);

    return glow_lower_convert(b, GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(u, p)),
                              n->out[0]->type->elem);
}

const glow_pass glow_pass_lower_bernoulli = {
    .name = "lower-bernoulli",
    .summary = "express Bernoulli by RandomUniform and CmpLT",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_bernoulli,
    .rewrite = lower,
};
