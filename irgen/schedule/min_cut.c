/*
 * The down-set with the fewest live bytes, by a minimum cut (Dinic, 1970).
 *
 * M is a sum of terms bytes * [some, but not all, users have run], so it is the
 * cut of a network whose source side is the down-set:
 *
 *     task ──∞──▶ each predecessor             a down-set holds them
 *     user ──∞──▶ begun ──bytes──▶ ended ──∞──▶ user
 *
 * `begun` is on the source side if one user is, `ended` only if all are.  A user
 * on side IN, or a buffer that stays, ties one of them to its terminal.  Only
 * free tasks and their buffers become nodes.  Dinic's algorithm with an explicit
 * stack; few phases on such networks.
 */

#include <string.h>

#include "irgen/schedule/searches.h"

enum { SOURCE, SINK, FIRST_NODE };

static const int64_t unlimited = INT64_MAX;

typedef struct arc {
    uint32_t to, next; /* the next arc from the same node; 0: none */
    int64_t room;
} arc;

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
    arc *arcs; /* each followed by its reverse, from index 2 */
    size_t n_arcs, cap_arcs;
    uint32_t *first, *next, *level; /* by node */
    uint32_t n_nodes;
    uint32_t *queue; /* nodes of a phase, or the arcs of a path */
    push *pushed;    /* flow of a question, to be undone */
    size_t n_pushed, cap_pushed;
} workspace;

glow_order_cut *
glow_order_cut_new(glow_arena *a, const glow_order_net *net)
{
    workspace *w = GLOW_NEW(a, workspace);
    size_t tasks = net->n_tasks, buffers = net->n_buffers;
    size_t nodes = FIRST_NODE + tasks + 2 * buffers;

    w->a = a;
    w->net = net;
    w->cut.side = GLOW_NEW_ARRAY(a, uint8_t, tasks + 1);
    w->node = GLOW_NEW_ARRAY(a, uint32_t, tasks + 1);
    w->stamp = GLOW_NEW_ARRAY(a, uint32_t, buffers + 1);
    w->first = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    w->next = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    w->level = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    w->queue = GLOW_NEW_ARRAY(a, uint32_t, nodes);
    return &w->cut;
}

static uint32_t
add_node(workspace *w)
{
    w->first[w->n_nodes] = 0;
    return w->n_nodes++;
}

static void
add_half(workspace *w, uint32_t from, uint32_t to, int64_t room)
{
    w->arcs =
        glow_arena_grow(w->a, w->arcs, w->n_arcs, &w->cap_arcs, sizeof(arc));
    w->arcs[w->n_arcs] = (arc){to, w->first[from], room};
    w->first[from] = (uint32_t)w->n_arcs++;
}

static void
add_arc(workspace *w, uint32_t from, uint32_t to, int64_t room)
{
    add_half(w, from, to, room);
    add_half(w, to, from, 0);
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
    from = begun ? SOURCE : add_node(w);
    to = ends ? add_node(w) : SINK;
    add_arc(w, from, to, buffer->bytes);
    GLOW_ORDER_EACH(user, w->net->users, b) {
        if (side[*user] != GLOW_ORDER_FREE)
            continue;
        if (!begun)
            add_arc(w, w->node[*user], from, unlimited);
        if (ends)
            add_arc(w, to, w->node[*user], unlimited);
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

    w->n_nodes = 0;
    w->n_arcs = 2;
    w->call++;
    if (w->cap_arcs == 0)
        w->arcs = glow_arena_grow(w->a, NULL, 0, &w->cap_arcs, sizeof(arc));
    if (running != GLOW_ORDER_NO_TASK)
        GLOW_ORDER_EACH(b, w->net->touches, running)
            w->stamp[*b] = w->call;
    while (w->n_nodes < FIRST_NODE)
        add_node(w);
    for (uint32_t k = 0; k < n; k++)
        w->node[free[k]] = add_node(w);
    for (uint32_t k = 0; k < n; k++) {
        GLOW_ORDER_EACH(b, w->net->before, free[k])
            if (w->cut.side[*b] == GLOW_ORDER_FREE)
                add_arc(w, w->node[free[k]], w->node[*b], unlimited);
        for (const glow_order_extra_edge *m = more_of(w, free[k]); m;
             m = m->next)
            if (w->cut.side[m->task] == GLOW_ORDER_FREE)
                add_arc(w, w->node[free[k]], w->node[m->task], unlimited);
        GLOW_ORDER_EACH(b, w->net->touches, free[k])
            if (w->stamp[*b] != w->call) {
                w->stamp[*b] = w->call;
                before += add_buffer(w, *b);
            }
    }
    return before;
}

/* Sets the levels by breadth-first search from the source; false if the sink is
 * not reachable. */
static bool
find_levels(workspace *w)
{
    uint32_t count = 0;

    memset(w->level, 0, w->n_nodes * sizeof(*w->level));
    w->level[SOURCE] = 1;
    w->queue[count++] = SOURCE;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t from = w->queue[k];

        for (uint32_t i = w->first[from]; i; i = w->arcs[i].next) {
            uint32_t to = w->arcs[i].to;

            w->cut.work++;
            if (w->arcs[i].room == 0 || w->level[to])
                continue;
            w->level[to] = w->level[from] + 1;
            w->queue[count++] = to;
        }
    }
    return w->level[SINK] != 0;
}

