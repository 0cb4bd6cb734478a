/*
 * vta.MaxPool: the largest element of each window, over blocks of 16 channels.
 *
 *     %y = vta.MaxPool(%x) {Kernels: [3, 3], Strides: [2, 2], Pads: [1, 1, 1, 1]}
 *              : i8[S:0.5 O:0]<1 x 4 x 4 x 16>
 *
 * Padding is -128 and so never larger than an element.  The shape is stated, because
 * windows may end past the padding; each has an element of Input.
 */

#include "vta.h"

vta_window
vta_window_of_dims(glow_dims kernels, glow_dims strides, glow_dims pads,
                   glow_dims dilation, int64_t groups, glow_dims x, glow_dims y)
{
    vta_window w = {
        .batch = x.at[0],
        .height = x.at[1],
        .width = x.at[2],
        .blocks = x.at[3] / VTA_LANES,
        .out_height = y.at[1],
        .out_width = y.at[2],
        .out_blocks = y.at[3] / VTA_LANES,
        .groups = groups,
    };

    for (int i = 0; i < 2; i++) {
        w.kernel[i] = kernels.at[i];
        w.stride[i] = strides.at[i];
        w.dilation[i] = dilation.at[i];
        w.before[i] = pads.at[i];
    }
    return w;
}

vta_window
vta_window_of(const glow_node *n)
{
    const vta_conv *c = glow_attrs_if(n, &vta_op_conv);
    const vta_pool *p = glow_attrs_if(n, &vta_op_pool);
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    vta_window w =
        c ? vta_window_of_dims(c->kernels, c->strides, c->pads, c->dilation,
                               c->group, x, y)
          : vta_window_of_dims(p->kernels, p->strides, p->pads,
                               GLOW_DIMS_OF(1, 1), y.at[3] / VTA_LANES, x, y);

    w.vectors = c && n->in[3] ? 2 : 1;
    return w;
}

/* Each window along axis `i` begins inside of Input and ends there or in its padding. */
static bool
reaches_input(const vta_pool *p, int i, int64_t in, int64_t out)
{
    return p->pads.at[i] >= 0 && p->kernels.at[i] > p->pads.at[i] &&
           p->kernels.at[i] < 1 << 12 && p->strides.at[i] >= 1 &&
           p->strides.at[i] < 1 << 12 && out >= 1 && in >= 1 && out < 1 << 30 &&
           (out - 1) * p->strides.at[i] - p->pads.at[i] < in;
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const vta_pool *p = n->attrs;
    const glow_type *x = n->in[0]->type;

    if (x->elem != GLOW_INT8Q || x->shape.rank != 4 ||
        x->shape.at[3] % VTA_LANES || out[0].elem != GLOW_INT8Q ||
        out[0].scale != x->scale || out[0].offset != x->offset)
        return glow_reject(n,
                           "Input and Result are i8 of rank 4 and one scale, "
                           "with blocks of 16 channels");
    if (p->kernels.rank != 2 || p->strides.rank != 2 || p->pads.rank != 4)
        return glow_reject(n, "Kernels, Strides and Pads have 2, 2 and 4 "
                              "numbers");
    if (out[0].shape.rank != 4 || out[0].shape.at[0] != x->shape.at[0] ||
        out[0].shape.at[3] != x->shape.at[3])
        return glow_reject(n, "the batch and channels of Result are not those "
                              "of Input");
    for (int i = 0; i < 2; i++)
        if (!reaches_input(p, i, x->shape.at[1 + i], out[0].shape.at[1 + i]))
            return glow_reject(n, "a window has no element of Input");
    return true;
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    vta_window w = vta_window_of(n);
    int64_t channels = w.blocks * VTA_LANES;
    const int8_t *x = in[0]->data;
    int8_t *y = out[0]->data;

    (void)scratch;
    for (int64_t at = 0; at < w.batch * w.out_height * w.out_width; at++) {
        int64_t batch = at / w.out_width / w.out_height;
        int64_t h = at / w.out_width % w.out_height * w.stride[0] - w.before[0];
        int64_t v = at % w.out_width * w.stride[1] - w.before[1];

        for (int64_t k = 0; k < channels; k++) {
            int8_t most = -128;

            for (int64_t i = h < 0 ? 0 : h; i < h + w.kernel[0] && i < w.height;
                 i++)
                for (int64_t j = v < 0 ? 0 : v;
                     j < v + w.kernel[1] && j < w.width; j++) {
                    int8_t e =
                        x[((batch * w.height + i) * w.width + j) * channels +
                          k];

                    most = e > most ? e : most;
                }
            *y++ = most;
        }
    }
    return true;
}

const glow_op vta_op_pool = {
    .name = "vta.MaxPool",
    .summary = "the largest element of windows over blocks of 16 channels",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C], i8"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, H', W', C], i8"}},
    .attrs = {GLOW_FIELD(vta_pool, kernels, GLOW_DIMS, "height and width"),
              GLOW_FIELD(vta_pool, strides, GLOW_DIMS, "of rows and columns"),
              GLOW_FIELD(vta_pool, pads, GLOW_DIMS,
                         "above, left, below and right")},
    .traits = GLOW_PURE | GLOW_STATED,
    .infer = infer,
    .eval = eval,
    .doc = "The largest element of each window; elements outside of Input do "
           "not count.",
    .source = "this file",
};
