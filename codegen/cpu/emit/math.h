/* Elementary functions in generated code. */

#ifndef CODEGEN_CPU_EMIT_MATH_H
#define CODEGEN_CPU_EMIT_MATH_H

#include "codegen/cpu/emit/gen.h"

/*
 * Of float by polynomials, with the error stated at each in math.c; of double
 * by libm, lane by lane.
 */
cg_value glow_cpu_exp(cg *g, cg_value x);
cg_value glow_cpu_log(cg *g, cg_value x);
cg_value glow_cpu_sigmoid(cg *g, cg_value x);
cg_value glow_cpu_swish(cg *g, cg_value x);
cg_value glow_cpu_gelu(cg *g, cg_value x); /* by erf; of float alone */
cg_value glow_cpu_tanh(cg *g, cg_value x);
cg_value glow_cpu_erf(cg *g, cg_value x);
/*
 * a / b to 2 ulp, of float by an estimate where the target has one: |b| must be
 * from 2^-126 to 2^126, or NaN.
 */
cg_value glow_cpu_quotient(cg *g, cg_value a, cg_value b);
/* By libm for both: `name` is that of the function of double. */
cg_value glow_cpu_libm(cg *g, const char *name, cg_value *args, int n);

#endif
