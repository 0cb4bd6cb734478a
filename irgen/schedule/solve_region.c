/*
 * An order of a region that is optimal whatever else runs meanwhile.
 *
 * Let M be the live bytes of the region alone, which add up with those of the
 * other tasks.  One order of the region dominates another if every interleaving
 * of the other can be replayed, step by step, with no more live bytes and every
 * step at a moment at which the rest needs no more.
 *
 * Let X be a down-set of least M.  Any order D1, D2... can be replaced by one
 * through X: when the rest is lowest, say beside Dk, continue from X & Dk through
 * X & Dk+1... to X, and through X | D1... to X | Dk.  As M is submodular
 * (glow/order.h), neither side has more bytes than D had, at a moment when the
 * rest was no lower.  So X splits the region in two.
 *
 * Up to X, best-first search starts with the least budget.  If it reaches S under
 * a budget H, and then raises H, every state that is reachable below H has more
 * live bytes than the begin.  So it is no loss to wait there until the rest is
 * lowest before the moment that needs H, and to go to S without interruption, as
 * no state between has fewer bytes than S.  The same holds backwards from the
 * end to X.  These are the hills and valleys of Liu (SIAM J. Algebraic Discrete
 * Methods 8, 1987) for trees, and of Kayaaslan, Lambert, Marchal and Ucar
 * (Theoretical Computer Science 707, 2018) for series-parallel graphs whose
 * edges carry the bytes; here a result may have many readers, which concerns only
 * the search for the order of the region itself.
 */

#include <string.h>

#include "irgen/schedule/searches.h"

/* The region, split at a down-set of least M. */
typedef struct solver {
    glow_arena *a;
    const glow_order_net *net; /* tasks outside X wait for all of X */
    uint32_t *order;
    uint32_t n_left, n_right;
} solver;

/* Orders the tasks such that those of a least down-set come first. */
static void
split_at_least(solver *s)
{
    const glow_order_net *net = s->net;
    glow_order_cut *cut = glow_order_cut_new(s->a, net);
    uint32_t n = 0, last = net->n_tasks - 1, count = 0;
    uint32_t *free = GLOW_NEW_ARRAY(s->a, uint32_t, net->n_tasks);

    for (uint32_t k = 0; k <= last; k++)
        if (net->given[k] > 0 && net->given[k] < last)
            free[n++] = net->given[k];
    cut->side[0] = GLOW_ORDER_IN;
    for (uint32_t k = 0; k < n; k++)
        cut->side[free[k]] = GLOW_ORDER_FREE;
    glow_order_cut_least(cut, free, n, GLOW_ORDER_NO_TASK);
    s->order[count++] = 0;
    for (uint32_t k = 0; k < n; k++)
        if (cut->side[free[k]] == GLOW_ORDER_IN)
            s->order[count++] = free[k];
    s->n_left = count - 1;
    s->n_right = n - s->n_left;
    s->order[count++] = net->n_tasks; /* the added task between both sides */
    for (uint32_t k = 0; k < n; k++)
        if (cut->side[free[k]] != GLOW_ORDER_IN)
            s->order[count++] = free[k];
    s->order[count] = last;
}

/* Adds a task that separates both sides. */
static void
split_net(solver *s)
{
    const glow_order_problem *from = s->net->p;
    uint32_t n = from->n_tasks;
    glow_order_problem *p = GLOW_NEW(s->a, glow_order_problem);
    glow_order_task *tasks = GLOW_NEW_ARRAY(s->a, glow_order_task, n + 1);

    memcpy(tasks, from->tasks, n * sizeof *tasks);
    tasks[n] = (glow_order_task){.before = s->order, .n_before = s->n_left + 1};
    for (uint32_t k = 0; k < s->n_right; k++) {
        glow_order_task *t = &tasks[s->order[s->n_left + 2 + k]];
        uint32_t *before =
            GLOW_NEW_ARRAY(s->a, uint32_t, (size_t)t->n_before + 1);

        memcpy(before, t->before, t->n_before * sizeof *before);
        before[t->n_before++] = n;
        t->before = before;
    }
    *p = *from;
    p->tasks = tasks;
    p->n_tasks = n + 1;
    s->net = glow_order_net_new(s->a, p);
}

/* Searches the `n` tasks from position `first` of an order, from the least budget
 * on; NULL if the steps do not suffice. */
static const uint32_t *
search(glow_arena *a, const glow_order_net *net, const uint32_t *order,
       uint32_t first, uint32_t n, int64_t *steps)
{
    glow_order_best_first *f = glow_order_best_first_new(a, net, order);

    f->incumbent = INT64_MAX;
    glow_order_best_first_start(f, first, n);
    return glow_order_best_first_run(f, steps) == GLOW_ORDER_FOUND ? f->tasks
                                                                   : NULL;
}

static bool
solve_left(const solver *s, uint32_t *tasks, int64_t *steps)
{
    const uint32_t *found = search(s->a, s->net, s->order, 1, s->n_left, steps);

    for (uint32_t k = 0; found && k < s->n_left; k++)
        tasks[k] = found[k];
    return found != NULL;
}

static bool
solve_right(const solver *s, uint32_t *tasks, int64_t *steps)
{
    uint32_t n = s->net->n_tasks;
    uint32_t *order = GLOW_NEW_ARRAY(s->a, uint32_t, (size_t)n + 1);
    const uint32_t *found;

    order[0] = n; /* the task added by reversal */
    for (uint32_t k = 0; k < n; k++)
        order[n - k] = s->order[k];
    found = search(s->a, glow_order_net_reversed(s->a, s->net), order, 2,
                   s->n_right, steps);
    for (uint32_t k = 0; found && k < s->n_right; k++)
        tasks[s->n_right - 1 - k] = found[k];
    return found != NULL;
}

bool
glow_order_solve_region(glow_arena *a, const glow_order_net *net,
                        uint32_t *tasks, int64_t *steps)
{
    solver s = {.a = a, .net = net};

    s.order = GLOW_NEW_ARRAY(a, uint32_t, (size_t)net->n_tasks + 1);
    split_at_least(&s);
    split_net(&s);
    return (s.n_left == 0 || solve_left(&s, tasks, steps)) &&
           (s.n_right == 0 || solve_right(&s, tasks + s.n_left, steps));
}
