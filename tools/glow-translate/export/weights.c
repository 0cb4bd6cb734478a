/*
 * Export of products of floats by integer weights: in blocks as MatMulNBits of ONNX
 * Runtime's domain, or as DequantizeLinear and MatMul where a block is not a power of two
 * from 16 on; of floats that are quantized at run time as DynamicQuantizeLinear,
 * or the arithmetic of a symmetric range, and MatMulInteger.
 */

#include "glow/match.h"
#include "tools/glow-translate/export/export.h"
#include "tools/glow-translate/tensor.h"

static const char ort[] = "com.microsoft";

enum { LEAST_BLOCK = 16 }; /* of MatMulNBits */

static const glow_tensor *
elements(const glow_value *v)
{
    return glow_constant_data(v, glow_type_count(v->type));
}

/* BlockwiseQuantizedFullyConnected. */

/* True if MatMulNBits can have the offsets: constants of that many bits. */
static bool
has_zero_points(const glow_value *v, int bits)
{
    const glow_tensor *t = elements(v);

    for (int64_t i = 0; t && i < glow_type_count(v->type); i++)
        if (glow_get_int(t, i) >> bits)
            return false;
    return t != NULL;
}

static bool
is_matmul_bits(const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    glow_kind x = n->in[0]->type->elem, s = n->in[2]->type->elem;

    return q->k > 0 && q->block_size >= LEAST_BLOCK &&
           (q->block_size & (q->block_size - 1)) == 0 &&
           (x == s ||
            (x == GLOW_FLOAT && s == GLOW_FLOAT16 && elements(n->in[2]))) &&
           (!n->in[3] || has_zero_points(n->in[3], q->bits));
}

/* True if weights, scales and offsets can be those of a DequantizeLinear. */
static bool
is_dequantized(const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;

    return q->k > 0 && n->in[0]->type->elem == GLOW_FLOAT &&
           elements(n->in[1]) && elements(n->in[2]) &&
           (!n->in[3] || has_zero_points(n->in[3], q->bits));
}

static bool
can_blockwise(const glow_node *n)
{
    return is_matmul_bits(n) || is_dequantized(n);
}

int
export_weights_opset(const glow_node *n)
{
    return n->op == &glow_op_blockwisequantizedfullyconnected &&
                   !is_matmul_bits(n)
               ? 21
               : 0;
}

const export_limit export_weights_limits[] = {
    {&glow_op_blockwisequantizedfullyconnected, can_blockwise},
    {NULL, NULL},
};

/* Zero points of `bits`, [N, bytes]: each row begins with a byte. */
static const char *
zero_points(exporter *e, const glow_node *n, int bits)
{
    const glow_tensor *from = elements(n->in[3]);
    glow_dims shape = n->in[3]->type->shape;
    int64_t bytes = (shape.at[1] * bits + 7) / 8;
    uint8_t *to =
        GLOW_NEW_ARRAY(export_arena(e), uint8_t, shape.at[0] * bytes + 1);
    glow_type t = glow_type_of(GLOW_UINDEX8, GLOW_DIMS_OF(shape.at[0], bytes));

    for (int64_t r = 0; r < shape.at[0]; r++)
        for (int64_t i = 0; i < shape.at[1]; i++) {
            int64_t z = glow_get_int(from, r * shape.at[1] + i);

            to[r * bytes + i * bits / 8] |= (uint8_t)(z << i * bits % 8);
        }
    return export_constant(e, n, glow_type_get(export_context(e), t), to);
}

/* Scales in the kind of Input. */
static const char *
scales_of(exporter *e, const glow_node *n)
{
    const glow_type *from = n->in[2]->type;
    int64_t count = glow_type_count(from);
    float *to;

    if (from->elem == n->in[0]->type->elem)
        return export_in(e, n, 2);
    to = GLOW_NEW_ARRAY(export_arena(e), float, count + 1);
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)glow_get_double(elements(n->in[2]), i);
    return export_constant(
        e, n,
        glow_type_get(export_context(e), glow_type_of(GLOW_FLOAT, from->shape)),
        to);
}

