/* Import of element-wise operators. */

#include <float.h>
#include <inttypes.h>

#include "tools/glow-translate/caffe2/caffe2.h"

/* `b` with axes of length 1 after its own, so that it begins at `axis` of `a`. */
static glow_value *
at_axis(import_node *n, glow_value *a, glow_value *b, int64_t axis)
{
    int rank = import_shape(a).rank;
    glow_dims to = import_shape(b);

    if (axis < 0)
        axis += rank;
    if (axis < 0 || axis + to.rank > rank) {
        import_refuse(n, "E0711",
                      "%d axes from %" PRId64 " on are not in rank %d", to.rank,
                      axis, rank);
        return b;
    }
    while (axis + to.rank < rank)
        to.at[to.rank++] = 1;
    return import_reshape(n, b, to);
}

/*
 * Two operands, broadcast to each other as in numpy, or, if `axis` is given,
 * the second to the first from there on.
 */
static glow_value *
binary_of(import_node *n, const glow_op *op, glow_value *a, glow_value *b)
{
    import_ignore(n, "broadcast");
    if (import_has(n, "axis")) {
        int64_t axis = import_int(n, "axis", -1, -1, GLOW_MAX_RANK);

        if (axis >= 0)
            b = at_axis(n, a, b, axis);
    }
    return import_binary(n, op, a, b);
}

static bool
binary(import_node *n)
{
    return import_operands(n, 2, 2) &&
           import_done(n, binary_of(n, n->row->op, n->in[0], n->in[1]));
}

/* GT and GE are LT and LE with the operands exchanged. */
static bool
binary_swapped(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *a = n->in[0], *b = n->in[1];

    import_ignore(n, "broadcast");
    if (import_has(n, "axis"))
        b = at_axis(n, a, b, import_int(n, "axis", 0, 0, GLOW_MAX_RANK));
    return import_done(n, import_binary(n, n->row->op, b, a));
}

/* The exponent is an operand, or a number. */
static bool
power(import_node *n)
{
    if (!import_operands(n, 1, 2))
        return false;
    if (n->n_in == 2)
        return import_done(n, binary_of(n, &glow_op_pow, n->in[0], n->in[1]));
    return import_done(n, import_binary_number(n, &glow_op_pow, n->in[0],
                                               import_float(n, "exponent", 0)));
}

static bool
square(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, import_binary(n, &glow_op_mul, n->in[0], n->in[0]));
}

static bool
log_1_plus(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;
    return import_done(n, BUILD_PLAIN(n, log,
                                      GLOW_IN(import_binary_number(
                                          n, &glow_op_add, n->in[0], 1))));
}

static bool
swish(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(
               n, import_binary(n, &glow_op_mul, n->in[0],
                                BUILD_PLAIN(n, sigmoid, GLOW_IN(n->in[0]))));
}

static bool
scale(import_node *n)
{
    double by = (double)import_float(n, "scale", 1);

    return import_operands(n, 1, 1) &&
           import_done(n, import_binary_number(n, &glow_op_mul, n->in[0], by));
}

static bool
clip(import_node *n)
{
    float min = import_float(n, "min", -FLT_MAX);
    float max = import_float(n, "max", FLT_MAX);

    if (!import_operands(n, 1, 1))
        return false;
    if (min > max)
        return import_refuse(n, "E0710", "min is %g, but max is %g",
                             (double)min, (double)max);
    return import_done(
        n, BUILD(n, clip, GLOW_IN(n->in[0]), .min = min, .max = max));
}

static bool
leaky_relu(import_node *n)
{
    float alpha = import_float(n, "alpha", 0.01f);

    return import_operands(n, 1, 1) &&
           import_done(n,
                       BUILD(n, leakyrelu, GLOW_IN(n->in[0]), .alpha = alpha));
}

/* One slope, one for each channel, or any that fits. */
static bool
prelu(import_node *n)
{
    bool last = caffe2_channels_last(n);

    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = n->in[0], *slope = n->in[1];
    glow_dims shape = x->type->shape;

    if (!last && slope->type->shape.rank == 1 && shape.rank > 2 &&
        glow_type_count(slope->type) != 1)
        slope = at_axis(n, x, slope, 1);
    slope = import_broadcast(n, slope, shape);
    return import_done(n, BUILD_PLAIN(n, prelu, GLOW_IN(x, slope)));
}

static bool
gelu(import_node *n)
{
    bool fast = import_flag(n, "fast_gelu", false);

    return import_operands(n, 1, 1) &&
           import_done(
               n, BUILD(n, gelu, GLOW_IN(n->in[0]),
                        .approximate = fast ? GLOW_GELU_TANH : GLOW_GELU_ERF));
}

