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

/* Elements, channels or 0, elements from one channel to the next, bins. */
static int
numbers(const glow_node *n, int64_t *to)
{
    const glow_quantizationprofile *a = n->attrs;
    glow_dims x = n->in[0]->type->shape;
    bool per = a->axis >= 0;

    to[0] = glow_dims_count(x);
    to[1] = per ? x.at[a->axis] : 0;
    to[2] = per ? glow_dims_product(x, a->axis + 1, x.rank) : 1;
    to[3] = n->in[1]->type->shape.at[0];
    return 4;
}

static void
emit_quantizationprofile(cpu_job *j)
{
    cpu_call c = glow_cpu_call(j, "glow_c_quantizationprofile");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg(&c, j->out[1].at);
    glow_cpu_arg(&c, j->in[1].at);
    glow_cpu_arg(&c, j->in[2].at);
    glow_cpu_arg(&c, j->scratch);
    glow_cpu_arg_tensor(&c, j->in[0]);
    for (int i = 0; i < 4; i++)
        glow_cpu_arg(&c, j->number[i]);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_quantizationprofile = {
    .name = "quantizationprofile",
    .op = &glow_op_quantizationprofile,
    .emit = emit_quantizationprofile,
    .scratch_size = scratch_size,
    .numbers = numbers,
};
