/*
 * Builds the functions of steps.
 *
 * Each has pointers as parameters, and a range of units if the step is split.
 * Steps with equal operators, attributes, types and aliasing of buffers share
 * one function.
 */

#include "codegen/cpu/run/steps.h"

#include "codegen/cpu/emit/debug.h"
#include "codegen/cpu/kernels/choice.h"
#include "codegen/cpu/kernels/fork.h"
#include "codegen/cpu/run/spaces.h"
#include "glow/ops.h"

const char *
glow_cpu_step_name(glow_arena *a, const cpu_step *s, const char *suffix)
{
    char op[64];
    const glow_node *n = s->root ? s->root : s->items[s->n_items - 1].n;

    if (s->root)
        return glow_arena_printf(a, "%s.%s", s->kernel->name, suffix);
    glow_op_instr_name(n->op, op, sizeof(op));
    return glow_arena_printf(a, "%s.%s", op, suffix);
}

static void
set_operands(cpu_job *j)
{
    const glow_node *n = j->n;

    j->in = GLOW_NEW_ARRAY(j->g->arena, cg_tensor, n->n_in + 1);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            j->in[i] =
                (cg_tensor){j->step->in[i] < 0 ? NULL : j->slot[j->step->in[i]],
                            n->in[i]->type};
    j->out = GLOW_NEW_ARRAY(j->g->arena, cg_tensor, n->n_out + 1);
    for (int i = 0; i < n->n_out; i++)
        j->out[i] = (cg_tensor){j->slot[j->step->out[i]], n->out[i]->type};
}

/* True if the function of `s` gets the thread pool and its function. */
static bool
takes_threads(const cpu_target *t, const cpu_step *s)
{
    return t->threads > 1 && (s->bodies || s->team);
}

/*
 * Pointers: slots, packed constant, all constants (for calls), thread pool,
 * scratch.
 */
static int
count_params(const cpu_target *t, const cpu_step *s)
{
    return s->n_slots + (s->packed >= 0) + (s->bodies != NULL) +
           (takes_threads(t, s) ? CPU_THREADED - CPU_BASES : 0) +
           (s->scratch > 0 && s->own_scratch < 0);
}

/* Its numbers; a split step has none. */
static int
numbers_of(const cpu_step *s, int64_t *to)
{
    return s->root && s->kernel->numbers ? s->kernel->numbers(s->root, to) : 0;
}

static const char *
part_name(cg *g, const char *name)
{
    return glow_arena_printf(g->arena, "%s.part", name);
}

/*
 * The parameter types of a step's function; a split step also has a range of
 * units, and a kernel may have numbers.
 */
static LLVMTypeRef *
param_types(cg *g, const cpu_step *s, int *count)
{
    int pointers = count_params(g->target, s);
    int64_t numbers[CPU_MOST_NUMBERS];
    int sizes = s->parts > 1 ? 2 : numbers_of(s, numbers);
    LLVMTypeRef *t =
        GLOW_NEW_ARRAY(g->arena, LLVMTypeRef, pointers + sizes + 1);

    for (int i = 0; i < pointers; i++)
        t[i] = g->ptr;
    for (int i = 0; i < sizes; i++)
        t[pointers + i] = g->i64;
    *count = pointers + sizes;
    return t;
}

static cg_value
begin_step(cg *g, const cpu_step *s, const char *name)
{
    int count;
    LLVMTypeRef *types = param_types(g, s, &count);
    cg_value fn = glow_cg_function_of(g, name, g->i32, types, count);

    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            glow_cg_enum(g, "noinline"));
    for (int i = 0; i < count_params(g->target, s); i++)
        if (i >= s->n_slots || !s->slots[i].shared)
            glow_cg_noalias(g, fn, i);
    return fn;
}

static void
set_units(cpu_job *j, int params)
{
    j->split = j->step->parts > 1;
    j->begin = cg_i64(j->g, 0);
    j->end = cg_i64(j->g, j->step->units);
    if (j->split) {
        j->begin = LLVMGetParam(j->fn, (unsigned)params);
        j->end = LLVMGetParam(j->fn, (unsigned)params + 1);
    }
}

static void
set_numbers(cpu_job *j, int params)
{
    int64_t numbers[CPU_MOST_NUMBERS];
    int count = numbers_of(j->step, numbers);

    j->number = GLOW_NEW_ARRAY(j->g->arena, cg_value, count + 1);
    for (int i = 0; i < count; i++)
        j->number[i] = LLVMGetParam(j->fn, (unsigned)(params + i));
}

