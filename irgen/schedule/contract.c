/*
 * Contraction of single-entry single-exit regions, innermost first.
 *
 * A region is the set of tasks between two boundary tasks: every predecessor of a
 * task of it is in it or is the first boundary or before it, every successor is
 * in it or is the second boundary or after it, and so are all users of its
 * buffers.  Other tasks that run meanwhile only add their bytes.  So an order of
 * the region can be found alone (solve_region.c), and between two valleys of it
 * the region runs without interruption (Liu, SIAM J. Algebraic Discrete Methods
 * 8, 1987): such a piece becomes one task (chains.c).
 *
 * Regions between a task and its immediate post-dominator are visited from the
 * end backwards, those between a task and its immediate dominator from the begin
 * forwards, and chains of tasks wherever they occur.  A series-parallel graph
 * becomes one chain that way if each fork is solved within its steps; the search
 * works on the remainder of other graphs.
 */

#include <string.h>

#include "irgen/schedule/chains.h"
#include "irgen/schedule/searches.h"

enum { MOST_TASKS = 1 << 12 }; /* of a region */

typedef struct contractor {
    glow_order_quotient *m;
    uint32_t *run;              /* a chain */
    uint32_t *list, n_list;     /* the tasks between two tasks */
    uint32_t *frames, *cursors; /* stack of the depth-first search */
} contractor;

/* Chains in the graph. */

/* The next task of the chain that `x` is in, or GLOW_ORDER_NOWHERE. */
static uint32_t
step(contractor *c, uint32_t x, int way)
{
    uint32_t y = glow_order_only_neighbour(c->m, x, way);

    return y < GLOW_ORDER_SEVERAL &&
                   glow_order_only_neighbour(c->m, y, !way) == x
               ? y
               : GLOW_ORDER_NOWHERE;
}

static uint32_t
end_of(contractor *c, uint32_t x, int way)
{
    uint32_t y = glow_order_only_neighbour(c->m, x, way);

    return y < GLOW_ORDER_SEVERAL ? y : GLOW_ORDER_NOWHERE;
}

/* Contracts the closed runs of the `n` tasks of a chain. */
static void
contract_run(contractor *c, const uint32_t *run, uint32_t n)
{
    uint32_t before = end_of(c, run[0], GLOW_ORDER_BACKWARD),
             behind = end_of(c, run[n - 1], GLOW_ORDER_FORWARD);
    bool *closed = GLOW_NEW_ARRAY(c->m->a, bool, n);

    glow_order_set_region(c->m, run, n, before, behind);
    for (uint32_t k = 0; k < n; k++)
        closed[k] = glow_order_is_closed(c->m, run[k]);
    closed[0] &= glow_order_only_neighbour(c->m, run[0], GLOW_ORDER_BACKWARD) !=
                 GLOW_ORDER_SEVERAL;
    closed[n - 1] &=
        glow_order_only_neighbour(c->m, run[n - 1], GLOW_ORDER_FORWARD) !=
        GLOW_ORDER_SEVERAL;
    for (uint32_t k = 0, end; k < n; k = end + 1) {
        for (end = k; end < n && closed[end]; end++)
            ;
        if (end < k + 2)
            continue;
        glow_order_set_region(c->m, run + k, end - k,
                              k > 0 ? run[k - 1] : before,
                              end < n ? run[end] : behind);
        glow_order_contract_region(c->m, true);
    }
}

/* Contracts the chains among the `n` tasks; returns the number of tasks that are
 * left, in the same order. */
static uint32_t
contract_runs(contractor *c, uint32_t *tasks, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t count = 0;

        if (glow_order_representative(c->m, tasks[k]) != tasks[k] ||
            step(c, tasks[k], GLOW_ORDER_BACKWARD) != GLOW_ORDER_NOWHERE)
            continue;
        for (uint32_t x = tasks[k]; x != GLOW_ORDER_NOWHERE;
             x = step(c, x, GLOW_ORDER_FORWARD))
            c->run[count++] = x;
        if (count > 1)
            contract_run(c, c->run, count);
    }
    for (uint32_t k = 0; k < n; k++)
        if (glow_order_representative(c->m, tasks[k]) == tasks[k])
            tasks[kept++] = tasks[k];
    return kept;
}

/* Regions between two tasks. */

/* Lists the tasks on paths from `from` to `to` by depth-first search; false if a
 * task of them has a path that avoids `from`, or there are too many. */
static bool
collect(contractor *c, uint32_t from, uint32_t to, int way)
{
    uint32_t depth = 0, met = 0;

    c->m->stamp++;
    c->n_list = 0;
    c->frames[depth] = from;
    c->cursors[depth++] = 0;
    while (depth > 0) {
        uint32_t x = c->frames[depth - 1];
        uint32_t y = glow_order_neighbour(c->m, x, way, &c->cursors[depth - 1]);

        c->m->steps--;
        if (y == GLOW_ORDER_NOWHERE) {
            if (--depth > 0)
                c->list[c->n_list++] = x;
            continue;
        }
        if (y == to || c->m->seen[y] == c->m->stamp)
            continue;
        if (++met > MOST_TASKS ||
            !glow_order_dominates(&c->m->trees[way], from, y))
            return false;
        c->m->seen[y] = c->m->stamp;
        c->frames[depth] = y;
        c->cursors[depth++] = 0;
    }
    for (uint32_t k = 0; k < c->n_list / 2 && way == GLOW_ORDER_FORWARD; k++) {
        uint32_t x = c->list[k];

        c->list[k] = c->list[c->n_list - 1 - k];
        c->list[c->n_list - 1 - k] = x;
    }
    return c->n_list > 1;
}

