/*
 * Tasks that became one, and what is next to them.
 *
 * What a task became is found over what that became, each way halved when it is
 * gone (Tarjan and van Leeuwen, J. ACM 31, 1984).  One in a chain has the
 * neighbours of the chain; others those of the problem, of chains their ends.
 */

#include "irgen/order_stretch.h"

/* A task without buffers of no bytes. */
static glow_order_task
task_of(glow_arena *a, const glow_order_net *net, uint32_t task)
{
    const glow_order_buffer *buffers = net->p->buffers;
    glow_order_task t = net->p->tasks[task];
    glow_order_alias *aliases =
        GLOW_NEW_ARRAY(a, glow_order_alias, (size_t)t.n_aliases + 1);
    uint32_t first = net->touches.first[task], n = 0;

    t.touches = net->touches.items + first;
    t.n_touches = net->touches.first[task + 1] - first;
    for (uint32_t k = 0; k < t.n_aliases; k++)
        if (buffers[t.aliases[k].made].bytes &&
            buffers[t.aliases[k].over].bytes)
            aliases[n++] = t.aliases[k];
    t.aliases = aliases;
    t.n_aliases = n;
    return t;
}

glow_order_merger *
glow_order_merger_new(glow_arena *a, const glow_order_net *net)
{
    glow_order_merger *m = GLOW_NEW(a, glow_order_merger);
    size_t n = (size_t)net->n_tasks + 2, buffers = (size_t)net->n_buffers + 1;
    uint32_t *back = GLOW_NEW_ARRAY(a, uint32_t, n);
    uint32_t **by_task[] = {&m->one,     &m->follow, &m->tail, &m->link[0],
                            &m->link[1], &m->nodes,  &m->seen, &m->place};

    m->a = a;
    m->scratch = glow_arena_new();
    m->net = net;
    for (size_t k = 0; k < sizeof by_task / sizeof *by_task; k++)
        *by_task[k] = GLOW_NEW_ARRAY(a, uint32_t, n);
    m->linked = GLOW_NEW_ARRAY(a, bool, n);
    m->ends[0] = GLOW_NEW_ARRAY(a, bool, n);
    m->ends[1] = GLOW_NEW_ARRAY(a, bool, n);
    m->now = GLOW_NEW_ARRAY(a, glow_order_task, n);
    m->number = GLOW_NEW_ARRAY(a, uint32_t, buffers);
    m->named = GLOW_NEW_ARRAY(a, uint32_t, buffers);
    for (uint32_t k = 0; k < net->n_tasks; k++) {
        back[net->n_tasks - 1 - k] = net->given[k];
        m->one[k] = m->tail[k] = k;
        m->now[k] = task_of(a, net, k);
    }
    m->lists[GLOW_ORDER_BACK] = net->before;
    m->trees[GLOW_ORDER_FORTH] = glow_order_tree_new(
        a, net->given, net->n_tasks, &m->lists[GLOW_ORDER_BACK]);
    m->lists[GLOW_ORDER_FORTH] = glow_order_turn(a, m->lists[GLOW_ORDER_BACK],
                                                 net->n_tasks, net->n_tasks);
    m->trees[GLOW_ORDER_BACK] =
        glow_order_tree_new(a, back, net->n_tasks, &m->lists[GLOW_ORDER_FORTH]);
    m->lists[GLOW_ORDER_BACK] = glow_order_turn(a, m->lists[GLOW_ORDER_FORTH],
                                                net->n_tasks, net->n_tasks);
    return m;
}

uint32_t
glow_order_one(glow_order_merger *m, uint32_t task)
{
    while (m->one[task] != task)
        task = m->one[task] = m->one[m->one[task]];
    return task;
}

uint32_t
glow_order_neighbour(glow_order_merger *m, uint32_t x, int way,
                     uint32_t *cursor)
{
    const glow_order_lists *l = &m->lists[way];

    if (m->linked[x]) {
        uint32_t to = m->link[way][x];

        return (*cursor)++ == 0 && to != GLOW_ORDER_NONE ? glow_order_one(m, to)
                                                         : GLOW_ORDER_NONE;
    }
    while (l->first[x] + *cursor < l->first[x + 1]) {
        uint32_t to = glow_order_one(m, l->items[l->first[x] + (*cursor)++]);

        if (!m->linked[to] || m->ends[!way][to])
            return to;
    }
    return GLOW_ORDER_NONE;
}

uint32_t
glow_order_only(glow_order_merger *m, uint32_t x, int way)
{
    uint32_t cursor = 0, first = glow_order_neighbour(m, x, way, &cursor),
             y = first;

    while (y == first && y != GLOW_ORDER_NONE)
        y = glow_order_neighbour(m, x, way, &cursor);
    return y == GLOW_ORDER_NONE ? first : GLOW_ORDER_MANY;
}
