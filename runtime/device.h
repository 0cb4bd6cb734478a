/*
 * Base of all kinds of devices: state, memory accounting, statistics, and the copies
 * between host memory and buffers.
 */

#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H

#include <pthread.h>

#include "runtime/queue.h"

/* The first member of a glow_run_device. */
typedef struct run_base {
    glow_run_device_options options;
    pthread_mutex_t lock; /* all below */
    glow_run_device_state state;
    int64_t used;
    glow_run_device_statistics counts;
} run_base;

void glow_run_base_begin(run_base *b, const glow_run_device_options *o);
void glow_run_base_end(run_base *b);

void glow_run_base_set_state(run_base *b, glow_run_device_state state);
/* True after the device is lost; then r->text says so.  `r` may be NULL. */
bool glow_run_base_is_lost(run_base *b, glow_report_text *r);
void glow_run_base_info(run_base *b, glow_run_device_info *out);
/* `statistics` of a glow_run_device_api. */
void glow_run_base_statistics(glow_run_device *d,
                              glow_run_device_statistics *out);
/* Counts a run that began at `begin` and ended as `o`. */
void glow_run_base_count(run_base *b, glow_outcome o, int64_t begin);

/*
 * Counts `bytes` against the memory of the options.  False if they do not fit, or the
 * device is lost.
 */
bool glow_run_base_reserve(run_base *b, int64_t bytes);
void glow_run_base_give_back(run_base *b, int64_t bytes);
/* The same for a network, of the file `path`; false after a report. */
bool glow_run_base_reserve_network(run_base *b, glow_context *ctx,
                                   const char *path, int64_t bytes);

/* A copy between two addresses.  It takes at least `ps` picoseconds for each byte. */
typedef struct run_copy {
    run_base *base;
    void *memory; /* of `at`; NULL: `at` is an address */
    void *host;
    uint64_t at;
    int64_t bytes, ps;
    bool in;       /* into the device, for the statistics */
    bool checksum; /* of the tensor, before `at`, as of wire.h */
} run_copy;

/* Puts a copy into the queue; `c` is copied. */
void glow_run_base_copy(run_queue *q, const run_copy *c,
                        const glow_command *command);
/* Sleeps until time `at` of glow_now. */
void glow_run_sleep_until(int64_t at);

#endif
