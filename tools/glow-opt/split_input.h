/*
 * -split-input-file: several inputs in one file, separated by lines `// -----`.
 */

#ifndef GLOW_TOOLS_GLOW_OPT_SPLIT_INPUT_H
#define GLOW_TOOLS_GLOW_OPT_SPLIT_INPUT_H

#include "glow/diag.h"

/* The line between two parts; also printed between their outputs. */
#define SPLIT_LINE "// -----"

/*
 * The parts of `whole`, *count of them, at least one.  Each knows its first
 * line, so that reports name lines of the whole.
 */
const glow_source *const *split_input(glow_arena *a, const glow_source *whole,
                                      size_t *count);

#endif
