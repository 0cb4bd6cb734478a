/*
 * Static placement: a portfolio of heuristics, then search, within fixed budgets.
 *
 * Heuristics in time n log(n), or little more, come first: first fit in the
 * order of time, and the rising skyline (first_fit.c, skyline.c).  Then the orders
 * of orders.c, which visit all pairs that are live together, if these are not too
 * many; then repair of the best.  All stop when the bound is met.  If it is not,
 * improve.c searches within a budget of steps.  Limits are counts, never times.
 */

#include <string.h>

#include "irgen/place/strategies.h"

#define ORDER_WORK 300000000 /* pairs that all orders may visit */
#define REPAIR_WORK 2000000  /* pairs that the repair may visit */
#define AUTO_WORK 30000000   /* steps of the search, times buffers */
#define EXACT_WORK 2000000000
#define SEARCH_PAIRS 4000000 /* no search with more live pairs */

const char *const glow_place_strategies[] = {
    [GLOW_PLACE_AUTO] = "auto",           [GLOW_PLACE_EXACT] = "exact",
    [GLOW_PLACE_GREEDY] = "greedy",       [GLOW_PLACE_GIVEN] = "given",
    [GLOW_PLACE_VALLEY] = "valley",       [GLOW_PLACE_SIZE] = "size",
    [GLOW_PLACE_BEST_FIT] = "best-fit",   [GLOW_PLACE_LIFETIME] = "lifetime",
    [GLOW_PLACE_AREA] = "area",           [GLOW_PLACE_LOAD_SIZE] = "load-size",
    [GLOW_PLACE_LOAD_TIME] = "load-time", NULL,
};

void
glow_place_keep(const glow_place_problem *p, glow_place_best *b,
                const char *name)
{
    int64_t height = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        int64_t top = p->items[i].offset + p->items[i].size;

        height = top > height ? top : height;
    }
    if (b->name && height >= b->height)
        return;
    b->height = height;
    b->name = name;
    for (uint32_t i = 0; i < p->count; i++)
        b->offsets[i] = p->items[i].offset;
}

static void
run_one(glow_place_problem *p, glow_place_best *b, glow_place_strategy s)
{
    switch (s) {
    case GLOW_PLACE_GIVEN:
        glow_place_given(p);
        break;
    case GLOW_PLACE_VALLEY:
        for (int rule = 0; rule < GLOW_PLACE_RULES; rule++) {
            glow_place_rise(p, (glow_place_rule)rule);
            glow_place_keep(p, b, glow_place_strategies[s]);
        }
        break;
    default:
        glow_place_in_order(p, s);
        break;
    }
    glow_place_keep(p, b, glow_place_strategies[s]);
}

/* All heuristics, until the bound is met. */
static void
run_greedy(glow_place_problem *p, glow_place_best *b, int64_t enough)
{
    int64_t work = 0, low = p->bound > enough ? p->bound : enough;

    for (int s = GLOW_PLACE_GIVEN; glow_place_strategies[s]; s++) {
        if (s > GLOW_PLACE_VALLEY)
            work += glow_place_work(p);
        if ((!b->name || b->height > low) && work <= ORDER_WORK)
            run_one(p, b, (glow_place_strategy)s);
    }
    if (b->height <= low || glow_place_work(p) > REPAIR_WORK)
        return;
    for (uint32_t i = 0; i < p->count; i++)
        p->items[i].offset = b->offsets[i];
    glow_place_repair(p, REPAIR_WORK);
    glow_place_keep(p, b, "repaired");
}

/* Runs the strategy; returns the steps of the search. */
static int64_t
run_strategy(glow_place_problem *p, const glow_place_options *o,
             glow_place_best *b)
{
    int64_t budget = o->budget;

    if (o->strategy > GLOW_PLACE_GREEDY) {
        run_one(p, b, o->strategy);
        return 0;
    }
    run_greedy(p, b, o->enough);
    if (o->strategy == GLOW_PLACE_GREEDY || p->pairs > SEARCH_PAIRS ||
        p->count == p->n_fixed)
        return 0;
    if (budget == 0)
        budget = (o->strategy == GLOW_PLACE_EXACT ? EXACT_WORK : AUTO_WORK) /
                 p->count;
    return glow_place_improve(p, b, o->enough, budget);
}

bool
glow_place_buffers(glow_arena *a, glow_lifetime *buffers, size_t count,
                   const glow_place_options *options, glow_placement *out)
{
    const glow_place_options defaults = {0};
    glow_place_problem p;
    glow_place_best b = {0};
    int64_t steps;

    if (!options)
        options = &defaults;
    *out = (glow_placement){0};
    if (!glow_place_take(&p, a, buffers, count, options->space, out) ||
        glow_place_fixed_fault(&p, out))
        return false;
    b.offsets = GLOW_NEW_ARRAY(a, int64_t, p.count);
    steps = run_strategy(&p, options, &b);
    for (size_t i = 0; i < count; i++)
        if (!buffers[i].is_fixed)
            buffers[i].offset = 0;
    for (uint32_t i = 0; i < p.count; i++)
        buffers[p.items[i].from].offset = b.offsets[i];
    *out = (glow_placement){.height = b.height,
                            .bound = p.bound,
                            .load = p.load,
                            .busiest = p.busiest,
                            .proved = b.height == p.bound,
                            .steps = steps,
                            .by = b.name};
    return true;
}

int64_t
glow_place_bound(glow_arena *a, const glow_lifetime *buffers, size_t count)
{
    glow_place_problem p;
    glow_placement fault;

    return glow_place_take(&p, a, buffers, count, NULL, &fault) ? p.load
                                                                : INT64_MAX;
}
