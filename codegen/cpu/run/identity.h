/* Identity of this build of the code generator, for cache keys. */

#ifndef CODEGEN_CPU_RUN_IDENTITY_H
#define CODEGEN_CPU_RUN_IDENTITY_H

#include "glow/base.h"

/*
 * The linker's hash of the contents (build-id) of this library, or of the
 * program that contains it, as hexadecimal digits; NULL if there is none.
 */
const char *glow_cpu_identity(glow_arena *a);

#endif
