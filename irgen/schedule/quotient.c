/*
 * The quotient graph: tasks merged by union-find, and their neighbours.
 *
 * A merged task is found by path halving (Tarjan and van Leeuwen, J. ACM 31,
 * 1984).  A task in a chain has the neighbours of the chain; any other has those
 * of the problem, of which chains count by their ends.
 */

#include "irgen/schedule/chains.h"

/* A task without its buffers of zero bytes. */
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

glow_order_quotient *
glow_order_quotient_new(glow_arena *a, const glow_order_net *net)
{
    glow_order_quotient *m = GLOW_NEW(a, glow_order_quotient);
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
    m->lists[GLOW_ORDER_BACKWARD] = net->before;
    m->trees[GLOW_ORDER_FORWARD] = glow_order_dominators_new(
        a, net->given, net->n_tasks, &m->lists[GLOW_ORDER_BACKWARD]);
    m->lists[GLOW_ORDER_FORWARD] = glow_order_transpose(
        a, m->lists[GLOW_ORDER_BACKWARD], net->n_tasks, net->n_tasks);
    m->trees[GLOW_ORDER_BACKWARD] = glow_order_dominators_new(
        a, back, net->n_tasks, &m->lists[GLOW_ORDER_FORWARD]);
    m->lists[GLOW_ORDER_BACKWARD] = glow_order_transpose(
        a, m->lists[GLOW_ORDER_FORWARD], net->n_tasks, net->n_tasks);
    return m;
}

uint32_t
glow_order_representative(glow_order_quotient *m, uint32_t task)
{
    while (m->one[task] != task)
        task = m->one[task] = m->one[m->one[task]];
    return task;
}

uint32_t
glow_order_neighbour(glow_order_quotient *m, uint32_t x, int way,
                     uint32_t *cursor)
{
    const glow_order_lists *l = &m->lists[way];

    if (m->linked[x]) {
        uint32_t to = m->link[way][x];

        return (*cursor)++ == 0 && to != GLOW_ORDER_NOWHERE
                   ? glow_order_representative(m, to)
                   : GLOW_ORDER_NOWHERE;
    }
    while (l->first[x] + *cursor < l->first[x + 1]) {
        uint32_t to =
            glow_order_representative(m, l->items[l->first[x] + (*cursor)++]);

        if (!m->linked[to] || m->ends[!way][to])
            return to;
    }
    return GLOW_ORDER_NOWHERE;
}

uint32_t
glow_order_only_neighbour(glow_order_quotient *m, uint32_t x, int way)
{
    uint32_t cursor = 0, first = glow_order_neighbour(m, x, way, &cursor),
             y = first;

    while (y == first && y != GLOW_ORDER_NOWHERE)
        y = glow_order_neighbour(m, x, way, &cursor);
    return y == GLOW_ORDER_NOWHERE ? first : GLOW_ORDER_SEVERAL;
}
