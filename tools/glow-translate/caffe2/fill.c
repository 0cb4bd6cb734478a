/* Import of fills, which are Caffe2's weights and constants. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/glow-translate/caffe2/caffe2.h"

/* An argument by name, of any type. */
static const Onnx__AttributeProto *
argument(import_node *n, const char *name)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (n->proto->attribute[i]->name &&
            strcmp(n->proto->attribute[i]->name, name) == 0) {
            import_ignore(n, name);
            return n->proto->attribute[i];
        }
    return NULL;
}

static glow_dims
shape_of(import_node *n, glow_ints list)
{
    glow_dims shape = {0};

    if (list.count > GLOW_MAX_RANK)
        import_refuse(n, "E0710",
                      "the shape is of rank %" PRId64 ", and %d is the limit",
                      list.count, GLOW_MAX_RANK);
    for (int64_t i = 0; i < list.count && !n->failed; i++)
        shape.at[shape.rank++] = list.at[i];
    return shape;
}

/* Given values. */

/* The type of the result, which must take `count` elements. */
static const glow_type *
given_type(import_node *n, glow_kind kind, size_t count)
{
    glow_dims shape = shape_of(n, import_ints(n, "shape"));
    const glow_type *type = import_type(n, kind, shape);

    if (n->failed || !import_operands(n, 0, 0))
        return NULL;
    if ((uint64_t)glow_type_count(type) != count) {
        import_refuse(n, "E0710",
                      "values has %zu elements, but the shape takes %" PRId64,
                      count, glow_type_count(type));
        return NULL;
    }
    return type;
}

static bool
given_floats(import_node *n, glow_kind kind)
{
    glow_floats values = import_floats(n, "values");
    const glow_type *type = given_type(n, kind, (size_t)values.count);
    glow_tensor t;

    if (!type)
        return false;
    t = glow_tensor_new(type);
    for (int64_t i = 0; i < values.count; i++)
        glow_set_double(&t, i, (double)values.at[i]);
    return import_done(n, import_constant_of(n, &t));
}

static bool
given_float(import_node *n)
{
    return given_floats(n, GLOW_FLOAT);
}

static bool
given_half(import_node *n)
{
    return given_floats(n, GLOW_FLOAT16);
}

static bool
given_double(import_node *n)
{
    return given_floats(n, GLOW_FLOAT64);
}

/* The integers of `values`, as elements of `kind`. */
static bool
integers(import_node *n, glow_kind kind, glow_tensor *t)
{
    glow_ints values = import_ints(n, "values");
    const glow_type *type = given_type(n, kind, (size_t)values.count);

    if (!type)
        return false;
    *t = glow_tensor_new(type);
    for (int64_t i = 0; i < values.count; i++) {
        glow_set_int(t, i, values.at[i]);
        if (glow_get_int(t, i) != values.at[i]) {
            glow_tensor_end(t);
            return import_refuse(n, "E0710",
                                 "element %" PRId64 " of values is %" PRId64
                                 ", which is no %s",
                                 i, values.at[i], glow_kind_get(kind)->name);
        }
    }
    return true;
}

static bool
given_ints(import_node *n, glow_kind kind)
{
    glow_tensor t;

    return integers(n, kind, &t) && import_done(n, import_constant_of(n, &t));
}

static bool
given_int32(import_node *n)
{
    return given_ints(n, GLOW_INDEX32);
}

static bool
given_int64(import_node *n)
{
    return given_ints(n, GLOW_INDEX64);
}

static bool
given_int16(import_node *n)
{
    return given_ints(n, GLOW_INT16);
}

static bool
given_bool(import_node *n)
{
    return given_ints(n, GLOW_BOOL);
}

/* The bytes of one string, or of several one after the other. */
static bool
bytes(import_node *n, glow_tensor *t)
{
    const Onnx__AttributeProto *a = argument(n, "values");
    size_t count = a ? a->s.len : 0, at = 0;
    const glow_type *type;

    for (size_t i = 0; a && i < a->n_strings; i++)
        count += a->strings[i].len;
    type = given_type(n, GLOW_UINDEX8, count);
    if (!type)
        return false;
    *t = glow_tensor_new(type);
    if (a && a->s.len)
        memcpy(t->data, a->s.data, at = a->s.len);
    for (size_t i = 0; a && i < a->n_strings; i++) {
        if (a->strings[i].len)
            memcpy((char *)t->data + at, a->strings[i].data, a->strings[i].len);
        at += a->strings[i].len;
    }
    return true;
}

static bool
given_bytes(import_node *n)
{
    glow_tensor t;

    return bytes(n, &t) && import_done(n, import_constant_of(n, &t));
}

/* The tensor `t` with the elements of a type of the same size. */
static bool
given_quantized(import_node *n, glow_kind kind, glow_tensor *t)
{
    t->type = caffe2_quantized_type(n, kind, t->type->shape);
    if (!n->failed)
        return import_done(n, import_constant_of(n, t));
    glow_tensor_end(t);
    return false;
}

static bool
given_int8q(import_node *n)
{
    glow_tensor t;

    if (!bytes(n, &t))
        return false;
    /* 128 less, modulo 256. */
    for (int64_t i = 0; i < glow_type_count(t.type); i++)
        ((uint8_t *)t.data)[i] ^= 0x80;
    return given_quantized(n, GLOW_INT8Q, &t);
}

static bool
given_int32q(import_node *n)
{
    glow_tensor t;

    return integers(n, GLOW_INDEX32, &t) && given_quantized(n, GLOW_INT32Q, &t);
}

