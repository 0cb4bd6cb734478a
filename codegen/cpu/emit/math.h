/* Elementary functions in generated code. */

#ifndef CODEGEN_CPU_EMIT_MATH_H
#define CODEGEN_CPU_EMIT_MATH_H

#include "codegen/cpu/emit/gen.h"

/* Sets t->has_scale. */
void glow_cg_probe_scale(glow_arena *a, cpu_target *t);

/*
 * Functions of float, by polynomials with the error bounds of math.c; functions
 * of double, by a libm call per lane.
 */
cg_value glow_cg_exp(cg *g, cg_value x);
cg_value glow_cg_log(cg *g, cg_value x);
cg_value glow_cg_sigmoid(cg *g, cg_value x);
cg_value glow_cg_swish(cg *g, cg_value x);
cg_value glow_cg_gelu(cg *g, cg_value x); /* exact GELU (erf); float only */
cg_value glow_cg_gelu_slope(cg *g, cg_value x); /* its derivative; float only */
/*
 * Power of 2 of numbers up to 0, and exact GELU, for results that are rounded to
 * bfloat16: relative errors 2.7e-6 and 1.4e-4.
 */
cg_value glow_cg_short_power(cg *g, cg_value x);
cg_value glow_cg_short_gelu(cg *g, cg_value x);
cg_value glow_cg_tanh(cg *g, cg_value x);
cg_value glow_cg_erf(cg *g, cg_value x);
cg_value glow_cg_atan(cg *g, cg_value x);
cg_value glow_cg_sin(cg *g, cg_value x);
cg_value glow_cg_cos(cg *g, cg_value x);
/*
 * a / b to 2 ulp; for float by a reciprocal estimate where the target has one,
 * with |b| in [2^-126, 2^126] or NaN.
 */
cg_value glow_cg_quotient(cg *g, cg_value a, cg_value b);
/* A libm call for float or double; `name` is the double function. */
cg_value glow_cg_libm(cg *g, const char *name, cg_value *args, int n);

#endif
