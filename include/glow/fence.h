/*
 * Fences, which asynchronous work waits for and signals.
 *
 * A timeline is a number of 64 bits that only grows.  A fence is a timeline and a
 * number, reached once the timeline has it.  A timeline may fail instead: fences
 * that were not reached then never will be, and all that waits for them hears why.
 * Everything here may be called by any thread.
 *
 * Source: timeline semaphores of Vulkan 1.2 and of IREE's hardware abstraction layer.
 */

#ifndef GLOW_FENCE_H
#define GLOW_FENCE_H

#include "glow/base.h"

GLOW_BEGIN

/* Outcome of a run. */
typedef enum glow_outcome {
    GLOW_RUN_DONE,
    GLOW_RUN_FAILED,    /* the network reported an error on these inputs */
    GLOW_RUN_LATE,      /* the deadline passed before it was done */
    GLOW_RUN_CANCELLED, /* its caller wanted it no more */
    GLOW_RUN_INVALID,   /* the request itself is wrong */
    GLOW_RUN_REFUSED, /* queues were full, or nothing is there that can do it */
    GLOW_RUN_LOST,    /* the device stopped working */
    GLOW_RUN_OUTCOMES,
} glow_outcome;

/* "done", "failed", ... */
GLOW_API const char *glow_outcome_name(glow_outcome o);

/* An outcome and a sentence for people, cut to fit. */
typedef struct glow_report_text {
    glow_outcome outcome;
    char text[240];
} glow_report_text;

typedef struct glow_timeline glow_timeline;

/* A timeline at 0 with one owner. */
GLOW_API glow_timeline *glow_timeline_new(void);
GLOW_API glow_timeline *glow_timeline_ref(glow_timeline *t);
GLOW_API void glow_timeline_unref(glow_timeline *t); /* NULL is fine */

GLOW_API uint64_t glow_timeline_value(glow_timeline *t);
/* Raises the timeline to `value`; nothing if it is there, or has failed. */
GLOW_API void glow_timeline_reach(glow_timeline *t, uint64_t value);
/* Ends the timeline; the first failure stays.  False if it had failed before. */
GLOW_API bool glow_timeline_fail(glow_timeline *t, glow_outcome outcome,
                                 const char *text);

typedef struct glow_fence {
    glow_timeline *timeline; /* NULL: reached */
    uint64_t value;
} glow_fence;

/* Nanoseconds of the monotonic clock. */
GLOW_API int64_t glow_now(void);

/*
 * Blocks until the fence is reached or its timeline fails, but not beyond
 * `deadline` (of glow_now; INT64_MAX: without limit).  GLOW_RUN_DONE if it was reached;
 * GLOW_RUN_LATE of the wait itself has no text.  `why` may be NULL.
 */
GLOW_API glow_outcome glow_fence_wait(glow_fence f, int64_t deadline,
                                      glow_report_text *why);

/*
 * Called once, when the fence is reached or fails: by the thread that did it, or
 * before glow_fence_then returns.  It must not block.
 */
typedef void (*glow_fence_fn)(void *user, const glow_report_text *r);
GLOW_API void glow_fence_then(glow_fence f, glow_fence_fn fn, void *user);

GLOW_END

#endif
