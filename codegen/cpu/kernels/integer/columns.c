/*
 * Columns of integer sums: start values, ratios of scales and offsets of channels,
 * made at run time; and the way from sums to results.
 */

#include <float.h>
#include <math.h>

#include "codegen/cpu/kernels/integer/integer.h"
#include "glow/quantize.h"

typedef cpu_integer integer;

/* Channels of a vector, from `channel` on, of which `live` are. */
typedef struct columns {
    cpu_job *j;
    const integer *s;
    cg_value channel;
    int live;
} columns;

bool
glow_cpu_integer_is_wide(const integer *s)
{
    return glow_quantized_values(s->y->elem) == 0;
}

/* Rounding. */

static cg_value
clamp(cg *g, cg_value x, double least, double most)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    cg_value low = glow_cg_real(t, least), high = glow_cg_real(t, most);

    x = cg_select(g, cg_fcmp(g, LLVMRealOGT, x, low), x, low);
    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, high), x, high);
}

/*
 * rint(x) + offset as i32, of a double that is no NaN, held to a range of 32 bits:
 * 1.5 * 2^52 is added, after which the low bits are the number.
 */
static cg_value
round_double(cg *g, cg_value x, double least, double most, int64_t offset)
{
    LLVMTypeRef t = LLVMTypeOf(x), bits = glow_cg_like(x, g->i64);

    x = clamp(g, x, least - (double)offset, most - (double)offset);
    x = cg_fadd(g, x, glow_cg_real(t, 0x1.8p52));
    x = cg_iadd(g, cg_bitcast(g, x, bits),
                glow_cg_int(bits, offset - 0x4338000000000000));
    return LLVMBuildTrunc(g->builder, x, glow_cg_like(x, g->i32), "");
}

#define FLOAT_MOST 0x1p22 /* where 1.5 * 2^23 can be added to round a float */

/* The same of a float, for ranges within FLOAT_MOST. */
static cg_value
round_float(cg *g, cg_value x, double least, double most, int64_t offset)
{
    LLVMTypeRef t = LLVMTypeOf(x), bits = glow_cg_like(x, g->i32);

    x = clamp(g, x, least - (double)offset, most - (double)offset);
    x = cg_fadd(g, x, glow_cg_real(t, 0x1.8p23));
    return cg_iadd(g, cg_bitcast(g, x, bits),
                   glow_cg_int(bits, offset - 0x4b400000));
}

cg_value
glow_cpu_integer_round(cg *g, const integer *s, cg_value sum, cg_value ratio)
{
    double least = (double)glow_quantized_least(s->y->elem);
    double most = (double)glow_quantized_most(s->y->elem);
    double offset = (double)s->y->offset;
    LLVMTypeRef real = LLVMTypeOf(ratio);
    cg_value x = cg_fmul(g, LLVMBuildSIToFP(g->builder, sum, real, ""), ratio);

    if (glow_cpu_integer_is_wide(s))
        return round_double(g, x, least, most, s->y->offset);
    if (fabs(least - offset) < FLOAT_MOST && fabs(most - offset) < FLOAT_MOST)
        return round_float(g, x, least, most, s->y->offset);
    return round_double(
        g, LLVMBuildFPExt(g->builder, x, glow_cg_like(x, g->f64), ""), least,
        most, s->y->offset);
}

cg_value
glow_cpu_integer_narrow(cg *g, const integer *s, cg_value y)
{
    int bytes = glow_cg_bytes(s->y);

    if (bytes == 4)
        return y;
    return LLVMBuildTrunc(g->builder, y,
                          glow_cg_like(y, bytes == 1 ? g->i8 : g->i16), "");
}

/* Operands by channel. */

static cg_value
load(const columns *c, int operand, bool bits)
{
    cg *g = c->j->g;
    cg_value x;

    g->live = c->live < c->s->lanes ? c->live : 0;
    x = (bits ? glow_cg_load_bits : glow_cg_load)(g, c->j->in[operand],
                                                  c->channel, c->s->lanes);
    g->live = 0;
    return x;
}

/* Operand `operand`, as double. */
static cg_value
load_column(const columns *c, int operand)
{
    cg *g = c->j->g;
    glow_kind kind = c->j->in[operand].type->elem;
    LLVMTypeRef t = glow_cg_vector(g->f64, c->s->lanes);
    cg_value x = load(c, operand, glow_is_quantized(kind));

    if (glow_cg_is_float(x))
        return kind == GLOW_FLOAT64 ? x : LLVMBuildFPExt(g->builder, x, t, "");
    return kind == GLOW_UINT8Q ? LLVMBuildUIToFP(g->builder, x, t, "")
                               : LLVMBuildSIToFP(g->builder, x, t, "");
}

