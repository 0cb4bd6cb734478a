/*
 * Lookup in tables.  Of 256 bytes: by VPERMI2B in two halves, by PSHUFB or TBL in
 * rows of 16 or 64 bytes, of which one is kept for each lane; any other, and on
 * targets without such shuffles, by a load for each lane.
 */

#include "codegen/cpu/emit/table.h"

#include <string.h>

#include "glow/quantize.h"

#define ROW 16
#define HALF 128

/* Probing. */

/* Assembly of a shuffle of bytes without order. */
static LLVMMemoryBufferRef
assembly(glow_arena *a, const cpu_target *t)
{
    cg g;
    LLVMMemoryBufferRef text = NULL;
    char *message = NULL;

    glow_cg_gen_begin(&g, a, "probe", t);

    cg_value fn = glow_cg_function(&g, "probe", 2, true), order[64], x;
    LLVMTypeRef bytes = glow_cg_vector(g.i8, t->vector_bytes);

    for (int i = 0; i < t->vector_bytes; i++)
        order[i] = LLVMConstInt(
            g.i32, (unsigned)((i * i * 7 + i * 5 + 3) % t->vector_bytes),
            false);
    x = glow_cg_load_raw(&g, bytes, LLVMGetParam(fn, 0));
    x = LLVMBuildShuffleVector(
        g.builder, x, LLVMGetPoison(bytes),
        LLVMConstVector(order, (unsigned)t->vector_bytes), "");
    glow_cg_store_raw(&g, x, LLVMGetParam(fn, 1));
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
says(const char *text, const char *what, const char *where)
{
    for (const char *at = text; (at = strstr(at, what)); at++) {
        const char *found = strstr(at, where);

        if (found && !memchr(at, '\n', (size_t)(found - at)))
            return true;
    }
    return false;
}

static void
read_x86(cpu_target *t, const char *text)
{
    if (t->vector_bytes == 64 && says(text, "vpermb", "%zmm")) {
        t->shuffle = CPU_SHUFFLE_HALVES;
        t->shuffle_bytes = 64;
    } else if (strstr(text, "pshufb")) {
        t->shuffle = CPU_SHUFFLE_ROWS;
        t->shuffle_bytes = says(text, "pshufb", "%zmm")   ? 64
                           : says(text, "pshufb", "%ymm") ? 32
                                                          : 16;
    }
}

void
glow_cg_probe_shuffle(glow_arena *a, cpu_target *t)
{
    LLVMMemoryBufferRef text;

    t->shuffle = CPU_SHUFFLE_NONE;
    t->shuffle_bytes = 0;
    if (t->vector_bytes < ROW)
        return;
    if (strncmp(t->triple, "aarch64", 7) == 0 && !t->sve_bytes) {
        t->shuffle = CPU_SHUFFLE_QUARTERS;
        t->shuffle_bytes = ROW;
    }
    if (strncmp(t->triple, "x86_64", 6) != 0 || !(text = assembly(a, t)))
        return;
    read_x86(t, LLVMGetBufferStart(text));
    LLVMDisposeMemoryBuffer(text);
}

/* Code. */

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

/* Lanes `first` to `first + lanes` of `v`; those that it lacks are its lane 0. */
static cg_value
lanes_from(cg *g, cg_value v, int first, int lanes)
{
    int has = glow_cg_lanes(LLVMTypeOf(v));
    cg_value order[128];

    if (first == 0 && lanes == has)
        return v;
    for (int i = 0; i < lanes; i++)
        order[i] = LLVMConstInt(
            g->i32, (unsigned)(first + i < has ? first + i : 0), false);
    return LLVMBuildShuffleVector(g->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(order, (unsigned)lanes), "");
}

static cg_value
load_bytes(cg *g, cg_value table, int64_t at, int count)
{
    int live = g->live;
    cg_value v;

    g->live = 0;
    v = glow_cg_load_raw(g, glow_cg_vector(g->i8, count),
                         glow_cg_atc(g, table, at));
    g->live = live;
    return v;
}

/* Bit 7 of an index to the table is that of `q`, for signed elements turned. */
static cg_value
by_halves(cg *g, cg_value q, cg_value table, bool is_signed)
{
    cg_value half[2];

    for (int i = 0; i < 2; i++) {
        cg_value low = load_bytes(g, table, HALF * i, HALF / 2);
        cg_value high = load_bytes(g, table, HALF * i + HALF / 2, HALF / 2);
        cg_value args[3] = {low, q, high};

        half[i] =
            call(g, "llvm.x86.avx512.vpermi2var.qi.512", NULL, 0, args, 3);
    }

    cg_value below = cg_icmp(g, LLVMIntSLT, q, LLVMConstNull(LLVMTypeOf(q)));

    return cg_select(g, below, half[!is_signed], half[is_signed]);
}

static cg_value
by_rows(cg *g, cg_value q, cg_value table, bool is_signed)
{
    LLVMTypeRef t = LLVMTypeOf(q);
    int lanes = glow_cg_lanes(t);
    const char *name = lanes == 64   ? "llvm.x86.avx512.pshuf.b.512"
                       : lanes == 32 ? "llvm.x86.avx2.pshuf.b"
                                     : "llvm.x86.ssse3.pshuf.b.128";
    cg_value low = cg_and(g, q, glow_cg_int(t, 0x0f)), all = NULL;
    cg_value high = cg_and(g, q, glow_cg_int(t, 0xf0)), order[64];

    for (int i = 0; i < lanes; i++)
        order[i] = LLVMConstInt(g->i32, (unsigned)i % ROW, false);
    for (int k = 0; k < ROW; k++) {
        cg_value row = load_bytes(g, table, ROW * k, ROW), is;
        int at = is_signed ? k ^ 8 : k;

        row = LLVMBuildShuffleVector(
            g->builder, row, LLVMGetPoison(LLVMTypeOf(row)),
            LLVMConstVector(order, (unsigned)lanes), "");
        row = call(g, name, NULL, 0, (cg_value[]){row, low}, 2);
        is = cg_icmp(g, LLVMIntEQ, high, glow_cg_int(t, at << 4));
        all = all ? cg_select(g, is, row, all) : row;
    }
    return all;
}

/* TBL gives 0 beyond its 64 bytes. */
static cg_value
by_quarters(cg *g, cg_value q, cg_value table, bool is_signed)
{
    LLVMTypeRef t = LLVMTypeOf(q);
    cg_value at = is_signed ? cg_xor(g, q, glow_cg_int(t, 0x80)) : q,
             all = NULL;

    for (int k = 0; k < 4; k++) {
        cg_value args[5], part;

        for (int i = 0; i < 4; i++)
            args[i] = load_bytes(g, table, 64 * k + ROW * i, ROW);
        args[4] = k ? cg_isub(g, at, glow_cg_int(t, 64 * k)) : at;
        part = call(g, "llvm.aarch64.neon.tbl4", &t, 1, args, 5);
        all = all ? cg_or(g, all, part) : part;
    }
    return all;
}

static cg_value
look_up_part(cg *g, cg_value q, cg_value table, bool is_signed)
{
    switch (g->target->shuffle) {
    case CPU_SHUFFLE_HALVES:
        return by_halves(g, q, table, is_signed);
    case CPU_SHUFFLE_ROWS:
        return by_rows(g, q, table, is_signed);
    default:
        return by_quarters(g, q, table, is_signed);
    }
}

/* In parts of as many lanes as a shuffle has. */
static cg_value
by_shuffles(cg *g, cg_value q, cg_value table, bool is_signed)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(q)), part = g->target->shuffle_bytes;
    cg_value all = LLVMGetPoison(LLVMTypeOf(q));

    while (g->target->shuffle == CPU_SHUFFLE_ROWS && part > ROW &&
           part / 2 >= lanes)
        part /= 2;
    for (int at = 0; at < lanes; at += part) {
        cg_value y =
            look_up_part(g, lanes_from(g, q, at, part), table, is_signed);

        if (lanes <= part)
            return lanes_from(g, y, 0, lanes);

        cg_value order[256];

        y = lanes_from(g, y, 0, lanes);
        for (int i = 0; i < lanes; i++)
            order[i] = LLVMConstInt(
                g->i32,
                (unsigned)(i >= at && i < at + part ? lanes + i - at : i),
                false);
        all = LLVMBuildShuffleVector(
            g->builder, all, y, LLVMConstVector(order, (unsigned)lanes), "");
    }
    return all;
}

