/*
 * Loading plugins.
 *
 * Checks are in order of trust: the file exists, loads, has the symbol, and has
 * a compatible ABI (major version, minor version, layouts); only then its
 * descriptor is read.  Descriptors of an older minor version are shorter: they are
 * copied, with zeros for the members that they lack.  Nothing is registered unless
 * everything can be.  A plugin stays loaded to the end of the process, because its
 * constants may be in use.
 */

#include "glow/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/context.h"

typedef struct loader {
    glow_context *ctx;
    glow_arena *arena;
    const char *path;
    const glow_plugin *plugin;
} loader;

/* Finding the file. */

/*
 * DIR/NAME.so or DIR/libNAME.so, with the first `n` bytes of `dir` as DIR; or
 * NULL.
 */
static const char *
find_in(loader *l, const char *dir, size_t n, const char *name, glow_buf *tried)
{
    static const char *const prefixes[] = {"", "lib"};

    if (n == 0)
        return NULL;
    for (size_t i = 0; i < 2; i++) {
        const char *path = glow_arena_printf(l->arena, "%.*s/%s%s.so", (int)n,
                                             dir, prefixes[i], name);

        if (access(path, F_OK) == 0)
            return path;
        glow_buf_printf(tried, "%s%s", tried->len ? ", " : "", path);
    }
    return NULL;
}

static const char *
find_file(loader *l, const char *name)
{
    glow_buf tried = {.arena = l->arena};
    const char *dirs = getenv("GLOW_PLUGIN_PATH");
    const char *found = NULL;

    if (strchr(name, '/'))
        return name;
    while (dirs && *dirs && !found) {
        size_t n = strcspn(dirs, ":");

        found = find_in(l, dirs, n, name, &tried);
        dirs += n + (dirs[n] == ':');
    }
    if (!found)
        found =
            find_in(l, GLOW_PLUGIN_DIR, strlen(GLOW_PLUGIN_DIR), name, &tried);
    if (!found)
        glow_error(l->ctx, "E0803", "there is no plugin '%s': tried %s", name,
                   tried.text);
    return found;
}

/* The ABI check. */

static glow_plugin_query_fn
find_query(void *handle)
{
    /* POSIX lets an object pointer from dlsym be called; C does not say how. */
    void *symbol = dlsym(handle, GLOW_PLUGIN_QUERY);
    glow_plugin_query_fn query = NULL;

    memcpy(&query, &symbol, sizeof query);
    return query;
}

/* Members of glow_abi_sizes. */
static const struct layout {
    const char *what;
    size_t at;
    bool grows; /* a plugin of an older minor version may have less */
} layouts[] = {
#define LIMIT(member, name) {name, offsetof(glow_abi_sizes, member), false}
#define STRUCT(member) \
    {"glow_" #member, offsetof(glow_abi_sizes, member), false}
#define GROWS(member) {"glow_" #member, offsetof(glow_abi_sizes, member), true}
    LIMIT(pointer, "void *"),
    LIMIT(rank, "GLOW_MAX_RANK"),
    LIMIT(operands, "GLOW_MAX_OPERANDS"),
    LIMIT(results, "GLOW_MAX_RESULTS"),
    LIMIT(fields, "GLOW_MAX_FIELDS"),
    STRUCT(op),
    {"glow_kind_info", offsetof(glow_abi_sizes, kind), false},
    STRUCT(field),
    STRUCT(type),
    STRUCT(tensor),
    STRUCT(binding),
    STRUCT(attr_value),
    STRUCT(eval_options),
    STRUCT(pipeline_options),
    STRUCT(instrument),
    GROWS(pass),
    GROWS(backend),
    GROWS(importer),
#undef LIMIT
#undef STRUCT
#undef GROWS
};

static uint32_t
size_at(const glow_abi_sizes *s, size_t at)
{
    uint32_t size;

    memcpy(&size, (const char *)s + at, sizeof size);
    return size;
}

static bool
check_sizes(const loader *l)
{
    static const glow_abi_sizes ours = GLOW_ABI_SIZES;
    const glow_abi_sizes *s = &l->plugin->sizes;

    if (s->size != sizeof *s)
        return glow_error(l->ctx, "E0806",
                          "%s states sizes in %u bytes, this glow in %zu",
                          l->path, s->size, sizeof *s);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        uint32_t has = size_at(s, layouts[i].at);
        uint32_t is = size_at(&ours, layouts[i].at);

        if (has > is || (has < is && !layouts[i].grows) || has == 0)
            return glow_error_hint(
                l->ctx, (glow_span){0}, "E0806",
                "build the plugin against the headers of this glow",
                "%s was built for %s of %u, this glow has %u", l->path,
                layouts[i].what, has, is);
    }
    return true;
}

