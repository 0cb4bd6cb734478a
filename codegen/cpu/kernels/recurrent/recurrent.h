/*
 * Recurrent networks: the interface between the loop over the steps
 * (recurrent.c) and the cells (cell.c).
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

/* States of [B, H] elements, kept between steps or within one. */
typedef enum cpu_state {
    CPU_H,     /* the state before the step */
    CPU_NEXT,  /* the state after the step; swapped with CPU_H */
    CPU_C,     /* LSTM: the cells; GRU: the update gate */
    CPU_RESET, /* GRU: the state times the reset gate */
    CPU_STATES
} cpu_state;

typedef struct cpu_recurrence cpu_recurrence;

/*
 * A phase of a step: the gates that are products with the same state, and the
 * function that uses them.  `finish` is called for each row of the batch and
 * vector of hidden units, with the products of its gates.
 */
typedef struct cpu_phase {
    int first, count; /* gates */
    cpu_state from;   /* operand of the product with R */
    void (*finish)(cpu_recurrence *r, cg_value const *product);
} cpu_phase;

typedef struct cpu_cell {
    const glow_op *op;
    int gates;
    int activations;
    int states; /* number of states, the first of cpu_state */
    cpu_phase phase[2];
    int phases;
} cpu_cell;

/* Blocking of a network. */
typedef struct cpu_recurrent_shape {
    const cpu_cell *cell;
    int64_t steps, batch, directions, hidden;
    int lanes;
    int64_t vectors; /* of hidden units, the last perhaps partial */
    int rows;        /* of the batch in a tile */
    int64_t tiles;   /* of the batch, the last perhaps partial */
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

/* State of the emitter. */
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
    const struct cpu_team *team; /* thread team, or NULL */
    /* Position of `finish`: row of the batch, first hidden unit. */
    cg_value row, unit;
};

/* The cell of an operator, or NULL. */
const cpu_cell *glow_cpu_cell(const glow_node *n);

/*
 * Emits one phase of a step for vectors `first` to `end` (i64) of hidden units,
 * in reverse order if `back` is true.
 */
void glow_cpu_recurrent_phase(cpu_recurrence *r, int phase, cg_value back,
                              cg_value first, cg_value end);
/* Sets r->time for step number `step`; returns `back` for it. */
cg_value glow_cpu_recurrent_time(cpu_recurrence *r, cg_value step);

/*
 * A thread team that shares the vectors of hidden units of each phase, for
 * kernels with one unit of work.  glow_cpu_recurrent_team creates it before the
 * first step; glow_cpu_team_runs runs a phase on it.
 */
typedef struct cpu_team cpu_team;
const cpu_team *glow_cpu_recurrent_team(cpu_recurrence *r);
void glow_cpu_team_runs(cpu_recurrence *r, int phase, cg_value step);

/* For cells, at the row and units at hand: */

/* Input of gate `i`: X times W, with the bias of W. */
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
