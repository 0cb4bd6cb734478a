/*
 * QuantizeLinear, DequantizeLinear: ONNX's conversions between floats and plain
 * integers, or floats of low precision.  Scale and offset are operands: one for all
 * elements, for each slice of an axis, or for each block of it.
 */

#include <math.h>

#include "ir/ops/common.h"

enum { INPUT, SCALE, OFFSET };

/* The position in Scale of the scale of each element of Input. */
typedef struct scale_map {
    bool is_single;
    int64_t inner; /* elements behind the axis */
    int64_t size;  /* of the axis */
    int64_t block;
    int64_t blocks; /* along the axis */
} scale_map;

static scale_map
scale_map_of(glow_dims x, glow_dims scale, int axis, int64_t block)
{
    scale_map m = {.is_single = scale.rank == 0, .block = 1};

    if (m.is_single)
        return m;
    m.size = x.at[axis];
    m.inner = glow_dims_product(x, axis + 1, x.rank);
    if (block > 0) {
        m.block = block;
        m.blocks = scale.at[axis];
    }
    return m;
}

static int64_t
scale_at(const scale_map *m, int64_t i)
{
    if (m->is_single)
        return 0;

    int64_t along = i / m->inner % m->size;

    if (!m->blocks)
        return along;
    return (i / m->inner / m->size * m->blocks + along / m->block) * m->inner +
           i % m->inner;
}

/* Scale has one element, those of Axis, or those of the blocks of Axis. */
static bool
check_scale(const glow_node *n, int axis, int block)
{
    glow_dims x = n->in[INPUT]->type->shape;
    glow_dims s = n->in[SCALE]->type->shape;

    if (!glow_admit(n, SCALE, GLOW_ANY_FLOAT))
        return false;
    if (n->in[OFFSET] && !glow_check_shapes(n, OFFSET, SCALE))
        return false;
    if (block < 0)
        return glow_reject(n, "BlockSize is %d, but must not be negative",
                           block);
    if (s.rank == 0)
        return true;
    if (!glow_check_axis(n, "Axis", axis, INPUT))
        return false;
    if (!block)
        return glow_check_shape(n, SCALE, GLOW_DIMS_OF(x.at[axis]),
                                "that of Axis of Input");
    x.at[axis] = x.at[axis] / block + (x.at[axis] % block != 0);
    return glow_check_shape(n, SCALE, x, "that of the blocks of Input");
}

static bool
is_low(glow_kind k)
{
    return (int)glow_kind_get(k)->klass & GLOW_CLASS_LOW;
}

/* quantizelinear */

static bool
check_quantized(const glow_node *n, glow_kind k)
{
    const glow_kind_info *info = glow_kind_get(k);

    if (is_low(k) || (glow_is_int(k) && info->bits <= 16))
        return true;
    return glow_reject(n,
                       "the elements of Result are %s, but must be integers of "
                       "16 bits at most or of low precision",
                       info->name);
}

static bool
quantizelinear_infer(const glow_node *n, glow_type out[])
{
    const glow_quantizelinear *q = n->attrs;

    if (!glow_check_stated(n, &out[0]) ||
        !glow_admit(n, INPUT, GLOW_ANY_FLOAT) ||
        !check_quantized(n, out[0].elem) ||
        !check_scale(n, q->axis, q->block_size) ||
        !glow_check_kinds(n, SCALE, INPUT))
        return false;
    if (n->in[OFFSET] && n->in[OFFSET]->type->elem != out[0].elem)
        return glow_reject(n,
                           "the elements of Offset are %s, those of Result %s",
                           glow_kind_get(n->in[OFFSET]->type->elem)->name,
                           glow_kind_get(out[0].elem)->name);
    return glow_give(n, glow_rekinded(n->in[INPUT]->type, out[0].elem),
                     &out[0]);
}

/* The least and the largest integer of a kind of 16 bits at most. */
static double
least_of(const glow_kind_info *k)
{
    return k->is_signed ? -ldexp(1, k->bits - 1) : 0;
}

static double
most_of(const glow_kind_info *k)
{
    return ldexp(1, k->is_signed ? k->bits - 1 : k->bits) - 1;
}

static bool
quantizelinear_eval(const glow_node *n, glow_tensor *const in[],
                    glow_tensor *const out[], glow_arena *scratch)
{
    const glow_quantizelinear *q = n->attrs;
    glow_kind elem = out[0]->type->elem;
    const glow_kind_info *k = glow_kind_get(elem);
    scale_map map = scale_map_of(in[INPUT]->type->shape, in[SCALE]->type->shape,
                                 q->axis, q->block_size);
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = scale_at(&map, i);
        double v =
            glow_real_as(in[INPUT]->type, glow_get_double(in[INPUT], i) /
                                              glow_get_double(in[SCALE], at));
        double zero =
            in[OFFSET] && !k->format ? (double)glow_get_int(in[OFFSET], at) : 0;

        if (k->format) {
            ((uint8_t *)out[0]->data)[i] =
                glow_double_to_low(elem, v, q->saturate, GLOW_ROUND_UP);
            continue;
        }
        v = isnan(v) ? zero : nearbyint(v) + zero;
        v = fmin(fmax(v, least_of(k)), most_of(k));
        glow_set_int(out[0], i, (int64_t)v);
    }
    return true;
}

