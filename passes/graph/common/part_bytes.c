/* Bytes that a device allocates for a part: compiles it, as the backend parts does. */

#include "passes/graph/common/part_bytes.h"

#include "glow/network.h"
#include "glow/pass.h"

bool
glow_add_part_bytes(const glow_func *body, const glow_device *d, int64_t *bytes)
{
    const glow_target_options code = {.options = d->options};
    glow_module *m = glow_part_module(body);
    glow_network network = {0};
    bool ok = glow_network_load(
        &network, glow_find_func(m, body->name),
        &(glow_network_options){
            .backend = d->backend,
            .code = &code,
            .passes = d->backend->level == GLOW_ANY ? NULL : "default"});

    if (ok) {
        glow_code_sizes s = d->backend->sizes(network.executable);

        if (glow_add_overflow(*bytes, s.constants, bytes) ||
            glow_add_overflow(*bytes, s.placeholders, bytes) ||
            glow_add_overflow(*bytes, s.activations, bytes))
            *bytes = INT64_MAX;
    }
    glow_network_unload(&network);
    glow_module_free(m);
    return ok;
}