static bool
check_abi(const loader *l)
{
    const glow_plugin *p = l->plugin;

    if (p->abi_major != GLOW_ABI_MAJOR)
        return glow_error_hint(
            l->ctx, (glow_span){0}, "E0805",
            "build the plugin against the headers of this glow",
            "%s was built for glow ABI %u, this is ABI %u", l->path,
            p->abi_major, (unsigned)GLOW_ABI_MAJOR);
    if (p->size < offsetof(glow_plugin, gir_version))
        return glow_error(
            l->ctx, "E0806",
            "%s has a descriptor of %u bytes, this glow needs %zu", l->path,
            p->size, offsetof(glow_plugin, gir_version));
    if (p->abi_minor > GLOW_ABI_MINOR)
        return glow_error_hint(
            l->ctx, (glow_span){0}, "E0805", "load it with a newer glow",
            "%s needs glow ABI %u.%u, this is ABI %u.%u", l->path, p->abi_major,
            p->abi_minor, (unsigned)GLOW_ABI_MAJOR, (unsigned)GLOW_ABI_MINOR);
    return check_sizes(l);
}

static bool
open_plugin(loader *l)
{
    void *handle = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
    const char *reason = NULL;

    if (!handle)
        return glow_error(l->ctx, "E0803", "plugin %s cannot be loaded: %s",
                          l->path, dlerror());

    glow_plugin_query_fn query = find_query(handle);

    if (!query)
        return glow_error(l->ctx, "E0804",
                          "%s is no plugin of glow: it has no %s, which glow "
                          "%s asks for",
                          l->path, GLOW_PLUGIN_QUERY, glow_version());
    l->plugin = query(GLOW_ABI_MAJOR, GLOW_ABI_MINOR, &reason);
    if (!l->plugin)
        return glow_error(
            l->ctx, "E0807", "%s declines to work with glow ABI %u.%u: %s",
            l->path, (unsigned)GLOW_ABI_MAJOR, (unsigned)GLOW_ABI_MINOR,
            reason ? reason : "it does not say why");
    return check_abi(l);
}

/* Registration. */

/*
 * The list with a copy of each struct, as long as the host has it: `has` bytes of
 * the plugin's, then zeros.  The same list if the plugin's are as long.
 */
static const void *
whole_list(loader *l, const void *list, size_t has, size_t size)
{
    glow_arena *a = glow_context_arena(l->ctx);
    const void *const *from = list;
    const void **to;
    size_t count = 0;

    while (from && from[count])
        count++;
    if (has == size || count == 0)
        return list;
    to = GLOW_NEW_ARRAY(a, const void *, count + 1);
    for (size_t i = 0; i < count; i++) {
        void *copy = glow_arena_alloc(a, size);

        memset(copy, 0, size);
        memcpy(copy, from[i], has);
        to[i] = copy;
    }
    return to;
}

/* The plugin's descriptor and its structs in the layout of this glow. */
static const glow_plugin *
whole_descriptor(loader *l)
{
    glow_plugin *p = GLOW_NEW(glow_context_arena(l->ctx), glow_plugin);
    size_t size = l->plugin->size;

    memcpy(p, l->plugin, size < sizeof *p ? size : sizeof *p);
    p->passes = whole_list(l, p->passes, p->sizes.pass, sizeof(glow_pass));
    p->backends =
        whole_list(l, p->backends, p->sizes.backend, sizeof(glow_backend));
    p->importers =
        whole_list(l, p->importers, p->sizes.importer, sizeof(glow_importer));
    p->sizes = (glow_abi_sizes)GLOW_ABI_SIZES;
    p->size = sizeof *p;
    return p;
}

