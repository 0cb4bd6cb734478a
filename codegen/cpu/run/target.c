/*
 * Derives the parameters of a target from LLVM: its loop vectorizer tells the
 * widest worthwhile vectors.  Only the number of registers comes from a table.
 */

#include <string.h>
#include <unistd.h>

#include "codegen/cpu/emit/dot.h"
#include "codegen/cpu/emit/feature.h"
#include "codegen/cpu/emit/flush.h"
#include "codegen/cpu/emit/gen.h"
#include "codegen/cpu/emit/length.h"
#include "codegen/cpu/emit/math.h"
#include "codegen/cpu/emit/matrix.h"
#include "codegen/cpu/emit/narrow.h"
#include "codegen/cpu/emit/table.h"
#include "codegen/cpu/run/child.h"
#include "codegen/cpu/run/memory.h"
#include "codegen/cpu/run/probed.h"
#include "codegen/cpu/run/target.h"
#include "codegen/cpu/run/tuning.h"
#include "codegen/llvm/llvm.h"

/*
 * By prefix of the triple and least width: the first match.  Of the 16 registers of an
 * x86-64 machine an engine of WebAssembly keeps one or two for itself, and operands of
 * unrolled steps in more than LLVM would: 13 and no unrolling take 0.72 to 0.97 of the
 * time of 15 and 4 steps.
 */
static const struct {
    const char *arch;
    int vector_bytes;
    int registers;
} register_files[] = {
    {"x86_64", 64, 32},     {"x86_64", 4, 16}, {"i386", 4, 8},
    {"i486", 4, 8},         {"i586", 4, 8},    {"i686", 4, 8},
    {"aarch64", 4, 32},     {"arm64", 4, 32},  {"thumb", 4, 8},
    {"arm", 4, 16},         {"riscv", 4, 32},  {"powerpc", 4, 32},
    {"loongarch64", 4, 32}, {"mips", 4, 32},   {"wasm", 4, 13},
};

static int
unroll_of(const char *triple)
{
    return strncmp(triple, "wasm", 4) == 0 ? 1 : 4;
}

/* The number of vector registers; 0: the kernels do not support the target. */
static int
count_registers(const char *triple, int vector_bytes)
{
    for (size_t i = 0; i < sizeof(register_files) / sizeof(*register_files);
         i++)
        if (strncmp(triple, register_files[i].arch,
                    strlen(register_files[i].arch)) == 0 &&
            vector_bytes >= register_files[i].vector_bytes)
            return register_files[i].registers;
    return 0;
}

/*
 * Features that a triple stands for unless -cpu names a processor: those of the
 * distributions' ABI, as Clang has them.  LLVM alone assumes the least processor,
 * with floats in integer registers, and an engine of WebAssembly of which memset is
 * called, although a module links no C library.
 */
static const struct {
    const char *arch, *features;
} base_features[] = {
    {"riscv64", "+m,+a,+f,+d,+c"},
    {"riscv32", "+m,+a,+c"},
    {"loongarch64", "+f,+d"},
    {"wasm32", "+bulk-memory"},
};

static const char *
features_of_triple(const char *triple)
{
    for (size_t i = 0; i < sizeof base_features / sizeof *base_features; i++)
        if (strncmp(triple, base_features[i].arch,
                    strlen(base_features[i].arch)) == 0)
            return base_features[i].features;
    return "";
}

/* Builds a function with a loop over `y[i] = x[i] + x[i]` of floats. */
static cg_value
build_loop(cg *g)
{
    cg_value fn = glow_cg_function(g, "probe", 2, true);
    cg_value i, p, x;
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(g->builder);
    LLVMBasicBlockRef body =
        LLVMAppendBasicBlockInContext(g->context, fn, "body");
    LLVMBasicBlockRef done =
        LLVMAppendBasicBlockInContext(g->context, fn, "done");
    cg_value zero = cg_i64(g, 0);

    glow_cg_noalias(g, fn, 0);
    glow_cg_noalias(g, fn, 1);
    LLVMBuildBr(g->builder, body);
    LLVMPositionBuilderAtEnd(g->builder, body);
    i = LLVMBuildPhi(g->builder, g->i64, "");
    p = LLVMBuildInBoundsGEP2(g->builder, g->f32, LLVMGetParam(fn, 0), &i, 1,
                              "");
    x = glow_cg_load_raw(g, g->f32, p);
    p = LLVMBuildInBoundsGEP2(g->builder, g->f32, LLVMGetParam(fn, 1), &i, 1,
                              "");
    glow_cg_store_raw(g, cg_fadd(g, x, x), p);

    cg_value next = cg_addc(g, i, 1);

    LLVMAddIncoming(i, &zero, &entry, 1);
    LLVMAddIncoming(i, &next, &body, 1);
    LLVMBuildCondBr(g->builder,
                    cg_icmp(g, LLVMIntSLT, next, cg_i64(g, 1 << 16)), body,
                    done);
    LLVMPositionBuilderAtEnd(g->builder, done);
    LLVMBuildRet(g->builder, LLVMConstNull(g->i32));
    return fn;
}

