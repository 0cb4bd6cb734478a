/*
 * Import of ai.onnx.ml, classical machine learning.  All operators become
 * compositions of existing ones.  Choices that the standard leaves open are
 * made as in ONNX Runtime.
 */

#ifndef GLOW_TRANSLATE_IMPORT_ML_H
#define GLOW_TRANSLATE_IMPORT_ML_H

#include "tools/glow-translate/import/import.h"

/* Operand 0 as [N, C], and in `kind`; a list is one row.  NULL after a report. */
glow_value *ml_matrix(import_node *n, glow_kind kind);
/* The shape of operand 0 as a matrix. */
glow_dims ml_matrix_shape(const import_node *n);

glow_value *ml_floats(import_node *n, glow_kind kind, glow_dims shape,
                      const double *at);
/* A tensor attribute, whose bytes live as long as the import; NULL: none. */
const glow_tensor *ml_tensor(import_node *n, const char *name);
/*
 * The numbers of attribute `name`, a list of floats, or else of `name_as_tensor`
 * if `as_tensor`.
 */
double *ml_numbers(import_node *n, const char *name, bool as_tensor,
                   int64_t *count);
/* Fails unless a list of `count` entries has `due`. */
bool ml_check_count(import_node *n, const char *name, int64_t count,
                    int64_t due);
/* True unless a list of strings is given by that name, which is refused. */
bool ml_no_strings(import_node *n, const char *name);

/*
 * Classes, by number; labels that are strings are permitted as long as no node
 * reads them.
 */
typedef struct ml_labels {
    int64_t count;
    const int64_t *at; /* NULL: they are strings */
} ml_labels;
ml_labels ml_read_labels(import_node *n, const char *ints, const char *strings);
/* Sets result 0 to the labels of classes `at`, [N] of index64. */
bool ml_give_labels(import_node *n, ml_labels labels, glow_value *at);
/* ArgMax of each row of [N, E], the first of equal ones. */
glow_value *ml_greatest(import_node *n, glow_value *scores);
/* 1 where condition `v`, [N, 1] of bool, holds, as a list of index64. */
glow_value *ml_as_class(import_node *n, glow_value *v);

/* Transforms of scores [N, E]. */
typedef enum ml_transform {
    ML_NONE,
    ML_SOFTMAX,
    ML_LOGISTIC,
    ML_SOFTMAX_ZERO,
    ML_PROBIT,
} ml_transform;
ml_transform ml_read_transform(import_node *n);
/* Applies a transform; to a single score only PROBIT, as ONNX Runtime does. */
glow_value *ml_transformed(import_node *n, glow_value *scores,
                           ml_transform how);
/*
 * Scores of two classes from the score s of the second: [-s, s], or for
 * probabilities [1 - s, s].
 */
glow_value *ml_two_classes(import_node *n, glow_value *score, ml_transform how,
                           bool probabilities);

#endif
