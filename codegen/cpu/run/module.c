/*
 * Builds the LLVM module of a plan.
 *
 * The entry function calls the functions of the steps in order and returns at
 * the first error with the number of the instruction, from 1.
 */

#include "codegen/cpu/run/module.h"

#include <string.h>

#include "codegen/cpu/emit/debug.h"
#include "codegen/cpu/emit/flush.h"
#include "codegen/cpu/emit/length.h"
#include "codegen/cpu/emit/matrix.h"
#include "codegen/cpu/kernels/fork.h"
#include "codegen/cpu/kernels/kernel.h"
#include "codegen/cpu/plan/describe.h"
#include "codegen/cpu/run/header.h"
#include "codegen/cpu/run/spaces.h"
#include "codegen/cpu/run/steps.h"
#include "ir/base/sha256.h"

/*
 * The result of the function of `p` after step `s` has failed with `code`: the
 * number of the instruction; for an instruction of a body `code` is that number
 * already.
 */
static cg_value
failure(cg *g, const cpu_plan *p, const cpu_step *s, cg_value code)
{
    cg_value one = LLVMConstInt(g->i32, 1, false);
    uint32_t number = glow_number_of(&p->numbers, s->root);
    cg_value own =
        LLVMConstInt(g->i32, (unsigned)p->first_code + number + 1, false);

    if (!s->bodies)
        return own;
    return cg_select(g, cg_icmp(g, LLVMIntEQ, code, one), own, code);
}

bool
glow_cpu_uses_matrix(const cpu_plan *p)
{
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].root && p->steps[i].kernel->matrix)
            return true;
    for (int i = 0; i < p->n_bodies; i++)
        if (glow_cpu_uses_matrix(p->bodies[i]))
            return true;
    return false;
}

/* Returns `code` if `bad`, an i1, is true; nothing if it is NULL. */
static void
refuse_if(cg *g, cg_value bad, int code)
{
    cg_if refused;

    if (!bad)
        return;
    glow_cg_if(g, &refused, bad);
    LLVMBuildRet(g->builder,
                 LLVMConstInt(g->i32, (unsigned long long)code, true));
    LLVMPositionBuilderAtEnd(g->builder, refused.done);
}

/*
 * Code of the root's entry function that requests AMX and checks the length of
 * registers.
 */
static void
ask_for_registers(cg *g, const cpu_plan *p)
{
    if (!p->is_entry)
        return;
    if (glow_cpu_uses_matrix(p))
        refuse_if(g, glow_cg_matrix_refused(g), CPU_NO_REGISTERS);
    refuse_if(g, glow_cg_length_refused(g), CPU_NO_REGISTERS);
}

/*
 * The number in the state of `p` that is not 0 while a call changes it, or NULL.  Its
 * loads and stores are volatile, since a call that does not end is the reason for them.
 */
static cg_value
busy_of(cg *g, const cpu_plan *p, cg_value entry)
{
    int param = glow_cpu_entry_params(g->target) + p->state_space;

    return p->busy < 0
               ? NULL
               : glow_cg_atc(g, LLVMGetParam(entry, (unsigned)param), p->busy);
}

static bool
changes_state(const cpu_plan *p)
{
    for (int i = 0; i < p->n_bindings; i++)
        if (p->bindings[i].written && glow_cpu_is_state(&p->bindings[i]))
            return true;
    return false;
}

static void
set_busy(cg *g, const cpu_plan *p, cg_value busy, unsigned number)
{
    if (busy && changes_state(p))
        LLVMSetVolatile(LLVMBuildStore(g->builder,
                                       LLVMConstInt(g->i32, number, false),
                                       busy),
                        true);
}

/* Refuses state that a call left half changed, and tells that this one changes it. */
static cg_value
begin_change(cg *g, const cpu_plan *p, cg_value entry)
{
    cg_value busy = busy_of(g, p, entry), now;

    if (!busy)
        return NULL;
    now = LLVMBuildLoad2(g->builder, g->i32, busy, "");
    LLVMSetVolatile(now, true);
    refuse_if(g, cg_icmp(g, LLVMIntNE, now, LLVMConstNull(g->i32)),
              CPU_INTERRUPTED);
    set_busy(g, p, busy, 1);
    return busy;
}

/* Returns `code` and restores the floating-point mode of the caller. */
static void
leave(cg *g, cg_value before, cg_value code)
{
    glow_cg_flush_end(g, before);
    LLVMBuildRet(g->builder, code);
}

