/*
 * List scheduling: the ready task that leaves the fewest live bytes runs next.
 *
 * Ties are broken by the need while the task runs, then by the given order.  The
 * bytes of a ready task change only when one of its buffers is touched for the
 * first time or has one user left; each happens once for a buffer and concerns
 * its users alone.  A heap receives a task again whenever its bytes change, so
 * that time is n log n over the lists.
 */

#include "irgen/schedule/order.h"

typedef struct entry {
    glow_order_effect effect;
    uint32_t task, turn;
} entry;

typedef struct greedy {
    glow_arena *a;
    const glow_order_net *net;
    glow_order_walk *walk;
    uint32_t *turn; /* by task: its position in the given order */
    entry *heap;
    size_t count, cap;
} greedy;

static bool
is_before(const entry *x, const entry *y)
{
    if (x->effect.after != y->effect.after)
        return x->effect.after < y->effect.after;
    if (x->effect.during != y->effect.during)
        return x->effect.during < y->effect.during;
    return x->turn < y->turn;
}

static void
push(greedy *g, uint32_t task)
{
    entry e = {glow_order_try(g->walk, task), task, g->turn[task]};
    size_t i = g->count;

    g->heap =
        glow_arena_grow(g->a, g->heap, g->count++, &g->cap, sizeof(entry));
    for (; i > 0 && is_before(&e, &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
        g->heap[i] = g->heap[(i - 1) / 2];
    g->heap[i] = e;
}

static entry
pop(greedy *g)
{
    entry top = g->heap[0], last = g->heap[--g->count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= g->count)
            break;
        if (child + 1 < g->count &&
            is_before(&g->heap[child + 1], &g->heap[child]))
            child++;
        if (!is_before(&g->heap[child], &last))
            break;
        g->heap[i] = g->heap[child];
        i = child;
    }
    g->heap[i] = last;
    return top;
}

/* Runs a task, and pushes tasks that became ready or whose bytes changed. */
static void
run(greedy *g, uint32_t task)
{
    glow_order_walk *w = g->walk;

    glow_order_do(w, task);
    GLOW_ORDER_EACH(next, g->net->after, task)
        if (w->waits[*next] == 0)
            push(g, *next);
    GLOW_ORDER_EACH(b, g->net->touches, task) {
        uint32_t users = g->net->users.first[*b + 1] - g->net->users.first[*b];

        if (w->left[*b] != 1 && w->left[*b] + 1 != users)
            continue;
        GLOW_ORDER_EACH(user, g->net->users, *b)
            if (!w->ran[*user] && w->waits[*user] == 0)
                push(g, *user);
    }
}

uint32_t *
glow_order_greedy(glow_arena *a, const glow_order_net *net)
{
    size_t n = net->n_tasks;
    greedy g = {.a = a, .net = net};
    uint32_t *order = GLOW_NEW_ARRAY(a, uint32_t, n + 1);

    g.walk = glow_order_walk_new(a, net);
    g.turn = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    for (uint32_t k = 0; k < n; k++)
        g.turn[net->given[k]] = k;
    for (uint32_t k = 0; k < g.walk->n_ready; k++)
        push(&g, g.walk->ready[k]);
    while (g.count > 0) {
        uint32_t task = pop(&g).task;

        if (g.walk->ran[task])
            continue;
        order[g.walk->count] = task;
        run(&g, task);
    }
    return order;
}
