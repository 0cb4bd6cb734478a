/*
 * schedule: put the nodes of a graph into an order that needs little memory.
 *
 *     function @f { ... }   =>   function @f scheduled { ... }
 *
 * Afterwards every operand stands before its user, and every reader of a
 * placeholder before the Save that overwrites it (unless Saves wait for each
 * other in a ring: then irgen makes a copy).
 *
 * irgen/memory_model.h says what memory an order takes, glow/order.h finds the
 * order.  To compute parts where they are put together, or to read them where
 * they are cut out, saves a copy, but may hold the whole for longer: orders are
 * sought with all parts joined and with none, then with those apart that are in
 * memory at the peak, one after the other, as long as that helps.
 *
 * The peak that is reported is that of the program: what the passes over
 * programs do in the order that was found is known by then.
 */

#include <inttypes.h>
#include <string.h>

#include "irgen/memory_model.h"

typedef struct schedule_options {
    int strategy;
    int64_t budget;
    int sharing;
    int64_t align;
} schedule_options;

static const schedule_options defaults = {.budget = GLOW_ORDER_BUDGET,
                                          .align = 64};

static const char *const sharings[] = {"all", "views", NULL};

typedef struct scheduler {
    glow_pass_run *run;
    glow_func *f;
    const schedule_options *options;
    const glow_values *values;
} scheduler;

/* An order, and what the program will need that is made of it. */
typedef struct plan {
    glow_order order;
    int64_t peak, area;
} plan;

static glow_memory_model *
model(const scheduler *s, const bool *apart, const uint32_t *order)
{
    glow_memory_options o = {s->options->align,
                             (glow_sharing)s->options->sharing, apart, order};

    return glow_memory_model_new(s->run, s->f, s->values, &o);
}

/* Sets what the plan needs once its order is known. */
static bool
measure(const scheduler *s, const bool *apart, plan *p)
{
    glow_memory_model *m = model(s, apart, p->order.tasks);
    glow_order_use use;

    if (!m || !glow_order_measure(glow_run_scratch(s->run), &m->problem,
                                  p->order.tasks, &use))
        return false;
    p->peak = use.peak;
    p->area = use.area;
    return true;
}

static bool
find(const scheduler *s, const glow_memory_model *m, const bool *apart,
     glow_order_strategy strategy, plan *p)
{
    return glow_order_find(glow_run_scratch(s->run), &m->problem, strategy,
                           s->options->budget, &p->order) &&
           measure(s, apart, p);
}

static bool
is_better(const plan *a, const plan *b)
{
    return a->peak < b->peak || (a->peak == b->peak && a->area < b->area);
}

/* Gives the function the order; false if it has it already. */
static bool
apply(const scheduler *s, const uint32_t *order)
{
    bool changed = !s->f->scheduled;
    uint32_t count = s->values->n_nodes;

    for (uint32_t k = 0; k < count; k++)
        changed |= order[k] != k;
    for (uint32_t k = 0; changed && k < count; k++)
        if (s->values->nodes[order[k]] != s->f->last)
            glow_node_move_after(s->values->nodes[order[k]], s->f->last);
    s->f->scheduled = true;
    return changed;
}

static bool
too_much(const scheduler *s)
{
    return glow_error(s->f->module->ctx, "E0330",
                      "@%s: the results take more bytes than 64 bits can count",
                      s->f->name);
}

/* Tries the other way: parts that are copied. */
static bool
try_apart(const scheduler *s, const glow_memory_model *joined, plan *best)
{
    const bool *apart = joined->could;
    glow_memory_model *m = model(s, apart, NULL);
    plan p;

    if (!m || !find(s, m, apart, (glow_order_strategy)s->options->strategy, &p))
        return false;
    if (is_better(&p, best))
        *best = p;
    return true;
}

static void
report(const scheduler *s, const plan *p, const plan *given)
{
    bool proved = p->peak <= p->order.bound;

    glow_run_count(s->run, "peak", p->peak);
    glow_run_count(s->run, "bound", p->order.bound);
    glow_run_count(s->run, "proved", proved);
    glow_run_note(
        s->run,
        "@%s: peak %" PRId64 " bytes, %" PRId64 " as given, bound %" PRId64
        ", %s, by %s in %" PRId64 " steps",
        s->f->name, p->peak, given->peak, p->order.bound,
        proved ? "proved" : "not proved", p->order.by, p->order.steps);
}

static bool
check(const schedule_options *o, glow_context *ctx)
{
    if (o->align <= 0 || o->align > 1 << 30 || (o->align & (o->align - 1)))
        return glow_error(ctx, "E0332",
                          "schedule: align is %" PRId64
                          ", but must be a power of two, at most 2^30",
                          o->align);
    return o->budget >= 0 || glow_error(ctx, "E0332",
                                        "schedule: budget is %" PRId64
                                        ", but must not be negative",
                                        o->budget);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    scheduler s = {.run = pass, .f = f, .options = glow_run_options(pass)};
    glow_memory_model *m;
    plan given, best;

    if (!check(s.options, f->module->ctx))
        return GLOW_FAILED;
    s.values = glow_values_new(glow_run_scratch(pass), f);
    m = model(&s, NULL, NULL);
    if (!m || !find(&s, m, NULL, GLOW_ORDER_GIVEN, &given) ||
        !find(&s, m, NULL, (glow_order_strategy)s.options->strategy, &best) ||
        (m->n_could > 0 && s.options->strategy != GLOW_ORDER_GIVEN &&
         !try_apart(&s, m, &best))) {
        too_much(&s);
        return GLOW_FAILED;
    }
    if (s.options->strategy == GLOW_ORDER_AUTO && is_better(&given, &best))
        best = given;
    report(&s, &best, &given);
    return apply(&s, best.order.tasks) ? GLOW_CHANGED : GLOW_UNCHANGED;
}

const glow_pass glow_pass_schedule = {
    .name = "schedule",
    .summary = "order the nodes so that little memory is needed at once",
    .level = GLOW_GRAPH,
    .makes = GLOW_SCHEDULED,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_ENUM(
                    schedule_options, strategy, glow_order_strategies,
                    "how the order is found: auto takes exact where "
                    "that ends within the budget, else the best "
                    "of all"),
                GLOW_FIELD_DEFAULT(schedule_options, budget, GLOW_INT64,
                                   "steps for searching"),
                GLOW_FIELD_ENUM(schedule_options, sharing, sharings,
                                "what shares memory afterwards: all that "
                                "optimize-program makes, or views alone"),
                GLOW_FIELD_DEFAULT(schedule_options, align, GLOW_INT64,
                                   "bytes that the sizes of buffers are "
                                   "multiples of")},
    .defaults = &defaults,
    .run = run,
    .source = "irgen/order.c, irgen/memory_model.c",
};
