/*
 * Random numbers that differ in each run: PhiloxUniform, whose counter is an operand,
 * and Dropout by them.
 */

#include "glow/philox.h"

#include <inttypes.h>

#include "ir/ops/common.h"

static bool
check_counter(const glow_node *n, int i, int64_t seed)
{
    if (!glow_admit(n, i, GLOW_ANY_INT) ||
        !glow_check_shape(n, i, (glow_dims){0}, "a single number"))
        return false;
    return (seed >= 0 && seed <= UINT32_MAX) ||
           glow_reject(n, "Seed is %" PRId64 ", but must be 0 to 4294967295",
                       seed);
}

/* philoxuniform */

static bool
philoxuniform_infer(const glow_node *n, glow_type out[])
{
    const glow_philoxuniform *a = n->attrs;

    if (!glow_check_stated(n, &out[0]) || !check_counter(n, 0, a->seed))
        return false;
    if (out[0].elem != GLOW_FLOAT && out[0].elem != GLOW_FLOAT64)
        return glow_reject(n,
                           "the elements of Result are %s, but must be "
                           "float or float64",
                           glow_kind_get(out[0].elem)->name);
    return glow_give(n, glow_dense(&out[0]), &out[0]);
}

static bool
philoxuniform_eval(const glow_node *n, glow_tensor *const in[],
                   glow_tensor *const out[], glow_arena *scratch)
{
    const glow_philoxuniform *a = n->attrs;
    uint64_t step = (uint64_t)glow_get_int(in[0], 0);
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        glow_philox x =
            glow_philox_bits((uint64_t)a->seed, (uint64_t)i / 4, step);

        glow_set_double(out[0], i, (double)glow_philox_unit(x.at[i % 4]));
    }
    return true;
}

const glow_op glow_op_philoxuniform = {
    .name = "PhiloxUniform",
    .summary = "random numbers by a counter, all equally likely",
    .in = {{"Step", GLOW_TENSOR, "the counter: an integer of rank 0"}},
    .out = {{"Result", GLOW_TENSOR, "as stated: float or float64"}},
    .attrs = {GLOW_FIELD(glow_philoxuniform, seed, GLOW_INT64,
                         "the key: 0 to 4294967295")},
    .traits = GLOW_PURE | GLOW_STATED | GLOW_PRIMITIVE,
    .infer = philoxuniform_infer,
    .eval = philoxuniform_eval,
    .doc =
        "Element i, in row-major order, is word `i mod 4` of Philox 4x32-10 "
        "of the counter (i / 4, Step) under the key Seed, of which the upper "
        "24 bits are a fraction in [0, 1).  Another Step gives other numbers, "
        "and the same one the same, wherever and whenever they are drawn.",
    .source = "Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as "
              "1, 2, 3, SC 2011",
    .derivative = &glow_derivative_zero,
};

/* dropout */

static bool
dropout_infer(const glow_node *n, glow_type out[])
{
    const glow_dropout *a = n->attrs;

    if (!glow_admit(n, 0, GLOW_ANY_FLOAT) || !check_counter(n, 1, a->seed))
        return false;
    if (!(a->ratio >= 0 && a->ratio < 1))
        return glow_reject(n, "Ratio is %g, but must be 0 to 1, without 1",
                           (double)a->ratio);
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
dropout_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    const glow_dropout *a = n->attrs;
    uint64_t step = (uint64_t)glow_get_int(in[1], 0);
    int64_t count = glow_tensor_count(out[0]);
    double scale = 1 / (1 - (double)a->ratio);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        glow_philox x =
            glow_philox_bits((uint64_t)a->seed, (uint64_t)i / 4, step);

        glow_set_double(out[0], i,
                        a->ratio <= glow_philox_unit(x.at[i % 4])
                            ? glow_get_double(in[0], i) * scale
                            : 0);
    }
    return true;
}

const glow_op glow_op_dropout = {
    .name = "Dropout",
    .summary = "set random elements to zero, others in each step",
    .in = {{"Input", GLOW_TENSOR, "x"},
           {"Step", GLOW_TENSOR, "the counter: an integer of rank 0"}},
    .out = {{"Result", GLOW_TENSOR, "y, of the type of Input"}},
    .attrs = {GLOW_FIELD(glow_dropout, ratio, GLOW_FLOAT32,
                         "how many become zero, of 1"),
              GLOW_FIELD(glow_dropout, seed, GLOW_INT64,
                         "the key: 0 to 4294967295")},
    .traits = GLOW_PURE,
    .infer = dropout_infer,
    .eval = dropout_eval,
    .doc = "`y[i] = x[i] / (1 - Ratio)` where `Ratio <= u[i]`, else 0; u is "
           "PhiloxUniform of Step and Seed.  The pass for-inference takes x.",
    .source = "Srivastava et al., Dropout, JMLR 15, 2014",
};
