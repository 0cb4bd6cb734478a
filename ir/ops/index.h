/* Helpers of operators that select elements by index. */

#ifndef IR_OPS_INDEX_H
#define IR_OPS_INDEX_H

#include "ir/ops/common.h"

/*
 * Element `i` of `indices`, operand `operand` of `n`, as a position among the
 * `size` elements of axis `axis` of operand `of`: a negative one counts from
 * the end. -1 after a report.
 */
int64_t glow_index_at(const glow_node *n, int operand,
                      const glow_tensor *indices, int64_t i, int64_t size,
                      int axis, int of);

/* Words of the attribute Reduction of scatters. */
extern const char *const glow_scatter_words[];
/* Replaces element `i` of `to` by its `reduction` with `from[j]`. */
void glow_scatter_element(int reduction, const glow_tensor *to, int64_t i,
                          const glow_tensor *from, int64_t j);

#endif
