/*
 * A plugin with the operators of a matrix unit of VTA's class, for the passes that tile,
 * copy and schedule: blocks of 16 channels, [C / 16, H, W, 16].
 *
 *     %s = mac.Conv(%x, %w) {Kernels, Strides, Pads}            sums, index32
 *     %r = mac.Requantize(%s, %b) {Shift, Least, Most}          clip((s + b) >> Shift)
 *     %y = mac.Store(%r) : int8                                 the low byte
 *
 * A product of matrices is a convolution of one row with a kernel of 1 x 1.
 */

#include <string.h>

#include "glow/backend.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/plugin.h"
#include "glow/target.h"
#include "glow/tiling.h"

#define LANES 16

typedef struct mac_conv {
    glow_dims kernels, strides, pads;
} mac_conv;

typedef struct mac_requantize {
    int shift, least, most;
} mac_requantize;

static bool
is_of(const glow_node *n, int i, glow_kind kind, int rank)
{
    const glow_type *t = n->in[i]->type;

    return (t->elem == kind && t->shape.rank == rank) ||
           glow_reject(n, "operand %d is not %s of rank %d", i,
                       glow_kind_get(kind)->name, rank);
}

/* mac.Conv */

static bool
conv_infer(const glow_node *n, glow_type out[])
{
    const mac_conv *c = n->attrs;
    glow_dims x, w, y = {.rank = 4};

    if (!is_of(n, 0, GLOW_INT8, 4) || !is_of(n, 1, GLOW_INT8, 6))
        return false;
    x = n->in[0]->type->shape;
    w = n->in[1]->type->shape;
    if (w.at[1] != x.at[0] || x.at[3] != LANES || w.at[4] != LANES ||
        w.at[5] != LANES || c->kernels.rank != 2 || c->strides.rank != 2 ||
        c->pads.rank != 4 || w.at[2] != c->kernels.at[0] ||
        w.at[3] != c->kernels.at[1])
        return glow_reject(n, "the shapes do not go together");
    y.at[0] = w.at[0];
    for (int i = 0; i < 2; i++) {
        int64_t rest =
            x.at[i + 1] + c->pads.at[i] + c->pads.at[i + 2] - c->kernels.at[i];

        y.at[i + 1] = rest < 0 ? 0 : rest / c->strides.at[i] + 1;
    }
    y.at[3] = LANES;
    out[0] = glow_type_of(GLOW_INDEX32, y);
    if (n->n_in > 2 && n->in[2] && !glow_dims_equal(n->in[2]->type->shape, y))
        return glow_reject(n, "Sum has not the shape of Result");
    return true;
}

static void
add_block(const glow_node *n, const int8_t *x, const int8_t *w, int64_t block,
          int64_t row, int64_t column, int32_t *sum)
{
    const mac_conv *c = n->attrs;
    glow_dims in = n->in[0]->type->shape;

    for (int64_t k = 0; k < in.at[0]; k++)
        for (int64_t i = 0; i < c->kernels.at[0]; i++)
            for (int64_t j = 0; j < c->kernels.at[1]; j++) {
                int64_t h = row * c->strides.at[0] + i - c->pads.at[0];
                int64_t v = column * c->strides.at[1] + j - c->pads.at[1];
                const int8_t *a =
                    x + ((k * in.at[1] + h) * in.at[2] + v) * LANES;
                const int8_t *b =
                    w + (((block * in.at[0] + k) * c->kernels.at[0] + i) *
                             c->kernels.at[1] +
                         j) *
                            LANES * LANES;

                if (h < 0 || h >= in.at[1] || v < 0 || v >= in.at[2])
                    continue;
                for (int o = 0; o < LANES; o++)
                    for (int l = 0; l < LANES; l++)
                        sum[o] += a[l] * b[o * LANES + l];
            }
}

static bool
conv_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    glow_dims y = out[0]->type->shape;
    int32_t *to = out[0]->data;

    (void)scratch;
    for (int64_t b = 0; b < y.at[0]; b++)
        for (int64_t h = 0; h < y.at[1]; h++)
            for (int64_t v = 0; v < y.at[2]; v++) {
                int64_t at = ((b * y.at[1] + h) * y.at[2] + v) * LANES;
                int32_t sum[LANES] = {0};

                if (n->n_in > 2 && in[2])
                    memcpy(sum, (const int32_t *)in[2]->data + at, sizeof sum);
                add_block(n, in[0]->data, in[1]->data, b, h, v, sum);
                memcpy(to + at, sum, sizeof sum);
            }
    return true;
}

