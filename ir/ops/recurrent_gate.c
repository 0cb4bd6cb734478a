/*
 * Activation functions of gates and states of recurrent networks: a table of
 * names and formulas, and the attributes that choose among them.
 */

#include <math.h>
#include <string.h>

#include "ir/ops/recurrent.h"

static double
affine(double x, double alpha, double beta)
{
    return alpha * x + beta;
}

static double
elu(double x, double alpha, double beta)
{
    (void)beta;
    return x < 0 ? alpha * expm1(x) : x;
}

static double
hard_sigmoid(double x, double alpha, double beta)
{
    return glow_minimum(glow_maximum(alpha * x + beta, 0), 1);
}

static double
leaky_relu(double x, double alpha, double beta)
{
    (void)beta;
    return x < 0 ? alpha * x : x;
}

static double
relu(double x, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return glow_maximum(x, 0);
}

static double
scaled_tanh(double x, double alpha, double beta)
{
    return alpha * tanh(beta * x);
}

static double
sigmoid(double x, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return 1 / (1 + exp(-x));
}

static double
softplus(double x, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return glow_maximum(x, 0) + log1p(exp(-fabs(x)));
}

static double
softsign(double x, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return x / (1 + fabs(x));
}

static double
tangent(double x, double alpha, double beta)
{
    (void)alpha, (void)beta;
    return tanh(x);
}

static double
thresholded_relu(double x, double alpha, double beta)
{
    (void)beta;
    return x < alpha ? 0 : x;
}

static const struct {
    glow_activation a;
    double (*f)(double x, double alpha, double beta);
} table[] = {
    {{"Affine", true, true, 1, 0}, affine},
    {{"Elu", true, false, 1, 0}, elu},
    {{"HardSigmoid", true, true, 0.2f, 0.5f}, hard_sigmoid},
    {{"LeakyRelu", true, false, 0.01f, 0}, leaky_relu},
    {{"Relu", false, false, 0, 0}, relu},
    {{"ScaledTanh", true, true, 1, 1}, scaled_tanh},
    {{"Sigmoid", false, false, 0, 0}, sigmoid},
    {{"Softplus", false, false, 0, 0}, softplus},
    {{"Softsign", false, false, 0, 0}, softsign},
    {{"Tanh", false, false, 0, 0}, tangent},
    {{"ThresholdedRelu", true, false, 1, 0}, thresholded_relu},
};

#define ROWS ((int)(sizeof table / sizeof *table))

static int
row_named(const char *name, size_t length)
{
    for (int i = 0; i < ROWS; i++)
        if (strlen(table[i].a.name) == length &&
            memcmp(table[i].a.name, name, length) == 0)
            return i;
    return -1;
}

const glow_activation *
glow_find_activation(const char *name, size_t length)
{
    int row = row_named(name, length);

    return row < 0 ? NULL : &table[row].a;
}

double
glow_activate(const glow_activation *f, double x)
{
    int row = row_named(f->name, strlen(f->name));

    return table[row].f(x, (double)f->alpha, (double)f->beta);
}

/* The next word of `*at`, which is advanced; length 0 at the end. */
static const char *
next_word(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, " ");

    *length = strcspn(word, " ");
    *at = word + *length;
    return word;
}

static bool
check_count(const glow_node *n, const char *name, int64_t count, int64_t each,
            int directions)
{
    if (count == each || count == each * directions)
        return true;
    if (directions == 1)
        return glow_reject(n, "%s has %" PRId64 " entries, but must have %d",
                           name, count, (int)each);
    return glow_reject(n,
                       "%s has %" PRId64 " entries, but must have %d, or %d "
                       "for both directions",
                       name, count, (int)each, (int)each * directions);
}

static bool
check_parameters(const glow_node *n, const char *name, glow_floats l,
                 int64_t words)
{
    return l.count == 0 || l.count == words ||
           glow_reject(n,
                       "%s has %" PRId64 " entries, but Activations has "
                       "%" PRId64,
                       name, l.count, words);
}

bool
glow_check_activations(const glow_node *n, int each, int directions)
{
    const glow_recurrent *a = n->attrs;
    const char *at = a->activations;
    int64_t words = 0;
    size_t length;

    for (const char *w = next_word(&at, &length); length;
         w = next_word(&at, &length), words++)
        if (row_named(w, length) < 0)
            return glow_reject(n, "Activations names %.*s, which is none",
                               (int)(length < 64 ? length : 64), w);
    return check_count(n, "Activations", words, each, directions) &&
           check_parameters(n, "ActivationAlpha", a->activation_alpha, words) &&
           check_parameters(n, "ActivationBeta", a->activation_beta, words);
}

void
glow_recurrent_activations(const glow_recurrent *a, int each, int direction,
                           glow_activation out[GLOW_MOST_ACTIVATIONS])
{
    glow_activation all[2 * GLOW_MOST_ACTIVATIONS];
    const char *at = a->activations;
    int count = 0, first;
    size_t length;

    for (const char *w = next_word(&at, &length);
         length && count < 2 * GLOW_MOST_ACTIVATIONS;
         w = next_word(&at, &length), count++) {
        all[count] = table[row_named(w, length)].a;
        if (count < a->activation_alpha.count)
            all[count].alpha = a->activation_alpha.at[count];
        if (count < a->activation_beta.count)
            all[count].beta = a->activation_beta.at[count];
    }
    first = direction * each < count ? direction * each : 0;
    for (int i = 0; i < each; i++)
        out[i] = all[first + i];
}
