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
#include "glow/pass.h"

GLOW_BEGIN

#define GLOW_ABI_MAJOR 1 /* raised when something here changes its layout */
#define GLOW_ABI_MINOR 1 /* raised when something is added */

/* Dependences of layouts besides the ABI; both sides must agree: limits, and 24
   bits of the sizes of all structs that a plugin fills in or reads. */
#define GLOW_ABI_SIGNATURE                                                    \
    (((uint64_t)GLOW_MAX_RANK << 0) | ((uint64_t)GLOW_MAX_OPERANDS << 8) |    \
     ((uint64_t)GLOW_MAX_RESULTS << 16) | ((uint64_t)GLOW_MAX_FIELDS << 24) | \
     ((uint64_t)sizeof(void *) << 32) | ((uint64_t)GLOW_ABI_SIZES << 40))

#define GLOW_ABI_SIZES                                                        \
    ((sizeof(glow_op) + 31 * sizeof(glow_pass) + 127 * sizeof(glow_backend) + \
      509 * sizeof(glow_target_options) + 2039 * sizeof(glow_importer) +      \
      8191 * sizeof(glow_kind_info)) &                                        \
     0xffffff)

typedef struct glow_plugin {
    uint32_t size;      /* of this struct, as the plugin knows it: first */
    uint32_t abi_major; /* GLOW_ABI_MAJOR of the headers it was built with */
    uint32_t abi_minor; /* the least minor of a host that it can work with */
    uint64_t signature; /* GLOW_ABI_SIGNATURE */
    const char *name;   /* "acme": the prefix of all that it registers */
    const char *version;
    const char *licence;
    int gir_version; /* of its part of the text form: `gir 1 "acme" 3` */
    const glow_op *const *ops; /* each list ends with NULL, or is NULL */
    const glow_pass *const *passes;
    const glow_backend *const *backends;
    const glow_kind_info *const *kinds;    /* element kinds: "acme.fp6" */
    const glow_importer *const *importers; /* since 1.1: of ONNX models */
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
