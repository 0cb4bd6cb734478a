/* Checks that apply to every kernel: does it take an instruction? */

#include "codegen/cpu/kernels/kernel.h"

#include "codegen/cpu/layout.h"

static bool
all_dense(glow_value *const *v, int count)
{
    for (int i = 0; i < count; i++)
        if (v[i] && v[i]->type->strides.rank)
            return false;
    return true;
}

bool
glow_cpu_takes_layouts(const cpu_kernel *k, const glow_node *n)
{
    glow_dims step;

    if (!(k->strides & CPU_STRIDES_IN) && !all_dense(n->in, n->n_in))
        return false;
    return (k->strides & CPU_STRIDES_OUT) || all_dense(n->out, n->n_out) ||
           (k->stacks && glow_cpu_rows(n->out[0]->type, &step) &&
            all_dense(n->out + 1, n->n_out - 1));
}

bool
glow_cpu_takes(const cpu_kernel *k, const cpu_target *t, const glow_node *n)
{
    if (k->op != n->op || !glow_cpu_takes_layouts(k, n))
        return false;
    return k->takes ? k->takes(t, n)
                    : k->quantized || !glow_computes_quantized(n);
}

void
glow_cpu_fail_if(cpu_job *j, cg_value bad)
{
    cg_if s;

    glow_cg_if(j->g, &s, bad);
    LLVMBuildRet(j->g->builder, LLVMConstInt(j->g->i32, 1, false));
    LLVMPositionBuilderAtEnd(j->g->builder, s.done);
}
