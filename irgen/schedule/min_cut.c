/*
 * The down-set with the fewest live bytes, by a minimum cut.
 *
 * M is a sum of terms bytes * [some, but not all, users have run], so it is the
 * cut of a network whose source side is the down-set:
 *
 *     task ──∞──▶ each predecessor             a down-set holds them
 *     user ──∞──▶ begun ──bytes──▶ ended ──∞──▶ user
 *
 * `begun` is on the source side if one user is, `ended` only if all are.  A user
 * on side IN, or a buffer that stays, ties one of them to its terminal.  Only
 * free tasks and their buffers become nodes.  Few phases of the maximum flow
 * (flow.c) on such networks.
 */

#include <string.h>

#include "irgen/schedule/flow.h"
#include "irgen/schedule/searches.h"

enum { SOURCE = GLOW_FLOW_SOURCE, SINK = GLOW_FLOW_SINK };

static const int64_t unlimited = GLOW_FLOW_UNLIMITED;

/* Flow pushed through an arc. */
typedef struct push {
    uint32_t arc;
    int64_t bytes;
} push;

typedef struct workspace {
    glow_order_cut cut; /* the public part */
    glow_arena *a;
    const glow_order_net *net;
    uint32_t *node;  /* by free task */
    uint32_t *stamp; /* by buffer: the last call that added it */
    uint32_t call;
    glow_flow flow;
    push *pushed; /* flow of a question, to be undone */
    size_t n_pushed, cap_pushed;
} workspace;

glow_order_cut *
glow_order_cut_new(glow_arena *a, const glow_order_net *net)
{
    workspace *w = GLOW_NEW(a, workspace);
    size_t tasks = net->n_tasks, buffers = net->n_buffers;

    w->a = a;
    w->net = net;
    w->cut.side = GLOW_NEW_ARRAY(a, uint8_t, tasks + 1);
    w->node = GLOW_NEW_ARRAY(a, uint32_t, tasks + 1);
    w->stamp = GLOW_NEW_ARRAY(a, uint32_t, buffers + 1);
    glow_flow_init(&w->flow, a, GLOW_FLOW_FIRST + tasks + 2 * buffers);
    return &w->cut;
}

/* Adds the term of a buffer; returns its bytes if all free tasks are OUT. */
static int64_t
add_buffer(workspace *w, uint32_t b)
{
    const uint8_t *side = w->cut.side;
    const glow_order_buffer *buffer = &w->net->p->buffers[b];
    bool begun = false, ends = !buffer->stays;
    uint32_t from, to;

    GLOW_ORDER_EACH(user, w->net->users, b) {
        begun |= side[*user] == GLOW_ORDER_IN;
        ends &= side[*user] != GLOW_ORDER_OUT;
    }
    if (begun && !ends)
        return buffer->bytes;
    from = begun ? SOURCE : glow_flow_add_node(&w->flow);
    to = ends ? glow_flow_add_node(&w->flow) : SINK;
    glow_flow_add_arc(&w->flow, from, to, buffer->bytes);
    GLOW_ORDER_EACH(user, w->net->users, b) {
        if (side[*user] != GLOW_ORDER_FREE)
            continue;
        if (!begun)
            glow_flow_add_arc(&w->flow, w->node[*user], from, unlimited);
        if (ends)
            glow_flow_add_arc(&w->flow, to, w->node[*user], unlimited);
    }
    return begun ? buffer->bytes : 0;
}

static const glow_order_extra_edge *
more_of(const workspace *w, uint32_t task)
{
    return w->cut.before ? w->cut.before[task] : NULL;
}

/* Builds the network; returns M of its buffers if all free tasks are OUT. */
static int64_t
build(workspace *w, const uint32_t *free, uint32_t n, uint32_t running)
{
    int64_t before = 0;

    glow_flow_clear(&w->flow);
    w->call++;
    if (running != GLOW_ORDER_NO_TASK)
        GLOW_ORDER_EACH(b, w->net->touches, running)
            w->stamp[*b] = w->call;
    for (uint32_t k = 0; k < n; k++)
        w->node[free[k]] = glow_flow_add_node(&w->flow);
    for (uint32_t k = 0; k < n; k++) {
        GLOW_ORDER_EACH(b, w->net->before, free[k])
            if (w->cut.side[*b] == GLOW_ORDER_FREE)
                glow_flow_add_arc(&w->flow, w->node[free[k]], w->node[*b],
                                  unlimited);
        for (const glow_order_extra_edge *m = more_of(w, free[k]); m;
             m = m->next)
            if (w->cut.side[m->task] == GLOW_ORDER_FREE)
                glow_flow_add_arc(&w->flow, w->node[free[k]], w->node[m->task],
                                  unlimited);
        GLOW_ORDER_EACH(b, w->net->touches, free[k])
            if (w->stamp[*b] != w->call) {
                w->stamp[*b] = w->call;
                before += add_buffer(w, *b);
            }
    }
    return before;
}

