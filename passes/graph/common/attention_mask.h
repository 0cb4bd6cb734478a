/*
 * Masks of attention: of bool, false where a score is masked, or numbers that
 * are added to scores, 0 where a score is kept.  A flipped mask is of bool and
 * true where a score is masked, or is subtracted.
 *
 * Each predicate is false if the elements of the mask are not constant.
 */

#ifndef PASSES_GRAPH_COMMON_ATTENTION_MASK_H
#define PASSES_GRAPH_COMMON_ATTENTION_MASK_H

#include "glow/graph.h"

#define ATTENTION_HIDDEN -1e4 /* masks a score, as does any lesser number */

/*
 * True if row i of the mask keeps column j exactly where j <= i + *past, for
 * each batch and head; `rows` and `count` are the sizes of the scores.
 */
bool glow_attention_mask_is_causal(glow_value *mask, bool is_flipped,
                                   int64_t rows, int64_t count, int64_t *past);

/* True if each row of the mask keeps a score. */
bool glow_attention_mask_shows_rows(glow_value *mask, bool is_flipped);

#endif
