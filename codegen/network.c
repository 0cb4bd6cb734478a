/*
 * Loads a network: from the cache of compiled networks, or by running the
 * passes and the backend.
 *
 * The key of a network is the hash of its text, in which a hash stands for the
 * elements of the constants; of the source locations of its nodes; of the
 * passes; and of the identity of the backend.  So an entry is never stale, and
 * no name or date of a file matters.
 *
 * An entry holds the constants in the layout of the code, then this layout and the text of
 * the program, whose larger constants are elided, and then the source locations of
 * its instructions, for messages.  It is mapped, so processes share it, and the
 * constants that were read to compute the key are released before.
 *
 * A context with passes or operators of its own, from plugins or from the
 * caller, gets no networks from the cache, because the key does not cover their
 * code.
 */

#include "glow/network.h"

#include <inttypes.h>
#include <string.h>

#include "codegen/cache.h"
#include "codegen/hash.h"
#include "glow/file.h"
#include "glow/pipeline.h"
#include "glow/plugin.h"
#include "glow/text.h"
#include "ir/registry.h"

enum { IN_TEXT = 1024 }; /* bytes; larger constants are elided */

/* Source location of an instruction, in bytes of the module's source. */
typedef struct place {
    uint32_t begin, end;
} place;

/* At the end of an entry: the sizes of its sections, in bytes. */
typedef struct footer {
    uint64_t constants, layout, text, places;
} footer;

typedef struct loading {
    glow_network *n;
    glow_network_options *how;
    glow_target_options code; /* `how->code`, with the machine */
    glow_func *f;
    glow_arena *arena;
    glow_cache cache;
    const glow_source *source; /* of all nodes, or NULL */
    const char *key;           /* NULL: not cached */
} loading;

/* Keys. */

/* Takes a constant of a weights file into the module, which its text then holds. */
static void
take_in(glow_storage *s)
{
    if (s->payload == GLOW_EXTERNAL && glow_constant_tensor(s)) {
        s->payload = GLOW_DATA;
        s->file = NULL;
        s->key = NULL;
    }
}

/*
 * A copy of `m` in which constants of over `least` bytes are elided, and none is in a
 * weights file: the text of an entry has no folder that a path could begin at.
 */
static glow_module *
elided(const glow_module *m, int64_t least)
{
    glow_module *copy = glow_module_clone(m);

    GLOW_FOR_EACH_STORAGE(s, copy) {
        if (!s->is_constant || s->payload == GLOW_SPLAT)
            continue;
        if (glow_type_bytes(s->value.type) <= least) {
            take_in(s);
            continue;
        }
        if (s->payload != GLOW_ELIDED)
            s->key = "";
        s->payload = GLOW_ELIDED;
        s->file = NULL;
    }
    glow_drop_unused_weights(copy);
    return copy;
}

/* The elements of a list of constants. */
typedef struct elements {
    glow_arena *arena;
    glow_hash_part *at;
    size_t count, cap;
} elements;

static bool
add_elements(elements *e, glow_module *m)
{
    GLOW_FOR_EACH_STORAGE(s, m) {
        const glow_tensor *t;

        if (!s->is_constant || s->payload == GLOW_SPLAT)
            continue;
        t = s->payload == GLOW_ELIDED ? NULL : glow_constant_tensor(s);
        if (!t)
            return false;
        e->at =
            glow_arena_grow(e->arena, e->at, e->count, &e->cap, sizeof *e->at);
        e->at[e->count++] =
            (glow_hash_part){t->data, (size_t)glow_type_bytes(t->type)};
    }
    return true;
}

/*
 * Appends the hash of the elements of all constants; false if some cannot be
 * read.  They are read through a copy of the module, so that files which only
 * the copy has open are closed again.
 */
static bool
put_constants(glow_buf *b, const loading *l, const glow_module *m)
{
    glow_module *copy = glow_module_clone(m);
    elements all = {.arena = l->arena};
    char hex[GLOW_HASH_HEX];
    bool ok = add_elements(&all, copy) &&
              glow_hash_hex(all.at, all.count, l->how->code->threads, hex);

    if (ok)
        glow_buf_printf(b, "%s\n", hex);
    glow_module_free(copy);
    return ok;
}

/*
 * Appends the source locations of the nodes; false if they have several
 * sources.
 */