/* The widest vector of floats that `fn` loads, in bytes. */
static int
widest_load(cg_value fn)
{
    int widest = 4;

    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b;
         b = LLVMGetNextBasicBlock(b))
        for (cg_value v = LLVMGetFirstInstruction(b); v;
             v = LLVMGetNextInstruction(v)) {
            LLVMTypeRef t = LLVMTypeOf(v);
            LLVMTypeKind kind = LLVMGetTypeKind(t);

            if (LLVMGetInstructionOpcode(v) == LLVMLoad &&
                (kind == LLVMVectorTypeKind ||
                 kind == LLVMScalableVectorTypeKind) &&
                (int)LLVMGetVectorSize(t) * 4 > widest)
                widest = (int)LLVMGetVectorSize(t) * 4;
        }
    return widest < 64 ? widest : 64;
}

/*
 * The vectors of a target: of SVE and RVV one register, of which LLVM's cost model
 * knows no length; of others those that LLVM's vectorizer loads.
 */
static int
probe_vector_bytes(glow_arena *a, const cpu_target *t)
{
    cg g;
    int bytes = 4;

    if (t->sve_bytes)
        return t->sve_bytes;
    glow_cg_gen_begin(&g, a, "probe", t);

    cg_value fn = build_loop(&g);
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(g.module, "loop-vectorize", t->machine, o);

    if (e)
        LLVMConsumeError(e);
    else
        bytes = widest_load(fn);
    if (bytes > 4 && t->rvv_bytes > bytes)
        bytes = t->rvv_bytes < 64 ? t->rvv_bytes : 64;
    LLVMDisposePassBuilderOptions(o);
    glow_cg_gen_end(&g);
    return bytes;
}

/* Copies LLVM's text into `a` and frees it. */
static const char *
take(glow_arena *a, char *text)
{
    const char *copy = glow_arena_strdup(a, text);

    LLVMDisposeMessage(text);
    return copy;
}

/* The words of LLVM that `word` stands for, "" if none, after noting it in `t`. */
static const char *
take_word(cpu_target *t, const char *word)
{
    static const char sve[] = "sve-vector-bits=";

    if (strcmp(word + (*word != '\0'), "amx-emulated") == 0) {
        t->emulates_amx = *word == '+';
        return t->emulates_amx ? "+amx-tile,+amx-bf16,+amx-int8" : "";
    }
    if (strncmp(word, sve, sizeof sve - 1) != 0)
        return word;
    word += sizeof sve - 1;
    t->sve_bytes = strcmp(word, "256") == 0   ? 32
                   : strcmp(word, "512") == 0 ? 64
                                              : -1;
    return "";
}

/*
 * Replaces the words that LLVM does not know among the features.
 *
 * sve-vector-bits=N sets sve_bytes: the length of SVE registers depends on the
 * machine, and kernels are generated for one length, by default for NEON's, which
 * all machines have.  +amx-emulated sets emulates_amx, and is all words of AMX.
 */
static void
take_own_words(cpu_target *t, glow_arena *a)
{
    glow_buf rest = {.arena = a};

    for (const char *at = t->features; *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        const char *word = take_word(t, glow_arena_strndup(a, at, size));

        if (*word)
            glow_buf_printf(&rest, "%s%s", rest.text ? "," : "", word);
        at += size;
    }
    t->features = rest.text ? rest.text : "";
    if (t->sve_bytes)
        t->features = glow_arena_printf(a, "%s%s+sve", t->features,
                                        *t->features ? "," : "");
}

/*
 * Words of tuning that LLVM gives to some processors alone.  It splits VPDPWSSD into
 * VPMADDWD and VPADDD for a shorter chain of additions unless the target has fast-dpwssd,
 * which it states of AMD alone.  Register tiles have chains enough to hide it, and both
 * instructions take the units of one: 28 x 28 x 128 by F(4 x 4, 3 x 3) in 0.34 ms, and in
 * 0.25 by VPDPWSSD on an Intel Xeon.
 */
