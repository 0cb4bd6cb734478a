/* LookupTable: a piecewise linear function given by its points. */

#include "ir/ops/common.h"

static const char *const operators[] = {"none",    "relu",       "clip", "tanh",
                                        "sigmoid", "leaky_relu", "exp",  NULL};

static bool
lookuptable_infer(const glow_node *n, glow_type out[])
{
    int64_t points;

    for (int i = 0; i < 3; i++)
        if (!glow_admit(n, i, GLOW_ANY_FLOAT) || !glow_check_kinds(n, i, 0))
            return false;
    if (!glow_check_rank(n, 1, 1) || !glow_check_types(n, 2, 1))
        return false;
    points = n->in[1]->type->shape.at[0];
    if (points < 2)
        return glow_reject(
            n, "Table has %" PRId64 " elements, but at least 2 are needed",
            points);
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

/*
 * The number of the segment that contains `x`, among the segments between `n`
 * points.
 */
static int64_t
segment_of(double x, const double *at, int64_t n)
{
    int64_t i = 0;

    for (int64_t k = 1; k < n - 1; k++)
        i += at[k] <= x;
    return i;
}

static bool
lookuptable_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    int64_t points = glow_tensor_count(in[1]), count;
    const double *value = glow_load_all(in[1], scratch);
    const double *at = glow_load_all(in[2], scratch);

    (void)n;
    count = glow_tensor_count(out[0]);
    for (int64_t i = 0; i < count; i++) {
        double x = glow_get_double(in[0], i);

        x = glow_minimum(glow_maximum(x, at[0]), at[points - 1]);

        int64_t k = segment_of(x, at, points);
        double part = (x - at[k]) / (at[k + 1] - at[k]);

        glow_set_double(out[0], i, value[k] + part * (value[k + 1] - value[k]));
    }
    return true;
}

const glow_op glow_op_lookuptable = {
    .name = "LookupTable",
    .summary = "a function that is given by some of its points",
    .in = {{"Input", GLOW_TENSOR, "x: floats"},
           {"Table", GLOW_TENSOR, "the values at n >= 2 points, of rank 1"},
           {"TableIdx", GLOW_TENSOR, "the points, ascending"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD_ENUM(glow_lookuptable, operator_, operators,
                              "what the table stands for"),
              GLOW_FIELD_DEFAULT(glow_lookuptable, operator_args, GLOW_FLOATS,
                                 "its attributes")},
    .defaults = &(const glow_lookuptable){.operator_ = GLOW_LOOKUP_NONE},
    .traits = GLOW_PURE,
    .infer = lookuptable_infer,
    .eval = lookuptable_eval,
    .doc = "A straight line from each point to the next: `y = Table[i] + "
           "(x - "
           "TableIdx[i]) / (TableIdx[i + 1] - TableIdx[i]) * (Table[i + "
           "1] - "
           "Table[i])`, where `i` is how many points but the first and "
           "the last "
           "are not greater than `x`.  `x` is held between the first and "
           "the "
           "last.  Operator and OperatorArgs change nothing: they tell a "
           "backend what the table approximates.",
    .source = "Glow LookupTable",
};
