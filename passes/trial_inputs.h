/* Memo of test inputs: elements drawn for one run of a function serve all later runs. */

#ifndef GLOW_PASSES_TRIAL_INPUTS_H
#define GLOW_PASSES_TRIAL_INPUTS_H

#include "glow/eval.h"

/* The arguments of a draw, on which its elements depend, and on nothing else. */
typedef struct trial_draw {
    const glow_type *type; /* contiguous */
    glow_fill how;
    uint64_t seed;
    const double *units; /* factors of every four elements in turn, or NULL */
    int n_units;
} trial_draw;

/* A memo of at most `bytes` of elements. */
typedef struct trial_inputs trial_inputs;
trial_inputs *glow_trial_inputs_new(size_t bytes);
void glow_trial_inputs_free(trial_inputs *m);

/* The elements of `d`, in memory of their own; `m` may be NULL. */
glow_tensor glow_trial_inputs_get(trial_inputs *m, const trial_draw *d);

#endif