static bool
put_places(glow_buf *b, loading *l)
{
    GLOW_FOR_EACH_FUNC(f, l->f->module)
        GLOW_FOR_EACH_NODE(n, f) {
            if (n->span.source && !l->source)
                l->source = n->span.source;
            if (n->span.source != l->source)
                return false;
            glow_buf_printf(b, "%" PRIu32 " %" PRIu32 "\n", n->span.begin,
                            n->span.end);
        }
    return true;
}

static size_t
length(const void *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

/* True if the context holds only the library's operators and passes. */
static bool
is_ours(const glow_context *ctx)
{
    size_t ops, passes;

    glow_all_ops(ctx, &ops);
    glow_all_passes(ctx, &passes);
    return !glow_plugin_at(ctx, 0) &&
           ops == length((const void *const *)glow_builtin_ops) &&
           passes == length((const void *const *)glow_builtin_passes);
}

static const char *
key_of(loading *l)
{
    const glow_backend *backend = l->how->backend;
    const glow_module *m = l->f->module;
    const char *identity =
        l->cache.folder && backend->identity && is_ours(m->ctx)
            ? backend->identity(m->ctx, l->arena, l->how->code)
            : NULL;
    glow_buf b = {.arena = l->arena};
    glow_module *bare;
    char hex[GLOW_HASH_HEX];

    if (!identity)
        return NULL;
    glow_buf_printf(&b, "network\n%s\n%s\n%s\n%" PRId64 "\n%s\n", identity,
                    backend->name, l->f->name, l->how->code->most_bytes,
                    l->how->passes ? l->how->passes : "");
    if (!put_places(&b, l) || !put_constants(&b, l, m))
        return NULL;
    bare = elided(m, -1);
    glow_print(&b, bare, NULL);
    glow_module_free(bare);
    return glow_hash_hex(&(glow_hash_part){b.text, b.len}, 1, 1, hex)
               ? glow_arena_strdup(l->arena, hex)
               : NULL;
}

/* Finding. */

/*
 * Replaces placeholders of `f` by the caller's placeholders of the same names.
 */
static void
bind(const loading *l, glow_func *f)
{
    GLOW_FOR_EACH_NODE(n, f) {
        const glow_storage *s = n->n_out ? n->out[0]->storage : NULL;
        glow_storage *ours;

        if (n->op != &glow_op_weight)
            break;
        ours = s->is_constant ? NULL : glow_find_storage(l->f->module, s->name);
        if (ours)
            n->out[0]->storage = ours;
    }
}

static void
set_places(const loading *l, glow_module *m, const place *at, size_t count)
{
    size_t i = 0;

    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f) {
            n->span = i < count && l->source
                          ? (glow_span){l->source, at[i].begin, at[i].end}
                          : (glow_span){0};
            i++;
        }
}

/* The module of an entry, or NULL. */
static glow_module *
read_entry(const loading *l, const char *bytes, const footer *sizes)
{
    static const glow_parse_options how = {.allow_elided = true};
    const char *text = bytes + sizes->constants + sizes->layout;
    glow_module *m = glow_parse(
        l->f->module->ctx,
        glow_source_from(l->f->module->ctx, l->key, text, sizes->text), &how);
    place *at = glow_arena_alloc(l->arena, sizes->places + 1);

    if (!m)
        return NULL;
    memcpy(at, text + sizes->text + 1, sizes->places);
    set_places(l, m, at, sizes->places / sizeof *at);
    return m;
}

static void
release(void *entry)
{
    glow_data_unref(entry);
}

/* Loads the network from its entry; false if there is none. */
static bool
find(loading *l)
{
    glow_data *entry = glow_cache_map(&l->cache, l->arena, l->key);
    glow_target_options code = *l->how->code;
    glow_network *n = l->n;
    footer sizes;
    const char *bytes;

    if (!entry)
        return false;
    bytes = glow_data_bytes(entry);
    memcpy(&sizes, bytes + glow_data_size(entry) - sizeof sizes, sizeof sizes);
    n->found = read_entry(l, bytes, &sizes);
    n->func = n->found ? glow_find_func(n->found, l->f->name) : NULL;
    if (n->func) {
        bind(l, n->func);
        code.constants = glow_data_wrap(glow_data_bytes(entry), sizes.constants,
                                        release, glow_data_ref(entry));
        code.layout = bytes + sizes.constants;
        n->executable = n->backend->load(n->func, &code);
        glow_data_unref(code.constants);
    }
    glow_data_unref(entry);
    if (!n->executable)
        glow_network_unload(n);
    return n->executable != NULL;
}

