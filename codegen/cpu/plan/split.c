/*
 * Cutting steps into parts, and calling them.
 *
 * A step is split by what the cost model says of it: one that takes hardly
 * longer than waking a thread stays whole.  There are a few parts for each
 * thread, so that one that is held up has less to do than the others.
 */

#include "codegen/cpu/plan/split.h"

#include "codegen/cpu/emit/flush.h"
#include "codegen/cpu/plan/stack.h"
#include "glow/cost.h"

#define PARTS_OF_THREAD 4

int
glow_cpu_entry_params(const cpu_target *t)
{
    return t->threads > 1 ? CPU_THREADED : CPU_BASES;
}

/* Deciding. */

static double
seconds_of(const cpu_step *s)
{
    glow_cost c = {0};

    if (s->root)
        c = glow_node_cost(s->root);
    for (int k = 0; k < s->n_items; k++)
        c = glow_cost_add(c, glow_node_cost(s->items[k].n));
    return glow_cost_time(&glow_target_default, c, 0);
}

static int64_t
units_of(const cpu_target *t, const cpu_step *s)
{
    if (!s->root)
        return glow_cpu_stack_units(t, s);
    return s->kernel->units ? s->kernel->units(t, s->root) : 1;
}

/* Pieces of one fork of its kernel, none of less than a grain. */
static int
crew_of(const cpu_target *t, const cpu_step *s)
{
    int64_t forks =
        s->root && s->kernel->forks ? s->kernel->forks(t, s->root) : 0;
    double worth = forks ? seconds_of(s) / (double)forks / t->grain : 0;

    return worth < 2 ? 0 : worth < t->threads ? (int)worth : t->threads;
}

/*
 * Number of parts for `units` that take `seconds` in all.  Each part has scratch of
 * its own, so with scratch there are no more parts than threads.
 */
static int64_t
count_parts(const cpu_target *t, int64_t units, double seconds,
            bool has_scratch)
{
    int64_t parts = has_scratch ? t->threads : PARTS_OF_THREAD * t->threads;
    double worth;

    if (t->threads < 2 || units < 2)
        return 1;
    worth = seconds / t->grain;
    if (worth < (double)parts)
        parts = (int64_t)worth;
    if (parts > units)
        parts = units;
    return parts < 2 ? 1 : parts;
}

int64_t
glow_cpu_split_scratch(const cpu_target *t, const cpu_kernel *k,
                       const glow_node *n, int64_t scratch)
{
    int64_t parts;

    if (t->threads < 2 || scratch <= 0 || scratch == INT64_MAX || !k->units)
        return scratch;
    parts = count_parts(
        t, k->units(t, n),
        glow_cost_time(&glow_target_default, glow_node_cost(n), 0), true);
    return parts < 2 ? scratch
                     : glow_cpu_room(parts, glow_cpu_aligned(scratch));
}

void
glow_cpu_split(cpu_step *s)
{
    const cpu_target *t = s->target;

    s->units = units_of(t, s);
    s->parts = 1;
    if (t->threads > 1 && s->units < 2)
        s->crew = crew_of(t, s);
    if (t->threads < 2 || s->units < 2)
        return;
    s->parts = (int)count_parts(t, s->units, seconds_of(s), s->scratch > 0);
    if (s->parts > 1 && s->scratch) {
        s->part_scratch = glow_cpu_aligned(s->scratch);
        s->scratch = glow_cpu_room(s->parts, s->part_scratch);
        if (s->own_scratch >= 0 &&
            glow_type_bytes(s->root->scratch->type) < s->scratch)
            s->own_scratch = -1;
    }
}

/* Calling. */

cg_value
glow_cpu_work_at(cg *g, cg_value work, int i)
{
    cg_value at = cg_i64(g, i);

    return LLVMBuildInBoundsGEP2(g->builder, g->ptr, work, &at, 1, "");
}

/* The first unit of part `i`; of `parts`, the end of all. */
static cg_value
first_unit(cg *g, const cpu_step *s, cg_value i)
{
    return LLVMBuildUDiv(g->builder, cg_mulc(g, i, s->units),
                         cg_i64(g, s->parts), "");
}

/* What a part fails with goes where the entry looks: any of the codes. */
static void
note_failure(cg *g, cg_value code, cg_value at)
{
    cg_if failed;
    cg_value store;

    glow_cpu_if(g, &failed, cg_icmp(g, LLVMIntNE, code, LLVMConstNull(g->i32)));
    store = LLVMBuildStore(g->builder, code, at);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(store, 4);
    glow_cpu_end_if(g, &failed);
}