/* Generated values. */

/*
 * The shape of a filled tensor: argument `shape`, the shape of the operand, or
 * the operand's values; `extra_shape` appends axes to the last two.
 */
static glow_dims
filled_shape(import_node *n)
{
    bool by_value = import_flag(n, "input_as_shape", false);
    glow_dims shape = {0};
    glow_ints more;

    if (!import_operands(n, 0, 1))
        return shape;
    if (n->n_in == 0)
        return shape_of(n, import_ints(n, "shape"));
    import_ignore(n, "shape");
    shape = by_value ? shape_of(n, import_known_ints(n, 0))
                     : import_shape(import_in(n, 0));
    more = import_ints(n, "extra_shape");
    if (more.count > GLOW_MAX_RANK - shape.rank)
        import_refuse(n, "E0710", "extra_shape has %" PRId64 " entries",
                      more.count);
    for (int64_t i = 0; i < more.count && !n->failed; i++)
        shape.at[shape.rank++] = more.at[i];
    return shape;
}

static bool
constant_fill(import_node *n)
{
    const Onnx__AttributeProto *a = argument(n, "value");
    int64_t type = import_int(n, "dtype", 1, 0, 100);
    glow_kind kind = caffe2_kind(type);
    glow_dims shape = filled_shape(n);
    bool is_int = a && a->has_i;
    double v = !a ? 0 : is_int ? (double)a->i : (double)a->f;

    if (!kind)
        return import_refuse(n, "E0705",
                             "data type %" PRId64 " is not supported", type);
    import_type(n, kind, shape);
    if (n->failed)
        return false;
    if (is_int && glow_is_int(kind))
        return import_done(n, import_constant_splat(n, kind, shape, v, a->i));
    return import_done(n, import_splat(n, kind, shape, v));
}

/*
 * Random values.  Uniform ones are in [-scale, scale], with a scale by the fan.
 */

static bool
uniform(import_node *n, glow_dims shape, float low, float high)
{
    return import_done(
        n, import_build(n, &glow_op_randomuniform,
                        import_type(n, GLOW_FLOAT, shape), NULL, 0,
                        &(const glow_randomuniform){
                            .low = low, .high = high, .seed = import_seed(n)}));
}

static bool
normal(import_node *n, glow_dims shape, float mean, float scale)
{
    return import_done(
        n, import_build(n, &glow_op_randomnormal,
                        import_type(n, GLOW_FLOAT, shape), NULL, 0,
                        &(const glow_randomnormal){.mean = mean,
                                                   .scale = scale,
                                                   .seed = import_seed(n)}));
}

static bool
uniform_fill(import_node *n)
{
    glow_dims shape = filled_shape(n);

    return uniform(n, shape, import_float(n, "min", 0),
                   import_float(n, "max", 1));
}

static bool
gaussian_fill(import_node *n)
{
    glow_dims shape = filled_shape(n);

    return normal(n, shape, import_float(n, "mean", 0),
                  import_float(n, "std", 1));
}

/* The fan: the number of weights for each element of axis `axis`. */
static double
fan(import_node *n, glow_dims shape, int axis)
{
    if (shape.rank <= axis || shape.at[axis] == 0) {
        import_refuse(n, "E0710", "the shape has no elements along axis %d",
                      axis);
        return 1;
    }
    return (double)glow_dims_count(shape) / (double)shape.at[axis];
}

static bool
xavier_fill(import_node *n)
{
    glow_dims shape = filled_shape(n);
    float scale = (float)sqrt(3 / fan(n, shape, 0));

    return uniform(n, shape, -scale, scale);
}

static bool
glorot_fill(import_node *n)
{
    glow_dims shape = filled_shape(n);
    float scale = (float)sqrt(6 / (fan(n, shape, 0) + fan(n, shape, 1)));

    return uniform(n, shape, -scale, scale);
}

static bool
msra_fill(import_node *n)
{
    glow_dims shape = filled_shape(n);

    return normal(n, shape, 0, (float)sqrt(2 / fan(n, shape, 1)));
}

const import_row caffe2_fill_rows[] = {
    {"ConstantFill", 1, 0, constant_fill, NULL, NULL},
    {"GaussianFill", 1, 0, gaussian_fill, NULL, NULL},
    {"GivenTensorBoolFill", 1, 0, given_bool, NULL, NULL},
    {"GivenTensorByteStringToUInt8Fill", 1, 0, given_bytes, NULL, NULL},
    {"GivenTensorDoubleFill", 1, 0, given_double, NULL, NULL},
    {"GivenTensorFill", 1, 0, given_float, NULL, NULL},
    {"GivenTensorFp16Fill", 1, 0, given_half, NULL, NULL},
    {"GivenTensorInt16Fill", 1, 0, given_int16, NULL, NULL},
    {"GivenTensorInt64Fill", 1, 0, given_int64, NULL, NULL},
    {"GivenTensorIntFill", 1, 0, given_int32, NULL, NULL},
    {"GlorotUniformFill", 1, 0, glorot_fill, NULL, NULL},
    {"Int8GivenIntTensorFill", 1, 0, given_int32q, NULL, NULL},
    {"Int8GivenTensorFill", 1, 0, given_int8q, NULL, NULL},
    {"MSRAFill", 1, 0, msra_fill, NULL, NULL},
    {"UniformFill", 1, 0, uniform_fill, NULL, NULL},
    {"XavierFill", 1, 0, xavier_fill, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};