static cg_value
build_entry(cg *g, const cpu_plan *p, const char *name, cpu_made *const *fns,
            bool debug)
{
    cg_value entry =
        glow_cg_function(g, name, glow_cpu_count_params(p), p->is_entry);
    cg_value before, busy;

    if (debug)
        glow_cg_debug_entry(g, entry, p->func);
    ask_for_registers(g, p);
    busy = begin_change(g, p, entry);
    before = p->is_entry ? glow_cg_flush_begin(g) : NULL;
    for (int i = 0; i < p->n_steps; i++) {
        const cpu_step *s = &p->steps[i];
        cg_if failed;

        glow_cg_debug_line(g, entry, s->root ? s->root : s->items[0].n);

        cg_value code = glow_cpu_call_step(g, p, s, fns[i], entry);

        if (!s->root || !s->kernel->fails)
            continue;
        glow_cg_if(g, &failed,
                   cg_icmp(g, LLVMIntNE, code, LLVMConstNull(g->i32)));
        leave(g, before, failure(g, p, s, code));
        LLVMPositionBuilderAtEnd(g->builder, failed.done);
    }
    set_busy(g, p, busy, 0);
    leave(g, before, LLVMConstNull(g->i32));
    return entry;
}

/*
 * Builds int NAME.step(parameters of the entry, number), which runs one step.
 */
static void
build_stepper(cg *g, const cpu_plan *p, const char *name, cpu_made *const *fns)
{
    int params = glow_cpu_count_params(p);
    cg_value entry = glow_cg_function(
        g, glow_arena_printf(g->arena, "%s.step", name), params + 1, true);
    cg_value before = glow_cg_flush_begin(g);
    LLVMBasicBlockRef done =
        LLVMAppendBasicBlockInContext(g->context, entry, "done");
    cg_value number = LLVMBuildPtrToInt(
        g->builder, LLVMGetParam(entry, (unsigned)params), g->i64, "");
    cg_value choice =
        LLVMBuildSwitch(g->builder, number, done, (unsigned)p->n_steps);

    for (int i = 0; i < p->n_steps; i++) {
        LLVMBasicBlockRef b =
            LLVMAppendBasicBlockInContext(g->context, entry, "step");

        LLVMAddCase(choice, cg_i64(g, i), b);
        LLVMPositionBuilderAtEnd(g->builder, b);
        leave(g, before, glow_cpu_call_step(g, p, &p->steps[i], fns[i], entry));
    }
    LLVMPositionBuilderAtEnd(g->builder, done);
    leave(g, before, LLVMConstNull(g->i32));
}

const char *
glow_cpu_piece_name(glow_arena *a, const cpu_step *s)
{
    const char *text = glow_cpu_describe(a, s);
    char hex[65];

    glow_sha256_hex(text, strlen(text), hex);
    hex[16] = '\0';
    return glow_cpu_step_name(a, s, hex);
}

/* State of building the functions of a module. */
typedef struct build {
    cg *g;
    bool debug, apart;
    glow_map *known; /* functions built so far, by step description */
    int count;
} build;

static cpu_made *
make_step(build *b, const cpu_step *s)
{
    glow_arena *a = b->g->arena;

    if (b->apart && !s->bodies)
        return glow_cpu_declare_step(b->g, s, glow_cpu_piece_name(a, s));
    return glow_cpu_build_step(
        b->g, s,
        glow_cpu_step_name(a, s, glow_arena_printf(a, "%d", b->count++)),
        b->debug);
}

/*
 * The functions of the steps of `p`: one for all equal steps, with the source
 * lines of the first.  Each call has the lines of its own step, as with
 * identical code folding in a linker.
 */
static cpu_made **
make_steps(build *b, const cpu_plan *p)
{
    glow_arena *a = b->g->arena;
    cpu_made **fns = GLOW_NEW_ARRAY(a, cpu_made *, p->n_steps + 1);

    for (int i = 0; i < p->n_steps; i++) {
        const char *key = glow_cpu_describe(a, &p->steps[i]);

        fns[i] = key ? glow_map_get(b->known, key) : NULL;
        if (!fns[i]) {
            fns[i] = make_step(b, &p->steps[i]);
            if (key)
                glow_map_set(b->known, key, fns[i]);
        }
    }
    return fns;
}

void
glow_cpu_build(cg *g, const cpu_plan *p, const char *name,
               const cpu_build_options *o)
{
    build b = {.g = g,
               .debug = o->debug,
               .apart = o->apart,
               .known = glow_map_new(g->arena)};
    cpu_made **fns;

    if (b.debug)
        glow_cg_debug_begin(g, p->func);
    for (int i = 0; i < p->n_bodies; i++) {
        cpu_plan *body = p->bodies[i];

        fns = make_steps(&b, body);
        body->fn = build_entry(
            g, body, glow_arena_printf(g->arena, "%s.%d", body->func->name, i),
            fns, b.debug);
    }
    fns = make_steps(&b, p);
    if (o->entry)
        build_entry(g, p, name, fns, b.debug);
    for (int i = 0; o->entry && i < p->n_entries; i++)
        build_entry(g, p->entries[i], p->entries[i]->symbol,
                    make_steps(&b, p->entries[i]), b.debug);
    if (o->steps)
        build_stepper(g, p, name, fns);
    if (b.debug)
        glow_cg_debug_end(g);
}
