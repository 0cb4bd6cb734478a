/*
 * Autotuning: selects the fastest choice for each kind of instruction by
 * measurement.
 *
 * Choices are measured inside the program, because its other steps determine
 * the state of the caches.  So all kinds of instructions are measured at once.
 * Each round loads the program with the next choice of every kind, in the order
 * of the cost model, and alternates runs of it with runs of the default
 * program, step by step.  The measure is the least time of each step relative
 * to that of the default in the same round, which cancels changes of clock
 * frequency.  Finally all winners are loaded together, and winners that do not
 * win again are dropped.
 *
 * Time: rounds times loading and some runs; the rounds are at most the budget.
 * Memory: twice the program.
 */

#include <math.h>

#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/plan/choose.h"
#include "codegen/cpu/plan/kernels.h"
#include "codegen/cpu/run/executable.h"
#include "codegen/cpu/run/target.h"
#include "codegen/cpu/run/tuning.h"
#include "glow/tensor.h"

#define WORTH 0.97        /* most time of a winner over the default's */
#define WORTH_AGAIN 0.985 /* the same in the confirmation */
#define HOPELESS 1.7      /* predicted cycles over those of the best */
#define ROUND_SECONDS 0.4
#define LEAST_RUNS 5
#define MOST_RUNS 60

extern const glow_backend glow_backend_cpu;

/* Instructions with the same glow_cpu_key. */
typedef struct kind {
    const char *what;
    cpu_choice standard, best;
    cpu_choices choices;
    double ratio; /* time of `best` over the default's */
    double before, after;
    int count, measured;
} kind;

/* The program, loaded with one tuning. */
typedef struct loaded {
    glow_executable *x;
    int *kind_of; /* by step: index of its kind, or -1 */
    double *least;
} loaded;

typedef struct tuner {
    glow_arena *arena;
    glow_func *func;
    const glow_target_options *options;
    const glow_tune_options *how;
    cpu_target *target;
    glow_map *known; /* indices of kinds, by glow_cpu_key */
    kind *at;
    int count;
    size_t cap;
    loaded standard;
} tuner;

/* Kinds. */

static bool
has_choices(const glow_node *n)
{
    for (int i = 0; glow_cpu_kernels[i]; i++)
        if (glow_cpu_kernels[i]->op == n->op && glow_cpu_kernels[i]->choices)
            return true;
    return false;
}

/*
 * Lists the choices of `k` without the default and without choices that the
 * cost model rules out.
 */
static void
list_choices(tuner *t, const glow_node *n, kind *k)
{
    int most = t->how->budget, count = 0;

    k->choices.most = most + 1;
    k->choices.at = GLOW_NEW_ARRAY(t->arena, cpu_choice, most + 1);
    glow_cpu_list_choices(t->target, n, &k->choices);
    for (int i = 0; i < k->choices.count && count < most; i++) {
        const cpu_choice *c = &k->choices.at[i];

        if (!glow_cpu_same_choice(c, &k->standard) &&
            c->cycles <= HOPELESS * k->choices.at[0].cycles)
            k->choices.at[count++] = *c;
    }
    k->choices.count = count;
}

static int
kind_of(tuner *t, const cpu_step *s)
{
    const char *what;
    const int *known;
    kind *k;

    if (!s->root || !has_choices(s->root))
        return -1;
    what = glow_cpu_key(t->arena, s->root);
    known = glow_map_get(t->known, what);
    if (known)
        return *known;
    if (glow_cpu_tuning_find(t->how->to, t->target->name, what))
        return -1;
    t->at = glow_arena_grow(t->arena, t->at, (size_t)t->count, &t->cap,
                            sizeof *t->at);
    k = &t->at[t->count];
    *k = (kind){
        .what = what, .standard = glow_cpu_free_choice(s->kernel), .ratio = 1};
    k->best = k->standard;
    list_choices(t, s->root, k);
    glow_map_set(t->known, what,
                 glow_arena_copy(t->arena, &t->count, sizeof t->count));
    return t->count++;
}

/* Loading. */

/* Fills floating-point inputs with numbers from 0 to 1; indices stay 0. */
static void
draw_inputs(const glow_executable *x)
{
    const cpu_plan *p = glow_cpu_plan_of(x);

    for (int i = 0; i < p->n_bindings; i++) {
        const cpu_binding *b = &p->bindings[i];
        glow_tensor held = {.type = b->storage->value.type,
                            .data = glow_cpu_memory_of(x, b->base) + b->offset};

        if (b->read && glow_is_float(held.type->elem))
            glow_tensor_fill(&held, GLOW_FILL_RANDOM, (uint64_t)i + 1);
    }
}

static bool
load(tuner *t, const glow_tuning *tuning, loaded *out)
{
    glow_target_options o = *t->options;
    glow_cpu_options own = *glow_cpu_options_of(&o);
    const cpu_plan *p;

    own.red_zones = false;
    o.tuning = tuning;
    o.options = &own;
    *out = (loaded){.x = glow_backend_cpu.load(t->func, &o)};
    if (!out->x)
        return false;
    draw_inputs(out->x);
    p = glow_cpu_plan_of(out->x);
    out->kind_of = GLOW_NEW_ARRAY(t->arena, int, p->n_steps + 1);
    out->least = GLOW_NEW_ARRAY(t->arena, double, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++)
        out->kind_of[i] = kind_of(t, &p->steps[i]);
    return true;
}

/* Measuring. */

static void
forget(loaded *l)
{
    for (int i = 0; i < glow_cpu_plan_of(l->x)->n_steps; i++)
        l->least[i] = INFINITY;
}

