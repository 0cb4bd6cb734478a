/*
 * Calls of kernels that are written in C: see c/README.md.
 *
 *     static void
 *     emit_topk(cpu_job *j)
 *     {
 *         const glow_topk *a = j->n->attrs;
 *         cpu_call c = glow_cpu_call(j, "glow_c_topk");
 *
 *         glow_cpu_arg(&c, j->out[0].at);
 *         glow_cpu_arg_int(&c, a->k);
 *         glow_cpu_call_end(&c);
 *     }
 */

#ifndef CODEGEN_CPU_KERNELS_CALL_CALL_H
#define CODEGEN_CPU_KERNELS_CALL_CALL_H

#include "codegen/cpu/kernels/kernel.h"

#define CPU_MAX_ARGS 48

typedef struct cpu_call {
    cpu_job *j;
    cg_value fn;
    cg_value arg[CPU_MAX_ARGS];
    int n;
} cpu_call;

cpu_call glow_cpu_call(cpu_job *j, const char *name);
/* A pointer, or NULL where there is none. */
void glow_cpu_arg(cpu_call *c, cg_value pointer);
void glow_cpu_arg_int(cpu_call *c, int64_t v);
void glow_cpu_arg_real(cpu_call *c, double v);
/* The pointer of a tensor, NULL where it is omitted, and its kind. */
void glow_cpu_arg_tensor(cpu_call *c, cg_tensor t);
/* `count` numbers as a constant array of int64_t. */
void glow_cpu_arg_ints(cpu_call *c, const int64_t *at, int64_t count);
/* The call; the kernel fails where the function does not return 0. */
void glow_cpu_call_end(cpu_call *c);

#endif
