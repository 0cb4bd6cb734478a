/*
 * A plugin of passes that are wrong, each by one rule of wrong.def: -verify-semantics
 * has to find every one of them.
 */

#include "glow/ops.h"
#include "glow/plugin.h"
#include "glow/rules.h"

#define WRONG(id, promise, kind, from_, to_, spends_, elements)              \
    static const glow_rule rules_##id[] = {                                  \
        {.from = (from_), .to = (to_), .spends = (spends_), .ends = "once"}, \
        {0},                                                                 \
    };                                                                       \
    static const glow_pass pass_##id = {                                     \
        .name = "wrong." #id,                                                \
        .summary = "be wrong",                                               \
        .level = GLOW_GRAPH,                                                 \
        .preserves = GLOW_##promise,                                         \
        .rules = rules_##id,                                                 \
        .run = glow_run_rules,                                               \
    };
#include "wrong.def"
#undef WRONG

static const glow_pass *const passes[] = {
#define WRONG(id, ...) &pass_##id,
#include "wrong.def"
#undef WRONG
    NULL,
};

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = GLOW_ABI_MINOR,
    .sizes = GLOW_ABI_SIZES,
    .name = "wrong",
    .version = "1",
    .licence = "Apache-2.0",
    .passes = passes,
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major, (void)abi_minor, (void)reason;
    return &plugin;
}
