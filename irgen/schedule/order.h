/*
 * Ordering problems in adjacency lists, and walks through their states.
 *
 * Shared by all rules and searches; searches.h has their entry points.
 */

#ifndef IRGEN_SCHEDULE_ORDER_H
#define IRGEN_SCHEDULE_ORDER_H

#include "glow/order.h"

/* Adjacency lists in compressed form: those of i end where i + 1 begins. */
typedef struct glow_order_lists {
    uint32_t *first;
    uint32_t *items;
} glow_order_lists;

#define GLOW_ORDER_EACH(item, lists, i)                                       \
    for (const uint32_t *item = (lists).items + (lists).first[i],             \
                        *end_##item = (lists).items + (lists).first[(i) + 1]; \
         item < end_##item; item++)

/* A valid problem.  Buffers of zero bytes are in no list. */
typedef struct glow_order_net {
    const glow_order_problem *p;
    uint32_t n_tasks, n_buffers;
    glow_order_lists before, after; /* by task: tasks */
    glow_order_lists touches;       /* by task: buffers */
    glow_order_lists users;         /* by buffer: tasks */
    uint32_t *given;                /* a topological order: see problem.c */
    bool has_uneven_aliases; /* a task may write several buffers over one:
                                see search.c */
    bool reversed;           /* see glow_order_net_reversed */
} glow_order_net;

/* The transpose: for each of `n_to` numbers, the lists of `n_from` that have it. */
glow_order_lists glow_order_transpose(glow_arena *a, glow_order_lists lists,
                                      uint32_t n_from, uint32_t n_to);

/* NULL if the problem is invalid: see glow_order_find. */
glow_order_net *glow_order_net_given(glow_arena *a,
                                     const glow_order_problem *p);

/* The same for derived problems, in which the extra bytes of a task may be
 * negative: it needs less than the sum of the buffers that it touches. */
glow_order_net *glow_order_net_new(glow_arena *a, const glow_order_problem *p);

/*
 * The problem with time reversed: an order of it, read backwards, is an order of
 * `net` with the same peak.  It has one task more, which runs first and touches
 * the buffers that stay.
 */
glow_order_net *glow_order_net_reversed(glow_arena *a,
                                        const glow_order_net *net);

/* A state: a down-set of tasks that have run.  Tasks are run and undone. */
typedef struct glow_order_walk {
    const glow_order_net *net;
    int64_t live;    /* live bytes: M of the state */
    uint32_t count;  /* tasks that have run */
    uint32_t *waits; /* by task: predecessors that have not run */
    uint32_t *left;  /* by buffer: users that have not run */
    bool *ran;       /* by task */
    uint32_t *ready; /* tasks that can run, in no particular order */
    uint32_t n_ready;
    uint32_t *place; /* by task: its index in `ready` */
    uint64_t *taken; /* by buffer: twice the number of the call that used it in
                        an alias, plus 1 if it is the buffer that was made */
    uint64_t calls;
} glow_order_walk;

/* Effect of a task on the live bytes. */
typedef struct glow_order_effect {
    int64_t during, after; /* relative to before it */
} glow_order_effect;

glow_order_walk *glow_order_walk_new(glow_arena *a, const glow_order_net *net);
/* Back to the state in which no task has run. */
void glow_order_begin(glow_order_walk *w);
glow_order_effect glow_order_try(glow_order_walk *w, uint32_t task);
void glow_order_do(glow_order_walk *w, uint32_t task);
void glow_order_undo(glow_order_walk *w, uint32_t task); /* the last run */

/* Cost of an order, in bytes and bytes times tasks. */
typedef struct glow_order_cost {
    int64_t peak, area;
} glow_order_cost;

/* Runs `n` tasks in order; buffers that are live before count too. */
glow_order_cost glow_order_run(glow_order_walk *w, const uint32_t *tasks,
                               uint32_t n);

/* Orders by rule, in time n log n: see rules.c and list_scheduling.c. */
uint32_t *glow_order_child_memory(glow_arena *a, const glow_order_net *net);
uint32_t *glow_order_depth_first(glow_arena *a, const glow_order_net *net);
uint32_t *glow_order_greedy(glow_arena *a, const glow_order_net *net);

#endif
