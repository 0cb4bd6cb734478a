/*
 * Dot products of short integers: probing, and instructions.
 *
 * LLVM has no query for such instructions, but combines a reduction of products
 * into them where the target has them: the assembly of a small function tells.
 * VPMADDUBSW of x86 is never used, because its sums of two products saturate at 16
 * bits.
 */

#include "codegen/cpu/emit/dot.h"

#include <string.h>

#include "codegen/cpu/emit/feature.h"

/* Elements of a probe, and how they are extended. */
typedef struct probe {
    int lanes;
    bool is_short;    /* of 16 bits, else of 8 */
    bool is_unsigned; /* the left operand */
} probe;

static cg_value
load_wide(cg *g, const probe *p, cg_value at, bool is_unsigned)
{
    LLVMTypeRef t = glow_cg_vector(p->is_short ? g->i16 : g->i8, p->lanes);
    LLVMTypeRef wide = glow_cg_vector(g->i32, p->lanes);
    cg_value x = glow_cg_load_raw(g, t, at);

    return is_unsigned ? LLVMBuildZExt(g->builder, x, wide, "")
                       : LLVMBuildSExt(g->builder, x, wide, "");
}

/* Assembly of the sum of all products of two vectors. */
static bool
says(glow_arena *a, const cpu_target *t, probe p, const char *what,
     const char *where)
{
    cg g;
    LLVMMemoryBufferRef text = NULL;
    char *message = NULL;
    cg_value fn, x, y, sum;
    const char *found;
    bool ok;

    glow_cg_gen_begin(&g, a, "probe", t);
    fn = glow_cg_function(&g, "probe", 3, true);
    x = load_wide(&g, &p, LLVMGetParam(fn, 0), p.is_unsigned);
    y = load_wide(&g, &p, LLVMGetParam(fn, 1), false);
    x = cg_imul(&g, x, y);
    sum = glow_cg_intrinsic(&g, "llvm.vector.reduce.add", &x, 1);
    glow_cg_store_raw(&g, sum, LLVMGetParam(fn, 2));
    LLVMBuildRet(g.builder, LLVMConstNull(g.i32));
    if (LLVMTargetMachineEmitToMemoryBuffer(
            t->machine, g.module, LLVMAssemblyFile, &message, &text)) {
        LLVMDisposeMessage(message);
        text = NULL;
    }
    found = text ? strstr(LLVMGetBufferStart(text), what) : NULL;
    ok = found && memchr(found, '\n', 256) &&
         (!where ||
          strstr(glow_arena_strndup(a, found, strcspn(found, "\n")), where));
    if (text)
        LLVMDisposeMemoryBuffer(text);
    glow_cg_gen_end(&g);
    return ok;
}

static bool
has(glow_arena *a, const cpu_target *t, const char *feature)
{
    bool is;

    glow_cg_features(a, t, &feature, 1, &is);
    return is;
}

static bool
is_web(const cpu_target *t)
{
    return strncmp(t->triple, "wasm", 4) == 0;
}

static void
probe_x86(glow_arena *a, cpu_target *t)
{
    int bytes = t->vector_bytes;
    probe quads = {.lanes = bytes, .is_unsigned = true};
    probe pairs = {.lanes = bytes / 2, .is_short = true};

    if (bytes < 16)
        return;
    if (bytes == 64 && !says(a, t, pairs, "vpmaddwd", "%zmm"))
        t->dot_bytes = 32; /* AVX512BW packs results, too */
    if (bytes == 32 && has(a, t, "avxvnniint8") && has(a, t, "avxvnni")) {
        t->dot = CPU_DOT_SIGNED;
        t->dot_unsigned = CPU_DOT_UNSIGNED;
        return;
    }
    t->dot = t->dot_unsigned =
        bytes >= 32 &&
                says(a, t, quads, "vpdpbusd", bytes == 64 ? "%zmm" : "%ymm")
            ? CPU_DOT_UNSIGNED
            : CPU_DOT_PAIRS;
}

static void
probe_aarch64(glow_arena *a, cpu_target *t)
{
    probe quads = {.lanes = 16};

    if (!says(a, t, quads, "sdot", NULL))
        return;
    t->dot = t->dot_unsigned = CPU_DOT_SIGNED;
    t->dot_bytes = 16;
    t->dot_rows = has(a, t, "i8mm");
    if (t->dot_rows)
        t->dot_unsigned = CPU_DOT_UNSIGNED;
}

void
glow_cg_probe_dot(glow_arena *a, cpu_target *t)
{
    t->dot = t->dot_unsigned = CPU_DOT_WIDE;
    t->dot_bytes = t->vector_bytes;
    if (strncmp(t->triple, "x86_64", 6) == 0)
        probe_x86(a, t);
    else if (strncmp(t->triple, "aarch64", 7) == 0 && !t->sve_bytes)
        probe_aarch64(a, t);
    else if (is_web(t) && t->dot_bytes == 16)
        t->dot = t->dot_unsigned = CPU_DOT_PAIRS;
}

