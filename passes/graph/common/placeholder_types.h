/* Placeholders that take the type of a conversion beside them. */

#ifndef PASSES_GRAPH_COMMON_PLACEHOLDER_TYPES_H
#define PASSES_GRAPH_COMMON_PLACEHOLDER_TYPES_H

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct io_options {
    bool inputs;
    bool outputs;
} io_options;

/*
 * The run of a pass whose options are io_options.  A placeholder that is only read by
 * nodes `input`, which all give one type, takes this type, and so does one that only a
 * Save of an `output` writes: its operand's.
 */
glow_result glow_fold_io(glow_pass_run *run, glow_func *f, const glow_op *input,
                         const glow_op *output);

#endif
