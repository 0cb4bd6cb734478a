/*
 * Orders of tasks that need little memory: the strategies.
 *
 * Each rule gives an order; of each part that all orders have in common, the
 * best is kept.  Where that is above the bound, it is searched for a better
 * one.  At last, of the parts that keep to the peak of the whole, those with
 * the fewest bytes over time are taken.
 */

#include "irgen/order_area.h"
#include "irgen/order_bound.h"
#include "irgen/order_search.h"

const char *const glow_order_strategies[] = {
    "auto", "given", "child-memory", "greedy", "depth-first", "exact", NULL};

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

static void
find_best(glow_arena *a, const glow_order_net *net, bool exact, glow_order *out)
{
    glow_order_parts *parts = glow_order_parts_new(a, net);
    uint32_t *orders[GLOW_ORDER_EXACT + 1] = {NULL};
    int64_t enough = out->bound;

    for (int s = GLOW_ORDER_GIVEN; s < GLOW_ORDER_EXACT; s++) {
        orders[s] = rules[s](a, net);
        glow_order_parts_offer(a, parts, orders[s], enough,
                               glow_order_strategies[s]);
    }
    out->bound = glow_order_search(a, parts, exact, out->bound, &out->steps);
    out->tasks = parts->tasks;
    if (parts->n == 0)
        return;
    out->by = glow_order_parts_worst(parts)->by;
    enough = glow_order_parts_worst(parts)->cost.peak;
    for (int s = GLOW_ORDER_GIVEN; s < GLOW_ORDER_EXACT; s++)
        glow_order_parts_offer(a, parts, orders[s], enough,
                               glow_order_strategies[s]);
    glow_order_lessen_area(a, net, out->tasks, enough);
}

bool
glow_order_find(glow_arena *a, const glow_order_problem *p,
                glow_order_strategy strategy, int64_t budget, glow_order *out)
{
    glow_arena *scratch = glow_arena_new();
    const glow_order_net *net = glow_order_net_new(scratch, p);
    glow_order o = {.steps = budget, .by = "given"};
    glow_order_cost cost;

    if (net) {
        o.bound = glow_order_bound_by_task(scratch, net);
        if (rules[strategy])
            find_by_rule(scratch, net, strategy, &o);
        else
            find_best(scratch, net, strategy == GLOW_ORDER_EXACT, &o);
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
