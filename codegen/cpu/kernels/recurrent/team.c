/*
 * A thread team that shares each phase of a step.
 *
 * A phase is compiled to a function of `work`, an array of pointers, and the
 * number of a chunk of the vectors of hidden units; chunks are of equal size.
 * A thread mostly gets the same chunk in every step, so its part of R stays in
 * its own cache.  Results do not depend on the number of chunks.
 */

#include "codegen/cpu/emit/flush.h"
#include "codegen/cpu/kernels/fork.h"
#include "codegen/cpu/kernels/recurrent/recurrent.h"

/*
 * Entries of `work`: the number of the step and the states change between
 * steps, the others do not.
 */
enum {
    STEP, /* its number */
    STATES,
    WEIGHTS = STATES + CPU_STATES,
    Y,
    OPERANDS,
    ENTRIES = OPERANDS + GLOW_MAX_OPERANDS
};

struct cpu_team {
    cg_value work;
    cg_value part[2]; /* of each phase */
};

static cg_value
load(cg *g, cg_value work, int i)
{
    return LLVMBuildLoad2(g->builder, g->ptr, glow_cpu_work_at(g, work, i), "");
}

static void
store(cg *g, cg_value work, int i, cg_value v)
{
    LLVMBuildStore(g->builder, v, glow_cpu_work_at(g, work, i));
}

/*
 * `r` with all pointers reloaded from `work`, for a function of its own; sets
 * `j` to its job.
 */
static cpu_recurrence
seen_by_part(const cpu_recurrence *r, cpu_job *j, cg_value work)
{
    cg *g = r->j->g;
    cpu_recurrence q = *r;
    int n_in = r->j->n->n_in;

    *j = *r->j;
    j->in = glow_arena_copy(g->arena, j->in, (size_t)n_in * sizeof *j->in);
    j->out = glow_arena_copy(g->arena, j->out, sizeof *j->out);
    for (int i = 0; i < n_in; i++)
        if (j->in[i].at)
            j->in[i].at = load(g, work, OPERANDS + i);
    j->out[0].at = load(g, work, Y);
    q.j = j;
    q.weights = load(g, work, WEIGHTS);
    for (int i = 0; i < q.s.cell->states; i++)
        q.state[i] = load(g, work, STATES + i);
    q.direction = q.tiles.begin = cg_i64(g, 0);
    q.tiles.end = cg_i64(g, 1);
    return q;
}

/*
 * The first vector of chunk `i`; the number of vectors if `i` is the number of
 * chunks.
 */
static cg_value
first_vector(cg *g, const cpu_recurrence *r, cg_value i)
{
    return cg_over(g, cg_mulc(g, i, r->s.vectors), r->j->step->team);
}

/* void part(work, number) */
static void
emit_part(const cpu_recurrence *r, int phase, cg_value fn)
{
    cg *g = r->j->g;
    cg_value work = LLVMGetParam(fn, 0), step, time, begin;
    cg_value i = LLVMBuildPtrToInt(g->builder, LLVMGetParam(fn, 1), g->i64, "");
    cpu_job j;
    cg_value before = glow_cg_flush_begin(g);
    cpu_recurrence q = seen_by_part(r, &j, work);

    step = LLVMBuildPtrToInt(g->builder, load(g, work, STEP), g->i64, "");
    time = glow_cpu_recurrent_time(&q, step);
    begin = first_vector(g, r, i);
    glow_cpu_recurrent_phase(&q, phase, time, begin,
                             first_vector(g, r, cg_addc(g, i, 1)));
    glow_cg_flush_end(g, before);
    LLVMBuildRetVoid(g->builder);
}

/*
 * Emits the function of a phase; the insertion point and debug location are
 * restored.
 */
static cg_value
make_part(const cpu_recurrence *r, int phase)
{
    cg *g = r->j->g;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->builder);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(g->builder);
    LLVMTypeRef params[2] = {g->ptr, g->ptr};
    cg_value outer = g->fn, fn;
    size_t length;
    const char *name = LLVMGetValueName2(outer, &length);

    fn = glow_cg_function_of(
        g, glow_arena_printf(g->arena, "%.*s.%d", (int)length, name, phase),
        LLVMVoidTypeInContext(g->context), params, 2);
    LLVMSetCurrentDebugLocation2(g->builder, NULL);
    emit_part(r, phase, fn);
    g->fn = outer;
    LLVMPositionBuilderAtEnd(g->builder, here);
    LLVMSetCurrentDebugLocation2(g->builder, line);
    return fn;
}

const cpu_team *
glow_cpu_recurrent_team(cpu_recurrence *r)
{
    cg *g = r->j->g;
    cpu_team *c = GLOW_NEW(g->arena, cpu_team);
    LLVMTypeRef type = LLVMArrayType2(g->ptr, ENTRIES);

    c->work = glow_cg_local(g, LLVMGetPoison(type));
    store(g, c->work, WEIGHTS, r->weights);
    store(g, c->work, Y, r->j->out[0].at);
    for (int i = 0; i < r->j->n->n_in; i++)
        if (r->j->in[i].at)
            store(g, c->work, OPERANDS + i, r->j->in[i].at);
    for (int i = 0; i < r->s.cell->phases; i++)
        c->part[i] = make_part(r, i);
    return c;
}

void
glow_cpu_team_runs(cpu_recurrence *r, int phase, cg_value step)
{
    cg *g = r->j->g;
    const cpu_team *c = r->team;

    store(g, c->work, STEP, LLVMBuildIntToPtr(g->builder, step, g->ptr, ""));
    for (int i = 0; i < r->s.cell->states; i++)
        store(g, c->work, STATES + i, r->state[i]);
    glow_cpu_fork(g, r->j->parallel, r->j->pool, c->part[phase], c->work,
                  r->j->step->team);
}