static bool
check_name(const loader *l, const char *what, const char *name,
           const void *taken)
{
    const char *prefix = l->plugin->name;
    size_t n = strlen(prefix);

    if (!name || strncmp(name, prefix, n) != 0 || name[n] != '.' ||
        name[n + 1] == '\0')
        return glow_error(l->ctx, "E0808",
                          "%s brings the %s '%s', but its names must begin "
                          "with '%s.'",
                          l->path, what, name ? name : "", prefix);
    if (taken)
        return glow_error(l->ctx, "E0802",
                          "%s brings the %s '%s', but there is one already",
                          l->path, what, name);
    return true;
}

/* Checks that an importer is not for an operator of ONNX's own domain. */
static bool
check_importer(const loader *l, const glow_importer *p)
{
    if (p->domain && *p->domain && strcmp(p->domain, "ai.onnx") != 0 && p->op &&
        *p->op && p->run)
        return true;
    return glow_error(
        l->ctx, "E0808",
        "%s brings an importer of '%s' in the domain '%s', but it "
        "needs an operator, a function and a domain that is not "
        "ONNX's",
        l->path, p->op ? p->op : "", p->domain ? p->domain : "");
}

static bool
check_names(const loader *l)
{
    const glow_plugin *p = l->plugin;
    bool ok = true;

    for (size_t i = 0; p->kinds && p->kinds[i]; i++)
        ok &= check_name(l, "element kind", p->kinds[i]->name, NULL);
    for (size_t i = 0; p->ops && p->ops[i]; i++)
        ok &= check_name(l, "operator", p->ops[i]->name,
                         glow_find_op(l->ctx, p->ops[i]->name));
    for (size_t i = 0; p->passes && p->passes[i]; i++)
        ok &= check_name(l, "pass", p->passes[i]->name,
                         glow_find_pass(l->ctx, p->passes[i]->name));
    for (size_t i = 0; p->importers && p->importers[i]; i++)
        ok &= check_importer(l, p->importers[i]);
    for (size_t i = 0; p->backends && p->backends[i]; i++)
        ok &= check_name(l, "backend", p->backends[i]->name,
                         glow_find_backend(l->ctx, p->backends[i]->name));
    return ok;
}

static bool
register_all(const loader *l)
{
    const glow_plugin *p = l->plugin;
    bool ok = true;

    for (size_t i = 0; p->kinds && p->kinds[i]; i++)
        ok &= glow_register_kind(l->ctx, p->kinds[i]);
    for (size_t i = 0; p->ops && p->ops[i]; i++)
        ok &= glow_register_op(l->ctx, p->ops[i]);
    for (size_t i = 0; p->passes && p->passes[i]; i++)
        ok &= glow_register_pass(l->ctx, p->passes[i]);
    for (size_t i = 0; p->backends && p->backends[i]; i++)
        ok &= glow_register_backend(l->ctx, p->backends[i]);
    return ok;
}

static bool
enter(loader *l)
{
    l->plugin = whole_descriptor(l);

    const char *name = l->plugin->name;

    if (!name || !*name || strchr(name, '.'))
        return glow_error(l->ctx, "E0808",
                          "%s gives '%s' as its name, which must be a word "
                          "without a dot",
                          l->path, name ? name : "");
    if (glow_plugin_named(l->ctx, name))
        return glow_error(l->ctx, "E0802",
                          "%s is the plugin '%s', which is loaded already",
                          l->path, name);
    return check_names(l) && register_all(l) &&
           glow_registry_add(l->ctx, &l->ctx->plugins, name, l->plugin);
}

bool
glow_plugin_register(glow_context *ctx, const glow_plugin *p)
{
    loader l = {.ctx = ctx, .arena = glow_arena_new(), .plugin = p};

    l.path = p->name ? p->name : "the plugin";

    bool ok = check_abi(&l) && enter(&l);

    glow_arena_free(l.arena);
    return ok;
}

bool
glow_plugin_load(glow_context *ctx, const char *name_or_path)
{
    loader l = {.ctx = ctx, .arena = glow_arena_new()};
    bool ok = false;

    l.path = find_file(&l, name_or_path);
    if (l.path)
        ok = open_plugin(&l) && enter(&l);
    glow_arena_free(l.arena);
    return ok;
}

const glow_plugin *
glow_plugin_at(const glow_context *ctx, size_t i)
{
    return i < ctx->plugins.count ? ctx->plugins.items[i] : NULL;
}

const glow_plugin *
glow_plugin_named(const glow_context *ctx, const char *name)
{
    return glow_registry_find(&ctx->plugins, name);
}
