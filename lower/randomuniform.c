/*
 * lower-randomuniform: draw the numbers at compile time.
 *
 *     %y = RandomUniform(..) {.., Seed: s}
 *         =>
 *     constant @y.random = numbers of the generator
 *
 * The seed determines the numbers, so every run would draw the same ones; and
 * no backend needs a generator.
 */

#include "lower/random.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    return glow_lower_random_constant(b, n);
}

const glow_pass glow_pass_lower_randomuniform = {
    .name = "lower-randomuniform",
    .summary = "turn RandomUniform into a constant",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_randomuniform,
    .rewrite = lower,
};
