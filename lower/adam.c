/*
 * lower-adam: write the formula out.
 *
 *     %x1, %v1, %h1 = Adam(%r, %t, %x, %g, %v, %h) {Alpha: a, Beta: c, ..}
 *         =>
 *     %v1 = %v * a + %g * (1 - a)
 *     %h1 = %h * c + %g * %g * (1 - c)
 *     %s = %r * Sqrt(1 - c^%t) / (1 - a^%t), or %r where %t is 0
 *     %x1 = (%x * [1 - %r * w] - [%s] * %v1 / (Sqrt(%h1) + e)) * (1 - p)
 *
 * with [e * Sqrt(1 - c^%t)] for e under CorrectFirst, or e where %t is 0.
 */

#include "lower/train.h"

/* old * keep + now * (1 - keep) */
static glow_value *
blend(glow_builder *b, glow_value *old, glow_value *now, float keep)
{
    now = glow_lower_times(b, now, 1 - (double)keep);
    return glow_build_add(b, glow_lower_times(b, old, (double)keep), now);
}

/* 1 - base^t */
static glow_value *
missing(glow_builder *b, float base, glow_value *t)
{
    glow_value *power = glow_lower_splat(b, t->type, (double)base);

    power = GLOW_BUILD_PLAIN(b, pow, GLOW_IN(power, t));
    return glow_build_sub(b, glow_lower_splat(b, t->type, 1), power);
}

/*
 * The rate of this step, corrected for the bias of the two moments (Kingma and
 * Ba, 2015).
 */
static glow_value *
corrected_rate(glow_builder *b, const glow_adam *a, const glow_lower_train *s)
{
    glow_value *later = glow_lower_splat(b, s->t->type, 0), *y;

    y = glow_build_sqrt(b, missing(b, a->beta, s->t));
    y = glow_build_mul(b, s->r, y);
    y = glow_build_div(b, y, missing(b, a->alpha, s->t));
    later = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(later, s->t));
    return glow_build_select(b, later, y, s->r);
}

/* Epsilon as it stands beside a root that is not corrected. */
static glow_value *
corrected_epsilon(glow_builder *b, const glow_adam *a,
                  const glow_lower_train *s)
{
    glow_value *one = glow_lower_splat(b, s->t->type, 1), *later, *root;

    later = glow_lower_splat(b, s->t->type, 0);
    later = GLOW_BUILD_PLAIN(b, cmplt, GLOW_IN(later, s->t));
    root = glow_build_sqrt(b, missing(b, a->beta, s->t));
    root = glow_build_select(b, later, root, one);
    return glow_lower_rate(b, s, glow_lower_times(b, root, (double)a->epsilon));
}

/* x times 1 - r w */
static glow_value *
decayed(glow_builder *b, const glow_adam *a, const glow_lower_train *s)
{
    glow_value *keep;

    if (a->weight_decay == 0)
        return s->x;
    keep = glow_lower_times(b, s->r, (double)a->weight_decay);
    return glow_build_mul(b, s->x,
                          glow_lower_rate(b, s, glow_lower_from(b, 1, keep)));
}

/* The step with Epsilon added after the correction of the root. */
static glow_value *
step_corrected(glow_builder *b, const glow_adam *a, const glow_lower_train *s,
               glow_value *x, glow_value *rate, glow_value *v, glow_value *h)
{
    glow_value *epsilon = corrected_epsilon(b, a, s);

    h = glow_build_sqrt(b, h);
    h = glow_build_add(b, h, epsilon);
    v = glow_build_mul(b, rate, v);
    return glow_build_sub(b, x, glow_build_div(b, v, h));
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_adam *a = n->attrs;
    glow_lower_train s;
    glow_value *x, *v, *h, *rate;

    if (!glow_lower_train_begin(b, n, a->norm_coefficient, &s))
        return NULL;
    v = blend(b, s.kept[0], s.g, a->alpha);
    h = blend(b, s.kept[1], glow_build_mul(b, s.g, s.g), a->beta);
    rate = glow_lower_rate(b, &s, corrected_rate(b, a, &s));
    x = decayed(b, a, &s);
    x = a->correct_first ? step_corrected(b, a, &s, x, rate, v, h)
                         : glow_lower_step(b, x, rate, v, h, a->epsilon);
    if (a->norm_coefficient_post != 0)
        x = glow_lower_times(b, x, 1 - (double)a->norm_coefficient_post);
    glow_lower_train_end(b, n, 0, x);
    glow_lower_train_end(b, n, 1, v);
    glow_lower_train_end(b, n, 2, h);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_adam = {
    .name = "lower-adam",
    .summary = "express Adam by arithmetic",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_adam,
    .rewrite = lower,
};
