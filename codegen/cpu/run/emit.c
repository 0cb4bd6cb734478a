/*
 * Writes a placed program to files: object, assembly, LLVM IR, or a bundle.
 */

#include "codegen/cpu/run/emit.h"

#include <inttypes.h>
#include <string.h>

#include "codegen/cpu/plan/plan.h"
#include "codegen/cpu/run/bundle.h"
#include "codegen/cpu/run/child.h"
#include "codegen/cpu/run/frames.h"
#include "codegen/cpu/run/module.h"
#include "codegen/cpu/run/object.h"
#include "codegen/cpu/run/spaces.h"
#include "codegen/cpu/run/target.h"
#include "glow/file.h"

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
    cpu_build_options o = {.entry = true, .steps = steps, .debug = debug};

    glow_cg_gen_begin(g, p->arena, p->func->name, p->target);
    glow_cpu_build(g, p, glow_cpu_c_name(p->arena, entry), &o);
    return check(ctx, glow_cpu_verify(g)) && check(ctx, glow_cpu_optimize(g));
}

/* A module, and the kind of file to make of it. */
typedef struct emission {
    cg *g;
    LLVMCodeGenFileType what;
    const cpu_plan
        *plan; /* whose entry functions have their stack bounded, or NULL */
} emission;

/* In front of the answer of a child process. */
typedef struct answer_head {
    bool refused; /* a message follows, else the file */
    int64_t stack;
} answer_head;

/* Generates code; returns NULL, or the error message of LLVM. */
static const char *
generate(const emission *e, LLVMMemoryBufferRef *out, int64_t *stack)
{
    cpu_frames frames;
    const char *refusal;

    if (!e->plan)
        return glow_cpu_machine_code(e->g, e->what, out);
    glow_cpu_frames_begin(&frames, e->g);
    refusal = glow_cpu_machine_code(e->g, e->what, out);
    *stack = glow_cpu_frames_end(&frames, e->plan);
    return refusal;
}

