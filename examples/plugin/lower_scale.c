/*
 * demo.lower-scale: say demo.Scale in operators that every backend has.
 *
 *     %y = demo.Scale(%x) {Factor: 0.5}
 *
 *     constant @y.factor : float<2 x 3> = splat(0.5)
 *     =>   %y = Mul(%x, @y.factor)
 *
 * This is what demo.form-scale undoes.  -lower takes it wherever the backend
 * does not want the operator itself.
 */

#include "demo.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const demo_scale *s = n->attrs;
    glow_value *factor =
        glow_build_splat(b, "factor", n->out[0]->type, (double)s->factor);

    return GLOW_BUILD_PLAIN(b, mul, GLOW_IN(n->in[0], factor));
}

const glow_pass demo_pass_lower_scale = {
    .name = "demo.lower-scale",
    .summary = "lower demo.Scale to Mul",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &demo_op_scale,
    .rewrite = lower,
};
