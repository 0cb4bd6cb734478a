/* What the host asks for: who we are, what we were built with, what we bring. */

#include <glow/plugin.h>

#include "demo.h"

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = 0, /* the least that has all that this plugin uses */
    .sizes = GLOW_ABI_SIZES,
    .name = "demo",
    .version = "1.0",
    .licence = "Apache-2.0",
    .gir_version = 1,
    .ops = (const glow_op *const[]){&demo_op_scale, NULL},
    .passes = (const glow_pass *const[]){&demo_pass_form_scale,
                                         &demo_pass_lower_scale, NULL},
    .importers = (const glow_importer *const[]){&demo_import_scale, NULL},
    .kinds = (const glow_kind_info *const[]){&demo_kind_fp8, NULL},
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major;
    (void)abi_minor;
    (void)reason; /* to say why not, when returning NULL */
    return &plugin;
}
