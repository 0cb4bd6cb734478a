/*
 * Schedules: an order of the nodes of a graph, and the memory that it takes, as
 * the pass `schedule` finds it and programs will need it.
 */

#ifndef GLOW_SCHEDULE_H
#define GLOW_SCHEDULE_H

#include "glow/number.h"
#include "glow/order.h"
#include "glow/pass.h"
#include "glow/place.h"

GLOW_BEGIN

/* Buffer sharing that the program will have. */
typedef enum glow_sharing {
    GLOW_SHARING_ALL,   /* that of optimize-program */
    GLOW_SHARING_VIEWS, /* that of irgen alone */
} glow_sharing;

typedef struct glow_schedule_options {
    glow_order_strategy strategy;
    int64_t budget; /* steps of searching */
    glow_sharing sharing;
    int64_t align; /* sizes of buffers are multiples of it */
} glow_schedule_options;

/* Defaults of the pass. */
extern GLOW_API const glow_schedule_options glow_schedule_defaults;

/* A buffer that is live at the peak. */
typedef struct glow_schedule_buffer {
    const glow_value *value; /* a result in it, for its name */
    uint32_t place;          /* of the node that defines it, in the order */
    int64_t bytes;
} glow_schedule_buffer;

typedef struct glow_schedule {
    glow_node **nodes;     /* in order */
    glow_numbering places; /* of the nodes in that order */
    uint32_t count;
    int64_t peak;
    int64_t given;            /* the peak of the order that the function has */
    int64_t bound;            /* no order takes less */
    const char *by;           /* how it was found */
    int64_t steps;            /* and in how many of the budget */
    int64_t *before, *during; /* by position: live bytes before and during it */
    bool *
        is_kept; /* by position: all results are in placeholders, and take no bytes */
    uint32_t at;                /* the first place that needs the peak */
    glow_schedule_buffer *live; /* there: the largest first, of equal ones the
                                   one that is computed first */
    uint32_t n_live;
    int64_t scratch;            /* of the node there, while it runs */
    const glow_lifetime *lives; /* of buffers and scratch, in positions */
    size_t n_lives;
} glow_schedule;

/*
 * Finds a schedule, in the scratch of the run; the function stays as it is.  False
 * after a report (E0330) if the bytes of all results are more than 64 bits can
 * count.
 */
GLOW_API bool glow_schedule_find(glow_pass_run *run, glow_func *f,
                                 const glow_schedule_options *options,
                                 glow_schedule *out);

/*
 * Height of a placement of the schedule's buffers, greedy or by search: at least its
 * peak, and above it where buffers leave gaps between them.  Ends at a height of
 * `enough`.
 */
GLOW_API int64_t glow_schedule_height(glow_pass_run *run,
                                      const glow_schedule *s, int64_t enough);

/*
 * The problem for glow_order_bound_again: the nodes of `f` as they are, of which
 * those may run again that `may_repeat` says.  NULL if the bytes cannot be counted.
 * Lives in the scratch of the run, and does not refer to the function.
 */
GLOW_API glow_order_again *
glow_schedule_again(glow_pass_run *run, glow_func *f, int64_t align,
                    bool (*may_repeat)(const glow_node *n));

GLOW_END

#endif
