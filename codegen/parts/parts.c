/*
 * parts: runs a graph of Runs, each part by the backend of its device, one after the
 * other in this process.
 *
 * `devices` is the file that partition read.  Each part is a network of its own: `passes`
 * are run on a module that holds it alone, with the cache of networks.  A device whose
 * backend runs functions of every level gets its parts as they are.  Nodes other than
 * Runs, Splats and Saves are refused: they are on no device.
 */

#include <inttypes.h>
#include <string.h>

#include "glow/devices.h"
#include "glow/network.h"
#include "glow/ops.h"
#include "glow/pass.h"

extern const glow_backend glow_backend_parts;

typedef struct parts_options {
    const char *devices;
    const char *passes;
} parts_options;

/* A body on a device. */
typedef struct part {
    const char *body;
    const glow_device *device;
    glow_module *module;
    glow_func *func; /* the body within it */
    glow_network network;
    glow_binding *bindings; /* of the Inputs, then the Outputs */
    int n_in, n_out;
    struct part *next;
} part;

struct glow_executable {
    glow_arena *arena;
    glow_func *func;
    const glow_devices *devices;
    part *parts;
};

static glow_takes
takes(const glow_node *n, glow_arena *a, const char **why)
{
    if (n->op == &glow_op_run || n->op == &glow_op_splat ||
        n->op == &glow_op_copy || (n->op->traits & GLOW_STRUCTURAL))
        return GLOW_TAKES;
    *why = glow_arena_printf(a, "%s is on no device", n->op->name);
    return GLOW_TAKES_NOT;
}

static void
unload(glow_executable *x)
{
    for (part *p = x->parts; p; p = p->next) {
        glow_network_unload(&p->network);
        glow_module_free(p->module);
    }
    glow_arena_free(x->arena);
}

/* Loading. */

static part *
find_part(const glow_executable *x, const glow_node *n)
{
    const glow_run *a = n->attrs;
    part *p = x->parts;

    while (p && (strcmp(p->body, a->body) != 0 ||
                 strcmp(p->device->name, a->device) != 0))
        p = p->next;
    return p;
}

/* Binds the placeholders of the part that the formals of `body` are in its module. */
static void
bind_formals(glow_executable *x, part *p, const glow_func *body)
{
    p->n_in = glow_formal_count(body, GLOW_INPUTS);
    p->n_out = glow_formal_count(body, GLOW_OUTPUTS);
    p->bindings =
        GLOW_NEW_ARRAY(x->arena, glow_binding, p->n_in + p->n_out + 1);
    for (int i = 0; i < p->n_in + p->n_out; i++) {
        const glow_storage *s =
            i < p->n_in ? glow_formal(body, GLOW_INPUTS, i)
                        : glow_formal(body, GLOW_OUTPUTS, i - p->n_in);

        p->bindings[i].storage = glow_find_storage(p->module, s->name);
    }
}

static bool
load_part(glow_executable *x, const glow_node *n, const glow_target_options *t)
{
    const glow_run *a = n->attrs;
    const glow_device *d = glow_find_device(x->devices, a->device);
    const parts_options *o = glow_backend_options(&glow_backend_parts, t);
    glow_target_options code = t ? *t : (glow_target_options){0};
    part *p;

    if (!d)
        return glow_error_at(x->func->module->ctx, n->span, "E0850",
                             "%%%s runs on '%s', which is not in '%s'", n->name,
                             a->device, o->devices);
    if (find_part(x, n))
        return true;
    code.options = d->options;
    code.machine = NULL;
    code.constants = NULL;
    code.layout = NULL;
    p = GLOW_NEW(x->arena, part);
    *p = (part){.body = glow_arena_strdup(x->arena, a->body),
                .device = d,
                .module = glow_part_module(glow_called(n, 0)),
                .next = x->parts};
    p->func = glow_find_func(p->module, a->body);
    x->parts = p;
    bind_formals(x, p, glow_called(n, 0));
    return glow_network_load(
        &p->network, p->func,
        &(glow_network_options){
            .backend = d->backend,
            .code = &code,
            .passes = d->backend->level == GLOW_ANY ? NULL : o->passes});
}

