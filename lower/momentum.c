/*
 * lower-momentum: write the formula out.
 *
 *     %x1, %v1 = Momentum(%r, %t, %x, %g, %v) {Alpha: a, Beta: c}
 *         =>
 *     %v1 = %v * a + %g * [c, or 1 where %t is 0]
 *     %x1 = %x - [%r] * %v1                                  standard
 *     %x1 = %x - [%r] * (%g + %v1 * a)                       nesterov
 */

#include "lower/train.h"

/* Weight of the gradient in the velocity: 1 in the first step, else `beta`. */
static glow_value *
share(glow_builder *b, const glow_lower_train *s, float beta)
{
    const glow_type *scalar = s->t->type;
    glow_value *later = glow_lower_splat(b, scalar, 0);
    glow_value *all = glow_lower_splat(b, scalar, 1);
    glow_value *part = glow_lower_splat(b, scalar, (double)beta);

    later = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(later, s->t));
    later = glow_build_select(b, later, part, all);
    return glow_lower_rate(b, s, later);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_momentum *m = n->attrs;
    double alpha = (double)m->alpha;
    glow_lower_train s;
    glow_value *v, *way;

    if (!glow_lower_train_begin(b, n, m->norm_coefficient, &s))
        return NULL;
    v = glow_build_mul(b, share(b, &s, m->beta), s.g);
    v = way = glow_build_add(b, glow_lower_times(b, s.kept[0], alpha), v);
    if (m->mode == GLOW_MOMENTUM_NESTEROV)
        way = glow_build_add(b, s.g, glow_lower_times(b, v, alpha));
    way = glow_lower_step(b, s.x, glow_lower_rate(b, &s, s.r), way, NULL, 0);
    glow_lower_train_end(b, n, 0, way);
    glow_lower_train_end(b, n, 1, v);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_momentum = {
    .name = "lower-momentum",
    .summary = "express Momentum by arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_momentum,
    .rewrite = lower,
};
