/* The descriptor that the host asks for. */

#include <glow/plugin.h>

#include "npu.h"

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = 0, /* the least that has all that this plugin uses */
    .sizes = GLOW_ABI_SIZES,
    .name = "npu",
    .version = "1.0",
    .licence = "Apache-2.0",
    .gir_version = 1,
    .ops = (const glow_op *const[]){&npu_op_dense, NULL},
    .passes =
        (const glow_pass *const[]){&npu_pass_form_dense, &npu_pass_fuse_relu,
                                   &npu_pass_lower_dense, NULL},
    .backends = (const glow_backend *const[]){&npu_backend, NULL},
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
