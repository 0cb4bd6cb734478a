/* Rounding and conversions of quantized elements. */

#include "codegen/cpu/emit/quant.h"

#include <string.h>

#include "codegen/cpu/emit/dot.h"
#include "glow/quantize.h"

#define UPPER 0x1p20 /* more than 16 bits hold */
#define PART 16      /* bytes within which x86 packs */
#define PACKED 4     /* vectors of 32 bits that become one of 8 bits */

bool
glow_cg_is_short(const glow_type *t)
{
    return glow_quantized_values(t->elem) != 0;
}

static bool
is_signed(const glow_type *t)
{
    return glow_kind_get(t->elem)->is_signed;
}

static LLVMTypeRef
stored(cg *g, const glow_type *t)
{
    return LLVMIntTypeInContext(g->context,
                                (unsigned)glow_kind_get(t->elem)->bytes * 8);
}

cg_value
glow_cg_as_real(cg *g, cg_value v, LLVMTypeRef real)
{
    return glow_cg_scalar(LLVMTypeOf(v)) == real
               ? v
               : LLVMBuildFPCast(g->builder, v, glow_cg_like(v, real), "");
}

cg_value
glow_cg_centered(cg *g, const glow_type *from, cg_value q, LLVMTypeRef real)
{
    LLVMTypeRef word = glow_cg_like(q, g->i32);

    if (glow_cg_is_short(from)) {
        q = LLVMBuildIntCast2(g->builder, q, word, is_signed(from), "");
        if (from->offset)
            q = cg_isub(g, q, glow_cg_int(word, from->offset));
        return LLVMBuildSIToFP(g->builder, q, glow_cg_like(q, real), "");
    }
    word = glow_cg_like(q, g->f64);
    q = is_signed(from) ? LLVMBuildSIToFP(g->builder, q, word, "")
                        : LLVMBuildUIToFP(g->builder, q, word, "");
    if (from->offset)
        q = cg_fsub(g, q, glow_cg_real(word, from->offset));
    return glow_cg_as_real(g, q, real);
}

/* Packing, on x86. */

bool
glow_cg_packs_units(const cg *g)
{
    return strncmp(g->target->triple, "x86_64", 6) == 0 &&
           g->target->dot_bytes >= PART;
}

/*
 * CVTPS2DQ gives the least integer for numbers out of range, so those above are held
 * to UPPER before.
 */
cg_value
glow_cg_units(cg *g, cg_value x)
{
    cg_value most = glow_cg_real(LLVMTypeOf(x), UPPER);

    return glow_cg_to_nearest(
        g, cg_select(g, cg_fcmp(g, LLVMRealOLT, x, most), x, most));
}

cg_value
glow_cg_pack_units(cg *g, const glow_type *to, cg_value a, cg_value b)
{
    cg_value args[2] = {glow_cg_pack(g, a, b, true), NULL};

    args[1] = glow_cg_int(LLVMTypeOf(args[0]), to->offset);
    return to->offset ? glow_cg_intrinsic(g, "llvm.sadd.sat", args, 2)
                      : args[0];
}

cg_value
glow_cg_lanes_of(cg *g, cg_value v, int first, int count)
{
    cg_value order[64];

    for (int i = 0; i < count; i++)
        order[i] = LLVMConstInt(g->i32, (unsigned)(first + i), false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(order, (unsigned)count), "");
}

cg_value
glow_cg_in_order(cg *g, cg_value v)
{
    int bytes = glow_cg_lanes(LLVMTypeOf(v)), parts = bytes / PART;
    LLVMTypeRef t = glow_cg_vector(g->i32, bytes / 4);
    cg_value order[16];

    for (int i = 0; i < bytes / 4; i++)
        order[i] = LLVMConstInt(
            g->i32, (unsigned)(i % parts * PACKED + i / parts), false);
    v = cg_bitcast(g, v, t);
    v = LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(t),
                               LLVMConstVector(order, (unsigned)bytes / 4), "");
    return cg_bitcast(g, v, glow_cg_vector(g->i8, bytes));
}

