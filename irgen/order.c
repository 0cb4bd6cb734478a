/*
 * Orders of tasks that need little memory: the strategies.
 *
 * Each rule gives an order; of each part that all orders have in common, the
 * best is kept.  Where that is above the bound, it is searched for a better
 * one, and then anew with stretches that can be solved alone made chains.  At
 * last, of the parts that keep to the peak of the whole, those with the fewest
 * bytes over time are taken.
 */

#include <string.h>

#include "irgen/order_area.h"
#include "irgen/order_bound.h"
#include "irgen/order_contract.h"
#include "irgen/order_search.h"

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
 * Searches the problem with stretches made chains (order_contract.c), and
 * offers what is found; false if there are none.
 */
static bool
search_contracted(glow_arena *a, glow_order_parts *parts, bool exact,
                  glow_order *out)
{
    int64_t given = out->steps / 8, left = given;
    uint32_t *tasks, n = 0;
    glow_order_contraction *c;
    glow_order o = *out;

    if (parts->net->uneven)
        return false;
    c = glow_order_contract(a, parts->net, &left);
    o.steps = out->steps -= given - left;
    if (!c)
        return false;
    find_best(a, c->net, exact, true, &o);
    tasks = GLOW_NEW_ARRAY(a, uint32_t, (size_t)parts->net->n_tasks + 1);
    for (uint32_t k = 0; k < c->net->n_tasks; k++)
        GLOW_ORDER_EACH(task, c->tasks, o.tasks[k])
            tasks[n++] = *task;
    out->steps = o.steps;
    out->bound = o.bound;
    glow_order_parts_offer(a, parts, tasks, o.bound,
                           is_rule(o.by) ? "chains" : o.by);
    return true;
}

/* Betters the parts: in few steps as they are, then with chains. */
static void
search(glow_arena *a, glow_order_parts *parts, bool exact, glow_order *out)
{
    int64_t few = FIRST_STEPS + (int64_t)FIRST_PER_TASK * parts->net->n_tasks;
    int64_t most = out->steps / 16, left = few = few < most ? few : most;

    out->bound = glow_order_search(a, parts, true, out->bound, &left);
    out->steps -= few - left;
    if (glow_order_parts_worst(parts)->cost.peak > out->bound &&
        out->steps > 0 && !search_contracted(a, parts, exact, out))
        out->bound =
            glow_order_search(a, parts, exact, out->bound, &out->steps);
}

static void
find_best(glow_arena *a, const glow_order_net *net, bool exact,
          bool is_contracted, glow_order *out)
{
    glow_order_parts *parts = glow_order_parts_new(a, net);
    uint32_t *orders[GLOW_ORDER_EXACT + 1] = {NULL};
    int64_t enough = out->bound;

    for (int s = GLOW_ORDER_GIVEN; s < GLOW_ORDER_EXACT; s++) {
        orders[s] = rules[s](a, net);
        glow_order_parts_offer(a, parts, orders[s], enough,
                               glow_order_strategies[s]);
    }
    out->tasks = parts->tasks;
    if (parts->n == 0)
        return;
    if (is_contracted)
        out->bound =
            glow_order_search(a, parts, exact, out->bound, &out->steps);
    else
        search(a, parts, exact, out);
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
