/*
 * vta.form-units: give convolutions, products, sums and max-pools of i8 to the
 * accelerator.
 *
 *     %c = Convolution(%x, @w, @b) {Kernels: [3, 3], ...}
 *     %r = Relu(%c)
 *     =>   %r = vta.Conv(%x, @w.packed, @b.packed) {Kernels: [3, 3], ..., Least: 0}
 *
 * and FullyConnected, MatMul, Add and MaxPool likewise, where offsets are 0, scales are
 * powers of two apart, and weights are constant.  Channels are padded to multiples of
 * 16 and sliced off behind; a Slice between two units goes, since the weights of the
 * channels that it would take away are 0.
 */

#include "form.h"

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_convolution, form_convolution},
        {&glow_op_channelwisequantizedconvolution, form_channelwise},
        {&glow_op_fullyconnected, form_fullyconnected},
        {&glow_op_rowwisequantizedfullyconnected, form_rowwise},
        {&glow_op_matmul, form_matmul},
        {&glow_op_add, form_add},
        {&glow_op_maxpool, form_maxpool},
        {&glow_op_relu, form_relu},
        {&glow_op_clip, form_clip},
        {NULL, NULL},
    };

    return glow_rewrite_each(run, f, rows, NULL);
}

const glow_pass vta_pass_form_units = {
    .name = "vta.form-units",
    .summary = "give operators of i8 to the accelerator",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .takes_quantized = true,
};

const glow_rewrite_row vta_units[] = {
    {&glow_op_add, form_add},
    {&glow_op_maxpool, form_maxpool},
    {&glow_op_convolution, form_convolution},
    {&glow_op_channelwisequantizedconvolution, form_channelwise},
    {&glow_op_fullyconnected, form_fullyconnected},
    {&glow_op_rowwisequantizedfullyconnected, form_rowwise},
    {&glow_op_matmul, form_matmul},
    {&glow_op_relu, form_relu},
    {&glow_op_clip, form_clip},
    {NULL, NULL},
};
