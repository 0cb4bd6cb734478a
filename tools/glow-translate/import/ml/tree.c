/*
 * Ensembles of decision trees of ai.onnx.ml: the operators, from attributes
 * (forest_pairs.c, forest_positions.c) to scores and labels.
 */

#include <math.h>

#include "tools/glow-translate/import/ml/forest.h"

static bool
ensemble(import_node *n)
{
    forest f = {.n = n, .targets = import_int(n, "n_targets", 1, 1, INT32_MAX)};
    int how = (int)import_int(n, "aggregate_function", 1, 0, 3);
    int transform = (int)import_int(n, "post_transform", 0, 0, 4);
    glow_value *x = import_in(n, 0), *y, *present = NULL;

    if (!import_operands(n, 1, 1))
        return false;
    if (!glow_is_float(x->type->elem))
        return import_refuse(n, "E0711",
                             "the elements are %s, but must be "
                             "floats",
                             glow_kind_get(x->type->elem)->name);
    f.kind = x->type->elem == GLOW_FLOAT64 ? GLOW_FLOAT64 : GLOW_FLOAT;
    if (!ml_matrix(n, f.kind) || !forest_read_positions(&f) ||
        !forest_check(&f))
        return false;
    y = forest_aggregated(&f, how, &present);
    y = ml_transformed(n, y, (ml_transform)transform);
    return import_done(n, import_convert(n, y, x->type->elem));
}

/* float, or float64 if X or a tensor attribute is. */
static glow_kind
kind_of(import_node *n)
{
    return import_in(n, 0)->type->elem == GLOW_FLOAT ? GLOW_FLOAT
                                                     : GLOW_FLOAT64;
}

/* Base values: none, or one for each target. */
static glow_value *
based(forest *f, glow_value *y, const double *base, int64_t count)
{
    import_node *n = f->n;

    if (n->failed || count == 0)
        return y;
    if (!ml_check_count(n, "base_values", count, f->targets))
        return NULL;
    return import_binary(
        n, &glow_op_add, y,
        ml_floats(n, f->kind, GLOW_DIMS_OF(1, f->targets), base));
}

static bool
regressor(import_node *n)
{
    static const char *const words[] = {"AVERAGE", "SUM", "MIN", "MAX", NULL};
    int how = import_word(n, "aggregate_function", "SUM", words);
    forest f = {.n = n, .targets = import_int(n, "n_targets", 1, 1, INT32_MAX)};
    ml_transform transform = ml_read_transform(n);
    int64_t n_base;
    double *base = ml_numbers(n, "base_values", true, &n_base);
    glow_value *y, *present = NULL;

    if (!import_operands(n, 1, 1) || !ml_matrix(n, GLOW_FLOAT))
        return false;
    f.kind = kind_of(n);
    if (!forest_read_pairs(&f) ||
        !forest_read_votes(&f, "target", "target_ids") || !forest_check(&f))
        return false;
    y = forest_aggregated(&f, how, &present);
    y = based(&f, y, base, n_base);
    y = import_convert(n, y, GLOW_FLOAT);
    return import_done(n, ml_transformed(n, y, transform));
}

/* Binary classification in which only one class has votes. */
static bool
one_sided(forest *f, ml_labels labels, glow_value *y, ml_transform how,
          const double *base, int64_t n_base)
{
    import_node *n = f->n;
    bool first = f->voted[0], positive = true;
    glow_value *s, *least;

    for (int64_t i = 0; i < f->n_votes; i++)
        positive &= f->votes[i].weight >= 0;
    s = import_cut(n, y, 1, first ? 0 : 1, 1);
    if (n_base == 1)
        s = import_binary_number(n, &glow_op_add, s, base[0]);
    if (n->failed)
        return false;
    least = import_splat(n, f->kind, s->type->shape, positive ? 0.5 : 0);
    least = import_binary(n, &glow_op_cmplt, least, s);
    s = import_convert(n, s, GLOW_FLOAT);
    y = import_convert(n, y, GLOW_FLOAT);
    if (n->n_out > 1)
        n->out[1] =
            first ? ml_two_classes(n, s, how, positive && how != ML_LOGISTIC)
                  : ml_transformed(n, y, how);
    return ml_give_labels(n, labels, ml_as_class(n, least));
}

static bool
classifier(import_node *n)
{
    forest f = {.n = n};
    ml_transform how = ml_read_transform(n);
    int64_t n_base;
    double *base = ml_numbers(n, "base_values", true, &n_base);
    ml_labels labels;
    glow_value *y, *best, *present = NULL;

    if (!import_operands(n, 1, 1) || !ml_matrix(n, GLOW_FLOAT))
        return false;
    labels = ml_read_labels(n, "classlabels_int64s", "classlabels_strings");
    f.kind = kind_of(n);
    f.targets = labels.count;
    if (n->failed || !forest_read_pairs(&f) ||
        !forest_read_votes(&f, "class", "class_ids") || !forest_check(&f))
        return false;
    y = forest_aggregated(&f, SUM, &present);
    if (n->failed)
        return false;
    if (f.targets == 2 && f.voted[0] != f.voted[1] && n_base <= f.voted[0])
        return one_sided(&f, labels, y, how, base, n_base);
    y = based(&f, y, base, n_base);
    best = y;
    /* A class without votes from reached leaves is never chosen. */
    if (present && n_base == 0 && !n->failed) {
        glow_value *is = import_convert(n, present, GLOW_BOOL);
        glow_value *never =
            import_constant_splat(n, f.kind, y->type->shape, -INFINITY, 0);

        best = n->failed ? NULL : BUILD_PLAIN(n, select, GLOW_IN(is, y, never));
    }
    y = import_convert(n, y, GLOW_FLOAT);
    if (n->n_out > 1)
        n->out[1] = ml_transformed(n, y, how);
    return ml_give_labels(n, labels, ml_greatest(n, best));
}

const import_row import_ml_tree_rows[] = {
    {"ai.onnx.ml.TreeEnsemble", 5, 0, ensemble, NULL,
     "floats; of one target PROBIT alone is applied"},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, 0, classifier, NULL,
     "numbers, to float; string labels only where nobody reads them"},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, 0, regressor, NULL,
     "numbers, to float; of one target PROBIT alone is applied"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
