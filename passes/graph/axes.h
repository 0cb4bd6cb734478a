/*
 * Orders of axes: what the passes that move transposes and reshapes ask.
 *
 * A permutation lists old axes in their new order, as Transpose's Shuffle does:
 * axis i of the result is axis at[i] of the operand.
 */

#ifndef PASSES_GRAPH_AXES_H
#define PASSES_GRAPH_AXES_H

#include "glow/ops.h"

/* The permutation that does `first` and then `second`. */
glow_dims axes_compose(glow_dims first, glow_dims second);
glow_dims axes_inverse(glow_dims perm);
glow_dims axes_identity(int rank);
bool axes_is_identity(glow_dims perm);

/* `list`, of one entry for each axis, after a transpose by `perm`. */
glow_dims axes_permute(glow_dims list, glow_dims perm);

/* What a list was before: axes_permute(result, perm) is `list`. */
glow_dims axes_restore(glow_dims list, glow_dims perm);

/*
 * True if a tensor of `shape` looks the same in memory after a transpose by
 * `perm`: only axes of one element change places with others.
 */
bool axes_keep_order(glow_dims shape, glow_dims perm);

/*
 * The axes of a reshape's operand (in) and result (out), in the smallest groups
 * of the same number of elements: group g goes from in[g] to in[g + 1], and
 * from out[g] to out[g + 1].
 */
typedef struct axis_groups {
    int count;
    int in[2 * GLOW_MAX_RANK + 1];
    int out[2 * GLOW_MAX_RANK + 1];
} axis_groups;

/* False for empty tensors, which have no groups. */
bool axes_find_groups(glow_dims in, glow_dims out, axis_groups *g);

/* The shape of a Broadcast's operand, with 1 for the axes that it lacks. */
glow_dims axes_aligned(const glow_node *broadcast);

/* What is left of `perm` when the axes of `gone` are, of the result. */
glow_dims axes_left_over(glow_dims perm, glow_dims gone);

/*
 * What a transpose moves: blocks of axes that stay together, without axes of
 * one element.
 */
typedef struct axis_blocks {
    int count;
    int64_t size[GLOW_MAX_RANK]; /* as the operand has them */
    int order[GLOW_MAX_RANK];    /* which of them the result has, in order */
} axis_blocks;

axis_blocks axes_find_blocks(glow_dims shape, glow_dims perm);

#endif
