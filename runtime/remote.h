/*
 * The host's end of a device in a process of its own (remote.c), between its files.
 */

#ifndef RUNTIME_REMOTE_H
#define RUNTIME_REMOTE_H

#include <sys/types.h>

#include "runtime/device.h"
#include "runtime/wire.h"

enum {
    REMOTE_ANSWER_SECONDS = 10,
    REMOTE_WHILE_IT_COMPUTES = -1, /* seconds: as long as it computes */
};

typedef struct remote_span remote_span;

struct glow_loaded {
    glow_run_device *device;
    uint32_t number;
    char *text; /* of WIRE_LOAD */
    uint32_t text_size;
    glow_port *ports;
    int n_ports;
    void *payload;       /* which names and types of ports are in */
    int64_t bytes, took; /* nanoseconds of its first load */
    struct glow_loaded *next;
};

struct glow_run_device {
    run_base base;        /* its lock is that of `process` and `free` */
    pthread_mutex_t wire; /* one message and its answer */
    int socket, patience; /* seconds that reading takes at most; 0: no limit */
    uint32_t messages;    /* with `wire` */
    struct glow_loaded *networks; /* of the process; with `wire` */
    pid_t process;                /* written with `wire` as well; 0: none */
    remote_span *free;            /* by address */
    char *shared;
    size_t size,
        backed; /* the system has given pages for the first `backed` bytes */
    int memory; /* descriptor of the shared memory */
    run_queue *runs, *copies;
};

/* Shared memory: remote_memory.c. */

/* Maps the memory; false: there is none. */
bool glow_remote_share(glow_run_device *d);
void glow_remote_end_sharing(glow_run_device *d);
bool glow_remote_allocate(glow_run_device *d, int64_t bytes, glow_buffer *out);
void glow_remote_free(glow_run_device *d, glow_buffer *b);

/* The process: remote_process.c. */

/*
 * Sends a message and waits for the answer, for `seconds` at most unless 0.  WIRE_GONE:
 * the process is gone, or hangs; WIRE_GARBLED: the answer is not that of this message.
 * After either it gets no more messages.
 */
wire_end glow_remote_transact(glow_run_device *d, const wire_head *h,
                              const void *payload, int fd, int seconds,
                              wire_head *reply, void **answer);
/* The complaint of a report about a process whose message had that end. */
const char *glow_remote_complaint(wire_end end);
/* The text of an answer that says what failed. */
const char *glow_remote_failure(const wire_head *h, const char *payload);
/* Starts the process; with `wire`. */
bool glow_remote_start(glow_run_device *d);
/* Ends the process, at once if `now`, and soon if not; with `wire`. */
void glow_remote_stop(glow_run_device *d, bool now);
void glow_remote_kill(glow_run_device *d);

/* Networks: remote_load.c. */

glow_loaded *glow_remote_load(glow_run_device *d, glow_context *ctx,
                              const glow_load_options *o);
void glow_remote_unload(glow_run_device *d, glow_loaded *l);
/* Starts a process with the networks of the one before; with `wire`. */
bool glow_remote_start_again(glow_run_device *d);

#endif
