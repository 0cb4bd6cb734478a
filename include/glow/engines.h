/*
 * The partial order of the instructions of a program with queues.
 *
 * The host issues instructions in the order of the text.  One without a queue it runs
 * itself, and goes on when that is done.  A queue runs its instructions in their
 * order, each after it was issued and after the one before it.  What stands behind a
 * wait in its queue runs after all that stands before the signal of that token in its
 * queue.  Everything else may run in any order, or at once.
 *
 * Each instruction has a vector clock: how many instructions of each engine are done
 * before it begins (Fidge 1988, Mattern 1989).
 */

#ifndef GLOW_ENGINES_H
#define GLOW_ENGINES_H

#include "glow/number.h"

GLOW_BEGIN

typedef struct glow_engines {
    const glow_func *func;
    glow_numbering numbers;
    int count;               /* of engines: 0 is the host */
    const char *const *name; /* by engine; NULL: the host */
    const int *engine;       /* by number; -1: no work (weight, alloc, ...) */
    const int64_t *turn;     /* by number: its place among those of its engine,
                                from 1 */
    const int64_t *clocks;   /* by number, then by engine */
} glow_engines;

/* The order of `f`, by one walk; lives in `a`. */
GLOW_API const glow_engines *glow_engines_of(glow_arena *a, const glow_func *f);

/* True if instruction `x` is done before `y` begins. */
GLOW_API bool glow_runs_before(const glow_engines *e, const glow_node *x,
                               const glow_node *y);

/*
 * The instructions of `f`, without weights, allocs, views and deallocs, in a random
 * order that the queues and tokens allow, up to a NULL; NULL if `f` has no queues.
 * Depends on the seed alone.
 */
GLOW_API const glow_node *const *
glow_queue_order(glow_arena *a, const glow_func *f, uint32_t seed);

GLOW_END

#endif
