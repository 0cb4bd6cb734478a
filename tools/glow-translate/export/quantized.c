/*
 * Export of quantized elements: as integers, between QuantizeLinear and
 * DequantizeLinear with scale and zero point of the type.  The pass expand-quantized
 * has put floats in place of what computes with them.
 */

#include "tools/glow-translate/export/export.h"
#include "tools/glow-translate/tensor.h"

/* Writes the last node: `op`, with the scale and zero point of `t`. */
static bool
convert(exporter *e, const glow_node *n, const char *op, const glow_type *t)
{
    const char *x = export_in(e, n, 0);
    const char *scale = export_number(e, n, GLOW_FLOAT, (double)t->scale);
    glow_kind kind = tensor_stored_as(t->elem);

    if (kind == GLOW_INDEX32)
        return export_last(e, n, op, NAMES(x, scale));
    return export_last(e, n, op,
                       NAMES(x, scale, export_number(e, n, kind, t->offset)));
}

static bool
quantize(exporter *e, const glow_node *n)
{
    const glow_type *t = n->out[0]->type;

    if (!glow_quantized_values(t->elem))
        return export_refuse(e, n, "QuantizeLinear gives 16 bits at most");
    if (n->in[0]->type->elem != GLOW_FLOAT)
        return export_refuse(e, n, "QuantizeLinear would divide in %s",
                             glow_kind_get(n->in[0]->type->elem)->name);
    return convert(e, n, "QuantizeLinear", t);
}

static bool
dequantize(exporter *e, const glow_node *n)
{
    const glow_type *t = n->in[0]->type;

    if (t->elem == GLOW_INT32Q && t->offset)
        return export_refuse(e, n,
                             "the offset is %d, but must be 0 for 32 bits",
                             (int)t->offset);
    if (n->out[0]->type->elem == GLOW_FLOAT)
        return convert(e, n, "DequantizeLinear", t);
    return export_refuse(e, n, "DequantizeLinear would give float");
}

/* Scale and Offset as ONNX takes them: Axis counts where they are lists. */
static void
export_axis(exporter *e, const glow_node *n, int axis, int block)
{
    if (n->in[1]->type->shape.rank)
        export_int(e, "axis", axis);
    if (block)
        export_int(e, "block_size", block);
}

static bool
quantize_linear(exporter *e, const glow_node *n)
{
    const glow_quantizelinear *q = n->attrs;
    glow_kind kind = n->out[0]->type->elem;

    export_last(
        e, n, "QuantizeLinear",
        NAMES(export_in(e, n, 0), export_in(e, n, 1), export_in(e, n, 2)));
    export_axis(e, n, q->axis, q->block_size);
    if (!n->in[2] && kind != GLOW_UINDEX8)
        export_int(e, "output_dtype", tensor_elem_for(kind)->type);
    if (!q->saturate)
        export_int(e, "saturate", 0);
    return true;
}

static bool
dequantize_linear(exporter *e, const glow_node *n)
{
    const glow_dequantizelinear *q = n->attrs;

    if (n->out[0]->type->elem != n->in[1]->type->elem)
        return export_refuse(e, n, "the result is %s, but the scale %s",
                             glow_kind_get(n->out[0]->type->elem)->name,
                             glow_kind_get(n->in[1]->type->elem)->name);
    export_last(
        e, n, "DequantizeLinear",
        NAMES(export_in(e, n, 0), export_in(e, n, 1), export_in(e, n, 2)));
    export_axis(e, n, q->axis, q->block_size);
    return true;
}

/* Mapping at q - least. */
static bool
lookup(exporter *e, const glow_node *n)
{
    int64_t least = glow_quantized_least(n->in[0]->type->elem);
    const char *at = export_cast(e, n, export_in(e, n, 0), GLOW_INDEX64);

    if (least)
        at = export_step(
            e, n, "Sub",
            NAMES(at, export_number(e, n, GLOW_INDEX64, (double)least)));
    return export_last(e, n, "Gather", NAMES(export_in(e, n, 1), at));
}

/* A product that expand-quantized left. */
static bool
product(exporter *e, const glow_node *n)
{
    return export_refuse(e, n,
                         "offsets of weights must be constants within their "
                         "kind, and a bias constant or in units of the sums");
}

const export_row export_quantized_rows[] = {
    {&glow_op_channelwisequantizedconvolution, product, NULL},
    {&glow_op_dequantize, dequantize, NULL},
    {&glow_op_dequantizelinear, dequantize_linear, NULL},
    {&glow_op_intlookuptable, lookup, NULL},
    {&glow_op_quantize, quantize, NULL},
    {&glow_op_quantizelinear, quantize_linear, NULL},
    {&glow_op_rowwisequantizedfullyconnected, product, NULL},
    {NULL, NULL, NULL},
};

/*
 * The opset since which ONNX has the conversion `n`: axes since 13, 16 bits and blocks
 * since 21.  0 for other nodes.
 */
int
export_quantized_opset(const glow_node *n)
{
    const glow_quantizelinear *q = GLOW_AS(quantizelinear, n);
    const glow_dequantizelinear *d = GLOW_AS(dequantizelinear, n);
    bool has_type = q && !n->in[2] && n->out[0]->type->elem != GLOW_UINDEX8;
    glow_kind of = q || glow_is(n, &glow_op_quantize) ? n->out[0]->type->elem
                   : d || glow_is(n, &glow_op_dequantize) ? n->in[0]->type->elem
                                                          : GLOW_NO_KIND;

    if (of == GLOW_NO_KIND)
        return 0;
    return glow_kind_get(of)->bits == 16 || has_type || (q && q->block_size) ||
                   (d && d->block_size)
               ? 21
               : 13;
}
