/*
 * Tilings: computing an operator in pieces, each on a box of its operands.
 *
 * The iteration space of a node is a box.  Its first axes are those of the result,
 * the others are summed over.  Iterations [begin, end) of an axis read of dimension d
 * of an operand, which follows that axis, the elements
 *
 *     begin * step - before  <=  x  <  (end - 1) * step + window - before
 *
 * Elements below 0 and past the dimension are zero (of quantized kinds: the offset).
 * A convolution with kernel K, stride S and padding P reads its rows with step S,
 * window K and before P, along the axis of the rows of its result.
 */

#ifndef GLOW_TILING_H
#define GLOW_TILING_H

#include "glow/op.h"

GLOW_BEGIN

/* The axis that a dimension of an operand follows. */
typedef struct glow_tile_dim {
    int axis; /* of the iteration space; -1: each piece takes all of it */
    int64_t step;
    int64_t window;
    int64_t before;
} glow_tile_dim;

/* A dimension that follows axis `a` one to one. */
#define GLOW_TILE_AXIS(a) ((glow_tile_dim){(a), 1, 1, 0})
#define GLOW_TILE_ALL ((glow_tile_dim){.axis = -1})

struct glow_tiling {
    int n_axes;
    int n_result; /* the first of them: axes of the result */
    int64_t extent[GLOW_MAX_RANK];
    double
        work; /* of one iteration: multiply-adds of a product, else operations */
    glow_tile_dim in[GLOW_MAX_OPERANDS][GLOW_MAX_RANK]; /* by n->in */
    glow_tile_dim out[GLOW_MAX_RANK];                   /* of the only result */
    int accumulator; /* the operand, of the type of the result and in place of it,
                        that the sums are added to, or none where it is omitted; -1:
                        sums are not cut */
    int initial; /* the operand that sums begin from where that one is omitted, which
                    only the first piece of a cut sum has; -1: none */
    const void
        *attrs; /* of a piece whose operands hold their padding; NULL: those
                          of the node */
};

/*
 * The tiling of a node or instruction with one result: that of its operator, of
 * element-wise ones an axis for each dimension.  False: it is computed whole.
 */
GLOW_API bool glow_tiling_of(const glow_node *n, glow_tiling *out);

/* Iterations of the whole space; the work of the node is `work` times that. */
GLOW_API int64_t glow_tiling_count(const glow_tiling *t);

GLOW_END

#endif