/*
 * Bytes of `from`, each with `each` integers, as [rows, columns] of uint4 or uint8,
 * without what pads rows of `stride`; of an omitted operand the middle.
 */
static const char *
integers(exporter *e, const glow_node *n, const glow_value *from, int each,
         int64_t columns, int64_t stride)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    int64_t rows = n->in[1]->type->shape.at[0];
    glow_type t = glow_type_of(q->bits == 8 ? GLOW_UINDEX8 : GLOW_UINT4,
                               GLOW_DIMS_OF(rows, columns));
    const glow_tensor *bytes = from ? elements(from) : NULL;
    const glow_type *type = glow_type_get(export_context(e), t);
    glow_tensor to = {
        type,
        glow_arena_alloc(export_arena(e), (size_t)glow_type_bytes(type) + 1),
        NULL};

    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t at = i / columns * stride + i % columns;
        int64_t v = bytes
                        ? glow_get_int(bytes, at / each) >> at % each * q->bits
                        : 1 << (q->bits - 1);

        glow_set_int(&to, i, v & ((1 << q->bits) - 1));
    }
    return export_constant(e, n, type, to.data);
}

/* Weights [K, N] as a DequantizeLinear. */
static const char *
dequantized(exporter *e, const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    int64_t blocks = n->in[2]->type->shape.at[1];
    const char *w =
        integers(e, n, n->in[1], 8 / q->bits, q->k, blocks * q->block_size);
    const char *zeros = integers(e, n, n->in[3], 1, blocks, blocks);

    w = export_step(e, n, "DequantizeLinear", NAMES(w, scales_of(e, n), zeros));
    export_int(e, "axis", 1);
    export_int(e, "block_size", q->block_size);
    return export_transpose(e, n, w, GLOW_DIMS_OF(1, 0));
}

static bool
blockwise_parts(exporter *e, const glow_node *n)
{
    const char *x = export_in(e, n, 0), *w = dequantized(e, n);

    if (!n->in[4])
        return export_last(e, n, "MatMul", NAMES(x, w));
    return export_last(e, n, "Gemm", NAMES(x, w, export_in(e, n, 4)));
}

static bool
blockwise(exporter *e, const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    const char *zeros;

    if (!is_matmul_bits(n))
        return blockwise_parts(e, n);
    zeros = n->in[3] ? zero_points(e, n, q->bits) : "";

    export_last(e, n, "MatMulNBits",
                NAMES(export_in(e, n, 0), export_in(e, n, 1), scales_of(e, n),
                      zeros, "", export_in(e, n, 4)));
    export_domain(e, ort, sizeof ort - 1);
    export_int(e, "K", q->k);
    export_int(e, "N", n->in[1]->type->shape.at[0]);
    export_int(e, "bits", q->bits);
    export_int(e, "block_size", q->block_size);
    export_state_type(e, n->out[0]);
    return true;
}

/* Products of floats that are quantized at run time. */

/* Input as integers, with its scale and zero point. */
typedef struct dynamic {
    const char *q, *scale, *zero;
} dynamic;

static void
asymmetric(exporter *e, const glow_node *n, dynamic *d)
{
    const char *out[3];

    export_steps(e, n, "DynamicQuantizeLinear", NAMES(export_in(e, n, 0)), out,
                 3);
    *d = (dynamic){out[0], out[1], out[2]};
}

/* The scale of all of Input, [1, 1], or of each row, [M, 1]. */
static const char *
range_scale(exporter *e, const glow_node *n, bool by_row)
{
    glow_dims axes = by_row ? GLOW_DIMS_OF(1) : GLOW_DIMS_OF(0, 1);
    bool is_operand = export_opset(e) >= 18;
    const char *in[2] = {export_step(e, n, "Abs", NAMES(export_in(e, n, 0)))};
    const char *scale, *none;

    if (is_operand)
        in[1] = export_dims_list(e, n, axes);
    scale = export_step(e, n, "ReduceMax", in, 1 + is_operand);
    if (!is_operand)
        export_dims(e, "axes", axes);
    scale = export_step(e, n, "Div",
                        NAMES(scale, export_number(e, n, GLOW_FLOAT, 127)));
    none = export_step(e, n, "Equal",
                       NAMES(scale, export_number(e, n, GLOW_FLOAT, 0)));
    return export_step(e, n, "Where",
                       NAMES(none, export_number(e, n, GLOW_FLOAT, 1), scale));
}

