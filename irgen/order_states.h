/*
 * States of a search for orders: the sets of tasks that have run, each reached
 * from another by one task, and told apart by two sums of hashes.
 */

#ifndef IRGEN_ORDER_STATES_H
#define IRGEN_ORDER_STATES_H

#include "glow/base.h"

typedef struct glow_order_state {
    uint64_t hash[2]; /* of the tasks that have run since the root */
    int64_t live;
    uint32_t parent, task; /* it is the parent's after this task */
    uint32_t count;        /* tasks since the root */
} glow_order_state;

typedef struct glow_order_states {
    glow_arena *a;
    glow_order_state *items; /* the root first */
    size_t n, cap;
    uint32_t *table; /* states by hash, + 1; 0: none */
    size_t slots, room;
} glow_order_states;

glow_order_states *glow_order_states_new(glow_arena *a);

/* Forgets all, and begins anew; returns the root. */
uint32_t glow_order_states_plant(glow_order_states *s, int64_t live);

/* True if the set of `parent` and `task` was not known: a state is made. */
bool glow_order_states_find(glow_order_states *s, uint32_t parent,
                            uint32_t task, int64_t live, uint32_t *out);

/* Makes a state in any case; *fresh tells whether its set was known. */
uint32_t glow_order_states_append(glow_order_states *s, uint32_t parent,
                                  uint32_t task, int64_t live, bool *fresh);

/* The hash of a set and one task more. */
void glow_order_hash(const uint64_t hash[2], uint32_t task, uint64_t out[2]);

/* What waits to be looked at: the least key first, of those the largest count,
 * of those the last made. */
typedef struct glow_order_entry {
    int64_t key;
    uint32_t state, count;
} glow_order_entry;

typedef struct glow_order_heap {
    glow_order_entry *items;
    size_t count, cap;
} glow_order_heap;

void glow_order_push(glow_arena *a, glow_order_heap *h, int64_t key,
                     uint32_t state, uint32_t count);
glow_order_entry glow_order_pop(glow_order_heap *h);

#endif
