/*
 * Conversion of floats of at most 8 bits by integer arithmetic on the bits of
 * float, and of integers of fewer bits than a byte.
 */

#include "codegen/cpu/emit/low.h"

#include <math.h>

#include "glow/tensor.h"

#define FLOAT_BIAS 127
#define FLOAT_FRACTION 23

static cg_value
equals(cg *g, cg_value v, int64_t bits)
{
    return cg_icmp(g, LLVMIntEQ, v, glow_cg_int(LLVMTypeOf(v), bits));
}

/* The constant `bits` where `condition` holds, else `v`. */
static cg_value
instead(cg *g, cg_value condition, int64_t bits, cg_value v)
{
    return cg_select(g, condition, glow_cg_int(LLVMTypeOf(v), bits), v);
}

/* 2^(w - 127) as a float; w = 0 is subnormal. */
static cg_value
power_to_float(cg *g, const glow_float_format *f, cg_value w)
{
    cg_value all = cg_shl(g, w, glow_cg_int(LLVMTypeOf(w), FLOAT_FRACTION));

    all = instead(g, equals(g, w, 0), 0x00400000, all);
    return instead(g, equals(g, w, f->nan), 0x7fc00000, all);
}

static cg_value
signed_to_float(cg *g, const glow_float_format *f, cg_value w)
{
    LLVMTypeRef t = LLVMTypeOf(w), real = glow_cg_like(w, g->f32);
    int size = f->exponent + f->fraction;
    cg_value magnitude = cg_and(g, w, glow_cg_int(t, (1 << size) - 1));
    cg_value sign = cg_shl(g, cg_and(g, w, glow_cg_int(t, 1 << size)),
                           glow_cg_int(t, 31 - size));
    cg_value normal = cg_iadd(
        g, cg_shl(g, magnitude, glow_cg_int(t, FLOAT_FRACTION - f->fraction)),
        glow_cg_int(t, (int64_t)(FLOAT_BIAS - f->bias) << FLOAT_FRACTION));
    cg_value tiny = cg_bitcast(
        g,
        cg_fmul(g, LLVMBuildUIToFP(g->builder, magnitude, real, ""),
                glow_cg_real(real, ldexp(1, 1 - f->bias - f->fraction))),
        t);
    cg_value is_tiny =
        cg_icmp(g, LLVMIntULT, magnitude, glow_cg_int(t, 1 << f->fraction));
    cg_value all = cg_or(g, cg_select(g, is_tiny, tiny, normal), sign);

    if (f->nan == 1 << size)
        return instead(g, equals(g, w, f->nan), 0x7fc00000, all);
    if (f->infinity >= 0) {
        cg_value is_infinite = equals(g, magnitude, f->infinity);
        cg_value infinity = cg_or(g, sign, glow_cg_int(t, 0x7f800000));

        all = cg_select(g, is_infinite, infinity, all);
    }
    if (f->nan < 0)
        return all;
    return instead(
        g,
        cg_icmp(g, LLVMIntUGT, magnitude,
                glow_cg_int(t, f->infinity >= 0 ? f->infinity : f->largest)),
        0x7fc00000, all);
}

/* The low k->bits of a byte, sign- or zero-extended by the kind. */
static cg_value
low_bits(cg *g, const glow_kind_info *k, cg_value v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    cg_value by = glow_cg_int(t, 8 - k->bits);

    if (!k->is_signed)
        return cg_and(g, v, glow_cg_int(t, (1 << k->bits) - 1));
    return LLVMBuildAShr(g->builder, cg_shl(g, v, by), by, "");
}

/* Rounds to nearest even and clamps to the range of the kind; 0 for NaN. */
static cg_value
real_to_int(cg *g, const glow_kind_info *k, cg_value v)
{
    int64_t most = (1 << (k->bits - k->is_signed)) - 1;
    LLVMIntPredicate over = k->is_signed ? LLVMIntSGT : LLVMIntUGT;

    v = glow_cg_intrinsic(g, "llvm.rint", &v, 1);
    v = glow_cg_to_int(g, v, g->i8, k->is_signed);
    v = instead(g, cg_icmp(g, over, v, glow_cg_int(LLVMTypeOf(v), most)), most,
                v);
    if (!k->is_signed)
        return v;
    return instead(
        g, cg_icmp(g, LLVMIntSLT, v, glow_cg_int(LLVMTypeOf(v), -most - 1)),
        -most - 1, v);
}

