/*
 * Results of integer sums: rounded, saturated and stored.
 *
 * On x86 results of 8 bits are made four vectors at a time by instructions that
 * convert to the nearest integer and that saturate:
 *
 *     CVTDQ2PS, MULPS, MINPS, CVTPS2DQ     of each vector of sums
 *     PACKSSDW, PADDSW                     of each two: 16 bits, then the offset
 *     PACKSSWB or PACKUSWB                 of all: 8 bits
 *     VPERMD                               vectors of more than 16 bytes: in order
 *
 * CVTPS2DQ gives the least integer for numbers out of range, so those above are held
 * to UPPER before.
 */

#include <string.h>

#include "codegen/cpu/kernels/integer/integer.h"
#include "glow/quantize.h"

#define UPPER 0x1p20 /* more than 16 bits hold */
#define GROUP 4
#define PART 16 /* bytes within which x86 packs */

typedef cpu_integer integer;

static bool
is_quick(const cg *g, const integer *s)
{
    return strncmp(g->target->triple, "x86_64", 6) == 0 &&
           g->target->dot_bytes >= PART && glow_cg_bytes(s->y) == 1;
}

/* The number of units of the result, of 32 bits. */
static cg_value
units_of(cg *g, cg_value sum, cg_value ratio)
{
    LLVMTypeRef t = LLVMTypeOf(ratio);
    cg_value most = glow_cg_real(t, UPPER);
    cg_value x = cg_fmul(g, LLVMBuildSIToFP(g->builder, sum, t, ""), ratio);

    x = cg_select(g, cg_fcmp(g, LLVMRealOLT, x, most), x, most);
    return glow_cg_to_nearest(g, x);
}

/* Two vectors of units as one of 16 bits, with the offset. */
static cg_value
pack_pair(cg *g, const integer *s, cg_value a, cg_value b)
{
    cg_value args[2] = {glow_cg_pack(g, a, b, true), NULL};

    args[1] = glow_cg_int(LLVMTypeOf(args[0]), s->y->offset);
    return s->y->offset ? glow_cg_intrinsic(g, "llvm.sadd.sat", args, 2)
                        : args[0];
}

/* Integers of 16 bits as elements, by VPMAXSW, VPMINSW and VPMOVWB. */
static cg_value
narrow_pair(cg *g, const integer *s, cg_value v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    cg_value args[2] = {v, glow_cg_int(t, glow_quantized_least(s->y->elem))};

    args[0] = glow_cg_intrinsic(g, "llvm.smax", args, 2);
    args[1] = glow_cg_int(t, glow_quantized_most(s->y->elem));
    v = glow_cg_intrinsic(g, "llvm.smin", args, 2);
    return LLVMBuildTrunc(g->builder, v, glow_cg_like(v, g->i8), "");
}

/* Lanes `first` to `first` + `count` of a vector. */
static cg_value
lanes_of(cg *g, cg_value v, int first, int count)
{
    cg_value order[64];

    for (int i = 0; i < count; i++)
        order[i] = LLVMConstInt(g->i32, (unsigned)(first + i), false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(order, (unsigned)count), "");
}

cg_value
glow_cpu_integer_pack_pair(cg *g, const integer *s, cg_value const *sum,
                           cg_value const *ratio)
{
    bool is_signed = s->y->elem == GLOW_INT8Q;
    int lanes = 2 * glow_cg_lanes(LLVMTypeOf(sum[0]));
    cg_value a, b, v;

    if (!is_quick(g, s))
        return NULL;
    a = units_of(g, sum[0], ratio[0]);
    b = units_of(g, sum[1], ratio[1]);
    v = pack_pair(g, s, a, b);
    if (lanes == PART / 2)
        return lanes_of(g, glow_cg_pack(g, v, v, is_signed), 0, lanes);
    if (lanes == PART) {
        a = lanes_of(g, v, 0, lanes / 2);
        b = lanes_of(g, v, lanes / 2, lanes / 2);
        return glow_cg_pack(g, a, b, is_signed);
    }
    return narrow_pair(g, s, v);
}

cg_value
glow_cpu_integer_pack_results(cg *g, const integer *s, cg_value const *sum,
                              cg_value const *ratio)
{
    cg_value y[GROUP];

    if (!is_quick(g, s))
        return NULL;
    for (int i = 0; i < GROUP; i++)
        y[i] = units_of(g, sum[i], ratio[i]);
    y[0] = pack_pair(g, s, y[0], y[1]);
    y[2] = pack_pair(g, s, y[2], y[3]);
    return glow_cg_pack(g, y[0], y[2], s->y->elem == GLOW_INT8Q);
}

/* Elements `first` to `first` + `count` of `v`. */
static cg_value
slice(cg *g, cg_value v, int first, int count)
{
    if (count == glow_cg_lanes(LLVMTypeOf(v)))
        return v;
    if (count > 1)
        return lanes_of(g, v, first, count);
    return LLVMBuildExtractElement(
        g->builder, v, LLVMConstInt(g->i32, (unsigned)first, false), "");
}

/* Four packed vectors, in their order: 4 bytes of each are in each 16 bytes. */
static cg_value
put_in_order(cg *g, cg_value v)
{
    int bytes = glow_cg_lanes(LLVMTypeOf(v)), parts = bytes / PART;
    LLVMTypeRef t = glow_cg_vector(g->i32, bytes / 4);
    cg_value order[16];

    for (int i = 0; i < bytes / 4; i++)
        order[i] = LLVMConstInt(
            g->i32, (unsigned)(i % parts * GROUP + i / parts), false);
    v = cg_bitcast(g, v, t);
    v = LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(t),
                               LLVMConstVector(order, (unsigned)bytes / 4), "");
    return cg_bitcast(g, v, glow_cg_vector(g->i8, bytes));
}

/* Stores four results, those of a row at once; the last may be but `count`. */
static void
store_group(cg *g, const integer *s, const cpu_integer_result *r, int count)
{
    cg_value sum[GROUP], ratio[GROUP], v;
    int lanes = s->lanes, next;

    for (int i = 0; i < GROUP; i++) {
        sum[i] = r[i < count ? i : count - 1].sum;
        ratio[i] = r[i < count ? i : count - 1].ratio;
    }
    v = put_in_order(g, glow_cpu_integer_pack_results(g, s, sum, ratio));
    for (int i = 0; i < count; i = next) {
        next = i + 1;
        while (next < count && r[next].row == r[i].row)
            next++;
        glow_cg_store_raw(
            g,
            slice(g, v, i * lanes, (next - i - 1) * lanes + r[next - 1].live),
            r[i].at);
    }
}

void
glow_cpu_integer_store(cg *g, const integer *s, const cpu_integer_result *r,
                       int count)
{
    int done = 0;

    for (; is_quick(g, s) && count - done > GROUP / 2; done += GROUP)
        store_group(g, s, r + done,
                    count - done < GROUP ? count - done : GROUP);
    for (; done < count; done++) {
        cg_value y = glow_cpu_integer_round(g, s, r[done].sum, r[done].ratio);

        y = glow_cpu_integer_narrow(g, s, y);
        glow_cg_store_raw(g, glow_cg_first(g, y, r[done].live), r[done].at);
    }
}
