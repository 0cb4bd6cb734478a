/*
 * vta.Max: the largest element of each window, in accumulators.
 *
 *     %m = vta.Max(%x, @w) {Kernels: [3, 3], Strides: [2, 2], Pads: [1, 1, 1, 1]}
 *              : i32[S:0.5 O:0]<1 x 4 x 4 x 16>
 *
 * Elements come through the scratchpad of inputs, so that the product adds them to
 * accumulators: max(y, x) = max(y - x, 0) + x, two products and a pass of the ALU.  Weights
 * are the blocks of x and of -x.  Padding is 0.
 */

#include "vta.h"

enum { INPUT, WEIGHTS };

static bool
are_sizes(glow_dims d, int rank, int64_t least)
{
    for (int i = 0; i < d.rank; i++)
        if (d.at[i] < least || d.at[i] > 1 << 12)
            return false;
    return d.rank == rank;
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const vta_pool *p = n->attrs;
    const glow_type *x = n->in[INPUT]->type, *w = n->in[WEIGHTS]->type;

    if (x->elem != GLOW_INT8Q || x->offset || x->shape.rank != 4 ||
        x->shape.at[3] % VTA_LANES || out[0].elem != GLOW_INT32Q ||
        out[0].offset || w->elem != GLOW_INT8Q || w->shape.rank != 3 ||
        w->shape.at[0] != 2 || w->shape.at[1] != VTA_LANES ||
        w->shape.at[2] != VTA_LANES)
        return glow_reject(n, "Input, Weights and Result are i8, i8 of 2 by 16 "
                              "by 16, and i32, in blocks of 16 channels");
    if (!are_sizes(p->kernels, 2, 1) || !are_sizes(p->strides, 2, 1) ||
        !are_sizes(p->pads, 4, 0))
        return glow_reject(n, "Kernels, Strides and Pads have 2, 2 and 4 "
                              "numbers up to 4096");
    if (out[0].shape.rank != 4 || out[0].shape.at[0] != x->shape.at[0] ||
        out[0].shape.at[3] != x->shape.at[3])
        return glow_reject(n, "the batch and channels of Result are not those "
                              "of Input");
    out[0].strides.rank = 0;
    return true;
}

/* Adds a block of weights times a block of channels. */
static void
add_block(int32_t y[], const int8_t *x, const int8_t *w)
{
    for (int64_t l = 0; l < VTA_LANES; l++)
        for (int64_t k = 0; k < VTA_LANES; k++)
            y[l] += x[k] * w[l * VTA_LANES + k];
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    static const int8_t zeros[VTA_LANES];
    const vta_pool *p = n->attrs;
    glow_dims x = in[INPUT]->type->shape, y = out[0]->type->shape;
    const int8_t *from = in[INPUT]->data, *w = in[WEIGHTS]->data;

    (void)scratch;
    for (int64_t at = 0; at < glow_type_count(out[0]->type); at += VTA_LANES) {
        int64_t c = at % y.at[3], pixel = at / y.at[3];
        int64_t row = pixel / y.at[2] % y.at[1] * p->strides.at[0];
        int64_t column = pixel % y.at[2] * p->strides.at[1];
        int64_t batch = pixel / y.at[2] / y.at[1];
        int32_t *to = (int32_t *)out[0]->data + at;

        for (int l = 0; l < VTA_LANES; l++)
            to[l] = 0;
        for (int64_t i = 0; i < p->kernels.at[0] * p->kernels.at[1]; i++) {
            int64_t h = row + i / p->kernels.at[1] - p->pads.at[0];
            int64_t v = column + i % p->kernels.at[1] - p->pads.at[1];
            bool inside = h >= 0 && h < x.at[1] && v >= 0 && v < x.at[2];
            const int8_t *e =
                inside
                    ? from + ((batch * x.at[1] + h) * x.at[2] + v) * x.at[3] + c
                    : zeros;

            if (i > 0)
                add_block(to, e, w + VTA_MACS);
            for (int l = 0; l < VTA_LANES; l++)
                to[l] = to[l] > 0 || i == 0 ? to[l] : 0;
            add_block(to, e, w);
        }
    }
    return true;
}

static bool
tile(const glow_node *n, glow_tiling *t)
{
    const vta_pool *p = n->attrs;
    vta_pool piece = *p;
    int64_t taps = p->kernels.at[0] * p->kernels.at[1];

    piece.pads = GLOW_DIMS_OF(0, 0, 0, 0);
    vta_tile_result(n, t, t->out);
    for (int d = 0; d < 4; d++)
        t->in[INPUT][d] = t->out[d];
    for (int d = 1; d < 3; d++)
        t->in[INPUT][d] = (glow_tile_dim){
            d, p->strides.at[d - 1], p->kernels.at[d - 1], p->pads.at[d - 1]};
    for (int d = 0; d < 3; d++)
        t->in[WEIGHTS][d] = GLOW_TILE_ALL;
    t->work = (double)((3 * taps - 1) * VTA_LANES); /* cycles of 16 lanes */
    t->attrs = glow_arena_copy(n->func->module->arena, &piece, sizeof piece);
    return true;
}

const glow_op vta_op_max = {
    .name = "vta.Max",
    .summary = "the largest element of windows, in accumulators",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C], i8"},
           {"Weights", GLOW_TENSOR,
            "of shape [2, 16, 16], i8: 1 and -1 on the diagonals"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, H', W', C], i32"}},
    .attrs = {GLOW_FIELD(vta_pool, kernels, GLOW_DIMS, "height and width"),
              GLOW_FIELD(vta_pool, strides, GLOW_DIMS, "of rows and columns"),
              GLOW_FIELD(vta_pool, pads, GLOW_DIMS,
                         "zeros above, left, below and right")},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = infer,
    .eval = eval,
    .tile = tile,
    .doc = "The largest element of each window, of which elements outside of "
           "Input are 0: `y = w0 x` of the first, then `y = max(y + w1 x, 0) + "
           "w0 x` of each other one.",
    .source = "this file",
};
