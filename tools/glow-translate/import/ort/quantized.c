/*
 * Quantized operators of ONNX Runtime: the operator of floats between
 * DequantizeLinear and QuantizeLinear, of which passes make integer arithmetic where
 * scales are constant.  MatMulNBits unpacks its weights into a DequantizeLinear by
 * blocks.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/ort/ort.h"

/* Operands i, i + 1 and i + 2: elements, scale, zero point. */
static glow_value *
floats_of(import_node *n, int i)
{
    return import_dequantize(n, import_in(n, i), import_in(n, i + 1),
                             import_in(n, i + 2), 0);
}

/* `y` by the scale and zero point at i and i + 1, of the kind of operand `like`. */
static bool
quantized(import_node *n, glow_value *y, int i, int like)
{
    glow_value *zero = import_in(n, i + 1);
    glow_kind kind = zero ? zero->type->elem : import_in(n, like)->type->elem;

    return import_done(n, import_quantize(n, y, import_in(n, i), zero, kind));
}

static bool
binary(import_node *n)
{
    bool adds = n->row->op == &glow_op_add;
    glow_value *in[2];

    if (!import_operands(n, 7, 8))
        return false;
    in[0] = floats_of(n, 0);
    in[1] = floats_of(n, 3);
    return quantized(n, import_as(n, adds ? "Add" : "Mul", ORT_OPSET, in, 2), 6,
                     0);
}

/* Of one operand, by ONNX's operator `name` of an opset. */
static bool
unary(import_node *n, const char *name, int opset)
{
    glow_value *x;

    if (!import_operands(n, 4, 5))
        return false;
    x = floats_of(n, 0);
    return quantized(n, import_as(n, name, opset, &x, 1), 3, 0);
}

static bool
sigmoid(import_node *n)
{
    return unary(n, "Sigmoid", ORT_OPSET);
}

static bool
leaky_relu(import_node *n)
{
    return unary(n, "LeakyRelu", ORT_OPSET);
}

static bool
softmax(import_node *n)
{
    return unary(n, "Softmax",
                 import_int(n, "opset", 13, 1, 100) < 13 ? 11 : ORT_OPSET);
}

/* Pooling, with channels second or last. */
static bool
pool(import_node *n)
{
    bool is_global = strstr(n->row->name, "Global") != NULL;
    bool channels_last = import_flag(n, "channels_last", false);
    glow_value *x;

    if (!import_operands(n, 4, 5))
        return false;
    x = floats_of(n, 0);
    if (channels_last)
        x = import_to_nchw(n, x);
    x = is_global ? import_as(n, "GlobalAveragePool", ORT_OPSET, &x, 1)
                  : import_average_pool(n, x, true);
    if (channels_last)
        x = import_to_nhwc(n, x);
    return quantized(n, x, 3, 0);
}

static bool
concat(import_node *n)
{
    int count = (n->n_in - 2) / 3;
    glow_value **in;

    if (!import_operands(n, 5, INT16_MAX))
        return false;
    if (n->n_in != 2 + 3 * count)
        return import_refuse(n, "E0711",
                             "%d operands, but 2 and a multiple of 3 are due",
                             n->n_in);
    in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, count);
    for (int i = 0; i < count; i++)
        in[i] = floats_of(n, 2 + 3 * i);
    return quantized(n, import_as(n, "Concat", ORT_OPSET, in, count), 0, 2);
}

/* The product of two scales, each one number or a list. */
static glow_value *
scale_product(import_node *n, int a, int b)
{
    glow_value *x = import_convert(n, import_in(n, a), GLOW_FLOAT);
    glow_value *y = import_convert(n, import_in(n, b), GLOW_FLOAT);

    return import_binary(n, &glow_op_mul, x, y);
}

static bool
gemm(import_node *n)
{
    enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, Y_SCALE, Y_ZERO };
    glow_value *in[3] = {NULL};
    float alpha = import_float(n, "alpha", 1);
    bool turned = import_flag(n, "transB", false);
    int count = 2;

    if (!import_operands(n, 6, 9))
        return false;
    in[0] = floats_of(n, A);
    in[1] = import_dequantize(n, import_in(n, B), import_in(n, B_SCALE),
                              import_in(n, B_ZERO), turned ? 0 : 1);
    if (import_in(n, C)) {
        glow_value *scale =
            import_scale(n, scale_product(n, A_SCALE, B_SCALE), alpha);
        int rank = import_shape(import_in(n, C)).rank;

        in[count++] = import_dequantize(n, import_in(n, C), scale, NULL,
                                        rank ? rank - 1 : 0);
    }
    in[0] = import_as(n, "Gemm", ORT_OPSET, in, count);
    return import_in(n, Y_SCALE) ? quantized(n, in[0], Y_SCALE, A)
                                 : import_done(n, in[0]);
}

/* x w + bias of floats; the axis of columns of `w` is its last. */
static bool
product(import_node *n, glow_value *x, glow_value *w, glow_value *bias)
{
    glow_value *y =
        import_as(n, "MatMul", ORT_OPSET, (glow_value *[]){x, w}, 2);

    return import_done(n, ort_add(n, y, bias));
}

