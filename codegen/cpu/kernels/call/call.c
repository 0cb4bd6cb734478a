/* Calls of kernels that are written in C. */

#include "codegen/cpu/kernels/call/call.h"

#include <assert.h>

#include "codegen/cpu/emit/link.h"
#include "codegen/cpu/kernels/common.h"
#include "codegen/llvm/llvm.h"

cpu_call
glow_cpu_call(cpu_job *j, const char *name)
{
    return (cpu_call){.j = j, .fn = glow_cg_c_function(j->g, name)};
}

void
glow_cpu_arg(cpu_call *c, cg_value pointer)
{
    assert(c->n < CPU_MAX_ARGS);
    c->arg[c->n++] = pointer ? pointer : LLVMConstNull(c->j->g->ptr);
}

void
glow_cpu_arg_int(cpu_call *c, int64_t v)
{
    glow_cpu_arg(c, cg_i64(c->j->g, v));
}

void
glow_cpu_arg_real(cpu_call *c, double v)
{
    glow_cpu_arg(c, glow_cg_real(c->j->g->f64, v));
}

void
glow_cpu_arg_tensor(cpu_call *c, cg_tensor t)
{
    glow_cpu_arg(c, t.at);
    glow_cpu_arg_int(c, t.at ? (int64_t)t.type->elem : 0);
}

void
glow_cpu_arg_ints(cpu_call *c, const int64_t *at, int64_t count)
{
    glow_cpu_arg(c, glow_cpu_table(c->j->g, at, count));
}

void
glow_cpu_call_end(cpu_call *c)
{
    cg *g = c->j->g;
    cg_value fn = c->fn;

    assert(LLVMCountParams(fn) == (unsigned)c->n);

    cg_value code = LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(fn), fn,
                                   c->arg, (unsigned)c->n, "");

    if (c->j->step->kernel->fails)
        glow_cpu_fail_if(c->j, cg_icmp(g, LLVMIntNE, code, cg_i64(g, 0)));
}