/* The same, or `otherwise` where there is no such operand. */
static cg_value
column(const columns *c, int operand, double otherwise)
{
    LLVMTypeRef t = glow_cg_vector(c->j->g->f64, c->s->lanes);

    return operand < 0 ? glow_cg_real(t, otherwise) : load_column(c, operand);
}

/* `x`, or 0 where it is NaN. */
static cg_value
number_of(cg *g, cg_value x)
{
    return cg_select(g, cg_fcmp(g, LLVMRealORD, x, x), x,
                     LLVMConstNull(LLVMTypeOf(x)));
}

/* Products of scales: the units of the sums. */
static cg_value
units_of(const columns *c)
{
    cg *g = c->j->g;
    cg_value w = column(c, c->s->by.scales, (double)c->s->w->scale);

    return cg_fmul(g, w, glow_cg_real(LLVMTypeOf(w), (double)c->s->x->scale));
}

/*
 * Units divided by the scale of the result.  A ratio that is NaN gives the offset,
 * as 0 does; one that is infinite saturates all sums but 0, as the largest number
 * does.
 */
static cg_value
ratio_of(const columns *c, cg_value units)
{
    cg *g = c->j->g;
    LLVMTypeRef t = LLVMTypeOf(units);
    cg_value x = cg_fdiv(g, units, glow_cg_real(t, (double)c->s->y->scale));

    if (glow_cpu_integer_is_wide(c->s))
        return clamp(g, number_of(g, x), -DBL_MAX, DBL_MAX);
    x = LLVMBuildFPTrunc(g->builder, x, glow_cg_like(x, g->f32), "");
    return clamp(g, number_of(g, x), -(double)FLT_MAX, (double)FLT_MAX);
}

/* The bias in units of the sums: glow_quantize_bias. */
static cg_value
bias_of(const columns *c, cg_value units)
{
    cg *g = c->j->g;
    const cpu_integer_operands *by = &c->s->by;
    const glow_type *bias = c->j->in[by->bias].type;
    cg_value q = load_column(c, by->bias), x;
    LLVMTypeRef t = LLVMTypeOf(q), f = glow_cg_like(q, g->f32);

    q = cg_fsub(g, q, column(c, by->bias_offsets, (double)bias->offset));
    units = LLVMBuildFPTrunc(g->builder, units, f, "");
    units = LLVMBuildFPExt(g->builder, units, t, "");
    x = cg_fdiv(g, column(c, by->bias_scales, (double)bias->scale), units);
    return round_double(g, number_of(g, cg_fmul(g, q, x)), (double)INT32_MIN,
                        (double)INT32_MAX, 0);
}

/* v of the weights; NULL: 0. */
static cg_value
offset_of(const columns *c)
{
    cg *g = c->j->g;
    int64_t zero = c->s->w->elem == GLOW_INT8Q ? 0 : 128;
    LLVMTypeRef t = glow_cg_vector(g->i32, c->s->lanes);
    cg_value x;

    if (c->s->centered)
        return NULL;
    if (c->s->by.offsets < 0) {
        zero = c->s->w->offset - zero;
        return zero ? glow_cg_int(t, zero) : NULL;
    }
    x = cg_isub(g, load(c, c->s->by.offsets, true), glow_cg_int(t, zero));
    g->live = c->live < c->s->lanes ? c->live : 0;
    x = glow_cg_live(g, x, LLVMConstNull(t));
    g->live = 0;
    return x;
}

cpu_integer_column
glow_cpu_integer_column(cpu_job *j, const integer *s, cg_value channel,
                        int live, cg_value term)
{
    cg *g = j->g;
    columns c = {j, s, channel, live};
    LLVMTypeRef t = glow_cg_vector(g->i32, s->lanes);
    int64_t taps = s->axis[0].kernel * s->axis[1].kernel * s->axis[2].kernel;
    /* n z, modulo 2^32 */
    int32_t zeros =
        (int32_t)((uint32_t)(taps * s->channels) * (uint32_t)s->x_zero);
    cg_value units = units_of(&c);
    cpu_integer_column out = {.start = term};

    out.ratio = ratio_of(&c, units);
    out.offset = offset_of(&c);
    if (s->by.bias >= 0)
        out.start = cg_iadd(g, out.start, bias_of(&c, units));
    if (out.offset)
        out.start = cg_iadd(g, out.start,
                            cg_imul(g, out.offset, glow_cg_int(t, zeros)));
    return out;
}

cg_value
glow_cpu_integer_any(cg *g, cg_value x)
{
    if (glow_cg_lanes(LLVMTypeOf(x)) > 1)
        x = glow_cg_intrinsic(g, "llvm.vector.reduce.or", &x, 1);
    return cg_icmp(g, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)));
}