static const char *
tuning_of_triple(const char *triple)
{
    return strncmp(triple, "x86_64", 6) == 0 ? "+fast-dpwssd" : "";
}

static void
add_words(cpu_target *t, glow_arena *a, const char *words)
{
    t->features = glow_arena_printf(a, "%s%s%s", t->features,
                                    *t->features && *words ? "," : "", words);
}

/* Sets triple, CPU and features: of this machine, or from the options. */
static void
name_target(cpu_target *t, glow_arena *a, const glow_target_options *o)
{
    bool native = !o->cpu || strcmp(o->cpu, "native") == 0;

    t->is_host = !o->triple;
    t->is_stated = o->triple || !native || o->features;
    t->triple = o->triple ? take(a, LLVMNormalizeTargetTriple(o->triple))
                          : take(a, LLVMGetDefaultTargetTriple());
    if (t->is_host && native) {
        t->cpu = take(a, LLVMGetHostCPUName());
        t->features = take(a, LLVMGetHostCPUFeatures());
    } else {
        t->cpu = native ? "" : o->cpu;
        t->features = native ? features_of_triple(t->triple) : "";
    }
    add_words(t, a, tuning_of_triple(t->triple));
    if (o->features)
        add_words(t, a, o->features);
    take_own_words(t, a);
    glow_cg_probe_matrix(t);
    t->matrix &= !o->exact; /* AMX flushes subnormal operands */
    t->matrix_bytes &= t->matrix;
}

static bool
initialize(glow_context *ctx)
{
    const char *why = glow_llvm_load();

    if (why)
        return glow_error_hint(ctx, (glow_span){0}, "E0830",
                               "the loader looks where LD_LIBRARY_PATH says, "
                               "too",
                               "cpu: LLVM cannot be loaded: %s", why);
    glow_cpu_memory_begin();
    glow_llvm_register_targets();
    return true;
}

static LLVMTargetMachineRef
new_machine(LLVMTargetRef llvm, const cpu_target *t)
{
    return LLVMCreateTargetMachine(llvm, t->triple, t->cpu, t->features,
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                   LLVMCodeModelDefault);
}

LLVMTargetMachineRef
glow_cpu_same_machine(const cpu_target *t)
{
    return new_machine(LLVMGetTargetMachineTarget(t->machine), t);
}

/*
 * Creates the target machine.  LLVM reports unknown processors and features
 * only on standard error, and may abort later: its output is captured in
 * `said`.
 */
static LLVMTargetMachineRef
make_machine(LLVMTargetRef llvm, const cpu_target *t, char *said, size_t size)
{
    int ends[2] = {-1, -1}, saved = dup(STDERR_FILENO);
    bool captures = saved >= 0 && pipe(ends) == 0;
    LLVMTargetMachineRef machine;
    ssize_t n = 0;

    if (captures)
        dup2(ends[1], STDERR_FILENO);
    machine = new_machine(llvm, t);
    if (captures) {
        dup2(saved, STDERR_FILENO);
        close(ends[1]);
        n = read(ends[0], said, size - 1);
        close(ends[0]);
    }
    if (saved >= 0)
        close(saved);
    said[n > 0 ? n : 0] = '\0';
    return machine;
}

/*
 * Reports the text of `said` before "(ignoring", if it has that: "'bogus' is
 * not a recognized processor for this target".
 */
static bool
check_words(glow_context *ctx, const cpu_target *t, char *said)
{
    char *end = strstr(said, " (ignoring");

    if (!end)
        return true;
    *end = '\0';
    return glow_error_hint(ctx, (glow_span){0}, "E0826",
                           "`llc -mtriple=TRIPLE -mcpu=help` lists what there "
                           "is",
                           "target '%s': %s", t->triple, said);
}

/*
 * Refuses big-endian processors, because constants, weights and tensors are bytes
 * of this machine, which the code would read in the other order.
 */
static bool
check_order(glow_context *ctx, const cpu_target *t)
{
    return LLVMByteOrder(t->layout) == LLVMLittleEndian ||
           glow_error(ctx, "E0821",
                      "no code can be made for target '%s': it is big-endian, "
                      "and constants are little-endian",
                      t->triple);
}

