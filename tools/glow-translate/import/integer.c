/*
 * Operators on 8- and 16-bit integers with scales and zero points.
 *
 * The elements stay plain integers.  Where scales are constant, the operator of floats
 * stands between DequantizeLinear and QuantizeLinear, of which passes make integer
 * arithmetic; else the arithmetic is written out.  Sums of
 * products use the float operators, in a float kind that represents every sum
 * exactly, so that nothing is rounded, whatever the order.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/import.h"

/*
 * A product of two differences of bytes is below 2^16: the number of terms
 * below 2^24.
 */
#define MAX_FLOAT_TERMS 258

static glow_kind
kind_for(int64_t terms)
{
    return terms <= MAX_FLOAT_TERMS ? GLOW_FLOAT : GLOW_FLOAT64;
}

/* `v` as a list along axis `axis` of `rank`, if it is one. */
static glow_value *
along(import_node *n, glow_value *v, int axis, int rank)
{
    glow_dims to = {.rank = rank - axis};
    int64_t count = v ? glow_dims_count(v->type->shape) : 1;

    if (!v || v->type->shape.rank != 1)
        return v;
    for (int i = 0; i < to.rank; i++)
        to.at[i] = i == 0 ? count : 1;
    return import_reshape(n, v, count == 1 ? (glow_dims){0} : to);
}

/* x - zero in `kind`; an omitted zero is 0. */
static glow_value *
centred(import_node *n, glow_value *x, glow_value *zero, glow_kind kind)
{
    x = import_convert(n, x, kind);
    return zero ? import_binary(n, &glow_op_sub, x,
                                import_convert(n, zero, kind))
                : x;
}

/* Exact sums, wrapped to 32 bits. */
static glow_value *
to_int32(import_node *n, glow_value *v)
{
    return import_convert(n, import_convert(n, v, GLOW_INDEX64), GLOW_INDEX32);
}

/* round(x) + zero, saturated to the range of `kind`. */
static glow_value *
quantized(import_node *n, glow_value *x, glow_value *zero, glow_kind kind)
{
    glow_value *y;

    if (n->failed || !x)
        return NULL;
    y = BUILD_PLAIN(n, round, GLOW_IN(x));
    if (x->type->elem != GLOW_FLOAT64)
        y = import_convert(n, y, GLOW_FLOAT);
    if (zero && y)
        y = import_binary(n, &glow_op_add, y,
                          import_convert(n, zero, y->type->elem));
    return import_convert(n, y, kind);
}

/* Only 8-bit integers are multiplied. */
static bool
check_bytes(import_node *n, int i)
{
    const glow_kind_info *k = glow_kind_get(import_in(n, i)->type->elem);

    if (k->klass == GLOW_CLASS_INT && k->bits == 8)
        return true;
    return import_refuse(n, "E0711",
                         "the elements of operand %d are %s, and 8-bit "
                         "integers are due",
                         i, k->name);
}

/* Products: the sums of (a - zero of a) (b - zero of b). */

static glow_value *
convolve(import_node *n, int w, glow_value *x_zero, glow_value *w_zero)
{
    glow_value *x = import_in(n, 0), *filter = import_in(n, w);
    glow_dims shape = filter->type->shape;
    int64_t terms = 1;

    if (!check_bytes(n, 0) || !check_bytes(n, w))
        return NULL;
    for (int i = 1; i < shape.rank && terms <= MAX_FLOAT_TERMS; i++)
        terms *= shape.at[i];

    glow_kind kind = kind_for(terms);

    x = centred(n, x, along(n, x_zero, 0, 1), kind);
    filter = centred(n, filter, along(n, w_zero, 0, shape.rank), kind);
    return import_as(n, "Conv", n->opset, (glow_value *[]){x, filter}, 2);
}

