/*
 * Losses.
 */

#include "tools/glow-translate/import/import.h"

/* The negative log-likelihood loss of logarithms `x`. */
static glow_value *
likelihood_loss(import_node *n, glow_value *x)
{
    static const char *const words[] = {"none", "mean", "sum", NULL};
    int reduction = import_word(n, "reduction", "mean", words);
    int64_t ignored = GLOW_IGNORE_NONE;

    if (import_has(n, "ignore_index"))
        ignored = import_int(n, "ignore_index", 0, INT64_MIN, INT64_MAX);
    return BUILD(n, negativeloglikelihoodloss,
                 GLOW_IN(x, import_in(n, 1), import_in(n, 2)),
                 .reduction = reduction, .ignore_index = ignored);
}

static bool
negative_log_likelihood_loss(import_node *n)
{
    return import_operands(n, 2, 3) &&
           import_done(n, likelihood_loss(n, import_in(n, 0)));
}

/* The second result, if wanted, is the logarithm of the probabilities. */
static bool
softmax_cross_entropy_loss(import_node *n)
{
    if (!import_operands(n, 2, 3))
        return false;
    if (import_in(n, 0)->type->shape.rank < 2)
        return import_refuse(n, "E0711", "the scores have no classes");

    glow_value *x = BUILD(n, logsoftmax, GLOW_IN(import_in(n, 0)), .axis = 1);

    if (n->n_out > 1)
        n->out[1] = x;
    return import_done(n, likelihood_loss(n, x));
}

const import_row import_loss_rows[] = {
    {"NegativeLogLikelihoodLoss", 12, 0, negative_log_likelihood_loss,
     &glow_op_negativeloglikelihoodloss, "floats; targets of any integer kind"},
    {"SoftmaxCrossEntropyLoss", 12, 0, softmax_cross_entropy_loss,
     &glow_op_negativeloglikelihoodloss,
     "floats; targets of any integer kind; after LogSoftmax"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