/* The seconds of all steps of kind `k`, or of all steps if `k` < 0. */
static double
seconds_of(const loaded *l, int k)
{
    double sum = 0;

    for (int i = 0; i < glow_cpu_plan_of(l->x)->n_steps; i++)
        if (k < 0 || l->kind_of[i] == k)
            sum += l->least[i];
    return sum;
}

/*
 * Alternates runs of both until `seconds` have passed, with bounds on their
 * number.
 */
static bool
run_both(loaded *a, loaded *b, double seconds)
{
    int runs = LEAST_RUNS;
    double once;

    forget(a);
    forget(b);
    if (!glow_cpu_time_steps(a->x, a->least) ||
        !glow_cpu_time_steps(b->x, b->least))
        return false;
    once = seconds_of(a, -1) + seconds_of(b, -1);
    if (once * LEAST_RUNS < seconds)
        runs = once * MOST_RUNS < seconds ? MOST_RUNS : (int)(seconds / once);
    for (int i = 1; i < runs; i++)
        if (!glow_cpu_time_steps(a->x, a->least) ||
            !glow_cpu_time_steps(b->x, b->least))
            return false;
    return true;
}

/* A tuning with choice `round` of every kind; NULL if no kind has so many. */
static glow_tuning *
tuning_of_round(const tuner *t, glow_arena *a, int round)
{
    glow_tuning *to = glow_cpu_tuning_copy(a, t->how->to);
    bool any = false;

    for (int i = 0; i < t->count; i++) {
        const kind *k = &t->at[i];

        if (round >= k->choices.count)
            continue;
        glow_cpu_tuning_add(to, t->target->name, k->what, &k->choices.at[round],
                            NULL);
        any = true;
    }
    return any ? to : NULL;
}

static void
judge(tuner *t, const loaded *l, int round)
{
    for (int i = 0; i < t->count; i++) {
        kind *k = &t->at[i];
        double ratio = seconds_of(l, i) / seconds_of(&t->standard, i);

        if (round >= k->choices.count)
            continue;
        k->measured++;
        if (ratio < WORTH && ratio < k->ratio) {
            k->ratio = ratio;
            k->best = k->choices.at[round];
        }
    }
}

static bool
run_round(tuner *t, const glow_tuning *tuning, int round)
{
    loaded l;
    bool ok = load(t, tuning, &l) && run_both(&t->standard, &l, ROUND_SECONDS);

    if (ok)
        judge(t, &l, round);
    if (l.x)
        glow_backend_cpu.unload(l.x);
    return ok;
}

static bool
run_rounds(tuner *t)
{
    bool ok = true, more = true;

    for (int round = 0; ok && more && round < t->how->budget; round++) {
        glow_arena *a = glow_arena_new();
        glow_tuning *tuning = tuning_of_round(t, a, round);

        more = tuning != NULL;
        ok = !more || run_round(t, tuning, round);
        glow_arena_free(a);
    }
    return ok;
}

/*
 * Measures all winners together; a kind that does not win again gets its
 * default back.
 */
static bool
confirm(tuner *t)
{
    glow_arena *a = glow_arena_new();
    glow_tuning *tuning = glow_cpu_tuning_copy(a, t->how->to);
    loaded l;
    bool ok;

    for (int i = 0; i < t->count; i++)
        glow_cpu_tuning_add(tuning, t->target->name, t->at[i].what,
                            &t->at[i].best, NULL);
    ok = load(t, tuning, &l) && run_both(&t->standard, &l, 3 * ROUND_SECONDS);
    for (int i = 0; ok && i < t->count; i++) {
        kind *k = &t->at[i];

        k->before = seconds_of(&t->standard, i);
        k->after = seconds_of(&l, i);
        if (k->ratio < 1 && k->after < WORTH_AGAIN * k->before)
            continue;
        k->best = k->standard;
        k->after = k->before;
    }
    if (l.x)
        glow_backend_cpu.unload(l.x);
    glow_arena_free(a);
    return ok;
}

/* Results. */

static void
tell(tuner *t)
{
    for (int i = 0; i < glow_cpu_plan_of(t->standard.x)->n_steps; i++)
        if (t->standard.kind_of[i] >= 0)
            t->at[t->standard.kind_of[i]].count++;
    for (int i = 0; i < t->count; i++) {
        const kind *k = &t->at[i];
        const glow_tuned found = {
            .what = k->what,
            .choice = glow_cpu_choice_text(t->arena, &k->best),
            .count = k->count,
            .measured = k->measured,
            .before = k->before,
            .after = k->after,
        };
        const char *note = glow_arena_printf(
            t->arena, "%.4g us, by default %.4g", k->after / k->count * 1e6,
            k->before / k->count * 1e6);

        glow_cpu_tuning_add(t->how->to, t->target->name, k->what, &k->best,
                            k->measured ? note : NULL);
        if (t->how->found)
            t->how->found(&found, t->how->user);
    }
}

static bool
tune(tuner *t)
{
    if (!load(t, t->how->to, &t->standard))
        return false;
    if (t->how->budget > 0 && (!run_rounds(t) || !confirm(t)))
        return false;
    tell(t);
    return true;
}

bool
glow_cpu_tune(glow_func *f, const glow_target_options *options,
              const glow_tune_options *how)
{
    tuner t = {
        .arena = glow_arena_new(), .func = f, .options = options, .how = how};
    bool ok;

    t.known = glow_map_new(t.arena);
    t.target = glow_cpu_target(f->module->ctx, t.arena, options);
    ok = t.target && tune(&t);
    if (t.standard.x)
        glow_backend_cpu.unload(t.standard.x);
    if (t.target)
        glow_cpu_target_end(t.target);
    glow_arena_free(t.arena);
    return ok;
}