static bool
conv_tile(const glow_node *n, glow_tiling *t)
{
    const mac_conv *c = n->attrs;
    glow_dims y = n->out[0]->type->shape;

    if (!glow_dims_are(c->pads, 0)) {
        mac_conv *piece = GLOW_NEW(n->func->module->arena, mac_conv);

        *piece = *c;
        piece->pads = GLOW_DIMS_OF(0, 0, 0, 0);
        t->attrs = piece;
    }
    t->n_axes = 4;
    t->n_result = 3;
    for (int i = 0; i < 3; i++) {
        t->extent[i] = y.at[i];
        t->out[i] = t->in[2][i] = GLOW_TILE_AXIS(i);
    }
    t->extent[3] = n->in[0]->type->shape.at[0];
    t->out[3] = t->in[2][3] = GLOW_TILE_ALL;
    t->work = (double)(c->kernels.at[0] * c->kernels.at[1]) * LANES * LANES;
    t->accumulator = 2;
    t->in[0][0] = GLOW_TILE_AXIS(3);
    for (int i = 0; i < 2; i++)
        t->in[0][i + 1] = (glow_tile_dim){i + 1, c->strides.at[i],
                                          c->kernels.at[i], c->pads.at[i]};
    t->in[0][3] = GLOW_TILE_ALL;
    t->in[1][0] = GLOW_TILE_AXIS(0);
    t->in[1][1] = GLOW_TILE_AXIS(3);
    for (int i = 2; i < 6; i++)
        t->in[1][i] = GLOW_TILE_ALL;
    return true;
}

static const glow_op conv = {
    .name = "mac.Conv",
    .summary = "sums of a convolution",
    .in = {{"Input", GLOW_TENSOR, "[C / 16, H, W, 16]"},
           {"Weights", GLOW_TENSOR, "[O / 16, C / 16, kernel, 16, 16]"},
           {"Sum", GLOW_OPTIONAL, "that is added to"}},
    .out = {{"Result", GLOW_TENSOR, "[O / 16, rows, columns, 16]"}},
    .attrs = {GLOW_FIELD(mac_conv, kernels, GLOW_DIMS, "rows and columns"),
              GLOW_FIELD(mac_conv, strides, GLOW_DIMS, "of rows and columns"),
              GLOW_FIELD(mac_conv, pads, GLOW_DIMS,
                         "zeros before, then after")},
    .traits = GLOW_PURE,
    .inplace = {{0, 2}},
    .inplace_count = 1,
    .infer = conv_infer,
    .eval = conv_eval,
    .tile = conv_tile,
    .source = "this file",
};

/* mac.Requantize */

static bool
requantize_infer(const glow_node *n, glow_type out[])
{
    if (!is_of(n, 0, GLOW_INDEX32, 4) || !is_of(n, 1, GLOW_INDEX32, 4))
        return false;
    out[0] = glow_type_of(GLOW_INDEX32, n->in[0]->type->shape);
    return n->in[1]->type->shape.at[0] == out[0].shape.at[0] ||
           glow_reject(n, "Bias has other blocks than Input");
}

static bool
requantize_eval(const glow_node *n, glow_tensor *const in[],
                glow_tensor *const out[], glow_arena *scratch)
{
    const mac_requantize *r = n->attrs;
    glow_dims y = out[0]->type->shape;
    const int32_t *x = in[0]->data, *b = in[1]->data;
    int32_t *to = out[0]->data;
    int64_t pixels = y.at[1] * y.at[2] * LANES;

    (void)scratch;
    for (int64_t i = 0; i < glow_dims_count(y); i++) {
        uint32_t sum =
            (uint32_t)x[i] + (uint32_t)b[i / pixels * LANES + i % LANES];
        int32_t v = (int32_t)sum >> r->shift;

        v = v < r->least ? r->least : v;
        to[i] = v > r->most ? r->most : v;
    }
    return true;
}

/* Three axes of a result, and all lanes. */
static void
tile_blocks(const glow_node *n, glow_tiling *t, double work)
{
    t->n_axes = t->n_result = 3;
    for (int i = 0; i < 3; i++) {
        t->extent[i] = n->out[0]->type->shape.at[i];
        t->out[i] = t->in[0][i] = GLOW_TILE_AXIS(i);
    }
    t->out[3] = t->in[0][3] = GLOW_TILE_ALL;
    t->work = work * LANES;
}

static bool
requantize_tile(const glow_node *n, glow_tiling *t)
{
    tile_blocks(n, t, 4);
    t->in[1][0] = GLOW_TILE_AXIS(0);
    t->in[1][1] = t->in[1][2] = t->in[1][3] = GLOW_TILE_ALL;
    return true;
}

static const glow_op requantize = {
    .name = "mac.Requantize",
    .summary = "add a bias, shift and clip",
    .in = {{"Input", GLOW_TENSOR, "sums"},
           {"Bias", GLOW_TENSOR, "[O / 16, 1, 1, 16]"}},
    .out = {{"Result", GLOW_TENSOR, "of the shape of Input"}},
    .attrs = {GLOW_FIELD(mac_requantize, shift, GLOW_INT, "bits to the right"),
              GLOW_FIELD(mac_requantize, least, GLOW_INT, "result"),
              GLOW_FIELD(mac_requantize, most, GLOW_INT, "result")},
    .traits = GLOW_PURE,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .infer = requantize_infer,
    .eval = requantize_eval,
    .tile = requantize_tile,
    .source = "this file",
};

