/*
 * vta.Conv: a convolution of 16-channel blocks, with bias, rescaling and clipping.
 *
 *     %y = vta.Conv(%x, @w, @b) {Kernels: [3, 3], Strides: [1, 1], Pads: [1, 1, 1, 1],
 *              Dilation: [1, 1], Group: 1, Macs: 0, Least: 0, Most: 127}
 *              : i8[S:0.5 O:0]<1 x 8 x 8 x 16>
 *
 * The result is round(sum * 2^-shift), ties to even, held to Least .. Most, where
 * 2^-shift is the product of the scales of x and w over that of y.  A fourth operand has
 * a shift and a least element for each channel, as an immediate of `round`.
 */

#include <math.h>

#include "vta.h"

bool
vta_shift(double from, double to, int *shift)
{
    int e;
    double m = frexp(from / to, &e);

    *shift = 1 - e;
    return m == 0.5 && *shift >= -31 && *shift <= 31;
}

bool
vta_conv_shift(const glow_type *x, const glow_type *w, const glow_type *y,
               int *shift)
{
    return vta_shift((double)x->scale * (double)w->scale, (double)y->scale,
                     shift);
}

static bool
is_plain(const glow_type *t, glow_kind kind, int rank)
{
    return t->elem == kind && t->offset == 0 && t->shape.rank == rank;
}

int64_t
vta_results(int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
            int64_t pads)
{
    int64_t rest = in + pads - (kernel - 1) * dilation - 1;

    return rest < 0 ? 0 : rest / stride + 1;
}

/* Attributes within the limits that keep all arithmetic on sizes exact. */
static bool
check_dims(const glow_node *n, const char *name, glow_dims d, int rank,
           int64_t least, int64_t most)
{
    if (d.rank != rank)
        return glow_reject(n, "%s has %d numbers, but must have %d", name,
                           d.rank, rank);
    for (int i = 0; i < rank; i++)
        if (d.at[i] < least || d.at[i] > most)
            return glow_reject(n, "%s has %lld, but it must be from %d to %d",
                               name, (long long)d.at[i], (int)least, (int)most);
    return true;
}

static bool
check_range(const glow_node *n, int least, int most)
{
    return (-128 <= least && least <= most && most <= 127) ||
           glow_reject(n,
                       "Least and Most are %d and %d, but must be elements "
                       "of i8 in order",
                       least, most);
}

static bool
infer(const glow_node *n, glow_type out[])
{
    const vta_conv *c = n->attrs;
    const glow_type *x = n->in[0]->type, *w = n->in[1]->type,
                    *b = n->in[2]->type;
    int64_t taps, blocks, outputs;
    int shift;

    if (!is_plain(x, GLOW_INT8Q, 4) || !is_plain(w, GLOW_INT8Q, 5) ||
        !is_plain(b, GLOW_INT32Q, 1) || out[0].elem != GLOW_INT8Q ||
        out[0].offset != 0)
        return glow_reject(n, "Input, Weights and Result are i8 of rank 4, 5 "
                              "and 4, Bias is i32 of rank 1, without offsets");
    if (!check_dims(n, "Kernels", c->kernels, 2, 1, 1 << 12) ||
        !check_dims(n, "Strides", c->strides, 2, 1, 1 << 12) ||
        !check_dims(n, "Pads", c->pads, 4, 0, 1 << 12) ||
        !check_dims(n, "Dilation", c->dilation, 2, 1, 1 << 12) ||
        !check_range(n, c->least, c->most))
        return false;
    taps = c->kernels.at[0] * c->kernels.at[1];
    blocks = x->shape.at[3] / VTA_LANES;
    if (x->shape.at[3] % VTA_LANES || c->group < 1 || blocks % c->group ||
        w->shape.at[0] % c->group)
        return glow_reject(n, "Group must divide the blocks of 16 channels");
    if (w->shape.at[1] != blocks / c->group || w->shape.at[2] != taps ||
        w->shape.at[3] != VTA_LANES || w->shape.at[4] != VTA_LANES ||
        b->shape.at[0] / VTA_LANES != w->shape.at[0] ||
        b->shape.at[0] % VTA_LANES)
        return glow_reject(n, "the shapes of Input, Weights and Bias do not go "
                              "together");
    if (n->in[3] && (!is_plain(n->in[3]->type, GLOW_INT32Q, 1) ||
                     !glow_dims_equal(n->in[3]->type->shape, b->shape)))
        return glow_reject(n, "Rounds is no i32 of the shape of Bias");
    if (!n->in[3] && !vta_conv_shift(x, w, &out[0], &shift))
        return glow_reject(n,
                           "the scale of a sum, %g, is no power of two "
                           "times that of Result, %g",
                           (double)x->scale * (double)w->scale,
                           (double)out[0].scale);
    outputs = b->shape.at[0];
    out[0].shape = GLOW_DIMS_OF(
        x->shape.at[0],
        vta_results(x->shape.at[1], c->kernels.at[0], c->strides.at[0],
                    c->dilation.at[0], c->pads.at[0] + c->pads.at[2]),
        vta_results(x->shape.at[2], c->kernels.at[1], c->strides.at[1],
                    c->dilation.at[1], c->pads.at[1] + c->pads.at[3]),
        outputs);
    out[0].strides.rank = 0;
    return true;
}

