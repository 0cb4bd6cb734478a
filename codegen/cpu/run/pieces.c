/*
 * Parallel and incremental compilation: a network as several objects.
 *
 * Each object has an LLVM context and a target machine of its own, which makes
 * LLVM safe on several threads.  The functions of steps are named by hashes of
 * their descriptions, so that equal steps have the same object in all networks.
 *
 * The cache key of an object is the hash of its source and of its compilation
 * options.  For the function of a step the source is its description and the
 * build of this library, whose kernels write the code; so a hit costs only a
 * read.  If the build is unknown, and for the object of all other functions,
 * the source is the module before optimization.
 */

#include "codegen/cpu/run/pieces.h"

#include <string.h>

#include "codegen/cpu/plan/describe.h"
#include "codegen/cpu/run/identity.h"
#include "codegen/cpu/run/module.h"
#include "codegen/cpu/run/object.h"
#include "codegen/cpu/run/steps.h"
#include "codegen/cpu/run/target.h"
#include "codegen/llvm/llvm.h"
#include "ir/base/sha256.h"

typedef struct piece {
    const cpu_step *step; /* NULL: all other functions */
    const char *name;
    LLVMMemoryBufferRef object;
    glow_arena *arena;
    const char *refusal; /* of LLVM, or NULL */
} piece;

typedef struct pieces {
    const cpu_plan *plan;
    const char *entry;
    glow_cache *cache;
    const char *build; /* of this library, or NULL */
    piece *at;
    int count;
    size_t cap;
} pieces;

/* The list of objects. */

static void
add_piece(pieces *p, const cpu_step *s, const char *name)
{
    p->at = glow_arena_grow(p->plan->arena, p->at, (size_t)p->count, &p->cap,
                            sizeof *p->at);
    p->at[p->count++] = (piece){.step = s, .name = name};
}

static void
add_steps(pieces *p, const cpu_plan *plan, glow_map *known)
{
    for (int i = 0; i < plan->n_steps; i++) {
        const cpu_step *s = &plan->steps[i];
        const char *name;

        if (s->bodies)
            continue;
        name = glow_cpu_piece_name(plan->arena, s);
        if (glow_map_get(known, name))
            continue;
        glow_map_set(known, name, (void *)name);
        add_piece(p, s, name);
    }
}

/* Compilation of one object. */

static void
build(cg *g, const pieces *p, const piece *x)
{
    static const cpu_build_options apart = {.entry = true, .apart = true};
    cpu_made *m;

    if (!x->step) {
        glow_cpu_build(g, p->plan, p->entry, &apart);
        return;
    }
    m = glow_cpu_build_step(g, x->step, x->name, false);
    LLVMSetLinkage(m->step, LLVMExternalLinkage);
    if (m->part)
        LLVMSetLinkage(m->part, LLVMExternalLinkage);
}

/*
 * The hash of `what` and of everything that compilation for the target depends
 * on.
 */
static void
hash(const cg *g, const char *what, char key[65])
{
    const char *all = glow_arena_printf(
        g->arena, "%s\n%s", what, glow_cpu_target_words(g->arena, g->target));

    glow_sha256_hex(all, strlen(all), key);
}

static void
key_of_step(const cg *g, const pieces *p, const piece *x, char key[65])
{
    hash(g,
         glow_arena_printf(g->arena, "%s\n%s\n%s", p->build, x->name,
                           glow_cpu_describe(g->arena, x->step)),
         key);
}

static void
key_of_module(cg *g, char key[65])
{
    LLVMMemoryBufferRef code = LLVMWriteBitcodeToMemoryBuffer(g->module);
    char hex[65];

    glow_sha256_hex(LLVMGetBufferStart(code), LLVMGetBufferSize(code), hex);
    LLVMDisposeMemoryBuffer(code);
    hash(g, glow_arena_printf(g->arena, "%s\n%s", hex, glow_cpu_passes(g)),
         key);
}

