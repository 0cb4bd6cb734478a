/* WebAssembly: linking, and the loader in JavaScript. */

#ifndef CODEGEN_CPU_RUN_WEB_H
#define CODEGEN_CPU_RUN_WEB_H

#include "codegen/cpu/plan.h"

/* The path of wasm-ld; NULL after a report (E0852). */
const char *glow_cpu_find_wasm_ld(glow_context *ctx, glow_arena *a);
/*
 * Links an object of `size` bytes to a module that exports the functions of `p` and the end
 * of its data, with `stack` bytes of stack.  False after a report (E0853).
 */
bool glow_cpu_link_wasm(glow_context *ctx, glow_arena *a, const char *linker,
                        const cpu_plan *p, const char *name, int64_t stack,
                        const void *object, size_t size, glow_buf *module);

/* Files of a bundle, without folders. */
typedef struct cpu_loader {
    const char *name; /* of the bundle */
    const char *file, *module;
    const char *weights; /* NULL: NAME_weights of the module */
    const char *state;   /* the same of the first contents of the state */
    bool has_state;      /* there are any */
} cpu_loader;

/* Appends the loader of the functions of `root`. */
void glow_cpu_put_loader(glow_buf *b, const cpu_plan *root,
                         const cpu_loader *o);

#endif
