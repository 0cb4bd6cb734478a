/*
 * Hosts: services over devices.  A service is a network of a file, whole or in the
 * parts that the pass `partition` made; requests run on it asynchronously.
 *
 * All calls may come from any thread.  Reports of adding go to the caller's context;
 * the fence of a request tells its outcome.
 */

#ifndef GLOW_HOST_H
#define GLOW_HOST_H

#include "glow/runtime.h"

GLOW_BEGIN

typedef struct glow_host glow_host;
typedef struct glow_service glow_service;
typedef struct glow_request glow_request;

typedef struct glow_host_options {
    int queue; /* requests that may wait, of any number of samples; 0: 200 */
    int64_t
        limit_ns; /* a run that takes longer makes its device lost; 0: none */
    bool trace;   /* keep times, for glow_host_trace */
    glow_executor *executor; /* the host closes it; NULL: threads */
} glow_host_options;

GLOW_API glow_host *glow_host_new(const glow_host_options *o);
/*
 * Refuses requests of which nothing has run, waits for others, and ends services and devices.
 * Requests and services are to be released before.  A run of a device in this process
 * is waited for as long as it takes, also on a device that was given up.
 */
GLOW_API void glow_host_free(glow_host *h);
/* Refuses new requests, and cancels all others; devices may go on with their runs. */
GLOW_API void glow_host_cancel(glow_host *h);

/*
 * Opens a device.  The host copies the options; the backend, and all else that they
 * point to, must live as long as the host.  False after a report.
 */
GLOW_API bool glow_host_add_device(glow_host *h, glow_context *ctx,
                                   const glow_run_device_api *api,
                                   const glow_run_device_options *o);

typedef struct glow_service_options {
    const char *name;
    const char *path;     /* .gir */
    const char *function; /* NULL: the entry */
    const char *passes;   /* as in glow_load_options */
    /* Devices by name, each of which gets all of it; none: all devices.  Parts of a
     * module that `partition` made name theirs. */
    const char *const *devices;
    int n_devices;
    int active; /* requests that run at once; 0: 4 for each device of the host */
    /*
     * More than 1: the first axis of all inputs and outputs counts samples, of which a
     * request brings one or more.  Samples of requests are put together until they fill
     * a batch, or the first request has waited for `batch_ns`; missing samples are zeros.
     * A request may be split over several batches: it is done when all of them are.
     */
    int batch;
    int64_t batch_ns;
    /*
     * Files of the same network for other numbers of samples, each that of its first axes;
     * `batch` is the greatest then, whatever it says.  A batch goes to the least that holds
     * it, or to smaller ones one after the other, if they took less time so far.
     */
    const char *const *sizes;
    int n_sizes;
    /*
     * State stays in the memory of the device that alone uses it and is out of reach of the
     * host, else it cannot be added (E1031).  State is copied when it is loaded, saved or
     * cloned, and not for each request.  If the device is lost, or a run that writes it is
     * not done, the object is broken.
     */
    bool resident;
} glow_service_options;

/*
 * Loads it on its devices: all of it, or nothing after a report.  A service of that
 * name is replaced: its requests are finished by the old one.
 */
GLOW_API bool glow_host_add(glow_host *h, glow_context *ctx,
                            const glow_service_options *o);
/*
 * Refuses new requests and waits until those in flight have ended; devices get their
 * memory back once nobody holds the service or a request.  False: no such name.
 */
GLOW_API bool glow_host_remove(glow_host *h, const char *name);

/* The service of that name, which the caller releases, or NULL. */
GLOW_API glow_service *glow_host_find(glow_host *h, const char *name);
GLOW_API void glow_service_release(glow_service *s);
/* The number of its ports, without state; they live as long as it is held. */
GLOW_API int glow_service_ports(const glow_service *s, const glow_port **out);

/*
 * State objects: what a network keeps from run to run, the placeholders State and
 * Trained (glow/state.h), for one stream of requests.  Requests on one object run in
 * the order of their calls; those on different objects at once.
 *
 * A request that is done changes its object; any other leaves it as it was.  Devices in
 * host memory, and those where it is resident, are the exception: they write state in
 * place, and if such a run is not done the object is broken, and refuses requests until it
 * is loaded.
 */
typedef struct glow_service_state glow_service_state;

/* True if requests need a state object. */
GLOW_API bool glow_service_keeps(const glow_service *s);
/*
 * Zeros, which the caller releases, and which hold the service; NULL if it keeps
 * nothing.  Trained tensors must be loaded before the first request.
 */
