/*
 * Live ranges of the buffers of a program, the input of placement and of its
 * verification.
 */

#ifndef GLOW_LIFETIME_H
#define GLOW_LIFETIME_H

#include "glow/number.h"

GLOW_BEGIN

/* From instruction `begin` on, and no more at instruction `end`, by number. */
typedef struct glow_life {
    int64_t begin;
    int64_t end;  /* INT64_MAX: for ever */
    int64_t uses; /* by instructions that read, write or work in it */
} glow_life;

/*
 * The live range of each alloc and weight of `f`, by its number in `numbers`, which
 * are those of glow_number_nodes.
 *
 * An alloc is live up to its dealloc.  A constant is live throughout.  A
 * placeholder that is read before it is written is live from the begin, any other
 * from the instruction that first writes it; one that is written is live to the
 * end, any other to its last use.  Placeholders of a body are live throughout, as
 * its caller may call it again without passing them anew.
 */
GLOW_API glow_life *glow_program_lives(glow_arena *a, const glow_func *f,
                                       const glow_numbering *numbers);

/*
 * The same for a program with queues, whose instructions may run later than they stand
 * in the text: an alloc is live up to the first instruction behind its dealloc from
 * which on all run after its last uses, as tokens order them (glow/engines.h).
 */
GLOW_API glow_life *glow_queue_lives(glow_arena *a, const glow_func *f,
                                     const glow_numbering *numbers);

GLOW_END

#endif