/* True if `x` is the root or a task that is neither merged nor in a chain. */
static bool
is_single_task(contractor *c, uint32_t x)
{
    return x == c->m->net->n_tasks ||
           (glow_order_representative(c->m, x) == x && !c->m->linked[x]);
}

/* Contracts the region between `from` and its immediate post-dominator, or
 * dominator, by direction. */
static void
contract_from(contractor *c, uint32_t from, int way)
{
    uint32_t to = c->m->trees[!way].above[from], none = c->m->net->n_tasks;
    uint32_t ends[2];

    if (!is_single_task(c, from) || !is_single_task(c, to) ||
        glow_order_only_neighbour(c->m, from, way) != GLOW_ORDER_SEVERAL ||
        !collect(c, from, to, way))
        return;
    ends[way == GLOW_ORDER_BACKWARD] = from;
    ends[way == GLOW_ORDER_FORWARD] = to == none ? GLOW_ORDER_NOWHERE : to;
    c->n_list = contract_runs(c, c->list, c->n_list);
    glow_order_set_region(c->m, c->list, c->n_list, ends[0], ends[1]);
    for (uint32_t k = 0; k < c->n_list; k++)
        if (!glow_order_is_closed(c->m, c->list[k]))
            return;
    if (c->n_list > 1)
        glow_order_contract_region(c->m, false);
}

/* The contracted problem. */
static glow_order_contraction *
make_contraction(contractor *c)
{
    const glow_order_net *net = c->m->net;
    glow_order_contraction *out = GLOW_NEW(c->m->a, glow_order_contraction);
    glow_order_problem *p = GLOW_NEW(c->m->a, glow_order_problem);
    glow_order_task *tasks =
        GLOW_NEW_ARRAY(c->m->a, glow_order_task, (size_t)net->n_tasks + 1);
    uint32_t n = 0, count = 0;

    out->tasks.first =
        GLOW_NEW_ARRAY(c->m->a, uint32_t, (size_t)net->n_tasks + 1);
    out->tasks.items =
        GLOW_NEW_ARRAY(c->m->a, uint32_t, (size_t)net->n_tasks + 1);
    for (uint32_t k = 0; k < net->n_tasks; k++)
        if (glow_order_representative(c->m, net->given[k]) == net->given[k])
            c->m->place[net->given[k]] = n++;
    n = 0;
    for (uint32_t k = 0; k < net->n_tasks; k++) {
        uint32_t x = net->given[k], y, cursor = 0;

        if (glow_order_representative(c->m, x) != x)
            continue;
        uint32_t most = c->m->lists[GLOW_ORDER_BACKWARD].first[x + 1] -
                        c->m->lists[GLOW_ORDER_BACKWARD].first[x] + 1;
        uint32_t *before = GLOW_NEW_ARRAY(c->m->a, uint32_t, most);

        tasks[n] = c->m->now[x];
        tasks[n].before = before;
        tasks[n].n_before = 0;
        while ((y = glow_order_neighbour(c->m, x, GLOW_ORDER_BACKWARD,
                                         &cursor)) != GLOW_ORDER_NOWHERE)
            before[tasks[n].n_before++] = c->m->place[y];
        out->tasks.first[n++] = count;
        for (y = x; y != c->m->tail[x]; y = c->m->follow[y])
            out->tasks.items[count++] = y;
        out->tasks.items[count++] = y;
    }
    out->tasks.first[n] = count;
    *p = (glow_order_problem){tasks, n, net->p->buffers, net->n_buffers};
    out->net = glow_order_net_new(c->m->a, p);
    return out;
}

glow_order_contraction *
glow_order_contract(glow_arena *a, const glow_order_net *net, int64_t *steps)
{
    contractor *c = GLOW_NEW(a, contractor);
    uint32_t n = net->n_tasks,
             *all = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1);
    uint32_t **lists[] = {&c->run, &c->list, &c->frames, &c->cursors};

    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        *lists[k] = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1);
    c->m = glow_order_quotient_new(a, net);
    c->m->steps = *steps;
    memcpy(all, net->given, n * sizeof *all);
    n = contract_runs(c, all, n);
    for (uint32_t k = n; k-- > 0 && c->m->steps > 0;)
        contract_from(c, all[k], GLOW_ORDER_FORWARD);
    for (uint32_t k = 0; k < n && c->m->steps > 0; k++)
        contract_from(c, all[k], GLOW_ORDER_BACKWARD);
    contract_runs(c, all, n);
    glow_arena_free(c->m->scratch);
    *steps = c->m->steps;
    return c->m->changed ? make_contraction(c) : NULL;
}
