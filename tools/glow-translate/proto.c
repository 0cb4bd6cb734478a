/*
 * Unpacking of messages into an arena with a budget: the memory estimated by
 * the check of the wire format cannot be exceeded.
 */

#include <string.h>

#include "tools/glow-translate/proto.h"
#include "tools/glow-translate/wire.h"

typedef struct budget {
    glow_arena *arena;
    size_t left;
} budget;

static void *
budget_alloc(void *user, size_t size)
{
    budget *b = user;

    if (size > b->left)
        return NULL;
    b->left -= size;
    return glow_arena_alloc(b->arena, size);
}

/* Does nothing: the arena is freed as a whole. */
static void
budget_free(void *user, void *p)
{
    (void)user;
    (void)p;
}

static void
release(void *arena)
{
    glow_arena_free(arena);
}

static bool
is_text(const char *path)
{
    static const char *const suffixes[] = {".onnxtxt", ".pbtxt", ".prototxt",
                                           ".textproto"};
    size_t n = strlen(path);

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t k = strlen(suffixes[i]);

        if (n > k && strcmp(path + n - k, suffixes[i]) == 0)
            return true;
    }
    return false;
}

/* The bytes of a file, or of standard input: `*mapped` keeps them, if any. */
static const uint8_t *
read_bytes(glow_context *ctx, const char *path, size_t *size,
           glow_data **mapped)
{
    if (strcmp(path, "-") == 0) {
        const glow_source *s = glow_source_read(ctx, path);

        *size = s ? s->size : 0;
        return s ? (const uint8_t *)s->text : NULL;
    }
    *mapped = glow_file_map(ctx, path);
    *size = *mapped ? glow_data_size(*mapped) : 0;
    return *mapped ? glow_data_bytes(*mapped) : NULL;
}

static ProtobufCMessage *
read_binary(glow_context *ctx, glow_arena *a, const char *path,
            const ProtobufCMessageDescriptor *d)
{
    budget b = {.arena = a};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &b};
    glow_data *mapped = NULL;
    int before = glow_error_count(ctx);
    ProtobufCMessage *m = NULL;
    size_t size;
    const uint8_t *bytes = read_bytes(ctx, path, &size, &mapped);

    if (glow_error_count(ctx) == before && size == 0)
        glow_error(ctx, "E0701", "%s: byte 0: the file is empty", path);
    else if (bytes && wire_check(ctx, path, bytes, size, d)) {
        b.left = wire_memory_limit(size);
        m = protobuf_c_message_unpack(d, &allocator, size, bytes);
        if (!m)
            glow_error(ctx, "E0701", "%s: is not a %s", path, d->short_name);
    }
    glow_data_unref(mapped);
    return m;
}

const ProtobufCMessage *
proto_read(glow_context *ctx, const char *path,
           const ProtobufCMessageDescriptor *d, glow_data **owner)
{
    glow_arena *a = glow_arena_new();
    ProtobufCMessage *m = NULL;

    if (is_text(path)) {
        const glow_source *s = glow_source_read(ctx, path);

        if (s)
            m = proto_parse_text(ctx, a, s, d);
    } else {
        m = read_binary(ctx, a, path, d);
    }
    if (!m) {
        glow_arena_free(a);
        return NULL;
    }
    *owner = glow_data_wrap(m, d->sizeof_message, release, a);
    return m;
}