/*
 * Conversion to float8e8m0: the exponent, after the fraction is rounded away.
 */
static cg_value
float_to_power(cg *g, const glow_float_format *f, cg_value v, bool saturates,
               int round)
{
    LLVMTypeRef t = glow_cg_like(v, g->i32);
    cg_value w = cg_bitcast(g, v, t);
    cg_value a = cg_and(g, w, glow_cg_int(t, 0x7fffffff));
    cg_value e = cg_lshr(g, a, glow_cg_int(t, FLOAT_FRACTION));
    cg_value fraction = cg_and(g, a, glow_cg_int(t, 0x7fffff));
    bool is_up = round == GLOW_ROUND_UP;
    /* The exponent of a subnormal is in the fraction: 2^-127. */
    cg_value least = glow_cg_int(t, is_up ? 1 : 0x400000);
    cg_value least_tiny = glow_cg_int(t, is_up ? 0x400001 : 0x600000);
    cg_value more = cg_icmp(g, LLVMIntUGE, fraction,
                            cg_select(g, equals(g, e, 0), least_tiny, least));
    cg_value code = e, wrong, over;

    if (round != GLOW_ROUND_DOWN)
        code = cg_iadd(g, e, LLVMBuildZExt(g->builder, more, t, ""));
    over = cg_icmp(g, LLVMIntUGT, code, glow_cg_int(t, f->largest));
    code = instead(g, over, saturates ? f->largest : f->nan, code);
    if (!saturates)
        code = instead(g, cg_icmp(g, LLVMIntULT, a, glow_cg_int(t, 0x400000)),
                       f->nan, code);
    wrong = cg_icmp(g, LLVMIntUGT, a, glow_cg_int(t, 0x7f800000));
    wrong = cg_or(g, wrong,
                  cg_icmp(g, LLVMIntUGT, w, glow_cg_int(t, 0x80000000LL)));
    return instead(g, wrong, f->nan, code);
}

/*
 * Rounds the magnitude `a` of a float to the bits of the format, to nearest
 * even; the result may exceed the largest number.  Subnormal results are
 * rounded by the addition of the number whose last bit has the weight of the
 * least subnormal.
 */
static cg_value
round_magnitude(cg *g, const glow_float_format *f, cg_value a)
{
    LLVMTypeRef t = LLVMTypeOf(a), real = glow_cg_like(a, g->f32);
    int shift = FLOAT_FRACTION - f->fraction;
    cg_value by = glow_cg_int(t, shift), one = glow_cg_int(t, 1);
    cg_value odd = cg_and(g, cg_lshr(g, a, by), one);
    cg_value near =
        cg_iadd(g, cg_iadd(g, a, glow_cg_int(t, (1 << (shift - 1)) - 1)), odd);
    cg_value normal =
        cg_isub(g, cg_lshr(g, near, by),
                glow_cg_int(t, (int64_t)(FLOAT_BIAS - f->bias) << f->fraction));
    cg_value ground = glow_cg_real(
        real, ldexp(1, FLOAT_FRACTION + 1 - f->bias - f->fraction));
    cg_value sum = cg_fadd(g, cg_bitcast(g, a, real), ground);
    cg_value tiny = cg_bitcast(g, sum, t);
    cg_value is_tiny = cg_icmp(
        g, LLVMIntULT, a,
        glow_cg_int(t, (int64_t)(FLOAT_BIAS + 1 - f->bias) << FLOAT_FRACTION));

    tiny = cg_isub(g, tiny, cg_bitcast(g, ground, t));
    return cg_select(g, is_tiny, tiny, normal);
}

