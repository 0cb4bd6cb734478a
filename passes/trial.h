/*
 * What a function computes: its results on sets of inputs, for semantics.c to
 * compare those before a pass with those after it.
 */

#ifndef GLOW_PASSES_TRIAL_H
#define GLOW_PASSES_TRIAL_H

#include "glow/eval.h"
#include "glow/pass.h"

enum { N_TRIALS = 9, MOST_UNITS = 8 };

/* The sets of inputs. */
typedef struct trial_set {
    const char *name;
    glow_fill fill;
    int quarter; /* of GLOW_FILL_ENDS: where to begin */
    double most; /* operations of the functions that are run on it */
} trial_set;

extern const trial_set trial_sets[N_TRIALS];

/* What one placeholder holds after a run. */
typedef struct trial_held {
    const char *name;
    glow_tensor tensor;
    struct trial_held *next;
} trial_held;

/* NULL if there is none of that name. */
const trial_held *trial_find(const trial_held *list, const char *name);
void trial_end(trial_held *list);

/* Numbers that a function divides and multiplies by. */
typedef struct trial_units {
    double at[MOST_UNITS];
    int count;
} trial_units;

/* The integers of a set, where a function refuses those before. */
typedef enum trial_ints {
    INTS_OF_SET,
    INTS_SMALL, /* as indices they are likely to be in range */
    INTS_ZERO,
} trial_ints;

/* One run of a function on one set of inputs. */
typedef struct trial {
    glow_context *ctx;
    glow_memo *memo;
    uint64_t seed;
    glow_func *f;
    int set;
    trial_ints ints;
    trial_units units; /* that GLOW_FILL_COUNT counts in */
    bool shadow;       /* in float64 */
    double noise;      /* see glow_eval_options */
} trial;

/*
 * Runs; *written are the placeholders that the function writes, in `a`.  False
 * where it does not take the inputs; then *why, unless it is set or NULL, is
 * the first error, and nothing is reported.
 */
bool trial_run(const trial *t, glow_arena *a, trial_held **written,
               const char **why);

/* What a function gave of each set. */
typedef struct trial_outcome {
    bool ran;
    trial_ints ints; /* that it took */
    trial_held *written;
} trial_outcome;

typedef struct trial_state {
    glow_arena *arena;
    const char *func;
    bool is_body;
    trial_outcome sets[N_TRIALS];
    trial_units units;
    const char *refusal; /* the first error of a set that did not run */
    struct trial_state *next;
} trial_state;

/*
 * Runs the function of `t` on each set, or on those that ran in `like`, with
 * the integers and units that these took.
 */
trial_state *trial_state_new(trial t, const trial_state *like);
void trial_state_end(trial_state *st);

#endif
