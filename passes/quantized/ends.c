/*
 * End to end, by Monte Carlo: the error of the outputs against that of runs in which each
 * quantized value is off by a random part of half a step.
 */

#include <float.h>
#include <math.h>

#include "passes/quantized/judge.h"

enum { NOISY_RUNS = 8 };

#define MOST_RMS 3
#define MOST_ELEMENT 32

static void
push_off(judge *j, const glow_type *q, const glow_tensor *t, int64_t i)
{
    double u = (double)(glow_mix(++j->drawn) >> 11) * 0x1p-52 - 1;

    glow_set_double(
        t, i,
        glow_judge_clamp(q, glow_get_double(t, i) + u * (double)q->scale / 2));
}

static void
perturb(void *user, const char *name, const glow_tensor *t)
{
    judge *j = user;
    const glow_type *q = glow_map_get(j->steps, name);

    for (int64_t i = 0; q && i < glow_type_count(t->type); i++)
        push_off(j, q, t, i);
}

/*
 * Gives p->base weights of its own, each off by a random part of half a step.  The
 * function before the pass is a copy, which nobody else reads.
 */
static void
perturb_weights(judge *j, const pair *p)
{
    const glow_type *type = p->base->in[1]->type;
    int axis = glow_judge_channel_axis(p->base);
    glow_storage *s;
    int64_t i = 0;

    s = glow_constant_new(j->before->module, p->base->in[1]->storage->name,
                          type);
    GLOW_FOR_EACH_INDEX(at, type->shape) {
        double u = (double)(glow_mix(++j->drawn) >> 11) * 0x1p-52 - 1;

        glow_set_double(&s->tensor, i,
                        glow_get_double(p->weights, i) +
                            u * glow_judge_weight_step(j, p, at.at[axis]) / 2);
        i++;
    }
    glow_set_operand((glow_node *)p->base, 1, &s->value);
}

/* Errors of a list of outputs, against those of a float64 run. */
typedef struct spread {
    double squares, worst, size;
    int64_t count, at;
} spread;

static spread
spread_of(const trial_held *exact, const trial_held *other, const char *name)
{
    const glow_tensor *s = &glow_trial_find(exact, name)->tensor;
    const trial_held *h = glow_trial_find(other, name);
    spread e = {.count = glow_type_count(s->type)};

    for (int64_t i = 0; h && i < e.count; i++) {
        double due = glow_get_double(s, i);
        double d = fabs(glow_get_double(&h->tensor, i) - due);

        if (!isfinite(due))
            continue;
        e.squares += d * d;
        e.size = fmax(e.size, fabs(due));
        if (!(d <= e.worst)) {
            e.worst = isnan(d) ? INFINITY : d;
            e.at = i;
        }
    }
    return e;
}

static double
rms(spread e)
{
    return e.count > 0 ? sqrt(e.squares / (double)e.count) : 0;
}

static bool
tell_output(const judge *j, const char *name, spread e, double noise)
{
    glow_buf b = {.arena = j->a};

    glow_buf_printf(&b, "%s: @%s of @%s is off by ", j->v->pass->name, name,
                    j->v->trial.f->name);
    glow_buf_double(&b, rms(e));
    glow_buf_puts(&b, " (root of the mean of squares), element ");
    glow_buf_printf(&b, "%lld by ", (long long)e.at);
    glow_buf_double(&b, e.worst);
    glow_buf_puts(&b, ", where roundings to steps cause ");
    glow_buf_double(&b, noise);
    return glow_judge_fail(j, b.text);
}

/* Compares the float outputs `after` with `exact`, as far as noise reaches. */
static bool
check_outputs(judge *j, const trial_held *exact, const trial_held *after,
              trial_held *const noisy[])
{
    for (const trial_held *y = exact; y; y = y->next) {
        spread e;
        double noise = 0;

        if (!glow_is_float(y->tensor.type->elem) ||
            !glow_trial_find(after, y->name))
            continue;
        e = spread_of(exact, after, y->name);
        for (int k = 0; k < NOISY_RUNS; k++)
            noise = fmax(noise, rms(spread_of(exact, noisy[k], y->name)));
        noise += ROUNDINGS * (double)FLT_EPSILON * e.size;
        if (!(rms(e) <= MOST_RMS * noise) || !(e.worst <= MOST_ELEMENT * noise))
            return tell_output(j, y->name, e, noise);
    }
    return true;
}

bool
glow_judge_ends(judge *j, const trial_held *after)
{
    trial t = glow_judge_trial(j, j->before, true);
    trial_held *exact = NULL, *noisy[NOISY_RUNS] = {NULL};
    bool ok = glow_trial_run(&t, j->a, &exact, NULL);

    t.see = perturb;
    for (int k = 0; ok && k < NOISY_RUNS; k++) {
        for (const pair *p = j->pairs; p; p = p->next)
            if (p->weights)
                perturb_weights(j, p);
        for (const blocked *r = j->blocked; r; r = r->next)
            glow_judge_perturb_blocked(j, r);
        ok = glow_trial_run(&t, j->a, &noisy[k], NULL);
    }
    ok = !ok || check_outputs(j, exact, after, noisy);
    glow_trial_end(exact);
    for (int k = 0; k < NOISY_RUNS; k++)
        glow_trial_end(noisy[k]);
    return ok;
}
