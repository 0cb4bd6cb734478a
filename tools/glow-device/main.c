/*
 * glow-device: runs networks for a host in another process, over descriptor 3.
 */

#include <sys/socket.h>

#include "glow/runtime.h"
#include "tools/common/tool.h"

enum { SOCKET = 3 };

typedef struct device_values {
    const char *backend, *cpu, *features;
} device_values;

#define AT(member) offsetof(device_values, member)

static const tool_option options[] = {
    {"backend", TOOL_TEXT, AT(backend), "NAME", NULL, "running",
     "what runs networks: cpu, interp (cpu), with options: 'cpu<winograd=off>'"},
    {"cpu", TOOL_TEXT, AT(cpu), "NAME", NULL, "running",
     "make code as for this processor, which this one can stand in for"},
    {"features", TOOL_TEXT, AT(features), "LIST", NULL, "running",
     "with these features and without those, as -avx2,-fma"},
    {0},
};

static const tool_spec spec = {
    .name = "glow-device",
    .usage = "[OPTION]... 3<>SOCKET",
    .about =
        "Runs networks for a host in another process, which starts it with a "
        "stream socket as descriptor 3 (glow-serve -isolate).",
    .options = options,
};

static bool
is_stream(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_STREAM;
}

static int
work(tool *t, const device_values *v)
{
    const tool_list none = {0};
    glow_target_options code = {.cpu = v->cpu, .features = v->features};
    glow_run_device_options o = {.name = "device", .code = &code};

    if (t->inputs.count > 0)
        return tool_usage(t, NULL, "glow-device takes no files");
    o.backend = tool_find_backend(t, v->backend, &none, &code.options);
    if (!o.backend)
        return TOOL_USAGE;
    if (!is_stream(SOCKET))
        return tool_usage(t, "a host starts it, as glow-serve -isolate does",
                          "descriptor %d is no socket", SOCKET);
    glow_run_device_serve(t->ctx, SOCKET, &o);
    return TOOL_DONE;
}

int
main(int argc, char **argv)
{
    device_values v = {.backend = "cpu"};
    tool t;
    int code = tool_begin(&t, &spec, &v, argc, argv);

    if (code == TOOL_GO_ON)
        code = work(&t, &v);
    return tool_end(&t, code);
}