static bool
emit_in_child(void *user, FILE *out)
{
    emission *e = user;
    LLVMMemoryBufferRef b = NULL;
    answer_head head = {false, 0};
    const char *refusal = generate(e, &b, &head.stack);

    head.refused = refusal;
    fwrite(&head, sizeof head, 1, out);
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
emit_apart(emission *e, glow_context *ctx, int64_t *stack)
{
    glow_arena *a = e->g->arena;
    glow_buf answer = {.arena = a};
    const char *why = glow_cpu_in_child(a, emit_in_child, e, &answer);
    answer_head head;

    if (why || answer.len < sizeof head) {
        glow_error(ctx, "E0831",
                   "no code can be made for target '%s': LLVM ends: %s",
                   e->g->target->triple, why ? why : "without an answer");
        return NULL;
    }
    memcpy(&head, answer.text, sizeof head);
    *stack = head.stack;
    if (head.refused) {
        check(ctx, glow_arena_strndup(a, answer.text + sizeof head,
                                      answer.len - sizeof head));
        return NULL;
    }
    return LLVMCreateMemoryBufferWithMemoryRangeCopy(answer.text + sizeof head,
                                                     answer.len - sizeof head,
                                                     e->g->target->name);
}

static LLVMMemoryBufferRef
emit(emission *e, glow_context *ctx, int64_t *stack)
{
    LLVMMemoryBufferRef out = NULL;

    *stack = 0;
    if (e->g->target->is_stated)
        return emit_apart(e, ctx, stack);
    check(ctx, generate(e, &out, stack));
    return out;
}

LLVMMemoryBufferRef
glow_cpu_emit_machine_code(cg *g, glow_context *ctx, LLVMCodeGenFileType what)
{
    int64_t stack;

    return emit(&(emission){g, what, NULL}, ctx, &stack);
}

LLVMMemoryBufferRef
glow_cpu_emit_object(cg *g, const cpu_plan *p, int64_t *stack)
{
    return emit(&(emission){g, LLVMObjectFile, p}, p->func->module->ctx, stack);
}

static bool
write_buffer(glow_context *ctx, const char *path, LLVMMemoryBufferRef b)
{
    return glow_file_write(ctx, path, LLVMGetBufferStart(b),
                           LLVMGetBufferSize(b));
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
write_form(cg *g, const cpu_plan *p, const char *artifact,
           const glow_target_options *t, const char *path)
{
    glow_context *ctx = p->func->module->ctx;

    if (is(artifact, "object"))
        return write_machine_code(g, ctx, LLVMObjectFile, path);
    if (is(artifact, "asm"))
        return write_machine_code(g, ctx, LLVMAssemblyFile, path);
    if (is(artifact, "llvm"))
        return write_llvm(g, ctx, path);
    return glow_cpu_write_bundle(g, p, path, t);
}

const glow_artifact glow_cpu_artifacts[] = {
    {"object", "an object file"},
    {"asm", "assembly"},
    {"llvm", "LLVM's text form"},
    {"bundle", "NAME.o, NAME.h and NAME.weights, for -o NAME; by -state also "
               "NAME.state, for wasm32 NAME.wasm and NAME.mjs"},
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

/* The capacity of the regions of `base`, in sum; INT64_MAX: no limit. */
static int64_t
capacity_of(const cpu_plan *p, cpu_base base)
{
    int64_t sum = 0;
    bool has = false;

    for (int i = 0; i < p->n_regions; i++) {
        int64_t one = p->regions[i].region->capacity;

        if (base == CPU_CONSTANTS
                ? !p->regions[i].keeps
                : !p->regions[i].changes || p->regions[i].base != base)
            continue;
        has = true;
        if (one == 0 || glow_add_overflow(sum, one, &sum))
            return INT64_MAX;
    }
    return has ? sum : INT64_MAX;
}

/*
 * Checks the capacities of the spaces of the target: packed constants and scratch that
 * alloc did not place may exceed them.
 */
static bool
check_spaces(const cpu_plan *p)
{
    static const char *const names[] = {"constants", "placeholders",
                                        "activations"};
    bool ok = true;

    for (int i = 0; i < CPU_BASES; i++) {
        int64_t most = capacity_of(p, (cpu_base)i);

        if (p->size[i] > most)
            ok = glow_error_hint(
                p->func->module->ctx, p->func->span, "E0829",
                "-Os and -no-winograd keep weights small; -threads needs "
                "scratch for each thread",
                "@%s: the spaces for %s have %" PRId64
                " bytes, but the code for %s needs %" PRId64,
                p->func->name, names[i], most, p->target->name, p->size[i]);
    }
    return ok;
}

/* The functions of the module of `f` that no other calls, `f` first. */
static glow_func **
list_entries(glow_arena *a, glow_func *f, int *count)
{
    glow_func **list;

    *count = 1;
    GLOW_FOR_EACH_FUNC(other, f->module)
        *count += other != f && !glow_is_body(other);
    list = GLOW_NEW_ARRAY(a, glow_func *, *count);
    list[0] = f;
    *count = 1;
    GLOW_FOR_EACH_FUNC(other, f->module)
        if (other != f && !glow_is_body(other))
            list[(*count)++] = other;
    return list;
}

/* Names the entry functions by `bundle`, or for NULL as in the module. */
static void
name_entries(cpu_plan *p, const char *bundle)
{
    glow_arena *a = p->arena;

    for (int i = 0; i <= p->n_entries; i++) {
        cpu_plan *e = i ? p->entries[i - 1] : p;
        const char *own = glow_cpu_c_name(a, e->func->name);

        e->symbol = !bundle ? own
                    : !p->n_entries
                        ? bundle
                        : glow_arena_printf(a, "%s_%s", bundle, own);
    }
}

/*
 * The plan of `f` and the others, with regions apart.  Packed weights stay small where the
 * spaces for constants do not hold them otherwise.
 */
static cpu_plan *
plan_within(glow_arena *a, cpu_target *t, glow_func *f)
{
    int count;
    glow_func **all = list_entries(a, f, &count);
    cpu_plan *p = glow_cpu_plan_all(a, t, all, count);

    if (p)
        glow_cpu_separate_spaces(p);
    if (!p || t->packing == GLOW_PACKING_SMALL ||
        p->size[CPU_CONSTANTS] <= capacity_of(p, CPU_CONSTANTS))
        return p;
    t->packing = GLOW_PACKING_SMALL;
    t->remark = NULL; /* said once */
    return plan_within(a, t, f);
}

bool
glow_cpu_emit(glow_func *f, const char *artifact,
              const glow_target_options *options, const char *path)
{
    bool is_bundle = is(artifact, "bundle");

    if (is_bundle && !glow_cpu_may_name_bundle(f->module->ctx, path))
        return false;

    glow_arena *a = glow_arena_new();
    cpu_target *t = glow_cpu_target(f->module->ctx, a, options);
    bool debug = options && options->debug;
    const char *bundle = is_bundle ? glow_cpu_bundle_name(a, path) : NULL;
    cpu_plan *p = t ? plan_within(a, t, f) : NULL;
    cg g;
    bool ok = p && check_limit(p, options) && check_spaces(p);

    for (int i = 0; p && i < p->n_entries; i++)
        ok = ok && check_limit(p->entries[i], options) &&
             check_spaces(p->entries[i]);
    if (ok) {
        name_entries(p, bundle);
        ok = glow_cpu_compile(&g, p, p->symbol, false, debug) &&
             write_form(&g, p, artifact, options, path);
        glow_cg_gen_end(&g);
    }
    if (t)
        glow_cpu_target_end(t);
    glow_arena_free(a);
    return ok;
}
