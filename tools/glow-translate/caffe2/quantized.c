/*
 * Operators on quantized elements.
 *
 * Caffe2's elements are bytes from 0 to 255.  They become i8, 128 less, as in Glow, and
 * so do zero points: scale * (q - offset) is the same.  The result of an operator has
 * the type that Y_scale and Y_zero_point state.  Filters, weights and biases may be
 * floats that are constant, and are quantized here: weights by channel, symmetrically,
 * and biases to 32 bits in the unit of the products.
 */

#include <inttypes.h>
#include <math.h>

#include "tools/glow-translate/caffe2/caffe2.h"

#define SHIFT 128

/* Types. */

static const glow_type *
quantized(import_node *n, glow_kind kind, glow_dims shape, float scale,
          int64_t offset)
{
    glow_type t = glow_type_of(kind, shape);
    const char *wrong;

    t.scale = scale;
    t.offset = (int32_t)offset;
    wrong = glow_type_check(&t, import_arena(n));
    if (!wrong)
        return glow_type_get(import_context(n), t);
    import_refuse(n, "E0711", "the result would be impossible: %s", wrong);
    return glow_type_get(import_context(n), glow_type_of(kind, (glow_dims){0}));
}

const glow_type *
caffe2_quantized_type(import_node *n, glow_kind kind, glow_dims shape)
{
    bool bytes = kind == GLOW_INT8Q;
    float scale = import_float(n, "Y_scale", 1);
    int64_t zero = import_int(n, "Y_zero_point", 0, bytes ? 0 : INT32_MIN,
                              bytes ? UINT8_MAX : INT32_MAX);

    if (!n->failed && !import_has(n, "Y_scale"))
        import_refuse(n, "E0710", "Y_scale, the scale of the result, is due");
    return quantized(n, kind, shape, scale, zero - (bytes ? SHIFT : 0));
}

/* The type of the result, for operators that find its shape. */
static const glow_type *
result_type(import_node *n)
{
    return caffe2_quantized_type(n, GLOW_INT8Q, (glow_dims){0});
}

/* False after E0711 unless operand `i` is of quantized elements. */
static bool
is_quantized(import_node *n, int i)
{
    const glow_type *t = import_in(n, i)->type;
    const char *hint;

    if (glow_is_quantized(t->elem))
        return true;
    hint = glow_arena_printf(
        import_arena(n), "if it is an input, -type '%s=i8[S:0.5 O:0]' says so",
        n->proto->input[i]);
    return import_refuse_hint(
        n, "E0711", hint, "operand %d is %s, but quantized elements are due", i,
        glow_type_text(import_arena(n), t));
}

/* From `least` to `most` operands, the first `count` of quantized elements. */
static bool
take(import_node *n, int least, int most, int count)
{
    if (!import_operands(n, least, most))
        return false;
    for (int i = 0; i < count && i < n->n_in; i++)
        if (!is_quantized(n, i))
            return false;
    return true;
}

/* Conversions. */

static bool
quantize(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;
    return import_done(n, import_build(n, &glow_op_quantize, result_type(n),
                                       GLOW_IN(n->in[0]), NULL));
}

static glow_value *
dequantized(import_node *n, glow_value *v)
{
    if (n->failed || !v)
        return NULL;
    return import_build(n, &glow_op_dequantize,
                        import_type(n, GLOW_FLOAT, v->type->shape), GLOW_IN(v),
                        NULL);
}

static bool
dequantize(import_node *n)
{
    return take(n, 1, 1, 1) && import_done(n, dequantized(n, n->in[0]));
}

/* `v` in the type that the operator states, if it states one. */
static glow_value *
as_stated(import_node *n, glow_value *v)
{
    const glow_type *to;

    if (n->failed || !v || !import_has(n, "Y_scale"))
        return v;
    to = result_type(n);
    if (to->scale == v->type->scale && to->offset == v->type->offset)
        return v;
    return import_build(n, &glow_op_rescalequantized, to, GLOW_IN(v), NULL);
}

