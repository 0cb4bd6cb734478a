/*
 * 16-bit floats: probing of the target, and conversions.
 *
 * LLVM's assembly of conversions tells which instructions the target has: a
 * library call means none, and a target with an instruction that rounds to
 * bfloat16 also has the dot product of pairs.  On x86 that is AVX512_BF16;
 * AVX-NE-CONVERT has only the rounding, in another encoding.  The instruction
 * flushes numbers below 2^-126 to 0, which is allowed for results of
 * arithmetic, but not for pure conversions.
 *
 * Processors with AMX compute the dot products outside of the tiles at half the
 * rate of floats (measured on one of the Sapphire Rapids family: 75 and 150
 * GFLOP/s), so pairs are not used there.
 */

#include "codegen/cpu/emit/narrow.h"

#include <string.h>

/* Assembly of vector conversions between float and binary16 or bfloat16. */
static LLVMMemoryBufferRef
assembly(glow_arena *a, const cpu_target *t, bool is_half)
{
    cg g;
    LLVMMemoryBufferRef text = NULL;
    char *message = NULL;

    glow_cg_gen_begin(&g, a, "probe", t);

    cg_value fn = glow_cg_function(&g, "probe", 2, true);
    int lanes = t->vector_bytes / 4;
    LLVMTypeRef scalar = is_half ? g.f16 : LLVMBFloatTypeInContext(g.context);
    LLVMTypeRef wide = glow_cg_vector(g.f32, lanes);
    LLVMTypeRef narrow = glow_cg_vector(scalar, lanes);
    cg_value p = LLVMGetParam(fn, 0), q = LLVMGetParam(fn, 1);
    cg_value x = glow_cg_load_raw(&g, wide, p);

    glow_cg_store_raw(&g, LLVMBuildFPTrunc(g.builder, x, narrow, ""), q);
    x = glow_cg_load_raw(&g, narrow, p);
    glow_cg_store_raw(&g, LLVMBuildFPExt(g.builder, x, wide, ""), q);
    LLVMBuildRet(g.builder, LLVMConstNull(g.i32));
    if (LLVMTargetMachineEmitToMemoryBuffer(
            t->machine, g.module, LLVMAssemblyFile, &message, &text)) {
        LLVMDisposeMessage(message);
        text = NULL;
    }
    glow_cg_gen_end(&g);
    return text;
}

static bool
says(LLVMMemoryBufferRef text, const char *what)
{
    return strstr(LLVMGetBufferStart(text), what) != NULL;
}

/*
 * Instructions that round to bfloat16, and dot-product intrinsics of their
 * targets.
 */
static const struct {
    const char *arch, *rounds;
    int vector_bytes;
    const char *pairs;
} machines[] = {
    {"x86_64", "\tvcvtneps2bf16", 64, "llvm.x86.avx512bf16.dpbf16ps.512"},
    {"x86_64", "\tvcvtneps2bf16", 32, "llvm.x86.avx512bf16.dpbf16ps.256"},
    {"aarch64", "\tbfcvtn", 16, "llvm.aarch64.neon.bfdot"},
};

static bool
is_row_of(const cpu_target *t, size_t i)
{
    return strncmp(t->triple, machines[i].arch, strlen(machines[i].arch)) ==
               0 &&
           t->vector_bytes == machines[i].vector_bytes;
}

/*
 * LLVM 19 aborts on bfloat16 in instruction selection for targets without it
 * (ARM, WebAssembly, PowerPC, MIPS, vectors of SVE).  So only targets of
 * the table are probed; others convert by integer arithmetic.
 */
static void
probe_bfloat(glow_arena *a, cpu_target *t)
{
    LLVMMemoryBufferRef text;
    size_t i = 0, n = sizeof(machines) / sizeof(*machines);

    while (i < n && !is_row_of(t, i))
        i++;
    text = i < n && !t->sve_bytes ? assembly(a, t, false) : NULL;
    if (!text)
        return;
    if (says(text, machines[i].rounds) && !says(text, "{vex}")) {
        t->has_bfloat = true;
        t->pairs = t->has_amx || t->exact ? NULL : machines[i].pairs;
    }
    LLVMDisposeMemoryBuffer(text);
}

