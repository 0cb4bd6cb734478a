/*
 * Random numbers: RandomUniform and RandomNormal, which have no operands, and
 * Bernoulli, Multinomial and GaussianFill, which do.
 *
 * The numbers are determined by the attribute Seed, so these operators are
 * pure: two runs give the same numbers, and a node may be evaluated at compile
 * time.
 */

#include "ir/ops/random.h"

#include <math.h>

#include "ir/ops/common.h"

static bool
check_seed(const glow_node *n, int64_t seed)
{
    return (seed >= 0 && seed <= UINT32_MAX) ||
           glow_reject(n, "Seed is %" PRId64 ", but must be 0 to 4294967295",
                       seed);
}

/* The stated result is of a float kind. */
static bool
check_float_result(const glow_node *n, const glow_type *y)
{
    return glow_check_stated(n, y) &&
           (glow_is_float(y->elem) ||
            glow_reject(n,
                        "the elements of Result are %s, but only float kinds "
                        "are made",
                        glow_kind_get(y->elem)->name));
}

static bool
check_number(const glow_node *n, const char *name, float v)
{
    return isfinite(v) ||
           glow_reject(n, "%s is %g, but must be finite", name, (double)v);
}

#define SEED_FIELD(type) \
    GLOW_FIELD(type, seed, GLOW_INT64, "of the generator: 0 to 4294967295")

#define GENERATOR \
    "  Numbers come from MT19937, in row-major order: see ir/ops/random.h."

/* randomuniform */

static bool
randomuniform_infer(const glow_node *n, glow_type out[])
{
    const glow_randomuniform *a = n->attrs;

    if (!check_float_result(n, &out[0]) || !check_seed(n, a->seed) ||
        !check_number(n, "Low", a->low) || !check_number(n, "High", a->high))
        return false;
    if (a->low > a->high)
        return glow_reject(n, "Low is %g, but High is %g", (double)a->low,
                           (double)a->high);
    return glow_give(n, glow_dense(&out[0]), &out[0]);
}

static bool
randomuniform_eval(const glow_node *n, glow_tensor *const in[],
                   glow_tensor *const out[], glow_arena *scratch)
{
    const glow_randomuniform *a = n->attrs;
    glow_random *r = GLOW_NEW(scratch, glow_random);
    double low = (double)a->low, span = (double)a->high - low;
    int64_t count = glow_tensor_count(out[0]);

    (void)in;
    glow_random_seed(r, (uint32_t)a->seed);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(out[0], i, low + span * glow_random_uniform(r));
    return true;
}

const glow_op glow_op_randomuniform = {
    .name = "RandomUniform",
    .summary = "random numbers, all equally likely",
    .out = {{"Result", GLOW_TENSOR, "as stated: floats"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_randomuniform, low, GLOW_FLOAT32,
                                 "the least"),
              GLOW_FIELD_DEFAULT(glow_randomuniform, high, GLOW_FLOAT32,
                                 "what they stay below"),
              SEED_FIELD(glow_randomuniform)},
    .defaults = &(const glow_randomuniform){.low = 0, .high = 1},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = randomuniform_infer,
    .eval = randomuniform_eval,
    .doc = "`y = Low + (High - Low) u`, u of 53 random bits in [0, 1); y is "
           "rounded to the element kind, which may give High." GENERATOR,
    .source = "Matsumoto, Nishimura, Mersenne Twister, 1998; ONNX "
              "RandomUniform",
};

/* randomnormal */

static bool
randomnormal_infer(const glow_node *n, glow_type out[])
{
    const glow_randomnormal *a = n->attrs;

    return check_float_result(n, &out[0]) && check_seed(n, a->seed) &&
           check_number(n, "Mean", a->mean) &&
           check_number(n, "Scale", a->scale) &&
           glow_give(n, glow_dense(&out[0]), &out[0]);
}

static void
draw_normal(const glow_tensor *y, float mean, float scale, uint32_t seed,
            glow_arena *scratch)
{
    glow_random *r = GLOW_NEW(scratch, glow_random);
    int64_t count = glow_tensor_count(y);

    glow_random_seed(r, seed);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(y, i,
                        (double)mean + (double)scale * glow_random_normal(r));
}

static bool
randomnormal_eval(const glow_node *n, glow_tensor *const in[],
                  glow_tensor *const out[], glow_arena *scratch)
{
    const glow_randomnormal *a = n->attrs;

    (void)in;
    draw_normal(out[0], a->mean, a->scale, (uint32_t)a->seed, scratch);
    return true;
}

const glow_op glow_op_randomnormal = {
    .name = "RandomNormal",
    .summary = "random numbers of a normal distribution",
    .out = {{"Result", GLOW_TENSOR, "as stated: floats"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_randomnormal, mean, GLOW_FLOAT32,
                                 "their mean"),
              GLOW_FIELD_DEFAULT(glow_randomnormal, scale, GLOW_FLOAT32,
                                 "their standard deviation"),
              SEED_FIELD(glow_randomnormal)},
    .defaults = &(const glow_randomnormal){.mean = 0, .scale = 1},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = randomnormal_infer,
    .eval = randomnormal_eval,
    .doc = "`y = Mean + Scale x`, x by the polar method of "
           "Marsaglia." GENERATOR,
    .source = "Marsaglia, Bray, A Convenient Method for Generating Normal "
              "Variables, SIAM Review 6(3), 1964; ONNX RandomNormal",
};

/* gaussianfill */

