/* PhiloxUniform, as a call of a C kernel. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

static void
emit(cpu_job *j)
{
    const glow_philoxuniform *a = j->n->attrs;
    cpu_call c = glow_cpu_call(j, "glow_c_philox");

    glow_cpu_arg_tensor(&c, j->out[0]);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, a->seed);
    glow_cpu_arg_int(&c, glow_type_count(j->out[0].type));
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_philoxuniform = {
    .name = "philoxuniform",
    .op = &glow_op_philoxuniform,
    .emit = emit,
};
