/* Weights of DequantizeLinear in the layout of BlockwiseQuantizedFullyConnected. */

#include "passes/graph/common/blocks.h"

#include "glow/match.h"
#include "glow/ops.h"

/* The operands of a DequantizeLinear as tensors, and where they have their elements. */
typedef struct blocks {
    const glow_tensor *q, *scales, *zeros; /* zeros: or NULL */
    bool by_columns;                       /* [K, N], not [N, K] */
    int64_t depth, columns, block, blocks;
    int bits, least; /* of the kind of q */
} blocks;

static bool
set_kind(blocks *k, glow_kind kind)
{
    bool is_signed = kind == GLOW_INT8 || kind == GLOW_INT4;

    k->bits = kind == GLOW_INT8 || kind == GLOW_UINDEX8 ? 8 : 4;
    k->least = is_signed ? -(1 << (k->bits - 1)) : 0;
    return is_signed || kind == GLOW_UINDEX8 || kind == GLOW_UINT4;
}

/* Elements of a constant, or NULL. */
static const glow_tensor *
elements(const glow_value *v)
{
    return glow_constant_data(v, glow_type_count(v->type));
}

/* Finds the blocks that weights `w`, [K, N], are made of. */
static bool
find(glow_value *w, blocks *k)
{
    const glow_node *turned = glow_def(w, &glow_op_transpose);
    const glow_node *d =
        glow_def(turned ? turned->in[0] : w, &glow_op_dequantizelinear);
    const glow_dequantizelinear *a = d ? d->attrs : NULL;

    k->by_columns = !turned;
    if (!d || !a->block_size || d->in[0]->type->shape.rank != 2 ||
        d->in[1]->type->shape.rank != 2 || a->axis != !k->by_columns ||
        !set_kind(k, d->in[0]->type->elem) || a->block_size * k->bits % 8)
        return false;
    k->depth = w->type->shape.at[0];
    k->columns = w->type->shape.at[1];
    k->block = a->block_size;
    k->blocks = k->depth / k->block + (k->depth % k->block > 0);
    if (k->depth < 1 || k->columns < 1 ||
        k->block > k->depth + (k->bits == 4 && k->depth % 2))
        return false;
    k->q = elements(d->in[0]);
    k->scales = elements(d->in[1]);
    k->zeros = d->in[2] ? elements(d->in[2]) : NULL;
    return k->q && k->scales && (k->zeros || !d->in[2]);
}

/* Element `i` of the blocks or weights of column `j`, of `count`. */
static int64_t
place(const blocks *k, int64_t j, int64_t i, int64_t count)
{
    return k->by_columns ? i * k->columns + j : j * count + i;
}

static int64_t
zero_of(const blocks *k, int64_t j, int64_t block)
{
    int64_t z =
        k->zeros ? glow_get_int(k->zeros, place(k, j, block, k->blocks)) : 0;

    return z - k->least;
}

/* True if each offset is the one of omitted Offsets. */
static bool
is_centered(const blocks *k)
{
    for (int64_t j = 0; j < k->columns; j++)
        for (int64_t g = 0; g < k->blocks; g++)
            if (zero_of(k, j, g) != 1 << (k->bits - 1))
                return false;
    return true;
}

static glow_value *
constant(glow_builder *b, const char *suffix, glow_kind kind, glow_dims shape)
{
    glow_type t = glow_type_of(kind, shape);

    return glow_build_constant(b, suffix,
                               glow_type_get(glow_builder_context(b), t));
}

/* Bytes [N, blocks, block * bits / 8], with offsets behind the last weight. */
static glow_value *
pack(glow_builder *b, const blocks *k)
{
    int64_t bytes = k->block * k->bits / 8;
    glow_value *v = constant(b, "weights", GLOW_UINDEX8,
                             GLOW_DIMS_OF(k->columns, k->blocks, bytes));
    unsigned char *to = v ? v->storage->tensor.data : NULL;

    for (int64_t j = 0; v && j < k->columns; j++)
        for (int64_t i = 0; i < k->blocks * k->block; i++) {
            int64_t q =
                i < k->depth
                    ? glow_get_int(k->q, place(k, j, i, k->depth)) - k->least
                    : zero_of(k, j, i / k->block);
            int64_t at = j * k->blocks * k->block + i;

            if (k->bits == 8)
                to[at] = (unsigned char)q;
            else
                to[at / 2] |= (unsigned char)(q << at % 2 * 4);
        }
    return v;
}

static glow_value *
scales_of(glow_builder *b, const blocks *k)
{
    glow_value *v = constant(b, "scales", k->scales->type->elem,
                             GLOW_DIMS_OF(k->columns, k->blocks));

    for (int64_t j = 0; v && j < k->columns; j++)
        for (int64_t g = 0; g < k->blocks; g++)
            glow_set_double(
                &v->storage->tensor, j * k->blocks + g,
                glow_get_double(k->scales, place(k, j, g, k->blocks)));
    return v;
}

static glow_value *
zeros_of(glow_builder *b, const blocks *k)
{
    glow_value *v = constant(b, "offsets", GLOW_UINDEX8,
                             GLOW_DIMS_OF(k->columns, k->blocks));

    for (int64_t j = 0; v && j < k->columns; j++)
        for (int64_t g = 0; g < k->blocks; g++)
            glow_set_int(&v->storage->tensor, j * k->blocks + g,
                         zero_of(k, j, g));
    return v;
}

glow_value *
glow_recognize_blocks(glow_builder *b, glow_node *n)
{
    const glow_fullyconnected *f = GLOW_AS(fullyconnected, n);
    glow_value *x = n->in[0], *zeros = NULL, *weights, *scales;
    glow_dims rows;
    blocks k;

    if (n->pred || (f && f->axis != 1 && x->type->shape.rank != 2) ||
        !glow_is_float(x->type->elem) ||
        n->in[1]->type->elem != x->type->elem || !find(n->in[1], &k))
        return NULL;
    weights = pack(b, &k);
    scales = scales_of(b, &k);
    if (!is_centered(&k))
        zeros = zeros_of(b, &k);
    rows = GLOW_DIMS_OF(n->out[0]->type->shape.at[0], k.depth);
    if (!glow_dims_equal(x->type->shape, rows))
        x = GLOW_BUILD(b, reshape, GLOW_IN(x), .dims = rows);
    return GLOW_BUILD(
        b, blockwisequantizedfullyconnected,
        GLOW_IN(x, weights, scales, zeros, n->n_in > 2 ? n->in[2] : NULL),
        .k = k.depth, .bits = k.bits, .block_size = k.block);
}
