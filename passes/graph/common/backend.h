/* Abilities of the backend of a pass run, which decide what is worth building. */

#ifndef PASSES_GRAPH_COMMON_BACKEND_H
#define PASSES_GRAPH_COMMON_BACKEND_H

#include "glow/pass.h"

/* True if the backend, if there is one, takes Quantize and Dequantize of i8. */
bool glow_backend_quantizes(const glow_pass_run *run);

#endif
