/*
 * Tasks of a problem become one: stretches of them made chains of few.
 */

#ifndef IRGEN_ORDER_STRETCH_H
#define IRGEN_ORDER_STRETCH_H

#include "irgen/order_tree.h"

enum { GLOW_ORDER_FORTH, GLOW_ORDER_BACK, GLOW_ORDER_WAYS };
enum { GLOW_ORDER_NONE = UINT32_MAX, GLOW_ORDER_MANY = UINT32_MAX - 1 };

/* Tasks that became one go by the number of the first of them. */
typedef struct glow_order_merger {
    glow_arena *a, *scratch; /* the latter is emptied for each stretch */
    const glow_order_net *net;
    glow_order_lists lists[GLOW_ORDER_WAYS]; /* tasks behind each, before it */
    glow_order_tree trees[GLOW_ORDER_WAYS];  /* what all ways to a task lead
                                                through, and all from it */
    uint32_t *one;           /* by task: towards what it became */
    uint32_t *follow, *tail; /* what became one, in order */
    bool *linked;            /* by one: in a chain, between these: */
    uint32_t *link[GLOW_ORDER_WAYS];
    bool *ends[GLOW_ORDER_WAYS]; /* of its chain */
    glow_order_task *now;        /* by one; lists of what it touches */
    bool changed;
    int64_t steps; /* that are left */

    uint32_t *nodes, n;       /* the stretch, in order */
    uint32_t outer[2];        /* its ends, or none */
    uint32_t *seen, stamp;    /* by one: in the stretch */
    uint32_t *place;          /* there, + 1 */
    uint32_t *number;         /* by buffer: in the stretch, + 1 */
    uint32_t *named, n_named; /* buffers that have one */
} glow_order_merger;

glow_order_merger *glow_order_merger_new(glow_arena *a,
                                         const glow_order_net *net);

/* What a task became. */
uint32_t glow_order_one(glow_order_merger *m, uint32_t task);

/* The next neighbour of `x` from the cursor on, or none; some come twice. */
uint32_t glow_order_neighbour(glow_order_merger *m, uint32_t x, int way,
                              uint32_t *cursor);

/* The only neighbour of `x`, none, or many. */
uint32_t glow_order_only(glow_order_merger *m, uint32_t x, int way);

/* Makes the `n` tasks, an order, the stretch between two, each or none. */
void glow_order_stretch(glow_order_merger *m, const uint32_t *tasks, uint32_t n,
                        uint32_t before, uint32_t behind);

/* True if what `x`, which is in it, touches is touched but by the stretch,
 * before it and behind it. */
bool glow_order_is_closed(glow_order_merger *m, uint32_t x);

/* Makes the stretch a chain, if its order can be settled, or is the only one. */
void glow_order_contract_stretch(glow_order_merger *m, bool is_chain);

#endif
