/*
 * Writes bundles.
 *
 * A bundle is NAME.o with NAME.h, and the constants in NAME.weights, in the object, or in
 * NAME_weights.c; the first contents of its state likewise, if they are given.  Its
 * function is NAME, because the function of the graph is often `main`; several functions
 * are NAME_FUNCTION each, with the constants and the state of all in one piece.  The
 * files are put in their places together, once all are written, and the object last: if
 * it is new, the other files are new too.
 */

#include "codegen/cpu/run/bundle.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "codegen/cpu/plan/plan.h"
#include "codegen/cpu/run/emit.h"
#include "codegen/cpu/run/target.h"
#include "codegen/cpu/run/web.h"
#include "codegen/llvm/llvm.h"
#include "glow/file.h"
#include "glow/state.h"

enum { MOST_FILES = 6 };

typedef struct bundle {
    cg *g;
    const cpu_plan *plan;
    glow_context *ctx;
    glow_arena *arena;
    const char *path, *name;
    glow_bundle_weights weights;
    const char *state;  /* file of its first contents, or NULL */
    const char *linker; /* of wasm32; else NULL */
    int64_t stack;
    LLVMMemoryBufferRef object;
    glow_output *files[MOST_FILES]; /* begun so far */
    int n_files;
} bundle;

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

const char *
glow_cpu_bundle_name(glow_arena *a, const char *path)
{
    return glow_cpu_c_name(a, file_name(beside(a, path, "")));
}

