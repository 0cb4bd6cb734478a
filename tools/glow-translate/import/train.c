/*
 * Steps of training: ai.onnx.preview.training.  One ONNX node takes any number
 * of tensors, each of which is a step by itself:
 *
 *     R, T, X1, X2, .., G1, G2, .., V1, V2, ..  ->  X1, X2, .., V1, V2, ..
 */

#include "tools/glow-translate/import/import.h"

#define MAX_KINDS 4 /* of tensors: X, G, and two of state */

/* A learning rate or step count, which may be a list of one. */
static glow_value *
scalar(import_node *n, int i)
{
    glow_value *v = import_in(n, i);

    if (glow_dims_count(v->type->shape) != 1)
        import_refuse(n, "E0711", "operand %d is not one number", i);
    return import_reshape(n, v, (glow_dims){0});
}

/* One node of `op` for each tensor; `kinds` operands of each. */
static bool
steps(import_node *n, const glow_op *op, int kinds, const void *attrs)
{
    int count = (n->n_in - 2) / kinds;
    glow_value *rate, *t;

    if (n->n_in < 2 + kinds || (n->n_in - 2) % kinds != 0)
        return import_refuse(n, "E0711",
                             "%d operands, but 2 and a multiple of %d are due",
                             n->n_in, kinds);
    if (!import_operands(n, n->n_in, n->n_in))
        return false;
    rate = scalar(n, 0);
    t = scalar(n, 1);
    for (int i = 0; i < count && !n->failed; i++) {
        glow_value *in[2 + MAX_KINDS];
        glow_value *y;

        for (int k = 0; k < kinds; k++)
            in[2 + k] = n->in[2 + k * count + i];
        in[0] = import_convert(n, rate, in[2]->type->elem);
        in[1] = t;
        y = import_build(n, op, NULL, in, 2 + kinds, attrs);
        for (int k = 0; y && k < glow_op_results(op); k++)
            if (k * count + i < n->n_out)
                n->out[k * count + i] = y->def->out[k];
    }
    return !n->failed;
}

static bool
adagrad(import_node *n)
{
    return steps(n, &glow_op_adagrad, 3,
                 &(const glow_adagrad){
                     .decay_factor = import_float(n, "decay_factor", 0),
                     .epsilon = import_float(n, "epsilon", 1e-6f),
                     .norm_coefficient = import_float(n, "norm_coefficient", 0),
                 });
}

static bool
adam(import_node *n)
{
    return steps(n, &glow_op_adam, 4,
                 &(const glow_adam){
                     .alpha = import_float(n, "alpha", 0.9f),
                     .beta = import_float(n, "beta", 0.999f),
                     .epsilon = import_float(n, "epsilon", 1e-6f),
                     .norm_coefficient = import_float(n, "norm_coefficient", 0),
                     .norm_coefficient_post =
                         import_float(n, "norm_coefficient_post", 0),
                 });
}

static bool
momentum(import_node *n)
{
    static const char *const modes[] = {"standard", "nesterov", NULL};

    return steps(n, &glow_op_momentum, 3,
                 &(const glow_momentum){
                     .alpha = import_float(n, "alpha", 0),
                     .beta = import_float(n, "beta", 0),
                     .norm_coefficient = import_float(n, "norm_coefficient", 0),
                     .mode = import_word(n, "mode", "standard", modes),
                 });
}

#define DOMAIN "ai.onnx.preview.training."

const import_row import_train_rows[] = {
    {DOMAIN "Adagrad", 1, 0, adagrad, &glow_op_adagrad,
     "floats; a node for each tensor"},
    {DOMAIN "Adam", 1, 0, adam, &glow_op_adam,
     "floats; a node for each tensor"},
    {DOMAIN "Momentum", 1, 0, momentum, &glow_op_momentum,
     "floats; a node for each tensor"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
