/*
 * Results of integer sums: rounded, saturated and stored.
 *
 * On x86 results of 8 bits are made four vectors at a time by instructions that
 * convert to the nearest integer and that saturate:
 *
 *     CVTDQ2PS, MULPS, MINPS, CVTPS2DQ     of each vector of sums; MINPS only where
 *                                          a ratio is 1 or more
 *     PACKSSDW, PADDSW                     of each two: 16 bits, then the offset
 *     PACKSSWB or PACKUSWB                 of all: 8 bits
 *     VPERMD                               vectors of more than 16 bytes: in order
 *
 * The instructions are those of codegen/cpu/emit/quant.h.
 */

#include "codegen/cpu/emit/quant.h"
#include "codegen/cpu/kernels/integer/integer.h"
#include "glow/quantize.h"

#define GROUP 4
#define PART 16 /* bytes within which x86 packs */

typedef cpu_integer integer;

static bool
is_quick(const cg *g, const integer *s)
{
    return glow_cg_packs_units(g) && glow_cg_bytes(s->y) == 1;
}

/* The number of units of the result, of 32 bits. */
static cg_value
units_of(cg *g, const integer *s, cg_value sum, cg_value ratio)
{
    cg_value x = LLVMBuildSIToFP(g->builder, sum, LLVMTypeOf(ratio), "");

    x = cg_fmul(g, x, ratio);
    return s->shrinks ? glow_cg_to_nearest(g, x) : glow_cg_units(g, x);
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

cg_value
glow_cpu_integer_pack_pair(cg *g, const integer *s, cg_value const *sum,
                           cg_value const *ratio)
{
    bool is_signed = s->y->elem == GLOW_INT8Q;
    int lanes = 2 * glow_cg_lanes(LLVMTypeOf(sum[0]));
    cg_value a, b, v;

    if (!is_quick(g, s))
        return NULL;
    a = units_of(g, s, sum[0], ratio[0]);
    b = units_of(g, s, sum[1], ratio[1]);
    v = glow_cg_pack_units(g, s->y, a, b);
    if (lanes == PART / 2)
        return glow_cg_lanes_of(g, glow_cg_pack(g, v, v, is_signed), 0, lanes);
    if (lanes == PART) {
        a = glow_cg_lanes_of(g, v, 0, lanes / 2);
        b = glow_cg_lanes_of(g, v, lanes / 2, lanes / 2);
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
        y[i] = units_of(g, s, sum[i], ratio[i]);
    y[0] = glow_cg_pack_units(g, s->y, y[0], y[1]);
    y[2] = glow_cg_pack_units(g, s->y, y[2], y[3]);
    return glow_cg_pack(g, y[0], y[2], s->y->elem == GLOW_INT8Q);
}

/* Elements `first` to `first` + `count` of `v`. */
static cg_value
slice(cg *g, cg_value v, int first, int count)
{
    if (count == glow_cg_lanes(LLVMTypeOf(v)))
        return v;
    if (count > 1)
        return glow_cg_lanes_of(g, v, first, count);
    return LLVMBuildExtractElement(
        g->builder, v, LLVMConstInt(g->i32, (unsigned)first, false), "");
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
    v = glow_cg_in_order(g, glow_cpu_integer_pack_results(g, s, sum, ratio));
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
