/*
 * Calls of bodies: If and Loop.
 *
 * A body is a function of the constants of all functions and of its own
 * placeholders and activations, both in the scratch of the calling step.
 * Formals are copied into these placeholders and out of them; a formal that the
 * body does not touch has no place there.
 */

#include "codegen/cpu/kernels/common.h"
#include "codegen/cpu/kernels/fork.h"

/* The memory of formal `i`; `at` is NULL if the body does not touch it. */
static cg_tensor
formal(const cpu_job *j, const cpu_plan *body, glow_formals which, int i)
{
    const glow_storage *s = glow_formal(body->func, which, i);
    const cpu_binding *b = glow_cpu_binding(body, s);
    cg_tensor t = {.type = s->value.type};

    if (b)
        t.at = glow_cg_atc(j->g, j->scratch,
                           b->offset + (b->base == CPU_ACTIVATIONS
                                            ? glow_cpu_body_activations(body)
                                            : 0));
    return t;
}

/* Copies all elements; where there is no place for them, nothing. */
static void
copy(cg *g, cg_tensor to, cg_tensor from)
{
    if (to.at && from.at)
        glow_cpu_copy(g, to, 0, glow_cpu_strides(to.type), from, 0,
                      glow_cpu_strides(from.type), to.type->shape);
}

/* Operands from in[first] on become the Inputs from `input` on. */
static void
hand_in(cpu_job *j, const cpu_plan *body, int first, int input)
{
    for (int i = first; i < j->n->n_in; i++)
        copy(j->g, formal(j, body, GLOW_INPUTS, i - first + input), j->in[i]);
}

/* Calls `body`; returns from the kernel with its code if it fails. */
static void
call(cpu_job *j, const cpu_plan *body)
{
    cg *g = j->g;
    cg_value args[] = {
        j->constants,
        j->scratch,
        glow_cg_atc(g, j->scratch, glow_cpu_body_activations(body)),
        j->parallel,
        j->pool,
    };
    cg_value code =
        LLVMBuildCall2(g->builder, LLVMGlobalGetValueType(body->fn), body->fn,
                       args, (unsigned)glow_cpu_entry_params(g->target), "");
    cg_if failed;

    glow_cg_if(g, &failed, cg_icmp(g, LLVMIntNE, code, LLVMConstNull(g->i32)));
    LLVMBuildRet(g->builder, code);
    LLVMPositionBuilderAtEnd(g->builder, failed.done);
}

/* If. */

static void
branch(cpu_job *j, int k, cg_value condition)
{
    const cpu_plan *body = j->step->bodies[k];
    cg_if taken;

    glow_cg_if(j->g, &taken, condition);
    hand_in(j, body, 1, 0);
    call(j, body);
    for (int i = 0; i < j->n->n_out; i++)
        copy(j->g, j->out[i], formal(j, body, GLOW_OUTPUTS, i));
    glow_cg_end_if(j->g, &taken);
}

static void
emit_if(cpu_job *j)
{
    cg *g = j->g;
    cg_value holds = glow_cg_load(g, j->in[0], cg_i64(g, 0), 1);

    branch(j, 0, holds);
    branch(j, 1, LLVMBuildNot(g->builder, holds, ""));
}

const cpu_kernel glow_cpu_control_if = {
    .name = "if",
    .op = &glow_op_if,
    .quantized = true,
    .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,
    .emit = emit_if,
    .fails = true,
    .calls = true,
};

/* Loop. */

enum { FIRST = 2 }; /* operand and Input of the first carried value */

typedef struct looper {
    cpu_job *j;
    const cpu_plan *body;
    const glow_loop *attrs;
    cg_value number, goes_on; /* variables: i64 and i1 */
    LLVMBasicBlockRef head, done;
} looper;

/* Element 0 of operand `i`, or `otherwise` if it is omitted. */
static cg_value
operand_or(cpu_job *j, int i, cg_value otherwise)
{
    return j->in[i].at ? glow_cg_load(j->g, j->in[i], cg_i64(j->g, 0), 1)
                       : otherwise;
}

/*
 * Loop-carried values are copied into their results; scan outputs begin as
 * zero.
 */
