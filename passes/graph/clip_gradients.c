/*
 * clip-gradients: bound gradients before they are used.
 *
 *     %s = Save(%g, @grad.w)  =>  %c = Mul(%g, [%f])
 *                                 %s = Save(%c, @grad.w)
 *
 * with norm: the same %f for all gradients of the function, the smaller of 1 and
 * `norm` / (n + 1e-6), where n is the Euclidean norm of all of them together; [..] is a
 * Broadcast.  Sums of squares are float32 for gradients of fewer bits.
 *
 * with value: %c = Clip(%g), each element between -`value` and `value`.
 *
 * The pass comes after `differentiate` and before `update-weights`.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "passes/graph/common/gradients.h"

typedef struct clip_options {
    float norm, value;
} clip_options;

/* The sum of the squares of `g`, float32 at least. */
static glow_value *
squares(glow_builder *b, glow_value *g)
{
    if (g->type->elem != GLOW_FLOAT64)
        g = glow_in_kind(b, g, GLOW_FLOAT);
    g = GLOW_BUILD_PLAIN(b, mul, GLOW_IN(g, g));
    return glow_in_kind(b, glow_sum(b, g), GLOW_FLOAT);
}

/* The factor of all gradients. */
static glow_value *
factor(glow_builder *b, const glow_func *f, double norm)
{
    glow_value *sum = NULL, *v;

    GLOW_FOR_EACH_NODE(n, f)
        if (glow_is_gradient(n)) {
            v = squares(b, n->in[0]);
            sum = sum ? GLOW_BUILD_PLAIN(b, add, GLOW_IN(sum, v)) : v;
        }
    v = GLOW_BUILD_PLAIN(b, sqrt, GLOW_IN(sum));
    if (!v)
        return NULL;
    v = GLOW_BUILD_PLAIN(b, add, GLOW_IN(v, glow_build_like(b, v, 1e-6)));
    v = GLOW_BUILD_PLAIN(b, div, GLOW_IN(glow_build_like(b, v, norm), v));
    return GLOW_BUILD_PLAIN(b, min, GLOW_IN(v, glow_build_like(b, v, 1)));
}

static glow_value *
scaled(glow_builder *b, glow_value *g, glow_value *by)
{
    by = glow_in_kind(b, by, g->type->elem);
    by = glow_spread(b, by, g->type->shape);
    return GLOW_BUILD_PLAIN(b, mul, GLOW_IN(g, by));
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const clip_options *o = glow_run_options(pass);
    glow_builder *b =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    glow_value *by = NULL;
    const glow_node *last = f->last;
    int count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        count += glow_is_gradient(n);
    if (count == 0 || (o->norm <= 0 && o->value <= 0))
        return GLOW_UNCHANGED;
    glow_builder_named(b, "clip", NULL);
    if (o->norm > 0 && !(by = factor(b, f, (double)o->norm)))
        return GLOW_FAILED;
    GLOW_FOR_EACH_NODE(n, f) {
        if (glow_is_gradient(n)) {
            glow_value *g = n->in[0];

            glow_builder_at(b, n);
            if (by)
                g = scaled(b, g, by);
            if (o->value > 0)
                g = GLOW_BUILD(b, clip, GLOW_IN(g), .min = -o->value,
                               .max = o->value);
            if (!g)
                return GLOW_FAILED;
            glow_set_operand(n, 0, g);
        }
        if (n == last)
            break;
    }
    glow_run_count(pass, "gradients", count);
    return GLOW_CHANGED;
}

const glow_pass glow_pass_clip_gradients = {
    .name = "clip-gradients",
    .summary = "bound gradients by their norm or element by element",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "gradients that are too large are smaller",
    .options = {GLOW_FIELD_DEFAULT(clip_options, norm, GLOW_FLOAT32,
                                   "the greatest norm of all; 0: any"),
                GLOW_FIELD_DEFAULT(clip_options, value, GLOW_FLOAT32,
                                   "the greatest element; 0: any")},
    .defaults = &(const clip_options){.norm = 0},
    .run = run,
    .source = "Pascanu, Mikolov, Bengio, arXiv:1211.5063",
};
