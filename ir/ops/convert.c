/*
 * ConvertTo: the same numbers in another element kind.  ConvertToFloat8: the
 * same for float8, saturating out-of-range numbers or not.  BitCast: the same
 * bits.
 */

#include "ir/ops/common.h"

static bool
convertto_infer(const glow_node *n, glow_type out[])
{
    if (!glow_check_stated(n, &out[0]) || !glow_admit(n, 0, GLOW_ANY_NUMERIC))
        return false;

    const glow_kind_info *to = glow_kind_get(out[0].elem);

    if (!((int)to->klass & GLOW_ANY_NUMERIC))
        return glow_reject(n,
                           "the elements of Result are %s, but only float, "
                           "integer and bool kinds are made from %s",
                           to->name, glow_kind_get(n->in[0]->type->elem)->name);
    return glow_give(n, glow_rekinded(n->in[0]->type, out[0].elem), &out[0]);
}

/*
 * The float nearest to an integer; rounding to double first could round twice.
 */
static double
float_of_int(int64_t v, bool is_signed)
{
    return is_signed ? (double)(float)v : (double)(float)(uint64_t)v;
}

/*
 * An integer as a double for conversion to 16-bit floats: bits that the double
 * cannot hold are kept as a sticky bit below the 16-bit precision, which avoids
 * double rounding.
 */
static double
sticky_of_int(int64_t v, bool is_signed)
{
    uint64_t bits = (uint64_t)v, far = UINT64_C(1) << 53;
    bool fits = is_signed ? bits + far <= 2 * far : bits <= far;

    if (!fits && bits & 0xfff)
        v = (int64_t)((bits & ~UINT64_C(0xfff)) | 0x800);
    return is_signed ? (double)v : (double)(uint64_t)v;
}

static double
double_of_int(int64_t v, bool is_signed)
{
    return is_signed ? (double)v : (double)(uint64_t)v;
}

static void
convert_int(const glow_tensor *in, const glow_tensor *out)
{
    int64_t count = glow_tensor_count(out);
    bool is_signed = glow_tensor_is_signed(in);

    for (int64_t i = 0; i < count; i++) {
        int64_t v = glow_get_int(in, i);

        if (out->type->elem == GLOW_FLOAT)
            glow_set_double(out, i, float_of_int(v, is_signed));
        else if (out->type->elem == GLOW_FLOAT16 ||
                 out->type->elem == GLOW_BFLOAT16 ||
                 glow_kind_get(out->type->elem)->format)
            glow_set_double(out, i, sticky_of_int(v, is_signed));
        else if (glow_tensor_is_float(out))
            glow_set_double(out, i, double_of_int(v, is_signed));
        else
            glow_set_int(out, i, v);
    }
}

static bool
convertto_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    int64_t count = glow_tensor_count(out[0]);

    (void)n, (void)scratch;
    if (!glow_is_real(in[0]->type->elem))
        convert_int(in[0], out[0]);
    else
        for (int64_t i = 0; i < count; i++)
            glow_set_double(out[0], i, glow_get_double(in[0], i));
    return true;
}

