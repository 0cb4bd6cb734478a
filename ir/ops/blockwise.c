/*
 * Weights of 8 or 4 bits, each block of a row with a scale and an offset of its own:
 * products of floats with them, and them as floats.
 */

#include "ir/ops/product.h"

/* Weights [rows, depth] in blocks. */
typedef struct layout {
    int64_t depth;
    int bits;
    int64_t block;
} layout;

static bool
check_layout(const glow_node *n, layout l)
{
    if (l.bits != 8 && l.bits != 4)
        return glow_reject(n, "Bits is %d, but must be 8 or 4", l.bits);
    if (l.block < 1 || l.block > INT32_MAX || l.block * l.bits % 8)
        return glow_reject(n,
                           "BlockSize is %" PRId64
                           ", but a block of %d bits each must fill whole "
                           "bytes, and have at most %d weights",
                           l.block, l.bits, INT32_MAX);
    return l.depth >= 0 || glow_reject(n,
                                       "K is %" PRId64 ", but the sum has 0 or "
                                       "more terms",
                                       l.depth);
}

/* Operand `i` has the kind uindex8. */
static bool
check_bytes(const glow_node *n, int i)
{
    glow_kind kind = n->in[i]->type->elem;

    return kind == GLOW_UINDEX8 ||
           glow_reject(n, "the elements of %s are %s, but must be uindex8",
                       n->op->in[i].name, glow_kind_get(kind)->name);
}

/* Operands `first` to `first` + 2 are weights, scales and offsets of `l`; `asked` by these. */
static bool
check_blocks(const glow_node *n, int first, layout l, const char *asked)
{
    glow_dims w = n->in[first]->type->shape, blocks;

    if (!check_bytes(n, first) || !glow_check_rank(n, first, 3))
        return false;
    blocks = GLOW_DIMS_OF(w.at[0], l.depth / l.block + (l.depth % l.block > 0));
    return glow_check_shape(
               n, first,
               GLOW_DIMS_OF(w.at[0], blocks.at[1], l.block * l.bits / 8),
               asked) &&
           glow_admit(n, first + 1, GLOW_ANY_FLOAT) &&
           glow_check_shape(n, first + 1, blocks, "one for each block") &&
           (!n->in[first + 2] ||
            (check_bytes(n, first + 2) &&
             glow_check_shape(n, first + 2, blocks, "one for each block")));
}

/* Sets the scale of weight `k` of row `row` and returns the weight in steps of it;
   `in` are weights, scales and offsets. */
static int64_t
weight_at(layout l, glow_tensor *const in[], int64_t row, int64_t k,
          double *scale)
{
    int64_t each = 8 / l.bits, bytes = l.block / each;
    int64_t block = row * in[1]->type->shape.at[1] + k / l.block;
    int64_t i = k % l.block;
    int64_t byte = glow_get_int(in[0], block * bytes + i / each);
    int64_t v = byte >> i % each * l.bits & ((1 << l.bits) - 1);
    int64_t zero =
        in[2] ? glow_get_int(in[2], block) : (int64_t)1 << (l.bits - 1);

    *scale = glow_get_double(in[1], block);
    return v - zero;
}

/* blockwisequantizedfullyconnected */

static layout
layout_of(const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;

    return (layout){q->k, q->bits, q->block_size};
}

static bool
blockwise_infer(const glow_node *n, glow_type out[])
{
    layout l = layout_of(n);
    glow_dims x = n->in[0]->type->shape, w = n->in[1]->type->shape;

    return check_layout(n, l) && glow_admit(n, 0, GLOW_ANY_FLOAT) &&
           glow_check_rank(n, 0, 2) &&
           glow_check_shape(n, 0, GLOW_DIMS_OF(x.at[0], l.depth),
                            "what K asks for") &&
           check_blocks(n, 1, l, "what K, Bits and BlockSize ask for") &&
           (!n->in[4] || (glow_check_kinds(n, 4, 0) &&
                          glow_check_shape(n, 4, GLOW_DIMS_OF(w.at[0]),
                                           "one for each row of Weights"))) &&
           glow_give(
               n, glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(x.at[0], w.at[0])),
               &out[0]);
}

