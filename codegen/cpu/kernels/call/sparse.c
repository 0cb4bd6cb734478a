/* SparseLengthsWeightedSum and ConvertRows, as calls of C kernels. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

static void
emit_sparselengthsweightedsum(cpu_job *j)
{
    const glow_type *data = j->in[0].type, *y = j->out[0].type;
    cpu_call c = glow_cpu_call(j, "glow_c_sparselengths");

    glow_cpu_arg_tensor(&c, j->out[0]);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, data->shape.at[0]);
    glow_cpu_arg_int(&c, glow_dims_product(y->shape, 1, y->shape.rank));
    glow_cpu_arg_tensor(&c, j->in[1]);
    glow_cpu_arg_tensor(&c, j->in[2]);
    glow_cpu_arg_int(&c, j->in[2].type->shape.at[0]);
    glow_cpu_arg_tensor(&c, j->in[3]);
    glow_cpu_arg_int(&c, j->in[3].type->shape.at[0]);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_sparselengthsweightedsum = {
    .name = "sparselengthsweightedsum",
    .op = &glow_op_sparselengthsweightedsum,
    .emit = emit_sparselengthsweightedsum,
    .fails = true,
};

static void
emit_convertrows(cpu_job *j)
{
    const glow_type *x = j->in[0].type, *y = j->out[0].type;
    cpu_call c = glow_cpu_call(j, "glow_c_convertrows");

    glow_cpu_arg_tensor(&c, j->out[0]);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, x->shape.at[0]);
    glow_cpu_arg_int(&c, glow_fused_tail(y->elem) > 0 ? glow_fused_columns(y)
                                                      : y->shape.at[1]);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_convertrows = {
    .name = "convertrows",
    .op = &glow_op_convertrows,
    .emit = emit_convertrows,
};
