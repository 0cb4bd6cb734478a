/*
 * The state of a host, under one lock.
 *
 * Functions of the files beside it that take a `todo` are called with the lock held;
 * calls of devices and users go into the todo and are made by glow_run_unlock after
 * the lock was given back, since they may come back at once.
 */

#ifndef RUNTIME_STATE_H
#define RUNTIME_STATE_H

#include <pthread.h>

#include "glow/graph.h"
#include "glow/host.h"
#include "glow/state.h"

enum {
    DEPTH = 2,              /* runs that a queue of a device is given ahead */
    LATENCIES = 24,         /* of the histogram: from 2^10 ns on, doubling */
    MOST_SAMPLES = 1 << 30, /* of a request */
};
#define AGE_NS 100000000 /* of waiting that a step of priority is worth */

typedef glow_service service;
typedef struct part part;
typedef struct execution execution;
typedef struct slice slice;
typedef struct run_trace run_trace;

typedef struct device {
    glow_host *host;
    const glow_run_device_api *api;
    glow_run_device *at;
    const char *name, *group;
    int outstanding, most; /* executions, and how many it is given at once */
    execution *pending;    /* in the order in which they are to go */
    int n_pending;
    int64_t backlog_ns; /* expected times of what is outstanding or pending */
    glow_run_device_state state; /* suspect: it is to be reset */
    pthread_t resets;            /* the thread that does so */
    enum { NO_RESET, RESETTING, HAS_RESET } reset;
    int64_t tried; /* when the last reset ended */
    bool host_memory;
    int64_t lost;   /* how often it was */
    int loading;    /* networks, which runs may wait for */
    int64_t loaded; /* when the last loading ended */
    int64_t ended;  /* when the last try ended */
    struct device *next;
} device;

/* A value that passes between parts, or comes in or goes out. */
typedef struct value {
    const char *name;
    const glow_type *type;
    int64_t bytes;
    bool in, out; /* of the service */
    int of;     /* of a batch: the value of requests with its name; -1: none */
    bool kept;  /* in state objects, and no input or output of requests */
    bool stays; /* in memory of the one device that makes it and reads it */
    /* The one device that reads and writes a kept value; NULL: it is copied. */
    device *home;
} value;

/* A value that stays, in a request. */
typedef struct resident {
    device *device; /* NULL: it was not made yet */
    glow_buffer buffer;
    int64_t lost;  /* how often the device was lost before its part began */
    bool of_state; /* the buffer is that of a state object */
    bool fill;     /* the value is to be copied there first */
} resident;

/* A part on one device. */
typedef struct replica {
    device *device;
    glow_loaded *loaded;
    int64_t run_ns; /* the time that a try is expected to take */
    int runs;       /* that were done, up to those that make the time known */
} replica;

struct part {
    const char *name;
    replica *replicas;
    int n_replicas;
    const glow_port *ports;
    int n_ports;
    int *values;    /* of each port */
    int *waits_for; /* parts that make its inputs */
    int n_waits_for;
    int64_t run_ns; /* the least time of a try that was done; 0: none was */
};

/* The network of a service for one number of samples. */
typedef struct variant {
    const char *path;
    int samples; /* of a run; 1: there are no batches */
    value *values;
    int n_values;
    part *parts;
    int n_parts;
    void ***spare; /* sets of blocks for `samples`, of ended requests */
    int n_spare;
    int64_t batches, busy_ns; /* runs of its parts */
} variant;

struct glow_service {
    glow_host *host;
    const char *name;
    variant *variants; /* by samples */
    int n_variants;
    value *values; /* of requests: those of the largest variant */
    int n_values;
    glow_port *ports; /* of the service */
    int n_ports;
    int most;          /* requests that run at once */
    int running;       /* that do */
    int refs;          /* of the list of the host, of requests, and of users */
    int requests;      /* that have not ended */
    bool leaving;      /* takes no more */
    glow_context *ctx; /* of the module, and of `kept` */
    glow_state *kept;  /* first contents; NULL: none */
    bool in_place;     /* a run in host memory reads and writes a kept value */
    /* Of batches. */
    int batch; /* samples of the largest variant; 1: none */
    int64_t batch_ns;
    glow_request *members; /* with samples that no batch has taken, by key */
    int64_t samples;       /* of the members, that no batch has taken */
    slice *alone,
        **last_alone; /* of batches that failed, each to run by itself */
    /* Statistics. */
    int64_t ended[GLOW_RUN_OUTCOMES], latency[LATENCIES], latency_ns;
    int64_t inferences; /* samples of requests that were done */
    int64_t batched;    /* samples that batches took */
    glow_service *next;
};