int
glow_cg_dot_group(cpu_dot form)
{
    return form == CPU_DOT_WIDE     ? 1
           : form == CPU_DOT_PAIRS  ? 2
           : glow_cg_dot_rows(form) ? 8
                                    : 4;
}

int
glow_cg_pair_lanes(const cpu_target *t)
{
    return t->dot_bytes >= 16 && strncmp(t->triple, "x86_64", 6) == 0
               ? t->dot_bytes / 2
               : 0;
}

bool
glow_cg_dot_rows(cpu_dot form)
{
    return form == CPU_DOT_UNSIGNED_ROWS || form == CPU_DOT_SIGNED_ROWS;
}

bool
glow_cg_dot_signed(cpu_dot form)
{
    return form != CPU_DOT_UNSIGNED && form != CPU_DOT_UNSIGNED_ROWS;
}

int
glow_cg_dot_bytes(cpu_dot form)
{
    return form == CPU_DOT_WIDE || form == CPU_DOT_PAIRS ? 2 : 1;
}

/* A call of intrinsic `name`, overloaded on `n` types. */
static cg_value
call(cg *g, const char *name, LLVMTypeRef *types, size_t n, cg_value *args,
     unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    cg_value fn = LLVMGetIntrinsicDeclaration(g->module, id, types, n);

    return LLVMBuildCall2(g->builder,
                          LLVMIntrinsicGetType(g->context, id, types, n), fn,
                          args, count, "");
}

static cg_value
wide(cg *g, cg_value x, cg_value w, cg_value sum)
{
    LLVMTypeRef t = LLVMTypeOf(sum);

    x = LLVMBuildSExt(g->builder, x, t, "");
    w = LLVMBuildSExt(g->builder, w, t, "");
    return cg_iadd(g, sum, cg_imul(g, x, w));
}

/*
 * `sum`, opaque to the optimizer, which adds up the products of unrolled steps in
 * another order otherwise, and spills them: 160 GOP/s instead of 205.
 */
static cg_value
opaque(cg *g, cg_value sum)
{
    LLVMTypeRef t = LLVMTypeOf(sum);
    LLVMTypeRef fn = LLVMFunctionType(t, &t, 1, false);
    cg_value same = LLVMGetInlineAsm(fn, "", 0, "=v,0", 4, false, false,
                                     LLVMInlineAsmDialectATT, false);

    return LLVMBuildCall2(g->builder, fn, same, &sum, 1, "");
}

/* VPDPWSSD, which targets with VPDPBUSD have as well. */
static cg_value
added_pairs(cg *g, cg_value x, cg_value w, cg_value sum)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(sum));
    cg_value args[3] = {sum, x, w};

    return call(g,
                lanes == 16  ? "llvm.x86.avx512.vpdpwssd.512"
                : lanes == 8 ? "llvm.x86.avx512.vpdpwssd.256"
                             : "llvm.x86.avx512.vpdpwssd.128",
                NULL, 0, args, 3);
}

static cg_value
pairs(cg *g, cg_value x, cg_value w, cg_value sum)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(sum));
    LLVMTypeRef t = glow_cg_vector(g->i16, 2 * lanes);
    cg_value args[2];
    const char *name = is_web(g->target) ? "llvm.wasm.dot"
                       : lanes == 16     ? "llvm.x86.avx512.pmaddw.d.512"
                       : lanes == 8      ? "llvm.x86.avx2.pmadd.wd"
                                         : "llvm.x86.sse2.pmadd.wd";

    args[0] = cg_bitcast(g, x, t);
    args[1] = cg_bitcast(g, w, t);
    if (is_web(g->target))
        return cg_iadd(g, sum, call(g, name, NULL, 0, args, 2));
    return opaque(g, cg_iadd(g, sum, call(g, name, NULL, 0, args, 2)));
}

/* The instruction for sums of `lanes` lanes. */
static const char *
quads_name(bool is_x86, cpu_dot form, int lanes)
{
    static const char *const unsigned_x86[] = {"llvm.x86.avx512.vpdpbusd.128",
                                               "llvm.x86.avx512.vpdpbusd.256",
                                               "llvm.x86.avx512.vpdpbusd.512"};
    static const char *const aarch64[] = {
        [CPU_DOT_UNSIGNED] = "llvm.aarch64.neon.usdot",
        [CPU_DOT_SIGNED] = "llvm.aarch64.neon.sdot",
        [CPU_DOT_UNSIGNED_ROWS] = "llvm.aarch64.neon.usmmla",
        [CPU_DOT_SIGNED_ROWS] = "llvm.aarch64.neon.smmla"};

    if (!is_x86)
        return aarch64[form];
    if (form == CPU_DOT_UNSIGNED)
        return unsigned_x86[lanes / 8];
    return lanes == 8 ? "llvm.x86.avx2.vpdpbssd.256"
                      : "llvm.x86.avx2.vpdpbssd.128";
}

