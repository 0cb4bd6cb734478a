/* Bundles: a network as files that a program links, without this library. */

#ifndef CODEGEN_CPU_RUN_BUNDLE_H
#define CODEGEN_CPU_RUN_BUNDLE_H

#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/plan.h"
#include "codegen/cpu/run/header.h"

/* The name of the function and of the macros of a bundle: from its file name. */
const char *glow_cpu_bundle_name(glow_arena *a, const char *path);
/* False after a report if no files can be beside `path`: it is a device, or a folder. */
bool glow_cpu_may_name_bundle(glow_context *ctx, const char *path);
/*
 * Writes the files of a bundle whose module is in `g`: an object, a header and weights,
 * and the state that `t` names; for wasm32 also a module and its loader.  `t` may be
 * NULL.  False after a report, and then no file was written.
 */
bool glow_cpu_write_bundle(cg *g, const cpu_plan *p, const char *path,
                           const glow_target_options *t);

#endif
