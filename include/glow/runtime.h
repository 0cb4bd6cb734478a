/*
 * Devices: memory and queues of a machine, or of a part of it, on which loaded
 * networks run asynchronously.
 *
 * Backends run in threads of this process, in memory of the host or, if they have a
 * glow_backend_memory, in their own.
 * Calls may come from any thread, also several at once, unless said otherwise; none
 * blocks but open, load, reset and close.
 */

#ifndef GLOW_RUNTIME_H
#define GLOW_RUNTIME_H

#include "glow/executor.h"
#include "glow/fence.h"
#include "glow/tensor.h"

GLOW_BEGIN

struct glow_backend;
struct glow_target_options;

typedef struct glow_run_device glow_run_device;
typedef struct glow_loaded glow_loaded;
typedef struct glow_run_device_api glow_run_device_api;

/* Options of a device. */
typedef struct glow_run_device_options {
    const char *name;  /* unique in a host */
    const char *group; /* another name, of several that are alike; NULL: none */
    const struct glow_backend *backend;
    const struct glow_target_options *code; /* NULL: for this machine */
    int64_t memory;                         /* bytes that it has; 0: no limit */
    int queues;                             /* runs at once; 0: 1 */
    glow_executor *executor; /* which the host sets to its own; NULL: threads */
    /*
     * Kind remote: the arguments of a process, found on PATH, that serves as the
     * device on descriptor 3 (glow_run_device_serve); ended by NULL.
     */
    const char *const *command;
    /* Kind remote: who reads a tensor in shared memory checks that it is as it was written. */
    bool checksums;
    /* Kind sim: nanoseconds of a run, and of a copied byte times 1000. */
    int64_t run_ns, copy_ps;
    /* Kind sim: this run (from 1) fails, hangs, or ends the device; 0: none. */
    int fail_at, hang_at, die_at;
} glow_run_device_options;

typedef enum glow_run_device_state {
    GLOW_RUN_DEVICE_READY,
    GLOW_RUN_DEVICE_SUSPECT, /* a run took too long, or failed */
    GLOW_RUN_DEVICE_LOST,    /* nothing it has can be trusted: reset or close */
} glow_run_device_state;

typedef struct glow_run_device_info {
    glow_run_device_state state;
    int64_t memory, used; /* bytes; memory 0: no limit */
    int queues;
    bool host_memory; /* its buffers have addresses */
} glow_run_device_info;

typedef struct glow_run_device_statistics {
    int64_t runs, failures, bytes_in, bytes_out;
    int64_t busy_ns; /* of all queues together */
} glow_run_device_statistics;

/* A buffer of a device. */
typedef struct glow_buffer {
    void *host;  /* its address, if the host may use it, else NULL */
    uint64_t at; /* of the device's own */
    int64_t bytes;
} glow_buffer;

/* An input or output of a loaded network: a placeholder. */
typedef struct glow_port {
    const char *name;
    const glow_type *type;
    int64_t bytes;
    bool read, written;
} glow_port;

/* A network for a device: a function of a file. */
typedef struct glow_load_options {
    const char *path; /* .gir, with its weights beside it */
    /* NULL: the entry.  Ports of the body of a Run are its formals. */
    const char *function;
    const char *passes; /* NULL: those of -O2 for the backend */
    /*
     * Networks of this device, unloaded together with this one, whose constants it may share
     * where they are the same; they are counted once then.
     */
    glow_loaded *const *like;
    int n_like;
} glow_load_options;

/* The fences of a command: when it may start, and which it reaches in the end. */
typedef struct glow_command {
    glow_fence wait;   /* a timeline of NULL: at once */
    glow_fence signal; /* fails with the report of a failure */
    int priority;      /* greater goes first */
    int64_t deadline;  /* of glow_now: not started after it; 0: none */
    /* The time when it started while it goes on, else 0, set by __atomic_store_n; 0 too
     * while it waits for the device to load a network.  Lives until `signal`.  NULL: nobody
     * asks. */
    int64_t *since;
} glow_command;

struct glow_run_device_api {
    const char *kind; /* "local", "sim", "remote" */
    /* NULL after a report in `ctx`, which the device does not keep. */
    glow_run_device *(*open)(glow_context *ctx,
                             const glow_run_device_options *o);
    /* Waits for commands that run, cancels others.  Nothing may be loaded. */
    void (*close)(glow_run_device *d);
    void (*info)(glow_run_device *d, glow_run_device_info *out);
    void (*statistics)(glow_run_device *d, glow_run_device_statistics *out);
    /* False: there is no room, or the device is lost. */
    bool (*allocate)(glow_run_device *d, int64_t bytes, glow_buffer *out);
    void (*free)(glow_run_device *d, glow_buffer *b);
    /*
     * Copies between host memory and a buffer: `to` or `from` has no device (at 0)
     * and an address.  Asynchronous.
     */
    void (*copy)(glow_run_device *d, const glow_buffer *to,
                 const glow_buffer *from, const glow_command *c);
    /* NULL after a report to `ctx`, without the device's having changed. */
    glow_loaded *(*load)(glow_run_device *d, glow_context *ctx,
                         const glow_load_options *o);
    /* No run of it may be submitted and not yet done. */
    void (*unload)(glow_run_device *d, glow_loaded *l);
    int (*ports)(const glow_loaded *l, const glow_port **out);
    /* Bytes that the network holds: code, constants, activations. */
    int64_t (*bytes)(const glow_loaded *l);
    /* Runs on one buffer for each port, in the order of `ports`. */
    void (*submit)(glow_run_device *d, glow_loaded *l,
                   const glow_buffer *buffers, const glow_command *c);
    /* Fails commands that would raise `t` and have not started. */
    void (*cancel)(glow_run_device *d, glow_timeline *t);
    /*
     * Starts anew: fails commands that run with GLOW_RUN_LOST, and others that were
     * submitted with GLOW_RUN_CANCELLED.  Loaded networks work again; contents of
     * buffers are lost.  False: it cannot, and is lost for good.
     */
    bool (*reset)(glow_run_device *d);
};

/* Threads of this process, a backend's load and run, and its memory if it has one. */
extern GLOW_API const glow_run_device_api glow_run_device_local;
/* The backend in a process of its own, with memory that both share. */
extern GLOW_API const glow_run_device_api glow_run_device_remote;
/*
 * Serves as the device at the other end of a stream socket, until that is closed;
 * errors go there, not to the sink of `ctx`.
 */
GLOW_API void glow_run_device_serve(glow_context *ctx, int socket,
                                    const glow_run_device_options *o);
/* The local kind, with time taken by the clock, and faults on demand: for tests. */
extern GLOW_API const glow_run_device_api glow_run_device_sim;

GLOW_END

#endif