static glow_value *
by_columns(import_node *n, int w, int scale, int zero)
{
    int rank = import_shape(import_in(n, w)).rank;

    return import_dequantize(n, import_in(n, w), import_in(n, scale),
                             import_in(n, zero), rank ? rank - 1 : 0);
}

static bool
dynamic_matmul(import_node *n)
{
    enum { A, B, B_SCALE, B_ZERO, BIAS };
    glow_value *q, *scale, *zero;

    if (!import_operands(n, 3, 5))
        return false;
    q = import_quantize_dynamically(n, import_in(n, A), &scale, &zero);
    q = import_dequantize(n, q, scale, zero, 0);
    return product(n, q, by_columns(n, B, B_SCALE, B_ZERO), import_in(n, BIAS));
}

static bool
matmul_to_float(import_node *n)
{
    enum { A, B, A_SCALE, B_SCALE, A_ZERO, B_ZERO, BIAS };
    glow_value *a;

    if (!import_operands(n, 4, 7))
        return false;
    a = import_dequantize(n, import_in(n, A), import_in(n, A_SCALE),
                          import_in(n, A_ZERO), 0);
    return product(n, a, by_columns(n, B, B_SCALE, B_ZERO), import_in(n, BIAS));
}

/* Attention of the floats that input and weights stand for. */
static bool
attention(import_node *n)
{
    enum { X, W, BIAS, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST };
    const import_row *any;
    glow_value **in = GLOW_NEW_ARRAY(import_arena(n), glow_value *, 5);

    if (!import_operands(n, 5, 9))
        return false;
    in[0] = import_dequantize(n, import_in(n, X), import_in(n, X_SCALE),
                              import_in(n, X_ZERO), 0);
    in[1] = by_columns(n, W, W_SCALE, W_ZERO);
    in[2] = import_in(n, BIAS);
    in[3] = import_in(n, MASK);
    in[4] = import_in(n, PAST);
    n->in = in;
    n->n_in = in[4] ? 5 : in[3] ? 4 : 3;
    n->in_list = GLOW_NEW_ARRAY(import_arena(n), const import_list *, 5);
    return !n->failed &&
           import_find_row("com.microsoft.Attention", 1, &any)->run(n);
}

/* MatMulNBits. */

typedef struct packing {
    int64_t rows, columns; /* N, K */
    int64_t block, blocks; /* elements of a block, blocks of a row */
    int bits;
} packing;

/* Element `i` of packed bytes, low bits first. */
static int64_t
unpacked(const glow_tensor *t, const packing *p, int64_t i)
{
    int per_byte = 8 / p->bits;
    int64_t byte = glow_get_int(t, i / per_byte);

    return byte >> i % per_byte * p->bits & ((1 << p->bits) - 1);
}

/* `rows` x `columns` integers, of which `stride` bytes hold a row. */
static glow_value *
unpack(import_node *n, const glow_tensor *from, const packing *p,
       int64_t columns, int64_t stride)
{
    static const glow_kind kinds[] = {
        [2] = GLOW_UINT2, [4] = GLOW_UINT4, [8] = GLOW_UINDEX8};
    glow_tensor t = glow_tensor_new(
        import_type(n, kinds[p->bits], GLOW_DIMS_OF(p->rows, columns)));
    int64_t each = stride * (8 / p->bits);

    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < columns; c++)
            glow_set_int(&t, r * columns + c, unpacked(from, p, r * each + c));
    return import_constant_of(n, &t);
}

static bool
read_packing(import_node *n, packing *p)
{
    p->bits = (int)import_int(n, "bits", 4, 2, 8);
    p->rows = import_int(n, "N", 0, 1, INT32_MAX);
    p->columns = import_int(n, "K", 0, 1, INT32_MAX);
    p->block = import_int(n, "block_size", 0, 16, INT32_MAX);
    import_ignore(n, "accuracy_level");
    if (n->failed)
        return false;
    if (p->bits != 2 && p->bits != 4 && p->bits != 8)
        return import_refuse(n, "E0705",
                             "weights of %d bits are not supported, but of 2, "
                             "4 and 8",
                             p->bits);
    if (p->block & (p->block - 1))
        return import_refuse(
            n, "E0710", "block_size is %" PRId64 ", which is no power of two",
            p->block);
    p->blocks = (p->columns - 1) / p->block + 1;
    return true;
}

/* E0711 unless operand i has `each` elements for each of the `rows`. */
static bool
check_count(import_node *n, int i, int64_t rows, int64_t each)
{
    int64_t has = glow_dims_count(import_shape(import_in(n, i))), due;

    if (glow_mul_overflow(rows, each, &due))
        due = INT64_MAX;
    return has == due || import_refuse(n, "E0711",
                                       "operand %d has %" PRId64
                                       " elements, but %" PRId64 " are due",
                                       i, has, due);
}

