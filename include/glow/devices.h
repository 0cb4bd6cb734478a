/*
 * Devices as data: what a network may be spread over (the pass partition, the
 * backend parts).
 *
 *     {
 *       "devices": [
 *         {"name": "npu", "backend": "npu.core<fill=0>", "memory": "4MiB",
 *          "target": "npu.json", "profile": "npu-times.json",
 *          "bytes_per_second": 1e9, "seconds_per_transfer": 1e-5},
 *         {"name": "host", "backend": "cpu"}
 *       ]
 *     }
 *
 * The order is that of preference.  Files are named relative to the folder of the
 * devices file.  `memory` is in bytes; a device without it has no limit.  A transfer
 * between the host and a device takes seconds_per_transfer and its bytes over
 * bytes_per_second; a device without the latter works in the memory of the host.
 */

#ifndef GLOW_DEVICES_H
#define GLOW_DEVICES_H

#include "glow/backend.h"
#include "glow/target.h"

GLOW_BEGIN

#define GLOW_MAX_DEVICES 64

/* The measured time of a kernel call, of `glow-run -profile -json`. */
typedef struct glow_device_step {
    const char *const *nodes; /* names of what it computes, ended by NULL */
    double seconds;
} glow_device_step;

typedef struct glow_device {
    const char *name;         /* unique */
    const char *backend_text; /* as in -backend= */
    const glow_backend *backend;
    const void *options;       /* of the backend */
    const glow_target *target; /* rates, from `target`, else of the backend */
    int64_t memory;            /* bytes; INT64_MAX: no limit */
    double bytes_per_second;   /* INFINITY: the memory of the host */
    double seconds_per_transfer;
    const glow_device_step *steps; /* of `profile`; none: NULL */
    size_t n_steps;
    bool checksums; /* of tensors, where the device is a process of its own */
} glow_device;

typedef struct glow_devices {
    const glow_device *at;
    int count; /* 1 to GLOW_MAX_DEVICES */
} glow_devices;

/*
 * Reads a devices file, and the files that it names.  NULL after a report (E0470, of
 * a target E0417, of a backend E0811, E0402 or E0404); lives in `a`.
 */
GLOW_API const glow_devices *glow_devices_read(glow_context *ctx, glow_arena *a,
                                               const char *path);
/* The device of that name, or NULL. */
GLOW_API const glow_device *glow_find_device(const glow_devices *d,
                                             const char *name);
/* True if `f` has Runs, which are the parts of a network. */
GLOW_API bool glow_has_runs(const glow_func *f);
/*
 * A module with copies of `body` and of the bodies that it calls, and of the storage that
 * these use: what one device compiles.  The copy of `body` is no body any more; its Inputs
 * and Outputs are placeholders of the same names.  The caller frees it.
 */
GLOW_API glow_module *glow_part_module(const glow_func *body);
/*
 * Seconds for node `n` on `d`: those of the profile, where a step has its name or one
 * derived from it (`conv.1` of `conv`, unless a node of the function is called so), in
 * equal shares of the nodes of a step; else by the cost model and the target.
 */
GLOW_API double glow_device_time(const glow_device *d, const glow_node *n);

GLOW_END

#endif
