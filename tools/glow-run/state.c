/* -state: placeholders that are kept from run to run, in a safetensors file. */

#include <unistd.h>

#include "tools/glow-run/run.h"

int
open_state(run *r)
{
    const char *path = r->values.state;
    size_t count;

    r->state = glow_state_new(r->tool.ctx, r->module);
    if (!r->state)
        return TOOL_FAILED;
    if (!path)
        return TOOL_GO_ON;
    glow_state_entries(r->state, &count);
    if (count == 0)
        return tool_usage(&r->tool, NULL,
                          "-state: no placeholder has {State: true}");
    if (access(path, F_OK) == 0 && !glow_state_load(r->state, path))
        return TOOL_FAILED;
    for (size_t i = 0; i < r->n_ports; i++)
        if (r->ports[i].is_kept && r->ports[i].input)
            glow_state_find(r->state, r->ports[i].storage->name)->is_set = true;
    return glow_state_check(r->state, path) ? TOOL_GO_ON : TOOL_FAILED;
}

int
write_state(run *r)
{
    for (size_t i = 0; i < r->n_ports; i++) {
        const run_port *p = &r->ports[i];
        const glow_tensor *to =
            p->is_kept ? &glow_state_find(r->state, p->storage->name)->tensor
                       : NULL;

        if (to && to->data != p->tensor.data)
            glow_tensor_copy(to, &p->tensor);
    }
    return glow_state_save(r->state, r->values.state) ? TOOL_GO_ON
                                                      : TOOL_FAILED;
}
