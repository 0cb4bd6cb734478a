/* The gradient of a normalization of rows, written out. */

#ifndef LOWER_NORM_H
#define LOWER_NORM_H

#include "lower/common.h"

/*
 * Replaces the results of a LayerNormalizationGrad, or of a RMSNormalizationGrad if
 * nothing is centred; lower/layernormalizationgrad.c has the formulas.
 */
glow_value *glow_lower_row_gradient(glow_builder *b, glow_node *n,
                                    bool is_centred);

#endif
