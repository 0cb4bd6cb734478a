/*
 * fold-quantize-io: give placeholders the quantized type that the network computes in.
 *
 *     placeholder @x : float                  placeholder @x : i8[S O]
 *     %a = Quantize(@x) : i8[S O]       =>    ... @x ...
 *
 *     %y = Dequantize(%b) : float             placeholder @out : i8[S O]
 *     Save(%y, @out)                    =>    Save(%b, @out)
 *
 * An input changes only if all its users quantize it to one type, and an output only if
 * its Save is its only user.  The caller of the network must then use the scale and
 * offset of the type, which the header of a bundle states, so that the pass is not in
 * any pipeline.  Formals of bodies stay.  Glow's -convert-placeholders does the same.
 */

#include "passes/graph/common/placeholder_types.h"

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_fold_io(pass, f, &glow_op_quantize, &glow_op_dequantize);
}

const glow_pass glow_pass_fold_quantize_io = {
    .name = "fold-quantize-io",
    .summary = "give placeholders the quantized type of the computation",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "placeholders have other types",
    .options = {GLOW_FIELD_DEFAULT(io_options, inputs, GLOW_FLAG,
                                   "those that are read"),
                GLOW_FIELD_DEFAULT(io_options, outputs, GLOW_FLAG,
                                   "those that are written")},
    .defaults = &(const io_options){.inputs = true, .outputs = true},
    .run = run,
    .takes_quantized = true,
};
