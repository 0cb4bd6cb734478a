/*
 * Adaptive pooling: the sizes of the windows follow from the size of the
 * result.
 */

#include "ir/ops/window.h"

static bool
infer(const glow_node *n, glow_type out[])
{
    glow_dims x = n->in[0]->type->shape, y = out[0].shape;

    if (!glow_check_stated(n, &out[0]) ||
        !glow_admit_real(n, 0, GLOW_ANY_FLOAT))
        return false;
    if (x.rank < 3 || x.rank > GLOW_MOST_SPATIAL + 2 || y.rank != x.rank)
        return glow_reject(n,
                           "the ranks of Input and Result are %d and %d, but "
                           "must be equal and 3 to %d",
                           x.rank, y.rank, GLOW_MOST_SPATIAL + 2);
    for (int i = 0; i < x.rank; i++) {
        bool spatial = i > 0 && i < x.rank - 1;

        if (!spatial && y.at[i] != x.at[i])
            return glow_reject(n,
                               "axis %d of Result has %" PRId64 " elements, "
                               "but that of Input %" PRId64,
                               i, y.at[i], x.at[i]);
        if (spatial && (y.at[i] < 1 || x.at[i] < 1 || y.at[i] > INT32_MAX ||
                        x.at[i] > INT32_MAX))
            return glow_reject(n,
                               "axis %d of Input has %" PRId64 " elements and "
                               "that of Result %" PRId64 ", but 1 to %d are "
                               "possible",
                               i, x.at[i], y.at[i], INT32_MAX);
    }
    return glow_give_real(n, y, &out[0]);
}

/* The sum of axes a, ..., last of the window of `at`; *count its elements. */
static double
sum(const glow_tensor *t, glow_dims y, glow_dims at, int a, int64_t from,
    int64_t *count)
{
    glow_dims x = t->type->shape, strides = glow_dims_strides(x);
    int64_t first, last;
    double s = 0;

    if (a == x.rank - 1) {
        ++*count;
        return glow_get_double(t, from + at.at[a]) - (double)t->type->offset;
    }
    first = at.at[a] * x.at[a] / y.at[a];
    last = ((at.at[a] + 1) * x.at[a] + y.at[a] - 1) / y.at[a];
    for (int64_t i = first; i < last; i++)
        s += sum(t, y, at, a + 1, from + i * strides.at[a], count);
    return s;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    glow_dims y = out[0]->type->shape;
    int64_t to = 0, batch = glow_dims_strides(in[0]->type->shape).at[0];

    (void)n;
    (void)scratch;
    GLOW_FOR_EACH_INDEX(i, y) {
        int64_t count = 0;
        double s = sum(in[0], y, i, 1, i.at[0] * batch, &count);

        glow_set_mean(out[0], to++, in[0]->type, s, (double)count);
    }
    return true;
}

const glow_op glow_op_adaptiveavgpool = {
    .name = "AdaptiveAvgPool",
    .summary = "the mean of windows that make a result of a given size",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, spatial.., C]"}},
    .out =
        {{"Result", GLOW_TENSOR,
          "the stated type: Input's but for the spatial axes, or quantized"}},
    .traits = GLOW_PURE | GLOW_STATED | GLOW_REDUCTION,
    .infer = infer,
    .eval = eval,
    .doc = "Of `n` elements of an axis and `m` of Result, element `i` is the "
           "mean of those from `i n / m`, rounded down, to `(i + 1) n / m`, "
           "rounded up." GLOW_MEAN_DOC,
    .source = "Glow AdaptiveAvgPool; PyTorch AdaptiveAvgPool2d",
};