GLOW_API glow_service_state *glow_service_state_new(glow_service *s);
GLOW_API void glow_service_state_release(glow_service_state *st);
/*
 * These wait for the requests on the object, and must not be called by the callback of
 * one.  NULL or false after a report (E1011: the object is broken).
 */
GLOW_API glow_service_state *glow_service_state_clone(glow_service_state *st,
                                                      glow_context *ctx);
/* The same file as of glow_state_save and glow_state_load, and the same reports. */
GLOW_API bool glow_service_state_save(glow_service_state *st, glow_context *ctx,
                                      const char *path);
/* Tensors that the file lacks stay as they are; of a broken object they are zeros. */
GLOW_API bool glow_service_state_load(glow_service_state *st, glow_context *ctx,
                                      const char *path);
/* The same for the bytes of a file; reports call it `name`. */
GLOW_API bool glow_service_state_write(glow_service_state *st,
                                       glow_context *ctx, glow_buf *b);
GLOW_API bool glow_service_state_read(glow_service_state *st, glow_context *ctx,
                                      const char *name, const void *bytes,
                                      size_t size);
/* True if it refuses requests because a run on it was not done. */
GLOW_API bool glow_service_state_is_broken(glow_service_state *st);
/* True if it refuses requests because trained tensors were not loaded. */
GLOW_API bool glow_service_state_lacks_tensors(glow_service_state *st);

typedef struct glow_input {
    const char *name;
    const void *data; /* dense, of the port's type */
    size_t bytes;
    /* Called with `user` once nothing reads the data, also if the request is
     * refused or wrong; NULL: it is copied now. */
    void (*release)(void *user);
    void *user;
} glow_input;

typedef struct glow_request_options {
    int priority; /* greater goes first; a step is worth 100 ms of waiting */
    int64_t deadline;          /* of glow_now; 0: none */
    glow_service_state *state; /* of this service, which the request holds */
    /* Called once when it has ended, by any thread; it must not block. */
    void (*then)(void *user, glow_request *r);
    void *user;
} glow_request_options;

/*
 * Starts a request, which the caller releases, and which holds the service.  `o` may
 * be NULL.  Its fence tells also whether it was wrong or the queue full.
 */
GLOW_API glow_request *glow_service_run(glow_service *s, const glow_input *in,
                                        int n_in,
                                        const glow_request_options *o);
/*
 * The same, and waits for its end.  With the executor threads the calling thread runs
 * commands that this makes ready, so that no thread has to wake for a request that comes
 * alone; the call then lasts as long as the command that the thread runs.  It runs none if
 * the request has a deadline or the host limits runs.
 */
GLOW_API glow_request *glow_service_call(glow_service *s, const glow_input *in,
                                         int n_in,
                                         const glow_request_options *o);
/* Reached when it is done; see glow_fence_wait. */
GLOW_API glow_fence glow_request_fence(const glow_request *r);
/* The elements of an output of a request that is done, until release; NULL: none. */
GLOW_API const void *glow_request_output(const glow_request *r,
                                         const char *name, size_t *bytes);
GLOW_API void glow_request_cancel(glow_request *r);
GLOW_API void glow_request_release(glow_request *r);

/* False while a part has no device, since all that could run it were lost: requests end as
 * `lost` until one of them can be reset. */
GLOW_API bool glow_service_can_run(glow_service *s);

/* Samples of the largest batch; 1: the service runs no batches. */
GLOW_API int glow_service_batch(const glow_service *s);

/* One size of batches. */
typedef struct glow_service_size {
    int samples;
    int64_t batches;
    int64_t busy_ns; /* of devices, in parts that were done */
} glow_service_size;
/* Gives the first `room` sizes, from the least on; their number, 0: there are no batches. */
GLOW_API int glow_service_sizes(glow_service *s, glow_service_size *out,
                                int room);

/* Counts of a service's requests. */
typedef struct glow_service_statistics {
    int64_t ended[GLOW_RUN_OUTCOMES];
    int64_t done_ns; /* from the call to the end, of all that were done */
    int64_t
        samples; /* of requests that were done; without batches each counts as one */
    int64_t batches;
    int running;
} glow_service_statistics;
GLOW_API void glow_service_count(glow_service *s, glow_service_statistics *out);

/* Counters of services and devices, in the text form of Prometheus. */
GLOW_API void glow_host_metrics(glow_host *h, glow_buf *b);
/* Times so far as JSON for Chrome's trace viewer. */
GLOW_API void glow_host_trace(glow_host *h, glow_buf *b);

GLOW_END

#endif
