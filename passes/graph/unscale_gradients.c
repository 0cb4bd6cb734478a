/*
 * unscale-gradients: divide gradients by the factor of the loss, and adapt it.
 *
 *     %s = Save(%g, @grad.w)
 *  =>
 *     %h = %g * (1 / %k)
 *     %finite = sum of |%h| over all gradients <= the largest float
 *     %s = Save(Select(%finite, %h, 0), @grad.w)
 *     Save(Select(%finite, %k or 2 %k, %k / 2), @loss.scale)
 *     Save(%finite, @finite)
 *
 * where %k is the factor of scale-loss, in the kind of each gradient, and the sum is one
 * of float32.  The factor is doubled after `every` runs in a row whose gradients are
 * finite, and halved after one with infinity or NaN, which is no step: @finite has
 * {Gate: true}.
 *
 * The pass comes after `differentiate`, before all others that change gradients.
 */

#include <float.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/state.h"
#include "passes/graph/common/gates.h"
#include "passes/graph/common/gradients.h"

typedef struct unscale_options {
    int every;
} unscale_options;

typedef struct unscaling {
    glow_func *f;
    glow_builder *b;
    glow_value *scale, *finite;
} unscaling;

static glow_storage *
find_scale(const glow_module *m)
{
    GLOW_FOR_EACH_STORAGE(s, m)
        if (glow_placeholder_is(s, "LossScale"))
            return s;
    return NULL;
}

/* Gradients times 1 / scale, in place of those that are saved; the sum of |..|. */
static glow_value *
unscale(unscaling *u)
{
    glow_value *one = glow_build_like(u->b, u->scale, 1), *sum = NULL;
    glow_value *rest = GLOW_BUILD_PLAIN(u->b, div, GLOW_IN(one, u->scale));

    GLOW_FOR_EACH_NODE(n, u->f) {
        glow_value *g = n->n_in > 0 ? n->in[0] : NULL, *v;

        if (!glow_is_gradient(n))
            continue;
        v = glow_in_kind(u->b, rest, g->type->elem);
        v = glow_spread(u->b, v, g->type->shape);
        v = v ? GLOW_BUILD_PLAIN(u->b, mul, GLOW_IN(g, v)) : NULL;
        if (!v)
            return NULL;
        glow_set_operand(n, 0, v);
        v = glow_in_kind(u->b, GLOW_BUILD_PLAIN(u->b, abs, GLOW_IN(v)),
                         GLOW_FLOAT);
        v = glow_sum(u->b, v);
        sum = sum ? GLOW_BUILD_PLAIN(u->b, add, GLOW_IN(sum, v)) : v;
    }
    return sum;
}

/* Where they are not finite, gradients are 0. */
static bool
guard(unscaling *u)
{
    GLOW_FOR_EACH_NODE(n, u->f) {
        glow_value *v;

        if (!glow_is_gradient(n))
            continue;
        v = glow_where(u->b, u->finite, n->in[0],
                       glow_build_like(u->b, n->in[0], 0));
        if (!v)
            return false;
        glow_set_operand(n, 0, v);
    }
    return true;
}

/* The next factor, and the number of runs in a row that were finite. */
static bool
adapt(unscaling *u, glow_value *kept, int every)
{
    glow_builder *b = u->b;
    glow_dims scalar = {.rank = 0};
    glow_value *good = glow_new_state(
        u->f->module, "loss.good",
        glow_type_get(u->f->module->ctx, glow_type_of(GLOW_INDEX64, scalar)));
    glow_value *count, *grows, *up, *down, *none = glow_build_like(b, good, 0);

    count =
        GLOW_BUILD_PLAIN(b, add, GLOW_IN(good, glow_build_like(b, good, 1)));
    grows = GLOW_BUILD_PLAIN(
        b, cmpeq, GLOW_IN(count, glow_build_like(b, good, (double)every)));
    up = GLOW_BUILD_PLAIN(b, mul,
                          GLOW_IN(u->scale, glow_build_like(b, u->scale, 2)));
    down = GLOW_BUILD_PLAIN(
        b, mul, GLOW_IN(u->scale, glow_build_like(b, u->scale, 0.5)));
    if (!grows || !up || !down)
        return false;
    up = glow_where(b, grows, up, u->scale);
    count = glow_where(b, grows, none, count);
    return glow_save(b, glow_where(b, u->finite, up, down), kept) &&
           glow_save(b, glow_where(b, u->finite, count, none), good) &&
           glow_add_gate(b, "finite", u->finite);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const unscale_options *o = glow_run_options(pass);
    glow_storage *kept = find_scale(f->module);
    unscaling u = {.f = f};
    glow_value *sum;
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        count += glow_is_gradient(n);
    if (!kept || count == 0)
        return GLOW_UNCHANGED;
    u.b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_builder_named(u.b, "loss.scale", NULL);
    u.scale = glow_loss_scale(&kept->value);
    sum = u.scale ? unscale(&u) : NULL;
    if (!sum)
        return GLOW_FAILED;
    u.finite = GLOW_BUILD_PLAIN(
        u.b, cmplte, GLOW_IN(sum, glow_build_like(u.b, sum, (double)FLT_MAX)));
    return u.finite && guard(&u) && adapt(&u, &kept->value, o->every)
               ? GLOW_CHANGED
               : GLOW_FAILED;
}

const glow_pass glow_pass_unscale_gradients = {
    .name = "unscale-gradients",
    .summary = "divide gradients by the factor of the loss, and adapt it",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "gradients are those of the loss without a factor",
    .options = {GLOW_FIELD_DEFAULT(unscale_options, every, GLOW_INT,
                                   "finite runs in a row that double it")},
    .defaults = &(const unscale_options){.every = 2000},
    .run = run,
    .source = "Micikevicius et al., Mixed Precision Training, arXiv:1710.03740",
};
