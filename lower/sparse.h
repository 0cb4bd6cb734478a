/* Helpers of lowering rules on lists of runs. */

#ifndef LOWER_SPARSE_H
#define LOWER_SPARSE_H

#include "lower/index.h"

/* `v` of any shape as rows of one element, [count, 1]. */
glow_value *glow_lower_upright(glow_builder *b, glow_value *v);
/* Elements [from, from + count) of the first axis. */
glow_value *glow_lower_rows(glow_builder *b, glow_value *v, int64_t from,
                            int64_t count);
/* Two tensors, one after the other along the first axis. */
glow_value *glow_lower_append(glow_builder *b, glow_value *x, glow_value *y);
/*
 * Differences of neighbours in the list of x, followed by `v`, all index64: v[i
 * + 1] - v[i].
 */
glow_value *glow_lower_steps(glow_builder *b, glow_value *v);
/*
 * The number of the run of each of `count` entries, as index64; entries after
 * the last run get the number of runs.  `lengths` is index64.
 *
 *     CumSum(zeros, 1 added at the end of each run)
 */
glow_value *glow_lower_runs(glow_builder *b, glow_value *lengths,
                            int64_t count);
/*
 * `indices` as index64, and 0 for the entries after the last run, which are not
 * read and may be out of range.  `of` has their runs, glow_lower_runs.
 */
glow_value *glow_lower_used(glow_builder *b, glow_value *indices,
                            glow_value *of, const glow_value *lengths);

#endif