/* mac.Store */

static bool
store_infer(const glow_node *n, glow_type out[])
{
    out[0] = glow_type_of(GLOW_INT8, n->in[0]->type->shape);
    return is_of(n, 0, GLOW_INDEX32, 4);
}

static bool
store_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    (void)n, (void)scratch;
    for (int64_t i = 0; i < glow_type_count(out[0]->type); i++)
        ((int8_t *)out[0]->data)[i] =
            (int8_t)(((const int32_t *)in[0]->data)[i] & 255);
    return true;
}

static bool
store_tile(const glow_node *n, glow_tiling *t)
{
    tile_blocks(n, t, 1);
    return true;
}

static const glow_op store = {
    .name = "mac.Store",
    .summary = "store the low bytes",
    .in = {{"Input", GLOW_TENSOR, "sums"}},
    .out = {{"Result", GLOW_TENSOR, "of the shape of Input"}},
    .traits = GLOW_PURE,
    .infer = store_infer,
    .eval = store_eval,
    .tile = store_tile,
    .source = "this file",
};

/* The backend: products of integers, of sizes that are multiples of 16. */

static glow_value *
reshape(glow_builder *b, glow_value *v, glow_dims dims)
{
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = dims);
}

static glow_value *
transpose(glow_builder *b, glow_value *v, glow_dims shuffle)
{
    return GLOW_BUILD(b, transpose, GLOW_IN(v), .shuffle = shuffle);
}

/* The operand before a ConvertTo from int8 to index32; NULL: it is none. */
static glow_value *
narrow(const glow_value *v)
{
    return glow_is(v->def, &glow_op_convertto) &&
                   v->type->elem == GLOW_INDEX32 &&
                   v->def->in[0]->type->elem == GLOW_INT8
               ? v->def->in[0]
               : NULL;
}

/*
 * MatMul(ConvertTo(a), ConvertTo(b)): the rows of a are the pixels of a row.
 */
static glow_value *
form_product(glow_builder *b, glow_node *n)
{
    glow_value *x = narrow(n->in[0]), *w = narrow(n->in[1]), *s;
    int64_t rows, depth, columns;
    mac_conv one = {GLOW_DIMS_OF(1, 1), GLOW_DIMS_OF(1, 1),
                    GLOW_DIMS_OF(0, 0, 0, 0)};

    if (!x || !w)
        return NULL;
    rows = x->type->shape.at[0];
    depth = x->type->shape.at[1];
    columns = w->type->shape.at[1];
    if (depth % LANES || columns % LANES)
        return NULL;
    x = reshape(b, x, GLOW_DIMS_OF(rows, depth / LANES, LANES));
    x = transpose(b, x, GLOW_DIMS_OF(1, 0, 2));
    x = reshape(b, x, GLOW_DIMS_OF(depth / LANES, 1, rows, LANES));
    w = reshape(b, w,
                GLOW_DIMS_OF(depth / LANES, LANES, columns / LANES, LANES));
    w = transpose(b, w, GLOW_DIMS_OF(2, 0, 3, 1));
    w = reshape(
        b, w, GLOW_DIMS_OF(columns / LANES, depth / LANES, 1, 1, LANES, LANES));
    s = glow_build(b, &conv, NULL, GLOW_IN(x, w, NULL), &one);
    s = reshape(b, s, GLOW_DIMS_OF(columns / LANES, rows, LANES));
    s = transpose(b, s, GLOW_DIMS_OF(1, 0, 2));
    return reshape(b, s, GLOW_DIMS_OF(rows, columns));
}

static glow_takes
takes(const glow_node *n, glow_arena *a, const char **why)
{
    if (n->op->eval || (n->op->traits & GLOW_STRUCTURAL))
        return GLOW_TAKES;
    *why = glow_arena_printf(a, "%s has no eval", n->op->name);
    return GLOW_TAKES_NOT;
}

static const glow_backend core = {
    .name = "mac.core",
    .summary = "a matrix unit, for form-units",
    .takes = takes,
    .level = GLOW_PLACED,
    .before_lower = "form-units",
    .units = (const glow_rewrite_row[]){{&glow_op_matmul, form_product},
                                        {NULL, NULL}},
};

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = GLOW_ABI_MINOR,
    .sizes = GLOW_ABI_SIZES,
    .name = "mac",
    .version = "1",
    .licence = "Apache-2.0",
    .gir_version = 1,
    .ops = (const glow_op *const[]){&conv, &requantize, &store, NULL},
    .backends = (const glow_backend *const[]){&core, NULL},
};

GLOW_API const glow_plugin *glow_plugin_query(uint32_t major, uint32_t minor,
                                              const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t major, uint32_t minor, const char **reason)
{
    (void)major, (void)minor, (void)reason;
    return &plugin;
}
