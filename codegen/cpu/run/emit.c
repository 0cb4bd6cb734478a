/*
 * Writes a placed program to files: object, assembly, LLVM IR, or a bundle.
 *
 * A bundle is NAME.o, with NAME.h and NAME.weights beside it, and its function
 * is NAME, because the function of the graph is often `main`.  The object is
 * renamed into place last: if it is new, the other files are new too.
 */

#include "codegen/cpu/run/emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cpu/plan/plan.h"
#include "codegen/cpu/run/child.h"
#include "codegen/cpu/run/module.h"
#include "codegen/cpu/run/object.h"
#include "codegen/cpu/run/target.h"
#include "glow/file.h"

/*
 * Keywords of C23 and C++23 in the order of strcmp; identifiers such as `_Bool`
 * are reserved.
 */
static const char *const keywords[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

static int
compare_keyword(const void *name, const void *keyword)
{
    return strcmp(name, *(const char *const *)keyword);
}

const char *
glow_cpu_c_name(glow_arena *a, const char *name)
{
    bool is_keyword =
        bsearch(name, keywords, sizeof keywords / sizeof *keywords,
                sizeof *keywords, compare_keyword) != NULL;
    char *c = glow_arena_printf(a, "%s%s%s",
                                isdigit((unsigned char)name[0]) ? "_" : "",
                                name, is_keyword ? "_" : "");

    for (char *p = c; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    return c[0] ? c : "_";
}

/* Reports the refusal of LLVM; true if it is NULL. */
static bool
check(glow_context *ctx, const char *refusal)
{
    return !refusal ||
           glow_error(ctx, "E0824", "cpu: LLVM refuses the code: %s", refusal);
}

bool
glow_cpu_compile(cg *g, const cpu_plan *p, const char *entry, bool steps,
                 bool debug)
{
    glow_context *ctx = p->func->module->ctx;
    cpu_build_options o = {.steps = steps, .debug = debug};

    glow_cg_gen_begin(g, p->arena, p->func->name, p->target);
    glow_cpu_build(g, p, glow_cpu_c_name(p->arena, entry), &o);
    return check(ctx, glow_cpu_verify(g)) && check(ctx, glow_cpu_optimize(g));
}

/* A module, and the kind of file to make of it in a child process. */
typedef struct emission {
    cg *g;
    LLVMCodeGenFileType what;
} emission;

/* Writes a byte that says whether LLVM refuses, and its message or the file. */
static bool
emit_in_child(void *user, FILE *out)
{
    emission *e = user;
    LLVMMemoryBufferRef b = NULL;
    const char *refusal = glow_cpu_machine_code(e->g, e->what, &b);

    putc(refusal != NULL, out);
    if (refusal)
        fwrite(refusal, 1, strlen(refusal), out);
    else
        fwrite(LLVMGetBufferStart(b), 1, LLVMGetBufferSize(b), out);
    return !ferror(out);
}

/*
 * Generates code in a child process, because LLVM ends the process where a target
 * cannot have it.
 */
static LLVMMemoryBufferRef
emit_apart(cg *g, glow_context *ctx, LLVMCodeGenFileType what)
{
    emission e = {g, what};
    glow_buf answer = {.arena = g->arena};
    const char *why = glow_cpu_in_child(g->arena, emit_in_child, &e, &answer);

    if (why || !answer.len) {
        glow_error(ctx, "E0831",
                   "no code can be made for target '%s': LLVM ends: %s",
                   g->target->triple, why ? why : "without an answer");
        return NULL;
    }
    if (answer.text[0]) {
        check(ctx,
              glow_arena_strndup(g->arena, answer.text + 1, answer.len - 1));
        return NULL;
    }
    return LLVMCreateMemoryBufferWithMemoryRangeCopy(
        answer.text + 1, answer.len - 1, g->target->name);
}

LLVMMemoryBufferRef
glow_cpu_emit_machine_code(cg *g, glow_context *ctx, LLVMCodeGenFileType what)
{
    LLVMMemoryBufferRef out = NULL;

    if (g->target->is_stated)
        return emit_apart(g, ctx, what);
    check(ctx, glow_cpu_machine_code(g, what, &out));
    return out;
}

/* The header of a bundle. */

static const char *
upper(glow_arena *a, const char *name)
{
    char *u = glow_arena_strdup(a, name);

    for (char *p = u; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return u;
}

/* The macro name of a placeholder; a number makes it unique. */
static const char *
macro_name(glow_arena *a, glow_map *used, const char *name)
{
    const char *base = upper(a, glow_cpu_c_name(a, name)), *macro = base;

    for (int n = 2; glow_map_get(used, macro); n++)
        macro = glow_arena_printf(a, "%s_%d", base, n);
    glow_map_set(used, macro, used);
    return macro;
}

/* Scale and offset of quantized elements: real = scale * (element - offset). */
static void
add_parameters(glow_buf *b, const char *prefix, const char *name,
               const glow_type *t)
{
    if (!glow_is_quantized(t->elem))
        return;
    glow_buf_printf(b, "#define %s_%s_SCALE ", prefix, name);
    glow_buf_float(b, t->scale);
    glow_buf_printf(b, "f\n#define %s_%s_ZERO_POINT %" PRId32 "\n", prefix,
                    name, t->offset);
}

static void
add_bindings(glow_buf *b, const cpu_plan *p, const char *prefix)
{
    static const char *const regions[] = {"CONSTANTS", "PLACEHOLDERS",
                                          "ACTIVATIONS"};
    glow_map *used = glow_map_new(p->arena);

    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        glow_map_set(used, regions[i], used);
    for (int i = 0; i < p->n_bindings; i++) {
        const cpu_binding *x = &p->bindings[i];
        const char *c_name = glow_cpu_c_name(p->arena, x->storage->name);
        const char *name = macro_name(p->arena, used, x->storage->name);

        glow_buf_printf(b, "\n/* ");
        if (strcmp(name, upper(p->arena, c_name)) != 0)
            glow_buf_printf(b, "%s: ", c_name); /* the macro is numbered */
        glow_buf_type(b, x->storage->value.type);
        glow_buf_printf(b, "%s */\n#define %s_%s_OFFSET %" PRId64 "\n",
                        x->base == CPU_ACTIVATIONS ? ", in the activations"
                                                   : "",
                        prefix, name, x->offset);
        glow_buf_printf(b, "#define %s_%s_SIZE %" PRId64 "\n", prefix, name,
                        x->size);
        add_parameters(b, prefix, name, x->storage->value.type);
    }
}

/* Declares the caller's function that runs the parts of a step on threads. */
static void
add_parallel(glow_buf *b, const cpu_target *t, const char *name)
{
    glow_buf_printf(
        b,
        "\n/*\n"
        " * Calls part(work, i) once for each i less than `parts`, in any "
        "order\n"
        " * and on any threads, and returns when all have returned.  The work "
        "is\n"
        " * cut up for %d threads; the results are the same bits on any "
        "number.\n"
        " */\n"
        "typedef void (*%s_part)(void *work, uintptr_t part);\n"
        "typedef void (*%s_parallel)(void *pool, %s_part part, void *work,\n"
        "                            uintptr_t parts);\n",
        t->threads, name, name, name);
}

static void
add_function(glow_buf *b, const cpu_plan *p, const char *name)
{
    const cpu_target *t = p->target;
    bool threads = t->threads > 1;

    if (threads)
        add_parallel(b, t, name);
    glow_buf_puts(b, "\n/* Returns 0, or the number of the instruction that "
                     "failed.");
    if (glow_cpu_uses_matrix(p) && !t->emulates_amx)
        glow_buf_puts(b, "  -1: Linux\n * refuses this process the registers "
                         "of AMX, which the code asks it for.");
    if (t->sve_bytes)
        glow_buf_printf(
            b,
            "  -1: registers\n * of SVE are not of the %d bits that "
            "the code is made for.",
            8 * t->sve_bytes);
    if (t->rvv_bytes)
        glow_buf_printf(b,
                        "  -1: vector\n * registers are shorter than the %d "
                        "bits that the code is made for.",
                        8 * t->rvv_bytes);
    if (threads)
        glow_buf_puts(b, "  `parallel` gets\n * `pool`; NULL: all is done on "
                         "this thread.");
    glow_buf_printf(b,
                    " */\n"
                    "int %s(const uint8_t *constants, uint8_t *placeholders,\n"
                    "    uint8_t *activations",
                    name);
    if (threads)
        glow_buf_printf(b, ", %s_parallel parallel, void *pool", name);
    glow_buf_puts(b, ");\n");
}

static void
add_header(glow_buf *b, const cpu_plan *p, const char *name,
           const char *weights)
{
    const char *prefix = upper(p->arena, name);

    glow_buf_printf(
        b,
        "/*\n"
        " * A network as one function, and the memory that it works in: three\n"
        " * regions, each aligned to %s_ALIGN bytes.  The constants are\n"
        " * the contents of %s.  Inputs and results lie in the placeholders.\n"
        " */\n\n"
        "#ifndef %s_H\n#define %s_H\n\n"
        "#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "#define %s_ALIGN 64\n"
        "#define %s_CONSTANTS_SIZE %" PRId64 "\n"
        "#define %s_PLACEHOLDERS_SIZE %" PRId64 "\n"
        "#define %s_ACTIVATIONS_SIZE %" PRId64 "\n",
        prefix, weights, prefix, prefix, prefix, prefix, p->size[CPU_CONSTANTS],
        prefix, p->size[CPU_PLACEHOLDERS], prefix, p->size[CPU_ACTIVATIONS]);
    add_bindings(b, p, prefix);
    add_function(b, p, name);
    glow_buf_puts(b, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* `path` without its suffix `.o`, plus `suffix`. */
static const char *
beside(glow_arena *a, const char *path, const char *suffix)
{
    size_t n = strlen(path);

    if (n > 2 && strcmp(path + n - 2, ".o") == 0)
        n -= 2;
    return glow_arena_printf(a, "%s%s", glow_arena_strndup(a, path, n), suffix);
}

static const char *
file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The name of a bundle's function and macros: from its file name. */
static const char *
bundle_name(glow_arena *a, const char *path)
{
    return glow_cpu_c_name(a, file_name(beside(a, path, "")));
}

static bool
write_buffer(glow_context *ctx, const char *path, LLVMMemoryBufferRef b)
{
    return glow_file_write(ctx, path, LLVMGetBufferStart(b),
                           LLVMGetBufferSize(b));
}

static bool
write_weights(glow_context *ctx, const char *path, const cpu_plan *p)
{
    size_t size = (size_t)p->size[CPU_CONSTANTS];
    glow_data *region = glow_data_new(size);
    cpu_pool alone = {1};
    bool ok =
        glow_cpu_fill_constants(p, &alone, glow_data_bytes(region), false) &&
        glow_file_write(ctx, path, glow_data_bytes(region), size);

    glow_data_unref(region);
    return ok;
}

static bool
write_bundle(cg *g, const cpu_plan *p, const char *path)
{
    glow_context *ctx = p->func->module->ctx;
    glow_arena *a = p->arena;
    const char *weights = beside(a, path, ".weights");
    LLVMMemoryBufferRef object =
        glow_cpu_emit_machine_code(g, ctx, LLVMObjectFile);
    glow_buf header = {.arena = a};
    bool ok;

    if (!object)
        return false;
    add_header(&header, p, bundle_name(a, path), file_name(weights));
    ok = write_weights(ctx, weights, p) &&
         glow_file_write(ctx, beside(a, path, ".h"), header.text, header.len) &&
         write_buffer(ctx, beside(a, path, ".o"), object);
    LLVMDisposeMemoryBuffer(object);
    return ok;
}

/* The other forms: one file each. */

static bool
write_machine_code(cg *g, glow_context *ctx, LLVMCodeGenFileType what,
                   const char *path)
{
    LLVMMemoryBufferRef b = glow_cpu_emit_machine_code(g, ctx, what);
    bool ok = b && write_buffer(ctx, path, b);

    if (b)
        LLVMDisposeMemoryBuffer(b);
    return ok;
}

static bool
write_llvm(cg *g, glow_context *ctx, const char *path)
{
    char *text = LLVMPrintModuleToString(g->module);
    bool ok = glow_file_write(ctx, path, text, strlen(text));

    LLVMDisposeMessage(text);
    return ok;
}

static bool
is(const char *artifact, const char *name)
{
    return strcmp(artifact, name) == 0;
}

static bool
write_form(cg *g, const cpu_plan *p, const char *artifact, const char *path)
{
    glow_context *ctx = p->func->module->ctx;

    if (is(artifact, "object"))
        return write_machine_code(g, ctx, LLVMObjectFile, path);
    if (is(artifact, "asm"))
        return write_machine_code(g, ctx, LLVMAssemblyFile, path);
    if (is(artifact, "llvm"))
        return write_llvm(g, ctx, path);
    return write_bundle(g, p, path);
}

const glow_artifact glow_cpu_artifacts[] = {
    {"object", "an object file"},
    {"asm", "assembly"},
    {"llvm", "LLVM's text form"},
    {"bundle", "NAME.o, NAME.h and NAME.weights, for -o NAME"},
    {0},
};

/*
 * Checks the limit on activations, which include scratch that alloc did not
 * place.
 */
static bool
check_limit(const cpu_plan *p, const glow_target_options *o)
{
    int64_t size = p->size[CPU_ACTIVATIONS];

    return !o || !o->most_bytes || size <= o->most_bytes ||
           glow_error_hint(
               p->func->module->ctx, p->func->span, "E0829",
               "fewer threads, or no tuning file, may need less scratch",
               "@%s: the limit is %" PRId64 " bytes, but the code for %s "
               "works in %" PRId64 " bytes of activations",
               p->func->name, o->most_bytes, p->target->name, size);
}

bool
glow_cpu_emit(glow_func *f, const char *artifact,
              const glow_target_options *options, const char *path)
{
    glow_arena *a = glow_arena_new();
    cpu_target *t = glow_cpu_target(f->module->ctx, a, options);
    bool debug = options && options->debug;
    const char *entry = is(artifact, "bundle") ? bundle_name(a, path) : f->name;
    cpu_plan *p = t ? glow_cpu_plan(a, t, f) : NULL;
    cg g;
    bool ok = false;

    if (p && check_limit(p, options)) {
        ok = glow_cpu_compile(&g, p, entry, false, debug) &&
             write_form(&g, p, artifact, path);
        glow_cg_gen_end(&g);
    }
    if (t)
        glow_cpu_target_end(t);
    glow_arena_free(a);
    return ok;
}
