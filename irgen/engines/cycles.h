/* Cycles that an instruction takes on an engine of a target. */

#ifndef IRGEN_ENGINES_CYCLES_H
#define IRGEN_ENGINES_CYCLES_H

#include "glow/graph.h"
#include "glow/target.h"

/* An instruction as an engine sees it. */
typedef struct engine_work {
    const glow_queue *queue; /* NULL: the host, which takes no time */
    const glow_link *link;   /* of a transfer, else NULL */
    double bytes;            /* that a transfer moves */
    double commands; /* of a transfer: boxes of as many axes as it takes */
    const glow_unit *unit; /* of other work, else NULL */
    double work;           /* iterations times the work of one (tiling.h) */
    double cycles;         /* of a unit */
} engine_work;

/*
 * A transfer has a Copy, a Pad or a unit's operator, and a result in another space than
 * an operand; its bytes are those of the side in the memory of the host, without
 * padding.
 */
engine_work glow_engine_work(const glow_target *t, const glow_node *n);

/*
 * A hash of all numbers that cycles of `t` are computed from, and of the rules: two
 * reports of one hash can be compared.
 */
uint64_t glow_cycle_model(const glow_target *t);

/* Cycles of a transfer among others on its link, setups overlapped. */
double glow_transfer_cycles(const engine_work *w);

#endif
