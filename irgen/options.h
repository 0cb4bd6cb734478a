/* Checks of options that alloc and schedule share. */

#ifndef IRGEN_OPTIONS_H
#define IRGEN_OPTIONS_H

#include "glow/pass.h"

/* False after a report of E0332 that names the pass. */
bool glow_check_memory_options(glow_context *ctx, const char *pass,
                               int64_t align, int64_t budget);

#endif
