/*
 * Numbers of the nodes of a function: an array by the id of a node, which a pass
 * makes for itself, so that two numberings of a function stand side by side.
 */

#ifndef GLOW_NUMBER_H
#define GLOW_NUMBER_H

#include "glow/graph.h"

GLOW_BEGIN

#define GLOW_UNNUMBERED UINT32_MAX

/* 4 bytes for each id of the function; valid as long as its arena. */
typedef struct glow_numbering {
    uint32_t *by_id; /* 1 + number, or 0; private, like the next three */
    size_t count;
    size_t cap;
    glow_arena *arena;
} glow_numbering;

/* A numbering of `f` in which no node has a number. */
GLOW_API glow_numbering glow_numbering_new(glow_arena *a, const glow_func *f);
/* The numbering of the nodes of `f` in their order, from 0. */
GLOW_API glow_numbering glow_number_nodes(glow_arena *a, const glow_func *f);
/* Sets the number of a node of the function, which may be newer than `all`. */
GLOW_API void glow_number_set(glow_numbering *all, const glow_node *n,
                              uint32_t number);

/* The number of `n`, a node of the function; GLOW_UNNUMBERED if it has none. */
static inline uint32_t
glow_number_of(const glow_numbering *all, const glow_node *n)
{
    return n->id < all->count ? all->by_id[n->id] - 1 : GLOW_UNNUMBERED;
}

GLOW_END

#endif