/* log(x / (1 - x)), with x kept within eps and 1 - eps. */
static bool
logit(import_node *n)
{
    float eps = import_float(n, "eps", 1e-6f);

    if (!import_operands(n, 1, 1))
        return false;
    if (!(eps >= 0 && eps < 0.5f))
        return import_refuse(n, "E0710", "eps is %g", (double)eps);

    glow_value *x =
        BUILD(n, clip, GLOW_IN(n->in[0]), .min = eps, .max = 1 - eps);
    glow_value *one = import_splat(n, GLOW_FLOAT, import_shape(x), 1);

    x = import_binary(n, &glow_op_div, x,
                      import_binary(n, &glow_op_sub, one, x));
    return import_done(n, BUILD_PLAIN(n, log, GLOW_IN(x)));
}

/* NaN becomes a number. */
static bool
replace_nan(import_node *n)
{
    double value = (double)import_float(n, "value", 0);

    if (!import_operands(n, 1, 1))
        return false;

    glow_value *x = n->in[0];
    glow_value *is = import_binary(n, &glow_op_cmpeq, x, x);
    glow_value *v = import_splat(n, x->type->elem, x->type->shape, value);

    return import_done(n, BUILD_PLAIN(n, select, GLOW_IN(is, x, v)));
}

/* x * w + b, with w and b along `axis`. */
static bool
elementwise_linear(import_node *n)
{
    int64_t axis = import_int(n, "axis", 1, -GLOW_MAX_RANK, GLOW_MAX_RANK);

    if (!import_operands(n, 3, 3))
        return false;

    glow_value *x = n->in[0];
    glow_value *w = at_axis(n, x, n->in[1], axis);
    glow_value *b = at_axis(n, x, n->in[2], axis);

    x = import_binary(n, &glow_op_mul, x, w);
    return import_done(n, import_binary(n, &glow_op_add, x, b));
}

/*
 * By column, with x = max(data + lambda2, 1e-6):
 * log(x) where lambda1 is 0, else (x^lambda1 - 1) / lambda1.
 */
static bool
box_cox(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    glow_dims shape = n->in[0]->type->shape;
    glow_kind kind = n->in[0]->type->elem;
    glow_value *zero = import_splat(n, kind, shape, 0);
    glow_value *l1 = import_broadcast(n, n->in[1], shape);
    glow_value *l2 = import_broadcast(n, n->in[2], shape);
    glow_value *x = import_binary(n, &glow_op_add, n->in[0], l2);

    x = import_binary_number(n, &glow_op_max, x, 1e-6);

    glow_value *none = import_binary(n, &glow_op_cmpeq, l1, zero);
    glow_value *some = BUILD_PLAIN(
        n, select, GLOW_IN(none, import_splat(n, kind, shape, 1), l1));
    glow_value *y = import_binary(n, &glow_op_pow, x, some);

    y = import_binary_number(n, &glow_op_sub, y, 1);
    y = import_binary(n, &glow_op_div, y, some);
    return import_done(
        n, BUILD_PLAIN(n, select,
                       GLOW_IN(none, BUILD_PLAIN(n, log, GLOW_IN(x)), y)));
}

/*
 * The remainder of a division by a number: with the sign of x, or, if
 * `sign_follow_divisor`, with that of the divisor.
 */
static bool
modulo(import_node *n)
{
    int64_t divisor = import_int(n, "divisor", 0, INT64_MIN, INT64_MAX);
    bool follow = import_flag(n, "sign_follow_divisor", false);

    if (!import_operands(n, 1, 1))
        return false;
    if (divisor == 0)
        return import_refuse(n, "E0710", "divisor is 0");

    glow_value *x = n->in[0], *d, *r;
    glow_kind kind = x->type->elem;
    glow_dims shape = x->type->shape;

    if (!glow_is_int(kind))
        return import_refuse(n, "E0711", "the operand is %s, not integers",
                             glow_kind_get(kind)->name);
    d = import_constant_splat(n, kind, shape, (double)divisor, divisor);
    r = import_binary(n, &glow_op_mul, d, import_binary(n, &glow_op_div, x, d));
    r = import_binary(n, &glow_op_sub, x, r);
    if (!follow)
        return import_done(n, r);

    /* If the sign differs, the divisor is added. */
    glow_value *zero = import_constant_splat(n, kind, shape, 0, 0);
    glow_value *wrong = divisor > 0 ? import_binary(n, &glow_op_cmplt, r, zero)
                                    : import_binary(n, &glow_op_cmplt, zero, r);

    return import_done(
        n,
        BUILD_PLAIN(n, select,
                    GLOW_IN(wrong, import_binary(n, &glow_op_add, r, d), r)));
}

/*
 * The mean over each row of max(x, 0) - x t + log(1 + exp(-|x|)), which cannot
 * overflow.
 */