static glow_value *
multiply(import_node *n, int b, glow_value *a_zero, glow_value *b_zero)
{
    glow_value *x = import_in(n, 0), *y = import_in(n, b);
    int rank = x->type->shape.rank;

    if (!check_bytes(n, 0) || !check_bytes(n, b))
        return NULL;

    glow_kind kind = kind_for(rank ? x->type->shape.at[rank - 1] : 1);

    /* A list of zeros has one for each row of A, each column of B. */
    x = centred(n, x, along(n, a_zero, 0, rank > 1 ? 2 : 1), kind);
    y = centred(n, y, along(n, b_zero, 0, 1), kind);
    return import_as(n, "MatMul", n->opset, (glow_value *[]){x, y}, 2);
}

static bool
conv_integer(import_node *n)
{
    return import_operands(n, 2, 4) &&
           import_done(n, to_int32(n, convolve(n, 1, import_in(n, 2),
                                               import_in(n, 3))));
}

static bool
matmul_integer(import_node *n)
{
    return import_operands(n, 2, 4) &&
           import_done(n, to_int32(n, multiply(n, 1, import_in(n, 2),
                                               import_in(n, 3))));
}

/* Operand i, a factor, exactly, in float64. */
static glow_value *
exact(import_node *n, int i)
{
    return import_convert(n, import_in(n, i), GLOW_FLOAT64);
}

/*
 * Requantizes sums `y` by `scale`, to the result scale and zero point, operands
 * 6 and 7.
 */
static bool
requantized(import_node *n, glow_value *y, glow_value *scale)
{
    glow_value *zero = along(n, import_in(n, 7), 0, 1);

    scale = import_binary(n, &glow_op_div, scale, along(n, exact(n, 6), 0, 1));
    y = import_binary(n, &glow_op_mul, import_convert(n, y, GLOW_FLOAT64),
                      scale);
    return import_done(n, quantized(n, y, zero, import_in(n, 7)->type->elem));
}

/* A scale or zero point as QuantizeLinear takes it: one of one element is a scalar. */
static glow_value *
scalar_or_list(import_node *n, glow_value *v)
{
    return v && glow_dims_count(v->type->shape) == 1
               ? import_reshape(n, v, (glow_dims){0})
               : v;
}

glow_value *
import_quantize(import_node *n, glow_value *x, glow_value *scale,
                glow_value *zero, glow_kind kind)
{
    if (n->failed || !x || !scale)
        return NULL;
    scale = import_convert(n, scalar_or_list(n, scale), x->type->elem);
    return BUILD_STATED(n, quantizelinear, import_type(n, kind, x->type->shape),
                        GLOW_IN(x, scale, scalar_or_list(n, zero)),
                        .saturate = true);
}

glow_value *
import_dequantize(import_node *n, glow_value *q, glow_value *scale,
                  glow_value *zero, int axis)
{
    if (n->failed || !q || !scale)
        return NULL;
    scale = scalar_or_list(n, scale);
    zero = scalar_or_list(n, zero);
    if (zero && !zero->type->shape.rank)
        zero = import_broadcast(n, zero, scale->type->shape);
    if (zero && !scale->type->shape.rank)
        scale = import_broadcast(n, scale, zero->type->shape);
    return BUILD_STATED(n, dequantizelinear,
                        import_type(n, GLOW_FLOAT, q->type->shape),
                        GLOW_IN(q, scale, zero), .axis = axis);
}

/* True if scales and zero points are constant, and those of operand 0 and the result one number. */
static bool
has_known_scales(const import_node *n)
{
    static const int all[] = {1, 2, 4, 5, 6, 7};

    for (int i = 0; i < 6; i++) {
        bool is_number = i < 2 || i > 3;

        if (!import_is_known(n, all[i]) ||
            (is_number &&
             glow_dims_count(import_shape(import_in(n, all[i]))) != 1))
            return false;
    }
    return true;
}