static bool
set_machine(glow_context *ctx, glow_arena *a, cpu_target *t)
{
    LLVMTargetRef llvm;
    char *message = NULL, said[512];

    if (LLVMGetTargetFromTriple(t->triple, &llvm, &message))
        return glow_error(ctx, "E0821",
                          "no code can be made for target '%s': %s", t->triple,
                          take(a, message));
    glow_llvm_initialize(LLVMGetTargetName(llvm));
    if (!LLVMTargetHasTargetMachine(llvm)) /* `thumb` is of the family ARM */
        glow_llvm_initialize(NULL);
    if (count_registers(t->triple, 64) == 0)
        return glow_error(ctx, "E0821",
                          "no code can be made for target '%s': it is not the "
                          "kind of processor that kernels are made for",
                          t->triple);
    if (t->sve_bytes &&
        (t->sve_bytes < 0 || strncmp(t->triple, "aarch64", 7) != 0))
        return glow_error(ctx, "E0826",
                          "target '%s': sve-vector-bits is 256 or 512, and of "
                          "aarch64",
                          t->triple);
    if (t->flush && !glow_cg_has_flush(t->triple))
        return glow_error(ctx, "E0821",
                          "target '%s': subnormal numbers can be flushed on "
                          "x86_64 and aarch64",
                          t->triple);
    t->machine = make_machine(llvm, t, said, sizeof(said));
    if (!t->machine)
        return glow_error(ctx, "E0821", "no code can be made for target '%s'",
                          t->triple);
    t->layout = LLVMCreateTargetDataLayout(t->machine);
    if (check_words(ctx, t, said) && check_order(ctx, t))
        return true;
    glow_cpu_target_end(t);
    return false;
}

const glow_cpu_options *
glow_cpu_options_of(const glow_target_options *t)
{
    static const glow_cpu_options defaults = {.winograd = GLOW_WINOGRAD_AUTO};

    return t && t->options ? t->options : &defaults;
}

/*
 * Private cache, a lower bound over server processors of the last ten years: AMD's whose
 * widest vectors have 32 bytes have 512 KiB.
 */
static int64_t
cache_of(const cpu_target *t)
{
    return t->vector_bytes == 32 ? 1 << 19 : 1 << 20;
}

/*
 * Address streams in which one tile reads weights: eight with AVX-512 on Intel's
 * (kernels/direct/tile.c has the figures).  Vectors of 32 bytes have four, and AMD's
 * processors: where the depth is a power of two, the lines of eight streams evict each
 * other (64 MB in panels of 1 MB on an AMD Zen 3: one stream 13.3 GB/s, two 16.2, four
 * 17.5, six 15.0, eight 10.8; 5 MB beyond the L2 cache of a Zen 5, with AVX-512: one
 * 28.6, two 37.4, four 36.6, eight 29.6).
 */
static int
streams_of(glow_arena *a, const cpu_target *t)
{
    return t->vector_bytes < 64 || glow_cg_is_amd(a, t) ? 4 : 8;
}

static void
set_rates(cpu_target *t, const glow_target_options *o)
{
    t->multiplies = 2;
    t->memory_bytes = 5;
    t->exact = o && o->exact;
    t->winograd = glow_cpu_options_of(o)->winograd;
    t->parts = t->exact ? GLOW_PARTS_OFF : glow_cpu_options_of(o)->parts;
    t->packing = glow_cpu_options_of(o)->packing;
    t->strassen =
        t->exact ? GLOW_STRASSEN_OFF : glow_cpu_options_of(o)->strassen;
    t->flush = o && o->flush_subnormals;
    t->remark = o ? o->remark : NULL;
    t->remark_user = o ? o->remark_user : NULL;
}

static void
set_threads(cpu_target *t, const glow_target_options *o)
{
    float grain = glow_cpu_options_of(o)->grain;

    t->threads = o && o->threads > 1 ? o->threads : 1;
    t->grain = grain > 0 ? (double)grain : 2.5e-6;
}

cpu_target
glow_cpu_target_guess(const glow_target_options *options)
{
    cpu_target t = {.vector_bytes = 64,
                    .registers = 32,
                    .unroll = 4,
                    .streams = 8,
                    .pairs = "",
                    .dot_bytes = 64};

    t.cache_bytes = cache_of(&t);
    set_rates(&t, options);
    set_threads(&t, options);
    return t;
}

