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

enum { GLOW_MOST_OUTSTANDING = 64 };

/* The commands of a queue that moves bytes: as many at once as its links say. */
typedef struct transfer_queue {
    double next;                        /* the cycle in which one may begin */
    double done[GLOW_MOST_OUTSTANDING]; /* ends of the last ones, in turn */
    int64_t commands;
} transfer_queue;

/*
 * The last cycle of a transfer that may begin at *begin, which becomes its first one.  A
 * command waits for its setup while earlier ones move bytes; the bytes of a port move one
 * after another, and *port is the cycle in which it is free.
 */
double glow_transfer(transfer_queue *q, double *port, const glow_link *l,
                     double bytes, double commands, double *begin);
/* The first link of the port of `l`. */
size_t glow_port_of(const glow_target *t, const glow_link *l);

#endif
