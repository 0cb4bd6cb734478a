/*
 * Orders of tasks that need little memory.
 *
 * A task is anything that runs at once and touches buffers.  A buffer is alive
 * from the first task that touches it to the last, or to the end if it stays.
 * The peak of an order is the most bytes that are alive at once; finding the
 * order of the least peak is NP-hard (register sufficiency).  Nothing here
 * knows of graphs: what a task and a buffer is, its caller decides.
 *
 * The theory is one observation.  Let M(D) be the bytes alive after a set D of
 * tasks has run that holds what its tasks wait for (a down-set):
 *
 *     M(D) = sum over buffers of bytes * ([a task in D touches it]
 *                            - [it does not stay, and all such are in D])
 *
 * Each term is submodular, with several writers too, so M is: for all D and E
 * M(D | E) + M(D & E) <= M(D) + M(E).  Hence, if X can be reached from S within
 * a budget, and no down-set between S and X has less alive than X, then running
 * X first spoils nothing: whatever continues from S within the budget, does so
 * from X.  Searching for least orders rests on that: see irgen/order_flood.c.
 */

#ifndef GLOW_ORDER_H
#define GLOW_ORDER_H

#include "glow/base.h"

GLOW_BEGIN

typedef struct glow_order_buffer {
    int64_t bytes;
    bool stays; /* once touched, alive to the end */
} glow_order_buffer;

/*
 * Of two buffers that a task touches: `made` may lie where `over` lies, if it
 * is no larger, the task is the first to touch `made` and the last of several to
 * touch `over`, and `over` does not stay.  Then `made` takes no bytes of its own
 * while the task runs.
 */
typedef struct glow_order_alias {
    uint32_t made, over;
} glow_order_alias;

typedef struct glow_order_task {
    const uint32_t *before; /* tasks that must have run */
    uint32_t n_before;
    const uint32_t *touches; /* buffers that it reads or writes, each once */
    uint32_t n_touches;
    const glow_order_alias *aliases; /* the first that can be is taken; each
                                        buffer takes part in one at most */
    uint32_t n_aliases;
    int64_t extra; /* bytes alive only while it runs */
} glow_order_task;

typedef struct glow_order_problem {
    const glow_order_task *tasks;
    uint32_t n_tasks;
    const glow_order_buffer *buffers;
    uint32_t n_buffers;
} glow_order_problem;

typedef enum glow_order_strategy {
    GLOW_ORDER_AUTO,         /* the best of the rules below; where that is not
                                proved least, what is found by search */
    GLOW_ORDER_GIVEN,        /* as numbered, mended where a task stands before
                                what it waits for */
    GLOW_ORDER_CHILD_MEMORY, /* Glow's: depth first, and first of what a task
                                waits for what needs most beyond what it leaves
                                (Sethi and Ullman's rule for trees) */
    GLOW_ORDER_GREEDY,       /* of what can run, what leaves least alive */
    GLOW_ORDER_DEPTH_FIRST,  /* from the last tasks back, as they wait */
    GLOW_ORDER_EXACT,        /* as auto, but all steps are for the search that
                                proves, none for what only finds */
} glow_order_strategy;

/* Their names, "auto" to "exact", ended by NULL: words for an option. */
extern GLOW_API const char *const glow_order_strategies[];

typedef struct glow_order {
    uint32_t *tasks; /* all of them; lives in the arena */
    int64_t peak;
    int64_t area;   /* bytes alive after each task, summed; at most 2^63 - 1 */
    int64_t bound;  /* no order has a lower peak */
    bool proved;    /* the peak is the least that there is */
    int64_t steps;  /* of the budget, taken */
    const char *by; /* what found it, where the peak is: the name of a rule,
                       "search", "beam", "windows" or "chains" */
} glow_order;

/* Steps that suffice for most networks, and take a second or two at most. */
#define GLOW_ORDER_BUDGET 10000000

/*
 * Orders the tasks, with `budget` steps for searching: the result depends on
 * the problem, the strategy and the budget alone.  No order is worse than the
 * one given, if that is one, but for the strategies that ask for others.
 * Memory is linear in the problem and the budget.  False, and nothing set, if
 * tasks wait for each other in a ring, a number is negative or names nothing,
 * or the bytes of all buffers and the greatest extra add up to more than
 * 2^63 - 1.
 */
GLOW_API bool glow_order_find(glow_arena *a, const glow_order_problem *p,
                              glow_order_strategy strategy, int64_t budget,
                              glow_order *out);

/* What an order needs. */
typedef struct glow_order_use {
    int64_t peak;
    int64_t area;
    uint32_t at;     /* the first place in the order that needs the peak */
    uint32_t *live;  /* buffers that take bytes there, in order of number */
    uint32_t n_live; /* their bytes and the extra of the task are the peak */
    int64_t *during; /* by place: bytes alive while that task runs */
} glow_order_use;

/* As glow_order_find; false also if `tasks` is not an order of all tasks. */
GLOW_API bool glow_order_measure(glow_arena *a, const glow_order_problem *p,
                                 const uint32_t *tasks, glow_order_use *out);

GLOW_END

#endif
