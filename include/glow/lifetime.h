/*
 * When the buffers of a program are needed: what placing them and checking their
 * places go by.
 */

#ifndef GLOW_LIFETIME_H
#define GLOW_LIFETIME_H

#include "glow/graph.h"

GLOW_BEGIN

/* From instruction `begin` on, and no more at instruction `end`, by number. */
typedef struct glow_life {
    int64_t begin;
    int64_t end;  /* INT64_MAX: for ever */
    int64_t uses; /* by instructions that read, write or work in it */
} glow_life;

/*
 * Numbers the instructions of `f` by their marks, from 0, and gives the life of
 * each alloc and weight, by mark.
 *
 * An alloc lives up to its dealloc.  A constant lives for ever.  A placeholder
 * that is read before it is written begins with the program, else with the
 * instruction that writes it first; one that is written lives for ever, else it
 * ends behind its last use.  Those of a body live for ever: who calls it may
 * call it again without handing them over anew.
 */
GLOW_API glow_life *glow_program_lives(glow_arena *a, glow_func *f);

GLOW_END

#endif