/* True if floats are the four vectors of units of one vector of elements of 8 bits. */
static bool
are_packed(const cg *g, const glow_type *to, cg_value x)
{
    return glow_cg_packs_units(g) && glow_cg_scalar(LLVMTypeOf(x)) == g->f32 &&
           glow_kind_get(to->elem)->bits == 8 &&
           glow_cg_lanes(LLVMTypeOf(x)) == g->target->dot_bytes;
}

static cg_value
round_packed(cg *g, const glow_type *to, cg_value x)
{
    int lanes = g->target->dot_bytes / PACKED;
    cg_value y[PACKED];

    for (int i = 0; i < PACKED; i++)
        y[i] = glow_cg_units(g, glow_cg_lanes_of(g, x, i * lanes, lanes));
    y[0] = glow_cg_pack_units(g, to, y[0], y[1]);
    y[2] = glow_cg_pack_units(g, to, y[2], y[3]);
    return glow_cg_in_order(g, glow_cg_pack(g, y[0], y[2], is_signed(to)));
}

/* max(lo, min(hi, x)), where x is a number. */
static cg_value
clamp(cg *g, cg_value x, double lo, double hi)
{
    cg_value l = glow_cg_real(LLVMTypeOf(x), lo);
    cg_value h = glow_cg_real(LLVMTypeOf(x), hi);

    x = cg_select(g, cg_fcmp(g, LLVMRealOGT, x, l), x, l);
    return cg_select(g, cg_fcmp(g, LLVMRealOLT, x, h), x, h);
}

/*
 * Elements of up to 32 bits: an integer of magnitude below 2^22 in float, or 2^51 in
 * double, added to 1.5 * 2^23, or 1.5 * 2^52, stands in the low bits of the sum.
 */
static cg_value
round_by_sum(cg *g, const glow_type *to, cg_value x)
{
    bool single = glow_cg_scalar(LLVMTypeOf(x)) == g->f32;
    double lo = (double)glow_quantized_least(to->elem) - to->offset;
    double hi = (double)glow_quantized_most(to->elem) - to->offset;
    LLVMTypeRef word = glow_cg_like(x, single ? g->i32 : g->i64);
    double sum = single ? 0x1.8p23 : 0x1.8p52;
    int64_t bits = single ? INT64_C(0x4b400000) : INT64_C(0x4338000000000000);

    x = cg_fadd(g, clamp(g, x, lo, hi), glow_cg_real(LLVMTypeOf(x), sum));
    x = cg_iadd(g, cg_bitcast(g, x, word),
                glow_cg_int(word, (int64_t)to->offset - bits));
    return LLVMBuildTrunc(g->builder, x, glow_cg_like(x, stored(g, to)), "");
}

/* Elements of 64 bits, whose ends are no doubles; `x` is a number. */
static cg_value
round_long(cg *g, const glow_type *to, cg_value x)
{
    int64_t least = glow_quantized_least(to->elem);
    int64_t most = glow_quantized_most(to->elem);
    LLVMTypeRef real = LLVMTypeOf(x), word = glow_cg_like(x, g->i64);
    cg_value above, below, q;

    x = glow_cg_intrinsic(g, "llvm.rint", &x, 1);
    above = cg_fcmp(g, LLVMRealOGE, x,
                    glow_cg_real(real, (double)most - (double)to->offset));
    below = cg_fcmp(g, LLVMRealOLE, x,
                    glow_cg_real(real, (double)least - (double)to->offset));
    q = cg_select(g, cg_or(g, above, below), LLVMConstNull(real), x);
    q = cg_iadd(g, LLVMBuildFPToSI(g->builder, q, word, ""),
                glow_cg_int(word, to->offset));
    q = cg_select(g, above, glow_cg_int(word, most), q);
    return cg_select(g, below, glow_cg_int(word, least), q);
}

