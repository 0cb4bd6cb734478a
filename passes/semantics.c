/*
 * Differential testing of passes: runs functions before and after each pass;
 * glow/semantics.h defines the comparison.
 *
 * The results after one pass are reused as those before the next, and a memo
 * keeps the results of nodes, so a whole pipeline costs little more than one
 * run.
 */

#include "glow/semantics.h"

#include <string.h>

#include "ir/base/context.h"
#include "passes/verdict.h"

#define INPUT_BYTES ((size_t)64 << 20) /* of the memo of inputs */

struct glow_semantics {
    glow_context *ctx;
    glow_arena *arena;
    uint64_t seed;
    glow_memo *memo;
    trial_inputs *inputs;
    glow_module *module; /* module of the states */
    trial_state *states;
    const char *func;    /* function of the current pass; NULL: all */
    glow_module *before; /* a copy, for a float64 run */
    bool failed;
};

glow_semantics *
glow_semantics_new(glow_context *ctx, uint64_t seed, size_t memo_bytes)
{
    glow_arena *arena = glow_arena_new();
    glow_semantics *s = GLOW_NEW(arena, glow_semantics);

    s->ctx = ctx;
    s->arena = arena;
    s->seed = seed;
    s->memo = glow_memo_new(memo_bytes);
    s->inputs = glow_trial_inputs_new(INPUT_BYTES);
    return s;
}

static void
forget_all(glow_semantics *s)
{
    for (trial_state *st = s->states, *next = NULL; st; st = next) {
        next = st->next;
        glow_trial_state_end(st);
    }
    s->states = NULL;
}

static void
forget_before(glow_semantics *s)
{
    if (s->before)
        glow_module_free(s->before);
    s->before = NULL;
}

void
glow_semantics_free(glow_semantics *s)
{
    if (!s)
        return;
    forget_all(s);
    forget_before(s);
    glow_memo_free(s->memo);
    glow_trial_inputs_free(s->inputs);
    glow_arena_free(s->arena);
}

bool
glow_semantics_failed(const glow_semantics *s)
{
    return s->failed;
}

static trial_state **
state_at(glow_semantics *s, const char *func)
{
    trial_state **at = &s->states;

    while (*at && strcmp((*at)->func, func) != 0)
        at = &(*at)->next;
    return at;
}

static void
set_state(glow_semantics *s, trial_state *st)
{
    trial_state **at = state_at(s, st->func);

    if (*at) {
        st->next = (*at)->next;
        glow_trial_state_end(*at);
    }
    *at = st;
}

static trial
trial_of(const glow_semantics *s, glow_func *f)
{
    return (trial){
        .ctx = s->ctx,
        .memo = s->memo,
        .inputs = s->inputs,
        .seed = s->seed,
        .f = f,
    };
}

static bool
has_calls(const glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f)
        if (glow_op_calls(n->op))
            return true;
    return false;
}

static void
take_down(glow_semantics *s, glow_func *f)
{
    /* The results of a caller depend on its bodies, so they are recomputed. */
    if (!*state_at(s, f->name) || has_calls(f))
        set_state(s, glow_trial_state_new(trial_of(s, f), NULL));
}

void
glow_semantics_before(glow_semantics *s, const glow_pass *p, glow_module *m,
                      glow_func *f)
{
    if (s->module != m)
        forget_all(s);
    s->module = m;
    s->func = f ? glow_intern(s->ctx, f->name) : NULL;
    forget_before(s);
    if (p->preserves != GLOW_EXACT && p->preserves != GLOW_CHANGES)
        s->before = glow_module_clone(m);
    if (p->preserves == GLOW_CHANGES)
        return;
    GLOW_FOR_EACH_FUNC(g, m)
        if (!f || g == f)
            take_down(s, g);
}

/* Compares `f`; its results now are the reference for the next pass. */
static bool
check_func(glow_semantics *s, const glow_pass *p, glow_func *f)
{
    trial_state **at = state_at(s, f->name);

    if (!*at)
        return true; /* a function created by the pass */

    trial_state *now = glow_trial_state_new(trial_of(s, f), *at);
    verdict v = {.pass = p,
                 .trial = trial_of(s, f),
                 .module_before = s->before,
                 .before = *at,
                 .after = now};
    bool ok = glow_verdict_is_same(&v);

    s->failed = s->failed || !ok;
    set_state(s, now);
    return ok;
}

/*
 * Reports functions that were removed, except bodies, whose callers are
 * compared.
 */
static bool
check_gone(glow_semantics *s, const glow_pass *p, const glow_module *m)
{
    bool ok = true;

    for (trial_state **at = &s->states, *st = *at; st; st = *at) {
        if (!glow_find_func(m, st->func) && st->is_body) {
            *at = st->next;
            glow_trial_state_end(st);
            continue;
        }
        at = &st->next;
        if (glow_find_func(m, st->func))
            continue;
        s->failed = true;
        ok = glow_error(s->ctx, "E0414", "after %s, there is no @%s any more",
                        p->name, st->func);
    }
    return ok;
}

bool
glow_semantics_after(glow_semantics *s, const glow_pass *p, glow_module *m)
{
    bool ok = true;

    if (p->preserves == GLOW_CHANGES) {
        forget_all(s);
        return true;
    }
    GLOW_FOR_EACH_FUNC(f, m)
        if (!s->func || strcmp(s->func, f->name) == 0)
            ok = check_func(s, p, f) && ok;
    ok = check_gone(s, p, m) && ok;
    forget_before(s);
    return ok;
}

static bool
before(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number)
{
    (void)number;
    glow_semantics_before(user, p, m, f);
    return true;
}

static bool
after(void *user, const glow_pass *p, glow_module *m, glow_func *f, int number,
      glow_result result, double seconds)
{
    (void)f;
    (void)number;
    (void)seconds;
    return result == GLOW_FAILED || glow_semantics_after(user, p, m);
}

glow_instrument
glow_semantics_instrument(glow_semantics *s)
{
    return (glow_instrument){.user = s, .before = before, .after = after};
}