/* Weights and biases. */

/* Parameters of the channels of weights. */
typedef struct channels {
    glow_value *weights, *scales, *offsets;
    const double *scale; /* of each channel */
} channels;

/* A constant list of numbers of `kind`. */
static glow_value *
numbers(import_node *n, const glow_type *type, const double *v)
{
    glow_tensor t;

    if (n->failed)
        return NULL;
    t = glow_tensor_new(type);
    for (int64_t i = 0; i < glow_type_count(type); i++)
        glow_set_double(&t, i, v ? v[i] : 0);
    return import_constant_of(n, &t);
}

/* The scale of each row of float weights, by the bias too. */
static double *
scales_of(import_node *n, const glow_tensor *w, int bias)
{
    int64_t rows = w->type->shape.at[0];
    int64_t columns = rows ? glow_type_count(w->type) / rows : 0;
    double *scale = GLOW_NEW_ARRAY(import_arena(n), double, rows + 1);
    const glow_value *b = import_in(n, bias);
    glow_floats known = {0};

    if (b && glow_is_float(b->type->elem))
        known = import_known_floats(n, bias);
    for (int64_t row = 0; row < rows && !n->failed; row++) {
        double largest = 0, add = 0;

        for (int64_t i = 0; i < columns; i++)
            largest =
                fmax(largest, fabs(glow_get_double(w, row * columns + i)));
        if (row < known.count)
            add = fabs((double)known.at[row]);
        scale[row] = (double)glow_quantization_of_weights(
            GLOW_INT8Q, GLOW_SYMMETRIC, largest, (double)n->in[0]->type->scale,
            add);
    }
    return scale;
}

/* Operand 1, float and constant, quantized by its first axis. */
static bool
quantize_weights(import_node *n, channels *out)
{
    const glow_tensor *w = import_known(n, 1);
    int64_t rows, columns;
    glow_tensor q;

    if (!w)
        return false;
    if (w->type->shape.rank == 0 || !glow_is_float(w->type->elem))
        return import_refuse(n, "E0711", "operand 1 is %s, but weights are due",
                             glow_type_text(import_arena(n), w->type));
    rows = w->type->shape.at[0];
    columns = rows ? glow_type_count(w->type) / rows : 0;
    out->scale = scales_of(n, w, 2);
    out->scales =
        numbers(n, import_type(n, GLOW_FLOAT, GLOW_DIMS_OF(rows)), out->scale);
    out->offsets =
        numbers(n, import_type(n, GLOW_INDEX32, GLOW_DIMS_OF(rows)), NULL);
    if (n->failed)
        return false;
    q = glow_tensor_new(quantized(n, GLOW_INT8Q, w->type->shape, 1, 0));
    for (int64_t i = 0; i < rows * columns; i++) {
        glow_type row = glow_type_of(GLOW_INT8Q, (glow_dims){0});

        row.scale = (float)out->scale[i / columns];
        glow_set_int(&q, i, glow_quantize(&row, glow_get_double(w, i)));
    }
    out->weights = import_constant_of(n, &q);
    return !n->failed;
}

/*
 * The channels of quantized weights, whose scales and offsets net.c has made operands 3
 * and 4.  The offsets count from the elements of i8, as Glow takes them.
 */
static bool
loaded_channels(import_node *n, channels *out)
{
    int64_t rows = import_shape(import_in(n, 1)).at[0];
    double *scale = GLOW_NEW_ARRAY(import_arena(n), double, rows + 1);
    glow_floats known;

    if (!import_in(n, 3) || !import_in(n, 4))
        return import_refuse(n, "E0711",
                             "quantize_groupwise wants %s_loaded_scales and "
                             "%s_loaded_offsets",
                             n->proto->input[1], n->proto->input[1]);
    known = import_known_floats(n, 3);
    if (n->failed || known.count != rows)
        return import_refuse(
            n, "E0711", "there are %" PRId64 " scales of %" PRId64 " channels",
            known.count, rows);
    for (int64_t i = 0; i < rows; i++)
        scale[i] = (double)known.at[i];
    *out = (channels){import_in(n, 1), import_in(n, 3), import_in(n, 4), scale};
    return true;
}

