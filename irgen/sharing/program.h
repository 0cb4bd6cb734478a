/*
 * Declarations shared by program.c and joins.c.
 */

#ifndef IRGEN_SHARING_PROGRAM_H
#define IRGEN_SHARING_PROGRAM_H

#include "irgen/sharing/live_ranges.h"
#include "irgen/sharing/share.h"

typedef struct glow_program_sharer {
    glow_sharer *s;
    glow_memory_model *m;
    glow_classes *c;
    glow_memory_lives *lives; /* as the pass at hand measured them */
    bool *is_part;            /* by class: a concat reads all of it */
    bool *is_copied; /* by node: a concat, some of whose parts are joined
                                 and the others copied */
    bool *is_joined; /* by node: it is no instruction any more, as all
                                 of its parts are */
    uint32_t *taken; /* by class: 1 + the concat that takes it */
    bool changed;
} glow_program_sharer;

/* Accesses of a class, or its storage, at some ranks, to what overlaps `part`. */
typedef struct glow_window {
    const glow_lying *part;
    uint32_t first, last; /* ranks */
    bool writes;          /* no matter what reads */
} glow_window;

/* Are there none?  False too where there are too many to look at. */
bool glow_is_untouched(const glow_program_sharer *p, const glow_window *w);

/* What join-parts does, and propagate-copy to the copies that it leaves. */
void glow_join_parts(glow_program_sharer *p);
void glow_join_copies(glow_program_sharer *p);

#endif
