/*
 * Choice of an instruction: its kernel, and the values of the kernel's tuning
 * parameters (knobs).
 *
 * The kernel's cost model sets each knob that a choice leaves free, so a choice
 * without any is the default.  `t->choice` of a target is the choice of the
 * instruction at hand: packing, scratch size, units and code of a kernel are
 * all computed with the same target.
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
    CPU_KNOB_UNIT,    /* depth that is unrolled */
    CPU_KNOB_LINES,   /* of a block; where lines are one, tiles */
    CPU_KNOB_TILES,   /* of a block, of Winograd's */
    CPU_KNOB_AHEAD, /* cache lines of weights that a unit prefetches, at most */
    CPU_KNOBS
} cpu_knob;

#define CPU_KNOB_FREE (-1)

typedef struct cpu_choice {
    const struct cpu_kernel *kernel;
    int64_t value[CPU_KNOBS]; /* or CPU_KNOB_FREE */
    double cycles;            /* by the cost model; not compared or printed */
    glow_span span;           /* in the file that it comes from, if any */
} cpu_choice;

/* Name and range of a knob. */
typedef struct cpu_knob_def {
    const char *name;
    int64_t least, most;
} cpu_knob_def;
extern const cpu_knob_def glow_cpu_knob_defs[CPU_KNOBS];

/* `kernel` with all knobs free. */
cpu_choice glow_cpu_free_choice(const struct cpu_kernel *kernel);
/*
 * Value of knob `k` in t->choice, or `otherwise` if it is free or there is no
 * choice.
 */
int64_t glow_cpu_knob(const cpu_target *t, cpu_knob k, int64_t otherwise);
/* "conv_direct rows=14 vectors=2" */
const char *glow_cpu_choice_text(glow_arena *a, const cpu_choice *c);
bool glow_cpu_same_choice(const cpu_choice *a, const cpu_choice *b);

/* The best of several choices, sorted by cycles, at most `most`. */
typedef struct cpu_choices {
    cpu_choice *at; /* of `most` */
    int count, most;
} cpu_choices;
void glow_cpu_add_choice(cpu_choices *to, cpu_choice c);

#endif
