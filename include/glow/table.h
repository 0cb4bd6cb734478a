/*
 * Functions of one quantized element as tables: IntLookupTable of all its values.
 */

#ifndef GLOW_TABLE_H
#define GLOW_TABLE_H

#include "glow/build.h"

GLOW_BEGIN

/* True for a Splat without predicate or a splat constant, of quantized kinds too. */
GLOW_API bool glow_is_uniform(const glow_value *v);

/*
 * True if each element of the only result of `n` is a function of the same elements of
 * its operands, all of quantized kinds: an element-wise operator, or an IntLookupTable
 * of a constant.
 */
GLOW_API bool glow_maps_quantized(const glow_node *n);

/*
 * Builds the IntLookupTable of `x`, whose elements have 8 or 16 bits, for the function
 * that `nodes` compute one after the other: glow_maps_quantized holds for each, and its
 * operands are `x`, uniform, the table of an IntLookupTable, or results of nodes before
 * it.  Their `eval` gives each element of the table, so that no bit of the last result
 * differs.  NULL after a report.
 */
GLOW_API glow_value *glow_build_table(glow_builder *b, glow_value *x,
                                      const glow_node *const nodes[],
                                      int count);

GLOW_END

#endif