void
glow_cg_probe_narrow(glow_arena *a, cpu_target *t)
{
    LLVMMemoryBufferRef text = assembly(a, t, true);

    if (text) {
        t->has_half =
            !says(text, "hf2") && !says(text, "hfsf") && !says(text, "2h");
        LLVMDisposeMemoryBuffer(text);
    }
    probe_bfloat(a, t);
}

/* binary16 by integer arithmetic, for targets without an instruction. */

static cg_value
half_to_float(cg *g, cg_value bits)
{
    LLVMTypeRef t = glow_cg_like(bits, g->i32);
    LLVMTypeRef f = glow_cg_like(bits, g->f32);
    cg_value w = LLVMBuildZExt(g->builder, bits, t, "");
    cg_value magnitude = cg_and(g, w, glow_cg_int(t, 0x7fff));
    cg_value sign =
        cg_shl(g, cg_and(g, w, glow_cg_int(t, 0x8000)), glow_cg_int(t, 16));
    cg_value body = cg_shl(g, magnitude, glow_cg_int(t, 13));
    cg_value normal = cg_iadd(g, body, glow_cg_int(t, 112LL << 23));
    cg_value special = cg_iadd(g, body, glow_cg_int(t, 224LL << 23));
    cg_value tiny =
        cg_bitcast(g,
                   cg_fmul(g, LLVMBuildUIToFP(g->builder, magnitude, f, ""),
                           glow_cg_real(f, 0x1p-24)),
                   t);
    cg_value is_special =
        cg_icmp(g, LLVMIntUGE, magnitude, glow_cg_int(t, 0x7c00));
    cg_value is_tiny =
        cg_icmp(g, LLVMIntULT, magnitude, glow_cg_int(t, 0x0400));
    cg_value all =
        cg_select(g, is_special, special, cg_select(g, is_tiny, tiny, normal));

    return cg_bitcast(g, cg_or(g, all, sign), f);
}

/* Rounds to nearest even; subnormals by adding 0.5. */
static cg_value
float_to_half(cg *g, cg_value v)
{
    LLVMTypeRef t = glow_cg_like(v, g->i32);
    LLVMTypeRef f = LLVMTypeOf(v);
    cg_value w = cg_bitcast(g, v, t);
    cg_value a = cg_and(g, w, glow_cg_int(t, 0x7fffffff));
    cg_value sign =
        cg_and(g, cg_lshr(g, w, glow_cg_int(t, 16)), glow_cg_int(t, 0x8000));
    cg_value tiny = cg_isub(
        g,
        cg_bitcast(g, cg_fadd(g, cg_bitcast(g, a, f), glow_cg_real(f, 0.5)), t),
        glow_cg_int(t, 0x3f000000));
    cg_value odd =
        cg_and(g, cg_lshr(g, a, glow_cg_int(t, 13)), glow_cg_int(t, 1));
    cg_value normal = cg_lshr(
        g,
        cg_iadd(g, cg_isub(g, a, glow_cg_int(t, (112LL << 23) - 0xfff)), odd),
        glow_cg_int(t, 13));
    cg_value is_nan = cg_icmp(g, LLVMIntUGT, a, glow_cg_int(t, 0x7f800000));
    cg_value special =
        cg_select(g, is_nan, glow_cg_int(t, 0x7e00), glow_cg_int(t, 0x7c00));
    cg_value is_special = cg_icmp(g, LLVMIntUGE, a, glow_cg_int(t, 0x47800000));
    cg_value is_tiny = cg_icmp(g, LLVMIntULT, a, glow_cg_int(t, 0x38800000));
    cg_value all =
        cg_select(g, is_special, special, cg_select(g, is_tiny, tiny, normal));

    return LLVMBuildTrunc(g->builder, cg_or(g, all, sign),
                          glow_cg_like(v, g->i16), "");
}

static cg_value
bfloat_to_float(cg *g, cg_value bits)
{
    LLVMTypeRef t = glow_cg_like(bits, g->i32);
    cg_value w = LLVMBuildZExt(g->builder, bits, t, "");

    return cg_bitcast(g, cg_shl(g, w, glow_cg_int(t, 16)),
                      glow_cg_like(bits, g->f32));
}

