/*
 * Quantize, Dequantize, RescaleQuantized: the same numbers with another scale and
 * offset, or as floats.  IntLookupTable: a function of quantized elements as a table.
 */

#include "ir/ops/common.h"

/* The stated type is of `classes`: the result has the shape of operand 0. */
static bool
give_stated(const glow_node *n, int classes, const char *words, glow_type *out)
{
    if (!glow_check_stated(n, out))
        return false;
    if (!((int)glow_kind_get(out->elem)->klass & classes))
        return glow_reject(n, "the elements of Result are %s, but must be %s",
                           glow_kind_get(out->elem)->name, words);

    glow_type y = glow_dense(out);

    y.shape = n->in[0]->type->shape;
    return glow_give(n, y, out);
}

/* quantize */

static bool
quantize_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_ANY_FLOAT) &&
           give_stated(n, GLOW_CLASS_QUANTIZED, "quantized", &out[0]);
}

static bool
quantize_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    int64_t count = glow_tensor_count(out[0]);

    (void)n, (void)scratch;
    for (int64_t i = 0; i < count; i++)
        glow_set_int(out[0], i,
                     glow_quantize(out[0]->type, glow_get_double(in[0], i)));
    return true;
}

const glow_op glow_op_quantize = {
    .name = "Quantize",
    .summary = "round floats to quantized elements",
    .in = {{"Input", GLOW_TENSOR, "floats"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input; the stated kind, scale and offset"}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = quantize_infer,
    .eval = quantize_eval,
    .doc =
        "`q = sat(rint(x / scale) + offset)`, ties to even.  NaN gives the "
        "offset.  The quotient is a float where the result has 8 or 16 bits, "
        "else float64.",
    .source = "Glow Quantize; ONNX QuantizeLinear",
};

/* dequantize */

static bool
dequantize_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_CLASS_QUANTIZED) &&
           give_stated(n, GLOW_CLASS_FLOAT, "floats", &out[0]);
}

static bool
dequantize_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    int64_t count = glow_tensor_count(out[0]);

    (void)n, (void)scratch;
    for (int64_t i = 0; i < count; i++)
        glow_set_double(out[0], i,
                        glow_dequantize(in[0]->type, glow_get_int(in[0], i)));
    return true;
}

const glow_op glow_op_dequantize = {
    .name = "Dequantize",
    .summary = "make floats of quantized elements",
    .in = {{"Input", GLOW_TENSOR, "quantized elements"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input; the stated float kind"}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = dequantize_infer,
    .eval = dequantize_eval,
    .doc = "`x = (float)(q - offset) * scale`, a float, then in the kind of "
           "Result.",
    .source = "Glow Dequantize; ONNX DequantizeLinear",
    .derivative = &glow_derivative_dequantize,
};

/* rescalequantized */

static bool
rescalequantized_infer(const glow_node *n, glow_type out[])
{
    return glow_admit(n, 0, GLOW_CLASS_QUANTIZED) &&
           give_stated(n, GLOW_CLASS_QUANTIZED, "quantized", &out[0]);
}

static bool
rescalequantized_eval(const glow_node *n, glow_tensor *const in[],
                      glow_tensor *const out[], glow_arena *scratch)
{
    int64_t count = glow_tensor_count(out[0]);

    (void)n, (void)scratch;
    for (int64_t i = 0; i < count; i++)
        glow_set_int(
            out[0], i,
            glow_rescale(in[0]->type, out[0]->type, glow_get_int(in[0], i)));
    return true;
}

const glow_op glow_op_rescalequantized = {
    .name = "RescaleQuantized",
    .summary = "give quantized elements another scale and offset",
    .in = {{"Input", GLOW_TENSOR, "quantized elements"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input; the stated kind, scale and offset"}},
    .traits = GLOW_PURE | GLOW_ELEMENTWISE | GLOW_PRIMITIVE | GLOW_STATED,
    .infer = rescalequantized_infer,
    .eval = rescalequantized_eval,
    .doc =
        "`y = sat(rint((q - offset of Input) * m) + offset of Result)`, where "
        "m is the scale of Input divided by that of Result; in float where "
        "both have 8 or 16 bits, else in float64.",
    .source = "Glow RescaleQuantized",
};

/* intlookuptable */

static bool
intlookuptable_infer(const glow_node *n, glow_type out[])
{
    const glow_type *x = n->in[0]->type, *table = n->in[1]->type;

    if (!glow_admit(n, 0, GLOW_CLASS_QUANTIZED) ||
        !glow_admit(n, 1, GLOW_CLASS_QUANTIZED))
        return false;

    int64_t values = glow_quantized_values(x->elem);

    if (!values)
        return glow_reject(n,
                           "the elements of Input are %s, but only those of 8 "
                           "or 16 bits have a table",
                           glow_kind_get(x->elem)->name);
    return glow_check_shape(n, 1, GLOW_DIMS_OF(values),
                            "that of a table for Input") &&
           glow_give(n, glow_reshaped(table, x->shape), &out[0]);
}

static bool
intlookuptable_eval(const glow_node *n, glow_tensor *const in[],
                    glow_tensor *const out[], glow_arena *scratch)
{
    int64_t least = glow_quantized_least(in[0]->type->elem);
    int64_t count = glow_tensor_count(out[0]);

    (void)n, (void)scratch;
    for (int64_t i = 0; i < count; i++)
        glow_set_int(out[0], i,
                     glow_get_int(in[1], glow_get_int(in[0], i) - least));
    return true;
}

const glow_op glow_op_intlookuptable = {
    .name = "IntLookupTable",
    .summary = "a function of quantized elements, as a table of its results",
    .in =
        {{"Input", GLOW_TENSOR, "quantized elements of 8 or 16 bits"},
         {"Mapping", GLOW_TENSOR,
          "[256] or [65536]: the results, from the least element of Input on"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Input; the kind, scale and offset of Mapping"}},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .infer = intlookuptable_infer,
    .eval = intlookuptable_eval,
    .doc = "`y = mapping[q - least]`, where least is the least element of the "
           "kind of Input: -128 of i8, 0 of ui8, -32768 of i16.",
    .source = "Glow IntLookupTable",
};
