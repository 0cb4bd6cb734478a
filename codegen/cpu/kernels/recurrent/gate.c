/*
 * Activation functions of the gates and states of recurrent networks; the
 * formulas are in ir/ops/recurrent_gate.c.
 */

#include "codegen/cpu/kernels/recurrent/recurrent.h"

#include <string.h>

/* `v` in all lanes of a vector of the type of `x`. */
static cg_value
number(cg_value x, float v)
{
    return glow_cg_real(LLVMTypeOf(x), (double)v);
}

/* x < bound, false for NaN. */
static cg_value
below(cg *g, cg_value x, cg_value bound)
{
    return cg_fcmp(g, LLVMRealOLT, x, bound);
}

/* min(max(x, lo), hi); NaN stays. */
static cg_value
clamped(cg *g, cg_value x, cg_value lo, cg_value hi)
{
    x = cg_select(g, below(g, x, lo), lo, x);
    return cg_select(g, below(g, hi, x), hi, x);
}

static cg_value
magnitude(cg *g, cg_value x)
{
    return glow_cg_intrinsic(g, "llvm.fabs", &x, 1);
}

static cg_value
affine(cg *g, cg_value x, const glow_activation *f)
{
    return glow_cg_fma(g, x, number(x, f->alpha), number(x, f->beta));
}

/*
 * alpha * (e^x - 1) for negative `x`, else `x`.  The exponential is of min(x,
 * 0), so that lanes that do not use it cannot overflow.
 */
static cg_value
elu(cg *g, cg_value x, const glow_activation *f)
{
    cg_value negative = below(g, x, number(x, 0));
    cg_value y = cg_select(g, negative, x, number(x, 0));

    y = cg_fsub(g, glow_cg_exp(g, y), number(x, 1));
    return cg_select(g, negative, cg_fmul(g, y, number(x, f->alpha)), x);
}

static cg_value
hard_sigmoid(cg *g, cg_value x, const glow_activation *f)
{
    return clamped(g, affine(g, x, f), number(x, 0), number(x, 1));
}

static cg_value
leaky_relu(cg *g, cg_value x, const glow_activation *f)
{
    cg_value is_below = below(g, x, number(x, 0));

    return cg_select(g, is_below, cg_fmul(g, x, number(x, f->alpha)), x);
}

static cg_value
relu(cg *g, cg_value x, const glow_activation *f)
{
    (void)f;
    return cg_select(g, below(g, x, number(x, 0)), number(x, 0), x);
}

static cg_value
scaled_tanh(cg *g, cg_value x, const glow_activation *f)
{
    x = glow_cg_tanh(g, cg_fmul(g, x, number(x, f->beta)));
    return cg_fmul(g, x, number(x, f->alpha));
}

static cg_value
sigmoid(cg *g, cg_value x, const glow_activation *f)
{
    (void)f;
    return glow_cg_sigmoid(g, x);
}

/* max(x, 0) + ln(1 + e^-|x|), which cannot overflow. */
static cg_value
softplus(cg *g, cg_value x, const glow_activation *f)
{
    cg_value y = LLVMBuildFNeg(g->builder, magnitude(g, x), "");

    y = glow_cg_log(g, cg_fadd(g, glow_cg_exp(g, y), number(x, 1)));
    return cg_fadd(g, relu(g, x, f), y);
}

static cg_value
softsign(cg *g, cg_value x, const glow_activation *f)
{
    (void)f;
    return cg_fdiv(g, x, cg_fadd(g, magnitude(g, x), number(x, 1)));
}

static cg_value
tangent(cg *g, cg_value x, const glow_activation *f)
{
    (void)f;
    return glow_cg_tanh(g, x);
}

static cg_value
thresholded_relu(cg *g, cg_value x, const glow_activation *f)
{
    return cg_select(g, below(g, x, number(x, f->alpha)), number(x, 0), x);
}

static const struct {
    const char *name;
    cg_value (*build)(cg *g, cg_value x, const glow_activation *f);
} functions[] = {
    {"Affine", affine},
    {"Elu", elu},
    {"HardSigmoid", hard_sigmoid},
    {"LeakyRelu", leaky_relu},
    {"Relu", relu},
    {"ScaledTanh", scaled_tanh},
    {"Sigmoid", sigmoid},
    {"Softplus", softplus},
    {"Softsign", softsign},
    {"Tanh", tangent},
    {"ThresholdedRelu", thresholded_relu},
};

static cg_value
apply(cg *g, cg_value x, const glow_activation *f)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, f->name) == 0)
            return functions[i].build(g, x, f);
    return NULL;
}

static bool
is_same(const glow_activation *a, const glow_activation *b)
{
    return strcmp(a->name, b->name) == 0 && a->alpha == b->alpha &&
           a->beta == b->beta;
}

/* Directions share their code: where functions differ, one of both is chosen. */
cg_value
glow_cpu_activate(cpu_recurrence *r, int i, cg_value x)
{
    cg *g = r->j->g;
    const glow_activation *f = &r->f[0][i], *other = &r->f[1][i];
    cg_value y = apply(g, x, f), is_first;

    if (r->s.directions == 1 || is_same(f, other))
        return y;
    is_first = cg_icmp(g, LLVMIntEQ, r->direction, cg_i64(g, 0));
    return cg_select(g, is_first, y, apply(g, x, other));
}

cg_value
glow_cpu_activate_gate(cpu_recurrence *r, int i, cg_value x)
{
    float clip = r->attrs->clip;

    if (clip > 0)
        x = clamped(r->j->g, x, number(x, -clip), number(x, clip));
    return glow_cpu_activate(r, i, x);
}
