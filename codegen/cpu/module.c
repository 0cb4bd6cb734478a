/*
 * From a plan to an LLVM module.
 *
 * Each step is an internal function of pointers; steps that are alike in
 * operators, attributes, types and the sharing of buffers have one function.
 * The entry function calls them in order and leaves with the first error, which
 * is the number of the instruction, from 1.
 */

#include "codegen/cpu/module.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "codegen/cpu/debug.h"
#include "codegen/cpu/split.h"
#include "glow/ops.h"

/* Says all that the code of a step depends on. */

static void
describe_node(glow_buf *b, const glow_node *n)
{
    glow_buf_puts(b, n->op->name);
    glow_buf_attrs(b, glow_op_schema(n->op), n->attrs, true);
    for (int i = 0; i < n->n_in; i++) {
        glow_buf_putc(b, ' ');
        if (n->in[i])
            glow_buf_type(b, n->in[i]->type);
        else
            glow_buf_putc(b, '_');
    }
    for (int i = 0; i < n->n_out; i++) {
        glow_buf_puts(b, " > ");
        glow_buf_type(b, n->out[i]->type);
    }
    glow_buf_putc(b, ';');
}

static void
describe_access(glow_buf *b, const cpu_access *a)
{
    glow_buf_printf(b, " %d@%lld[", a->slot, (long long)a->at);
    glow_buf_dims(b, a->step);
    glow_buf_putc(b, ']');
}

static char *
describe(glow_arena *a, const cpu_step *s)
{
    glow_buf b = {.arena = a};

    if (s->root) {
        describe_node(&b, s->root);
        for (int i = 0; i < s->root->n_in; i++)
            glow_buf_printf(&b, " %d", s->in[i]);
        for (int i = 0; i < s->root->n_out; i++)
            glow_buf_printf(&b, " >%d", s->out[i]);
        glow_buf_printf(&b, " *%d%s;", s->own_scratch,
                        s->packed >= 0 ? " packed" : "");
    }
    glow_buf_dims(&b, s->shape);
    for (int k = 0; k < s->n_items; k++) {
        describe_node(&b, s->items[k].n);
        for (int i = 0; i < s->items[k].n_in; i++)
            describe_access(&b, &s->items[k].in[i]);
        describe_access(&b, &s->items[k].out);
    }
    glow_buf_printf(&b, " /%d+%lld", s->parts, (long long)s->part_scratch);
    for (int i = 0; i < s->n_slots; i++)
        glow_buf_printf(&b, " %d%d%d%d", s->slots[i].written, s->slots[i].dead,
                        s->slots[i].linear, s->slots[i].shared);
    return b.text;
}

/* Functions of steps. */

