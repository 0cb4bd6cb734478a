/* Helpers of lowering rules that compute positions. */

#ifndef LOWER_INDEX_H
#define LOWER_INDEX_H

#include "lower/common.h"

/* The constant 0, step, 2 * step, ...: `count` of kind index64. */
glow_value *glow_lower_iota(glow_builder *b, int64_t count, int64_t step);
/* A constant list of index64. */
glow_value *glow_lower_list(glow_builder *b, const char *suffix,
                            const int64_t *at, int64_t count);
/* `v` transposed by `shuffle`; returns `v` if `shuffle` is the identity. */
glow_value *glow_lower_transpose(glow_builder *b, glow_value *v,
                                 glow_dims shuffle);
/* Elements [0, size) of each axis. */
glow_value *glow_lower_head(glow_builder *b, glow_value *v, glow_dims size);
/* The permutation that moves `axis` to the end, or to `to`, and its inverse. */
glow_dims glow_lower_move(int rank, int axis, int to);
glow_dims glow_lower_unmove(int rank, int axis, int to);
/*
 * index64 positions of the indices `v`, of which negative ones count from the
 * end of `size`; an index out of range stays out of range.
 */
glow_value *glow_lower_positions(glow_builder *b, glow_value *v, int64_t size);
/* A tensor of `v`'s shape, of index64, all `x`. */
glow_value *glow_lower_number(glow_builder *b, glow_dims shape, int64_t x);

#endif