/* QLinearConv and QLinearMatMul as an operator of floats between conversions. */
static bool
between(import_node *n, const char *name, int axis)
{
    glow_value *in[3] = {NULL};
    int count = 2;

    in[0] = import_dequantize(n, import_in(n, 0), import_in(n, 1),
                              import_in(n, 2), 0);
    in[1] = import_dequantize(n, import_in(n, 3), import_in(n, 4),
                              import_in(n, 5), axis);
    if (import_in(n, 8)) {
        glow_value *x = scalar_or_list(n, import_in(n, 1));
        glow_value *w = scalar_or_list(n, import_in(n, 4));

        in[count++] = import_dequantize(
            n, import_in(n, 8), import_binary(n, &glow_op_mul, x, w), NULL, 0);
    }
    return import_done(
        n, import_quantize(n, import_as(n, name, n->opset, in, count),
                           import_in(n, 6), import_in(n, 7),
                           import_in(n, 7)->type->elem));
}

static bool
qlinear_conv(import_node *n)
{
    if (!import_operands(n, 8, 9))
        return false;
    if (has_known_scales(n))
        return between(n, "Conv", 0);

    glow_value *y = convolve(n, 3, import_in(n, 2), import_in(n, 5));
    int images = import_shape(import_in(n, 0)).rank - 1;
    glow_value *scale = along(n, exact(n, 1), 0, 1);

    scale =
        import_binary(n, &glow_op_mul, scale, along(n, exact(n, 4), 0, images));

    y = import_convert(n, y, GLOW_FLOAT64);
    if (import_in(n, 8))
        y = import_binary(n, &glow_op_add, y, along(n, exact(n, 8), 0, images));
    return requantized(n, y, scale);
}

static bool
qlinear_matmul(import_node *n)
{
    if (!import_operands(n, 8, 8))
        return false;

    if (has_known_scales(n) && import_shape(import_in(n, 3)).rank == 2)
        return between(n, "MatMul", 1);

    int rank = import_shape(import_in(n, 0)).rank;
    glow_value *y = multiply(n, 3, import_in(n, 2), import_in(n, 5));
    glow_value *scale = along(n, exact(n, 1), 0, rank > 1 ? 2 : 1);

    scale = import_binary(n, &glow_op_mul, scale, along(n, exact(n, 4), 0, 1));
    return requantized(n, y, scale);
}

/* One scale for all, for each slice of an axis, or for each block of it. */

/* True for ONNX Runtime's own operator, whose opsets are others. */
static bool
is_foreign(const import_node *n)
{
    return strchr(n->row->name, '.') != NULL;
}

/* Scale or zero point `v` has a number for each block of `axis`. */
static bool
check_blocks(import_node *n, glow_dims have, int axis, int64_t block)
{
    glow_dims x = import_shape(import_in(n, 0));

    if (have.rank != x.rank)
        return import_refuse(n, "E0711",
                             "the scale or zero point has rank %d, and %d is "
                             "due",
                             have.rank, x.rank);
    for (int i = 0; i < x.rank; i++) {
        int64_t due = x.at[i];

        if (i == axis)
            due = due / block + (due % block != 0);
        if (have.at[i] != due)
            return import_refuse(n, "E0711",
                                 "the scale or zero point has %" PRId64
                                 " elements along axis %d, and %" PRId64
                                 " are due",
                                 have.at[i], i, due);
    }
    return true;
}

/*
 * Scale or zero point `v` as QuantizeLinear takes it: a scalar, a list along *axis,
 * or one number for each of the blocks of *block elements.
 */
