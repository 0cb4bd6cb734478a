/*
 * Sizes of batches: variants of a service, which differ in the first axis of their inputs
 * and outputs alone, and the choice of one by the times of runs so far.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/diag.h"
#include "runtime/state.h"

/* Loading. */

/* The place of the placeholder of a value, for messages. */
static glow_span
span_of(const glow_module *m, const value *v)
{
    const glow_storage *p = glow_find_storage(m, v->name);

    return p ? p->span : (glow_span){0};
}

static bool
is_port(const value *v)
{
    return v->in || v->out;
}

static int64_t
first_extent(const value *v)
{
    return v->type->shape.rank > 0 ? v->type->shape.at[0] : 1;
}

/* True if the first axis of each input and output counts x->samples; else a report. */
static bool
check_samples(const service *s, const variant *x, const glow_module *m,
              glow_context *ctx)
{
    for (int i = 0; i < x->n_values; i++) {
        const value *v = &x->values[i];

        if (!is_port(v))
            continue;
        if (v->kept)
            return glow_error_at(
                ctx, span_of(m, v), "E1003",
                "service %s: samples of a batch cannot share state, as @%s is",
                s->name, v->name);
        if (v->type->shape.rank == 0 || first_extent(v) != x->samples)
            return glow_error_at(
                ctx, span_of(m, v), "E1003",
                "service %s: batches of %d samples need a first axis of %d, "
                "and @%s has %" PRId64,
                s->name, x->samples, x->samples, v->name, first_extent(v));
    }
    return true;
}

bool
glow_run_find_samples(const service *s, variant *x, const glow_module *m,
                      glow_context *ctx, const glow_service_options *o)
{
    int64_t n = o->batch > 1 ? o->batch : 1;

    for (int i = 0; i < x->n_values && o->n_sizes > 0; i++)
        if (is_port(&x->values[i])) {
            n = first_extent(&x->values[i]);
            break;
        }
    x->samples = n > 0 && n <= MOST_SAMPLES ? (int)n : 1;
    return (x->samples == 1 && o->n_sizes == 0) || check_samples(s, x, m, ctx);
}

static const value *
find_port(const variant *x, const char *name)
{
    for (int i = 0; i < x->n_values; i++)
        if (is_port(&x->values[i]) && strcmp(x->values[i].name, name) == 0)
            return &x->values[i];
    return NULL;
}

/* True if two types differ in the first extent at most. */
static bool
is_of_type(const glow_type *a, const glow_type *b)
{
    glow_type t = *a;

    t.shape.at[0] = b->shape.at[0];
    return glow_type_equal(&t, b);
}

/* True if `v` of a variant is a port of variant `first` too; else a report. */
static bool
check_port(const service *s, const variant *first, const value *v,
           const glow_module *m, glow_context *ctx)
{
    const value *w = find_port(first, v->name);
    glow_arena *a;
    bool ok;

    if (!w || w->in != v->in || w->out != v->out)
        return glow_error_at(ctx, span_of(m, v), "E1025",
                             "service %s: @%s is no %s of %s", s->name, v->name,
                             v->in ? "input" : "output", first->path);
    if (is_of_type(v->type, w->type))
        return true;
    a = glow_arena_new();
    ok = glow_error_at(
        ctx, span_of(m, v), "E1025",
        "service %s: @%s is %s, and %s in %s; the first axis alone may differ",
        s->name, v->name, glow_type_text(a, v->type),
        glow_type_text(a, w->type), first->path);
    glow_arena_free(a);
    return ok;
}

bool
glow_run_agrees(const service *s, const variant *x, const glow_module *m,
                glow_context *ctx)
{
    const variant *first = s->variants;

    for (const variant *y = first; y < x; y++)
        if (y->samples == x->samples)
            return glow_error(ctx, "E1026",
                              "service %s: both %s and %s are for %d samples",
                              s->name, y->path, x->path, x->samples);
    for (int i = 0; i < x->n_values && x > first; i++)
        if (is_port(&x->values[i]) &&
            !check_port(s, first, &x->values[i], m, ctx))
            return false;
    for (int i = 0; i < first->n_values && x > first; i++)
        if (is_port(&first->values[i]) && !find_port(x, first->values[i].name))
            return glow_error(ctx, "E1025",
                              "service %s: %s has no @%s, as %s has", s->name,
                              x->path, first->values[i].name, first->path);
    return true;
}

void
glow_run_order_variants(service *s)
{
    const variant *largest;

    for (int i = 1; i < s->n_variants; i++)
        for (int k = i;
             k > 0 && s->variants[k].samples < s->variants[k - 1].samples;
             k--) {
            const variant x = s->variants[k];

            s->variants[k] = s->variants[k - 1];
            s->variants[k - 1] = x;
        }
    largest = &s->variants[s->n_variants - 1];
    s->batch = largest->samples;
    s->values = largest->values;
    s->n_values = largest->n_values;
    for (int i = 0; i < s->n_variants; i++)
        for (int k = 0; k < s->variants[i].n_values; k++) {
            value *v = &s->variants[i].values[k];
            const value *w = is_port(v) ? find_port(largest, v->name) : NULL;

            v->of = w ? (int)(w - s->values) : -1;
        }
}

/* Choosing. */

variant *
glow_run_holds(const service *s, int64_t n)
{
    for (int i = 0; i < s->n_variants; i++)
        if (s->variants[i].samples >= n)
            return &s->variants[i];
    return NULL;
}

/* The largest variant of at most `n` samples, or NULL. */
static variant *
fills(const service *s, int64_t n)
{
    for (int i = s->n_variants; i-- > 0;)
        if (s->variants[i].samples <= n)
            return &s->variants[i];
    return NULL;
}

/* The least time of a run of `x`, all of its parts; INT64_MAX: it has not run. */
static int64_t
time_of(const variant *x)
{
    int64_t sum = 0;

    for (int i = 0; i < x->n_parts; i++) {
        if (x->parts[i].run_ns == 0)
            return INT64_MAX;
        sum += x->parts[i].run_ns;
    }
    return sum;
}

/*
 * The time of runs for `n` samples: one of the variant that holds them, padded, or full ones
 * of the variant below and runs for the rest.  INT64_MAX: some have not run yet.
 */
static int64_t
cost(const service *s, int64_t n)
{
    const variant *above = glow_run_holds(s, n), *below = fills(s, n);
    int64_t one = above ? time_of(above) : INT64_MAX, each, rest;

    if (n == 0)
        return 0;
    if (!below || below == above)
        return one;
    each = time_of(below);
    rest = cost(s, n % below->samples);
    if (each == INT64_MAX || rest == INT64_MAX)
        return one;
    each = each * (n / below->samples) + rest;
    return each < one ? each : one;
}

variant *
glow_run_choose(const service *s, int64_t n)
{
    variant *above = glow_run_holds(s, n), *below = fills(s, n);

    if (!above || !below || above == below)
        return above ? above : below;
    if (time_of(above) == INT64_MAX)
        return above;
    return cost(s, n) < time_of(above) ? below : above;
}
