/*
 * Dependences of the nodes of a graph: def-use edges, and anti-dependences from
 * readers of a placeholder, also through views, to the Save that overwrites it.
 *
 * Two Saves that swap placeholders depend on each other.  Between nodes that are
 * on such a cycle, or depend on one, only anti-dependences from a node that is
 * earlier in the function are kept; irgen then keeps a copy.
 */

#include <string.h>

#include "irgen/sharing/model.h"

typedef struct waits {
    const glow_values *v;
    glow_arena *arena;
    glow_order_task *tasks;
    uint32_t *all; /* predecessors of all tasks, one task after the other */
    size_t count, cap;
    glow_value **views; /* worklist of views of a placeholder */
    size_t cap_views;
    bool *in_ring; /* by node: on a cycle, or after one; NULL: not known */
} waits;

static void
wait_for(waits *w, uint32_t node)
{
    w->all =
        glow_arena_grow(w->arena, w->all, w->count, &w->cap, sizeof *w->all);
    w->all[w->count++] = node;
}

static bool
writes(const glow_node *n, const glow_use *u)
{
    return u->index >= 0 && glow_is_written(n, u->index);
}

/* Anti-dependences: node `i` waits for the readers of placeholder `written`. */
static void
wait_for_readers(waits *w, uint32_t i, glow_value *written)
{
    const glow_node *n = w->v->nodes[i];
    size_t count = 0;

    for (glow_value *v = written; v; v = count ? w->views[--count] : NULL)
        GLOW_FOR_EACH_USE(u, v) {
            uint32_t at = glow_node_number(w->v, u->user);

            if (u->user->func != n->func || u->user == n || writes(u->user, u))
                continue;
            if (glow_is_view(u->user)) {
                w->views = glow_arena_grow(w->arena, w->views, count,
                                           &w->cap_views, sizeof *w->views);
                w->views[count++] = u->user->out[0];
            } else if (!w->in_ring || !w->in_ring[i] || !w->in_ring[at] ||
                       at < i) {
                wait_for(w, at);
            }
        }
}

static void
find_waits(waits *w)
{
    uint32_t *starts = GLOW_NEW_ARRAY(w->arena, uint32_t, w->v->n_nodes + 1u);

    w->count = 0;
    for (uint32_t i = 0; i < w->v->n_nodes; i++) {
        const glow_node *n = w->v->nodes[i];

        starts[i] = (uint32_t)w->count;
        for (int k = -1; k < n->n_in; k++) {
            glow_value *in = k < 0 ? n->pred : n->in[k];

            if (in && in->def)
                wait_for(w, glow_node_number(w->v, in->def));
            else if (in && k >= 0 && glow_is_written(n, k))
                wait_for_readers(w, i, in);
        }
    }
    for (uint32_t i = 0; i < w->v->n_nodes; i++) {
        uint32_t end =
            i + 1 < w->v->n_nodes ? starts[i + 1] : (uint32_t)w->count;

        w->tasks[i].before = w->all ? w->all + starts[i] : NULL;
        w->tasks[i].n_before = end - starts[i];
    }
}

/* Topological sort (Kahn); sets in_ring of the nodes that it cannot order.  False
   if there are none. */
static bool
find_rings(waits *w)
{
    uint32_t n = w->v->n_nodes, done = 0, ready = 0;
    uint32_t *left = GLOW_NEW_ARRAY(w->arena, uint32_t, n);
    uint32_t *starts = GLOW_NEW_ARRAY(w->arena, uint32_t, (size_t)n + 2);
    uint32_t *after = GLOW_NEW_ARRAY(w->arena, uint32_t, w->count);
    uint32_t *queue = GLOW_NEW_ARRAY(w->arena, uint32_t, n);

    for (size_t k = 0; k < w->count; k++)
        starts[w->all[k] + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        starts[i] += starts[i - 1];
    for (uint32_t i = 0; i < n; i++) {
        left[i] = w->tasks[i].n_before;
        for (uint32_t k = 0; k < left[i]; k++)
            after[starts[w->tasks[i].before[k] + 1]++] = i;
        if (left[i] == 0)
            queue[ready++] = i;
    }
    while (done < ready) {
        uint32_t i = queue[done++];

        for (uint32_t k = starts[i]; k < starts[i + 1]; k++)
            if (--left[after[k]] == 0)
                queue[ready++] = after[k];
    }
    w->in_ring = GLOW_NEW_ARRAY(w->arena, bool, n);
    for (uint32_t i = 0; i < n; i++)
        w->in_ring[i] = left[i] > 0;
    return ready < n;
}

void
glow_memory_waits(glow_memory_model *m, glow_arena *a)
{
    waits w = {.v = m->values, .arena = a};

    w.tasks = GLOW_NEW_ARRAY(w.arena, glow_order_task, w.v->n_nodes);
    find_waits(&w);
    if (find_rings(&w))
        find_waits(&w);
    m->problem.tasks = w.tasks;
    m->problem.n_tasks = w.v->n_nodes;
}