static glow_value *
scales_of(import_node *n, glow_value *v, int *axis, int *block)
{
    glow_dims x = import_shape(import_in(n, 0)), s = import_shape(v);
    int64_t size = 0;

    if (n->opset >= 21)
        size = import_int(n, "block_size", 0, 0, INT32_MAX);
    if (!v || glow_dims_count(s) == 1) {
        import_ignore(n, "axis");
        return v ? import_reshape(n, v, (glow_dims){0}) : NULL;
    }
    if (n->opset < 13 && !is_foreign(n)) {
        import_refuse(n, "E0711", "%" PRId64 " scales, and one is due",
                      glow_dims_count(s));
        return NULL;
    }
    *axis = import_axis_attr(n, 1, x.rank);
    if (n->failed)
        return NULL;
    if (size) {
        *block = (int)size;
        return check_blocks(n, s, *axis, size) ? v : NULL;
    }
    if (s.rank == 1 && s.at[0] == x.at[*axis])
        return v;
    import_refuse(n, "E0711",
                  "the scale or zero point has %" PRId64
                  " elements, but axis %d has %" PRId64,
                  glow_dims_count(s), *axis, x.at[*axis]);
    return NULL;
}

/* The kind of the elements of a quantized result; GLOW_NO_KIND if refused. */
static glow_kind
result_kind(import_node *n)
{
    int64_t code =
        n->opset >= 21 ? import_int(n, "output_dtype", 0, 0, 100) : 0;
    const tensor_elem *e = tensor_elem_of(code ? code : 2);

    if (import_in(n, 2))
        return import_in(n, 2)->type->elem;
    if (e && e->kind)
        return e->kind;
    import_refuse(n, "E0705", "to %s is not supported",
                  e ? e->name : "a type that is not known");
    return GLOW_NO_KIND;
}

/* The float kind of an attribute since opset 23. */
static glow_kind
float_kind(import_node *n, const char *name, glow_kind otherwise)
{
    int64_t code = n->opset >= 23 ? import_int(n, name, 0, 0, 100) : 0;
    const tensor_elem *e = code ? tensor_elem_of(code) : NULL;

    if (!code)
        return otherwise;
    if (e && e->kind && glow_is_float(e->kind))
        return e->kind;
    import_refuse(n, "E0710", "%s is %" PRId64 ", which is no float", name,
                  code);
    return otherwise;
}

/* Scale and zero point; one of them may have one element and the other many. */
static bool
read_scales(import_node *n, glow_value *in[2], int *axis, int *block)
{
    int axes[2] = {0}, blocks[2] = {0};

    for (int i = 0; i < 2; i++)
        in[i] = scales_of(n, import_in(n, i + 1), &axes[i], &blocks[i]);
    if (n->failed)
        return false;
    for (int i = 0; i < 2; i++)
        if (in[i] && in[1 - i] && in[1 - i]->type->shape.rank)
            in[i] = import_broadcast(n, in[i], in[1 - i]->type->shape);
    *axis = axes[0] > axes[1] ? axes[0] : axes[1];
    *block = blocks[0] > blocks[1] ? blocks[0] : blocks[1];
    return !n->failed;
}

bool
import_quantize_linear(import_node *n)
{
    glow_quantizelinear q = {0};
    glow_value *in[3];

    if (!import_operands(n, 2, 3) ||
        !read_scales(n, in + 1, &q.axis, &q.block_size))
        return false;

    glow_value *x = import_in(n, 0);
    glow_kind kind = result_kind(n);
    glow_kind wide =
        float_kind(n, "precision",
                   glow_is_float(x->type->elem) ? x->type->elem : GLOW_FLOAT);

    q.saturate = import_flag(n, "saturate", true);
    in[0] = import_convert(n, x, wide);
    in[1] = import_convert(n, in[1], wide);
    return import_done(n, import_build(n, &glow_op_quantizelinear,
                                       import_type(n, kind, x->type->shape), in,
                                       3, &q));
}

bool
import_dequantize_linear(import_node *n)
{
    glow_dequantizelinear q = {0};
    glow_value *in[3];

    if (!import_operands(n, 2, 3) ||
        !read_scales(n, in + 1, &q.axis, &q.block_size))
        return false;

    glow_kind given = in[1]->type->elem;
    glow_kind kind = float_kind(n, "output_dtype",
                                glow_is_float(given) ? given : GLOW_FLOAT);

    in[0] = import_in(n, 0);
    return import_done(n, import_build(n, &glow_op_dequantizelinear,
                                       import_type(n, kind, in[0]->type->shape),
                                       in, 3, &q));
}

