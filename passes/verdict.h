/* Judgement of a pass by its declared guarantee; see glow/semantics.h. */

#ifndef GLOW_PASSES_VERDICT_H
#define GLOW_PASSES_VERDICT_H

#include "passes/trial.h"

typedef struct verdict {
    const glow_pass *pass;
    trial trial;                /* of the function after the pass */
    glow_module *module_before; /* for a float64 run, if needed */
    const trial_state *before, *after;
    int set; /* current set */
} verdict;

/* False after a report. */
bool glow_verdict_is_same(verdict *v);
/* The judgement of a pass that is GLOW_QUANTIZED: passes/quantized. */
bool glow_quantized_is_close(const verdict *v);

#endif
