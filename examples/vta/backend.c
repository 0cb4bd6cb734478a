/*
 * vta.core and vta.units: run placed programs on the simulator of the accelerator.
 *
 * Instructions that the accelerator takes become words; the primitive set is left to the
 * `eval` of its operators, which stand for the processor beside it.  vta.core takes whole
 * operators on buffers in DRAM, and cuts them into tiles itself.  vta.units takes programs
 * that glow's passes made for the queues and scratchpads of the target file.
 */

#include <stdlib.h>
#include <string.h>

#include <glow/file.h>

#include "program.h"
#include "target_text.h"

enum { ALIGN = 256 };

/* The target file, which is compiled in. */
static const glow_target *
target(glow_context *ctx, glow_arena *a, const glow_target_options *t)
{
    (void)t;
    return glow_target_read(ctx, a,
                            glow_source_from(ctx, "vta-16.json", VTA_TARGET,
                                             sizeof VTA_TARGET - 1));
}

/* Of buffers in DRAM; the target file has the elements of scratchpads. */
static int64_t
align(const glow_node *buffer)
{
    const char *space = glow_space_of(buffer);

    return space && *space && strcmp(space, "dram") != 0 ? 1 : ALIGN;
}

/* The set of operators. */

static bool
is_dense(const glow_value *v)
{
    return !v || v->type->strides.rank == 0;
}

/* Views begin at a vector of 16 elements. */
static bool
is_aligned(const glow_node *n)
{
    if (!n->func || !n->func->is_program || !vta_is_unit(n))
        return true;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && glow_extent_of(n->in[i]).first % VTA_LANES)
            return false;
    return glow_extent_of(n->out[0]).first % VTA_LANES == 0;
}

/* Operators that glow's passes cut for queues; the host runs them, if they do not. */
static bool
is_step(const glow_node *n)
{
    return glow_is(n, &vta_op_sum) || glow_is(n, &vta_op_scale) ||
           glow_is(n, &vta_op_max) || glow_is(n, &vta_op_requantize) ||
           glow_is(n, &vta_op_store);
}

