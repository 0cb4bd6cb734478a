/*
 * Sharing of buffers that holds in every order of a graph.
 */

#ifndef IRGEN_SHARING_SHARE_H
#define IRGEN_SHARING_SHARE_H

#include "irgen/sharing/model.h"

/* Of a placeholder that is saved to. */
typedef struct glow_target {
    uint32_t *readers;
    uint32_t n_readers;
    bool taken; /* something is computed there */
} glow_target;

typedef struct glow_sharer {
    glow_memory_model *m;
    glow_graph_table *t;
    const glow_memory_options *options;
    glow_map *targets; /* by name */
} glow_sharer;

/* Computes what is saved in the placeholder; a copy is what is copied. */
void glow_share_outputs(glow_sharer *s);
/* NULL: nothing is saved there. */
glow_target *glow_target_of(const glow_sharer *s, const glow_storage *storage);

/* A Concat, or an InsertTensor of one part, that always runs. */
bool glow_is_concat(const glow_node *n);
bool glow_is_insert(const glow_node *n);

/* Could the slice `i` be read where it is cut out?  Sets both places. */
bool glow_may_view(glow_sharer *s, uint32_t i, glow_part *at, glow_part *to);

/* Where operand `k` of a Concat belongs; *at is where the one before it ended. */
glow_part glow_part_at(const glow_node *n, const glow_part *whole, int k,
                       glow_dims *at);

/* Lets the only result of node `i` be where `to` says. */
void glow_share_lie(glow_sharer *s, uint32_t i, const glow_part *to);

void glow_share_always(glow_sharer *s);

#endif
