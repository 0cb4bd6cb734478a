/*
 * An order of a stretch that is best whatever runs meanwhile.
 *
 * Let M be the bytes alive of the stretch alone, which add up with those of
 * what else runs.  Of two orders of it one is no worse in any company if what
 * the other needs can be followed, step by step and at the same or a better
 * moment for the rest, with no more bytes.
 *
 * Let X be a down-set with the fewest bytes of all.  Any order D1, D2... can be
 * replaced by one through X: when the rest is lowest, say beside Dk, go on from
 * X & Dk through X & Dk+1... to X, and through X | D1... to X | Dk.  M being
 * submodular (glow/order.h), neither side has more than D had, at a moment when
 * the rest was no lower.  So X parts the stretch in two.
 *
 * Up to X, the search begins with the least budget there is.  If it goes on to
 * S at a budget H, and then raises it, all that can be reached below has more
 * alive than where it began, and so it is no loss to wait there until the rest
 * is lowest before the moment that needs H, and to go to S in one go: nothing
 * between has less than S.  The same holds from the end back to X.  These are
 * the hills and valleys of Liu (SIAM J. Algebraic Discrete Methods 8, 1987),
 * who has them for trees, and of Kayaaslan, Lambert, Marchal and Ucar
 * (Theoretical Computer Science 707, 2018), for series-parallel graphs whose
 * bytes are of single arrows; here a result may have many readers, as only the
 * search for the stretch's own order needs to know.
 */

#include <string.h>

#include "irgen/order_cut.h"
#include "irgen/order_flood.h"
#include "irgen/order_settle.h"

/* The stretch, and where in its order it is parted. */
typedef struct settler {
    glow_arena *a;
    const glow_order_net *net; /* what is behind X waits for all of X */
    uint32_t *order;
    uint32_t n_left, n_right;
} settler;

/* Orders the tasks such that those of a least down-set come first. */
static void
part_at_least(settler *s)
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
    s->order[count++] = net->n_tasks; /* between both */
    for (uint32_t k = 0; k < n; k++)
        if (cut->side[free[k]] != GLOW_ORDER_IN)
            s->order[count++] = free[k];
    s->order[count] = last;
}

/* Adds a task between both sides. */
static void
part_net(settler *s)
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

/* Searches the `n` tasks from place `first` of an order, from the least budget
 * on. */
static const uint32_t *
search(glow_arena *a, const glow_order_net *net, const uint32_t *order,
       uint32_t first, uint32_t n, int64_t *steps)
{
    glow_order_flood *f = glow_order_flood_new(a, net, order);

    f->beat = INT64_MAX;
    glow_order_flood_start(f, first, n);
    return glow_order_flood_run(f, steps) == GLOW_ORDER_FOUND ? f->tasks : NULL;
}

static bool
settle_left(const settler *s, uint32_t *tasks, int64_t *steps)
{
    const uint32_t *found = search(s->a, s->net, s->order, 1, s->n_left, steps);

    for (uint32_t k = 0; found && k < s->n_left; k++)
        tasks[k] = found[k];
    return found != NULL;
}

static bool
settle_right(const settler *s, uint32_t *tasks, int64_t *steps)
{
    uint32_t n = s->net->n_tasks;
    uint32_t *order = GLOW_NEW_ARRAY(s->a, uint32_t, (size_t)n + 1);
    const uint32_t *found;

    order[0] = n; /* what turning adds */
    for (uint32_t k = 0; k < n; k++)
        order[n - k] = s->order[k];
    found = search(s->a, glow_order_net_reversed(s->a, s->net), order, 2,
                   s->n_right, steps);
    for (uint32_t k = 0; found && k < s->n_right; k++)
        tasks[s->n_right - 1 - k] = found[k];
    return found != NULL;
}

bool
glow_order_settle(glow_arena *a, const glow_order_net *net, uint32_t *tasks,
                  int64_t *steps)
{
    settler s = {.a = a, .net = net};

    s.order = GLOW_NEW_ARRAY(a, uint32_t, (size_t)net->n_tasks + 1);
    part_at_least(&s);
    part_net(&s);
    return (s.n_left == 0 || settle_left(&s, tasks, steps)) &&
           (s.n_right == 0 || settle_right(&s, tasks + s.n_left, steps));
}