static bool
cross_entropy(import_node *n)
{
    if (!import_operands(n, 2, 2))
        return false;

    glow_value *x = n->in[0], *t = n->in[1], *e;
    int rank = x->type->shape.rank;

    if (import_flag(n, "log_D_trick", false) ||
        import_flag(n, "unjoined_lr_loss", false))
        return import_refuse(
            n, "E0705", "log_D_trick and unjoined_lr_loss are not supported");
    if (rank == 0)
        return import_refuse(n, "E0711", "a scalar has no rows");
    e = BUILD_PLAIN(n, neg, GLOW_IN(BUILD_PLAIN(n, abs, GLOW_IN(x))));
    e = BUILD_PLAIN(n, exp, GLOW_IN(e));
    e = BUILD_PLAIN(n, log,
                    GLOW_IN(import_binary_number(n, &glow_op_add, e, 1)));
    e = import_binary(n, &glow_op_add, e, BUILD_PLAIN(n, relu, GLOW_IN(x)));
    e = import_binary(n, &glow_op_sub, e, import_binary(n, &glow_op_mul, x, t));
    return import_done(n, BUILD(n, batchedreducemean, GLOW_IN(e),
                                .axes = GLOW_DIMS_OF(rank - 1)));
}

/* Element kinds. */

static bool
cast(import_node *n)
{
    int64_t to = import_int(n, "to", 1, 0, 100);
    glow_kind kind = caffe2_kind(to);

    import_ignore(n, "from_type");
    if (!kind)
        return import_refuse(n, "E0705",
                             "to data type %" PRId64 " is not supported", to);
    return import_operands(n, 1, 1) &&
           import_done(n, import_convert(n, n->in[0], kind));
}

static bool
half_to_float(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, import_convert(n, n->in[0], GLOW_FLOAT));
}

static bool
float_to_half(import_node *n)
{
    return import_operands(n, 1, 1) &&
           import_done(n, import_convert(n, n->in[0], GLOW_FLOAT16));
}

/* Dropout in inference is the identity; the mask, if wanted, is all true. */
static bool
dropout(import_node *n)
{
    import_ignore(n, "ratio");
    if (!import_operands(n, 1, 1))
        return false;
    if (n->n_out > 1)
        n->out[1] =
            import_constant_splat(n, GLOW_BOOL, import_shape(n->in[0]), 1, 1);
    return import_done(n, n->in[0]);
}

/* Some writers name the operand twice. */
static bool
copy(import_node *n)
{
    if (!import_operands(n, 1, 2))
        return false;
    if (n->n_in == 2 && n->in[1] != n->in[0])
        return import_refuse(n, "E0711", "the operands are not one value");
    return import_done(n, n->in[0]);
}

/* Operators that release memory: each result is its operand. */
static bool
release(import_node *n)
{
    for (int i = 0; i < n->n_out && i < n->n_in; i++)
        n->out[i] = n->in[i];
    return !n->failed;
}

const import_row caffe2_elementwise_rows[] = {
    {"Add", 1, 0, binary, &glow_op_add, NULL},
    {"And", 1, 0, binary, &glow_op_and, NULL},
    {"BatchBoxCox", 1, 0, box_cox, NULL, NULL},
    {"Cast", 1, 0, cast, NULL, NULL},
    {"Clip", 1, 0, clip, NULL, NULL},
    {"Copy", 1, 0, copy, NULL, NULL},
    {"Div", 1, 0, binary, &glow_op_div, NULL},
    {"Dropout", 1, 0, dropout, NULL, NULL},
    {"EQ", 1, 0, binary, &glow_op_cmpeq, NULL},
    {"ElementwiseLinear", 1, 0, elementwise_linear, NULL, NULL},
    {"FloatToHalf", 1, 0, float_to_half, NULL, NULL},
    {"Free", 1, 0, release, NULL, NULL},
    {"GE", 1, 0, binary_swapped, &glow_op_cmplte, NULL},
    {"GT", 1, 0, binary_swapped, &glow_op_cmplt, NULL},
    {"Gelu", 1, 0, gelu, NULL, NULL},
    {"HalfToFloat", 1, 0, half_to_float, NULL, NULL},
    {"LE", 1, 0, binary, &glow_op_cmplte, NULL},
    {"LT", 1, 0, binary, &glow_op_cmplt, NULL},
    {"LeakyRelu", 1, 0, leaky_relu, NULL, NULL},
    {"Log1p", 1, 0, log_1_plus, NULL, NULL},
    {"Logit", 1, 0, logit, NULL, NULL},
    {"Mod", 1, 0, modulo, NULL, NULL},
    {"Mul", 1, 0, binary, &glow_op_mul, NULL},
    {"NE", 1, 0, binary, &glow_op_cmpneq, NULL},
    {"Or", 1, 0, binary, &glow_op_or, NULL},
    {"PRelu", 1, 0, prelu, NULL, NULL},
    {"Pow", 1, 0, power, NULL, NULL},
    {"ReplaceNaN", 1, 0, replace_nan, NULL, NULL},
    {"Scale", 1, 0, scale, NULL, NULL},
    {"SigmoidCrossEntropyWithLogits", 1, 0, cross_entropy, NULL, NULL},
    {"Sqr", 1, 0, square, NULL, NULL},
    {"Sub", 1, 0, binary, &glow_op_sub, NULL},
    {"Swish", 1, 0, swish, NULL, NULL},
    {"Xor", 1, 0, binary, &glow_op_xor, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};