static cg_value
float_to_bfloat(cg *g, cg_value v)
{
    LLVMTypeRef t = glow_cg_like(v, g->i32);
    cg_value w = cg_bitcast(g, v, t), sixteen = glow_cg_int(t, 16);
    cg_value odd = cg_and(g, cg_lshr(g, w, sixteen), glow_cg_int(t, 1));
    cg_value near = cg_iadd(g, cg_iadd(g, w, glow_cg_int(t, 0x7fff)), odd);
    cg_value nan = cg_or(g, w, glow_cg_int(t, 0x400000));
    cg_value all = cg_lshr(
        g, cg_select(g, cg_fcmp(g, LLVMRealUNO, v, v), nan, near), sixteen);

    return LLVMBuildTrunc(g->builder, all, glow_cg_like(v, g->i16), "");
}

bool
glow_cg_is_narrow(glow_kind kind)
{
    return kind == GLOW_FLOAT16 || kind == GLOW_BFLOAT16;
}

cg_value
glow_cg_widen(cg *g, glow_kind kind, cg_value bits)
{
    if (kind == GLOW_BFLOAT16)
        return bfloat_to_float(g, bits);
    if (!g->target->has_half)
        return half_to_float(g, bits);
    bits = cg_bitcast(g, bits, glow_cg_like(bits, g->f16));
    return LLVMBuildFPExt(g->builder, bits, glow_cg_like(bits, g->f32), "");
}

cg_value
glow_cg_narrow(cg *g, glow_kind kind, cg_value v, bool exactly)
{
    bool is_half = kind == GLOW_FLOAT16;
    LLVMTypeRef scalar = is_half ? g->f16 : LLVMBFloatTypeInContext(g->context);

    if (!(is_half ? g->target->has_half : g->target->has_bfloat && !exactly))
        return is_half ? float_to_half(g, v) : float_to_bfloat(g, v);
    v = LLVMBuildFPTrunc(g->builder, v, glow_cg_like(v, scalar), "");
    return cg_bitcast(g, v, glow_cg_like(v, g->i16));
}

cg_value
glow_cg_add_pairs(cg *g, cg_value a, cg_value b, cg_value sum)
{
    const char *name = g->target->pairs;
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    int lanes = glow_cg_lanes(LLVMTypeOf(sum));
    LLVMTypeRef pairs = LLVMVectorType(LLVMBFloatTypeInContext(g->context),
                                       2 * (unsigned)lanes);
    LLVMTypeRef types[2] = {LLVMTypeOf(sum), pairs};
    size_t n = LLVMIntrinsicIsOverloaded(id) ? 2 : 0;
    cg_value fn = LLVMGetIntrinsicDeclaration(g->module, id, types, n);
    cg_value first = cg_bitcast(g, a, pairs);
    cg_value args[3] = {sum, first, cg_bitcast(g, b, pairs)};

    return LLVMBuildCall2(g->builder,
                          LLVMIntrinsicGetType(g->context, id, types, n), fn,
                          args, 3, "");
}

static cg_value
load_words(cg *g, cg_value at, int lanes)
{
    return glow_cg_load_raw(g, glow_cg_vector(g->i16, lanes), at);
}

/* Interleaves the words `a` and `b` of one or more lanes. */
static cg_value
interleave(cg *g, cg_value a, cg_value b, int lanes)
{
    LLVMTypeRef wide = glow_cg_vector(g->i32, lanes);
    cg_value order[2 * CG_MAX_CARRIED];

    if (lanes == 1 || 2 * lanes > (int)(sizeof order / sizeof *order)) {
        a = LLVMBuildZExt(g->builder, a, wide, "");
        b = LLVMBuildZExt(g->builder, b, wide, "");
        return cg_or(g, a, cg_shl(g, b, glow_cg_int(wide, 16)));
    }
    for (int i = 0; i < 2 * lanes; i++)
        order[i] =
            LLVMConstInt(g->i32, (unsigned)(i / 2 + i % 2 * lanes), false);
    return LLVMBuildShuffleVector(
        g->builder, a, b, LLVMConstVector(order, 2 * (unsigned)lanes), "");
}

cg_value
glow_cg_load_pairs(cg *g, cg_value at, int64_t step, int lanes)
{
    cg_value v = load_words(g, at, lanes);

    v = step ? interleave(g, v, load_words(g, glow_cg_atc(g, at, step), lanes),
                          lanes)
             : LLVMBuildZExt(g->builder, v, glow_cg_vector(g->i32, lanes), "");
    return cg_bitcast(g, v, glow_cg_vector(g->f32, lanes));
}
