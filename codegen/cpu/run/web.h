/* WebAssembly: linking, and the loader in JavaScript. */

#ifndef CODEGEN_CPU_RUN_WEB_H
#define CODEGEN_CPU_RUN_WEB_H

#include "codegen/cpu/plan.h"

/* The path of wasm-ld; NULL after a report (E0852). */
const char *glow_cpu_find_wasm_ld(glow_context *ctx, glow_arena *a);
/*
 * Links an object of `size` bytes to a module that exports function `name` and the end of
 * its data, with `stack` bytes of stack.  False after a report (E0853).
 */
bool glow_cpu_link_wasm(glow_context *ctx, glow_arena *a, const char *linker,
                        const char *name, int64_t stack, const void *object,
                        size_t size, glow_buf *module);
/*
 * Appends the loader of module file `module`, whose own file is `file`; `weights` is the file of the constants, or
 * NULL if these are in the module as `name`_weights.
 */
void glow_cpu_put_loader(glow_buf *b, const cpu_plan *p, const char *name,
                         const char *file, const char *module,
                         const char *weights);

#endif
