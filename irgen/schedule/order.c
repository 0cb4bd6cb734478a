/*
 * Strategies for ordering tasks: rules, series decomposition, search.
 *
 * Each rule (rules.c, list_scheduling.c) gives an order.  Every order consists of
 * the same segments (segments.c), and the best order of each segment is kept.  Tasks
 * that only free memory then run early (release.c), before and after the searches.
 * A segment whose peak is above the lower bound is searched (search.c), then once
 * more on the problem with regions contracted to chains (contract.c).  At last,
 * among the orders that keep to the peak of the whole, each segment takes the one
 * with the smallest area, and exchanges of neighbours reduce it further (area.c).
 */

#include <string.h>

#include "irgen/schedule/searches.h"

const char *const glow_order_strategies[] = {
    "auto", "given", "child-memory", "greedy", "depth-first", "exact", NULL};

enum { FIRST_STEPS = 1 << 14, FIRST_PER_TASK = 1 << 7 };

typedef uint32_t *(*rule_fn)(glow_arena *a, const glow_order_net *net);

static uint32_t *
as_given(glow_arena *a, const glow_order_net *net)
{
    (void)a;
    return net->given;
}

static const rule_fn rules[GLOW_ORDER_EXACT + 1] = {
    [GLOW_ORDER_GIVEN] = as_given,
    [GLOW_ORDER_CHILD_MEMORY] = glow_order_child_memory,
    [GLOW_ORDER_GREEDY] = glow_order_greedy,
    [GLOW_ORDER_DEPTH_FIRST] = glow_order_depth_first,
};

static void
find_by_rule(glow_arena *a, const glow_order_net *net,
             glow_order_strategy strategy, glow_order *out)
{
    out->tasks = rules[strategy](a, net);
    out->by = glow_order_strategies[strategy];
}

static void find_best(glow_arena *a, const glow_order_net *net, bool exact,
                      bool is_contracted, glow_order *out);

static bool
is_rule(const char *name)
{
    for (int s = GLOW_ORDER_GIVEN; s < GLOW_ORDER_EXACT; s++)
        if (strcmp(name, glow_order_strategies[s]) == 0)
            return true;
    return false;
}

/*
 * Searches the problem with its regions contracted, and offers the order found;
 * false if no region can be contracted.
 */
static bool
search_contracted(glow_arena *a, glow_order_segments *segments, bool exact,
                  glow_order *out)
{
    int64_t given = out->steps / 8, left = given;
    uint32_t *tasks, n = 0;
    glow_order_contraction *c;
    glow_order o = *out;

    if (segments->net->has_uneven_aliases)
        return false;
    c = glow_order_contract(a, segments->net, &left);
    o.steps = out->steps -= given - left;
    if (!c)
        return false;
    find_best(a, c->net, exact, true, &o);
    tasks = GLOW_NEW_ARRAY(a, uint32_t, (size_t)segments->net->n_tasks + 1);
    for (uint32_t k = 0; k < c->net->n_tasks; k++)
        GLOW_ORDER_EACH(task, c->tasks, o.tasks[k])
            tasks[n++] = *task;
    out->steps = o.steps;
    out->bound = o.bound;
    glow_order_segments_offer(segments, tasks, o.bound,
                              is_rule(o.by) ? "chains" : o.by);
    return true;
}

/* Improves the segments: in few steps as they are, then contracted. */
static void
search(glow_arena *a, glow_order_segments *segments, bool exact,
       glow_order *out)
{
    int64_t few =
        FIRST_STEPS + (int64_t)FIRST_PER_TASK * segments->net->n_tasks;
    int64_t most = out->steps / 16, left = few = few < most ? few : most;

    out->bound = glow_order_search(a, segments, true, out->bound, &left);
    out->steps -= few - left;
    if (glow_order_segments_worst(segments)->cost.peak > out->bound &&
        (out->steps <= segments->net->n_tasks ||
         !search_contracted(a, segments, exact, out)))
        out->bound =
            glow_order_search(a, segments, exact, out->bound, &out->steps);
}

/* Offers the orders with early releases, as long as they lower the peak, in few steps. */
static void
release(glow_arena *a, glow_order_segments *segments, glow_order *out)
{
    int64_t most = out->steps / 4, left = most, peak, had;

    do {
        uint32_t *tasks;

        had = glow_order_segments_worst(segments)->cost.peak;
        if (had <= out->bound || left <= 0)
            break;
        tasks =
            glow_order_release(a, segments->net, segments->tasks, had, &left);
        glow_order_segments_offer(segments, tasks, out->bound, "release");
        peak = glow_order_segments_worst(segments)->cost.peak;
    } while (peak < had);
    out->steps -= most - left;
}

static void
find_best(glow_arena *a, const glow_order_net *net, bool exact,
          bool is_contracted, glow_order *out)
{
    glow_order_segments *segments = glow_order_segments_new(a, net);
    uint32_t *orders[GLOW_ORDER_EXACT + 1] = {NULL};
    int64_t enough = out->bound;

    for (int s = GLOW_ORDER_GIVEN; s < GLOW_ORDER_EXACT; s++) {
        orders[s] = rules[s](a, net);
        glow_order_segments_offer(segments, orders[s], enough,
                                  glow_order_strategies[s]);
    }
    out->tasks = segments->tasks;
    if (segments->n == 0)
        return;
    if (is_contracted) {
        out->bound =
            glow_order_search(a, segments, exact, out->bound, &out->steps);
    } else {
        release(a, segments, out);
        search(a, segments, exact, out);
        release(a, segments, out);
    }
    out->by = glow_order_segments_worst(segments)->by;
    enough = glow_order_segments_worst(segments)->cost.peak;
    for (int s = GLOW_ORDER_GIVEN; s < GLOW_ORDER_EXACT; s++)
        glow_order_segments_offer(segments, orders[s], enough,
                                  glow_order_strategies[s]);
    glow_order_reduce_area(a, net, out->tasks, enough);
}

bool
glow_order_find(glow_arena *a, const glow_order_problem *p,
                glow_order_strategy strategy, int64_t budget, glow_order *out)
{
    glow_arena *scratch = glow_arena_new();
    const glow_order_net *net = glow_order_net_given(scratch, p);
    glow_order o = {.steps = budget, .by = "given"};
    glow_order_cost cost;

    if (net) {
        o.bound = glow_order_bound_by_task(scratch, net);
        if (rules[strategy])
            find_by_rule(scratch, net, strategy, &o);
        else
            find_best(scratch, net, strategy == GLOW_ORDER_EXACT, false, &o);
        cost = glow_order_run(glow_order_walk_new(scratch, net), o.tasks,
                              p->n_tasks);
        o.tasks = glow_arena_copy(a, o.tasks, p->n_tasks * sizeof(uint32_t));
        o.peak = cost.peak;
        o.area = cost.area;
        o.proved = o.peak == o.bound;
        o.steps = budget - o.steps;
        *out = o;
    }
    glow_arena_free(scratch);
    return net != NULL;
}
