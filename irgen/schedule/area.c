/*
 * Area reduction by exchanges of neighbours, at an unchanged peak.
 *
 * The area is the sum of the live bytes after each task.  Two adjacent
 * independent tasks are exchanged if fewer bytes are live between them then and
 * neither needs more than `peak`.  Each round sweeps the order forwards, which
 * moves tasks far towards the end, and backwards, which moves them towards the
 * begin.
 */

#include "irgen/schedule/searches.h"

enum { MOST_ROUNDS = 4 };

/* Live bytes between `x` and `y`, or INT64_MAX if one needs more than `peak`.
 * The walk is before both. */
static int64_t
between(glow_order_walk *w, uint32_t x, uint32_t y, int64_t peak)
{
    bool fits = w->live + glow_order_try(w, x).during <= peak;
    int64_t live;

    glow_order_do(w, x);
    live = w->live;
    fits &= w->live + glow_order_try(w, y).during <= peak;
    glow_order_undo(w, x);
    return fits ? live : INT64_MAX;
}

/* Exchanges the tasks at k and k + 1 if that is better; true if it did. */
static bool
swap(glow_order_walk *w, uint32_t *tasks, uint32_t k, int64_t peak)
{
    uint32_t x = tasks[k], y = tasks[k + 1];

    if (w->waits[y] > 0 || between(w, y, x, peak) >= between(w, x, y, peak))
        return false;
    tasks[k] = y;
    tasks[k + 1] = x;
    return true;
}

void
glow_order_reduce_area(glow_arena *a, const glow_order_net *net,
                       uint32_t *tasks, int64_t peak)
{
    glow_order_walk *w = glow_order_walk_new(a, net);
    uint32_t n = net->n_tasks;
    bool changed = n > 1;

    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = false;
        for (uint32_t k = 0; k + 1 < n; k++) {
            changed |= swap(w, tasks, k, peak);
            glow_order_do(w, tasks[k]);
        }
        for (uint32_t k = n - 1; k-- > 0;) {
            glow_order_undo(w, tasks[k]);
            changed |= swap(w, tasks, k, peak);
        }
    }
}