static void
symmetric(exporter *e, const glow_node *n, bool by_row, dynamic *d)
{
    int64_t rows = n->in[0]->type->shape.at[0];
    glow_type t = glow_type_of(GLOW_INT8, GLOW_DIMS_OF(rows));
    const char *scales, *zeros;

    d->scale = range_scale(e, n, by_row);
    d->zero = export_number(e, n, GLOW_INT8, 0);
    if (!by_row)
        d->scale = export_reshape(e, n, d->scale, (glow_dims){0});
    scales = d->scale;
    zeros = d->zero;
    if (by_row) {
        scales = export_reshape(e, n, scales, GLOW_DIMS_OF(rows));
        zeros =
            export_constant(e, n, glow_type_get(export_context(e), t),
                            GLOW_NEW_ARRAY(export_arena(e), int8_t, rows + 1));
    }
    d->q = export_step(e, n, "QuantizeLinear",
                       NAMES(export_in(e, n, 0), scales, zeros));
    if (by_row)
        export_int(e, "axis", 0);
}

/* Offsets of weights: of their type, or operand 4, a constant of their kind. */
static const char *
weight_zeros(exporter *e, const glow_node *n)
{
    const glow_type *w = n->in[1]->type;
    glow_kind kind = tensor_stored_as(w->elem);

    if (n->n_in < 5)
        return export_number(e, n, kind, w->offset);
    return export_cast(e, n, export_in(e, n, 4), kind);
}

/* True if the offsets of columns are constants that the kind of weights has. */
static bool
has_offsets(const glow_node *n)
{
    glow_kind kind = n->in[1]->type->elem;
    const glow_tensor *t = elements(n->in[4]);

    for (int64_t i = 0; t && i < glow_type_count(n->in[4]->type); i++)
        if (glow_get_int(t, i) < glow_quantized_least(kind) ||
            glow_get_int(t, i) > glow_quantized_most(kind))
            return false;
    return t != NULL;
}

static bool
dynamic_product(exporter *e, const glow_node *n)
{
    const glow_dynamicquantizedfullyconnected *how = n->attrs;
    bool by_column = n->n_in == 5;
    const char *y, *scale;
    dynamic d;

    if (n->in[0]->type->elem != GLOW_FLOAT)
        return export_refuse(e, n, "DynamicQuantizeLinear takes float, not %s",
                             glow_kind_get(n->in[0]->type->elem)->name);
    if (!how->is_symmetric && how->is_per_batch_element)
        return export_refuse(e, n,
                             "DynamicQuantizeLinear has one scale and zero "
                             "point, not those of %d rows",
                             (int)n->in[0]->type->shape.at[0]);
    if (by_column && !has_offsets(n))
        return export_refuse(e, n,
                             "the offsets must be constant elements of the "
                             "kind of Weights, as the zero points of "
                             "MatMulInteger are");
    if (how->is_symmetric)
        symmetric(e, n, how->is_per_batch_element, &d);
    else
        asymmetric(e, n, &d);
    y = export_step(e, n, "MatMulInteger",
                    NAMES(d.q, export_in(e, n, 1), d.zero, weight_zeros(e, n)));
    y = export_cast(e, n, y, GLOW_FLOAT);
    scale = by_column ? export_in(e, n, 3)
                      : export_number(e, n, GLOW_FLOAT,
                                      (double)n->in[1]->type->scale);
    y = export_step(e, n, "Mul", NAMES(y, scale));
    y = export_step(e, n, "Mul", NAMES(y, d.scale));
    return export_last(e, n, "Add", NAMES(y, export_in(e, n, 2)));
}

const export_row export_weights_rows[] = {
    {&glow_op_blockwisequantizedfullyconnected, blockwise, NULL},
    {&glow_op_dynamicquantizedfullyconnected, dynamic_product, NULL},
    {&glow_op_dynamicrowwisequantizedfullyconnected, dynamic_product, NULL},
    {NULL, NULL, NULL},
};
