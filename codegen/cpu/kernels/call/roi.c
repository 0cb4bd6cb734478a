/* RoiAlign and MaxRoiPool, as calls of C kernels. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

static void
emit_roialign(cpu_job *j)
{
    const glow_roialign *r = j->n->attrs;
    glow_dims x = j->in[0].type->shape, y = j->out[0].type->shape;
    cpu_call c = glow_cpu_call(j, "glow_c_roialign");

    glow_cpu_arg(&c, j->out[0].at);
    for (int i = 0; i < 3; i++)
        glow_cpu_arg_tensor(&c, j->in[i]);
    for (int i = 0; i < 4; i++)
        glow_cpu_arg_int(&c, x.at[i]);
    for (int i = 0; i < 3; i++)
        glow_cpu_arg_int(&c, y.at[i]);
    glow_cpu_arg_int(&c, r->mode == GLOW_ROI_AVG);
    glow_cpu_arg_int(&c, r->mode == GLOW_ROI_MAX_CORNERS);
    glow_cpu_arg_int(&c, r->sampling_ratio);
    glow_cpu_arg_real(&c, (double)r->spatial_scale);
    glow_cpu_arg_int(&c, r->aligned);
    glow_cpu_arg_int(&c, r->rotated);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_roialign = {
    .name = "roialign",
    .op = &glow_op_roialign,
    .fails = true,
    .emit = emit_roialign,
};

static void
emit_maxroipool(cpu_job *j)
{
    const glow_maxroipool *r = j->n->attrs;
    glow_dims x = j->in[0].type->shape, y = j->out[0].type->shape;
    cpu_call c = glow_cpu_call(j, "glow_c_maxroipool");

    glow_cpu_arg(&c, j->out[0].at);
    for (int i = 0; i < 2; i++)
        glow_cpu_arg_tensor(&c, j->in[i]);
    for (int i = 0; i < 4; i++)
        glow_cpu_arg_int(&c, x.at[i]);
    for (int i = 0; i < 3; i++)
        glow_cpu_arg_int(&c, y.at[i]);
    glow_cpu_arg_real(&c, (double)r->spatial_scale);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_maxroipool = {
    .name = "maxroipool",
    .op = &glow_op_maxroipool,
    .fails = true,
    .emit = emit_maxroipool,
};
