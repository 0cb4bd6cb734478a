/*
 * Matching of values: uniform values, and defining nodes.
 *
 * No function looks through a node with a predicate, whose result may differ from
 * that of its operator.
 */

#ifndef GLOW_MATCH_H
#define GLOW_MATCH_H

#include "glow/build.h"

GLOW_BEGIN

/*
 * True, and *out set, if all elements of `v` are one number: a Splat, constant
 * storage that is uniform, or one of those through Broadcast, Copy, Reshape, Tile,
 * Transpose and ConvertTo.  False for integers that a double does not represent,
 * for quantized kinds, and where bytes differ (zeros of unlike sign, a NaN).
 */
GLOW_API bool glow_splat_value(const glow_value *v, double *out);
/* ... and it is `x`, the sign of zero included. */
GLOW_API bool glow_is_number(const glow_value *v, double x);
/* Constant storage or a Splat. */
GLOW_API bool glow_is_constant_like(const glow_value *v);

/* The node that makes `v` if it is an `op` without predicate, else NULL. */
GLOW_API glow_node *glow_def(const glow_value *v, const glow_op *op);
/* The same if nobody else uses `v`. */
GLOW_API glow_node *glow_only_def(const glow_value *v, const glow_op *op);
/* The first operand of the `op` that makes `v`; `v` if none does. */
GLOW_API glow_value *glow_through(glow_value *v, const glow_op *op);

/* The elements of a constant of at most `most` of them; else NULL. */
GLOW_API const glow_tensor *glow_constant_data(const glow_value *v,
                                               int64_t most);
/* Integers of a constant of at most GLOW_MAX_RANK elements. */
GLOW_API bool glow_get_ints(const glow_value *v, glow_dims *out);

/* A Splat of the type of `v`, or a splat constant where `x` is no float. */
GLOW_API glow_value *glow_build_like(glow_builder *b, const glow_value *v,
                                     double x);

GLOW_END

#endif
