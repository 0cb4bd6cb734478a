/* Dinic's algorithm for the maximum flow; few phases on networks of tasks. */

#include "irgen/schedule/flow.h"

#include <string.h>

void
glow_flow_init(glow_flow *w, glow_arena *a, size_t nodes)
{
    *w = (glow_flow){.a = a};
    w->first = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    w->next = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    w->level = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    w->queue = GLOW_NEW_ARRAY(a, uint32_t, nodes);
}

void
glow_flow_clear(glow_flow *w)
{
    w->n_nodes = 0;
    w->n_arcs = 2;
    if (w->cap_arcs == 0)
        w->arcs = glow_arena_grow(w->a, NULL, 0, &w->cap_arcs, sizeof *w->arcs);
    while (w->n_nodes < GLOW_FLOW_FIRST)
        glow_flow_add_node(w);
}

uint32_t
glow_flow_add_node(glow_flow *w)
{
    w->first[w->n_nodes] = 0;
    return w->n_nodes++;
}

static void
add_half(glow_flow *w, uint32_t from, uint32_t to, int64_t room)
{
    w->arcs = glow_arena_grow(w->a, w->arcs, w->n_arcs, &w->cap_arcs,
                              sizeof *w->arcs);
    w->arcs[w->n_arcs] = (glow_arc){to, w->first[from], room};
    w->first[from] = (uint32_t)w->n_arcs++;
}

void
glow_flow_add_arc(glow_flow *w, uint32_t from, uint32_t to, int64_t room)
{
    add_half(w, from, to, room);
    add_half(w, to, from, 0);
}

/* Sets the levels by breadth-first search from the source; false if the sink is
 * not reachable. */
static bool
find_levels(glow_flow *w)
{
    uint32_t count = 0;

    memset(w->level, 0, w->n_nodes * sizeof(*w->level));
    w->level[GLOW_FLOW_SOURCE] = 1;
    w->queue[count++] = GLOW_FLOW_SOURCE;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t from = w->queue[k];

        for (uint32_t i = w->first[from]; i; i = w->arcs[i].next) {
            uint32_t to = w->arcs[i].to;

            w->work++;
            if (w->arcs[i].room == 0 || w->level[to])
                continue;
            w->level[to] = w->level[from] + 1;
            w->queue[count++] = to;
        }
    }
    return w->level[GLOW_FLOW_SINK] != 0;
}

/* Augments along the path of `n` arcs in the queue; returns the flow, and shortens
 * the path to end before its first saturated arc. */
static int64_t
fill_path(glow_flow *w, uint32_t *n)
{
    int64_t most = GLOW_FLOW_UNLIMITED;
    uint32_t keep = *n;

    for (uint32_t k = 0; k < *n; k++)
        if (w->arcs[w->queue[k]].room < most)
            most = w->arcs[w->queue[k]].room;
    for (uint32_t k = *n; k-- > 0;) {
        glow_arc *to = &w->arcs[w->queue[k]], *back = &w->arcs[w->queue[k] ^ 1];

        if (to->room != GLOW_FLOW_UNLIMITED)
            to->room -= most;
        if (back->room != GLOW_FLOW_UNLIMITED)
            back->room += most;
        if (to->room == 0)
            keep = k;
    }
    *n = keep;
    return most;
}

/* Computes a blocking flow of the level graph. */
static int64_t
fill_level(glow_flow *w)
{
    int64_t sum = 0;
    uint32_t n = 0, at = GLOW_FLOW_SOURCE;

    memcpy(w->next, w->first, w->n_nodes * sizeof(*w->next));
    for (;;) {
        uint32_t i = w->next[at];

        w->work++;
        if (at == GLOW_FLOW_SINK) {
            sum += fill_path(w, &n);
            at = n > 0 ? w->arcs[w->queue[n] ^ 1].to : GLOW_FLOW_SOURCE;
        } else if (i == 0 && at == GLOW_FLOW_SOURCE) {
            return sum;
        } else if (i == 0) { /* a dead end of the level graph */
            w->level[at] = 0;
            at = w->arcs[w->queue[--n] ^ 1].to;
        } else if (w->arcs[i].room > 0 &&
                   w->level[w->arcs[i].to] == w->level[at] + 1) {
            w->queue[n++] = i;
            at = w->arcs[i].to;
        } else {
            w->next[at] = w->arcs[i].next;
        }
    }
}

int64_t
glow_flow_push(glow_flow *w)
{
    int64_t flow = 0;

    w->work = 0;
    while (find_levels(w))
        flow += fill_level(w);
    return flow;
}