/* The zero points: [N, blocks], or NULL after a report. */
static glow_value *
zero_points(import_node *n, int i, const packing *p)
{
    glow_value *v = import_in(n, i);
    int64_t stride = (p->blocks * p->bits + 7) / 8;
    const glow_tensor *t;
    glow_value *first;

    if (v && v->type->elem != GLOW_UINDEX8) {
        import_refuse(n, "E0705",
                      "zero points of %s are not supported, but of uint8",
                      glow_kind_get(v->type->elem)->name);
        return NULL;
    }
    if (v) {
        t = check_count(n, i, p->rows, stride) ? import_known(n, i) : NULL;
        return t ? unpack(n, t, p, p->blocks, stride) : NULL;
    }
    first = import_constant_splat(n,
                                  p->bits == 2   ? GLOW_UINT2
                                  : p->bits == 4 ? GLOW_UINT4
                                                 : GLOW_UINDEX8,
                                  GLOW_DIMS_OF(p->rows, p->blocks),
                                  1 << (p->bits - 1), 1 << (p->bits - 1));
    return first;
}

static bool
matmul_bits(import_node *n)
{
    enum { A, B, SCALES, ZEROS, ORDER, BIAS };
    packing p;
    const glow_tensor *bytes;
    glow_value *w, *scales, *zeros;

    if (!import_operands(n, 3, 6) || !read_packing(n, &p))
        return false;
    if (import_in(n, ORDER))
        return import_refuse(n, "E0705",
                             "an order of columns (operand %d) is not "
                             "supported",
                             ORDER);
    if (!check_count(n, B, p.rows, p.blocks * (p.block / 8 * p.bits)) ||
        !check_count(n, SCALES, p.rows, p.blocks))
        return false;
    bytes = import_known(n, B);
    zeros = zero_points(n, ZEROS, &p);
    if (!bytes || !zeros)
        return false;
    w = unpack(n, bytes, &p, p.columns, p.blocks * (p.block / 8 * p.bits));
    scales =
        import_reshape(n, import_in(n, SCALES), GLOW_DIMS_OF(p.rows, p.blocks));
    w = BUILD_STATED(
        n, dequantizelinear,
        import_type(n, import_in(n, A)->type->elem, w->type->shape),
        GLOW_IN(w, scales, zeros), .axis = 1, .block_size = (int)p.block);
    w = import_transpose(n, w, GLOW_DIMS_OF(1, 0));
    return product(n, import_in(n, A), w, import_in(n, BIAS));
}

/* MatMulBnb4: weights of 4 bits that index a table of floats. */
static bool
matmul_table(import_node *n)
{
    return import_refuse(n, "E0705",
                         "weights of the kinds fp4 and nf4 are not supported, "
                         "but integers of 4 bits in MatMulNBits");
}

const import_row import_ort_quantized_rows[] = {
    {"com.microsoft.DequantizeLinear", 1, 0, import_dequantize_linear,
     &glow_op_dequantizelinear, "integers; per tensor or axis"},
    {"com.microsoft.DynamicQuantizeMatMul", 1, 0, dynamic_matmul, NULL,
     "floats by 8-bit integers; the product is one of floats"},
    {"com.microsoft.MatMulBnb4", 1, 0, matmul_table, NULL,
     "refused: weights are indices of a table of floats"},
    {"com.microsoft.MatMulIntegerToFloat", 1, 0, matmul_to_float, NULL,
     "8-bit integers; the product is one of floats"},
    {"com.microsoft.MatMulNBits", 1, 0, matmul_bits, NULL,
     "floats by constants of 2, 4 or 8 bits; g_idx and zero points of floats "
     "are refused"},
    {"com.microsoft.QAttention", 1, 0, attention, &glow_op_attention,
     "8-bit integers; as Attention"},
    {"com.microsoft.QGemm", 1, 0, gemm, NULL, "8-bit integers"},
    {"com.microsoft.QLinearAdd", 1, 0, binary, &glow_op_add, "8-bit integers"},
    {"com.microsoft.QLinearAveragePool", 1, 0, pool, NULL,
     "8-bit integers; 1 to 3 spatial axes"},
    {"com.microsoft.QLinearConcat", 1, 0, concat, NULL, "8-bit integers"},
    {"com.microsoft.QLinearGlobalAveragePool", 1, 0, pool, NULL,
     "8-bit integers; 1 to 3 spatial axes"},
    {"com.microsoft.QLinearLeakyRelu", 1, 0, leaky_relu, NULL,
     "8-bit integers"},
    {"com.microsoft.QLinearMul", 1, 0, binary, &glow_op_mul, "8-bit integers"},
    {"com.microsoft.QLinearSigmoid", 1, 0, sigmoid, NULL, "8-bit integers"},
    {"com.microsoft.QLinearSoftmax", 1, 0, softmax, NULL, "8-bit integers"},
    {"com.microsoft.QuantizeLinear", 1, 0, import_quantize_linear,
     &glow_op_quantizelinear, "floats, to integers; per tensor or axis"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
