/*
 * A plugin with a backend of graphs, which takes Relu, Neg and Add of floats; its
 * options are of each kind that options have, and its target depends on one.
 */

#include "glow/ops.h"
#include "glow/plugin.h"
#include "glow/target.h"

typedef struct narrow {
    int64_t sram;
    int speed;
    const char *note;
} narrow;

static const char *const speeds[] = {"slow", "2", NULL};

struct glow_executable {
    glow_arena *arena;
    glow_func *func;
};

static const glow_backend backend;

static glow_takes
takes(const glow_node *n, glow_arena *a, const char **why)
{
    if (n->op->traits & GLOW_STRUCTURAL || n->op == &glow_op_relu ||
        n->op == &glow_op_neg || n->op == &glow_op_add)
        return GLOW_TAKES;
    *why = glow_arena_printf(a, "narrow.graph has no %s", n->op->name);
    return n->op->traits & GLOW_PRIMITIVE ? GLOW_TAKES_NOT : GLOW_TAKES_LOWERED;
}

static glow_executable *
load(glow_func *f, const glow_target_options *t)
{
    const narrow *o = glow_backend_options(&backend, t);
    glow_arena *a = glow_arena_new();
    glow_executable *x = GLOW_NEW(a, glow_executable);

    *x = (glow_executable){a, f};
    if (o->speed == 0)
        return x;
    glow_error_at(f->module->ctx, f->span, "E0821",
                  "the speed is %s, the note '%s', and %lld bytes do not do",
                  speeds[o->speed], o->note, (long long)o->sram);
    glow_arena_free(a);
    return NULL;
}

static bool
run(glow_executable *x, const glow_binding *bindings, int count)
{
    return glow_eval(x->func, bindings, count, NULL);
}

static bool
profile(glow_executable *x, const glow_binding *bindings, int count,
        const glow_eval_options *options)
{
    return glow_eval(x->func, bindings, count, options);
}

static glow_code_sizes
sizes(const glow_executable *x)
{
    (void)x;
    return (glow_code_sizes){0};
}

static void
unload(glow_executable *x)
{
    glow_arena_free(x->arena);
}

static const glow_target *
target(glow_context *ctx, glow_arena *a, const glow_target_options *t)
{
    const narrow *o = glow_backend_options(&backend, t);
    glow_target *machine = GLOW_NEW(a, glow_target);
    glow_space *space = GLOW_NEW(a, glow_space);
    size_t *home = GLOW_NEW(a, size_t);

    if (o->sram % 16 != 0) {
        glow_error(ctx, "E0821", "sram is %lld bytes, but rows have 16",
                   (long long)o->sram);
        return NULL;
    }
    *machine = glow_target_default;
    *space = (glow_space){.name = "sram", .align = 16};
    space->place.capacity = o->sram;
    machine->spaces = space;
    machine->n_spaces = 1;
    for (int k = 0; k < GLOW_BUFFER_CLASSES; k++)
        machine->homes[k] = (glow_homes){home, 1};
    return machine;
}

/* Neg(Neg(x)) => x. */
static glow_value *
cancel(glow_builder *b, glow_node *n)
{
    (void)b;
    return glow_is(n->in[0]->def, &glow_op_neg) ? n->in[0]->def->in[0] : NULL;
}

static glow_result
run_cancel(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_neg, cancel);
}

static const glow_pass pass_cancel = {
    .name = "narrow.cancel",
    .summary = "let two negations cancel",
    .level = GLOW_GRAPH,
    .run = run_cancel,
};

/* Abs(x) => Add(Relu(x), Relu(Neg(x))). */
static glow_value *
part(glow_builder *b, glow_node *n)
{
    glow_value *x = n->in[0];
    glow_value *neg = GLOW_BUILD_PLAIN(b, neg, GLOW_IN(x));
    glow_value *below = GLOW_BUILD_PLAIN(b, relu, GLOW_IN(neg));

    return GLOW_BUILD_PLAIN(
        b, add, GLOW_IN(GLOW_BUILD_PLAIN(b, relu, GLOW_IN(x)), below));
}

static glow_result
run_part(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_abs, part);
}

static const glow_pass pass_part = {
    .name = "narrow.part",
    .summary = "express Abs by Relu",
    .level = GLOW_GRAPH,
    .run = run_part,
};

static const glow_backend backend = {
    .name = "narrow.graph",
    .summary = "graphs of few operators",
    .takes = takes,
    .level = GLOW_GRAPH,
    .load = load,
    .run = run,
    .profile = profile,
    .sizes = sizes,
    .unload = unload,
    .options = {GLOW_FIELD_DEFAULT(narrow, sram, GLOW_BYTES, "bytes of sram"),
                GLOW_FIELD_ENUM(narrow, speed, speeds, "how fast it is"),
                GLOW_FIELD_DEFAULT(narrow, note, GLOW_STRING, "anything")},
    .defaults = &(const narrow){.sram = 4096, .note = ""},
    .before_lower = "narrow.part",
    .after_lower = "fixpoint(narrow.cancel,dce)",
    .target = target,
};

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = GLOW_ABI_MINOR,
    .sizes = GLOW_ABI_SIZES,
    .name = "narrow",
    .version = "1",
    .licence = "Apache-2.0",
    .passes = (const glow_pass *const[]){&pass_cancel, &pass_part, NULL},
    .backends = (const glow_backend *const[]){&backend, NULL},
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major, (void)abi_minor, (void)reason;
    return &plugin;
}
