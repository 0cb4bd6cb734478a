/* -backend, -devices, -isolate and their like, of tools that run networks on a host. */

#include <inttypes.h>

#include "glow/host.h"
#include "tools/common/tool.h"

int
tool_check_devices(tool *t, const tool_devices *v)
{
    if (v->count < 1 || v->count > TOOL_MOST_THREADS)
        return tool_usage(t, NULL, "-devices takes 1 to %d", TOOL_MOST_THREADS);
    if (v->limit_ms < 0 || v->limit_ms > 86400000 ||
        (v->limit_ms && !v->isolate))
        return tool_usage(
            t, "add -isolate",
            "-limit-ms goes with -isolate, and takes 0 to a day of "
            "them");
    if (v->checksums && !v->isolate)
        return tool_usage(t, "add -isolate", "-checksums goes with -isolate");
    return TOOL_GO_ON;
}

const char *const *
tool_device_command(tool *t, const char *backend, const char *cpu,
                    const char *features)
{
    tool_list l = {0};

    tool_list_add(t, &l, "glow-device");
    tool_list_add(t, &l, glow_arena_printf(t->arena, "-backend=%s", backend));
    if (cpu)
        tool_list_add(t, &l, glow_arena_printf(t->arena, "-cpu=%s", cpu));
    if (features)
        tool_list_add(t, &l,
                      glow_arena_printf(t->arena, "-features=%s", features));
    for (size_t i = 0; i < t->common.plugins.count; i++)
        tool_list_add(t, &l,
                      glow_arena_printf(t->arena, "-plugin=%s",
                                        t->common.plugins.items[i]));
    tool_list_add(t, &l, NULL);
    return l.items;
}

glow_host *
tool_new_host(tool *t, const char *executor, const glow_host_options *o)
{
    glow_host_options with = *o;

    with.executor = glow_executor_open(t->ctx, executor ? executor : "threads");
    return with.executor ? glow_host_new(&with) : NULL;
}

int
tool_open_host(tool *t, const tool_devices *v, const glow_host_options *host,
               glow_host **out)
{
    const tool_list none = {0};
    glow_target_options *code = GLOW_NEW(t->arena, glow_target_options);
    glow_host_options with = *host;
    glow_run_device_options o = {
        .code = code, .memory = v->memory, .checksums = v->checksums};

    *code = (glow_target_options){.cpu = v->cpu, .features = v->features};
    o.backend = tool_find_backend(t, v->backend, &none, &code->options);
    if (!o.backend)
        return TOOL_USAGE;
    if (v->isolate)
        o.command = tool_device_command(t, v->backend, v->cpu, v->features);
    with.limit_ns = v->limit_ms * 1000000;
    *out = tool_new_host(t, v->executor, &with);
    if (!*out)
        return TOOL_FAILED;
    for (int64_t i = 0; i < v->count; i++) {
        o.name = glow_arena_printf(t->arena, "%s%" PRId64, o.backend->name, i);
        if (!glow_host_add_device(*out, t->ctx,
                                  v->isolate ? &glow_run_device_remote
                                             : &glow_run_device_local,
                                  &o))
            return TOOL_FAILED;
    }
    return TOOL_GO_ON;
}
