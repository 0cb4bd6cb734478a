/*
 * Node by node: a quantized operator against the node of floats that it stands for, on the
 * same operands.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "glow/ops.h"
#include "glow/profile.h"
#include "passes/quantized/judge.h"

/* The operand of `after` whose name ends in "Scales", first; or NULL. */
static const glow_value *
scales_of(const glow_node *after)
{
    for (int i = 3; i < after->n_in; i++) {
        const char *name = after->op->in[glow_operand_of(after, i)].name;

        if (strstr(name, "Scales") && !strstr(name, "Bias"))
            return after->in[i];
    }
    return NULL;
}

/* The axis of operand 1 that the channels of the result are. */
int
glow_judge_channel_axis(const glow_node *base)
{
    return glow_is(base, &glow_op_convolution)
               ? 0
               : base->in[1]->type->shape.rank - 1;
}

/* The step of the weights of channel `c`. */
double
glow_judge_weight_step(judge *j, const pair *p, int64_t c)
{
    const glow_value *scales = scales_of(p->after);
    const glow_tensor *t = scales ? glow_judge_tensor(j, scales) : NULL;

    if (!t)
        return (double)p->after->in[1]->type->scale;
    return glow_get_double(t, glow_type_count(t->type) == 1 ? 0 : c);
}

/* Half a step of each weight, in the shape of the weights. */
static const glow_tensor *
half_steps(judge *j, const pair *p)
{
    glow_tensor *y = glow_judge_wide(j, p->base->in[1]->type);
    int axis = glow_judge_channel_axis(p->base);
    int64_t i = 0;

    if (!p->weights) /* rounded before: exact here */
        return y;
    GLOW_FOR_EACH_INDEX(at, y->type->shape)
        glow_set_double(y, i++, glow_judge_weight_step(j, p, at.at[axis]) / 2);
    return y;
}

/* Half a step of each bias. */
static const glow_tensor *
half_biases(judge *j, const pair *p)
{
    glow_tensor *y;

    if (p->base->n_in < 3 || !p->base->in[2])
        return NULL;
    y = glow_judge_wide(j, p->base->in[2]->type);
    for (int64_t i = 0; i < glow_type_count(y->type); i++) {
        double step = (double)p->after->in[0]->type->scale *
                      glow_judge_weight_step(j, p, i);

        if (!scales_of(p->after))
            step = fmax(step, (double)p->after->in[2]->type->scale);
        glow_set_double(y, i, step / 2);
    }
    return y;
}

/*
 * The operands of p->base in float64: weights as they were, all others as the
 * quantized operator got them.  False: one was not seen.
 */
static bool
operands(judge *j, const pair *p, glow_tensor *in[])
{
    for (int i = 0; i < p->base->n_in; i++) {
        const glow_value *was = p->base->in[i];
        const glow_tensor *t = NULL;

        in[i] = NULL;
        if (!was)
            continue;
        if (glow_judge_is_product(p->base) && i > 0 && glow_is_constant(was))
            t = i == 1 ? p->weights : glow_constant_tensor(was->storage);
        else
            t = glow_judge_tensor(j, glow_judge_operand(p->after, p->base, i));
        if (!t)
            return false;
        in[i] = (glow_tensor *)glow_judge_reals(j, t);
    }
    return true;
}

/*
 * |x|, and to it the mean of each channel that a bias may be corrected by: the mean
 * error of the weights is at most half a step, times that.
 */
static const glow_tensor *
corrected_sizes(judge *j, const pair *p, const glow_tensor *x)
{
    const glow_value_range *r = glow_get_value_range(p->base->in[0]);
    const glow_tensor *y = glow_judge_sizes(j, x);
    int64_t i = 0;

    if (!r || !r->channel_mean)
        return y;
    GLOW_FOR_EACH_INDEX(at, y->type->shape) {
        glow_set_double(y, i,
                        glow_get_double(y, i) +
                            fabs((double)r->channel_mean[at.at[r->axis]]));
        i++;
    }
    return y;
}

/* sum |x| s_w / 2 + s_b / 2 + 16 eps sum |x w| for each result; NULL: not known. */
static const glow_tensor *
product_bound(judge *j, const pair *p, glow_tensor *const in[])
{
    const glow_tensor *x = glow_judge_sizes(j, in[0]),
                      *w = glow_judge_sizes(j, in[1]);
    const glow_tensor *b =
        p->base->n_in > 2 ? glow_judge_sizes(j, in[2]) : NULL;
    glow_tensor *steps[] = {(glow_tensor *)corrected_sizes(j, p, in[0]),
                            (glow_tensor *)half_steps(j, p),
                            (glow_tensor *)half_biases(j, p)};
    glow_tensor *all[] = {(glow_tensor *)x, (glow_tensor *)w, (glow_tensor *)b};
    const glow_tensor *rounded = glow_judge_run(j, p->base, steps);
    const glow_tensor *sums = glow_judge_run(j, p->base, all);

    if (!rounded || !sums)
        return NULL;
    for (int64_t i = 0; i < glow_type_count(sums->type); i++)
        glow_set_double(rounded, i,
                        glow_get_double(rounded, i) +
                            ROUNDINGS * (double)FLT_EPSILON *
                                glow_get_double(sums, i));
    return rounded;
}

/* The largest number among the operands. */
static double
largest(const pair *p, glow_tensor *const in[])
{
    double most = 0;

    for (int i = 0; i < p->base->n_in; i++)
        for (int64_t k = 0; in[i] && k < glow_type_count(in[i]->type); k++)
            most = fmax(most, fabs(glow_get_double(in[i], k)));
    return most;
}

/* The clamps of the pair, from the base on. */
static const glow_tensor *
run_chain(judge *j, const pair *p, const glow_tensor *y)
{
    for (int i = p->n_chain; i-- > 0 && y;)
        y = glow_judge_run(j, p->chain[i], (glow_tensor *[]){(glow_tensor *)y});
    return y;
}

bool
glow_judge_pair(judge *j, const pair *p)
{
    glow_tensor *in[GLOW_MAX_OPERANDS];
    const glow_tensor *now = glow_judge_tensor(j, p->shown->out[0]);
    const glow_type *type = glow_judge_shown_type(p->shown);
    const glow_tensor *y, *bound = NULL;

    if (!now || !operands(j, p, in))
        return true;
    y = run_chain(j, p, glow_judge_run(j, p->base, in));
    if (glow_judge_is_product(p->base))
        bound = product_bound(j, p, in);
    if (!y || (glow_judge_is_product(p->base) && !bound) ||
        glow_type_count(y->type) != glow_type_count(now->type))
        return true;

    double half = (double)type->scale / 2 * SLACK;
    double size = ROUNDINGS * (double)FLT_EPSILON * largest(p, in);

    for (int64_t i = 0; i < glow_type_count(y->type); i++) {
        double due = glow_judge_clamp(type, glow_get_double(y, i));
        double most = half + (bound ? glow_get_double(bound, i) : size) +
                      ROUNDINGS * (double)FLT_EPSILON * fabs(due);
        double is = glow_get_real(now, i);

        if (!isnan(glow_get_double(y, i)) && !(fabs(is - due) <= most))
            return glow_judge_tell_node(j, p->shown->name, i, is, due, most);
    }
    return true;
}