static void
begin(looper *l)
{
    cpu_job *j = l->j;
    cg *g = j->g;

    hand_in(j, l->body, FIRST, FIRST);
    for (int i = 0; i < j->n->n_out; i++)
        if (i < l->attrs->carried)
            copy(g, j->out[i], j->in[i + FIRST]);
        else
            LLVMBuildMemSet(g->builder, j->out[i].at, LLVMConstNull(g->i8),
                            cg_i64(g, glow_type_bytes(j->out[i].type)), 1);
    l->number = glow_cg_local(g, cg_i64(g, 0));
    l->goes_on =
        glow_cg_local(g, operand_or(j, 1, LLVMConstInt(g->i1, 1, false)));
}

/* Goes on while the condition holds and there are iterations left. */
static cg_value
test(looper *l, cg_value trips)
{
    cg *g = l->j->g;
    LLVMBasicBlockRef body =
        LLVMAppendBasicBlockInContext(g->context, g->fn, "iteration");
    cg_value number, more;

    l->head = LLVMAppendBasicBlockInContext(g->context, g->fn, "head");
    l->done = LLVMAppendBasicBlockInContext(g->context, g->fn, "done");
    LLVMBuildBr(g->builder, l->head);
    LLVMPositionBuilderAtEnd(g->builder, l->head);
    number = glow_cg_load_raw(g, g->i64, l->number);
    more = glow_cg_load_raw(g, g->i1, l->goes_on);
    more = cg_and(g, more, cg_icmp(g, LLVMIntSLT, number, trips));
    LLVMBuildCondBr(g->builder, more, body, l->done);
    LLVMPositionBuilderAtEnd(g->builder, body);
    glow_cpu_fail_if(
        l->j, cg_icmp(g, LLVMIntEQ, number, cg_i64(g, l->attrs->max_trips)));
    return number;
}

static void
set(cg *g, cg_tensor t, cg_value v)
{
    if (t.at)
        glow_cg_store(g, t, cg_i64(g, 0), v);
}

static const glow_type *
dense(cg *g, const glow_type *t)
{
    glow_type *d = glow_arena_copy(g->arena, t, sizeof *t);

    d->strides.rank = 0;
    return d;
}

/*
 * Copies the results of an iteration to the inputs of the next and to the
 * results of the loop.
 */
static void
hand_on(looper *l, cg_value number)
{
    cpu_job *j = l->j;
    cg *g = j->g;

    for (int i = 0; i < j->n->n_out; i++) {
        cg_tensor from = formal(j, l->body, GLOW_OUTPUTS, i + 1);
        cg_tensor to = j->out[i];

        if (i < l->attrs->carried) {
            copy(g, to, from);
            copy(g, formal(j, l->body, GLOW_INPUTS, i + FIRST), from);
            continue;
        }
        to.at = glow_cg_at(g, to.at,
                           cg_mulc(g, number, glow_type_bytes(from.type)));
        to.type = dense(g, from.type);
        copy(g, to, from);
    }
}

static void
emit_loop(cpu_job *j)
{
    cg *g = j->g;
    looper l = {.j = j, .body = j->step->bodies[0], .attrs = j->n->attrs};
    cg_value trips = operand_or(j, 0, cg_i64(g, INT64_MAX)), number, next;

    begin(&l);
    number = test(&l, trips);
    set(g, formal(j, l.body, GLOW_INPUTS, 0), number);
    set(g, formal(j, l.body, GLOW_INPUTS, 1),
        LLVMConstInt(g->i1, 1, false)); /* the condition held */
    call(j, l.body);
    hand_on(&l, number);
    next = cg_addc(g, number, 1);
    glow_cg_store_raw(g, next, l.number);
    glow_cg_store_raw(
        g, glow_cg_load(g, formal(j, l.body, GLOW_OUTPUTS, 0), cg_i64(g, 0), 1),
        l.goes_on);
    LLVMBuildBr(g->builder, l.head);
    LLVMPositionBuilderAtEnd(g->builder, l.done);
}

const cpu_kernel glow_cpu_control_loop = {
    .name = "loop",
    .op = &glow_op_loop,
    .quantized = true,
    .strides = CPU_STRIDES_IN | CPU_STRIDES_OUT,
    .emit = emit_loop,
    .fails = true,
    .failure = "it goes on after MaxTrips iterations",
    .calls = true,
};
