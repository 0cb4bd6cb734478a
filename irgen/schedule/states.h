/*
 * Hash table of search states, and a binary heap of the open ones.
 *
 * A state is the set of tasks that have run since the root.  It is stored as its
 * parent and one task, and identified by two sums of hashes.
 */

#ifndef IRGEN_SCHEDULE_STATES_H
#define IRGEN_SCHEDULE_STATES_H

#include "glow/base.h"

typedef struct glow_order_state {
    uint64_t hash[2]; /* of the tasks that have run since the root */
    int64_t live;
    uint32_t parent, task; /* the parent's set and this task */
    uint32_t count;        /* tasks since the root */
} glow_order_state;

typedef struct glow_order_states {
    glow_arena *a;
    glow_order_state *items; /* the root first */
    size_t n, cap;
    uint32_t *table; /* 1 + number of a state, by hash; 0: empty */
    size_t slots, room;
} glow_order_states;

glow_order_states *glow_order_states_new(glow_arena *a);

/* Removes all states and adds a root; returns it. */
uint32_t glow_order_states_reset(glow_order_states *s, int64_t live);

/* Adds the set of `parent` and `task`; false if it is known already. */
bool glow_order_states_find(glow_order_states *s, uint32_t parent,
                            uint32_t task, int64_t live, uint32_t *out);

/* Adds a state even if its set is known; sets *fresh to whether it was not. */
uint32_t glow_order_states_append(glow_order_states *s, uint32_t parent,
                                  uint32_t task, int64_t live, bool *fresh);

/* The hash of a set with one more task. */
void glow_order_hash(const uint64_t hash[2], uint32_t task, uint64_t out[2]);

/* Heap order: least key first, then largest count, then newest state. */
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
