/*
 * Stretches of a problem that are made a chain each, once for all.
 *
 * A stretch is what lies between two tasks, its ends: all that a task of it
 * waits for is in it or before its first end, all that waits for one is in it
 * or behind the second, and so are all users of what it touches.  What else
 * runs meanwhile only adds its bytes.  Then an order of the stretch can be
 * settled alone (order_settle.c), and from one valley of it to the next it runs
 * in one go (Liu, SIAM J. Algebraic Discrete Methods 8, 1987): such a piece
 * becomes one task, which needs what the piece needs at most, and touches what
 * is touched outside the piece too.
 *
 * Stretches within others come first.  Those between a task and the first one
 * that all ways from it lead through are met from the end back; those between a
 * task and the last one that all ways to it lead through from the beginning on;
 * and chains of tasks that wait for each other wherever there are some.  A
 * series-parallel graph becomes one chain that way, if each fork can be settled
 * in so many steps; what is left of others is what the search has to do.
 */

#include <string.h>

#include "irgen/order_contract.h"
#include "irgen/order_stretch.h"

enum { MOST_TASKS = 1 << 12 }; /* of a stretch */

typedef struct contractor {
    glow_order_merger *m;
    uint32_t *run;              /* a chain */
    uint32_t *list, n_list;     /* what is between two tasks */
    uint32_t *frames, *cursors; /* the way there */
} contractor;

/* Chains of tasks as they are. */

/* The next of the chain of tasks that `x` is in, or GLOW_ORDER_NONE. */
static uint32_t
step(contractor *c, uint32_t x, int way)
{
    uint32_t y = glow_order_only(c->m, x, way);

    return y < GLOW_ORDER_MANY && glow_order_only(c->m, y, !way) == x
               ? y
               : GLOW_ORDER_NONE;
}

static uint32_t
end_of(contractor *c, uint32_t x, int way)
{
    uint32_t y = glow_order_only(c->m, x, way);

    return y < GLOW_ORDER_MANY ? y : GLOW_ORDER_NONE;
}

/* Contracts what may be of the `n` tasks of a chain. */
static void
contract_run(contractor *c, const uint32_t *run, uint32_t n)
{
    uint32_t before = end_of(c, run[0], GLOW_ORDER_BACK),
             behind = end_of(c, run[n - 1], GLOW_ORDER_FORTH);
    bool *closed = GLOW_NEW_ARRAY(c->m->a, bool, n);

    glow_order_stretch(c->m, run, n, before, behind);
    for (uint32_t k = 0; k < n; k++)
        closed[k] = glow_order_is_closed(c->m, run[k]);
    closed[0] &=
        glow_order_only(c->m, run[0], GLOW_ORDER_BACK) != GLOW_ORDER_MANY;
    closed[n - 1] &=
        glow_order_only(c->m, run[n - 1], GLOW_ORDER_FORTH) != GLOW_ORDER_MANY;
    for (uint32_t k = 0, end; k < n; k = end + 1) {
        for (end = k; end < n && closed[end]; end++)
            ;
        if (end < k + 2)
            continue;
        glow_order_stretch(c->m, run + k, end - k, k > 0 ? run[k - 1] : before,
                           end < n ? run[end] : behind);
        glow_order_contract_stretch(c->m, true);
    }
}

/* Contracts the chains among the `n` tasks; returns how many are left, in the
 * same order. */
static uint32_t
contract_runs(contractor *c, uint32_t *tasks, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t count = 0;

        if (glow_order_one(c->m, tasks[k]) != tasks[k] ||
            step(c, tasks[k], GLOW_ORDER_BACK) != GLOW_ORDER_NONE)
            continue;
        for (uint32_t x = tasks[k]; x != GLOW_ORDER_NONE;
             x = step(c, x, GLOW_ORDER_FORTH))
            c->run[count++] = x;
        if (count > 1)
            contract_run(c, c->run, count);
    }
    for (uint32_t k = 0; k < n; k++)
        if (glow_order_one(c->m, tasks[k]) == tasks[k])
            tasks[kept++] = tasks[k];
    return kept;
}

