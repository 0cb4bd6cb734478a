/*
 * Whether a pass kept what it promises; how is said in glow/semantics.h.
 */

#ifndef GLOW_PASSES_VERDICT_H
#define GLOW_PASSES_VERDICT_H

#include "passes/trial.h"

typedef struct verdict {
    const glow_pass *pass;
    trial trial;                /* of the function as it is now */
    glow_module *module_before; /* where a float64 run may be needed */
    const trial_state *before, *after;
    int set; /* at hand */
} verdict;

/* False after a report. */
bool verdict_is_same(verdict *v);

#endif