static int64_t
bytes_of(const part *p)
{
    glow_code_sizes s = p->network.backend->sizes(p->network.executable);

    return s.constants + s.placeholders + s.activations;
}

/* Each device has memory for all of its parts. */
static bool
check_memory(const glow_executable *x)
{
    for (int i = 0; i < x->devices->count; i++) {
        const glow_device *d = &x->devices->at[i];
        int64_t sum = 0;

        for (const part *p = x->parts; p; p = p->next)
            if (p->device == d)
                sum += bytes_of(p);
        if (sum > d->memory)
            return glow_error(x->func->module->ctx, "E0851",
                              "the parts on '%s' take %" PRId64
                              " bytes, but it has %" PRId64,
                              d->name, sum, d->memory);
    }
    return true;
}

static bool
load_all(glow_executable *x, const glow_target_options *t)
{
    const char *why;

    GLOW_FOR_EACH_NODE(n, x->func) {
        if (takes(n, x->arena, &why) != GLOW_TAKES)
            return glow_error_hint(x->func->module->ctx, n->span, "E0823",
                                   "the pass partition makes a graph of Runs",
                                   "%s %%%s: %s", n->op->name, n->name, why);
        if (n->op == &glow_op_run && !load_part(x, n, t))
            return false;
    }
    return check_memory(x);
}

static glow_executable *
load(glow_func *f, const glow_target_options *t)
{
    const parts_options *o = glow_backend_options(&glow_backend_parts, t);
    glow_arena *arena = glow_arena_new();
    glow_executable *x = GLOW_NEW(arena, glow_executable);
    glow_context *ctx = f->module->ctx;

    *x = (glow_executable){.arena = arena, .func = f};
    if (!*o->devices)
        glow_error_hint(ctx, (glow_span){0}, "E0470",
                        "-devices=FILE, or -backend='parts<devices=FILE>'",
                        "the backend parts needs a devices file");
    else
        x->devices = glow_devices_read(ctx, arena, o->devices);
    if (x->devices && load_all(x, t))
        return x;
    unload(x);
    return NULL;
}

/* Running. */

static bool
run_part(void *runner, const glow_node *n, glow_tensor *const in[],
         glow_tensor *const out[])
{
    part *p = find_part(runner, n);

    for (int i = 0; i < p->n_in; i++)
        p->bindings[i].tensor = in[i];
    for (int i = 0; i < p->n_out; i++)
        p->bindings[p->n_in + i].tensor = out[i];
    return p->network.backend->run(p->network.executable, p->bindings,
                                   p->n_in + p->n_out);
}

static bool
profile(glow_executable *x, const glow_binding *bindings, int count,
        const glow_eval_options *options)
{
    glow_eval_options o = options ? *options : (glow_eval_options){0};

    o.run = run_part;
    o.runner = x;
    return glow_eval(x->func, bindings, count, &o);
}

static bool
run(glow_executable *x, const glow_binding *bindings, int count)
{
    return profile(x, bindings, count, NULL);
}

static glow_code_sizes
sizes(const glow_executable *x)
{
    glow_code_sizes sum = {0};

    for (const part *p = x->parts; p; p = p->next) {
        glow_code_sizes s = p->network.backend->sizes(p->network.executable);

        sum.constants += s.constants;
        sum.placeholders += s.placeholders;
        sum.activations += s.activations;
        sum.code += s.code;
    }
    return sum;
}

const glow_backend glow_backend_parts = {
    .name = "parts",
    .summary = "runs the parts of a network, each by the backend of its device",
    .takes = takes,
    .level = GLOW_ANY,
    .load = load,
    .run = run,
    .profile = profile,
    .sizes = sizes,
    .unload = unload,
    .options = {GLOW_FIELD_DEFAULT(parts_options, devices, GLOW_STRING,
                                   "file of the devices"),
                GLOW_FIELD_DEFAULT(parts_options, passes, GLOW_STRING,
                                   "pipeline of each part")},
    .defaults = &(const parts_options){.devices = "", .passes = "default"},
};
