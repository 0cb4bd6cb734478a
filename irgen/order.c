/*
 * Orders of tasks that need little memory: the strategies.
 *
 * Each rule gives an order, which is measured; the best is taken.
 */

#include "irgen/order.h"

const char *const glow_order_strategies[] = {
    "auto", "given", "child-memory", "greedy", "depth-first", "exact", NULL};

typedef struct search {
    glow_arena *scratch;
    const glow_order_net *net;
    glow_order_plan best;
} search;

static uint32_t *
by_rule(search *s, glow_order_strategy rule)
{
    switch (rule) {
    case GLOW_ORDER_CHILD_MEMORY:
        return glow_order_child_memory(s->scratch, s->net);
    case GLOW_ORDER_GREEDY:
        return glow_order_greedy(s->scratch, s->net);
    case GLOW_ORDER_DEPTH_FIRST:
        return glow_order_depth_first(s->scratch, s->net);
    default:
        return s->net->given;
    }
}

/* Takes the order of a rule, if it is better or there is none. */
static void
offer(search *s, glow_order_strategy rule)
{
    glow_order_plan plan = glow_order_plan_of(
        s->scratch, s->net, by_rule(s, rule), glow_order_strategies[rule]);

    if (!s->best.tasks || glow_order_is_better(&plan, &s->best))
        s->best = plan;
}

bool
glow_order_find(glow_arena *a, const glow_order_problem *p,
                glow_order_strategy strategy, int64_t budget, glow_order *out)
{
    search s = {.scratch = glow_arena_new()};
    bool all = strategy == GLOW_ORDER_AUTO || strategy == GLOW_ORDER_EXACT;

    (void)budget;
    s.net = glow_order_net_new(s.scratch, p);
    if (!s.net) {
        glow_arena_free(s.scratch);
        return false;
    }
    if (!all)
        offer(&s, strategy);
    for (int rule = GLOW_ORDER_GIVEN; all && rule < GLOW_ORDER_EXACT; rule++)
        offer(&s, (glow_order_strategy)rule);
    *out = (glow_order){
        .tasks =
            glow_arena_copy(a, s.best.tasks, p->n_tasks * sizeof(uint32_t)),
        .peak = s.best.peak,
        .area = s.best.area,
        .bound = glow_order_bound_by_task(s.scratch, s.net),
        .by = s.best.by,
    };
    out->proved = out->peak == out->bound;
    glow_arena_free(s.scratch);
    return true;
}