cg_value
glow_cg_round_number(cg *g, const glow_type *to, cg_value x)
{
    if (glow_cg_scalar(LLVMTypeOf(x)) == g->f32 && !glow_cg_is_short(to))
        x = glow_cg_as_real(g, x, g->f64);
    return glow_kind_get(to->elem)->bits == 64 ? round_long(g, to, x)
           : are_packed(g, to, x)              ? round_packed(g, to, x)
                                               : round_by_sum(g, to, x);
}

cg_value
glow_cg_round_to(cg *g, const glow_type *to, cg_value x)
{
    cg_value number = cg_fcmp(g, LLVMRealORD, x, x);

    x = cg_select(g, number, x, LLVMConstNull(LLVMTypeOf(x)));
    return glow_cg_round_number(g, to, x);
}

bool
glow_cg_is_plain_grid(const glow_type *t)
{
    return glow_cg_is_short(t) && t->scale > 0x1p-60f && t->scale < 0x1p60f;
}

cg_value
glow_cg_dequantize(cg *g, const glow_type *from, cg_value q)
{
    cg_value x = glow_cg_centered(g, from, q, g->f32);

    return cg_fmul(g, x, glow_cg_real(LLVMTypeOf(x), (double)from->scale));
}

cg_value
glow_cg_quantize(cg *g, const glow_type *to, cg_value v)
{
    v = glow_cg_as_real(g, v, glow_cg_is_short(to) ? g->f32 : g->f64);
    v = cg_fdiv(g, v, glow_cg_real(LLVMTypeOf(v), (double)to->scale));
    return glow_cg_round_to(g, to, v);
}

/* Doubles hold sums of 64 bits: they stay below 2^51. */
int
glow_cg_sum_bits(const glow_type *from, int64_t count)
{
    int bits = glow_kind_get(from->elem)->bits;

    if (bits == 8 && count < 256)
        return 16;
    if (bits <= 16 && count < INT64_C(1) << (31 - bits))
        return 32;
    return bits <= 32 && count < 1 << 18 ? 64 : 0;
}

/*
 * sum - count * offset, which takes no more bits than the sum, because the offset is an
 * element.
 */
static cg_value
less_offsets(cg *g, const glow_type *from, cg_value sum, cg_value count)
{
    unsigned bits = LLVMGetIntTypeWidth(glow_cg_scalar(LLVMTypeOf(sum)));
    LLVMTypeRef scalar = bits <= 32 ? g->i32 : g->i64;

    sum = LLVMBuildIntCast2(g->builder, sum, glow_cg_like(sum, scalar),
                            is_signed(from), "");
    if (!from->offset)
        return sum;
    count = cg_imul(g, count, cg_i64(g, from->offset));
    count = LLVMBuildIntCast2(g->builder, count, scalar, true, "");
    return cg_isub(g, sum,
                   glow_cg_splat(g, count, glow_cg_lanes(LLVMTypeOf(sum))));
}

cg_value
glow_cg_mean(cg *g, const glow_type *from, const glow_type *to, cg_value sum,
             cg_value count, cg_value divisor)
{
    bool single = glow_cg_is_short(from) && glow_cg_is_short(to);
    cg_value ratio = LLVMBuildSIToFP(g->builder, divisor, g->f64, "");

    sum = less_offsets(g, from, sum, count);
    sum = LLVMBuildSIToFP(g->builder, sum,
                          glow_cg_like(sum, single ? g->f32 : g->f64), "");
    ratio = cg_fmul(g, glow_cg_real(g->f64, (double)to->scale), ratio);
    ratio = cg_fdiv(g, glow_cg_real(g->f64, (double)from->scale), ratio);
    ratio = glow_cg_as_real(g, ratio, single ? g->f32 : g->f64);
    ratio = glow_cg_splat(g, ratio, glow_cg_lanes(LLVMTypeOf(sum)));
    return glow_cg_round_to(g, to, cg_fmul(g, sum, ratio));
}
