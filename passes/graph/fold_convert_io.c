/*
 * fold-convert-io: give placeholders the element kind that the network computes
 * in.
 *
 *     placeholder @x : float                 placeholder @x : float16
 *     %a = ConvertTo(@x) : float16     =>    ... @x ...
 *
 *     %y = ConvertTo(%b) : float             placeholder @out : float16
 *     Save(%y, @out)                   =>    Save(%b, @out)
 *
 * An input changes only if all its users convert it to one kind, and an output
 * only if its Save is its only user.  The caller of the network must use the
 * new kind, so the pass is not in any pipeline.  Formals of bodies stay.
 * Glow's FoldElemKindConversionIntoInputs and -Outputs do the same.
 */

#include "passes/graph/common/placeholder_types.h"

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_fold_io(pass, f, &glow_op_convertto, &glow_op_convertto);
}

const glow_pass glow_pass_fold_convert_io = {
    .name = "fold-convert-io",
    .summary = "give placeholders the element kind of the computation",
    .level = GLOW_GRAPH,
    .preserves = GLOW_CHANGES,
    .why = "placeholders have other types",
    .options = {GLOW_FIELD_DEFAULT(io_options, inputs, GLOW_FLAG,
                                   "those that are read"),
                GLOW_FIELD_DEFAULT(io_options, outputs, GLOW_FLAG,
                                   "those that are written")},
    .defaults = &(const io_options){.inputs = true, .outputs = true},
    .run = run,
};
