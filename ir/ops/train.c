/*
 * Training steps: Adagrad, Adam, Momentum.  Operands R (learning rate), T
 * (number of steps before), X (weights), G (gradient), and the state of earlier
 * steps; results X and the state.
 */

#include <math.h>

#include "ir/ops/common.h"

/*
 * infer: R and T are scalars, all other operands and the results have the type
 * of X.
 */
static bool
step_infer(const glow_node *n, glow_type out[])
{
    if (!glow_admit(n, 2, GLOW_ANY_FLOAT) || !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_kinds(n, 0, 2) || !glow_check_rank(n, 0, 0) ||
        !glow_check_rank(n, 1, 0))
        return false;
    for (int i = 3; i < n->n_in; i++)
        if (!glow_check_types(n, i, 2))
            return false;
    for (int i = 0; i < glow_op_results(n->op); i++)
        if (!glow_give(n, glow_dense(n->in[2]->type), &out[i]))
            return false;
    return true;
}

static bool
check_epsilon(const glow_node *n, float epsilon)
{
    return epsilon >= 0 ||
           glow_reject(n, "Epsilon is %g, but must be 0 or more",
                       (double)epsilon);
}

/* The gradient with weight decay: G plus the gradient of norm / 2 * X^2. */
static double
pulled(glow_tensor *const in[], int64_t i, float norm)
{
    return (double)norm * glow_get_double(in[2], i) + glow_get_double(in[3], i);
}

#define R_OPERAND {"R", GLOW_TENSOR, "the learning rate, of rank 0"}
#define T_OPERAND {"T", GLOW_TENSOR, "steps taken before, an integer of rank 0"}
#define X_OPERAND {"X", GLOW_TENSOR, "the weights"}
#define G_OPERAND {"G", GLOW_TENSOR, "their gradient"}
#define X_RESULT {"NewX", GLOW_TENSOR, "the weights after the step"}

/* adagrad */

static bool
adagrad_infer(const glow_node *n, glow_type out[])
{
    const glow_adagrad *a = n->attrs;

    return step_infer(n, out) && check_epsilon(n, a->epsilon);
}

static bool
adagrad_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    const glow_adagrad *a = n->attrs;
    double rate = glow_get_double(in[0], 0) /
                  (1 + glow_get_double(in[1], 0) * (double)a->decay_factor);
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        double g = pulled(in, i, a->norm_coefficient);
        double h = glow_get_double(in[4], i) + g * g;
        double x = glow_get_double(in[2], i);

        glow_set_double(out[0], i,
                        x - rate * g / (sqrt(h) + (double)a->epsilon));
        glow_set_double(out[1], i, h);
    }
    return true;
}

const glow_op glow_op_adagrad = {
    .name = "Adagrad",
    .summary = "a step of Adagrad",
    .in = {R_OPERAND,
           T_OPERAND,
           X_OPERAND,
           G_OPERAND,
           {"H", GLOW_TENSOR, "the sum of squared gradients"}},
    .out = {X_RESULT, {"NewH", GLOW_TENSOR, "the new sum"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_adagrad, decay_factor, GLOW_FLOAT32,
                                 "how the rate falls with T, d"),
              GLOW_FIELD_DEFAULT(glow_adagrad, epsilon, GLOW_FLOAT32,
                                 "added to the root, e"),
              GLOW_FIELD_DEFAULT(glow_adagrad, norm_coefficient, GLOW_FLOAT32,
                                 "the pull toward 0, c")},
    .defaults = &(const glow_adagrad){.epsilon = 1e-6f},
    .inplace = {{0, 2}, {1, 4}},
    .inplace_count = 2,
    .traits = GLOW_PURE,
    .infer = adagrad_infer,
    .eval = adagrad_eval,
    .doc = "`g = c X + G`, `NewH = H + g^2`, `NewX = X - R / (1 + T d) * g / "
           "(sqrt(NewH) + e)`.",
    .source = "Duchi, Hazan, Singer, Adaptive Subgradient Methods, JMLR 12, "
              "2011; ONNX ai.onnx.preview.training Adagrad",
};

/* adam */

static bool
adam_infer(const glow_node *n, glow_type out[])
{
    const glow_adam *a = n->attrs;

    return step_infer(n, out) && check_epsilon(n, a->epsilon);
}

static bool
adam_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    const glow_adam *a = n->attrs;
    double alpha = (double)a->alpha, beta = (double)a->beta;
    double rate = glow_get_double(in[0], 0), t = glow_get_double(in[1], 0);
    double keep = 1 - rate * (double)a->weight_decay;
    double correction = t > 0 ? sqrt(1 - pow(beta, t)) : 1;
    double epsilon = (double)a->epsilon * (a->correct_first ? correction : 1);
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    if (t > 0)
        rate *= correction / (1 - pow(alpha, t));
    for (int64_t i = 0; i < count; i++) {
        double g = pulled(in, i, a->norm_coefficient);
        double v = alpha * glow_get_double(in[4], i) + (1 - alpha) * g;
        double h = beta * glow_get_double(in[5], i) + (1 - beta) * g * g;
        double x =
            keep * glow_get_double(in[2], i) - rate * v / (sqrt(h) + epsilon);

        glow_set_double(out[0], i, x * (1 - (double)a->norm_coefficient_post));
        glow_set_double(out[1], i, v);
        glow_set_double(out[2], i, h);
    }
    return true;
}