/* The minimum or maximum of all elements and 0. */
static glow_value *
extreme(import_node *n, glow_value *x, const glow_op *reduce, const glow_op *op)
{
    glow_reduce all = {.axes = {.rank = x->type->shape.rank}};

    for (int i = 0; i < all.axes.rank; i++)
        all.axes.at[i] = i;
    return import_binary_number(
        n, op, import_build(n, reduce, NULL, GLOW_IN(x), &all), 0);
}

/* The scale of an empty range, where all elements are 0, is 1. */
static glow_value *
one_for_zero(import_node *n, glow_value *scale)
{
    glow_value *none = import_binary_number(n, &glow_op_cmpeq, scale, 0), *one;

    if (n->failed)
        return NULL;
    one = import_splat(n, scale->type->elem, scale->type->shape, 1);
    return BUILD_PLAIN(n, select, GLOW_IN(none, one, scale));
}

glow_value *
import_quantize_dynamically(import_node *n, glow_value *x, glow_value **scale,
                            glow_value **zero)
{
    glow_value *min = extreme(n, x, &glow_op_batchedreducemin, &glow_op_min);
    glow_value *max = extreme(n, x, &glow_op_batchedreducemax, &glow_op_max);

    *scale = import_binary_number(
        n, &glow_op_div, import_binary(n, &glow_op_sub, max, min), 255);
    *scale = one_for_zero(n, *scale);
    *zero = NULL;
    if (n->failed)
        return NULL;
    *zero = import_binary(n, &glow_op_div, BUILD_PLAIN(n, neg, GLOW_IN(min)),
                          *scale);
    *zero = quantized(n, *zero, NULL, GLOW_UINDEX8);
    x = import_binary(n, &glow_op_div, x, *scale);
    return quantized(n, x, *zero, GLOW_UINDEX8);
}

static bool
dynamic_quantize_linear(import_node *n)
{
    glow_value *y, *scale, *zero;

    if (!import_operands(n, 1, 1))
        return false;
    y = import_quantize_dynamically(n, import_in(n, 0), &scale, &zero);
    if (n->n_out > 1)
        n->out[1] = scale;
    if (n->n_out > 2)
        n->out[2] = zero;
    return import_done(n, y);
}

const import_row import_integer_rows[] = {
    {"ConvInteger", 10, 0, conv_integer, NULL,
     "8-bit integers; 1 to 3 spatial axes; a Convolution in float or float64, "
     "which is exact"},
    {"DequantizeLinear", 10, 0, import_dequantize_linear,
     &glow_op_dequantizelinear,
     "integers and low; per axis since opset 13, blocks since 21"},
    {"DynamicQuantizeLinear", 11, 0, dynamic_quantize_linear, NULL,
     "floats, to uint8; the scale of zeros alone is 1"},
    {"MatMulInteger", 10, 0, matmul_integer, NULL,
     "8-bit integers; a MatMul in float or float64, which is exact"},
    {"QLinearConv", 10, 0, qlinear_conv, NULL,
     "8-bit integers; 1 to 3 spatial axes; with constant scales Conv between "
     "DequantizeLinear and QuantizeLinear, else as ConvInteger, then scaled in "
     "float64"},
    {"QLinearMatMul", 10, 0, qlinear_matmul, NULL,
     "8-bit integers; with constant scales MatMul between DequantizeLinear and "
     "QuantizeLinear, else as MatMulInteger, then scaled in float64"},
    {"QuantizeLinear", 10, 0, import_quantize_linear, &glow_op_quantizelinear,
     "numbers, to integers and low; per axis since opset 13, blocks since 21; "
     "the zero point of floats is 0, and not read"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