/* Augments along the path of `n` arcs in the queue; returns the flow, and shortens
 * the path to end before its first saturated arc. */
static int64_t
fill_path(workspace *w, uint32_t *n)
{
    int64_t most = unlimited;
    uint32_t keep = *n;

    for (uint32_t k = 0; k < *n; k++)
        if (w->arcs[w->queue[k]].room < most)
            most = w->arcs[w->queue[k]].room;
    for (uint32_t k = *n; k-- > 0;) {
        arc *to = &w->arcs[w->queue[k]], *back = &w->arcs[w->queue[k] ^ 1];

        if (to->room != unlimited)
            to->room -= most;
        if (back->room != unlimited)
            back->room += most;
        if (to->room == 0)
            keep = k;
    }
    *n = keep;
    return most;
}

/* Computes a blocking flow of the level graph. */
static int64_t
fill_level(workspace *w)
{
    int64_t sum = 0;
    uint32_t n = 0, at = SOURCE;

    memcpy(w->next, w->first, w->n_nodes * sizeof(*w->next));
    for (;;) {
        uint32_t i = w->next[at];

        w->cut.work++;
        if (at == SINK) {
            sum += fill_path(w, &n);
            at = n > 0 ? w->arcs[w->queue[n] ^ 1].to : SOURCE;
        } else if (i == 0 && at == SOURCE) {
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

/* Puts the tasks OUT from which the sink is reachable, the others IN. */
static void
take_sides(workspace *w, const uint32_t *free, uint32_t n)
{
    uint32_t count = 0;

    memset(w->level, 0, w->n_nodes * sizeof(*w->level));
    w->level[SINK] = 1;
    w->queue[count++] = SINK;
    for (uint32_t k = 0; k < count; k++)
        for (uint32_t i = w->first[w->queue[k]]; i; i = w->arcs[i].next) {
            uint32_t from = w->arcs[i].to;

            w->cut.work++;
            if (w->level[from] || w->arcs[i ^ 1].room == 0)
                continue;
            w->level[from] = 1;
            w->queue[count++] = from;
        }
    for (uint32_t k = 0; k < n; k++)
        w->cut.side[free[k]] =
            w->level[w->node[free[k]]] ? GLOW_ORDER_OUT : GLOW_ORDER_IN;
}

int64_t
glow_order_cut_least(glow_order_cut *cut, const uint32_t *free, uint32_t n,
                     uint32_t running)
{
    workspace *w = (workspace *)cut;
    int64_t before = build(w, free, n, running), flow = 0;

    while (find_levels(w))
        flow += fill_level(w);
    take_sides(w, free, n);
    return flow - before;
}

/* Questions about the least set: its increase if a task changes its side. */

/* Residual capacity of an arc, or of its reverse. */
static int64_t
room_to(const workspace *w, uint32_t i, bool back)
{
    return w->arcs[back ? i ^ 1 : i].room;
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

    memset(w->level, 0, w->n_nodes * sizeof(*w->level));
    w->level[node] = 1;
    w->queue[count++] = node;
    for (uint32_t k = 0; k < count && !w->level[end]; k++) {
        uint32_t from = w->queue[k];

        for (uint32_t i = w->first[from]; i; i = w->arcs[i].next) {
            uint32_t to = w->arcs[i].to;

            w->cut.work++;
            if (w->level[to] || room_to(w, i, back) == 0)
                continue;
            w->level[to] = 1;
            w->next[to] = i;
            w->queue[count++] = to;
        }
    }
    if (!w->level[end])
        return 0;
    for (uint32_t at = end; at != node; at = w->arcs[w->next[at] ^ 1].to)
        if (room_to(w, w->next[at], back) < most)
            most = room_to(w, w->next[at], back);
    return most;
}

static void
send(workspace *w, uint32_t i, int64_t bytes)
{
    if (w->arcs[i].room != unlimited)
        w->arcs[i].room -= bytes;
    if (w->arcs[i ^ 1].room != unlimited)
        w->arcs[i ^ 1].room += bytes;
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
             at = w->arcs[w->next[at] ^ 1].to) {
            uint32_t i = w->next[at] ^ (back ? 1u : 0u);

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

    return w->level[w->node[task]] > 0;
}

int64_t
glow_order_cut_put(glow_order_cut *cut, uint32_t task, uint8_t side)
{
    workspace *w = (workspace *)cut;
    bool out = side == GLOW_ORDER_OUT;
    uint32_t node = w->node[task];
    int64_t sum = send_all(w, node, out, unlimited - 1);

    add_arc(w, out ? node : SOURCE, out ? SINK : node, unlimited);
    if (sum < unlimited)
        w->arcs[w->n_arcs - 1].room = sum;
    return sum;
}
