#include "runtime/loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glow/devices.h"
#include "glow/file.h"
#include "glow/plugin.h"
#include "glow/text.h"
#include "runtime/heap.h"

/* Keeps the first error of a run. */
static void
keep_report(const glow_diag *d, void *user)
{
    run_instance *x = user;

    if (d->severity == GLOW_ERROR && !x->last.text[0])
        snprintf(x->last.text, sizeof x->last.text, "%s: %s",
                 d->id ? d->id : "error", d->message);
}

/* Hands reports of loading on to the caller's context. */
static void
pass_report(const glow_diag *d, void *user)
{
    glow_report(user, d);
}

static const char *
folder_of(glow_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return NULL;
    return slash == path ? "/"
                         : glow_arena_strndup(a, path, (size_t)(slash - path));
}

glow_module *
glow_run_read(glow_context *ctx, const char *path)
{
    const glow_source *source = glow_source_read(ctx, path);
    const glow_parse_options how = {
        .folder =
            source ? folder_of(glow_context_arena(ctx), source->name) : NULL,
    };

    return source ? glow_parse(ctx, source, &how) : NULL;
}

glow_func *
glow_run_function(glow_context *ctx, glow_module *m, const char *path,
                  const char *name)
{
    glow_func *f = name ? glow_find_func(m, name) : glow_module_entry(m);

    if (!f && !name)
        f = glow_find_func(m, "main");
    if (!f)
        glow_error(ctx, "E0504", "%s has no function%s%s to run", path,
                   name ? " @" : "", name ? name : "");
    return f;
}

/* The function in a module of its own, if it is a body among others. */
static glow_func *
take_function(run_instance *x, const glow_load_options *o)
{
    glow_func *f = glow_run_function(x->ctx, x->module, o->path, o->function);
    glow_module *alone;

    if (!f || !glow_is_body(f))
        return f;
    alone = glow_part_module(f);
    glow_module_free(x->module);
    x->module = alone;
    return glow_find_func(alone, o->function);
}

/* The pipeline from the level of `f` to that of the backend, or NULL. */
static const char *
passes_for(const glow_backend *b, const glow_func *f)
{
    if (b->level == GLOW_ANY)
        return NULL;
    if (!f->is_program)
        return "O2";
    return b->level == GLOW_PLACED && !f->placed ? "alloc" : NULL;
}

static bool
add_plugins(glow_context *to, const glow_context *from)
{
    const glow_plugin *p;

    for (size_t i = 0; (p = glow_plugin_at(from, i)) != NULL; i++)
        if (!glow_plugin_register(to, p))
            return false;
    return true;
}

glow_context *
glow_run_new_context(glow_context *from)
{
    glow_context *ctx = glow_context_new();

    glow_context_set_sink(ctx, pass_report, from);
    if (add_plugins(ctx, from))
        return ctx;
    glow_context_free(ctx);
    return NULL;
}

static bool
start(run_instance *x, const glow_run_device_options *d,
      const glow_load_options *o, const glow_target_options *code)
{
    glow_func *f;

    x->module = glow_run_read(x->ctx, o->path);
    if (!x->module)
        return false;
    f = take_function(x, o);
    return f &&
           glow_network_load(
               &x->network, f,
               &(glow_network_options){
                   .backend = d->backend,
                   .code = code,
                   .passes = o->passes ? o->passes : passes_for(d->backend, f),
               });
}

/* The packed constants of the first instance, for the others; NULL: none. */
static glow_data *
share_constants(const glow_loaded *l, const char **layout)
{
    const glow_executable *x = l->instances[0].network.executable;
    const void *bytes;

    if (!l->backend->constants || !l->backend->sizes)
        return NULL;
    bytes = l->backend->constants(x, layout);
    return bytes ? glow_data_wrap((void *)(uintptr_t)bytes,
                                  (size_t)l->backend->sizes(x).constants, NULL,
                                  NULL)
                 : NULL;
}

static bool
start_instance(glow_loaded *l, int i, glow_context *ctx,
               const glow_run_device_options *d, const glow_load_options *o)
{
    run_instance *x = &l->instances[i];
    glow_target_options code = d->code ? *d->code : (glow_target_options){0};
    const char *layout = NULL;
    glow_data *shared = i > 0 ? share_constants(l, &layout) : NULL;
    bool ok;

    x->ctx = glow_run_new_context(ctx);
    code.constants = shared;
    code.layout = layout;
    ok = x->ctx && start(x, d, o, &code);
    glow_data_unref(shared);
    if (x->ctx)
        glow_context_set_sink(x->ctx, keep_report, x);
    return ok;
}

