/* QuantizationProfile, as a call of a C kernel. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

/* Tables of counts of 32 bits, as c/profile.c has them. */
enum { TABLES = 4 };

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    int64_t bytes;

    (void)t;
    return glow_mul_overflow(n->in[1]->type->shape.at[0],
                             TABLES * (int64_t)sizeof(uint32_t), &bytes)
               ? INT64_MAX
               : bytes;
}

static void
emit_quantizationprofile(cpu_job *j)
{
    const glow_quantizationprofile *a = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    bool per = a->axis >= 0;
    cpu_call c = glow_cpu_call(j, "glow_c_quantizationprofile");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg(&c, j->out[1].at);
    glow_cpu_arg(&c, j->in[1].at);
    glow_cpu_arg(&c, j->in[2].at);
    glow_cpu_arg(&c, j->scratch);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, glow_dims_count(x));
    glow_cpu_arg_int(&c, per ? x.at[a->axis] : 0);
    glow_cpu_arg_int(&c, per ? glow_dims_product(x, a->axis + 1, x.rank) : 1);
    glow_cpu_arg_int(&c, j->in[1].type->shape.at[0]);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_quantizationprofile = {
    .name = "quantizationprofile",
    .op = &glow_op_quantizationprofile,
    .emit = emit_quantizationprofile,
    .scratch_size = scratch_size,
};
