/*
 * Networks: a pipeline and a backend in one call, with a cache on disk.
 */

#ifndef GLOW_NETWORK_H
#define GLOW_NETWORK_H

#include "glow/backend.h"

GLOW_BEGIN

/* Options of compilation. */
typedef struct glow_network_options {
    const glow_backend *backend;
    const glow_target_options *code; /* NULL: for this machine */
    const char *passes;              /* a pipeline; NULL: none */
} glow_network_options;

typedef struct glow_network {
    const glow_backend *backend;
    glow_executable *executable;
    glow_func *func;    /* the program that it runs */
    glow_module *found; /* that this is of, if it was on disk */
} glow_network;

/*
 * Runs the passes on `f` and loads it.  With a folder code->cache the result is
 * stored there, under a key of all of its inputs: the text of the module, the
 * bytes of its constants, the passes, and the identity of the backend and its
 * target.  A hit runs no pass.  The result is bound to the placeholders of `f` in
 * either case.  False after a report.
 */
GLOW_API bool glow_network_load(glow_network *n, glow_func *f,
                                const glow_network_options *options);
GLOW_API void glow_network_unload(glow_network *n);

GLOW_END

#endif
