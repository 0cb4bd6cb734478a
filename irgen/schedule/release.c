/*
 * Early release: tasks that only free memory run as soon as they fit.
 *
 * A task without successors and its ancestors that have not run form a closure, which
 * may run at any moment.  An order is followed, and before each of its tasks such a
 * closure of at most MOST tasks runs, in the same order, if no more bytes are live
 * after it than before, and none of its tasks needs more than `peak`:
 *
 *     d, x ──▶ filter gradient ──▶ update       d and x die with the update, wherever
 *                                               between two peaks the gradient fits
 *
 * Orders of training steps that a rule or a window of the search finds defer updates,
 * whose gradients are large, past moments of few live bytes.
 */

#include <stdlib.h>

#include "irgen/schedule/searches.h"

enum { MOST = 32 }; /* tasks in a closure */

typedef struct releaser {
    const glow_order_net *net;
    glow_order_walk *walk;
    uint32_t *turn;  /* by task: its position in the order */
    uint32_t *sinks; /* tasks without successors that have not run */
    uint32_t n_sinks;
    uint32_t *seen; /* by task: the last closure that it was in */
    uint32_t closures;
    uint32_t closure[MOST]; /* positions in the order */
    uint32_t n;
    const uint32_t *tasks;
    uint32_t *out;
    int64_t peak;
    int64_t *steps;
} releaser;

static int
by_turn(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

static void
add(releaser *r, uint32_t task)
{
    r->seen[task] = r->closures;
    r->closure[r->n++] = r->turn[task];
}

/* Collects `sink` and its ancestors that have not run; false if they are too many. */
static bool
collect(releaser *r, uint32_t sink)
{
    r->closures++;
    r->n = 0;
    add(r, sink);
    for (uint32_t k = 0; k < r->n; k++) {
        GLOW_ORDER_EACH(b, r->net->before, r->tasks[r->closure[k]]) {
            if (r->walk->ran[*b] || r->seen[*b] == r->closures)
                continue;
            if (r->n == MOST)
                return false;
            add(r, *b);
        }
    }
    glow_sort(r->closure, r->n, sizeof *r->closure, by_turn);
    return true;
}

/* Runs the closure; undoes that if it leaves more bytes, or needs too many. */
static bool
try_closure(releaser *r)
{
    glow_order_walk *w = r->walk;
    int64_t before = w->live;
    bool fits = true;
    uint32_t k = 0;

    for (; k < r->n && fits; k++) {
        uint32_t task = r->tasks[r->closure[k]];

        fits = w->live + glow_order_try(w, task).during <= r->peak;
        glow_order_do(w, task);
    }
    if (fits && w->live <= before)
        return true;
    while (k-- > 0)
        glow_order_undo(w, r->tasks[r->closure[k]]);
    return false;
}

static void
run_closures(releaser *r)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < r->n_sinks; i++) {
        uint32_t sink = r->sinks[i], at = r->walk->count;

        if (r->walk->ran[sink])
            continue;
        if (--*r->steps > 0 && collect(r, sink) && try_closure(r))
            for (uint32_t k = 0; k < r->n; k++)
                r->out[at + k] = r->tasks[r->closure[k]];
        else
            r->sinks[left++] = sink;
    }
    r->n_sinks = left;
}

uint32_t *
glow_order_release(glow_arena *a, const glow_order_net *net,
                   const uint32_t *tasks, int64_t peak, int64_t *steps)
{
    size_t n = (size_t)net->n_tasks + 1;
    releaser r = {.net = net,
                  .walk = glow_order_walk_new(a, net),
                  .turn = GLOW_NEW_ARRAY(a, uint32_t, n),
                  .sinks = GLOW_NEW_ARRAY(a, uint32_t, n),
                  .seen = GLOW_NEW_ARRAY(a, uint32_t, n),
                  .tasks = tasks,
                  .out = GLOW_NEW_ARRAY(a, uint32_t, n),
                  .peak = peak,
                  .steps = steps};

    for (uint32_t k = 0; k < net->n_tasks; k++) {
        r.turn[tasks[k]] = k;
        if (net->after.first[tasks[k]] == net->after.first[tasks[k] + 1])
            r.sinks[r.n_sinks++] = tasks[k];
    }
    for (uint32_t k = 0; k < net->n_tasks; k++) {
        if (r.walk->ran[tasks[k]])
            continue;
        run_closures(&r);
        if (r.walk->ran[tasks[k]])
            continue;
        r.out[r.walk->count] = tasks[k];
        glow_order_do(r.walk, tasks[k]);
    }
    return r.out;
}
