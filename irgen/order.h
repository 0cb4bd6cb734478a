/*
 * What the parts of ordering share: the problem with its arrows both ways, and
 * a walk through its states.
 */

#ifndef IRGEN_ORDER_H
#define IRGEN_ORDER_H

#include "glow/order.h"

/* Lists of numbers one behind another: those of i end where i + 1 begin. */
typedef struct glow_order_lists {
    uint32_t *first;
    uint32_t *items;
} glow_order_lists;

#define GLOW_ORDER_EACH(item, lists, i)                                       \
    for (const uint32_t *item = (lists).items + (lists).first[i],             \
                        *end_##item = (lists).items + (lists).first[(i) + 1]; \
         item < end_##item; item++)

/* A problem that was checked.  Buffers of no bytes are in no list. */
typedef struct glow_order_net {
    const glow_order_problem *p;
    uint32_t n_tasks, n_buffers;
    glow_order_lists before, after; /* by task: tasks */
    glow_order_lists touches;       /* by task: buffers */
    glow_order_lists users;         /* by buffer: tasks */
    uint32_t *given;                /* as numbered, mended */
    bool uneven;                    /* a task may write several things over one:
                                       see irgen/order_search.c */
    bool reversed;                  /* time goes back: see below */
} glow_order_net;

/* By each of `n_to` numbers, which of `n_from` lists name it. */
glow_order_lists glow_order_turn(glow_arena *a, glow_order_lists lists,
                                 uint32_t n_from, uint32_t n_to);

/* NULL if the problem is wrong: see glow_order_find. */
glow_order_net *glow_order_net_given(glow_arena *a,
                                     const glow_order_problem *p);

/* The same for what was made here, where the extra of a task may be negative:
 * it takes so much less than what it touches. */
glow_order_net *glow_order_net_new(glow_arena *a, const glow_order_problem *p);

/*
 * The same backwards: an order of it is one of `net` from the end, with the
 * same peak.  A last task is added, which runs first and touches what stays.
 */
glow_order_net *glow_order_net_reversed(glow_arena *a,
                                        const glow_order_net *net);

/* The tasks of a state's down-set have run; more can, and can be taken back. */
typedef struct glow_order_walk {
    const glow_order_net *net;
    int64_t live;    /* bytes alive: M of the state */
    uint32_t count;  /* tasks that have run */
    uint32_t *waits; /* by task: of those before it, how many have not run */
    uint32_t *left;  /* by buffer: of its users, how many have not run */
    bool *ran;       /* by task */
    uint32_t *ready; /* tasks that can run, in no order */
    uint32_t n_ready;
    uint32_t *place; /* by task: in ready */
    uint64_t *taken; /* by buffer: twice the call that gave it to an alias, and
                        1 if it is what was made */
    uint64_t calls;
} glow_order_walk;

/* What running a task does to the bytes alive. */
typedef struct glow_order_effect {
    int64_t during, after; /* more than before it, may be negative */
} glow_order_effect;

glow_order_walk *glow_order_walk_new(glow_arena *a, const glow_order_net *net);
glow_order_effect glow_order_try(glow_order_walk *w, uint32_t task);
void glow_order_do(glow_order_walk *w, uint32_t task);
void glow_order_undo(glow_order_walk *w, uint32_t task); /* the last done */

/* What an order costs. */
typedef struct glow_order_cost {
    int64_t peak, area;
} glow_order_cost;

/* Runs `n` tasks, one behind another; what is alive before counts too. */
glow_order_cost glow_order_run(glow_order_walk *w, const uint32_t *tasks,
                               uint32_t n);

/* Orders by a rule, in time n log n. */
uint32_t *glow_order_child_memory(glow_arena *a, const glow_order_net *net);
uint32_t *glow_order_depth_first(glow_arena *a, const glow_order_net *net);
uint32_t *glow_order_greedy(glow_arena *a, const glow_order_net *net);

#endif