bool
glow_cpu_may_name_bundle(glow_context *ctx, const char *path)
{
    struct stat st;

    if (file_name(path)[0] &&
        (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
        return true;
    return glow_error_hint(ctx, (glow_span){0}, "E0602",
                           "-o NAME writes NAME.o, NAME.h and NAME.weights",
                           "cannot write a bundle to `%s`: it is %s", path,
                           file_name(path)[0] ? "no file" : "a folder");
}

/* Writes a file that end_files() puts in its place. */
static bool
write_file(bundle *b, const char *suffix, const void *data, size_t size)
{
    glow_output *o =
        glow_output_begin(b->ctx, beside(b->arena, b->path, suffix));

    if (!o)
        return false;
    glow_output_write(o, data, size);
    b->files[b->n_files++] = o;
    return true;
}

static bool
write_text(bundle *b, const char *suffix, const glow_buf *text)
{
    return write_file(b, suffix, text->text, text->len);
}

/* Puts the files in their places, or for !`ok` removes them. */
static bool
end_files(bundle *b, bool ok)
{
    if (ok)
        return glow_output_commit_all(b->files, b->n_files);
    for (int i = 0; i < b->n_files; i++)
        glow_output_discard(b->files[i]);
    return false;
}

/* True if objects for the target are in ELF, where a section is its name. */
static bool
is_elf(const char *triple)
{
    static const char *const others[] = {"wasm",    "darwin", "macos", "ios",
                                         "windows", "uefi",   "macho", "coff"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(triple, others[i]))
            return false;
    return true;
}

/* Weights. */

/* The bytes of the constants, which the caller unreferences; NULL after a report. */
static glow_data *
fill(const bundle *b)
{
    glow_data *region = glow_data_new((size_t)b->plan->size[CPU_CONSTANTS]);
    cpu_pool alone = {1};

    if (glow_cpu_fill_constants(b->plan, &alone, glow_data_bytes(region),
                                false))
        return region;
    glow_data_unref(region);
    return NULL;
}

static const char *
weights_name(const bundle *b)
{
    return glow_arena_printf(b->arena, "%s_weights", b->name);
}

static const char *
state_name(const bundle *b)
{
    return glow_arena_printf(b->arena, "%s_state", b->name);
}

/* Defines the constant `name` in the module, in a section of its own. */
static void
define(const bundle *b, const char *name, const glow_data *region)
{
    cg *g = b->g;
    LLVMValueRef bytes = LLVMConstStringInContext2(
        g->context, glow_data_bytes(region), glow_data_size(region), true);
    LLVMValueRef v = LLVMAddGlobal(g->module, LLVMTypeOf(bytes), name);

    LLVMSetInitializer(v, bytes);
    LLVMSetGlobalConstant(v, true);
    LLVMSetAlignment(v, CPU_ALIGN);
    if (is_elf(b->plan->target->triple))
        LLVMSetSection(v, glow_arena_printf(b->arena, ".rodata.%s", name));
}

static bool
write_c(bundle *b, const char *name, const char *suffix,
        const glow_data *region)
{
    const uint8_t *bytes = glow_data_bytes(region);
    size_t size = glow_data_size(region);
    glow_buf c = {0};
    bool ok;

    glow_buf_printf(&c,
                    "#include \"%s\"\n\n"
                    "_Alignas(%s_ALIGN) const uint8_t %s[] = {",
                    file_name(beside(b->arena, b->path, ".h")),
                    glow_cpu_macro_prefix(b->arena, b->name), name);
    for (size_t i = 0; i < size; i++)
        glow_buf_printf(&c, "%s%u,", i % 16 == 0 ? "\n    " : " ", bytes[i]);
    glow_buf_puts(&c, size ? "\n};\n" : "0};\n");
    ok = write_text(b, suffix, &c);
    glow_buf_free(&c);
    return ok;
}

/* Writes constants, or the first contents of the state, where they are no file. */
static bool
write_bytes(bundle *b, const char *name, const char *c_suffix,
            const char *suffix, const glow_data *region)
{
    switch (b->weights) {
    case GLOW_BUNDLE_C:
        return write_c(b, name, c_suffix, region);
    case GLOW_BUNDLE_OBJECT:
        return true;
    case GLOW_BUNDLE_FILE:
    default:
        return write_file(b, suffix, glow_data_bytes(region),
                          glow_data_size(region));
    }
}

/* True if the first contents of some state are in the network. */
static bool
has_initial(const glow_module *m)
{
    GLOW_FOR_EACH_STORAGE(s, m)
        if (glow_initial(s))
            return true;
    return false;
}

/*
 * The first contents of the state, which the caller unreferences: the bytes of its memory,
 * or where it is in several memories, those of its tensors in the order of the header.
 * NULL after a report.
 */
static glow_data *
fill_state(const bundle *b)
{
    glow_state *s = glow_state_new(b->ctx, b->plan->func->module);
    glow_data *data = NULL;
    cpu_state list = glow_cpu_list_state(b->plan);
    int64_t at = 0;

    if (s && (!b->state || (glow_state_load(s, b->state) &&
                            glow_state_check(s, b->state)))) {
        data = glow_data_new((size_t)list.size);
        memset(glow_data_bytes(data), 0, (size_t)list.size);
        for (int i = 0; i < list.count; i++) {
            const cpu_binding *x = list.at[i].binding;

            memcpy((char *)glow_data_bytes(data) +
                       (list.is_one ? list.at[i].location.offset : at),
                   glow_state_find(s, x->storage->name)->tensor.data,
                   (size_t)x->size);
            at += x->size;
        }
    }
    glow_state_free(s);
    return data;
}

/* Code. */

/* A section for each function, so that linkers drop those that nothing calls. */
static void
separate_functions(const bundle *b)
{
    cg *g = b->g;

    for (LLVMValueRef f = LLVMGetFirstFunction(g->module);
         f && is_elf(b->plan->target->triple); f = LLVMGetNextFunction(f)) {
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);

        if (LLVMGetFirstBasicBlock(f))
            LLVMSetSection(f, glow_arena_printf(b->arena, ".text.%s", name));
    }
}

/* The files. */

static bool
link_web(const bundle *b, glow_buf *module)
{
    return !b->linker ||
           glow_cpu_link_wasm(b->ctx, b->arena, b->linker, b->plan, b->name,
                              b->stack, LLVMGetBufferStart(b->object),
                              LLVMGetBufferSize(b->object), module);
}

static const char *
file_beside(const bundle *b, const char *suffix)
{
    return file_name(beside(b->arena, b->path, suffix));
}

static bool
write_web(bundle *b, const glow_buf *module, bool has_state)
{
    glow_buf loader = {.arena = b->arena};
    bool is_file = b->weights == GLOW_BUNDLE_FILE;

    glow_cpu_put_loader(
        &loader, b->plan,
        &(cpu_loader){.name = b->name,
                      .file = file_beside(b, ".mjs"),
                      .module = file_beside(b, ".wasm"),
                      .weights = is_file ? file_beside(b, ".weights") : NULL,
                      .state = is_file && has_state ? file_beside(b, ".state")
                                                    : NULL,
                      .has_state = has_state});
    return write_text(b, ".wasm", module) && write_text(b, ".mjs", &loader);
}

static bool
write_files(bundle *b, const glow_data *region, const glow_data *state)
{
    glow_buf header = {.arena = b->arena}, module = {0};
    bool ok = link_web(b, &module);

    glow_cpu_put_header(&header,
                        &(cpu_header){.plan = b->plan,
                                      .name = b->name,
                                      .stack = b->stack,
                                      .weights = b->weights,
                                      .file = file_beside(b, ".weights"),
                                      .has_state = state != NULL});
    ok = ok &&
         write_bytes(b, weights_name(b), "_weights.c", ".weights", region) &&
         (!state ||
          write_bytes(b, state_name(b), "_state.c", ".state", state)) &&
         write_text(b, ".h", &header) &&
         (!b->linker || write_web(b, &module, state != NULL)) &&
         write_file(b, ".o", LLVMGetBufferStart(b->object),
                    LLVMGetBufferSize(b->object));
    glow_buf_free(&module);
    return end_files(b, ok);
}

bool
glow_cpu_write_bundle(cg *g, const cpu_plan *p, const char *path,
                      const glow_target_options *t)
{
    bundle b = {.g = g,
                .plan = p,
                .ctx = p->func->module->ctx,
                .arena = p->arena,
                .path = path,
                .name = glow_cpu_bundle_name(p->arena, path),
                .weights = (glow_bundle_weights)glow_cpu_options_of(t)->weights,
                .state = t ? t->state : NULL};
    glow_data *region, *state = NULL;
    bool ok = false;

    if (strncmp(p->target->triple, "wasm32", 6) == 0) {
        if (b.weights == GLOW_BUNDLE_C)
            return glow_error_hint(
                b.ctx, (glow_span){0}, "E0854",
                "-bundle-weights=object has them in the module",
                "a bundle for WebAssembly is linked without '%s_weights.c', "
                "and would have no weights",
                file_name(beside(b.arena, path, "")));
        b.linker = glow_cpu_find_wasm_ld(b.ctx, b.arena);
        if (!b.linker)
            return false;
    }
    if ((b.state || has_initial(p->func->module)) && !(state = fill_state(&b)))
        return false;
    region = fill(&b);
    if (region && b.weights == GLOW_BUNDLE_OBJECT) {
        define(&b, weights_name(&b), region);
        if (state)
            define(&b, state_name(&b), state);
    }
    if (region) {
        separate_functions(&b);
        b.object = glow_cpu_emit_object(g, p, &b.stack);
    }
    if (b.object) {
        ok = write_files(&b, region, state);
        LLVMDisposeMemoryBuffer(b.object);
    }
    if (region)
        glow_data_unref(region);
    if (state)
        glow_data_unref(state);
    return ok;
}
