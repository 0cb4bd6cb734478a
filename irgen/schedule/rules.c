/*
 * Depth-first orders: by list, and by Glow's child memory.
 *
 * Depth first visits each task without successors after its predecessors, in the
 * order of their list.
 *
 * Child memory (Glow) is depth first too, and visits first the predecessor with
 * the largest difference between the bytes it needs and the bytes it leaves
 * live: the rule that Sethi and Ullman (J. ACM 17, 1970) gave for registers in
 * trees, where each result has one use.  A task that leaves nothing live runs as
 * soon as it is ready.  A task leaves the buffers that it is the first to touch
 * in the given order.  A task that defines no buffer, but has successors,
 * inherits the live bytes of its predecessors.
 *
 * Time n log n over the lists, linear memory, no recursion.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/schedule/order.h"

/* A predecessor of the task on top of the stack. */
typedef struct child {
    int64_t rank; /* descending */
    uint32_t task;
    uint32_t turn; /* index in the list */
} child;

typedef struct frame { /* a task whose predecessors are being visited */
    uint32_t task;
    size_t next, end; /* in the stack of children */
} frame;

enum { NEW, OPEN, DONE };

typedef struct visitor {
    glow_arena *a;
    const glow_order_net *net;
    int64_t *need; /* bytes to run a task and all of its ancestors */
    int64_t *left; /* bytes of that which stay live after it */
    int64_t *made; /* bytes of buffers that it is the first to touch */
    uint32_t *place;
    uint8_t *state;
    uint32_t
        *waits; /* predecessors that have not run; NULL: no task runs early */
    uint32_t *order;
    uint32_t count;
    frame *frames;
    size_t n_frames;
    child *children;
    size_t n_children, cap_children;
    uint32_t *ready;
    size_t n_ready, cap_ready;
} visitor;

static int64_t
larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int
by_rank(const void *x, const void *y)
{
    const child *a = x, *b = y;

    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return a->turn < b->turn ? -1 : a->turn > b->turn;
}

/* Pushes the predecessors of `task`, or those not visited yet, by rank. */
static void
push_children(visitor *v, uint32_t task, bool all)
{
    size_t first = v->n_children;

    GLOW_ORDER_EACH(b, v->net->before, task) {
        if (!all && v->state[*b] != NEW)
            continue;
        v->children = glow_arena_grow(v->a, v->children, v->n_children,
                                      &v->cap_children, sizeof(child));
        v->children[v->n_children] = (child){
            .rank = v->need ? v->need[*b] - v->left[*b] : 0,
            .task = *b,
            .turn = (uint32_t)(v->n_children - first),
        };
        v->n_children++;
    }
    if (v->need && v->n_children - first > 1)
        glow_sort(&v->children[first], v->n_children - first, sizeof(child),
                  by_rank);
}

static void
open_task(visitor *v, uint32_t task)
{
    frame *f = &v->frames[v->n_frames++];

    v->state[task] = OPEN;
    *f = (frame){task, v->n_children, 0};
    push_children(v, task, false);
    f->end = v->n_children;
}

/* Updates the successors of `task`; collects those that may run at once. */
static void
tell(visitor *v, uint32_t task)
{
    GLOW_ORDER_EACH(next, v->net->after, task) {
        if (--v->waits[*next] > 0 || v->state[*next] == DONE || v->made[*next])
            continue;
        v->ready = glow_arena_grow(v->a, v->ready, v->n_ready, &v->cap_ready,
                                   sizeof(uint32_t));
        v->ready[v->n_ready++] = *next;
    }
}

static void
run_task(visitor *v, uint32_t task)
{
    v->state[task] = DONE;
    v->order[v->count++] = task;
    if (v->waits)
        tell(v, task);
}

/* Runs `task`, then each successor that is ready and defines no buffer. */
static void
finish(visitor *v, uint32_t task)
{
    run_task(v, task);
    for (size_t k = 0; k < v->n_ready; k++)
        if (v->state[v->ready[k]] != DONE)
            run_task(v, v->ready[k]);
    v->n_ready = 0;
}

static void
visit(visitor *v, uint32_t root)
{
    open_task(v, root);
    while (v->n_frames > 0) {
        frame *top = &v->frames[v->n_frames - 1];

        if (top->next < top->end) {
            uint32_t next = v->children[top->next++].task;

            if (v->state[next] == NEW)
                open_task(v, next);
            continue;
        }
        v->n_frames--;
        v->n_children = v->n_frames ? v->frames[v->n_frames - 1].end : 0;
        if (v->state[top->task] != DONE)
            finish(v, top->task);
    }
}

/* Sets `need` and `left` of `task` from those of its predecessors. */
static void
measure(visitor *v, uint32_t task)
{
    int64_t peak = 0, live = 0, own = v->made[task];
    bool is_end = v->net->after.first[task] == v->net->after.first[task + 1];

    v->n_children = 0;
    push_children(v, task, true);
    for (size_t k = 0; k < v->n_children; k++) {
        uint32_t c = v->children[k].task;

        peak = larger(peak, glow_add_most(live, v->need[c]));
        live = glow_add_most(live, v->left[c]);
    }
    v->n_children = 0;
    v->need[task] = larger(
        peak,
        glow_add_most(live, glow_add_most(own, v->net->p->tasks[task].extra)));
    v->left[task] = own > 0 || is_end ? own : live;
}

/* Prepares child memory: ranks, and counts of predecessors. */
static void
rank(visitor *v)
{
    const glow_order_net *net = v->net;
    size_t n = net->n_tasks, m = net->n_buffers;
    bool *seen = GLOW_NEW_ARRAY(v->a, bool, m + 1);

    v->need = GLOW_NEW_ARRAY(v->a, int64_t, n + 1);
    v->left = GLOW_NEW_ARRAY(v->a, int64_t, n + 1);
    v->made = GLOW_NEW_ARRAY(v->a, int64_t, n + 1);
    v->waits = GLOW_NEW_ARRAY(v->a, uint32_t, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t task = net->given[k];

        GLOW_ORDER_EACH(b, net->touches, task) {
            v->made[task] += seen[*b] ? 0 : net->p->buffers[*b].bytes;
            seen[*b] = true;
        }
        v->waits[task] = net->before.first[task + 1] - net->before.first[task];
        measure(v, task);
    }
}

static uint32_t *
from_ends(glow_arena *a, const glow_order_net *net, bool ranked)
{
    visitor v = {.a = a, .net = net};
    size_t n = net->n_tasks;

    v.state = GLOW_NEW_ARRAY(a, uint8_t, n + 1);
    v.order = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    v.frames = GLOW_NEW_ARRAY(a, frame, n + 1);
    if (ranked)
        rank(&v);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t task = net->given[k];

        if (net->after.first[task] == net->after.first[task + 1] &&
            v.state[task] == NEW)
            visit(&v, task);
    }
    return v.order;
}

uint32_t *
glow_order_child_memory(glow_arena *a, const glow_order_net *net)
{
    return from_ends(a, net, true);
}

uint32_t *
glow_order_depth_first(glow_arena *a, const glow_order_net *net)
{
    return from_ends(a, net, false);
}
