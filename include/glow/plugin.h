/*
 * Plugins: shared objects that add operators, passes and backends.
 *
 * A plugin is built against these headers and the shared libglow alone.  It
 * exports one symbol, glow_plugin_query.  The host asks it first and registers
 * afterwards; loading runs none of the plugin's code but the query.
 */

#ifndef GLOW_PLUGIN_H
#define GLOW_PLUGIN_H

#include "glow/backend.h"
#include "glow/import.h"
#include "glow/pipeline.h"

GLOW_BEGIN

#define GLOW_ABI_MAJOR 2 /* raised when something here changes its layout */
#define GLOW_ABI_MINOR 4 /* raised when something is added */

/*
 * Layouts besides the ABI: limits, and sizes of structs.  Structs that a plugin
 * fills in, the last group, may be shorter in the plugin, which then was built for
 * an older minor version: members are only added at their ends, and those that the
 * plugin does not know are zero for the host.  All others must agree.
 */
typedef struct glow_abi_sizes {
    uint32_t size; /* of this struct: first */
    uint32_t pointer, rank, operands, results, fields;
    uint32_t op, kind, field, type, tensor, binding, attr_value;
    uint32_t eval_options, pipeline_options, instrument;
    uint32_t pass, backend, importer;
    uint32_t reserved[13]; /* of structs of later minor versions; 0 */
} glow_abi_sizes;

/* clang-format off */
#define GLOW_ABI_SIZES                                                   \
    {                                                                    \
        .size = (uint32_t)sizeof(glow_abi_sizes),                        \
        .pointer = (uint32_t)sizeof(void *),                             \
        .rank = GLOW_MAX_RANK,                                           \
        .operands = GLOW_MAX_OPERANDS,                                   \
        .results = GLOW_MAX_RESULTS,                                     \
        .fields = GLOW_MAX_FIELDS,                                       \
        .op = (uint32_t)sizeof(glow_op),                                 \
        .field = (uint32_t)sizeof(glow_field),                           \
        .type = (uint32_t)sizeof(glow_type),                             \
        .tensor = (uint32_t)sizeof(glow_tensor),                         \
        .binding = (uint32_t)sizeof(glow_binding),                       \
        .attr_value = (uint32_t)sizeof(glow_attr_value),                 \
        .eval_options = (uint32_t)sizeof(glow_eval_options),             \
        .pipeline_options = (uint32_t)sizeof(glow_pipeline_options),     \
        .instrument = (uint32_t)sizeof(glow_instrument),                 \
        .pass = (uint32_t)sizeof(glow_pass),                             \
        .backend = (uint32_t)sizeof(glow_backend),                       \
        .kind = (uint32_t)sizeof(glow_kind_info),                        \
        .importer = (uint32_t)sizeof(glow_importer),                     \
    }
/* clang-format on */

typedef struct glow_plugin {
    uint32_t size;        /* of this struct, as the plugin knows it: first */
    uint32_t abi_major;   /* GLOW_ABI_MAJOR of the headers it was built with */
    uint32_t abi_minor;   /* the least minor of a host that it can work with */
    glow_abi_sizes sizes; /* GLOW_ABI_SIZES */
    const char *name;     /* "acme": the prefix of all that it registers */
    const char *version;
    const char *licence;
    int gir_version; /* of its part of the text form: `gir 1 "acme" 3` */
    const glow_op *const *ops; /* each list ends with NULL, or is NULL */
    const glow_pass *const *passes;
    const glow_backend *const *backends;
    const glow_kind_info *const *kinds;    /* element kinds: "acme.fp6" */
    const glow_importer *const *importers; /* of ONNX models */
} glow_plugin;

/*
 * The symbol.  Given the host's ABI it returns the plugin's descriptor, or
 * NULL with *reason set to a sentence (static text) if it cannot serve it.
 */
#define GLOW_PLUGIN_QUERY "glow_plugin_query"
typedef const glow_plugin *(*glow_plugin_query_fn)(uint32_t abi_major,
                                                   uint32_t abi_minor,
                                                   const char **reason);

/*
 * Loads a plugin by path, or by name from GLOW_PLUGIN_PATH and the installed
 * folder.  False after a report that names both sides.
 */
GLOW_API bool glow_plugin_load(glow_context *ctx, const char *name_or_path);

/* The same for a descriptor at hand: one linked in, or of another context. */
GLOW_API bool glow_plugin_register(glow_context *ctx, const glow_plugin *p);

/* The plugins of a context, in the order of loading. */
GLOW_API const glow_plugin *glow_plugin_at(const glow_context *ctx, size_t i);
GLOW_API const glow_plugin *glow_plugin_named(const glow_context *ctx,
                                              const char *name);

GLOW_END

#endif