/* Lets the first instance share the constants of a network that has the same. */
static void
share(glow_loaded *l, const glow_load_options *o)
{
    glow_executable *x = l->instances[0].network.executable;

    for (int i = 0; i < o->n_like && !l->shares && l->backend->share; i++)
        l->shares =
            l->backend->share(x, o->like[i]->instances[0].network.executable);
}

static void
list_ports(glow_loaded *l)
{
    const run_instance *x = &l->instances[0];
    const glow_func *f = x->network.func;

    /* A program of the cache, in a module of its own, is bound to these storages. */
    GLOW_FOR_EACH_STORAGE(s, x->module)
        l->n_ports += !s->is_constant;
    l->ports = glow_heap_new((size_t)l->n_ports * sizeof *l->ports);
    l->n_ports = 0;
    GLOW_FOR_EACH_STORAGE(s, x->module) {
        glow_port p = {
            .name = s->name,
            .type = s->value.type,
            .bytes = glow_type_bytes(s->value.type),
            .read = !s->is_constant && glow_func_reads(f, s),
            .written = !s->is_constant && glow_func_writes(f, s),
        };

        if (p.read || p.written)
            l->ports[l->n_ports++] = p;
    }
}

static int64_t
bytes_of(const glow_loaded *l)
{
    glow_code_sizes sum = {0};

    for (int i = 0; l->backend->sizes && i < l->workers; i++) {
        glow_code_sizes z =
            l->backend->sizes(l->instances[i].network.executable);

        sum.constants = l->shares ? 0 : z.constants; /* of all instances */
        sum.activations += z.activations + z.placeholders;
        sum.code += z.code;
    }
    return sum.constants + sum.activations + sum.code;
}

glow_loaded *
glow_run_load(glow_context *ctx, const glow_run_device_options *d,
              const glow_load_options *o)
{
    glow_loaded *l = glow_heap_new(sizeof *l);

    l->backend = d->backend;
    l->workers = d->queues > 0 ? d->queues : 1;
    l->instances = glow_heap_new((size_t)l->workers * sizeof *l->instances);
    for (int i = 0; i < l->workers; i++) {
        if (!start_instance(l, i, ctx, d, o)) {
            glow_run_unload(l);
            return NULL;
        }
        if (i == 0)
            share(l, o);
    }
    list_ports(l);
    l->bytes = bytes_of(l);
    return l;
}

void
glow_run_unload(glow_loaded *l)
{
    /* The first instance has the constants of the others. */
    for (int i = l->workers; i-- > 0;) {
        run_instance *x = &l->instances[i];

        if (x->network.executable)
            glow_network_unload(&x->network);
        if (x->module)
            glow_module_free(x->module);
        if (x->ctx)
            glow_context_free(x->ctx);
    }
    free(l->ports);
    free(l->instances);
    free(l);
}

glow_outcome
glow_run_loaded(glow_loaded *l, int worker, void *memory, const uint64_t *at,
                glow_report_text *r)
{
    run_instance *x = &l->instances[worker];
    glow_binding *bindings =
        glow_heap_new((size_t)l->n_ports * sizeof *bindings);
    glow_tensor *tensors = glow_heap_new((size_t)l->n_ports * sizeof *tensors);
    bool ok;

    for (int i = 0; i < l->n_ports; i++) {
        const glow_storage *s = glow_find_storage(x->module, l->ports[i].name);

        tensors[i].type = s->value.type;
        tensors[i].data = memory ? NULL : (void *)(uintptr_t)at[i];
        bindings[i] = (glow_binding){s, &tensors[i]};
    }
    x->last.text[0] = 0;
    ok = memory ? l->backend->memory->run(memory, x->network.executable,
                                          bindings, at, l->n_ports)
                : l->backend->run(x->network.executable, bindings, l->n_ports);
    free(bindings);
    free(tensors);
    if (!ok)
        snprintf(r->text, sizeof r->text, "%s",
                 x->last.text[0] ? x->last.text : "the network failed");
    return ok ? GLOW_RUN_DONE : GLOW_RUN_FAILED;
}
