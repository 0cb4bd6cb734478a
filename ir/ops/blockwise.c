/*
 * Products of floats with weights of 8 or 4 bits, each block of a row with a scale and
 * an offset of its own.
 */

#include "ir/ops/product.h"

static bool
check_attrs(const glow_node *n)
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;

    if (q->bits != 8 && q->bits != 4)
        return glow_reject(n, "Bits is %d, but must be 8 or 4", q->bits);
    if (q->block_size < 1 || q->block_size > INT32_MAX ||
        q->block_size * q->bits % 8)
        return glow_reject(n,
                           "BlockSize is %" PRId64
                           ", but a block of %d bits each must fill whole "
                           "bytes, and have at most %d weights",
                           q->block_size, q->bits, INT32_MAX);
    return q->k >= 0 || glow_reject(n,
                                    "K is %" PRId64 ", but the sum has 0 or "
                                    "more terms",
                                    q->k);
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

static bool
blockwise_infer(const glow_node *n, glow_type out[])
{
    const glow_blockwisequantizedfullyconnected *q = n->attrs;
    glow_dims x = n->in[0]->type->shape, w = n->in[1]->type->shape, blocks;

    if (!check_attrs(n) || !glow_admit(n, 0, GLOW_ANY_FLOAT) ||
        !glow_check_rank(n, 0, 2) ||
        !glow_check_shape(n, 0, GLOW_DIMS_OF(x.at[0], q->k), "what K asks for"))
        return false;
    if (!check_bytes(n, 1) || !glow_check_rank(n, 1, 3))
        return false;
    blocks = GLOW_DIMS_OF(w.at[0],
                          q->k / q->block_size + (q->k % q->block_size > 0));
    return glow_check_shape(
               n, 1,
               GLOW_DIMS_OF(w.at[0], blocks.at[1], q->block_size * q->bits / 8),
               "what K, Bits and BlockSize ask for") &&
           glow_admit(n, 2, GLOW_ANY_FLOAT) &&
           glow_check_shape(n, 2, blocks, "one for each block") &&
           (!n->in[3] ||
            (check_bytes(n, 3) &&
             glow_check_shape(n, 3, blocks, "one for each block"))) &&
           (!n->in[4] || (glow_check_kinds(n, 4, 0) &&
                          glow_check_shape(n, 4, GLOW_DIMS_OF(w.at[0]),
                                           "one for each row of Weights"))) &&
           glow_give(
               n, glow_reshaped(n->in[0]->type, GLOW_DIMS_OF(x.at[0], w.at[0])),
               &out[0]);
}

/* Weights as reals, [N, K]; float64 holds each exactly. */
static void
unpack(const glow_blockwisequantizedfullyconnected *q, glow_tensor *const in[],
       glow_tensor *to)
{
    glow_dims blocks = in[2]->type->shape;
    int64_t each = 8 / q->bits, bytes = q->block_size / each;
    double *w = to->data;

    for (int64_t row = 0; row < blocks.at[0]; row++)
        for (int64_t k = 0; k < q->k; k++) {
            int64_t block = row * blocks.at[1] + k / q->block_size;
            int64_t i = k % q->block_size;
            int64_t byte = glow_get_int(in[1], block * bytes + i / each);
            int64_t v = byte >> i % each * q->bits & ((1 << q->bits) - 1);
            int64_t zero = in[3] ? glow_get_int(in[3], block)
                                 : (int64_t)1 << (q->bits - 1);

            w[row * q->k + k] =
                glow_get_double(in[2], block) * (double)(v - zero);
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
    unpack(q, in, &w);
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