/* Puts the tasks OUT from which the sink is reachable, the others IN. */
static void
take_sides(workspace *w, const uint32_t *free, uint32_t n)
{
    uint32_t count = 0;

    memset(w->flow.level, 0, w->flow.n_nodes * sizeof(*w->flow.level));
    w->flow.level[SINK] = 1;
    w->flow.queue[count++] = SINK;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = w->flow.first[w->flow.queue[k]]; i;
             i = w->flow.arcs[i].next) {
            uint32_t from = w->flow.arcs[i].to;

            w->cut.work++;
            if (w->flow.level[from] || w->flow.arcs[i ^ 1].room == 0)
                continue;
            w->flow.level[from] = 1;
            w->flow.queue[count++] = from;
        }
    for (uint32_t k = 0; k < n; k++)
        w->cut.side[free[k]] =
            w->flow.level[w->node[free[k]]] ? GLOW_ORDER_OUT : GLOW_ORDER_IN;
}

int64_t
glow_order_cut_least(glow_order_cut *cut, const uint32_t *free, uint32_t n,
                     uint32_t running)
{
    workspace *w = (workspace *)cut;
    int64_t before = build(w, free, n, running);
    int64_t flow = glow_flow_push(&w->flow);

    w->cut.work += w->flow.work;
    take_sides(w, free, n);
    return flow - before;
}

/* Questions about the least set: its increase if a task changes its side. */

/* Residual capacity of an arc, or of its reverse. */
static int64_t
room_to(const workspace *w, uint32_t i, bool back)
{
    return w->flow.arcs[back ? i ^ 1 : i].room;
}

/*
 * Residual capacity of a shortest path from `node` to the sink, or, if `back`,
 * from the source to `node`; 0 if there is none.  next[] is the arc to each node
 * of the path.
 */
static int64_t
find_way(workspace *w, uint32_t node, bool back)
{
    uint32_t end = back ? SOURCE : SINK, count = 0;
    int64_t most = unlimited;

    memset(w->flow.level, 0, w->flow.n_nodes * sizeof(*w->flow.level));
    w->flow.level[node] = 1;
    w->flow.queue[count++] = node;
    for (uint32_t k = 0; k < count && !w->flow.level[end]; k++) {
        uint32_t from = w->flow.queue[k];

        for (uint32_t i = w->flow.first[from]; i; i = w->flow.arcs[i].next) {
            uint32_t to = w->flow.arcs[i].to;

            w->cut.work++;
            if (w->flow.level[to] || room_to(w, i, back) == 0)
                continue;
            w->flow.level[to] = 1;
            w->flow.next[to] = i;
            w->flow.queue[count++] = to;
        }
    }
    if (!w->flow.level[end])
        return 0;
    for (uint32_t at = end; at != node;
         at = w->flow.arcs[w->flow.next[at] ^ 1].to)
        if (room_to(w, w->flow.next[at], back) < most)
            most = room_to(w, w->flow.next[at], back);
    return most;
}

static void
send(workspace *w, uint32_t i, int64_t bytes)
{
    if (w->flow.arcs[i].room != unlimited)
        w->flow.arcs[i].room -= bytes;
    if (w->flow.arcs[i ^ 1].room != unlimited)
        w->flow.arcs[i ^ 1].room += bytes;
}

/* Pushes flow until it exceeds `most` or no path is left; returns the flow. */
static int64_t
send_all(workspace *w, uint32_t node, bool back, int64_t most)
{
    int64_t sum = 0, bytes;

    w->n_pushed = 0;
    while (sum <= most && (bytes = find_way(w, node, back)) > 0) {
        if (bytes == unlimited)
            return unlimited;
        for (uint32_t at = back ? SOURCE : SINK; at != node;
             at = w->flow.arcs[w->flow.next[at] ^ 1].to) {
            uint32_t i = w->flow.next[at] ^ (back ? 1u : 0u);

            send(w, i, bytes);
            w->pushed = glow_arena_grow(w->a, w->pushed, w->n_pushed,
                                        &w->cap_pushed, sizeof(push));
            w->pushed[w->n_pushed++] = (push){i, bytes};
        }
        sum += bytes;
    }
    return sum;
}

bool
glow_order_cut_allows(glow_order_cut *cut, uint32_t task, uint8_t side,
                      int64_t more)
{
    workspace *w = (workspace *)cut;
    int64_t sum = send_all(w, w->node[task], side == GLOW_ORDER_OUT, more);

    for (size_t k = w->n_pushed; k-- > 0;)
        send(w, w->pushed[k].arc ^ 1, w->pushed[k].bytes);
    return sum <= more;
}

bool
glow_order_cut_moves(const glow_order_cut *cut, uint32_t task)
{
    const workspace *w = (const workspace *)cut;

    return w->flow.level[w->node[task]] > 0;
}

int64_t
glow_order_cut_put(glow_order_cut *cut, uint32_t task, uint8_t side)
{
    workspace *w = (workspace *)cut;
    bool out = side == GLOW_ORDER_OUT;
    uint32_t node = w->node[task];
    int64_t sum = send_all(w, node, out, unlimited - 1);

    glow_flow_add_arc(&w->flow, out ? node : SOURCE, out ? SINK : node,
                      unlimited);
    if (sum < unlimited)
        w->flow.arcs[w->flow.n_arcs - 1].room = sum;
    return sum;
}
