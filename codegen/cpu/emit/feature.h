/* Features that LLVM knows a target to have. */

#ifndef CODEGEN_CPU_EMIT_FEATURE_H
#define CODEGEN_CPU_EMIT_FEATURE_H

#include "codegen/cpu/emit/gen.h"

/*
 * Sets has[i] where the processor of `t`, with its words of features, has names[i], a
 * feature of LLVM for the architecture of `t`; a NULL among the names is left out.
 */
void glow_cg_features(glow_arena *a, const cpu_target *t,
                      const char *const *names, int count, bool *has);

/* True if the processor is of AMD, though a virtual machine may hide that it has SSE4A. */
bool glow_cg_is_amd(glow_arena *a, const cpu_target *t);
/* True if the target has vectors of 64 bytes and executes them in halves, as Zen 4 does. */
bool glow_cg_has_halves(glow_arena *a, const cpu_target *t);

#endif