static const char *
name_of(cg *g, const cpu_step *s, int number)
{
    char op[64];
    const glow_node *n = s->root ? s->root : s->items[s->n_items - 1].n;

    if (s->root)
        return glow_arena_printf(g->arena, "%s.%d", s->kernel->name, number);
    glow_op_instr_name(n->op, op, sizeof(op));
    return glow_arena_printf(g->arena, "%s.%d", op, number);
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

/*
 * Pointers: the slots, what is packed, for calls all constants and what runs
 * threads, what to work in.
 */
static int
count_params(const cpu_target *t, const cpu_step *s)
{
    return s->n_slots + (s->packed >= 0) +
           (s->bodies ? 1 + glow_cpu_entry_params(t) - CPU_BASES : 0) +
           (s->scratch > 0 && s->own_scratch < 0);
}

static cg_value
begin_step(cg *g, const cpu_step *s, const char *name, int count)
{
    LLVMTypeRef *params = GLOW_NEW_ARRAY(g->arena, LLVMTypeRef, count + 2);
    cg_value fn;

    for (int i = 0; i < count; i++)
        params[i] = g->ptr;
    params[count] = params[count + 1] = g->i64;
    fn = glow_cpu_function_of(g, name, g->i32, params,
                              s->parts > 1 ? count + 2 : count);
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            glow_cpu_enum(g, "noinline"));
    for (int i = 0; i < count; i++)
        if (i >= s->n_slots || !s->slots[i].shared)
            glow_cpu_noalias(g, fn, i);
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
set_params(cpu_job *j, int params)
{
    const cpu_step *s = j->step;
    int i = s->n_slots;

    j->slot = GLOW_NEW_ARRAY(j->g->arena, cg_value, params);
    for (int k = 0; k < params; k++)
        j->slot[k] = LLVMGetParam(j->fn, (unsigned)k);
    if (s->packed >= 0)
        j->packed = j->slot[i++];
    if (s->bodies) {
        j->constants = j->slot[i++];
        if (j->g->target->threads > 1) {
            j->parallel = j->slot[i++];
            j->pool = j->slot[i++];
        }
    }
    if (s->own_scratch >= 0)
        j->scratch = j->slot[s->own_scratch];
    else if (s->scratch)
        j->scratch = j->slot[i];
}

static cg_value
build_step(cg *g, const cpu_step *s, int number, bool debug)
{
    int params = count_params(g->target, s);
    cg_value fn = begin_step(g, s, name_of(g, s, number), params);
    cpu_job j = {.g = g, .step = s, .n = s->root, .fn = fn};

    if (debug)
        glow_cpu_debug_step(g, fn, s);
    set_params(&j, params);
    set_units(&j, params);
    if (s->root) {
        set_operands(&j);
        s->kernel->emit(&j);
    } else {
        glow_cpu_emit_stack(&j);
    }
    LLVMBuildRet(g->builder, LLVMConstNull(g->i32));
    return fn;
}

void
glow_cpu_fail_if(cpu_job *j, cg_value bad)
{
    cg_if s;

    glow_cpu_if(j->g, &s, bad);
    LLVMBuildRet(j->g->builder, LLVMConstInt(j->g->i32, 1, false));
    LLVMPositionBuilderAtEnd(j->g->builder, s.done);
}

/* The entry. */

/* A step's function, and that of its parts if it is split. */
typedef struct made {
    cg_value step, part;
} made;

static cg_value
call_step(cg *g, const cpu_plan *p, const cpu_step *s, const made *fn,
          cg_value entry)
{
    int params = count_params(g->target, s), n = 0;
    cg_value *args = GLOW_NEW_ARRAY(g->arena, cg_value, params);

    for (; n < s->n_slots; n++)
        args[n] = glow_cpu_atc(g, LLVMGetParam(entry, s->slots[n].range.base),
                               s->slots[n].range.offset);
    if (s->packed >= 0)
        args[n++] =
            glow_cpu_atc(g, LLVMGetParam(entry, CPU_CONSTANTS), s->packed);
    if (s->bodies) {
        args[n++] = LLVMGetParam(entry, CPU_CONSTANTS);
        if (g->target->threads > 1) {
            args[n++] = LLVMGetParam(entry, CPU_PARALLEL);
            args[n++] = LLVMGetParam(entry, CPU_POOL);
        }
    }
    if (s->scratch && s->own_scratch < 0)
        args[n++] =
            glow_cpu_atc(g, LLVMGetParam(entry, CPU_ACTIVATIONS), p->scratch);
    if (fn->part)
        return glow_cpu_call_parts(g, s, fn->step, fn->part, entry, args, n);
    return LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(fn->step),
                          fn->step, args, (unsigned)n, "");
}

/*
 * What the function of `p` returns for the code of a step: the number of the
 * instruction, unless one in a body failed, whose number it then is already.
 */
static cg_value
failure(cg *g, const cpu_plan *p, const cpu_step *s, cg_value code)
{
    cg_value one = LLVMConstInt(g->i32, 1, false);
    cg_value own = LLVMConstInt(
        g->i32, (unsigned)p->first_code + s->root->mark + 1, false);

    if (!s->bodies)
        return own;
    return cg_select(g, cg_icmp(g, LLVMIntEQ, code, one), own, code);
}

static cg_value
build_entry(cg *g, const cpu_plan *p, const char *name, made *const *fns,
            bool debug)
{
    cg_value entry = glow_cpu_function(
        g, name, glow_cpu_entry_params(g->target), p->root == p);

    if (debug)
        glow_cpu_debug_entry(g, entry, p->func);
    for (int i = 0; i < p->n_steps; i++) {
        const cpu_step *s = &p->steps[i];
        cg_if failed;

        glow_cpu_debug_line(g, entry, s->root ? s->root : s->items[0].n);

        cg_value code = call_step(g, p, s, fns[i], entry);

        if (!s->root || !s->kernel->fails)
            continue;
        glow_cpu_if(g, &failed,
                    cg_icmp(g, LLVMIntNE, code, LLVMConstNull(g->i32)));
        LLVMBuildRet(g->builder, failure(g, p, s, code));
        LLVMPositionBuilderAtEnd(g->builder, failed.done);
    }
    LLVMBuildRet(g->builder, LLVMConstNull(g->i32));
    return entry;
}