/* Optimizes the module and generates its object. */
static const char *
translate(cg *g, LLVMMemoryBufferRef *out)
{
    const cpu_target *shared = g->target;
    cpu_target target = *shared;
    const char *refusal = glow_cpu_verify(g);

    target.machine = glow_cpu_same_machine(shared);
    g->target = &target;
    if (!refusal)
        refusal = glow_cpu_optimize(g);
    if (!refusal)
        refusal = glow_cpu_machine_code(g, LLVMObjectFile, out);
    LLVMDisposeTargetMachine(target.machine);
    g->target = shared;
    return refusal;
}

static bool
find(const pieces *p, piece *x, const char *key)
{
    size_t size;
    const char *bytes = glow_cache_find(p->cache, x->arena, key, &size);

    if (bytes)
        x->object =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, size, x->name);
    return bytes != NULL;
}

static void
keep(const pieces *p, const piece *x, const char *key)
{
    glow_cache_part object;

    if (!x->object)
        return;
    object = (glow_cache_part){LLVMGetBufferStart(x->object),
                               LLVMGetBufferSize(x->object)};
    glow_cache_keep(p->cache, x->arena, key, &object, 1);
}

/*
 * Finds the object of `x` in the cache, or builds its module and compiles it.
 */
static void
make_object(cg *g, const pieces *p, piece *x)
{
    bool by_step = x->step && p->build;
    char key[65];

    if (by_step) {
        key_of_step(g, p, x, key);
        if (find(p, x, key))
            return;
    }
    build(g, p, x);
    if (!by_step) {
        key_of_module(g, key);
        if (find(p, x, key))
            return;
    }
    x->refusal = translate(g, &x->object);
    keep(p, x, key);
}

static void
make(void *work, uintptr_t number)
{
    pieces *p = work;
    piece *x = &p->at[number];
    cg g;

    x->arena = glow_arena_new();
    glow_cg_gen_begin(&g, x->arena, x->name, p->plan->target);
    make_object(&g, p, x);
    glow_cg_gen_end(&g);
}

LLVMMemoryBufferRef
glow_cpu_make_stepper(const cpu_plan *plan, const char *entry)
{
    static const cpu_build_options steps = {.steps = true, .apart = true};
    LLVMMemoryBufferRef object = NULL;
    const char *refusal;
    cg g;

    glow_cg_gen_begin(&g, plan->arena, entry, plan->target);
    glow_cpu_build(&g, plan, entry, &steps);
    refusal = translate(&g, &object);
    glow_cg_gen_end(&g);
    if (refusal)
        glow_error(plan->func->module->ctx, "E0824",
                   "cpu: LLVM refuses the code: %s", refusal);
    return object;
}

/*
 * Moves the objects to `out`, or reports the first error and disposes of them.
 */
static bool
collect(pieces *p, cpu_objects *out)
{
    glow_context *ctx = p->plan->func->module->ctx;
    bool ok = true;

    out->count = p->count;
    out->at = GLOW_NEW_ARRAY(p->plan->arena, LLVMMemoryBufferRef, p->count);
    for (int i = 0; i < p->count; i++) {
        piece *x = &p->at[i];

        if (x->refusal && ok)
            ok = glow_error(ctx, "E0824", "cpu: LLVM refuses the code: %s",
                            x->refusal);
        out->at[i] = x->object;
        glow_arena_free(x->arena);
    }
    if (ok)
        return true;
    for (int i = 0; i < p->count; i++)
        if (out->at[i])
            LLVMDisposeMemoryBuffer(out->at[i]);
    return false;
}

bool
glow_cpu_make_objects(const cpu_plan *plan, const char *entry, cpu_pool *pool,
                      glow_cache *cache, cpu_objects *out)
{
    pieces p = {.plan = plan,
                .entry = entry,
                .cache = cache,
                .build = glow_cpu_identity(plan->arena)};
    glow_map *known = glow_map_new(plan->arena);

    add_piece(&p, NULL, entry);
    for (int i = 0; i < plan->n_bodies; i++)
        add_steps(&p, plan->bodies[i], known);
    add_steps(&p, plan, known);
    glow_cpu_pool_run(pool, make, &p, (uintptr_t)p.count);
    if (cache->kept)
        glow_cache_trim(cache);
    return collect(&p, out);
}