/* Weights as reals, [N, K]; float64 holds each exactly. */
static void
unpack(layout l, glow_tensor *const in[], glow_tensor *to)
{
    double *w = to->data;

    for (int64_t row = 0; row < in[0]->type->shape.at[0]; row++)
        for (int64_t k = 0; k < l.depth; k++) {
            double scale;
            int64_t v = weight_at(l, in, row, k, &scale);

            w[row * l.depth + k] = scale * (double)v;
        }
}

typedef struct blockwise {
    glow_tensor *const *in;
    const glow_tensor *out;
    int64_t depth, columns;
} blockwise;

static void
give_rows(const void *user, int64_t first, int64_t count, double *a)
{
    const blockwise *s = user;

    glow_load(s->in[0], first * s->depth, count * s->depth, a);
}

static void
take_sums(const void *user, int64_t row, int64_t first, int64_t count,
          double *c)
{
    const blockwise *s = user;

    for (int64_t j = 0; j < count && s->in[4]; j++)
        c[j] += glow_get_double(s->in[4], first + j);
    glow_store(s->out, row * s->columns + first, count, c);
}

static bool
blockwise_eval(const glow_node *n, glow_tensor *const in[],
               glow_tensor *const out[], glow_arena *scratch)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    glow_dims y = out[0]->type->shape;
    glow_type type = glow_type_of(GLOW_FLOAT64, GLOW_DIMS_OF(y.at[1], q->k));
    glow_tensor w = glow_tensor_new(&type);
    blockwise s = {in, out[0], q->k, y.at[1]};

    (void)scratch;
    unpack(layout_of(n), in + 1, &w);
    glow_multiply(&(glow_product){.rows = y.at[0],
                                  .columns = y.at[1],
                                  .depth = q->k,
                                  .b = &w,
                                  .b_depth = 1,
                                  .b_column = q->k,
                                  .give = give_rows,
                                  .take = take_sums,
                                  .user = &s});
    glow_tensor_end(&w);
    return true;
}

static int64_t
blockwise_flops(const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;

    return glow_multiply_adds(n->out[0], q->k);
}

