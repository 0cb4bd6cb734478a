/*
 * Results of a function on sets of test inputs, for the comparison before and
 * after a pass.
 */

#ifndef GLOW_PASSES_TRIAL_H
#define GLOW_PASSES_TRIAL_H

#include "glow/eval.h"
#include "glow/pass.h"
#include "passes/trial_inputs.h"

enum { N_TRIALS = 9, MOST_UNITS = 8 };

/* The sets of inputs. */
typedef struct trial_set {
    const char *name;
    glow_fill fill;
    int quarter; /* of GLOW_FILL_ENDS: first quarter of the table */
    double most; /* flops of functions that are run on it, at most */
} trial_set;

extern const trial_set glow_trial_sets[N_TRIALS];

/* The contents of one placeholder after a run. */
typedef struct trial_held {
    const char *name;
    glow_tensor tensor;
    struct trial_held *next;
} trial_held;

/* The entry of this name, or NULL. */
const trial_held *glow_trial_find(const trial_held *list, const char *name);
void glow_trial_end(trial_held *list);

/* Numbers that a function divides and multiplies by. */
typedef struct trial_units {
    double at[MOST_UNITS];
    int count;
} trial_units;

/*
 * Kinds of integers in inputs, tried in this order until the function accepts
 * them.
 */
typedef enum trial_ints {
    INTS_OF_SET,
    INTS_SMALL, /* likely to be in range as indices */
    INTS_ZERO,
} trial_ints;

/* One run of a function on one set of inputs. */
typedef struct trial {
    glow_context *ctx;
    glow_memo *memo;
    trial_inputs *inputs; /* drawn before, or NULL */
    uint64_t seed;
    glow_func *f;
    int set;
    trial_ints ints;
    trial_units units;  /* units of GLOW_FILL_COUNT */
    bool shadow;        /* in float64 */
    bool within_ranges; /* random numbers within the range of the placeholder */
    double noise;       /* see glow_eval_options */
    /*
     * Called with each tensor of the run, which it may change: of the placeholder
     * "@x" before, of the first result of node "x" after it was computed.
     */
    void (*see)(void *user, const char *name, const glow_tensor *t);
    void *user;
} trial;

/*
 * Runs; sets *written to the placeholders that the function writes, allocated
 * in `a`.  False if it does not accept the inputs; then *why, unless it is set
 * or NULL, is the first error, and nothing is reported.
 */
bool glow_trial_run(const trial *t, glow_arena *a, trial_held **written,
                    const char **why);

/* The outcome of a run on one set. */
typedef struct trial_outcome {
    bool ran;
    trial_ints ints; /* that it accepted */
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
 * Runs the function of `t` on each set, or on the sets that ran in `like`, with
 * the same integers and units.
 */
trial_state *glow_trial_state_new(trial t, const trial_state *like);
void glow_trial_state_end(trial_state *st);

#endif
