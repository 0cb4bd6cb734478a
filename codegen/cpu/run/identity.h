/* Which build of the code generator this is. */

#ifndef CODEGEN_CPU_RUN_IDENTITY_H
#define CODEGEN_CPU_RUN_IDENTITY_H

#include "glow/base.h"

/*
 * The number that the linker made of the contents of this library, or of the
 * program that it is part of, as hexadecimal digits; NULL if there is none.
 */
const char *glow_cpu_identity(glow_arena *a);

#endif
