/*
 * Lower bounds of the peak: the need of single tasks, and minimum cuts.
 *
 * When a task runs, all of its predecessors have run and none of its successors.
 * So every order needs at least the fewest live bytes of a down-set between
 * these two, plus the bytes that the task adds: a minimum cut (min_cut.c) among
 * the tasks that may run before it or after it.
 */

#include <string.h>

#include "irgen/schedule/searches.h"

/*
 * An upper bound of the bytes that aliases save `task`: each overwritten buffer
 * serves the largest buffer that may take its place.
 */
static int64_t
most_aliased(const glow_order_net *net, uint32_t task, int64_t *largest)
{
    const glow_order_task *t = &net->p->tasks[task];
    const glow_order_buffer *buffers = net->p->buffers;
    int64_t sum = 0;

    for (uint32_t k = 0; k < t->n_aliases; k++) {
        uint32_t made = t->aliases[k].made, over = t->aliases[k].over;

        if (made == over || buffers[over].stays ||
            buffers[made].bytes > buffers[over].bytes ||
            buffers[made].bytes <= largest[over])
            continue;
        sum += buffers[made].bytes - largest[over];
        largest[over] = buffers[made].bytes;
    }
    for (uint32_t k = 0; k < t->n_aliases; k++)
        largest[t->aliases[k].over] = 0;
    return sum;
}

int64_t
glow_order_bound_by_task(glow_arena *a, const glow_order_net *net)
{
    int64_t *largest = GLOW_NEW_ARRAY(a, int64_t, (size_t)net->n_buffers + 1);
    int64_t most = 0;

    for (uint32_t i = 0; i < net->n_tasks; i++) {
        int64_t bytes = net->p->tasks[i].extra - most_aliased(net, i, largest);

        GLOW_ORDER_EACH(b, net->touches, i)
            bytes += net->p->buffers[*b].bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

glow_order_bounder *
glow_order_bounder_new(glow_arena *a, glow_order_walk *walk)
{
    const glow_order_net *net = walk->net;
    size_t tasks = net->n_tasks;
    glow_order_bounder *b = GLOW_NEW(a, glow_order_bounder);

    b->net = net;
    b->walk = walk;
    b->cut = glow_order_cut_new(a, net);
    b->stack = GLOW_NEW_ARRAY(a, uint32_t, tasks + 1);
    b->free = GLOW_NEW_ARRAY(a, uint32_t, tasks + 1);
    b->largest = GLOW_NEW_ARRAY(a, int64_t, (size_t)net->n_buffers + 1);
    for (uint32_t i = 0; i < tasks; i++)
        b->cut->side[i] = walk->ran[i] ? GLOW_ORDER_IN : GLOW_ORDER_OUT;
    return b;
}

/* Puts a free task on a side and pushes it on the stack. */
static void
put(glow_order_bounder *b, uint32_t task, uint8_t side, uint32_t *n)
{
    if (b->cut->side[task] != GLOW_ORDER_FREE)
        return;
    b->cut->side[task] = side;
    b->stack[(*n)++] = task;
}

/* Puts all ancestors, or all descendants, of `task` on a side. */
static void
mark(glow_order_bounder *b, uint32_t task, const glow_order_lists *lists,
     const glow_order_extra_edge *const *more, uint8_t side)
{
    uint32_t n = 0;

    b->stack[n++] = task;
    while (n > 0) {
        uint32_t from = b->stack[--n];

        b->cut->work++;
        GLOW_ORDER_EACH(next, *lists, from)
            put(b, *next, side, &n);
        for (const glow_order_extra_edge *m = more ? more[from] : NULL; m;
             m = m->next)
            put(b, m->task, side, &n);
    }
}

int64_t
glow_order_bound_of(glow_order_bounder *b, const uint32_t *segment, uint32_t n,
                    uint32_t task)
{
    const glow_order_net *net = b->net;
    uint8_t *side = b->cut->side;
    int64_t bytes;

    b->n_free = 0;
    b->cut->before = b->before;
    for (uint32_t k = 0; k < n; k++)
        side[segment[k]] = GLOW_ORDER_FREE;
    side[task] = GLOW_ORDER_OUT;
    mark(b, task, &net->before, b->before, GLOW_ORDER_IN);
    mark(b, task, &net->after, b->after, GLOW_ORDER_OUT);
    for (uint32_t k = 0; k < n; k++) {
        if (side[segment[k]] == GLOW_ORDER_FREE)
            b->free[b->n_free++] = segment[k];
        if (side[segment[k]] == GLOW_ORDER_IN)
            glow_order_do(b->walk, segment[k]);
    }
    bytes = b->walk->live + net->p->tasks[task].extra -
            most_aliased(net, task, b->largest);
    GLOW_ORDER_EACH(t, net->touches, task)
        if (b->walk->left[*t] ==
            net->users.first[*t + 1] - net->users.first[*t])
            bytes += net->p->buffers[*t].bytes;
    for (uint32_t k = n; k-- > 0;)
        if (b->walk->ran[segment[k]])
            glow_order_undo(b->walk, segment[k]);
    b->cut->work += n;
    return bytes + glow_order_cut_least(b->cut, b->free, b->n_free, task);
}

int64_t
glow_order_bound_by_cut(glow_arena *a, glow_order_walk *walk,
                        const uint32_t *segment, uint32_t n, int64_t bound,
                        int64_t *steps)
{
    glow_order_bounder *b = glow_order_bounder_new(a, walk);
    int64_t *during = GLOW_NEW_ARRAY(a, int64_t, n);

    for (uint32_t k = 0; k < n; k++) {
        during[k] = walk->live + glow_order_try(walk, segment[k]).during;
        glow_order_do(walk, segment[k]);
    }
    for (uint32_t k = n; k-- > 0;)
        glow_order_undo(walk, segment[k]);
    for (uint32_t k = 0; k < n && b->cut->work < *steps; k++) {
        if (during[k] <= bound)
            continue;
        int64_t bytes = glow_order_bound_of(b, segment, n, segment[k]);

        bound = bytes > bound ? bytes : bound;
    }
    *steps -= b->cut->work;
    return bound;
}
