/* Fork and join: runs the parts of a step on threads. */

#include "codegen/cpu/kernels/fork.h"

#include "codegen/cpu/emit/flush.h"

int
glow_cpu_entry_params(const cpu_target *t)
{
    return t->threads > 1 ? CPU_THREADED : CPU_BASES;
}

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

/*
 * Stores the error code of a part, if it failed, at `at`, where the entry
 * checks it; with several failures any of their codes remains.
 */
static void
note_failure(cg *g, cg_value code, cg_value at)
{
    cg_if failed;
    cg_value store;

    glow_cg_if(g, &failed, cg_icmp(g, LLVMIntNE, code, LLVMConstNull(g->i32)));
    store = LLVMBuildStore(g->builder, code, at);
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(store, 4);
    glow_cg_end_if(g, &failed);
}

/* void part(work, number) */
cg_value
glow_cpu_part_function(cg *g, const cpu_step *s, cg_value step,
                       const char *name)
{
    LLVMTypeRef params[2] = {g->ptr, g->ptr};
    cg_value fn = glow_cg_function_of(
        g, name, LLVMVoidTypeInContext(g->context), params, 2);
    unsigned count = LLVMCountParams(step);
    cg_value *args = GLOW_NEW_ARRAY(g->arena, cg_value, count), code;
    cg_value work = LLVMGetParam(fn, 0);
    cg_value i = LLVMBuildPtrToInt(g->builder, LLVMGetParam(fn, 1), g->i64, "");
    cg_value before = glow_cg_flush_begin(g);
    int n = (int)count - 2;

    for (int k = 0; k < n; k++)
        args[k] = LLVMBuildLoad2(g->builder, g->ptr,
                                 glow_cpu_work_at(g, work, k), "");
    if (s->part_scratch) {
        int k = s->own_scratch >= 0 ? s->own_scratch : n - 1;

        args[k] = glow_cg_at(g, args[k], cg_mulc(g, i, s->part_scratch));
    }
    args[n] = first_unit(g, s, i);
    args[n + 1] = first_unit(g, s, cg_addc(g, i, 1));
    code = LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(step), step, args,
                          count, "");
    if (s->root && s->kernel->fails)
        note_failure(g, code, glow_cpu_work_at(g, work, n));
    glow_cg_flush_end(g, before);
    LLVMBuildRetVoid(g->builder);
    return fn;
}

/* The array of arguments, and a zero behind it for the code of a failure. */
static cg_value
make_work(cg *g, cg_value *args, int count)
{
    LLVMTypeRef type = LLVMArrayType2(g->ptr, (uint64_t)count + 1);
    cg_value work = glow_cg_local(g, LLVMGetPoison(type));

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

    glow_cg_if(g, &one, LLVMBuildIsNull(g->builder, parallel, ""));
    for (int i = 0; i < parts; i++) {
        cg_value args[2] = {work, LLVMConstIntToPtr(cg_i64(g, i), g->ptr)};

        LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(part), part, args, 2,
                       "");
    }
    glow_cg_end_if(g, &one);
    glow_cg_if(g, &many, LLVMBuildIsNotNull(g->builder, parallel, ""));
    call_parallel(g, parallel, pool, part, work, parts);
    glow_cg_end_if(g, &many);
}

cg_value
glow_cpu_call_parts(cg *g, const cpu_step *s, cg_value step, cg_value part,
                    cg_value entry, cg_value *args, int count)
{
    bool fails = s->root && s->kernel->fails;
    cg_value code = glow_cg_local(g, LLVMConstNull(g->i32));
    cg_value parallel = LLVMGetParam(entry, CPU_PARALLEL), work, alone;
    cg_value *all = GLOW_NEW_ARRAY(g->arena, cg_value, count + 2);
    cg_if one, many;

    glow_cg_if(g, &one, LLVMBuildIsNull(g->builder, parallel, ""));
    for (int i = 0; i < count; i++)
        all[i] = args[i];
    all[count] = cg_i64(g, 0);
    all[count + 1] = cg_i64(g, s->units);
    alone = LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(step), step, all,
                           (unsigned)count + 2, "");
    LLVMBuildStore(g->builder, alone, code);
    glow_cg_end_if(g, &one);
    glow_cg_if(g, &many, LLVMBuildIsNotNull(g->builder, parallel, ""));
    work = make_work(g, args, count);
    call_parallel(g, parallel, LLVMGetParam(entry, CPU_POOL), part, work,
                  s->parts);
    if (fails)
        LLVMBuildStore(g->builder,
                       LLVMBuildLoad2(g->builder, g->i32,
                                      glow_cpu_work_at(g, work, count), ""),
                       code);
    glow_cg_end_if(g, &many);
    return fails ? LLVMBuildLoad2(g->builder, g->i32, code, "")
                 : LLVMConstNull(g->i32);
}
