/*
 * Experimental operators of ONNX up to opset 9, which later opsets dropped.
 * Exporters of 2018 wrote them, so they are taken in every opset.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/import.h"

/* Affine: alpha x + beta.  Scale: scale x. */

static bool
affine(import_node *n)
{
    float alpha = import_float(n, "alpha", 1);
    float beta = import_float(n, "beta", 0);

    return import_operands(n, 1, 1) &&
           import_done(
               n, import_binary_number(n, &glow_op_add,
                                       import_scale(n, import_in(n, 0), alpha),
                                       (double)beta));
}

static bool
scale(import_node *n)
{
    float factor = import_float(n, "scale", 1);

    return import_operands(n, 1, 1) &&
           import_done(n, import_scale(n, import_in(n, 0), factor));
}

/* alpha f(beta x): ParametricSoftplus and ScaledTanh. */
static bool
scaled_activation(import_node *n)
{
    float alpha = import_float(n, "alpha", 1);
    float beta = import_float(n, "beta", 1);
    glow_value *x;

    if (!import_operands(n, 1, 1))
        return false;
    x = import_scale(n, import_in(n, 0), beta);
    x = import_build(n, n->row->op, NULL, GLOW_IN(x), NULL);
    return import_done(n, import_scale(n, x, alpha));
}

/* ImageScaler: scale x + bias of the channel. */
static bool
image_scaler(import_node *n)
{
    float factor = import_float(n, "scale", 1);
    glow_floats bias = import_floats(n, "bias");
    glow_tensor t;
    glow_value *x;
    int rank;

    if (!import_operands(n, 1, 1))
        return false;
    x = import_in(n, 0);
    rank = import_shape(x).rank;
    if (rank < 2 || bias.count != import_shape(x).at[1])
        return import_refuse(n, "E0711",
                             "bias has %" PRId64 " elements, and one for each "
                             "channel is due",
                             bias.count);

    glow_dims each = {.rank = rank - 1};

    for (int i = 0; i < each.rank; i++)
        each.at[i] = i ? 1 : bias.count;
    t = glow_tensor_new(import_type(n, x->type->elem, each));
    for (int64_t i = 0; i < bias.count; i++)
        glow_set_double(&t, i, (double)bias.at[i]);
    return import_done(n, import_binary(n, &glow_op_add,
                                        import_scale(n, x, factor),
                                        import_constant_of(n, &t)));
}

/*
 * Crop of images in NCHW: border is left, top, right and bottom; scale, if it is
 * given, is the height and width instead of right and bottom.
 */
static bool
crop(import_node *n)
{
    glow_ints border = import_ints(n, "border");
    glow_ints scale_read = import_ints(n, "scale");
    glow_value *x = import_in(n, 0);

    if (!import_operands(n, 1, 1))
        return false;
    if (import_shape(x).rank != 4 || border.count != 4 ||
        (scale_read.count && scale_read.count != 2))
        return import_refuse(n, "E0711",
                             "rank %d, %" PRId64 " borders and %" PRId64
                             " sizes, but 4, 4 and 0 or 2 are due",
                             import_shape(x).rank, border.count,
                             scale_read.count);
    for (int i = 0; i < 2 && !n->failed; i++) {
        int64_t size = import_shape(x).at[2 + i], first = border.at[1 - i];
        int64_t last = border.at[3 - i];
        bool fits =
            first >= 0 && last >= 0 && first <= size && last <= size - first;
        int64_t count = fits ? size - first - last : 0;

        if (fits && scale_read.count)
            count = scale_read.at[i];
        if (!fits || count < 0 || count > size - first)
            return import_refuse(
                n, "E0711", "axis %d of size %" PRId64 " cannot be cropped so",
                2 + i, size);
        x = import_cut(n, x, 2 + i, first, count);
    }
    return import_done(n, x);
}

/*
 * The shape of a filled tensor: the shape of the operand, its elements, or an
 * attribute, followed by the axes of extra_shape.
 */
static glow_dims
filled_shape(import_node *n)
{
    bool is_shape = import_flag(n, "input_as_shape", false);
    glow_ints first = import_ints(n, "shape");
    glow_ints more = import_ints(n, "extra_shape");
    glow_dims to = {0};

    if (import_in(n, 0) && is_shape) {
        first = import_known_ints(n, 0);
    } else if (import_in(n, 0)) {
        to = import_shape(import_in(n, 0));
        first.count = 0;
    }
    if (n->failed || to.rank + first.count + more.count > GLOW_MAX_RANK) {
        import_refuse(n, "E0711", "the rank is over %d", GLOW_MAX_RANK);
        return (glow_dims){0};
    }
    for (int64_t i = 0; i < first.count; i++)
        to.at[to.rank++] = first.at[i];
    for (int64_t i = 0; i < more.count; i++)
        to.at[to.rank++] = more.at[i];
    return to;
}

static bool
constant_fill(import_node *n)
{
    float value = import_float(n, "value", 0);
    int64_t code = import_int(n, "dtype", 1, 1, 100);
    const tensor_elem *e = tensor_elem_of(code);
    glow_dims shape;

    if (!import_operands(n, 0, 1))
        return false;
    if (!e || !e->kind)
        return import_refuse(n, "E0705", "to %s is not supported",
                             e ? e->name : "a type that is not known");
    shape = filled_shape(n);
    import_type(n, e->kind, shape);
    return !n->failed &&
           import_done(n, import_constant_splat(n, e->kind, shape,
                                                (double)value, (int64_t)value));
}

static bool
given_tensor_fill(import_node *n)
{
    glow_floats values = import_floats(n, "values");
    const glow_type *type;
    glow_tensor t;

    if (!import_operands(n, 0, 1))
        return false;
    type = import_type(n, GLOW_FLOAT, filled_shape(n));
    if (n->failed || glow_type_count(type) != values.count)
        return import_refuse(n, "E0711",
                             "%" PRId64 " values, but the shape takes %" PRId64,
                             values.count, glow_type_count(type));
    t = glow_tensor_new(type);
    for (int64_t i = 0; i < values.count; i++)
        glow_set_double(&t, i, (double)values.at[i]);
    return import_done(n, import_constant_of(n, &t));
}

const import_row import_experimental_rows[] = {
    {"Affine", 1, 0, affine, NULL, "floats; experimental up to opset 9"},
    {"ConstantFill", 1, 0, constant_fill, NULL,
     "to any; a constant; experimental up to opset 9; the shape must be known"},
    {"Crop", 1, 0, crop, &glow_op_slice,
     "any; rank 4; experimental up to opset 9"},
    {"GivenTensorFill", 1, 0, given_tensor_fill, NULL,
     "to float; a constant; experimental up to opset 9; the shape must be "
     "known"},
    {"ImageScaler", 1, 0, image_scaler, NULL,
     "floats; experimental up to opset 9"},
    {"ParametricSoftplus", 1, 0, scaled_activation, &glow_op_softplus,
     "floats; experimental up to opset 9"},
    {"Scale", 1, 0, scale, &glow_op_mul, "floats; experimental up to opset 9"},
    {"ScaledTanh", 1, 0, scaled_activation, &glow_op_tanh,
     "floats; experimental up to opset 9"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
