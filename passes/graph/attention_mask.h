/*
 * Masks of attention: of bool, true where a score is seen, or numbers that are
 * added to scores, 0 where one is.  A flipped one says the opposite: it is of
 * bool and true where a score is hidden, or subtracted.
 *
 * Each of these is false where the elements of the mask are not known.
 */

#ifndef PASSES_GRAPH_ATTENTION_MASK_H
#define PASSES_GRAPH_ATTENTION_MASK_H

#include "glow/graph.h"

#define ATTENTION_HIDDEN -1e4 /* what hides a score, or less */

/*
 * True if row i of the mask sees column j just where j <= i + *past, in each of
 * the batch and for each head; `rows` and `count` are those of the scores.
 */
bool attention_mask_is_causal(glow_value *mask, bool is_flipped, int64_t rows,
                              int64_t count, int64_t *past);

/* True if each row of the mask sees something. */
bool attention_mask_shows_rows(glow_value *mask, bool is_flipped);

#endif
