/*
 * Linear models of ai.onnx.ml: a product with a constant matrix.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/ml/ml.h"

/*
 * X C^T + intercepts, [N, rows]; `rows` < 0: from the number of coefficients.
 */
static glow_value *
product(import_node *n, int64_t rows)
{
    int64_t count, n_intercepts;
    double *c = ml_numbers(n, "coefficients", false, &count);
    double *b = ml_numbers(n, "intercepts", false, &n_intercepts);
    glow_value *x = ml_matrix(n, GLOW_FLOAT), *w, *y;
    int64_t width;

    if (n->failed || !x)
        return NULL;
    width = x->type->shape.at[1];
    if (rows < 0)
        rows = width > 0 ? count / width : 0;
    if (count == 0 || rows < 1 || count / rows != width || count % rows != 0) {
        import_refuse(n, "E0711",
                      "%" PRId64 " coefficients do not fit %" PRId64 " columns",
                      count, width);
        return NULL;
    }
    if (n_intercepts && !ml_check_count(n, "intercepts", n_intercepts, rows))
        return NULL;
    w = ml_floats(n, GLOW_FLOAT, GLOW_DIMS_OF(rows, width), c);
    w = import_transpose(n, w, GLOW_DIMS_OF(1, 0));
    if (n->failed)
        return NULL;
    y = BUILD_PLAIN(n, matmul, GLOW_IN(x, w));
    return n_intercepts && !n->failed
               ? import_binary(
                     n, &glow_op_add, y,
                     ml_floats(n, GLOW_FLOAT, GLOW_DIMS_OF(1, rows), b))
               : y;
}

static bool
regressor(import_node *n)
{
    int64_t targets = import_int(n, "targets", 1, 1, INT32_MAX);
    ml_transform how = ml_read_transform(n);

    return import_operands(n, 1, 1) &&
           import_done(n, ml_transformed(n, product(n, targets), how));
}

static bool
classifier(import_node *n)
{
    ml_labels labels;
    ml_transform how = ml_read_transform(n);
    glow_value *scores, *zero;
    int64_t rows;

    import_ignore(n, "multi_class"); /* of training */
    if (!import_operands(n, 1, 1))
        return false;
    labels = ml_read_labels(n, "classlabels_ints", "classlabels_strings");
    scores = product(n, -1);
    if (n->failed || !scores)
        return false;
    rows = scores->type->shape.at[1];
    if (rows == 1 && labels.count == 2) {
        zero = import_splat(n, GLOW_FLOAT, scores->type->shape, 0);
        zero = import_binary(n, &glow_op_cmplt, zero, scores);
        scores = ml_two_classes(n, scores, how, how != ML_LOGISTIC);
        if (n->n_out > 1)
            n->out[1] = scores;
        return ml_give_labels(n, labels, ml_as_class(n, zero));
    }
    if (rows != labels.count)
        return import_refuse(n, "E0711",
                             "%" PRId64 " labels, but %" PRId64
                             " rows of coefficients",
                             labels.count, rows);
    if (n->n_out > 1)
        n->out[1] = ml_transformed(n, scores, how);
    return ml_give_labels(n, labels, ml_greatest(n, scores));
}

const import_row import_ml_linear_rows[] = {
    {"ai.onnx.ml.LinearClassifier", 1, 0, classifier, &glow_op_matmul,
     "numbers, to float; string labels only where nobody reads them"},
    {"ai.onnx.ml.LinearRegressor", 1, 0, regressor, &glow_op_matmul,
     "numbers, to float; of one target PROBIT alone is applied"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