/* Making. */

static bool
run_passes(loading *l)
{
    const char *text = l->how->passes;
    glow_module *m = l->f->module;
    const char *name = glow_arena_strdup(l->arena, l->f->name);
    const glow_pipeline_options options = {
        .verify_each = true,
        .backend = l->how->backend,
        .code = l->how->code,
        .most_bytes = l->how->code->most_bytes,
        .reach = (glow_level)l->how->backend->level,
    };
    glow_pipeline *p;

    if (!text)
        return true;
    if (m->funcs->next)
        text = glow_arena_printf(l->arena, "@%s(%s)", name, text);
    p = glow_pipeline_parse_for(
        m->ctx, l->arena,
        glow_source_from(m->ctx, "<passes>", text, strlen(text)),
        l->how->backend);
    if (!p || !glow_pipeline_run(p, m, &options))
        return false;
    l->f = glow_find_func(m, name);
    return true;
}

static place *
list_places(const loading *l, glow_module *m, size_t *bytes)
{
    place *at = NULL;
    size_t count = 0, cap = 0;

    GLOW_FOR_EACH_FUNC(f, m)
        GLOW_FOR_EACH_NODE(n, f) {
            at = glow_arena_grow(l->arena, at, count, &cap, sizeof *at);
            at[count++] = (place){n->span.begin, n->span.end};
        }
    *bytes = count * sizeof *at;
    return at;
}

static void
keep(loading *l)
{
    glow_network *n = l->n;
    glow_module *bare = elided(l->f->module, IN_TEXT);
    glow_buf text = {.arena = l->arena};
    footer sizes = {.constants =
                        (uint64_t)n->backend->sizes(n->executable).constants};
    const char *layout;
    const void *constants = n->backend->constants(n->executable, &layout);
    size_t bytes;
    const place *at = list_places(l, l->f->module, &bytes);

    glow_print(&text, bare, NULL);
    glow_module_free(bare);
    sizes.layout = strlen(layout) + 1; /* with its NUL */
    sizes.text = text.len;
    sizes.places = bytes;

    const glow_cache_part parts[] = {
        {constants, sizes.constants}, {layout, sizes.layout},
        {text.text, sizes.text + 1}, /* with its NUL */
        {at, sizes.places},           {&sizes, sizeof sizes},
    };

    glow_cache_keep(&l->cache, l->arena, l->key, parts,
                    sizeof parts / sizeof parts[0]);
    glow_cache_trim(&l->cache);
}

/*
 * Sets the description of the target machine, by which passes count the scratch
 * bytes of kernels.
 */
static bool
find_machine(loading *l)
{
    const glow_backend *b = l->n->backend;

    l->code = *l->how->code;
    l->how->code = &l->code;
    if (!b->machine || l->code.machine || !l->how->passes)
        return true;
    l->code.machine = b->machine(l->f->module->ctx, l->arena, &l->code);
    return l->code.machine;
}

static bool
make(loading *l)
{
    if (!find_machine(l) || !run_passes(l))
        return false;
    l->n->func = l->f;
    l->n->executable = l->n->backend->load(l->f, l->how->code);
    if (!l->n->executable)
        return false;
    if (l->key && l->n->backend->constants)
        keep(l);
    return true;
}

bool
glow_network_load(glow_network *n, glow_func *f,
                  const glow_network_options *options)
{
    glow_target_options code = {.triple = NULL};
    glow_network_options how = *options;
    loading l = {.n = n, .how = &how, .f = f, .arena = glow_arena_new()};
    bool ok;

    *n = (glow_network){.backend = options->backend};
    if (how.code)
        code = *how.code;
    glow_cache_open(&l.cache, f->module->ctx, code.cache, code.cache_bytes);
    code.cache = l.cache.folder;
    how.code = &code;
    l.key = key_of(&l);
    ok = (l.key && find(&l)) || make(&l);
    glow_arena_free(l.arena);
    return ok;
}

void
glow_network_unload(glow_network *n)
{
    if (n->executable)
        n->backend->unload(n->executable);
    glow_module_free(n->found);
    n->executable = NULL;
    n->found = NULL;
    n->func = NULL;
}