/* Asks LLVM for the parameters that it has no table of. */
static void
probe(glow_arena *a, cpu_target *t)
{
    t->width_text = "512";
    glow_cg_probe_length(a, t);
    t->vector_bytes = probe_vector_bytes(a, t);
    t->width_text = glow_arena_printf(a, "%d", t->vector_bytes * 8);
    t->registers = count_registers(t->triple, t->vector_bytes);
    t->unroll = unroll_of(t->triple);
    t->halves = glow_cg_has_halves(a, t);
    glow_cg_probe_narrow(a, t);
    glow_cg_probe_scale(a, t);
    glow_cg_probe_bfmmla(a, t);
    glow_cg_probe_shuffle(a, t);
    glow_cg_probe_dot(a, t);
    t->streams = streams_of(a, t);
    t->multiplies = t->halves ? 1 : 2;
}

/* Probes in the child, and writes the target. */
static bool
probe_child(void *user, FILE *out)
{
    cpu_target *t = user;
    glow_arena *a = glow_arena_new();

    probe(a, t);
    return fwrite(t, sizeof *t, 1, out) == 1;
}

/*
 * Probes in a child process, where the end of LLVM is no more than an error.  The
 * child is a copy of this process, so its pointers to static data hold here.
 */
static bool
probe_apart(glow_context *ctx, glow_arena *a, cpu_target *t)
{
    glow_buf answer = {.arena = a};
    const char *why = glow_cpu_in_child(a, probe_child, t, &answer);

    if (why || answer.len != sizeof *t)
        return glow_error(ctx, "E0831",
                          "no code can be made for target '%s': LLVM ends: %s",
                          t->triple, why ? why : "without an answer");
    memcpy(t, answer.text, sizeof *t);
    return true;
}

/* Sets the parameters, of which a target before may have had the same. */
static bool
set_parameters(glow_context *ctx, glow_arena *a, cpu_target *t)
{
    cpu_target before;

    memcpy(&before, t, sizeof before); /* with its padding */
    if (!glow_cpu_find_probed(t)) {
        if (!t->is_stated)
            probe(a, t);
        else if (!probe_apart(ctx, a, t))
            return false;
        glow_cpu_keep_probed(&before, t);
    }
    t->width_text = glow_arena_printf(a, "%d", t->vector_bytes * 8);
    return true;
}

cpu_target *
glow_cpu_target(glow_context *ctx, glow_arena *a,
                const glow_target_options *options)
{
    static const glow_target_options here;
    const glow_target_options *o = options ? options : &here;
    cpu_target *t = GLOW_NEW(a, cpu_target);

    if (!initialize(ctx))
        return NULL;
    name_target(t, a, o);
    set_threads(t, o);
    set_rates(t, o);
    if (!set_machine(ctx, a, t))
        return NULL;
    if (!set_parameters(ctx, a, t)) {
        glow_cpu_target_end(t);
        return NULL;
    }
    t->cache_bytes = cache_of(t);
    t->name = glow_arena_printf(a, "%.*s/%s/%s%s", (int)strcspn(t->triple, "-"),
                                t->triple, *t->cpu ? t->cpu : "generic",
                                t->width_text,
                                !t->matrix   ? ""
                                : t->has_amx ? "+amx"
                                             : "+bfmmla");
    if (o->tuning)
        t->tuned = glow_cpu_tuned_for(a, o->tuning, t->name);
    return t;
}

const char *
glow_cpu_target_words(glow_arena *a, const cpu_target *t)
{
    unsigned major, minor, patch;

    LLVMGetVersion(&major, &minor, &patch);
    return glow_arena_printf(
        a, "%s\n%s\n%s\n%d %d %d %d %d %d %d %d %d\n%u.%u.%u", t->triple,
        t->cpu, t->features, t->winograd, t->parts, t->packing, t->strassen,
        t->matrix, t->emulates_amx, t->sve_bytes, t->flush, t->exact, major,
        minor, patch);
}

const char *
glow_cpu_options_words(glow_arena *a, const glow_target_options *o)
{
    cpu_target t = {.threads = o->threads};
    glow_buf tuning = {.arena = a};

    name_target(&t, a, o);
    set_rates(&t, o);
    if (o->tuning)
        glow_tuning_print(&tuning, o->tuning);
    return glow_arena_printf(a, "%s\n%d %a\n%s", glow_cpu_target_words(a, &t),
                             o->threads, (double)glow_cpu_options_of(o)->grain,
                             tuning.text ? tuning.text : "");
}

void
glow_cpu_target_end(cpu_target *t)
{
    LLVMDisposeTargetData(t->layout);
    LLVMDisposeTargetMachine(t->machine);
}
