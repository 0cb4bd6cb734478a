/* SparseLengthsWeightedSum, as a call of a C kernel. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

static void
emit_sparselengthsweightedsum(cpu_job *j)
{
    glow_dims data = j->in[0].type->shape;
    cpu_call c = glow_cpu_call(j, "glow_c_sparselengths");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, data.at[0]);
    glow_cpu_arg_int(&c, glow_dims_product(data, 1, data.rank));
    glow_cpu_arg(&c, j->in[1].at);
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