/* Stretches between two tasks. */

/* Lists what ways from `from` lead through before they come to `to`; false if
 * another way leads there, or it is too much. */
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
        if (y == GLOW_ORDER_NONE) {
            if (--depth > 0)
                c->list[c->n_list++] = x;
            continue;
        }
        if (y == to || c->m->seen[y] == c->m->stamp)
            continue;
        if (++met > MOST_TASKS ||
            !glow_order_is_above(&c->m->trees[way], from, y))
            return false;
        c->m->seen[y] = c->m->stamp;
        c->frames[depth] = y;
        c->cursors[depth++] = 0;
    }
    for (uint32_t k = 0; k < c->n_list / 2 && way == GLOW_ORDER_FORTH; k++) {
        uint32_t x = c->list[k];

        c->list[k] = c->list[c->n_list - 1 - k];
        c->list[c->n_list - 1 - k] = x;
    }
    return c->n_list > 1;
}

static bool
is_plain(contractor *c, uint32_t x)
{
    return x == c->m->net->n_tasks ||
           (glow_order_one(c->m, x) == x && !c->m->linked[x]);
}

/* Contracts what lies between `from` and what all ways from it lead through. */
static void
contract_from(contractor *c, uint32_t from, int way)
{
    uint32_t to = c->m->trees[!way].above[from], none = c->m->net->n_tasks;
    uint32_t ends[2];

    if (!is_plain(c, from) || !is_plain(c, to) ||
        glow_order_only(c->m, from, way) != GLOW_ORDER_MANY ||
        !collect(c, from, to, way))
        return;
    ends[way == GLOW_ORDER_BACK] = from;
    ends[way == GLOW_ORDER_FORTH] = to == none ? GLOW_ORDER_NONE : to;
    c->n_list = contract_runs(c, c->list, c->n_list);
    glow_order_stretch(c->m, c->list, c->n_list, ends[0], ends[1]);
    for (uint32_t k = 0; k < c->n_list; k++)
        if (!glow_order_is_closed(c->m, c->list[k]))
            return;
    if (c->n_list > 1)
        glow_order_contract_stretch(c->m, false);
}

/* What is left, as a problem. */
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
        if (glow_order_one(c->m, net->given[k]) == net->given[k])
            c->m->place[net->given[k]] = n++;
    n = 0;
    for (uint32_t k = 0; k < net->n_tasks; k++) {
        uint32_t x = net->given[k], y, cursor = 0;

        if (glow_order_one(c->m, x) != x)
            continue;
        uint32_t most = c->m->lists[GLOW_ORDER_BACK].first[x + 1] -
                        c->m->lists[GLOW_ORDER_BACK].first[x] + 1;
        uint32_t *before = GLOW_NEW_ARRAY(c->m->a, uint32_t, most);

        tasks[n] = c->m->now[x];
        tasks[n].before = before;
        tasks[n].n_before = 0;
        while ((y = glow_order_neighbour(c->m, x, GLOW_ORDER_BACK, &cursor)) !=
               GLOW_ORDER_NONE)
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
    c->m = glow_order_merger_new(a, net);
    c->m->steps = *steps;
    memcpy(all, net->given, n * sizeof *all);
    n = contract_runs(c, all, n);
    for (uint32_t k = n; k-- > 0 && c->m->steps > 0;)
        contract_from(c, all[k], GLOW_ORDER_FORTH);
    for (uint32_t k = 0; k < n && c->m->steps > 0; k++)
        contract_from(c, all[k], GLOW_ORDER_BACK);
    contract_runs(c, all, n);
    glow_arena_free(c->m->scratch);
    *steps = c->m->steps;
    return c->m->changed ? make_contraction(c) : NULL;
}