static cg_value
float_to_signed(cg *g, const glow_float_format *f, cg_value v, bool saturates)
{
    LLVMTypeRef t = glow_cg_like(v, g->i32);
    int size = f->exponent + f->fraction;
    cg_value w = cg_bitcast(g, v, t);
    cg_value a = cg_and(g, w, glow_cg_int(t, 0x7fffffff));
    cg_value code = round_magnitude(g, f, a);
    cg_value over = cg_icmp(g, LLVMIntUGT, code, glow_cg_int(t, f->largest));
    cg_value sign = cg_and(g, cg_lshr(g, w, glow_cg_int(t, 31 - size)),
                           glow_cg_int(t, 1 << size));
    bool stays = saturates || f->nan < 0, one_zero = f->nan == 1 << size;
    cg_value all;

    code = instead(g, over, stays ? f->largest : f->infinity, code);
    all = cg_or(g, code, sign);
    if (one_zero)
        all = instead(g, equals(g, code, 0), 0, all);
    if (!stays && f->infinity < 0)
        all = instead(g, over, f->nan, all);
    if (one_zero)
        all = instead(g, equals(g, a, 0x7f800000), f->nan, all);
    return instead(g, cg_icmp(g, LLVMIntUGT, a, glow_cg_int(t, 0x7f800000)),
                   f->nan < 0 ? f->largest : f->nan, all);
}

/*
 * Converts `v` to a float that rounds to low precision as `v` does:
 * glow_cg_convert to bfloat16 rounds to odd.
 */
static cg_value
to_float(cg *g, const glow_type *from, cg_value v)
{
    const glow_type odd = {.elem = GLOW_BFLOAT16};
    cg_value f = glow_cg_convert(g, from, &odd, v), large;
    LLVMTypeRef t = LLVMTypeOf(v);

    if (glow_cg_computed(g, from) != g->f64)
        return f;
    /* Round-to-odd gives finite floats, but these are too large for
       float8e8m0. */
    large = cg_fcmp(g, LLVMRealOGE, v, glow_cg_real(t, 0x1p128));
    return cg_select(g, large, glow_cg_real(LLVMTypeOf(f), INFINITY), f);
}

cg_value
glow_cg_convert_low(cg *g, const glow_type *from, const glow_type *to,
                    cg_value v, bool saturates, int round)
{
    static const glow_type float_type = {.elem = GLOW_FLOAT};
    static const glow_type byte = {.elem = GLOW_INT8};
    const glow_kind_info *a = glow_kind_get(from->elem);
    const glow_kind_info *b = glow_kind_get(to->elem);

    if (a->format) {
        v = LLVMBuildZExt(g->builder, v, glow_cg_like(v, g->i32), "");
        v = a->is_signed ? signed_to_float(g, a->format, v)
                         : power_to_float(g, a->format, v);
        v = cg_bitcast(g, v, glow_cg_like(v, g->f32));
        from = &float_type;
    }
    if (b->format) {
        v = to_float(g, from, v);
        v = b->is_signed ? float_to_signed(g, b->format, v, saturates)
                         : float_to_power(g, b->format, v, saturates, round);
        return LLVMBuildTrunc(g->builder, v, glow_cg_like(v, g->i8), "");
    }
    if (b->klass != GLOW_CLASS_LOW)
        return glow_cg_convert(g, from, to, v);
    if (glow_is_float(from->elem))
        return real_to_int(g, b, v);
    return low_bits(g, b, glow_cg_convert(g, from, &byte, v));
}

cg_value
glow_cg_recast(cg *g, const glow_type *to, cg_value bits)
{
    const glow_kind_info *k = glow_kind_get(to->elem);
    LLVMTypeRef t = glow_cg_like(
        bits, to->elem == GLOW_FLOAT ? g->f32
              : to->elem == GLOW_FLOAT64
                  ? g->f64
                  : LLVMIntTypeInContext(g->context, (unsigned)k->bytes * 8));

    bits = cg_bitcast(g, bits, t);
    if (to->elem == GLOW_BOOL)
        return LLVMBuildZExt(
            g->builder, cg_icmp(g, LLVMIntNE, bits, LLVMConstNull(t)), t, "");
    if (k->klass != GLOW_CLASS_LOW)
        return bits;
    return k->format ? cg_and(g, bits, glow_cg_int(t, (1 << k->bits) - 1))
                     : low_bits(g, k, bits);
}