/* The bias, operand 2, of 32 bits for each channel, and its parameters. */
static void
channel_bias(import_node *n, const channels *c, glow_value **bias,
             glow_value **scales, glow_value **offsets)
{
    glow_dims shape = GLOW_DIMS_OF(import_shape(c->scales).at[0]);
    const glow_type *plain = quantized(n, GLOW_INT32Q, shape, 1, 0);
    double *v = GLOW_NEW_ARRAY(import_arena(n), double, shape.at[0] + 1);
    double *s = GLOW_NEW_ARRAY(import_arena(n), double, shape.at[0] + 1);
    double *o = GLOW_NEW_ARRAY(import_arena(n), double, shape.at[0] + 1);
    glow_value *b = import_in(n, 2);
    glow_floats known = {0};
    bool given = b && glow_is_quantized(b->type->elem);

    if (b && !given)
        known = import_known_floats(n, 2);
    for (int64_t i = 0; i < shape.at[0] && !n->failed; i++) {
        glow_type unit = *plain;

        s[i] = (double)(float)((double)n->in[0]->type->scale * c->scale[i]);
        unit.scale = (float)s[i];
        if (given) {
            s[i] = (double)b->type->scale;
            o[i] = b->type->offset;
        } else if (i < known.count && s[i] > 0) {
            v[i] = (double)glow_quantize(&unit, (double)known.at[i]);
        }
    }
    *bias = given ? b : numbers(n, plain, v);
    *scales = numbers(n, import_type(n, GLOW_FLOAT, shape), s);
    *offsets = numbers(n, import_type(n, GLOW_INDEX32, shape), o);
}

/* The bias, operand 2, for weights of one scale; may be NULL. */
static glow_value *
plain_bias(import_node *n, const glow_value *weights, glow_value *b)
{
    const glow_type *unit;

    if (n->failed || !b || glow_is_quantized(b->type->elem))
        return b;
    unit = quantized(
        n, GLOW_INT32Q, b->type->shape,
        (float)((double)n->in[0]->type->scale * (double)weights->type->scale),
        0);
    return import_build(n, &glow_op_quantize, unit, GLOW_IN(b), NULL);
}

/* Products. */

static glow_value *
convolve(import_node *n, const glow_type *to, bool by_channel,
         const glow_convolution *attrs, glow_value *image)
{
    glow_value *in[7] = {image, n->in[1], import_in(n, 2)};
    channels c;

    if (!by_channel && glow_is_quantized(in[1]->type->elem)) {
        in[2] = plain_bias(n, in[1], in[2]);
        return import_build(n, &glow_op_convolution, to, in, 3, attrs);
    }
    if (!(glow_is_quantized(in[1]->type->elem) ? loaded_channels(n, &c)
                                               : quantize_weights(n, &c)))
        return NULL;
    in[1] = c.weights;
    in[3] = c.scales;
    in[4] = c.offsets;
    channel_bias(n, &c, &in[2], &in[5], &in[6]);
    return import_build(n, &glow_op_channelwisequantizedconvolution, to, in, 7,
                        attrs);
}

/* The row's operator, if it has one, behind `v`, in the same type. */
static glow_value *
fused(import_node *n, glow_value *v)
{
    if (n->failed || !v || !n->row->op)
        return v;
    return import_build(n, n->row->op, v->type, GLOW_IN(v), NULL);
}

