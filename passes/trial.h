/*
 * What a function computes: its results on sets of inputs, for semantics.c to
 * compare those before a pass with those after it.
 */

#ifndef GLOW_PASSES_TRIAL_H
#define GLOW_PASSES_TRIAL_H

#include "glow/eval.h"
#include "glow/pass.h"

enum { N_TRIALS = 4 };

/* The sets of inputs. */
typedef struct trial_set {
    const char *name;
    glow_fill fill;
    bool is_brief; /* part of what large functions are run on */
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

/* One run of a function on one set of inputs. */
typedef struct trial {
    glow_context *ctx;
    glow_memo *memo;
    uint64_t seed;
    glow_func *f;
    int set;
    bool zero_ints; /* all integers are 0 */
    bool shadow;    /* in float64 */
    double noise;   /* see glow_eval_options */
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
    bool zero_ints; /* it took integers that are all zero */
    trial_held *written;
} trial_outcome;

typedef struct trial_state {
    glow_arena *arena;
    const char *func;
    bool is_body;
    trial_outcome sets[N_TRIALS];
    const char *refusal; /* the first error of a set that did not run */
    struct trial_state *next;
} trial_state;

/*
 * Runs the function of `t` on each set, or on those that ran in `like`, with
 * the integers that these took.
 */
trial_state *trial_state_new(trial t, const trial_state *like);
void trial_state_end(trial_state *st);

#endif
