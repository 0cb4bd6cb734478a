/*
 * lower-adagrad: write the formula out.
 *
 *     %x1, %h1 = Adagrad(%r, %t, %x, %g, %h) {DecayFactor: d, Epsilon: e}
 *         =>
 *     %h1 = %h + %g * %g
 *     %x1 = %x - [%r / (%t * d + 1)] * %g / (Sqrt(%h1) + e)
 */

#include "lower/train.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_adagrad *a = n->attrs;
    glow_lower_train s;
    glow_value *rate, *h;

    if (!glow_lower_train_begin(b, n, a->norm_coefficient, &s))
        return NULL;
    rate = glow_lower_times(b, s.t, (double)a->decay_factor);
    rate = glow_build_div(b, s.r, glow_lower_plus(b, rate, 1));
    h = glow_build_add(b, s.kept[0], glow_build_mul(b, s.g, s.g));
    rate = glow_lower_rate(b, &s, rate);
    glow_lower_train_end(b, n, 0,
                         glow_lower_step(b, s.x, rate, s.g, h, a->epsilon));
    glow_lower_train_end(b, n, 1, h);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_adagrad = {
    .name = "lower-adagrad",
    .summary = "express Adagrad by arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_adagrad,
    .rewrite = lower,
};