/* Int8Conv, and Int8ConvRelu, where the row has the second operator. */
static bool
convolution(import_node *n)
{
    int64_t group = import_int(n, "group", 1, 1, INT32_MAX);
    bool by_channel = import_flag(n, "quantize_groupwise", false);
    const glow_type *to = result_type(n);
    caffe2_window x;
    glow_value *y;

    if (!take(n, 2, 5, 1) || !caffe2_has_filter(n) ||
        !caffe2_read_window(n, n->in[0], n->in[1], &x))
        return false;

    glow_convolution attrs = {.kernels = x.w.kernels,
                              .strides = x.w.strides,
                              .pads = x.w.pads,
                              .group = group,
                              .dilation = x.w.dilation};
    glow_value *image = caffe2_to_last(n, &x, n->in[0]);

    n->in[1] = caffe2_filter_to_last(n, &x, n->in[1]);
    if (n->failed)
        return false;
    y = fused(n, convolve(n, to, by_channel, &attrs, image));
    return import_done(n, caffe2_from_last(n, &x, y));
}

/* Floats by quantized weights: quantized, row by row, as the network runs. */
static glow_value *
connect_floats(import_node *n, const caffe2_connection *c)
{
    return BUILD(n, dynamicquantizedfullyconnected, GLOW_IN(c->x, c->w, c->b),
                 .is_symmetric = true, .is_per_batch_element = true);
}

static glow_value *
connect(import_node *n, const glow_type *to, const caffe2_connection *c)
{
    glow_value *in[5] = {c->x}, *ignored;
    channels by;

    if (glow_is_quantized(c->w->type->elem))
        return import_build(n, &glow_op_fullyconnected, to,
                            GLOW_IN(c->x, c->w, plain_bias(n, c->w, c->b)),
                            &(const glow_fullyconnected){.axis = 1});
    /* Weights by row: one for each result. */
    n->in[1] = import_transpose(n, c->w, GLOW_DIMS_OF(1, 0));
    if (n->failed || !quantize_weights(n, &by))
        return NULL;
    in[1] = by.weights;
    in[2] = by.scales;
    in[3] = by.offsets;
    if (glow_is_quantized(c->b->type->elem))
        in[4] = c->b;
    else
        channel_bias(n, &by, &in[4], &ignored, &ignored);
    return import_build(n, &glow_op_rowwisequantizedfullyconnected, to, in, 5,
                        NULL);
}

/*
 * Int8FC.  With dequantize_output the result is float, and so may the operand be, if
 * the weights are quantized.
 */
static bool
fully_connected(import_node *n)
{
    bool to_float = import_flag(n, "dequantize_output", false);
    const glow_type *to = result_type(n);
    caffe2_connection c;
    glow_value *y;

    if (!import_operands(n, 3, 3))
        return false;

    bool from_float = to_float && !glow_is_quantized(n->in[0]->type->elem);

    if ((!from_float && !is_quantized(n, 0)) ||
        (from_float && !is_quantized(n, 1)) ||
        !caffe2_read_connection(n, false, &c))
        return false;
    y = from_float ? connect_floats(n, &c) : connect(n, to, &c);
    if (to_float && !from_float)
        y = dequantized(n, y);
    return import_done(n, import_reshape(n, y, c.to));
}

/* Int8Add and Int8Sum of two operands; ...Relu, where the row has an operator. */
static bool
sum(import_node *n)
{
    const glow_type *to = result_type(n);

    if (!take(n, 2, 2, 2))
        return false;
    return import_done(
        n, fused(n, import_build(n, &glow_op_add, to,
                                 GLOW_IN(n->in[0], n->in[1]), NULL)));
}

/* Operators of one operand. */

static bool
unary(import_node *n)
{
    const glow_type *to = result_type(n);

    return take(n, 1, 1, 1) &&
           import_done(
               n, import_build(n, n->row->op, to, GLOW_IN(n->in[0]), NULL));
}