void
vta_sum_block(const vta_window *w, const int8_t *x, const int8_t *weights,
              int64_t batch, int64_t row, int64_t column, int64_t block,
              int32_t *sum)
{
    int64_t depth = w->blocks / w->groups;
    int64_t group = block / (w->out_blocks / w->groups);

    for (int64_t i = 0; i < w->kernel[0]; i++)
        for (int64_t j = 0; j < w->kernel[1]; j++) {
            int64_t h = row * w->stride[0] + i * w->dilation[0] - w->before[0];
            int64_t v =
                column * w->stride[1] + j * w->dilation[1] - w->before[1];

            if (h < 0 || h >= w->height || v < 0 || v >= w->width)
                continue;
            for (int64_t c = 0; c < depth; c++) {
                const int8_t *a =
                    x + (((batch * w->height + h) * w->width + v) * w->blocks +
                         group * depth + c) *
                            VTA_LANES;
                const int8_t *b = weights + ((block * depth + c) *
                                                 w->kernel[0] * w->kernel[1] +
                                             i * w->kernel[1] + j) *
                                                VTA_MACS;

                for (int k = 0; k < VTA_LANES; k++)
                    for (int l = 0; l < VTA_LANES; l++)
                        sum[k] += a[l] * b[k * VTA_LANES + l];
            }
        }
}

static int8_t
finish(int32_t sum, int shift, const vta_conv *c)
{
    int64_t wide = shift < 0 ? (int64_t)sum * (INT64_C(1) << -shift) : sum;
    int32_t held = wide > INT32_MAX   ? INT32_MAX
                   : wide < INT32_MIN ? INT32_MIN
                                      : (int32_t)wide;
    int32_t q =
        vta_round(held, vta_round_immediate(shift > 0 ? shift : 0, c->least));

    return (int8_t)(q > c->most ? c->most : q);
}

/* By an immediate of its own. */
static int8_t
round_by(int32_t sum, int32_t immediate, const vta_conv *c)
{
    int32_t q = vta_round(sum, immediate);

    q = q < c->least ? c->least : q;
    return (int8_t)(q > c->most ? c->most : q);
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    const vta_conv *c = n->attrs;
    vta_window w = vta_window_of(n);
    const int32_t *bias = in[2]->data, *rounds = in[3] ? in[3]->data : NULL;
    int8_t *y = out[0]->data;
    int shift = 0;

    (void)scratch;
    if (!rounds &&
        !vta_conv_shift(in[0]->type, in[1]->type, out[0]->type, &shift))
        return glow_reject(n, "the scales are no powers of two apart");
    for (int64_t b = 0; b < w.batch; b++)
        for (int64_t i = 0; i < w.out_height; i++)
            for (int64_t j = 0; j < w.out_width; j++)
                for (int64_t k = 0; k < w.out_blocks; k++) {
                    int32_t sum[VTA_LANES];

                    for (int l = 0; l < VTA_LANES; l++)
                        sum[l] = bias[k * VTA_LANES + l];
                    vta_sum_block(&w, in[0]->data, in[1]->data, b, i, j, k,
                                  sum);
                    for (int l = 0; l < VTA_LANES; l++)
                        *y++ = rounds ? round_by(sum[l],
                                                 rounds[k * VTA_LANES + l], c)
                                      : finish(sum[l], shift, c);
                }
    return true;
}

static int64_t
flops(const glow_node *n)
{
    const vta_conv *c = n->attrs;

    return 2 * c->macs;
}

int64_t
vta_gemm_steps(const glow_node *n)
{
    vta_window w = vta_window_of(n);

    return w.batch * w.out_height * w.out_width * w.out_blocks *
           (w.blocks / w.groups) * w.kernel[0] * w.kernel[1];
}

const glow_op vta_op_conv = {
    .name = "vta.Conv",
    .summary = "convolve blocks of 16 channels, add a bias, rescale and clip",
    .in = {{"Input", GLOW_TENSOR, "x, of shape [N, H, W, C], i8"},
           {"Weights", GLOW_TENSOR,
            "w, of shape [O / 16, C / 16 / Group, taps, 16, 16], i8"},
           {"Bias", GLOW_TENSOR, "b, of shape [O], i32 in units of the sum"},
           {"Rounds", GLOW_OPTIONAL,
            "r, of shape [O], i32: an immediate of `round` for each result"}},
    .out = {{"Result", GLOW_TENSOR, "y, of shape [N, H', W', O], i8"}},
    .attrs = {GLOW_FIELD(vta_conv, kernels, GLOW_DIMS, "height and width"),
              GLOW_FIELD(vta_conv, strides, GLOW_DIMS, "of rows and columns"),
              GLOW_FIELD(vta_conv, pads, GLOW_DIMS,
                         "zeros above, left, below and right"),
              GLOW_FIELD(vta_conv, dilation, GLOW_DIMS,
                         "from one tap to the next"),
              GLOW_FIELD(vta_conv, group, GLOW_INT64,
                         "groups that the channels fall into"),
              GLOW_FIELD(vta_conv, macs, GLOW_INT64,
                         "multiply-adds of the operator that this was made of"),
              GLOW_FIELD(vta_conv, least, GLOW_INT, "the least element"),
              GLOW_FIELD(vta_conv, most, GLOW_INT, "the largest element")},
    .traits = GLOW_PURE | GLOW_REDUCTION | GLOW_STATED,
    .infer = infer,
    .eval = eval,
    .flops = flops,
    .doc = "`y = clip(round(2^-shift (b + sum of x w)))`, ties to even, in "
           "integers; `2^-shift` is the product of the scales of x and w over "
           "that of y.  With Rounds each result has its own shift, the low 5 "
           "bits of r, and a least element in the next byte.",
    .source = "this file",
};
