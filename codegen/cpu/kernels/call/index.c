/* CumSum, CumProd and ScatterData, as calls of C kernels. */

#include "codegen/cpu/kernels/call/call.h"
#include "codegen/cpu/kernels/common.h"

static void
emit_cumsum(cpu_job *j)
{
    const glow_cumsum *a = j->n->attrs;
    glow_dims x = j->in[0].type->shape;
    cpu_call c = glow_cpu_call(j, "glow_c_cumsum");

    glow_cpu_arg(&c, j->out[0].at);
    glow_cpu_arg_tensor(&c, j->in[0]);
    glow_cpu_arg_int(&c, glow_dims_product(x, 0, a->dim));
    glow_cpu_arg_int(&c, x.at[a->dim]);
    glow_cpu_arg_int(&c, glow_dims_product(x, a->dim + 1, x.rank));
    glow_cpu_arg_int(&c, a->exclusive);
    glow_cpu_arg_int(&c, a->reverse);
    glow_cpu_arg_int(&c, j->n->op == &glow_op_cumprod);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_cumsum = {
    .name = "cumsum",
    .op = &glow_op_cumsum,
    .emit = emit_cumsum,
};

const cpu_kernel glow_cpu_cumprod = {
    .name = "cumprod",
    .op = &glow_op_cumprod,
    .emit = emit_cumsum,
};

/* Copies Data unless the result is updated in place, then writes the slices. */
static void
emit_scatterdata(cpu_job *j)
{
    const glow_scatterdata *a = j->n->attrs;
    glow_dims data = j->in[0].type->shape, at = j->in[1].type->shape;
    glow_dims dense = glow_dims_strides(data);
    int depth = (int)at.at[at.rank - 1];
    cpu_call c;

    if (j->step->in[0] != j->step->out[0])
        glow_cpu_copy(j->g, j->out[0], 0, dense, j->in[0], 0, dense, data);
    if (glow_dims_count(j->in[2].type->shape) == 0)
        return;
    c = glow_cpu_call(j, "glow_c_scatterdata");
    glow_cpu_arg_tensor(&c, j->out[0]);
    glow_cpu_arg_tensor(&c, j->in[1]);
    glow_cpu_arg(&c, j->in[2].at);
    glow_cpu_arg_ints(&c, data.at, depth);
    glow_cpu_arg_int(&c, depth);
    glow_cpu_arg_int(&c, glow_dims_product(at, 0, at.rank - 1));
    glow_cpu_arg_int(&c, glow_dims_product(data, depth, data.rank));
    glow_cpu_arg_int(&c, a->reduction);
    glow_cpu_call_end(&c);
}

const cpu_kernel glow_cpu_scatterdata = {
    .name = "scatterdata",
    .op = &glow_op_scatterdata,
    .quantized = true,
    .emit = emit_scatterdata,
    .fails = true,
};
