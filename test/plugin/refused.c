/*
 * A plugin that is refused; REFUSED says for what reason.  One file is built
 * once for each.
 */

#include "glow/plugin.h"

enum {
    ABI_MAJOR = 1, /* built for another glow */
    ABI_MINOR,     /* needs a newer one */
    SIZES,         /* has other layouts: one size more, another less */
    LONGER,        /* has a longer pass than there is */
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

/*
 * Of SIZES the sum of all is as it was: each size is compared, not the whole.
 */
static glow_abi_sizes
sizes(void)
{
    glow_abi_sizes s = GLOW_ABI_SIZES;

    s.op += REFUSED == SIZES ? 8 : 0;
    s.type -= REFUSED == SIZES ? 8 : 0;
    s.pass += REFUSED == LONGER ? 8 : 0;
    return s;
}

static glow_plugin plugin = {
    .size = REFUSED == SHORT ? 8 : (uint32_t)sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR + (REFUSED == ABI_MAJOR ? 1 : 0),
    .abi_minor = GLOW_ABI_MINOR + (REFUSED == ABI_MINOR ? 7 : 0),
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
    plugin.sizes = sizes();
    return &plugin;
}