static cg_value
quads(cg *g, cpu_dot form, cg_value x, cg_value w, cg_value sum)
{
    LLVMTypeRef t = LLVMTypeOf(sum);
    int lanes = glow_cg_lanes(t);
    LLVMTypeRef bytes = glow_cg_vector(g->i8, 4 * lanes);
    LLVMTypeRef types[2] = {t, bytes};
    cg_value args[3] = {sum, x, w};
    bool is_x86 = strncmp(g->target->triple, "x86_64", 6) == 0;
    const char *name = quads_name(is_x86, form, lanes);

    if (is_x86)
        return call(g, name, NULL, 0, args, 3);
    args[1] = cg_bitcast(g, x, bytes);
    args[2] = cg_bitcast(g, w, bytes);
    return call(g, name, types, 2, args, 3);
}

cg_value
glow_cg_dot(cg *g, cpu_dot form, cg_value x, cg_value w, cg_value sum)
{
    switch (form) {
    case CPU_DOT_WIDE:
        return wide(g, x, w, sum);
    case CPU_DOT_PAIRS:
        return g->target->dot_unsigned == CPU_DOT_UNSIGNED
                   ? added_pairs(g, x, w, sum)
                   : pairs(g, x, w, sum);
    default:
        return quads(g, form, x, w, sum);
    }
}

/* Lanes of 16 bytes. */

#define PART 16

cg_value
glow_cg_unpack(cg *g, cg_value a, cg_value b, bool second)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(a));
    int bits = (int)LLVMGetIntTypeWidth(glow_cg_scalar(LLVMTypeOf(a)));
    int part = PART * 8 / bits;
    cg_value order[64];

    for (int i = 0; i < lanes; i++) {
        int from = i / part * part + i % part / 2 + (second ? part / 2 : 0);

        order[i] =
            LLVMConstInt(g->i32, (unsigned)(from + (i % 2 ? lanes : 0)), false);
    }
    return LLVMBuildShuffleVector(g->builder, a, b,
                                  LLVMConstVector(order, (unsigned)lanes), "");
}

/* The saturating instruction of x86 for `bits` and `lanes` of the operands. */
static const char *
pack_name(int bits, int lanes, bool is_signed)
{
    static const char *const names[2][2][3] = {
        {{"llvm.x86.sse2.packuswb.128", "llvm.x86.avx2.packuswb",
          "llvm.x86.avx512.packuswb.512"},
         {"llvm.x86.sse2.packsswb.128", "llvm.x86.avx2.packsswb",
          "llvm.x86.avx512.packsswb.512"}},
        {{NULL, NULL, NULL},
         {"llvm.x86.sse2.packssdw.128", "llvm.x86.avx2.packssdw",
          "llvm.x86.avx512.packssdw.512"}},
    };
    int bytes = bits * lanes / 8;

    return names[bits == 32][is_signed][bytes == 16 ? 0 : bytes == 32 ? 1 : 2];
}

cg_value
glow_cg_pack(cg *g, cg_value a, cg_value b, bool is_signed)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    int lanes = glow_cg_lanes(t);
    int bits = (int)LLVMGetIntTypeWidth(glow_cg_scalar(t));
    int part = PART * 8 / bits;
    cg_value order[128], args[2] = {a, b}, both;
    const char *name = pack_name(bits, lanes, is_signed);

    if (strncmp(g->target->triple, "x86_64", 6) == 0 && name)
        return call(g, name, NULL, 0, args, 2);
    for (int i = 0; i < 2 * lanes; i++)
        order[i] = LLVMConstInt(g->i32,
                                (unsigned)(i / (2 * part) * part + i % part +
                                           (i / part % 2 ? lanes : 0)),
                                false);
    both = LLVMBuildShuffleVector(
        g->builder, a, b, LLVMConstVector(order, 2 * (unsigned)lanes), "");
    return LLVMBuildTrunc(g->builder, both,
                          glow_cg_like(both, bits == 32 ? g->i16 : g->i8), "");
}

cg_value
glow_cg_to_nearest(cg *g, cg_value x)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(x));
    LLVMTypeRef t = glow_cg_vector(g->i32, lanes);
    const char *name = lanes == 16  ? "llvm.x86.avx512.mask.cvtps2dq.512"
                       : lanes == 8 ? "llvm.x86.avx.cvt.ps2dq.256"
                                    : "llvm.x86.sse2.cvtps2dq";
    /* The last two are the mask, and the mode of the control register. */
    cg_value args[4] = {x, LLVMConstNull(t),
                        LLVMConstInt(g->i16, 0xffff, false),
                        LLVMConstInt(g->i32, 4, false)};

    return call(g, name, NULL, 0, args, lanes == 16 ? 4 : 1);
}