struct glow_request {
    glow_host *host;
    service *service;
    variant *variant; /* that it runs on; of a member: the largest */
    int refs;
    uint64_t number;
    int64_t arrived, deadline, key; /* the least key goes first */
    glow_timeline *timeline;
    void (*then)(void *user, glow_request *r);
    void *user;
    void **blocks;      /* of each value, or NULL: of its own */
    const void **data;  /* of each value: in a block, or the caller's */
    glow_input *inputs; /* those of the caller that are to be released */
    int n_inputs;
    int *waiting; /* parts that each part waits for still */
    int parts_left;
    resident *residents; /* of each value */
    bool again;  /* all parts are to run again, once no execution is left */
    int repeats; /* how often they were */
    int kills;   /* devices that were lost while they ran it */
    bool ended;
    enum { WAITS, HELD, MEMBER, RUNS } state;
    glow_service_state *kept; /* NULL: none */
    bool dirty;               /* a run may have written kept values in place */
    bool in_place;            /* its last part ran in host memory */
    glow_report_text end;
    execution *executions; /* that are not done */
    glow_request *next;    /* in a queue, of a state object too, or in a todo */
    glow_request *live, **live_link;
    /* Of batches. */
    int samples;   /* that it brings */
    int room;      /* samples of each of its blocks */
    int taken;     /* samples that batches have taken: the first ones */
    int left;      /* samples that are not done */
    slice *slices; /* that this one, a batch, runs for */
};

/* Samples of a request that one batch runs. */
struct slice {
    glow_request *request;
    int first, count;
    bool suspect; /* devices were lost in its batch */
    slice *next;
};

/* One try of one part. */
struct execution {
    glow_request *request;
    part *part;
    replica *on;
    const replica *failed; /* lost while it ran this; NULL: none */
    int64_t expected_ns;   /* on its device */
    glow_timeline *timeline;
    glow_buffer *buffers; /* of each port */
    int64_t begun;        /* when the device was given it */
    int64_t since; /* when its command that goes on started; 0: none does */
    int64_t lost;  /* how often its device was lost before it began */
    bool started;
    execution *next;    /* pending, or to be started */
    execution *sibling; /* of the request */
};

struct glow_host {
    glow_host_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    device *devices;
    int n_devices;
    service *services;
    int n_services;      /* that are not freed */
    glow_request *queue; /* by key */
    int queued;          /* requests in it, and members of services */
    glow_request *live;  /* all that have not ended */
    uint64_t count;
    bool closing;
    pthread_t watch;
    int64_t wakes;    /* when that thread will look again; 0: it looks now */
    run_trace *trace; /* NULL: none */
    glow_arena *arena;
    glow_map *names; /* of devices, services, parts and values; in `arena` */
};

typedef struct todo {
    execution *start, **last_start;
    glow_request *end, **last_end;
    glow_request *batch, **last_batch; /* to be filled, and then admitted */
} todo;

void glow_run_lock(glow_host *h, todo *t);
/* Gives the lock back and makes the calls of `t`. */
void glow_run_unlock(glow_host *h, todo *t);

/* A copy that lives as long as the host, one of each name. */
const char *glow_run_name(glow_host *h, const char *name);

/* dispatch.c: parts on devices. */

/* Lets the request's parts that wait for nothing run. */
void glow_run_admit(glow_request *r, todo *t);
/* Ends a request, and lets others run in its place. */
void glow_run_finish(glow_request *r, glow_outcome o, const char *text,
                     todo *t);
/* Gives the device as many tries as it takes. */
void glow_run_pump(device *d, todo *t);
/* The device cannot be trusted: the thread of watch.c resets it. */
void glow_run_distrust(device *d);
/* Unlocked. */
void glow_run_start(execution *x);
/* Moves tries that wait for a device which is lost for good. */
void glow_run_desert(device *d, todo *t);

/* choose.c: the device of a try. */

/*
 * The replica for the next try: a device that is ready and was not lost by it, then
 * one that is ready, then one that may be again; of these the one that would end it
 * first.  NULL: all are lost for good.
 */
replica *glow_run_choose_device(const part *p, const replica *failed);
/* Puts a try among those that wait for the device of `on`, by key. */
void glow_run_queue_on(execution *x, replica *on);
/* Takes a try from those that wait for its device. */
void glow_run_unqueue_try(execution *x);
/* Lets `d` have the last try that waits for another device and would end sooner on `d`. */
bool glow_run_take_over(device *d);
/* Notes that a try took so long on the device of `on`, a replica of `p`. */
void glow_run_note_time(part *p, replica *on, int64_t took);

/* request.c */

