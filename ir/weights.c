/*
 * External constants: the file is mapped when the first of them is needed, its
 * index is checked as a whole, and the constants point into the mapping.
 */

#include "ir/weights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/base/sha256.h"

bool
glow_weights_refuse(glow_weights_reader *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    r->wrong = glow_arena_vprintf(r->arena, fmt, ap);
    va_end(ap);
    return false;
}

bool
glow_weights_add(glow_weights_reader *r, glow_weights_entry e)
{
    glow_weights_entry *kept;

    if (glow_map_get(r->entries, e.key))
        return glow_weights_refuse(r, "it has two tensors `%s`", e.key);
    kept = glow_arena_copy(r->arena, &e, sizeof e);
    glow_map_set(r->entries, kept->key, kept);
    r->keys =
        glow_arena_grow(r->arena, r->keys, r->count, &r->cap, sizeof *r->keys);
    r->keys[r->count++] = kept->key;
    return true;
}

/* Opening. */

/* A raw file has no index: a key is the offset of its first byte. */
static bool
raw_index(glow_weights_reader *r)
{
    (void)r;
    return true;
}

static const struct {
    const char *name;
    bool (*index)(glow_weights_reader *r);
} formats[] = {
    {"safetensors", glow_safetensors_index},
    {"npz", glow_npz_index},
    {"raw", raw_index},
};

static bool
check_hash(glow_context *ctx, const glow_weights *w, const glow_data *file)
{
    char hex[65];

    if (!w->sha256)
        return true;
    glow_sha256_hex(glow_data_bytes(file), glow_data_size(file), hex);
    return strncmp(hex, w->sha256, strlen(w->sha256)) == 0 ||
           glow_error_at(ctx, w->span, "E0607",
                         "the sha256 of `%s` is %.16s..., but %s was stated",
                         w->given ? w->given : w->path, hex, w->sha256);
}

static bool
fill_index(glow_context *ctx, const glow_weights *w, glow_weights_reader *r)
{
    size_t i = 0;

    while (strcmp(formats[i].name, w->format) != 0)
        if (++i == sizeof formats / sizeof *formats)
            return glow_error_at(ctx, w->span, "E0139",
                                 "weights are safetensors, npz or raw, not "
                                 "`%s`",
                                 w->format);
    return formats[i].index(r) ||
           glow_error_at(ctx, w->span, "E0604", "`%s` is no %s file: %s",
                         w->given ? w->given : w->path, w->format, r->wrong);
}

glow_weights_reader *
glow_weights_open_data(glow_context *ctx, glow_weights *w, glow_data *file)
{
    glow_arena *a = glow_arena_new();
    glow_weights_reader *r = GLOW_NEW(a, glow_weights_reader);

    r->arena = a;
    r->refs = 1;
    r->entries = glow_map_new(a);
    r->file = file;
    r->bad = !file || !check_hash(ctx, w, r->file) || !fill_index(ctx, w, r);
    w->reader = r;
    return r;
}

glow_weights_reader *
glow_weights_open(glow_context *ctx, glow_weights *w)
{
    glow_data *file =
        w->given ? glow_file_map_at(ctx, w->span, w->given)
                 : glow_file_map_beneath_at(ctx, w->span,
                                            w->base ? w->base : ".", w->path);

    return glow_weights_open_data(ctx, w, file);
}

void
glow_weights_close(glow_weights *w)
{
    glow_weights_reader *r = w->reader;

    w->reader = NULL;
    if (!r || --r->refs > 0)
        return;
    glow_data_unref(r->file);
    glow_arena_free(r->arena);
}

void
glow_weights_add_file(glow_module *m, glow_weights *w)
{
    glow_weights **end = &m->weights;

    while (*end)
        end = &(*end)->next;
    *end = w;
}

bool
glow_drop_unused_weights(glow_module *m)
{
    glow_arena *a = glow_arena_new();
    glow_map *used = glow_map_new(a);
    glow_weights **link = &m->weights;
    bool dropped = false;

    GLOW_FOR_EACH_STORAGE(s, m)
        if (s->payload == GLOW_EXTERNAL)
            glow_map_set(used, s->file->alias, s->file);
    while (*link) {
        glow_weights *w = *link;

        if (glow_map_get(used, w->alias) == w) {
            link = &w->next;
            continue;
        }
        glow_weights_close(w); /* tensors keep a reference to the mapping */
        *link = w->next;
        dropped = true;
    }
    glow_arena_free(a);
    return dropped;
}

