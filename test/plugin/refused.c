/*
 * A plugin that is refused; REFUSED says for what reason.  One file is built
 * once for each.
 */

#include "glow/plugin.h"

enum {
    ABI_MAJOR = 1, /* built for another glow */
    ABI_MINOR,     /* needs a newer one */
    SIGNATURE,     /* has other layouts */
    SHORT,         /* has half a descriptor */
    DECLINES,      /* does not want to */
    PREFIX,        /* names something as if it were ours */
    DOTTED,        /* has a name that can be no prefix */
    MALFORMED,     /* has a pass that cannot run */
};

static const glow_pass ours = {
    .name = REFUSED == PREFIX ? "dce" : "refused.pass",
    .summary = "nothing",
};

static const glow_plugin plugin = {
    .size = REFUSED == SHORT ? 8 : (uint32_t)sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR + (REFUSED == ABI_MAJOR ? 1 : 0),
    .abi_minor = GLOW_ABI_MINOR + (REFUSED == ABI_MINOR ? 7 : 0),
    .signature = GLOW_ABI_SIGNATURE + (REFUSED == SIGNATURE ? 1 : 0),
    .name = REFUSED == DOTTED ? "re.fused" : "refused",
    .version = "1",
    .passes = (const glow_pass *const[]){&ours, NULL},
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major, (void)abi_minor;
    if (REFUSED == DECLINES) {
        *reason = "the accelerator is not plugged in";
        return NULL;
    }
    return &plugin;
}