/* void part(work, number) */
cg_value
glow_cpu_part_function(cg *g, const cpu_step *s, cg_value step,
                       const char *name)
{
    LLVMTypeRef params[2] = {g->ptr, g->ptr};
    cg_value fn = glow_cpu_function_of(
        g, name, LLVMVoidTypeInContext(g->context), params, 2);
    unsigned count = LLVMCountParams(step);
    cg_value *args = GLOW_NEW_ARRAY(g->arena, cg_value, count), code;
    cg_value work = LLVMGetParam(fn, 0);
    cg_value i = LLVMBuildPtrToInt(g->builder, LLVMGetParam(fn, 1), g->i64, "");
    cg_value before = glow_cpu_flush_begin(g);
    int n = (int)count - 2;

    for (int k = 0; k < n; k++)
        args[k] = LLVMBuildLoad2(g->builder, g->ptr,
                                 glow_cpu_work_at(g, work, k), "");
    if (s->part_scratch) {
        int k = s->own_scratch >= 0 ? s->own_scratch : n - 1;

        args[k] = glow_cpu_at(g, args[k], cg_mulc(g, i, s->part_scratch));
    }
    args[n] = first_unit(g, s, i);
    args[n + 1] = first_unit(g, s, cg_addc(g, i, 1));
    code = LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(step), step, args,
                          count, "");
    if (s->root && s->kernel->fails)
        note_failure(g, code, glow_cpu_work_at(g, work, n));
    glow_cpu_flush_end(g, before);
    LLVMBuildRetVoid(g->builder);
    return fn;
}

/* The array of arguments, and a zero behind it for the code of a failure. */
static cg_value
make_work(cg *g, cg_value *args, int count)
{
    LLVMTypeRef type = LLVMArrayType2(g->ptr, (uint64_t)count + 1);
    cg_value work = glow_cpu_local(g, LLVMGetPoison(type));

    for (int i = 0; i < count; i++)
        LLVMBuildStore(g->builder, args[i], glow_cpu_work_at(g, work, i));
    LLVMBuildStore(g->builder, LLVMConstNull(g->i32),
                   glow_cpu_work_at(g, work, count));
    return work;
}

/* parallel(pool, part, work, parts) */
static void
call_parallel(cg *g, cg_value parallel, cg_value pool, cg_value part,
              cg_value work, int parts)
{
    LLVMTypeRef params[4] = {g->ptr, g->ptr, g->ptr, g->ptr};
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(g->context), params, 4, false);
    cg_value args[4] = {pool, part, work,
                        LLVMConstIntToPtr(cg_i64(g, parts), g->ptr)};

    LLVMBuildCall2(g->builder, type, parallel, args, 4, "");
}

void
glow_cpu_fork(cg *g, cg_value parallel, cg_value pool, cg_value part,
              cg_value work, int parts)
{
    cg_if one, many;

    glow_cpu_if(g, &one, LLVMBuildIsNull(g->builder, parallel, ""));
    for (int i = 0; i < parts; i++) {
        cg_value args[2] = {work, LLVMConstIntToPtr(cg_i64(g, i), g->ptr)};

        LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(part), part, args, 2,
                       "");
    }
    glow_cpu_end_if(g, &one);
    glow_cpu_if(g, &many, LLVMBuildIsNotNull(g->builder, parallel, ""));
    call_parallel(g, parallel, pool, part, work, parts);
    glow_cpu_end_if(g, &many);
}

cg_value
glow_cpu_call_parts(cg *g, const cpu_step *s, cg_value step, cg_value part,
                    cg_value entry, cg_value *args, int count)
{
    bool fails = s->root && s->kernel->fails;
    cg_value code = glow_cpu_local(g, LLVMConstNull(g->i32));
    cg_value parallel = LLVMGetParam(entry, CPU_PARALLEL), work, alone;
    cg_value *all = GLOW_NEW_ARRAY(g->arena, cg_value, count + 2);
    cg_if one, many;

    glow_cpu_if(g, &one, LLVMBuildIsNull(g->builder, parallel, ""));
    for (int i = 0; i < count; i++)
        all[i] = args[i];
    all[count] = cg_i64(g, 0);
    all[count + 1] = cg_i64(g, s->units);
    alone = LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(step), step, all,
                           (unsigned)count + 2, "");
    LLVMBuildStore(g->builder, alone, code);
    glow_cpu_end_if(g, &one);
    glow_cpu_if(g, &many, LLVMBuildIsNotNull(g->builder, parallel, ""));
    work = make_work(g, args, count);
    call_parallel(g, parallel, LLVMGetParam(entry, CPU_POOL), part, work,
                  s->parts);
    if (fails)
        LLVMBuildStore(g->builder,
                       LLVMBuildLoad2(g->builder, g->i32,
                                      glow_cpu_work_at(g, work, count), ""),
                       code);
    glow_cpu_end_if(g, &many);
    return fails ? LLVMBuildLoad2(g->builder, g->i32, code, "")
                 : LLVMConstNull(g->i32);
}