void
glow_weights_share(glow_weights *to, const glow_weights *from)
{
    glow_weights_reader *r = from->reader;

    to->reader = r;
    if (r)
        r->refs++;
}

/* Loading. */

static const glow_weights_entry *
find_raw(glow_storage *s, glow_weights_reader *r)
{
    glow_weights_entry *e = GLOW_NEW(r->arena, glow_weights_entry);
    size_t size = (size_t)glow_type_bytes(s->value.type);
    size_t whole = glow_data_size(r->file);
    unsigned long long at;
    char *end;

    errno = 0;
    at = strtoull(s->key, &end, 10);
    if (s->key[0] < '0' || s->key[0] > '9' || *end || errno || at > whole ||
        size > whole - at) {
        glow_error_at(s->module->ctx, s->span, "E0605",
                      "@%s: `%s` is no offset of %zu bytes in a file of %zu",
                      s->name, s->key, size, whole);
        return NULL;
    }
    *e = (glow_weights_entry){s->key,
                              glow_safetensors_dtype(s->value.type->elem),
                              s->value.type->shape, at, at + size};
    return e;
}

static const glow_weights_entry *
find_entry(glow_storage *s, glow_weights_reader *r)
{
    const glow_weights_entry *e = glow_map_get(r->entries, s->key);
    const char *near;

    if (strcmp(s->file->format, "raw") == 0)
        return find_raw(s, r);
    if (e)
        return e;
    near =
        r->count <= 8192 ? glow_did_you_mean(s->key, r->keys, r->count) : NULL;
    glow_error_hint(
        s->module->ctx, s->span, "E0605",
        near ? glow_arena_printf(r->arena, "did you mean \"%s\"?", near) : NULL,
        "@%s: the weights \"%s\" hold no \"%s\"", s->name, s->file->alias,
        s->key);
    return NULL;
}

static bool
check_type(glow_storage *s, glow_weights_reader *r, const glow_weights_entry *e)
{
    const glow_type *t = s->value.type;
    glow_buf shape = {.arena = r->arena};

    if (strcmp(e->dtype, glow_safetensors_dtype(t->elem)) == 0 &&
        glow_dims_equal(e->shape, t->shape) &&
        (int64_t)(e->end - e->begin) == glow_type_bytes(t))
        return true;
    glow_buf_dims(&shape, e->shape);
    return glow_error_at(
        s->module->ctx, s->span, "E0606",
        "@%s is %s, but \"%s\" of the weights \"%s\" is %s<%s>", s->name,
        glow_type_text(r->arena, t), s->key, s->file->alias, e->dtype,
        shape.text ? shape.text : "");
}

/*
 * Rejects bytes other than 0 and 1 in a bool tensor, which are undefined in C.
 */
static bool
check_bools(glow_storage *s, const unsigned char *bytes)
{
    int64_t size = glow_type_bytes(s->value.type);

    for (int64_t i = 0; s->value.type->elem == GLOW_BOOL && i < size; i++)
        if (bytes[i] > 1)
            return glow_error_at(s->module->ctx, s->span, "E0604",
                                 "@%s: byte %" PRId64
                                 " of a bool tensor is %d, neither 0 nor 1",
                                 s->name, i, bytes[i]);
    return true;
}

/* Points into the mapping, or copies elements that are not aligned there. */
static void
take_bytes(glow_storage *s, glow_weights_reader *r, char *bytes)
{
    const glow_type *t = s->value.type;
    size_t align = (size_t)glow_kind_get(t->elem)->bytes;

    if ((uintptr_t)bytes % align == 0) {
        s->tensor = (glow_tensor){t, bytes, glow_data_ref(r->file)};
        return;
    }
    s->tensor = glow_tensor_new(t);
    memcpy(s->tensor.data, bytes, (size_t)glow_type_bytes(t));
}

bool
glow_weights_load(glow_storage *s)
{
    glow_context *ctx = s->module->ctx;
    glow_weights_reader *r;
    const glow_weights_entry *e;
    char *bytes;

    if (s->payload != GLOW_EXTERNAL)
        return glow_error_at(ctx, s->span, "E0608",
                             "the value of @%s is needed, but was elided when "
                             "the module was printed",
                             s->name);
    r = s->file->reader ? s->file->reader : glow_weights_open(ctx, s->file);
    if (r->bad)
        return false;
    e = find_entry(s, r);
    if (!e || !check_type(s, r, e))
        return false;
    bytes = (char *)glow_data_bytes(r->file) + e->begin;
    if (!check_bools(s, (unsigned char *)bytes))
        return false;
    take_bytes(s, r, bytes);
    return true;
}
