/*
 * Scheduling for least memory: orders of tasks with a low peak of live bytes.
 *
 * A task runs without interruption and touches buffers.  A buffer is live from
 * the first task that touches it to the last, or to the end if it stays.  The
 * peak of an order is the largest number of bytes that are live at once; to find
 * an order of least peak is NP-hard (register sufficiency).  The interface is
 * independent of graphs: its caller defines tasks and buffers.
 *
 * Let M(D) be the live bytes after a down-set D of tasks has run, which is a set
 * that contains the predecessors of its tasks:
 *
 *     M(D) = sum over buffers of bytes * ([a task in D touches it]
 *                            - [it does not stay, and all such are in D])
 *
 * Each term is submodular, with several writers too, and so is M: for all D and
 * E, M(D | E) + M(D & E) <= M(D) + M(E).  Hence, if X is reachable from S within
 * a budget, and no down-set between S and X has fewer live bytes than X, then
 * every order that continues from S within the budget has a counterpart that runs
 * X first.  The search for orders of least peak rests on that; see
 * irgen/schedule/best_first.c.
 */

#ifndef GLOW_ORDER_H
#define GLOW_ORDER_H

#include "glow/base.h"

GLOW_BEGIN

typedef struct glow_order_buffer {
    int64_t bytes;
    bool stays; /* once touched, live to the end */
} glow_order_buffer;

/*
 * An in-place update: of two buffers that a task touches, `made` may take the
 * memory of `over` if it is no larger, the task is the first to touch `made` and
 * the last of several to touch `over`, and `over` does not stay.  Then `made`
 * takes no bytes of its own while the task runs.
 */
typedef struct glow_order_alias {
    uint32_t made, over;
} glow_order_alias;

typedef struct glow_order_task {
    const uint32_t *before; /* predecessors */
    uint32_t n_before;
    const uint32_t *touches; /* buffers that it reads or writes, without
                                duplicates */
    uint32_t n_touches;
    const glow_order_alias *aliases; /* the first possible one is taken; each
                                        buffer takes part in one at most */
    uint32_t n_aliases;
    int64_t extra; /* bytes that are live only while it runs */
} glow_order_task;

typedef struct glow_order_problem {
    const glow_order_task *tasks;
    uint32_t n_tasks;
    const glow_order_buffer *buffers;
    uint32_t n_buffers;
} glow_order_problem;

typedef enum glow_order_strategy {
    GLOW_ORDER_AUTO,         /* the best of the rules below; where that is not
                                proved least, the result of the search */
    GLOW_ORDER_GIVEN,        /* by number, repaired where a task stands before
                                its predecessors */
    GLOW_ORDER_CHILD_MEMORY, /* Glow's: depth first, and first the predecessor
                                with the largest need beyond the bytes it leaves
                                (Sethi and Ullman's rule for trees) */
    GLOW_ORDER_GREEDY,       /* list scheduling: the ready task that leaves the
                                fewest live bytes */
    GLOW_ORDER_DEPTH_FIRST,  /* depth first from the tasks without successors */
    GLOW_ORDER_EXACT,        /* as auto, but all steps go to the search that
                                proves, none to heuristics */
} glow_order_strategy;

/* Their names, "auto" to "exact", ended by NULL: words for an option. */
extern GLOW_API const char *const glow_order_strategies[];

typedef struct glow_order {
    uint32_t *tasks; /* all of them; lives in the arena */
    int64_t peak;
    int64_t area;  /* sum of the live bytes after each task; at most 2^63 - 1 */
    int64_t bound; /* lower bound of the peak of every order */
    bool proved;   /* the peak is the least one */
    int64_t steps; /* taken of the budget */
    const char *by; /* name of the rule that found the segment with the peak, or
                       "search", "beam", "windows" or "chains" */
} glow_order;

/* Default budget in steps: enough for most networks, two seconds at most. */
#define GLOW_ORDER_BUDGET 10000000

/*
 * Orders the tasks, with `budget` steps for the search: the result depends on
 * the problem, the strategy and the budget alone.  With `auto` and `exact` the
 * peak is at most that of the given order, if that is topological.  Memory is
 * linear in the problem and the budget.  Returns false, and sets nothing, if the
 * tasks have a cyclic dependence, a number is negative or refers to no task or
 * buffer, or the bytes of all buffers and the largest extra exceed 2^63 - 1 in
 * sum.
 */
GLOW_API bool glow_order_find(glow_arena *a, const glow_order_problem *p,
                              glow_order_strategy strategy, int64_t budget,
                              glow_order *out);

/* Memory of an order. */
typedef struct glow_order_use {
    int64_t peak;
    int64_t area;
    uint32_t at;     /* the first position that needs the peak */
    uint32_t *live;  /* buffers that are live there, by number */
    uint32_t n_live; /* their bytes and the extra of the task are the peak */
    int64_t *during; /* by position: live bytes while that task runs */
} glow_order_use;

/* As glow_order_find; false also if `tasks` is not an order of all tasks. */
GLOW_API bool glow_order_measure(glow_arena *a, const glow_order_problem *p,
                                 const uint32_t *tasks, glow_order_use *out);

/*
 * Running tasks again.  The task `maker[b]` computes buffer `b` (GLOW_ORDER_NO_MAKER:
 * nothing is known of it), all other buffers that a task touches are its operands.
 * A buffer may be dropped and computed again, by another run of its maker, which
 * takes flops[t] operations; -1: task t runs once.
 */
#define GLOW_ORDER_NO_MAKER UINT32_MAX

typedef struct glow_order_again {
    const glow_order_problem *problem;
    const uint32_t *maker;
    const int64_t *flops;
} glow_order_again;

/*
 * Lower bound of the peak of every sequence of runs in which each task runs once or
 * more, the first runs in a topological order, and runs beyond the first ones take
 * at most `flops` operations.  Ends after about `budget` steps; a larger budget may
 * give a higher bound.
 */
GLOW_API int64_t glow_order_bound_again(glow_arena *a,
                                        const glow_order_again *again,
                                        int64_t flops, int64_t budget);

GLOW_END

#endif
