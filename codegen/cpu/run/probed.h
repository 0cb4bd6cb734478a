/* Targets whose parameters LLVM was asked for, kept by this process. */

#ifndef CODEGEN_CPU_RUN_PROBED_H
#define CODEGEN_CPU_RUN_PROBED_H

#include "codegen/cpu/target.h"

/*
 * Replaces `t`, a target before its parameters are probed, by the kept result of a target
 * that was the same then.  False if there is none: `t` stays as it is.
 */
bool glow_cpu_find_probed(cpu_target *t);

/* Keeps `after`, into which probing made `before`. */
void glow_cpu_keep_probed(const cpu_target *before, const cpu_target *after);

#endif
