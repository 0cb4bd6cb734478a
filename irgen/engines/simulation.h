/* A simulated run: see simulate.c. */

#ifndef IRGEN_ENGINES_SIMULATION_H
#define IRGEN_ENGINES_SIMULATION_H

#include "irgen/engines/cycles.h"

/* An instruction that took time. */
typedef struct sim_step {
    const glow_node *node;
    engine_work work;
    int engine; /* 0: the host, then the queues of the target */
    double begin, end;
} sim_step;

/* A wait for a token of another engine. */
typedef struct sim_wait {
    int from, to; /* engines */
    double signalled, ended;
} sim_wait;

typedef struct sim_queue {
    int64_t instructions;
    double busy; /* cycles with at least one of its instructions under way */
    double until;
} sim_queue;

typedef struct sim_link {
    int64_t transfers;
    double commands, bytes;
    double least; /* distinct bytes of the host's memory */
} sim_link;

typedef struct sim_unit {
    int64_t instructions;
    double work, cycles;
} sim_unit;

typedef struct simulation {
    const glow_func *func;
    const glow_target *target;
    sim_step *steps; /* in the order in which they began to be looked at */
    size_t n_steps;
    sim_wait *waits;
    size_t n_waits;
    sim_queue *queues; /* by engine */
    sim_link *links;   /* as in the target, like the next */
    sim_unit *units;
    double cycles;
    double hidden;  /* cycles of transfers while a unit works */
    double exposed; /* cycles of transfers while none does */
    double bound;   /* no order takes less */
    const char *bounded_by;
} simulation;

/* Runs `f`, a verified program.  Lives in `a`. */
simulation *glow_simulation_of(glow_arena *a, const glow_func *f,
                               const glow_target *t);

/* The picture. */
void glow_simulation_svg(glow_buf *b, const simulation *s);

#endif
