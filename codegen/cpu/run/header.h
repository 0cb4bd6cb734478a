/* The header of a bundle. */

#ifndef CODEGEN_CPU_RUN_HEADER_H
#define CODEGEN_CPU_RUN_HEADER_H

#include "codegen/cpu/plan.h"
#include "glow/cpu.h"

/*
 * `name` as an identifier of C and C++: other characters become `_`, and a
 * keyword or a leading digit gets a `_`.
 */
const char *glow_cpu_c_name(glow_arena *a, const char *name);
/* The same in upper case: the prefix of macros. */
const char *glow_cpu_macro_prefix(glow_arena *a, const char *name);

/* True for a placeholder that the caller keeps from call to call. */
bool glow_cpu_is_state(const cpu_binding *b);

/*
 * Appends the header of function `name`.  `stack` is the bound of its stack in bytes;
 * `file` names the file of the constants, if they are in one.
 */
void glow_cpu_put_header(glow_buf *b, const cpu_plan *p, const char *name,
                         int64_t stack, glow_bundle_weights weights,
                         const char *file);

#endif
