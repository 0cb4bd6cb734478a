/*
 * Import of constants, and of shapes as values.  Shapes are static, so results
 * of Shape and Size are constants.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/glow-translate/import/import.h"
#include "tools/glow-translate/import/state.h"

static bool
shape(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    glow_dims s = import_in(n, 0)->type->shape;
    int64_t start = 0, end = s.rank;

    if (n->opset >= 15) {
        start = import_int(n, "start", 0, INT64_MIN, INT64_MAX);
        end = import_int(n, "end", s.rank, INT64_MIN, INT64_MAX);
    }
    start += start < 0 ? s.rank : 0;
    end += end < 0 ? s.rank : 0;
    start = start < 0 ? 0 : start > s.rank ? s.rank : start;
    end = end < start ? start : end > s.rank ? s.rank : end;
    return import_done(
        n, import_constant_ints(n, GLOW_DIMS_OF(end - start), s.at + start));
}

static bool
size(import_node *n)
{
    if (!import_operands(n, 1, 1))
        return false;

    int64_t count = glow_type_count(import_in(n, 0)->type);

    return import_done(n, import_constant_ints(n, (glow_dims){0}, &count));
}

/* Constant: a tensor, or one of the short forms of opset 12 on. */

static bool
constant_list(import_node *n, glow_kind kind, int rank, int64_t count,
              const void *at)
{
    glow_dims dims = {.rank = rank, .at = {count}};
    glow_tensor t = glow_tensor_new(import_type(n, kind, dims));

    memcpy(t.data, at, (size_t)glow_type_bytes(t.type));
    return import_done(n, import_constant_of(n, &t));
}

static bool
constant(import_node *n)
{
    glow_tensor t;

    if (!import_operands(n, 0, 0))
        return false;
    if (import_has(n, "value_float")) {
        float v = import_float(n, "value_float", 0);

        return constant_list(n, GLOW_FLOAT, 0, 1, &v);
    }
    if (import_has(n, "value_int")) {
        int64_t v = import_int(n, "value_int", 0, INT64_MIN, INT64_MAX);

        return constant_list(n, GLOW_INDEX64, 0, 1, &v);
    }
    if (import_has(n, "value_floats")) {
        glow_floats l = import_floats(n, "value_floats");

        return constant_list(n, GLOW_FLOAT, 1, l.count, l.at);
    }
    if (import_has(n, "value_ints")) {
        glow_ints l = import_ints(n, "value_ints");

        return constant_list(n, GLOW_INDEX64, 1, l.count, l.at);
    }

    if (import_has(n, "value_string") || import_has(n, "value_strings"))
        return import_refuse(n, "E0705",
                             "there is no element kind for strings");

    const Onnx__SparseTensorProto *sparse = import_sparse(n, "sparse_value");
    const Onnx__TensorProto *value = import_tensor(n, "value");

    if (!value && !sparse)
        return import_refuse(n, "E0710",
                             "no value that is supported: value, sparse_value, "
                             "value_float, value_floats, value_int or "
                             "value_ints");
    if (sparse ? !tensor_read_sparse(&n->im->tensors, sparse, n->text, &t)
               : !tensor_read(&n->im->tensors, value, n->text, &t)) {
        n->failed = true;
        return false;
    }
    return import_done(n, import_constant_of(n, &t));
}

static bool
constant_of_shape(import_node *n)
{
    const Onnx__TensorProto *value = import_tensor(n, "value");
    glow_tensor t;
    glow_kind kind = GLOW_FLOAT;
    double v = 0;
    int64_t exact = 0;
    glow_dims to = {0};

    if (!import_operands(n, 1, 1))
        return false;
    if (value) {
        if (!tensor_read(&n->im->tensors, value, n->text, &t)) {
            n->failed = true;
            return false;
        }
        kind = t.type->elem;
        if (glow_type_count(t.type) == 1) {
            v = glow_get_double(&t, 0);
            exact = glow_get_int(&t, 0);
        } else {
            import_refuse(n, "E0711", "value must be one number");
        }
        glow_tensor_end(&t);
    }

    glow_ints l = import_known_ints(n, 0);

    if (l.count > GLOW_MAX_RANK)
        return import_refuse(n, "E0711",
                             "the rank is %" PRId64 ", and %d is the limit",
                             l.count, GLOW_MAX_RANK);
    to.rank = (int)l.count;
    for (int i = 0; i < to.rank; i++)
        to.at[i] = l.at[i];
    return !n->failed &&
           import_done(n, import_constant_splat(n, kind, to, v, exact));
}

/*
 * Range: bounds must be constant, since they determine the number of elements.
 */

#define MAX_RANGE 1e7

static bool
range(import_node *n)
{
    if (!import_operands(n, 3, 3))
        return false;

    double start = import_known_number(n, 0);
    double limit = import_known_number(n, 1);
    double delta = import_known_number(n, 2);
    double count = ceil((limit - start) / delta);
    glow_kind kind = import_in(n, 0)->type->elem;

    if (n->failed || !(fabs(delta) > 0) || !(count <= MAX_RANGE))
        return import_refuse(n, "E0711", "from %g to %g by %g is no range",
                             start, limit, delta);

    glow_dims to = GLOW_DIMS_OF(count > 0 ? (int64_t)count : 0);
    glow_tensor t = glow_tensor_new(import_type(n, kind, to));

    for (int64_t i = 0; i < to.at[0]; i++)
        glow_set_double(&t, i, start + (double)i * delta);
    return import_done(n, import_constant_of(n, &t));
}

const import_row import_shape_rows[] = {
    {"Constant", 1, 0, constant, NULL, "any; a constant; strings are refused"},
    {"ConstantOfShape", 9, 0, constant_of_shape, NULL,
     "any; a constant; the shape must be known"},
    {"Range", 11, 0, range, NULL,
     "any; a constant; operands must be known; at most 10000000 elements"},
    {"Shape", 1, 0, shape, NULL, "any; a constant"},
    {"Size", 1, 0, size, NULL, "any; a constant"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
