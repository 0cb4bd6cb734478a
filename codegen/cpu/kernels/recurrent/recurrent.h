/*
 * Recurrent networks in generated code: what the walk over the steps and the
 * cells, which say what a step does, know of each other.
 */

#ifndef CODEGEN_CPU_KERNELS_RECURRENT_RECURRENT_H
#define CODEGEN_CPU_KERNELS_RECURRENT_RECURRENT_H

#include "codegen/cpu/kernels/common.h"

/* Operands: see ir/ops/recurrent.c. */
enum {
    CPU_X,
    CPU_W,
    CPU_R,
    CPU_BIAS,
    CPU_LENGTHS,
    CPU_INITIAL_H,
    CPU_INITIAL_C,
    CPU_PEEPHOLES
};

/* What is kept from step to step, or within one: [B, H] each. */
typedef enum cpu_state {
    CPU_H,     /* the state before the step */
    CPU_NEXT,  /* and after it; they change places */
    CPU_C,     /* LSTM: the cells; GRU: the update gate */
    CPU_RESET, /* GRU: what the reset gate leaves of the state */
    CPU_STATES
} cpu_state;

typedef struct cpu_recurrence cpu_recurrence;

/*
 * A part of a step: gates that are products with the same state, and what
 * becomes of them.  `finish` is called for each row of the batch and vector of
 * the state, with the products of its gates.
 */
typedef struct cpu_phase {
    int first, count; /* gates */
    cpu_state from;   /* what R is multiplied by */
    void (*finish)(cpu_recurrence *r, cg_value const *product);
} cpu_phase;

typedef struct cpu_cell {
    const glow_op *op;
    int gates;
    int activations;
    int states; /* which of cpu_state there are: those before this */
    cpu_phase phase[2];
    int phases;
} cpu_cell;

/* How a network is cut up. */
typedef struct cpu_recurrent_shape {
    const cpu_cell *cell;
    int64_t steps, batch, directions, hidden;
    int lanes;
    int64_t vectors; /* that the units are, the last perhaps not full */
    int rows;        /* of the batch in a tile */
    int64_t tiles;   /* of the batch, the last perhaps not full */
} cpu_recurrent_shape;

cpu_recurrent_shape glow_cpu_recurrent_shape(const cpu_target *t,
                                             const glow_node *n);
/* Bytes of a state, of R packed for one direction, and for phase `i` of it. */
int64_t glow_cpu_state_bytes(const cpu_recurrent_shape *s);
int64_t glow_cpu_recurrent_bytes(const cpu_recurrent_shape *s);
int64_t glow_cpu_phase_bytes(const cpu_recurrent_shape *s, int i);

/* Packs R: all of a constant, or in generated code that of one direction. */
void glow_cpu_pack_recurrent(const cpu_target *t, const glow_node *n,
                             const glow_tensor *from, void *to);
void glow_cpu_emit_pack_recurrent(cg *g, const cpu_recurrent_shape *s,
                                  cg_tensor from, cg_value direction,
                                  cg_value to);

/* A network at work. */
struct cpu_recurrence {
    cpu_job *j;
    cpu_recurrent_shape s;
    const glow_recurrent *attrs;
    glow_activation f[2][GLOW_MOST_ACTIVATIONS]; /* of both directions */
    cg_value direction;
    cpu_within tiles;            /* of the direction at hand */
    cg_value weights;            /* of the direction, packed */
    cg_value state[CPU_STATES];  /* of the step at hand */
    cg_value time;               /* of X and Y */
    const struct cpu_crew *crew; /* that shares each phase, or NULL */
    /* Where `finish` is: a row of the batch, the first of some units. */
    cg_value row, unit;
};

/* The cell of an operator, or NULL. */
const cpu_cell *glow_cpu_cell(const glow_node *n);

/*
 * One phase of a step, for the vectors of units from `first` to `end` (i64), the
 * last of them first where `back` holds.
 */
void glow_cpu_recurrent_phase(cpu_recurrence *r, int phase, cg_value back,
                              cg_value first, cg_value end);
/* Sets r->time for step number `step`; returns `back` for it. */
cg_value glow_cpu_recurrent_time(cpu_recurrence *r, cg_value step);

/*
 * Threads that share the vectors of units of each phase, where there is one unit
 * of work: a crew, made before the first step; what it does for a phase.
 */
typedef struct cpu_crew cpu_crew;
const cpu_crew *glow_cpu_recurrent_crew(cpu_recurrence *r);
void glow_cpu_crew_makes(cpu_recurrence *r, int phase, cg_value step);

/* For cells, at the row and units at hand: */

/* What gate `i` gets from X, with its Bias. */
cg_value glow_cpu_gate_input(cpu_recurrence *r, int i);
/* The Bias of R for gate `i`, or NULL. */
cg_value glow_cpu_gate_bias(cpu_recurrence *r, int i);
/* Peephole `i`, or NULL. */
cg_value glow_cpu_peephole(cpu_recurrence *r, int i);
cg_value glow_cpu_state(cpu_recurrence *r, cpu_state s);
void glow_cpu_set_state(cpu_recurrence *r, cpu_state s, cg_value v);
/* The state after the step, and the cells (NULL: there are none). */
void glow_cpu_end_cell(cpu_recurrence *r, cg_value h, cg_value c);

/* Activation `i` of `x`; of a gate, which is clipped first. */
cg_value glow_cpu_activate(cpu_recurrence *r, int i, cg_value x);
cg_value glow_cpu_activate_gate(cpu_recurrence *r, int i, cg_value x);

#endif
