/*
 * Import of ONNX Runtime's contrib operators, which it writes when it optimizes
 * a model (its docs/ContribOperators.md defines them).  All become compositions
 * of existing operators.
 */

#ifndef GLOW_TRANSLATE_IMPORT_ORT_H
#define GLOW_TRANSLATE_IMPORT_ORT_H

#include "tools/glow-translate/import/import.h"

/* The opset of ONNX whose rows are used for operators of the same name. */
#define ORT_OPSET 17

/* x + y where y is broadcast to the shape of x; x itself if y is NULL. */
glow_value *ort_add(import_node *n, glow_value *x, glow_value *y);
/* x / (1 + exp(-alpha x)) */
glow_value *ort_gate(import_node *n, glow_value *x, float alpha);
/*
 * The activation of attribute `activation`, with `count` parameters of `given`;
 * x without that attribute.
 */
glow_value *ort_activate(import_node *n, glow_value *x, const float *given,
                         int count);

/* Fails unless operand i, if it is there, is of that rank. */
bool ort_check_rank(import_node *n, int i, int rank);
/* Fails unless operand i, if it is there, has that shape; -1 fits any size. */
bool ort_check_shape(import_node *n, int i, glow_dims want);

#endif