const glow_op glow_op_convertto = {
    .name = "ConvertTo",
    .summary = "give the elements another kind",
    .in = {{"Input", GLOW_TENSOR, "float, integer or bool elements"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input and the stated element kind"}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = convertto_infer,
    .eval = convertto_eval,
    .doc = "To a float kind: the nearest value, the even one of two.  From a "
           "float kind to an integer one: toward zero, held to the range; NaN "
           "gives 0.  Between integer kinds: the low bits.  To bool: whether "
           "it is not 0.  From bool: 0 or 1.  To int4, uint4, int2 and uint2 "
           "from floats: the nearest, held to the range.  To floats of low "
           "precision: held to the range, and float8e8m0 upwards.",
    .source = "Glow ConvertTo; ONNX Cast",
    .derivative = &glow_derivative_convertto,
};

/* converttofloat8 */

static bool
converttofloat8_infer(const glow_node *n, glow_type out[])
{
    if (!glow_check_stated(n, &out[0]) || !glow_admit(n, 0, GLOW_ANY_NUMERIC))
        return false;
    if (!glow_kind_get(out[0].elem)->format)
        return glow_reject(n,
                           "the elements of Result are %s, but must be floats "
                           "of low precision",
                           glow_kind_get(out[0].elem)->name);
    return glow_give(n, glow_rekinded(n->in[0]->type, out[0].elem), &out[0]);
}

static bool
converttofloat8_eval(const glow_node *n, glow_tensor *const in[],
                     glow_tensor *const out[], glow_arena *scratch)
{
    const glow_converttofloat8 *c = n->attrs;
    int64_t count = glow_tensor_count(out[0]);
    bool is_real = glow_is_real(in[0]->type->elem);
    bool is_signed = glow_tensor_is_signed(in[0]);
    uint8_t *y = out[0]->data;

    (void)scratch;
    for (int64_t i = 0; i < count; i++)
        y[i] = glow_double_to_low(
            out[0]->type->elem,
            is_real ? glow_get_double(in[0], i)
                    : sticky_of_int(glow_get_int(in[0], i), is_signed),
            c->saturate, c->round);
    return true;
}

static const char *const rounds[] = {"up", "down", "nearest", NULL};

const glow_op glow_op_converttofloat8 = {
    .name = "ConvertToFloat8",
    .summary = "give the elements a float kind of low precision",
    .in = {{"Input", GLOW_TENSOR,
            "float, integer, bool, low-precision or quantized elements"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input and the stated element kind"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_converttofloat8, saturate, GLOW_FLAG,
                                 "numbers out of range become the largest "
                                 "one, not infinity or NaN"),
              GLOW_FIELD_ENUM(glow_converttofloat8, round, rounds,
                              "of float8e8m0 alone; all others round to "
                              "nearest even")},
    .defaults =
        &(const glow_converttofloat8){.saturate = true, .round = GLOW_ROUND_UP},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = converttofloat8_infer,
    .eval = converttofloat8_eval,
    .doc = "As ConvertTo, which is the same with Saturate and Round up.  For "
           "float8e8m0 what is below its least number is out of range too, "
           "and what is below 0 becomes NaN.",
    .source = "ONNX Cast with saturate and round_mode",
};

/* bitcast */

static bool
bitcast_infer(const glow_node *n, glow_type out[])
{
    const glow_kind_info *from, *to;

    if (!glow_check_stated(n, &out[0]) || !glow_admit(n, 0, GLOW_ANY_UNFUSED))
        return false;
    from = glow_kind_get(n->in[0]->type->elem);
    to = glow_kind_get(out[0].elem);
    if (!((int)to->klass & GLOW_ANY_UNFUSED) || from->bits != to->bits)
        return glow_reject(n,
                           "the elements of Input are %s of %d bits, those of "
                           "Result %s of %d",
                           from->name, from->bits, to->name, to->bits);

    glow_type y = glow_dense(&out[0]);

    y.shape = n->in[0]->type->shape;
    return glow_give(n, y, &out[0]);
}

/*
 * Normalizes an element after the bits were copied: a bool to 0 or 1, and a
 * kind of fewer bits than a byte to zeros in the unused bits.
 */
static void
settle(const glow_tensor *t)
{
    glow_kind k = t->type->elem;

    if (k == GLOW_BOOL || (glow_is_low(k) && !glow_is_real(k)))
        glow_set_int(t, 0, glow_get_int(t, 0));
    else if (glow_is_low(k))
        *(uint8_t *)t->data &= (uint8_t)((1 << glow_kind_get(k)->bits) - 1);
}

/* True if settle changes elements of kind `k`. */
static bool
is_settled(glow_kind k)
{
    return k == GLOW_BOOL || glow_is_low(k);
}

/*
 * Converts to the kinds of the node first: tensors may hold floats as float64.
 */
static bool
bitcast_eval(const glow_node *n, glow_tensor *const in[],
             glow_tensor *const out[], glow_arena *scratch)
{
    const glow_type from = glow_type_of(n->in[0]->type->elem, (glow_dims){0});
    const glow_type to = glow_type_of(n->out[0]->type->elem, (glow_dims){0});
    uint64_t bits = 0;
    const glow_tensor x = {.type = &from, .data = &bits};
    const glow_tensor y = {.type = &to, .data = &bits};
    int64_t count = glow_tensor_count(out[0]);

    (void)scratch;
    if (in[0]->type->elem == from.elem && out[0]->type->elem == to.elem &&
        !is_settled(to.elem)) {
        glow_copy_block(out[0], 0, GLOW_DIMS_OF(1), in[0], 0, GLOW_DIMS_OF(1),
                        GLOW_DIMS_OF(count));
        return true;
    }
    for (int64_t i = 0; i < count; i++) {
        if (in[0]->type->elem == from.elem)
            glow_copy_block(&x, 0, (glow_dims){0}, in[0], i, (glow_dims){0},
                            (glow_dims){0});
        else
            glow_set_double(&x, 0, glow_get_double(in[0], i));
        settle(&y);
        if (out[0]->type->elem == to.elem)
            glow_copy_block(out[0], i, (glow_dims){0}, &y, 0, (glow_dims){0},
                            (glow_dims){0});
        else
            glow_set_double(out[0], i, glow_get_double(&y, 0));
    }
    return true;
}

const glow_op glow_op_bitcast = {
    .name = "BitCast",
    .summary = "read the bits of the elements as another kind",
    .in = {{"Input", GLOW_TENSOR,
            "float, integer, bool, quantized or low-precision elements"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input and the stated element kind, which has as "
             "many bits; the stated scale and offset"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = bitcast_infer,
    .eval = bitcast_eval,
    .doc = "`y = x` in bits.  To bool: whether any bit is set.",
    .source = "ONNX BitCast",
};