const glow_op glow_op_quantizelinear = {
    .name = "QuantizeLinear",
    .summary = "round floats to integers, by scales and offsets",
    .in = {{"Input", GLOW_TENSOR, "x: floats"},
           {"Scale", GLOW_TENSOR,
            "s: of the kind of Input; one number, one for each slice of Axis, "
            "or of the shape of Input, with a number for each block of Axis"},
           {"Offset", GLOW_OPTIONAL,
            "z: of the kind of Result and the shape of Scale; 0 if omitted"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input; the stated kind: integers of 16 bits at "
             "most, or low precision"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_quantizelinear, axis, GLOW_INT,
                                 "of Input, along which scales change"),
              GLOW_FIELD_DEFAULT(glow_quantizelinear, block_size, GLOW_INT,
                                 "elements along Axis with one scale; 0: no "
                                 "blocks"),
              GLOW_FIELD_DEFAULT(glow_quantizelinear, saturate, GLOW_FLAG,
                                 "as of ConvertToFloat8, where the result is a "
                                 "float")},
    .defaults = &(const glow_quantizelinear){.saturate = true},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = quantizelinear_infer,
    .eval = quantizelinear_eval,
    .doc = "`y = sat(rint(x / s) + z)`, ties to even; the quotient is of the "
           "kind of Input.  NaN gives z.  Floats of low precision: `x / s` "
           "converted; z is not read.",
    .source = "ONNX QuantizeLinear",
};

/* dequantizelinear */

static bool
dequantizelinear_infer(const glow_node *n, glow_type out[])
{
    const glow_dequantizelinear *q = n->attrs;
    const glow_kind_info *from = glow_kind_get(n->in[INPUT]->type->elem);

    if (!glow_check_stated(n, &out[0]) ||
        !glow_admit(n, INPUT, GLOW_ANY_INT | GLOW_CLASS_LOW) ||
        !check_scale(n, q->axis, q->block_size))
        return false;
    if (from->bits > 32)
        return glow_reject(n,
                           "the elements of Input are %s, but must be integers "
                           "of 32 bits at most",
                           from->name);
    if (!glow_is_float(out[0].elem))
        return glow_reject(n,
                           "the elements of Result are %s, but must be floats",
                           glow_kind_get(out[0].elem)->name);
    if (n->in[OFFSET] && !glow_check_kinds(n, OFFSET, INPUT))
        return false;
    return glow_give(n, glow_rekinded(n->in[INPUT]->type, out[0].elem),
                     &out[0]);
}

static bool
dequantizelinear_eval(const glow_node *n, glow_tensor *const in[],
                      glow_tensor *const out[], glow_arena *scratch)
{
    const glow_dequantizelinear *q = n->attrs;
    bool is_real = glow_is_real(in[INPUT]->type->elem);
    scale_map map = scale_map_of(in[INPUT]->type->shape, in[SCALE]->type->shape,
                                 q->axis, q->block_size);
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = scale_at(&map, i);
        float s = (float)glow_get_double(in[SCALE], at), x;

        if (is_real)
            x = (float)glow_get_double(in[INPUT], i);
        else
            x = (float)(glow_get_int(in[INPUT], i) -
                        (in[OFFSET] ? glow_get_int(in[OFFSET], at) : 0));
        glow_set_double(out[0], i, (double)(x * s));
    }
    return true;
}

const glow_op glow_op_dequantizelinear = {
    .name = "DequantizeLinear",
    .summary = "make floats of integers, by scales and offsets",
    .in = {{"Input", GLOW_TENSOR,
            "x: integers of 32 bits at most, or low precision"},
           {"Scale", GLOW_TENSOR,
            "s: floats; one number, one for each slice of Axis, or of the "
            "shape of Input, with a number for each block of Axis"},
           {"Offset", GLOW_OPTIONAL,
            "z: of the kind of Input and the shape of Scale; 0 if omitted"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input; the stated float kind"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_dequantizelinear, axis, GLOW_INT,
                                 "of Input, along which scales change"),
              GLOW_FIELD_DEFAULT(glow_dequantizelinear, block_size, GLOW_INT,
                                 "elements along Axis with one scale; 0: no "
                                 "blocks")},
    .defaults = &(const glow_dequantizelinear){0},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = dequantizelinear_infer,
    .eval = dequantizelinear_eval,
    .doc = "`y = (float)(x - z) * (float)s`, a float, then in the kind of "
           "Result.  Of floats of low precision z is not read.",
    .source = "ONNX DequantizeLinear",
    .derivative = &glow_derivative_dequantizelinear,
};
