/*
 * Buffer sharing that holds in every order of a graph.
 */

#ifndef IRGEN_SHARING_SHARE_H
#define IRGEN_SHARING_SHARE_H

#include "irgen/sharing/model.h"

/* A placeholder that a Save writes. */
typedef struct glow_target {
    uint32_t *readers;
    uint32_t n_readers;
    bool taken; /* a buffer is computed in it */
} glow_target;

typedef struct glow_sharer {
    glow_memory_model *m;
    glow_graph_table *t;
    const glow_memory_options *options;
    glow_map *targets; /* placeholder name to glow_target */
} glow_sharer;

/* Lets operands of Saves be computed in the placeholder, and removes Copy nodes,
   wherever that is right in every order. */
void glow_share_outputs(glow_sharer *s);
/* The target of a placeholder; NULL: no Save writes it. */
glow_target *glow_target_of(const glow_sharer *s, const glow_storage *storage);

/* True for a Concat, or for an InsertTensor of count 1, without a predicate. */
bool glow_is_concat(const glow_node *n);
bool glow_is_insert(const glow_node *n);

/* True if slice `i` may be a view of its source.  Sets *at to the part of its
   result, *to to that of the elements in the source. */
bool glow_may_view(glow_sharer *s, uint32_t i, glow_part *at, glow_part *to);

/* The part of operand `k` in the result `whole` of a Concat; *at is the index
   where it begins, and is advanced behind it. */
glow_part glow_part_at(const glow_node *n, const glow_part *whole, int k,
                       glow_dims *at);

/* Moves the buffer of result 0 of node `i` to the part `to`, and removes the
   node. */
void glow_share_move(glow_sharer *s, uint32_t i, const glow_part *to);

/* Applies view-slice, share-buffers and join-parts wherever they hold in every
   order. */
void glow_share_always(glow_sharer *s);

#endif