const glow_op glow_op_blockwisequantizedfullyconnected = {
    .name = "BlockwiseQuantizedFullyConnected",
    .summary = "multiply floats by weights of 8 or 4 bits in blocks, each with "
               "a scale and an offset, and add a bias",
    .in = {{"Input", GLOW_TENSOR, "x, floats of shape [M, K]"},
           {"Weights", GLOW_TENSOR,
            "q, of shape [N, blocks, BlockSize * Bits / 8]; uindex8.  With "
            "Bits 4 a byte has two weights, the first in its low bits"},
           {"Scales", GLOW_TENSOR, "s, of shape [N, blocks]; floats"},
           {"Offsets", GLOW_OPTIONAL,
            "z, of shape [N, blocks]; uindex8.  Omitted: 2^(Bits - 1)"},
           {"Bias", GLOW_OPTIONAL, "b, of shape [N]; the kind of Input"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [M, N]; the kind of Input"}},
    .attrs = {GLOW_FIELD(glow_blockwisequantizedfullyconnected, k, GLOW_INT64,
                         "columns of Input"),
              GLOW_FIELD(glow_blockwisequantizedfullyconnected, bits, GLOW_INT,
                         "of a weight: 8 or 4"),
              GLOW_FIELD(glow_blockwisequantizedfullyconnected, block_size,
                         GLOW_INT64,
                         "weights of a row that share a scale; the last block "
                         "is padded to it, and its padding does not count")},
    .traits = GLOW_PURE | GLOW_REDUCTION,
    .infer = blockwise_infer,
    .eval = blockwise_eval,
    .flops = blockwise_flops,
    .doc = "`y[m, n] = b[n] + sum over k of x[m, k] * s[n, g] * (q[n, k] - "
           "z[n, g])`, where block g of row n has weight k: `g = k / "
           "BlockSize`.",
    .source = "ONNX Runtime MatMulNBits; llama.cpp Q4_0, Q8_0",
};

/* blockwisedequantize */

static bool
blockwisedequantize_infer(const glow_node *n, glow_type out[])
{
    const glow_blockwisedequantize *q = n->attrs;
    glow_dims w = n->in[0]->type->shape;
    layout l = {1, q->bits, q->block_size};
    int64_t count;

    if (!glow_check_stated(n, &out[0]) || !check_layout(n, l))
        return false;
    for (int i = 0; i < q->dims.rank; i++)
        if (q->dims.at[i] < 0)
            return glow_reject(n,
                               "Dims[%d] is %" PRId64 ", but must be 0 or more",
                               i, q->dims.at[i]);
    if (q->dims.rank < 1 || !glow_dims_checked_count(q->dims, &count))
        return glow_reject(n, "Dims must have 1 axis or more, and no more "
                              "elements than 64 bits count");
    l.depth = glow_dims_product(q->dims, 1, q->dims.rank);
    if (!glow_is_float(out[0].elem))
        return glow_reject(n,
                           "the elements of Result are %s, but must be floats",
                           glow_kind_get(out[0].elem)->name);
    if (!check_blocks(n, 0, l, "what Dims, Bits and BlockSize ask for"))
        return false;
    if (w.at[0] != q->dims.at[0])
        return glow_reject(
            n, "Weights has %" PRId64 " rows, but Dims[0] is %" PRId64, w.at[0],
            q->dims.at[0]);
    return glow_give(n, glow_type_of(out[0].elem, q->dims), &out[0]);
}

static bool
blockwisedequantize_eval(const glow_node *n, glow_tensor *const in[],
                         glow_tensor *const out[], glow_arena *scratch)
{
    const glow_blockwisedequantize *q = n->attrs;
    layout l = {glow_dims_product(q->dims, 1, q->dims.rank), q->bits,
                q->block_size};

    (void)scratch;
    for (int64_t row = 0; row < q->dims.at[0]; row++)
        for (int64_t k = 0; k < l.depth; k++) {
            double scale;
            int64_t v = weight_at(l, in, row, k, &scale);
            float w = (float)scale * (float)v;

            glow_set_double(out[0], row * l.depth + k, (double)w);
        }
    return true;
}

const glow_op glow_op_blockwisedequantize = {
    .name = "BlockwiseDequantize",
    .summary = "make floats of weights of 8 or 4 bits in blocks, each with a "
               "scale and an offset",
    .in = {{"Weights", GLOW_TENSOR,
            "q, of shape [N, blocks, BlockSize * Bits / 8]; uindex8.  With "
            "Bits 4 a byte has two weights, the first in its low bits"},
           {"Scales", GLOW_TENSOR, "s, of shape [N, blocks]; floats"},
           {"Offsets", GLOW_OPTIONAL,
            "z, of shape [N, blocks]; uindex8.  Omitted: 2^(Bits - 1)"}},
    .out = {{"Result", GLOW_TENSOR, "w, of shape Dims; the stated float kind"}},
    .attrs = {GLOW_FIELD(glow_blockwisedequantize, dims, GLOW_DIMS,
                         "of Result: N, and axes whose product is K"),
              GLOW_FIELD(glow_blockwisedequantize, bits, GLOW_INT,
                         "of a weight: 8 or 4"),
              GLOW_FIELD(glow_blockwisedequantize, block_size, GLOW_INT64,
                         "weights of a row that share a scale; the last block "
                         "is padded to it")},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = blockwisedequantize_infer,
    .eval = blockwisedequantize_eval,
    .doc = "`w[n, k] = s[n, g] * (q[n, k] - z[n, g])`, where block g of row n "
           "has weight k: `g = k / BlockSize`; k counts the elements behind "
           "the first axis.  A product of floats, then in the kind of Result.",
    .source = "llama.cpp Q4_0, Q8_0; ONNX DequantizeLinear",
};
