/*
 * Permutations and groups of axes, for passes that move transposes and
 * reshapes.
 *
 * A permutation lists old axes in their new order, as Transpose's Shuffle does:
 * axis i of the result is axis at[i] of the operand.
 */

#ifndef PASSES_GRAPH_COMMON_AXES_H
#define PASSES_GRAPH_COMMON_AXES_H

#include "glow/ops.h"

/* The composition: `first`, then `second`. */
glow_dims glow_axes_compose(glow_dims first, glow_dims second);
glow_dims glow_axes_inverse(glow_dims perm);
glow_dims glow_axes_identity(int rank);
bool glow_axes_is_identity(glow_dims perm);

/* `list`, of one entry for each axis, after a transpose by `perm`. */
glow_dims glow_axes_permute(glow_dims list, glow_dims perm);

/* The inverse: glow_axes_permute(result, perm) is `list`. */
glow_dims glow_axes_restore(glow_dims list, glow_dims perm);

/*
 * True if a transpose by `perm` of a tensor of `shape` keeps the order of
 * elements in memory: only axes of one element are moved.
 */
bool glow_axes_keep_order(glow_dims shape, glow_dims perm);

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
bool glow_axes_find_groups(glow_dims in, glow_dims out, axis_groups *g);

/* The shape of a Broadcast's operand, with 1 for the axes that it lacks. */
glow_dims glow_axes_aligned(const glow_node *broadcast);

/* The permutation `perm` without the axes `gone` of the result. */
glow_dims glow_axes_left_over(glow_dims perm, glow_dims gone);

/*
 * The blocks of axes that a transpose moves as a whole, without axes of one
 * element.
 */
typedef struct axis_blocks {
    int count;
    int64_t size[GLOW_MAX_RANK]; /* as the operand has them */
    int order[GLOW_MAX_RANK];    /* blocks of the operand, in the order of the
                                  * result */
} axis_blocks;

axis_blocks glow_axes_find_blocks(glow_dims shape, glow_dims perm);

/*
 * True for a conversion of quantized elements that other passes move below transposes
 * and reshapes: Dequantize and a BitCast to the integers of the same bits
 * (fold-quantization, so that elements move while they are few bits) and
 * RescaleQuantized (sink-rescale).  Passes that sink transposes and reshapes leave them
 * above it.
 */
bool glow_axes_moved_before(const glow_node *n);

#endif