static cg_value
by_loads(cg *g, const glow_type *from, cg_value q, cg_tensor table,
         int64_t step)
{
    int lanes = glow_cg_lanes(LLVMTypeOf(q)), live = g->live;
    int64_t least = glow_quantized_least(from->elem);
    cg_value all = NULL;

    g->live = 0;
    for (int i = 0; i < (live && live < lanes ? live : lanes); i++) {
        cg_value k = LLVMConstInt(g->i32, (unsigned)i, false);
        cg_value one =
            lanes > 1 ? LLVMBuildExtractElement(g->builder, q, k, "") : q;

        one = LLVMBuildIntCast2(g->builder, one, g->i64,
                                glow_cg_is_signed(from), "");
        one = cg_mulc(g, cg_addc(g, one, -least), step);
        one = glow_cg_load_bits(g, table, one, 1);
        if (!all)
            all = LLVMConstNull(glow_cg_vector(LLVMTypeOf(one), lanes));
        all = lanes > 1 ? LLVMBuildInsertElement(g->builder, all, one, k, "")
                        : one;
    }
    g->live = live;
    return all;
}

cg_value
glow_cg_look_up(cg *g, const glow_type *from, cg_value q, cg_tensor table,
                int64_t step)
{
    bool bytes = glow_cg_bytes(from) == 1 && glow_cg_bytes(table.type) == 1;

    if (bytes && step == 1 && glow_cg_lanes(LLVMTypeOf(q)) >= ROW / 2 &&
        g->target->shuffle != CPU_SHUFFLE_NONE)
        return by_shuffles(g, q, table.at, glow_cg_is_signed(from));
    return by_loads(g, from, q, table, step);
}
