/*
 * lower-multinomial: the greatest of the logarithms, with Gumbel noise.
 *
 *     %y = Multinomial(%x) {SampleSize: S, Seed: s}
 *         =>
 *     %u = RandomUniform() {Seed: s} : float64<B x S x C>
 *     %g = ConvertTo(Neg(Log(Neg(Log(%u)))))                     a constant
 *     %y = ArgMax([%x] + %g) {Axis: 2}          [..]: Broadcast to B x S x C
 *
 * Sums of 16-bit floats are computed in float: of 8 bits, many would be equal, and the
 * first of the equal ones is not the greatest.
 */

#include "lower/random.h"

static glow_value *
negated_log(glow_builder *b, glow_value *v)
{
    v = glow_build_log(b, v);
    return glow_build_neg(b, v);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_multinomial *a = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    glow_dims all = GLOW_DIMS_OF(x.at[0], a->sample_size, x.at[1]);
    glow_value *noise = glow_lower_random_uniform(b, all, a->seed);
    glow_value *y = n->in[0];

    if (glow_lower_is_short(y->type->elem))
        y = glow_lower_convert(b, y, GLOW_FLOAT);
    noise = negated_log(b, negated_log(b, noise));
    noise = glow_lower_convert(b, noise, y->type->elem);
    y = glow_build_reshape(b, y, GLOW_DIMS_OF(x.at[0], 1, x.at[1]));
    y = glow_build_add(b, glow_lower_spread(b, y, 0, all), noise);
    y = GLOW_BUILD(b, argmax, GLOW_IN(y), .axis = 2);
    return glow_lower_convert(b, y, n->out[0]->type->elem);
}

const glow_pass glow_pass_lower_multinomial = {
    .name = "lower-multinomial",
    .summary = "express Multinomial by random noise and ArgMax",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_multinomial,
    .rewrite = lower,
};