static glow_takes
takes_core(const glow_node *n, glow_arena *a, const char **why)
{
    bool dense = true;

    if (n->op->traits & GLOW_STRUCTURAL)
        return GLOW_TAKES;
    for (int i = 0; i < n->n_in; i++)
        dense &= is_dense(n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        dense &= is_dense(n->out[i]);
    if (vta_is_unit(n) || (n->op->traits & GLOW_PRIMITIVE)) {
        *why = glow_op_calls(n->op) ? "the accelerator runs no bodies"
               : !dense             ? "the accelerator works on dense tensors"
               : !is_aligned(n)
                   ? "the accelerator works on vectors of 16 elements"
                   : NULL;
        return *why ? GLOW_TAKES_NOT : GLOW_TAKES;
    }
    *why = glow_arena_printf(a, "the accelerator has no instruction for %s",
                             n->op->name);
    return n->op->traits & GLOW_UNKNOWN ? GLOW_TAKES_NOT : GLOW_TAKES_LOWERED;
}

static glow_takes
takes_units(const glow_node *n, glow_arena *a, const char **why)
{
    if (vta_is_queued(n) || glow_is(n, &glow_op_wait) || is_step(n))
        return GLOW_TAKES;
    return takes_core(n, a, why);
}

/* Loading. */

struct glow_executable {
    glow_arena *arena;
    glow_func *func;
    const vta_options *options;
    const vta_program *program;
    vta_machine *machine;
    uint8_t *dram;
};

static void *
address(const glow_executable *x, const glow_value *v)
{
    return x->dram + vta_offset(v);
}

static void
unload(glow_executable *x)
{
    vta_machine_free(x->machine);
    free(x->dram);
    glow_arena_free(x->arena);
}

/* True if the host has work to do for `n`. */
static bool
is_for_host(const glow_node *n)
{
    return !vta_is_unit(n) && !vta_is_queued(n) && !glow_is(n, &glow_op_wait) &&
           !(n->op->traits & GLOW_STRUCTURAL);
}

static bool
check(glow_executable *x, const glow_backend *b)
{
    GLOW_FOR_EACH_NODE(n, x->func) {
        const char *why = NULL;

        if (b->takes(n, x->arena, &why) == GLOW_TAKES &&
            (x->options->host || !is_for_host(n)))
            continue;
        return glow_error_at(
            x->func->module->ctx, n->span, "E0823", "%s %%%s: %s", n->op->name,
            n->name,
            why ? why : "the accelerator does not take it, and host=false");
    }
    return true;
}

static glow_executable *
load(const glow_backend *b, glow_func *f, const glow_target_options *t)
{
    glow_arena *a = glow_arena_new();
    glow_executable *x = GLOW_NEW(a, glow_executable);

    x->arena = a;
    x->func = f;
    x->options = glow_backend_options(b, t);
    if (check(x, b))
        x->program = vta_program_new(a, f, x->options, t, false);
    if (x->program) {
        x->machine = vta_machine_new(&x->program->config);
        x->dram = malloc((size_t)x->program->dram_bytes + 1);
    }
    if (x->program)
        return x;
    unload(x);
    return NULL;
}

static glow_executable *
load_core(glow_func *f, const glow_target_options *t)
{
    return load(&vta_backend, f, t);
}

static glow_executable *
load_units(glow_func *f, const glow_target_options *t)
{
    return load(&vta_backend_units, f, t);
}

/* Running. */

static bool
copy_bindings(glow_executable *x, const glow_binding *bindings, int count,
              bool in)
{
    GLOW_FOR_EACH_NODE(n, x->func) {
        glow_storage *s = n->op == &glow_op_weight ? n->out[0]->storage : NULL;
        glow_tensor held = {.type = n->n_out ? n->out[0]->type : NULL};
        int i = 0;

        if (!s || s->is_constant)
            continue;
        while (i < count && bindings[i].storage != s)
            i++;
        if (i == count)
            return glow_error_at(x->func->module->ctx, s->span, "E0502",
                                 "placeholder @%s has no tensor to work on",
                                 s->name);
        held.data = address(x, n->out[0]);
        if (in)
            glow_tensor_copy(&held, bindings[i].tensor);
        else if (glow_func_writes(x->func, s))
            glow_tensor_copy(bindings[i].tensor, &held);
    }
    return true;
}

/* The host does nothing that the accelerator has words for. */
static bool
check_host(const glow_executable *x, const glow_node *n)
{
    const char *why = is_step(n) ? "no queue runs it: the pipeline `engines` "
                                   "gives it one"
                                 : "the accelerator has no words for it";

    return (!vta_is_unit(n) && !is_step(n)) || vta_is_left(x->program, n) ||
           glow_error_at(x->func->module->ctx, n->span, "E0823", "%s %%%s: %s",
                         n->op->name, n->name, why);
}

/* By `eval`, into tensors apart, since operands may be where the results go. */
static bool
evaluate(glow_executable *x, const glow_node *n, glow_arena *a)
{
    glow_tensor *t = GLOW_NEW_ARRAY(a, glow_tensor, n->n_in + n->n_out);
    glow_tensor **in = GLOW_NEW_ARRAY(a, glow_tensor *, n->n_in + n->n_out);
    bool ok;

    for (int i = 0; i < n->n_in + n->n_out; i++) {
        const glow_value *v = i < n->n_in ? n->in[i] : n->out[i - n->n_in];

        if (!v)
            continue;
        t[i] = i < n->n_in
                   ? (glow_tensor){.type = v->type, .data = address(x, v)}
                   : glow_tensor_new(v->type);
        in[i] = &t[i];
    }
    ok = glow_eval_node(n, in, in + n->n_in, a);
    for (int i = 0; i < n->n_out; i++) {
        memcpy(address(x, n->out[i]), in[n->n_in + i]->data,
               (size_t)glow_type_bytes(n->out[i]->type));
        glow_tensor_end(in[n->n_in + i]);
    }
    return ok;
}

static bool
run_segment(glow_executable *x, const vta_segment *g, vta_report *r)
{
    if (vta_machine_run(x->machine, x->dram, x->program->dram_bytes, g->words,
                        g->count, (uint64_t)x->options->seed, r))
        return true;
    return glow_error_at(x->func->module->ctx, g->first->span, "E0823",
                         "%s %%%s: the accelerator stopped: %s",
                         g->first->op->name, g->first->name, r->fault);
}

bool
vta_run(glow_executable *x, const glow_binding *bindings, int count)
{
    glow_arena *a = glow_arena_new();
    const vta_segment *g = x->program->segments;
    const vta_segment *end = g + x->program->count;
    vta_report report = {0};
    bool ok = vta_fill_dram(x->program, x->dram) &&
              copy_bindings(x, bindings, count, true);

    vta_machine_poison(x->machine);
    for (const glow_node *n = x->func->first; n && ok;) {
        if (g < end && n == g->first) {
            ok = run_segment(x, g, &report);
            n = g++->end;
            continue;
        }
        if (!(n->op->traits & GLOW_STRUCTURAL) && !glow_is(n, &glow_op_wait))
            ok = check_host(x, n) && evaluate(x, n, a);
        glow_arena_reset(a);
        n = n->next;
    }
    glow_arena_free(a);
    return ok && copy_bindings(x, bindings, count, false);
}

static glow_code_sizes
sizes(const glow_executable *x)
{
    glow_code_sizes s = {0};

    for (const glow_region *r = x->func->regions; r; r = r->next)
        s.activations += r->size;
    for (size_t i = 0; i < x->program->count; i++)
        s.code += x->program->segments[i].count * VTA_INSTRUCTION_BYTES +
                  x->program->segments[i].n_uops * 4;
    return s;
}

static const vta_options defaults = {.inp = 32768,
                                     .wgt = 262144,
                                     .acc = 131072,
                                     .uop = 32768,
                                     .bytes_per_cycle = 8,
                                     .setup = 100,
                                     .outstanding = 4,
                                     .depth = 512,
                                     .double_buffer = true,
                                     .host = true,
                                     .seed = 0};

/* Options of both backends. */
#define MACHINE_OPTIONS                                                    \
    GLOW_FIELD_DEFAULT(vta_options, uop, GLOW_BYTES, "micro-operations"),  \
        GLOW_FIELD_DEFAULT(vta_options, bytes_per_cycle, GLOW_FLOAT32,     \
                           "rate of the DRAM port"),                       \
        GLOW_FIELD_DEFAULT(vta_options, setup, GLOW_INT,                   \
                           "cycles before a transfer"),                    \
        GLOW_FIELD_DEFAULT(vta_options, outstanding, GLOW_INT,             \
                           "transfers of a queue at once"),                \
        GLOW_FIELD_DEFAULT(vta_options, depth, GLOW_INT,                   \
                           "instructions that a queue holds"),             \
        GLOW_FIELD_DEFAULT(                                                \
            vta_options, host, GLOW_FLAG,                                  \
            "the host runs operators that the accelerator does not take"), \
        GLOW_FIELD_DEFAULT(vta_options, seed, GLOW_INT64,                  \
                           "of a random order of the queues; 0: timed")

const glow_backend vta_backend = {
    .name = "vta.core",
    .summary = "an accelerator of VTA's class, simulated by instruction words",
    .takes = takes_core,
    .level = GLOW_PLACED,
    .load = load_core,
    .run = vta_run,
    .sizes = sizes,
    .unload = unload,
    .emit = vta_emit,
    .artifacts = vta_artifacts,
    .align = align,
    .options =
        {GLOW_FIELD_DEFAULT(vta_options, inp, GLOW_BYTES, "input scratchpad"),
         GLOW_FIELD_DEFAULT(vta_options, wgt, GLOW_BYTES, "weight scratchpad"),
         GLOW_FIELD_DEFAULT(vta_options, acc, GLOW_BYTES, "accumulators"),
         GLOW_FIELD_DEFAULT(vta_options, double_buffer, GLOW_FLAG,
                            "load a tile while another is computed"),
         MACHINE_OPTIONS},
    .defaults = &defaults,
    .before_lower = "vta.form-units,dce,fold-constants",
    .target = target,
    .memory = &vta_dram,
};

/* The target file has the sizes of scratchpads, and passes overlap the queues. */
const glow_backend vta_backend_units = {
    .name = "vta.units",
    .summary = "the same, with tiles, copies and tokens by glow's passes",
    .takes = takes_units,
    .level = GLOW_PLACED,
    .load = load_units,
    .run = vta_run,
    .sizes = sizes,
    .unload = unload,
    .emit = vta_emit,
    .artifacts = vta_artifacts,
    .align = align,
    .options = {MACHINE_OPTIONS},
    .defaults = &defaults,
    .before_lower = "form-units,dce",
    .target = target,
    .units = vta_units,
    .memory = &vta_dram,
};
