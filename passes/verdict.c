/*
 * Judgement of a pass by the results of its function before and after it.
 *
 * The float64 run for GLOW_REASSOC is done only if bits differ.
 */

#include "passes/verdict.h"

#include <float.h>
#include <math.h>

#include "ir/base/context.h"
#include "passes/compare.h"

static bool
fail(const verdict *c, const char *id, const char *message, const char *hint)
{
    glow_report(c->trial.ctx, &(glow_diag){
                                  .severity = GLOW_ERROR,
                                  .id = id,
                                  .message = message,
                                  .span = c->trial.f->span,
                                  .hint = hint,
                              });
    return false;
}

/*
 * Reports a function that could not be compared, so that it does not count as
 * verified.
 */
static bool
fail_unverified(const verdict *c, const char *how, const char *why)
{
    return fail(c, "E0413",
                glow_arena_printf(c->after->arena,
                                  "@%s cannot be run %s, so that %s is not "
                                  "verified: %s",
                                  c->trial.f->name, how, c->pass->name,
                                  why ? why : "no reason given"),
                NULL);
}

static bool
report(const verdict *c, const trial_held *y, const glow_difference *d)
{
    glow_arena *a = c->after->arena;
    glow_buf b = {.arena = a};

    glow_buf_printf(&b,
                    "%s changes what @%s writes to @%s: on %s, element %lld "
                    "was ",
                    c->pass->name, c->trial.f->name, y->name,
                    glow_trial_sets[c->set].name, (long long)d->index);
    glow_buf_double(&b, d->before);
    glow_buf_puts(&b, " and is ");
    glow_buf_double(&b, d->after);
    if (d->bound > 0) {
        glow_buf_puts(&b, ", more than ");
        glow_buf_double(&b, d->bound);
        glow_buf_puts(&b, " away");
    }
    return fail(c, "E0411", b.text, NULL);
}

/* The least precise float kind in `f`. */
static double
narrowest(const glow_func *f, double eps)
{
    GLOW_FOR_EACH_NODE(n, f)
        for (int i = 0; i < n->n_out; i++) {
            double e = glow_kind_get(n->out[i]->type->elem)->epsilon;

            eps = e > eps ? e : eps;
        }
    return eps;
}

/* A float64 run on the current set. */
static trial
shadow_of(const verdict *c)
{
    trial t = c->trial;

    t.set = c->set;
    t.ints = c->before->sets[c->set].ints;
    t.units = c->before->units;
    t.shadow = true;
    return t;
}

/*
 * True if the difference is within the roundings of `now`, measured by a
 * float64 run of the new function: a chain of operators may lose digits that
 * one operator, which rounds once, kept.
 */
static bool
differs_by_rounding(const verdict *c, const trial_held *now,
                    const trial_held *wide, double eps)
{
    trial t = shadow_of(c);
    trial_held *shadow = NULL;
    bool ok = false;

    if (now->tensor.type == wide->tensor.type) /* no wider kind */
        return false;
    if (glow_trial_run(&t, c->after->arena, &shadow, NULL)) {
        const trial_held *wide_now = glow_trial_find(shadow, now->name);

        ok = wide_now && glow_compare_roundings(&now->tensor, &wide->tensor,
                                                &wide_now->tensor, eps);
    }
    glow_trial_end(shadow);
    return ok;
}

/*
 * True if roundings alone may cause the difference: where large numbers cancel,
 * the size of the result is no measure of their roundings.
 */
static bool
differs_by_noise(const verdict *c, const trial_held *y, const trial_held *now,
                 const trial_held *wide, double eps)
{
    trial t = shadow_of(c);
    trial_held *shadow = NULL;
    bool ok = false;

    if (!glow_is_float(y->tensor.type->elem))
        return false;
    t.f = glow_find_func(c->module_before, c->trial.f->name);
    t.noise = eps;
    if (glow_trial_run(&t, c->after->arena, &shadow, NULL))
        ok = glow_compare_noise(&y->tensor, &now->tensor, &wide->tensor,
                                &glow_trial_find(shadow, y->name)->tensor);
    glow_trial_end(shadow);
    return ok;
}

static bool
is_all_zero(const glow_tensor *t)
{
    for (int64_t i = 0; i < glow_type_count(t->type); i++)
        if (glow_get_double(t, i) != 0)
            return false;
    return true;
}

/*
 * True if the numbers of the set are large enough for sums and products to
 * overflow.
 */
static bool
may_overflow(int set)
{
    return glow_trial_sets[set].fill == GLOW_FILL_WIDE ||
           glow_trial_sets[set].fill == GLOW_FILL_COUNT;
}

static bool
is_finite(const glow_tensor *t)
{
    for (int64_t i = 0; i < glow_type_count(t->type); i++)
        if (!isfinite(glow_get_double(t, i)))
            return false;
    return true;
}

