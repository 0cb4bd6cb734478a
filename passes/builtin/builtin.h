/* The passes of the library: a table that Meson writes. */

#ifndef GLOW_PASSES_BUILTIN_BUILTIN_H
#define GLOW_PASSES_BUILTIN_BUILTIN_H

#include "glow/pass.h"

extern const glow_pass *const glow_builtin_passes[]; /* ended by NULL */

#endif