static bool
leaky_relu(import_node *n)
{
    const glow_type *to = result_type(n);
    float alpha = import_float(n, "alpha", 0.01f);

    return take(n, 1, 1, 1) &&
           import_done(n, BUILD_STATED(n, leakyrelu, to, GLOW_IN(n->in[0]),
                                       .alpha = alpha));
}

/* The result of a maximum has the parameters of the operand. */
static bool
max_pool(import_node *n)
{
    caffe2_window x;
    glow_value *y;

    if (!take(n, 1, 1, 1) || !caffe2_read_window(n, n->in[0], NULL, &x))
        return false;
    y = BUILD(n, maxpool, GLOW_IN(caffe2_to_last(n, &x, n->in[0])),
              .kernels = x.w.kernels, .strides = x.w.strides, .pads = x.w.pads,
              .dilation = x.w.dilation);
    return import_done(n, as_stated(n, caffe2_from_last(n, &x, y)));
}

static bool
average_pool(import_node *n)
{
    bool counted = import_flag(n, "count_include_pad", false);
    const glow_type *to = result_type(n);
    caffe2_window x;
    glow_value *y;

    if (!take(n, 1, 1, 1) || !caffe2_read_window(n, n->in[0], NULL, &x))
        return false;
    y = BUILD_STATED(n, avgpool, to, GLOW_IN(caffe2_to_last(n, &x, n->in[0])),
                     .kernels = x.w.kernels, .strides = x.w.strides,
                     .pads = x.w.pads, .dilation = x.w.dilation,
                     .count_include_pads = counted);
    return import_done(n, caffe2_from_last(n, &x, y));
}

/* The operator without Int8, which moves elements. */
static bool
moved(import_node *n)
{
    const char *why, *name = n->row->name + sizeof("Int8") - 1;
    const import_row *row = caffe2_dialect.find(import_arena(n), name, 1, &why);

    if (!take(n, 1, 2, 1) || !row->run(n))
        return false;
    return import_done(n, as_stated(n, n->out[0]));
}

/* Operands in the type of the result, one behind the other. */
static bool
concat(import_node *n)
{
    const char *why;

    if (!take(n, 1, INT32_MAX, INT32_MAX))
        return false;
    for (int i = 0; i < n->n_in; i++)
        n->in[i] = as_stated(n, n->in[i]);
    return !n->failed &&
           caffe2_dialect.find(import_arena(n), "Concat", 1, &why)->run(n);
}

const import_row caffe2_quantized_rows[] = {
    {"Int8Add", 1, 0, sum, NULL, NULL},
    {"Int8AddRelu", 1, 0, sum, &glow_op_relu, NULL},
    {"Int8AveragePool", 1, 0, average_pool, NULL, NULL},
    {"Int8Concat", 1, 0, concat, NULL, NULL},
    {"Int8Conv", 1, 0, convolution, NULL, NULL},
    {"Int8ConvRelu", 1, 0, convolution, &glow_op_relu, NULL},
    {"Int8Dequantize", 1, 0, dequantize, NULL, NULL},
    {"Int8FC", 1, 0, fully_connected, NULL, NULL},
    {"Int8LeakyRelu", 1, 0, leaky_relu, NULL, NULL},
    {"Int8MaxPool", 1, 0, max_pool, NULL, NULL},
    {"Int8Quantize", 1, 0, quantize, NULL, NULL},
    {"Int8Relu", 1, 0, unary, &glow_op_relu, NULL},
    {"Int8Reshape", 1, 0, moved, NULL, NULL},
    {"Int8ResizeNearest", 1, 0, moved, NULL, NULL},
    {"Int8Sigmoid", 1, 0, unary, &glow_op_sigmoid, NULL},
    {"Int8Slice", 1, 0, moved, NULL, NULL},
    {"Int8Sum", 1, 0, sum, NULL, NULL},
    {"Int8SumRelu", 1, 0, sum, &glow_op_relu, NULL},
    {"Int8Transpose", 1, 0, moved, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};