/* int NAME.step(...as the entry, number) */
static void
build_stepper(cg *g, const cpu_plan *p, const char *name, made *const *fns)
{
    int params = glow_cpu_entry_params(g->target);
    cg_value entry = glow_cpu_function(
        g, glow_arena_printf(g->arena, "%s.step", name), params + 1, true);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->builder);
    LLVMBasicBlockRef done =
        LLVMAppendBasicBlockInContext(g->context, entry, "done");
    cg_value number = LLVMBuildPtrToInt(
        g->builder, LLVMGetParam(entry, (unsigned)params), g->i64, "");
    cg_value choice =
        LLVMBuildSwitch(g->builder, number, done, (unsigned)p->n_steps);

    (void)here;
    for (int i = 0; i < p->n_steps; i++) {
        LLVMBasicBlockRef b =
            LLVMAppendBasicBlockInContext(g->context, entry, "step");

        LLVMAddCase(choice, cg_i64(g, i), b);
        LLVMPositionBuilderAtEnd(g->builder, b);
        LLVMBuildRet(g->builder, call_step(g, p, &p->steps[i], fns[i], entry));
    }
    LLVMPositionBuilderAtEnd(g->builder, done);
    LLVMBuildRet(g->builder, LLVMConstNull(g->i32));
}

static made *
make_step(cg *g, const cpu_step *s, int number, bool debug)
{
    made *m = GLOW_NEW(g->arena, made);

    m->step = build_step(g, s, number, debug);
    LLVMSetCurrentDebugLocation2(g->builder, NULL);
    if (s->parts > 1)
        m->part = glow_cpu_part_function(
            g, s, m->step,
            glow_arena_printf(g->arena, "%s.part", name_of(g, s, number)));
    return m;
}

/* The functions of the steps of `p`; `known` are those that there are. */
static made **
build_steps(cg *g, const cpu_plan *p, glow_map *known, int *number, bool debug)
{
    made **fns = GLOW_NEW_ARRAY(g->arena, made *, p->n_steps + 1);

    for (int i = 0; i < p->n_steps; i++) {
        /* Functions with lines belong to one step each. */
        const char *key = debug ? NULL : describe(g->arena, &p->steps[i]);

        fns[i] = key ? glow_map_get(known, key) : NULL;
        if (!fns[i]) {
            fns[i] = make_step(g, &p->steps[i], (*number)++, debug);
            if (key)
                glow_map_set(known, key, fns[i]);
        }
    }
    return fns;
}

bool
glow_cpu_build(cg *g, const cpu_plan *p, const char *name, bool steps,
               bool debug)
{
    glow_map *known = glow_map_new(g->arena);
    glow_context *ctx = p->func->module->ctx;
    char *message = NULL;
    int number = 0;
    bool ok = true;

    if (debug)
        glow_cpu_debug_begin(g, p->func);
    for (int i = 0; i < p->n_bodies; i++) {
        cpu_plan *body = p->bodies[i];
        made **of_body = build_steps(g, body, known, &number, debug);

        body->fn = build_entry(
            g, body, glow_arena_printf(g->arena, "%s.%d", body->func->name, i),
            of_body, debug);
    }

    made **fns = build_steps(g, p, known, &number, debug);

    build_entry(g, p, name, fns, debug);
    if (steps)
        build_stepper(g, p, name, fns);
    if (debug)
        glow_cpu_debug_end(g);
    if (LLVMVerifyModule(g->module, LLVMReturnStatusAction, &message))
        ok =
            glow_error(ctx, "E0824", "cpu: LLVM refuses the code: %s", message);
    LLVMDisposeMessage(message);
    return ok;
}

/*
 * The kernels have their shape already: what is left is to keep locals in
 * registers, to share addresses, and to move them out of loops.  Those in C
 * have it once they are inlined and what depends on their constant arguments is
 * folded.
 */
bool
glow_cpu_optimize(cg *g, glow_context *ctx)
{
    static const char passes[] =
        "function(sroa,early-cse,instsimplify,loop-mssa(licm),early-cse)";
    static const char with_c[] =
        "always-inline,globaldce,"
        "function(sroa,early-cse<memssa>,sccp,instcombine<no-verify-fixpoint>,"
        "simplifycfg,loop-mssa(loop-rotate,licm),"
        "instcombine<no-verify-fixpoint>,simplifycfg,early-cse)";
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(g->module, g->has_c ? with_c : passes,
                                   g->target->machine, o);

    LLVMDisposePassBuilderOptions(o);
    if (!e)
        return true;

    char *message = LLVMGetErrorMessage(e);

    glow_error(ctx, "E0824", "cpu: LLVM refuses the code: %s", message);
    LLVMDisposeErrorMessage(message);
    return false;
}

LLVMMemoryBufferRef
glow_cpu_emit_machine_code(cg *g, glow_context *ctx, LLVMCodeGenFileType what)
{
    LLVMMemoryBufferRef out = NULL;
    char *message = NULL;

    if (LLVMTargetMachineEmitToMemoryBuffer(g->target->machine, g->module, what,
                                            &message, &out)) {
        glow_error(ctx, "E0824", "cpu: LLVM refuses the code: %s", message);
        LLVMDisposeMessage(message);
        return NULL;
    }
    return out;
}