const glow_op glow_op_adam = {
    .name = "Adam",
    .summary = "a step of Adam",
    .in = {R_OPERAND,
           T_OPERAND,
           X_OPERAND,
           G_OPERAND,
           {"V", GLOW_TENSOR, "the running mean of gradients"},
           {"H", GLOW_TENSOR, "that of squared gradients"}},
    .out = {X_RESULT,
            {"NewV", GLOW_TENSOR, "the new mean"},
            {"NewH", GLOW_TENSOR, "that of the squares"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_adam, alpha, GLOW_FLOAT32,
                                 "what stays of V, a"),
              GLOW_FIELD_DEFAULT(glow_adam, beta, GLOW_FLOAT32,
                                 "what stays of H, b"),
              GLOW_FIELD_DEFAULT(glow_adam, epsilon, GLOW_FLOAT32,
                                 "added to the root, e"),
              GLOW_FIELD_DEFAULT(glow_adam, norm_coefficient, GLOW_FLOAT32,
                                 "the pull toward 0, c"),
              GLOW_FIELD_DEFAULT(glow_adam, norm_coefficient_post, GLOW_FLOAT32,
                                 "that after the step, p"),
              GLOW_FIELD_DEFAULT(glow_adam, weight_decay, GLOW_FLOAT32,
                                 "that before the step, by the rate, w"),
              GLOW_FIELD_DEFAULT(glow_adam, correct_first, GLOW_FLAG,
                                 "e is added to the root after its "
                                 "correction, as in PyTorch")},
    .defaults =
        &(const glow_adam){.alpha = 0.9f, .beta = 0.999f, .epsilon = 1e-6f},
    .inplace = {{0, 2}, {1, 4}, {2, 5}},
    .inplace_count = 3,
    .traits = GLOW_PURE,
    .infer = adam_infer,
    .eval = adam_eval,
    .doc = "`g = c X + G`, `NewV = a V + (1 - a) g`, `NewH = b H + (1 - b) "
           "g^2`, `r = R sqrt(1 - b^T) / (1 - a^T)`, or `R` where T is 0, "
           "`NewX = (1 - p) ((1 - R w) X - r NewV / (sqrt(NewH) + e))`; with "
           "CorrectFirst `e sqrt(1 - b^T)` for `e`, where T is not 0.",
    .source = "Kingma, Ba, Adam, arXiv:1412.6980; ONNX "
              "ai.onnx.preview.training Adam; w: Loshchilov, Hutter, Decoupled "
              "Weight Decay Regularization, arXiv:1711.05101",
};

/* momentum */

static bool
momentum_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    const glow_momentum *m = n->attrs;
    double alpha = (double)m->alpha, rate = glow_get_double(in[0], 0);
    double beta = glow_get_double(in[1], 0) > 0 ? (double)m->beta : 1;
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        double g = pulled(in, i, m->norm_coefficient);
        double v = alpha * glow_get_double(in[4], i) + beta * g;
        double x = glow_get_double(in[2], i);

        x -= rate * (m->mode == GLOW_MOMENTUM_NESTEROV ? g + alpha * v : v);
        glow_set_double(out[0], i, x);
        glow_set_double(out[1], i, v);
    }
    return true;
}

static const char *const momentum_modes[] = {"standard", "nesterov", NULL};

const glow_op glow_op_momentum = {
    .name = "Momentum",
    .summary = "a step of gradient descent with momentum",
    .in = {R_OPERAND,
           T_OPERAND,
           X_OPERAND,
           G_OPERAND,
           {"V", GLOW_TENSOR, "the momentum"}},
    .out = {X_RESULT, {"NewV", GLOW_TENSOR, "the new momentum"}},
    .attrs = {GLOW_FIELD(glow_momentum, alpha, GLOW_FLOAT32,
                         "what stays of V, a"),
              GLOW_FIELD(glow_momentum, beta, GLOW_FLOAT32,
                         "what the gradient counts after the first step, b"),
              GLOW_FIELD_DEFAULT(glow_momentum, norm_coefficient, GLOW_FLOAT32,
                                 "the pull toward 0, c"),
              GLOW_FIELD_ENUM(glow_momentum, mode, momentum_modes,
                              "which formula")},
    .defaults = &(const glow_momentum){.mode = GLOW_MOMENTUM_STANDARD},
    .inplace = {{0, 2}, {1, 4}},
    .inplace_count = 2,
    .traits = GLOW_PURE,
    .infer = step_infer,
    .eval = momentum_eval,
    .doc = "`g = c X + G`, `NewV = a V + b g`, with 1 for `b` where T is 0; "
           "`NewX = X - R NewV`, or with nesterov `X - R (g + a NewV)`.",
    .source = "ONNX ai.onnx.preview.training Momentum",
};
