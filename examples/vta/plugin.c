/* The descriptor that the host asks for. */

#include <glow/plugin.h>

#include "vta.h"

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = 4, /* the least that has all that this plugin uses */
    .sizes = GLOW_ABI_SIZES,
    .name = "vta",
    .version = "1.0",
    .licence = "Apache-2.0",
    .gir_version = 1,
    .ops = (const glow_op *const[]){&vta_op_conv, &vta_op_pool, &vta_op_add,
                                    &vta_op_sum, &vta_op_scale, &vta_op_max,
                                    &vta_op_requantize, &vta_op_store, NULL},
    .passes = (const glow_pass *const[]){&vta_pass_form_units, NULL},
    .backends =
        (const glow_backend *const[]){&vta_backend, &vta_backend_units, NULL},
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major, (void)abi_minor;
    (void)reason; /* to say why not, when returning NULL */
    return &plugin;
}