/*
 * True if numbers of `now` are infinite, and only where squares of those `before` overflow,
 * as within a ReduceL2 that is taken apart.
 */
static bool
overflows_by_squares(const glow_tensor *before, const glow_tensor *now)
{
    glow_kind kind = before->type->elem;
    bool any = false;
    double most =
        kind == GLOW_FLOAT || kind == GLOW_BFLOAT16 ? 0x1p63 : INFINITY;

    for (int64_t i = 0; i < glow_type_count(now->type); i++) {
        double b = glow_get_double(now, i);

        if (isfinite(b))
            continue;
        if (isnan(b) || !(fabs(glow_get_double(before, i)) > most))
            return false;
        any = true;
    }
    return any;
}

/* Compares by a float64 run of the function before the pass. */
static bool
compare_near(const verdict *c, const trial_held *y, const trial_held *now,
             const trial_held *shadow)
{
    const trial_held *wide = glow_trial_find(shadow, y->name);
    double eps = glow_kind_get(y->tensor.type->elem)->epsilon;
    bool narrows = c->pass->preserves == GLOW_PRECISION;
    bool is_exact = glow_trial_sets[c->set].fill == GLOW_FILL_SMALL &&
                    !narrows && y->tensor.type->elem != GLOW_FLOAT64;
    glow_difference d = {0};

    if (may_overflow(c->set) &&
        (!is_finite(&y->tensor) || (narrows && !is_finite(&now->tensor))))
        return true;
    if (overflows_by_squares(&y->tensor, &now->tensor))
        return true;
    if (narrows)
        eps = narrowest(glow_find_func(c->module_before, c->trial.f->name),
                        narrowest(c->trial.f, eps));
    if (glow_compare_near(&y->tensor, &now->tensor, &wide->tensor, eps,
                          is_exact, &d))
        return true;
    return ((d.bound > 0 || !is_exact || is_all_zero(&wide->tensor)) &&
            (differs_by_rounding(c, now, wide, eps) ||
             differs_by_noise(c, y, now, wide, eps))) ||
           report(c, y, &d);
}

static bool
is_comparable(const verdict *c, const trial_held *y, const trial_held *now)
{
    glow_arena *a = c->after->arena;

    if (now && now->tensor.type == y->tensor.type)
        return true;
    return fail(c, "E0414",
                glow_arena_printf(
                    a, "after %s, @%s writes %s%s to @%s, where it wrote %s",
                    c->pass->name, c->trial.f->name, now ? "" : "nothing",
                    now ? glow_type_text(a, now->tensor.type) : "", y->name,
                    glow_type_text(a, y->tensor.type)),
                NULL);
}

static bool
is_bound_needed(const verdict *c)
{
    return c->pass->preserves != GLOW_EXACT;
}

static bool
compare_set(const verdict *c)
{
    const trial_outcome *before = &c->before->sets[c->set];
    const trial_outcome *after = &c->after->sets[c->set];
    trial t = shadow_of(c);
    trial_held *shadow = NULL;
    const char *why = NULL;
    bool ok = true;

    if (c->pass->preserves == GLOW_QUANTIZED)
        return true;
    if (is_bound_needed(c) && glow_trial_sets[c->set].fill == GLOW_FILL_ENDS)
        return true;
    for (const trial_held *y = before->written; y && ok; y = y->next) {
        const trial_held *now = glow_trial_find(after->written, y->name);
        glow_difference d = {0};

        if (!is_comparable(c, y, now)) {
            ok = false;
        } else if (glow_compare_bits(&y->tensor, &now->tensor, &d)) {
            continue;
        } else if (!is_bound_needed(c)) {
            ok = report(c, y, &d);
        } else {
            t.f = glow_find_func(c->module_before, c->trial.f->name);
            ok = shadow || glow_trial_run(&t, c->after->arena, &shadow, &why)
                     ? compare_near(c, y, now, shadow)
                     : fail_unverified(c, "in float64", why);
        }
    }
    glow_trial_end(shadow);
    return ok;
}

bool
glow_verdict_is_same(verdict *c)
{
    int compared = 0;

    for (c->set = 0; c->set < N_TRIALS; c->set++) {
        if (!c->before->sets[c->set].ran)
            continue;
        if (!c->after->sets[c->set].ran)
            return fail(c, "E0412",
                        glow_arena_printf(c->after->arena,
                                          "after %s, @%s does not run on %s: "
                                          "%s",
                                          c->pass->name, c->trial.f->name,
                                          glow_trial_sets[c->set].name,
                                          c->after->refusal),
                        NULL);
        if (!compare_set(c))
            return false;
        compared++;
    }
    if (compared > 0)
        return c->pass->preserves != GLOW_QUANTIZED ||
               glow_quantized_is_close(c);
    return fail_unverified(c, "on any inputs", c->before->refusal);
}
