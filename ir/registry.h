/*
 * Lists of the built-in operators, passes and backends, each ending with NULL.
 * Meson generates them from the names in the meson.build files.
 */

#ifndef GLOW_IR_REGISTRY_H
#define GLOW_IR_REGISTRY_H

#include "glow/backend.h"
#include "glow/pass.h"

extern const glow_op *const glow_builtin_ops[];
extern const glow_pass *const glow_builtin_passes[];
extern const glow_backend *const glow_builtin_backends[];

#endif