static void
set_params(cpu_job *j, int params)
{
    const cpu_step *s = j->step;
    int i = s->n_slots;

    j->slot = GLOW_NEW_ARRAY(j->g->arena, cg_value, params);
    for (int k = 0; k < params; k++)
        j->slot[k] = LLVMGetParam(j->fn, (unsigned)k);
    if (s->packed >= 0)
        j->packed = j->slot[i++];
    if (s->bodies)
        j->constants = j->slot[i++];
    if (takes_threads(j->g->target, s)) {
        j->parallel = j->slot[i++];
        j->pool = j->slot[i++];
    }
    if (s->own_scratch >= 0)
        j->scratch = j->slot[s->own_scratch];
    else if (s->scratch)
        j->scratch = j->slot[i];
}

cpu_made *
glow_cpu_build_step(cg *g, const cpu_step *s, const char *name, bool debug)
{
    int params = count_params(g->target, s);
    cpu_made *m = GLOW_NEW(g->arena, cpu_made);
    const cpu_target *all = g->target;
    cpu_target own = *all;
    cpu_job j = {.g = g, .step = s, .n = s->root};

    own.choice = s->target->choice;
    g->target = &own;
    m->step = j.fn = begin_step(g, s, name);
    if (debug)
        glow_cg_debug_step(g, j.fn, s);
    set_params(&j, params);
    set_units(&j, params);
    set_numbers(&j, params);
    if (s->root) {
        set_operands(&j);
        s->kernel->emit(&j);
    } else {
        glow_cpu_emit_stack(&j);
    }
    LLVMBuildRet(g->builder, LLVMConstNull(g->i32));
    LLVMSetCurrentDebugLocation2(g->builder, NULL);
    if (s->parts > 1)
        m->part = glow_cpu_part_function(g, s, m->step, part_name(g, name));
    g->target = all;
    return m;
}

cpu_made *
glow_cpu_declare_step(cg *g, const cpu_step *s, const char *name)
{
    LLVMTypeRef part[2] = {g->ptr, g->ptr}, *types;
    LLVMTypeRef nothing = LLVMVoidTypeInContext(g->context);
    cpu_made *m = GLOW_NEW(g->arena, cpu_made);
    int count;

    types = param_types(g, s, &count);
    m->step = LLVMAddFunction(
        g->module, name,
        LLVMFunctionType(g->i32, types, (unsigned)count, false));
    if (s->parts > 1)
        m->part = LLVMAddFunction(g->module, part_name(g, name),
                                  LLVMFunctionType(nothing, part, 2, false));
    return m;
}

/* The address of byte `offset` of `base`, in the function of `p`. */
static cg_value
address(cg *g, const cpu_plan *p, cg_value entry, cpu_base base, int64_t offset)
{
    cpu_location l = glow_cpu_locate(p, base, offset);
    int params = glow_cpu_entry_params(g->target);
    int param = l.space < 0 ? (int)base : params + l.space;
    cg_value from;

    if (l.space >= 0 && p->has_table)
        from = LLVMBuildLoad2(
            g->builder, g->ptr,
            glow_cpu_work_at(g, LLVMGetParam(entry, (unsigned)params), l.space),
            "");
    else
        from = LLVMGetParam(entry, (unsigned)param);
    return glow_cg_atc(g, from, l.offset);
}

cg_value
glow_cpu_call_step(cg *g, const cpu_plan *p, const cpu_step *s,
                   const cpu_made *fn, cg_value entry)
{
    int params = count_params(g->target, s), n = 0, count;
    int64_t numbers[CPU_MOST_NUMBERS];
    cg_value *args =
        GLOW_NEW_ARRAY(g->arena, cg_value, params + CPU_MOST_NUMBERS);

    for (; n < s->n_slots; n++)
        args[n] = address(g, p, entry, s->slots[n].range.base,
                          s->slots[n].range.offset);
    if (s->packed >= 0)
        args[n++] =
            glow_cg_atc(g, LLVMGetParam(entry, CPU_CONSTANTS), s->packed);
    if (s->bodies)
        args[n++] = LLVMGetParam(entry, CPU_CONSTANTS);
    if (takes_threads(g->target, s)) {
        args[n++] = LLVMGetParam(entry, CPU_PARALLEL);
        args[n++] = LLVMGetParam(entry, CPU_POOL);
    }
    if (s->scratch && s->own_scratch < 0)
        args[n++] = address(g, p, entry, CPU_ACTIVATIONS, p->scratch);
    if (fn->part)
        return glow_cpu_call_parts(g, s, fn->step, fn->part, entry, args, n);
    count = numbers_of(s, numbers);
    for (int i = 0; i < count; i++)
        args[n++] = cg_i64(g, numbers[i]);
    return LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(fn->step),
                          fn->step, args, (unsigned)n, "");
}
