/*
 * Cost model: operations and bytes of a node, from its operator's
 * definition and its types, and the time that a target takes for them.
 */

#ifndef GLOW_COST_H
#define GLOW_COST_H

#include "glow/pass.h"
#include "glow/target.h"

GLOW_BEGIN

/*
 * As if every operand came from memory once.  Sums stay at INT64_MAX rather
 * than overflow.
 */
typedef struct glow_cost {
    int64_t flops;     /* a multiply-add is two */
    int64_t read;      /* bytes of operands */
    int64_t written;   /* bytes of results */
    int64_t quantized; /* how many of flops are on quantized elements */
} glow_cost;

/* Nothing for structural nodes and Splat, which have no operands to move. */
GLOW_API glow_cost glow_node_cost(const glow_node *n);
GLOW_API glow_cost glow_cost_add(glow_cost a, glow_cost b);
/* Cost of all nodes; bodies count once, as functions of their own. */
GLOW_API glow_cost glow_func_cost(const glow_func *f);

/*
 * Seconds for `nodes` nodes of this cost: the larger of compute and transfer time
 * (the roofline), plus the fixed cost of each node.
 * Source: Williams, Waterman, Patterson, Roofline, CACM 52(4), 2009.
 */
GLOW_API double glow_cost_time(const glow_target *t, glow_cost c, int nodes);

GLOW_END

#endif
