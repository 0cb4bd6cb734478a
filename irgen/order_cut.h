/* The down-set with the fewest bytes alive, by a minimum cut. */

#ifndef IRGEN_ORDER_CUT_H
#define IRGEN_ORDER_CUT_H

#include "irgen/order.h"

/* Where a task is: before the question, in the down-set, or open to choice. */
enum { GLOW_ORDER_OUT, GLOW_ORDER_IN, GLOW_ORDER_FREE };

typedef struct glow_order_cut glow_order_cut;

/* A task more that has to run before one, or after it. */
typedef struct glow_order_more {
    uint32_t task;
    const struct glow_order_more *next;
} glow_order_more;

struct glow_order_cut {
    uint8_t *side;                        /* by task; at first all are out */
    const glow_order_more *const *before; /* by task, beyond what the net says;
                                             NULL: nothing */
    int64_t work;                         /* arcs looked at so far */
};

glow_order_cut *glow_order_cut_new(glow_arena *a, const glow_order_net *net);

/*
 * Of all down-sets that hold what is in, nothing that is out, and any of the
 * `n` tasks `free`, which are all that are free: the least M, less that of what
 * is in alone.  What is in must be a down-set, and with all free tasks too.
 * Those tasks become in or out; of several least sets, the largest is taken.
 * Buffers that the task `running` touches, if it is one, count as alive anyway.
 */
int64_t glow_order_cut_least(glow_order_cut *cut, const uint32_t *free,
                             uint32_t n, uint32_t running);

#define GLOW_ORDER_NO_TASK UINT32_MAX

/* Questions about the least set that was found last. */

/* Is there one with `task`, which was free, on `side`, and up to `more` bytes
 * more?  It is not made. */
bool glow_order_cut_allows(glow_order_cut *cut, uint32_t task, uint8_t side,
                           int64_t more);

/* If it was allowed, would this task, which was free, move with it? */
bool glow_order_cut_moves(const glow_order_cut *cut, uint32_t task);

/* From now on the task is on that side; returns how much more the least has, or
 * INT64_MAX if it cannot be there. */
int64_t glow_order_cut_put(glow_order_cut *cut, uint32_t task, uint8_t side);

#endif
