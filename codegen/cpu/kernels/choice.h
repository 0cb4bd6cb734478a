/*
 * How an instruction is to be done: by which kernel, and by which of the numbers
 * that this one goes by.
 *
 * A number that a choice leaves free is what the kernel's cost model says, so
 * the choice without any is the default.  A target has the choice of the
 * instruction at hand: all that a kernel asks of it, packing, memory to work in,
 * units, code, is asked with the same target.
 */

#ifndef CODEGEN_CPU_KERNELS_CHOICE_H
#define CODEGEN_CPU_KERNELS_CHOICE_H

#include "codegen/cpu/target.h"
#include "glow/diag.h"

struct cpu_kernel;

typedef enum cpu_knob {
    CPU_KNOB_FORM,    /* Winograd's: results of a tile in one direction */
    CPU_KNOB_ROWS,    /* of a register tile */
    CPU_KNOB_VECTORS, /* of a register tile */
    CPU_KNOB_UNIT,    /* of the depth, written out at a time */
    CPU_KNOB_LINES,   /* of a block; where lines are one, tiles */
    CPU_KNOB_TILES,   /* of a block, of Winograd's */
    CPU_KNOB_AHEAD, /* cache lines of weights that a unit prefetches, at most */
    CPU_KNOBS
} cpu_knob;

#define CPU_KNOB_FREE (-1)

typedef struct cpu_choice {
    const struct cpu_kernel *kernel;
    int64_t value[CPU_KNOBS]; /* or CPU_KNOB_FREE */
    double cycles;            /* by the cost model; not part of what it says */
    glow_span span;           /* in the file that it comes from, if any */
} cpu_choice;

/* What a number is called, and what it may be at all. */
typedef struct cpu_knob_def {
    const char *name;
    int64_t least, most;
} cpu_knob_def;
extern const cpu_knob_def glow_cpu_knob_defs[CPU_KNOBS];

/* `kernel` with all numbers free. */
cpu_choice glow_cpu_free_choice(const struct cpu_kernel *kernel);
/* What the choice of the target has, or `otherwise`. */
int64_t glow_cpu_knob(const cpu_target *t, cpu_knob k, int64_t otherwise);
/* "conv_direct rows=14 vectors=2" */
const char *glow_cpu_choice_text(glow_arena *a, const cpu_choice *c);
bool glow_cpu_same_choice(const cpu_choice *a, const cpu_choice *b);

/* Of several choices the best: in order of their cycles, at most `most`. */
typedef struct cpu_choices {
    cpu_choice *at; /* of `most` */
    int count, most;
} cpu_choices;
void glow_cpu_add_choice(cpu_choices *to, cpu_choice c);

#endif
