/* A network of a file, compiled for each worker of a device in this process. */

#ifndef RUNTIME_LOADED_H
#define RUNTIME_LOADED_H

#include "glow/network.h"
#include "glow/runtime.h"

typedef struct run_instance {
    glow_context *ctx; /* of this worker alone */
    glow_module *module;
    glow_network network;
    glow_report_text last; /* the first report since it was emptied */
} run_instance;

struct glow_loaded {
    const glow_backend *backend;
    int workers;
    run_instance *instances;
    glow_port *ports;
    int n_ports;
    int64_t bytes;
    bool shares; /* constants, which another network counts */
};

/*
 * A context with the plug-ins of `from`, which gets its reports, until it has another
 * sink; the caller frees it.  NULL after a report.
 */
glow_context *glow_run_new_context(glow_context *from);
/* The module of a file, which the caller frees; NULL after a report. */
glow_module *glow_run_read(glow_context *ctx, const char *path);
/* Its function of that name, or its entry; NULL after a report. */
glow_func *glow_run_function(glow_context *ctx, glow_module *m,
                             const char *path, const char *name);

/* NULL after a report to `ctx`. */
glow_loaded *glow_run_load(glow_context *ctx, const glow_run_device_options *d,
                           const glow_load_options *o);
void glow_run_unload(glow_loaded *l);
/*
 * Runs on one address for each port, in `memory` of the backend or, if that is NULL, of
 * the host, on the instance of `worker`.
 */
glow_outcome glow_run_loaded(glow_loaded *l, int worker, void *memory,
                             const uint64_t *at, glow_report_text *r);

#endif