/* Of one owner; called with the lock held. */
glow_request *glow_run_request_new(service *s, variant *x,
                                   const glow_request_options *o);
void glow_run_request_drop(glow_request *r);
/* Unlocked: a copy of an input, which the request gives back in the end. */
const void *glow_run_copy_input(glow_request *r, const void *data,
                                size_t bytes);
/* The block of value `v`, made if there is none. */
void *glow_run_block(glow_request *r, int v);
/* Gives it a set of blocks for `room` samples, with those of an ended request or none. */
void glow_run_take_blocks(glow_request *r, int room);
/* Notes the end of a request, for which glow_host_remove may wait. */
void glow_run_end(glow_request *r);
/* Adds it to those that have not ended. */
void glow_run_live(glow_request *r);
/* Lets requests that wait run, as far as they may. */
void glow_run_next(glow_host *h, todo *t);
/* Takes a request out of the queue that it is in. */
void glow_run_unqueue(glow_request *r);
void glow_run_insert(glow_request **queue, glow_request *r);

/* Lets the request run now, or puts it in the queue of the host. */
void glow_run_enqueue(glow_request *r, todo *t);

/* kept.c: state objects; called with the lock held. */

bool glow_run_kept_is_of(const glow_service_state *st, const service *s);
/* A sentence if the object takes no requests, else NULL. */
const char *glow_run_kept_refuses(const glow_service_state *st);
/* True if another request has the object now. */
bool glow_run_kept_waits(const glow_service_state *st);
void glow_run_kept_ref(glow_service_state *st);
/* Lets `r` run after all other requests on its object that came before it. */
void glow_run_kept_enter(glow_request *r, todo *t);
/* Takes `r` from those that wait. */
void glow_run_kept_unqueue(glow_request *r);
/* Lets `r` read the tensors of its object. */
void glow_run_kept_bind(glow_request *r);
/* Gives the object the kept values of `r`, which is done. */
void glow_run_kept_commit(glow_request *r);
/*
 * Gives the object to the next request, once nothing runs for `r`.  If it is not
 * `whole`, the object is broken.
 */
void glow_run_kept_leave(glow_request *r, bool whole, todo *t);

/* batch.c */

/* Puts a request among the members of its service. */
void glow_run_join(glow_request *r);
/* Drops the samples of `r` for which no batch runs. */
void glow_run_leave(glow_request *r);
/* Makes batches of the members of `s`, if it is time; the time when it will be, else. */
int64_t glow_run_batch(service *s, int64_t now, todo *t);
/* Unlocked: copies the inputs of the slices, and lets the batch run. */
void glow_run_fill(glow_request *batch);
/* Unlocked: gives the requests their outputs, or tries each slice alone if it failed. */
void glow_run_scatter(glow_request *batch);

/* watch.c: the thread of deadlines. */
void *glow_run_watch(void *host);
/* Lets that thread look at time `at`, if it would sleep longer. */
void glow_run_watch_by(glow_host *h, int64_t at);

/* plan.c */

/* Makes parts of the Runs of `f`, and loads them; false after a report. */
bool glow_run_plan(service *s, variant *x, glow_func *f, glow_context *ctx,
                   const glow_service_options *o);
/* The one device whose memory, out of reach of the host, all parts use for `v`, or NULL. */
device *glow_run_home(const variant *x, int v);

/* sizes.c: variants of a service. */

/* Sets the samples of `x`, of module `m`, by the options; false after a report. */
bool glow_run_find_samples(const service *s, variant *x, const glow_module *m,
                           glow_context *ctx, const glow_service_options *o);
/* True if `x` agrees with the variants before it, but for its samples; else a report. */
bool glow_run_agrees(const service *s, const variant *x, const glow_module *m,
                     glow_context *ctx);
/* Orders the variants, and relates their values to those of requests. */
void glow_run_order_variants(service *s);
/* The least variant that holds `n` samples, or NULL. */
variant *glow_run_holds(const service *s, int64_t n);
/* The variant for a batch of the first of `n` samples, by the times of runs so far. */
variant *glow_run_choose(const service *s, int64_t n);

/* service.c */

/* Loads a part on the devices of `o`, by `o->function`; false after a report. */
bool glow_run_load_replicas(service *s, part *p, glow_context *ctx,
                            const glow_service_options *o);
/* One owner less. */
void glow_run_service_drop(service *s);

/* trace.c */
run_trace *glow_run_trace_new(void);
void glow_run_trace_add(run_trace *t, const char *what, const char *row,
                        uint64_t request, int64_t begin, int64_t end);
void glow_run_trace_print(run_trace *t, glow_buf *b);
void glow_run_trace_free(run_trace *t);

#endif
