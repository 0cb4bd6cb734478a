/*
 * Loads of a program: copies from the memory of the host into buffers of scratchpads,
 * and the bytes that are live in a scratchpad.
 */

#ifndef IRGEN_ENGINES_LOADS_H
#define IRGEN_ENGINES_LOADS_H

#include "glow/number.h"
#include "glow/pass.h"
#include "glow/target.h"

/* The space of the buffer, as alloc will have it; NULL: the target has none. */
const glow_space *glow_buffer_space(const glow_target *t, const glow_value *v);

/*
 * True for Copy and Pad from the host's memory to an alloc in a scratchpad, of which it
 * is the only writer; and for the opposite direction.
 */
bool glow_is_load(const glow_target *t, const glow_node *n);
bool glow_is_store(const glow_target *t, const glow_node *n);

/* The dealloc of an alloc, or NULL. */
glow_node *glow_dealloc_of(const glow_node *alloc);

/* True if `n` does work: it is no weight, alloc, dealloc or view. */
bool glow_is_work(const glow_node *n);

/* The place of each node in the text, which shifts as nodes move; the bytes of one space
   that are live there. */
typedef struct space_load {
    const glow_target *target;
    const glow_space *space;
    glow_numbering numbers;
    glow_node **nodes; /* by number */
    int64_t *live;     /* by number: bytes in the space while it runs */
    int64_t count;
} space_load;

/* Counts; lives in `a`.  A node that moves afterwards keeps its number. */
space_load *glow_space_load(glow_arena *a, const glow_target *t, glow_func *f,
                            const glow_space *s);
/* Bytes that a buffer of `bytes` takes there, its alignment included. */
int64_t glow_space_round(const glow_space *s, int64_t bytes);
int64_t glow_space_bytes(const glow_space *s, const glow_node *alloc);
/* The most bytes live at nodes from <= x < to. */
int64_t glow_space_peak(const space_load *l, int64_t from, int64_t to);
/* Adds bytes there. */
void glow_space_add(space_load *l, int64_t from, int64_t to, int64_t bytes);

#endif