static bool
gaussianfill_infer(const glow_node *n, glow_type out[])
{
    const glow_gaussianfill *a = n->attrs;

    return glow_admit(n, 0, GLOW_ANY_FLOAT) && check_seed(n, a->seed) &&
           check_number(n, "Mean", a->mean) &&
           check_number(n, "Scale", a->scale) &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
gaussianfill_eval(const glow_node *n, glow_tensor *const in[],
                  glow_tensor *const out[], glow_arena *scratch)
{
    const glow_gaussianfill *a = n->attrs;

    (void)in;
    draw_normal(out[0], a->mean, a->scale, (uint32_t)a->seed, scratch);
    return true;
}

const glow_op glow_op_gaussianfill = {
    .name = "GaussianFill",
    .summary = "normal random numbers in the shape of a tensor",
    .in = {{"Input", GLOW_TENSOR, "its type alone is used"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_gaussianfill, mean, GLOW_FLOAT32, "their mean"),
              GLOW_FIELD(glow_gaussianfill, scale, GLOW_FLOAT32,
                         "their standard deviation"),
              SEED_FIELD(glow_gaussianfill)},
    .traits = GLOW_PURE,
    .infer = gaussianfill_infer,
    .eval = gaussianfill_eval,
    .doc = "As RandomNormal." GENERATOR,
    .source = "Glow GaussianFill",
};

/* bernoulli */

static bool
bernoulli_infer(const glow_node *n, glow_type out[])
{
    const glow_bernoulli *a = n->attrs;
    const glow_kind_info *kind;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_stated(n, &out[0]) ||
        !check_seed(n, a->seed))
        return false;
    kind = glow_kind_get(out[0].elem);
    if (!((int)kind->klass & GLOW_ANY_PLAIN))
        return glow_reject(n,
                           "the elements of Result are %s, but only float, "
                           "integer and bool kinds are made",
                           kind->name);
    return glow_give(n, glow_rekinded(n->in[0]->type, out[0].elem), &out[0]);
}

static bool
bernoulli_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_bernoulli *a = n->attrs;
    glow_random *r = GLOW_NEW(scratch, glow_random);
    int64_t count = glow_tensor_count(out[0]);

    glow_random_seed(r, (uint32_t)a->seed);
    for (int64_t i = 0; i < count; i++)
        glow_set_double(out[0], i,
                        glow_random_uniform(r) < glow_get_double(in[0], i));
    return true;
}

const glow_op glow_op_bernoulli = {
    .name = "Bernoulli",
    .summary = "1 with given probabilities, else 0",
    .in = {{"Input", GLOW_TENSOR, "p: floats"}},
    .out = {{"Result", GLOW_TENSOR, "y, of the kind stated: any plain one"}},
    .attrs = {SEED_FIELD(glow_bernoulli)},
    .traits = GLOW_PURE | GLOW_STATED | GLOW_DISCONTINUOUS,
    .infer = bernoulli_infer,
    .eval = bernoulli_eval,
    .doc = "`y = u < p`, u as RandomUniform has it." GENERATOR,
    .source = "ONNX Bernoulli",
};

/* multinomial */

static bool
multinomial_infer(const glow_node *n, glow_type out[])
{
    const glow_multinomial *a = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    glow_kind kind = out[0].elem;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !glow_check_rank(n, 0, 2) ||
        !glow_check_stated(n, &out[0]) || !check_seed(n, a->seed))
        return false;
    if (kind != GLOW_INDEX32 && kind != GLOW_INDEX64)
        return glow_reject(n,
                           "the elements of Result are %s, but must be index32 "
                           "or index64",
                           glow_kind_get(kind)->name);
    if (a->sample_size < 0)
        return glow_reject(n,
                           "SampleSize is %" PRId64 ", but must be 0 or more",
                           a->sample_size);
    if (x.at[1] == 0)
        return glow_reject(n, "Input has 0 classes, but at least 1 is needed");
    return glow_give(
        n, glow_type_of(kind, GLOW_DIMS_OF(x.at[0], a->sample_size)), &out[0]);
}

/*
 * The class with the greatest x + g; the first of equal ones, NaN before all.
 */
static int64_t
draw_class(glow_random *r, const double *x, int64_t classes)
{
    int64_t best = 0;
    double most = 0;

    for (int64_t c = 0; c < classes; c++) {
        double v = x[c] - log(-log(glow_random_uniform(r)));

        if (c == 0 || glow_beats(v, most)) {
            best = c;
            most = v;
        }
    }
    return best;
}

static bool
multinomial_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    const glow_multinomial *a = n->attrs;
    glow_random *r = GLOW_NEW(scratch, glow_random);
    int64_t classes = in[0]->type->shape.at[1];
    int64_t count = glow_tensor_count(out[0]);
    double *x = GLOW_NEW_ARRAY(scratch, double, classes);

    glow_random_seed(r, (uint32_t)a->seed);
    for (int64_t i = 0; i < count; i++) {
        glow_load(in[0], i / a->sample_size * classes, classes, x);
        glow_set_int(out[0], i, draw_class(r, x, classes));
    }
    return true;
}

const glow_op glow_op_multinomial = {
    .name = "Multinomial",
    .summary = "random classes, by the logarithms of their weights",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [B, C]: floats"}},
    .out = {{"Result", GLOW_TENSOR, "[B, SampleSize], index32 or index64"}},
    .attrs = {GLOW_FIELD(glow_multinomial, sample_size, GLOW_INT64,
                         "how many for each row"),
              SEED_FIELD(glow_multinomial)},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = multinomial_infer,
    .eval = multinomial_eval,
    .doc =
        "A class comes with probability `e^x[c] / sum of e^x`: it is the one "
        "of greatest `x[c] - ln(-ln(u))`, u for each row, sample and class "
        "as RandomUniform has it." GENERATOR,
    .source = "Gumbel, Statistical Theory of Extreme Values, 1954; ONNX "
              "Multinomial",
};
