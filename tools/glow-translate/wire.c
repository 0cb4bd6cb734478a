/*
 * The check before unpacking.
 *
 * A message is a sequence of fields; a field is a tag (number and wire type)
 * and a value; a value of wire type 2 has a length, and may be a message again.
 * Which one is, the descriptors that protoc-c generated say.  The stack of open
 * messages is an array: a frame holds a descriptor and the end of its bytes.
 */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/wire.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

/* Besides its contents, what protobuf-c keeps for a field while it reads. */
#define FIELD_COST 64

typedef struct frame {
    const ProtobufCMessageDescriptor *type; /* NULL: unknown, skipped whole */
    size_t end;
} frame;

typedef struct walk {
    glow_context *ctx;
    const char *file;
    const uint8_t *bytes;
    size_t at;
    size_t memory, memory_limit;
    int64_t messages;
    frame open[WIRE_MAX_DEPTH + 1];
    int depth;
} walk;

size_t
wire_memory_limit(size_t size)
{
    return ((size_t)1 << 28) + 16 * size;
}

static bool
broken(const walk *w, size_t at, const char *what)
{
    return glow_error(w->ctx, "E0701", "%s: byte %zu: %s", w->file, at, what);
}

static bool
read_varint(walk *w, size_t end, uint64_t *out)
{
    size_t start = w->at;
    uint64_t v = 0;

    for (int i = 0; i < 10; i++) {
        if (w->at == end)
            return broken(w, start, "a number is cut off");

        uint8_t b = w->bytes[w->at++];

        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            if (i == 9 && b > 1)
                break;
            *out = v;
            return true;
        }
    }
    return broken(w, start, "a number is longer than 64 bits");
}

/* The wire type that values of a declared type have when not packed. */
static int
wire_type_of(ProtobufCType t)
{
    static const uint8_t types[] = {
        [PROTOBUF_C_TYPE_FIXED32] = FIXED32,
        [PROTOBUF_C_TYPE_SFIXED32] = FIXED32,
        [PROTOBUF_C_TYPE_FLOAT] = FIXED32,
        [PROTOBUF_C_TYPE_FIXED64] = FIXED64,
        [PROTOBUF_C_TYPE_SFIXED64] = FIXED64,
        [PROTOBUF_C_TYPE_DOUBLE] = FIXED64,
        [PROTOBUF_C_TYPE_STRING] = LENGTH,
        [PROTOBUF_C_TYPE_BYTES] = LENGTH,
        [PROTOBUF_C_TYPE_MESSAGE] = LENGTH,
    };

    return (size_t)t < sizeof types ? types[t] : VARINT;
}

/* Checks the elements of a packed field, from w->at to `end`. */
static bool
check_packed(walk *w, const ProtobufCFieldDescriptor *f, size_t end)
{
    int type = wire_type_of(f->type);
    size_t width = type == FIXED64 ? 8 : 4;
    size_t size = end - w->at;
    uint64_t ignored;

    if (type != VARINT) {
        if (size % width != 0)
            return broken(w, w->at, "a packed list ends within a number");
        w->at = end;
        w->memory += size;
        return true;
    }
    while (w->at < end) {
        if (!read_varint(w, end, &ignored))
            return false;
        w->memory += 8;
    }
    return true;
}

/* Names become keys, symbols and parts of messages: they have a limit. */
static bool
is_name(const ProtobufCFieldDescriptor *f)
{
    static const char *const names[] = {
        "name",      "input", "output",         "op_type",        "domain",
        "dim_param", "type",  "external_input", "external_output"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(f->name, names[i]) == 0)
            return true;
    return false;
}

static bool
check_text(walk *w, const ProtobufCFieldDescriptor *f, size_t end)
{
    size_t size = end - w->at;

    if (memchr(w->bytes + w->at, 0, size))
        return broken(w, w->at, "a text holds a NUL");
    if (size > WIRE_MAX_NAME && is_name(f))
        return glow_error(w->ctx, "E0703",
                          "%s: byte %zu: a name is %zu bytes long, and %d are "
                          "the limit",
                          w->file, w->at, size, WIRE_MAX_NAME);
    w->memory += size + 1;
    w->at = end;
    return true;
}

static bool
open_message(walk *w, const ProtobufCMessageDescriptor *type, size_t end)
{
    if (w->depth >= WIRE_MAX_DEPTH)
        return glow_error(w->ctx, "E0703",
                          "%s: byte %zu: messages are nested over %d deep",
                          w->file, w->at, WIRE_MAX_DEPTH);
    if (++w->messages > WIRE_MAX_MESSAGES)
        return glow_error(w->ctx, "E0703",
                          "%s: byte %zu: there are over %d messages", w->file,
                          w->at, WIRE_MAX_MESSAGES);
    w->memory += type->sizeof_message;
    w->open[++w->depth] = (frame){type, end};
    return true;
}

/* The value of a field with a length; `f` is NULL if nobody knows it. */
static bool
check_length(walk *w, const ProtobufCFieldDescriptor *f, size_t limit)
{
    size_t start = w->at;
    uint64_t size;

    if (!read_varint(w, limit, &size))
        return false;
    if (size > limit - w->at)
        return broken(w, start, "length runs past the end");

    size_t end = w->at + (size_t)size;

    if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
        return open_message(w, f->descriptor, end);
    if (f && f->type == PROTOBUF_C_TYPE_STRING)
        return check_text(w, f, end);
    if (f && f->type != PROTOBUF_C_TYPE_BYTES)
        return check_packed(w, f, end);
    w->memory += (size_t)size;
    w->at = end;
    return true;
}

static bool
check_value(walk *w, const ProtobufCFieldDescriptor *f, int type, size_t end)
{
    size_t width = type == FIXED64 ? 8 : 4;
    uint64_t ignored;

    if (type == LENGTH)
        return check_length(w, f, end);
    if (type == VARINT)
        return read_varint(w, end, &ignored);
    if (width > end - w->at)
        return broken(w, w->at, "a number is cut off");
    w->at += width;
    return true;
}

static bool
check_field(walk *w, frame in)
{
    size_t start = w->at;
    const ProtobufCFieldDescriptor *f;
    uint64_t tag;

    if (!read_varint(w, in.end, &tag))
        return false;

    int type = (int)(tag & 7);
    uint64_t number = tag >> 3;

    if (number == 0 || number > 0x1fffffff)
        return broken(w, start, "there is no such field number");
    if (type == 3 || type == 4)
        return broken(w, start, "groups are not known here");
    if (type > FIXED32)
        return broken(w, start, "there is no such wire type");

    f = protobuf_c_message_descriptor_get_field(in.type, (unsigned)number);
    if (f && type != wire_type_of(f->type) &&
        !(type == LENGTH && f->label == PROTOBUF_C_LABEL_REPEATED))
        return glow_error(w->ctx, "E0701",
                          "%s: byte %zu: %s of %s has wire type %d, not %d",
                          w->file, start, f->name, in.type->short_name, type,
                          wire_type_of(f->type));
    w->memory += FIELD_COST;
    return check_value(w, f, type, in.end);
}

bool
wire_check(glow_context *ctx, const char *file, const uint8_t *bytes,
           size_t size, const ProtobufCMessageDescriptor *d)
{
    walk w = {.ctx = ctx,
              .file = file,
              .bytes = bytes,
              .memory_limit = wire_memory_limit(size)};

    if (size > WIRE_MAX_FILE)
        return glow_error(ctx, "E0703",
                          "%s: is %zu bytes long, and %zu are the limit of "
                          "protocol buffers",
                          file, size, WIRE_MAX_FILE);
    w.open[0] = (frame){d, size};
    while (w.depth >= 0) {
        if (w.at == w.open[w.depth].end) {
            w.depth--;
            continue;
        }
        if (!check_field(&w, w.open[w.depth]))
            return false;
        if (w.memory > w.memory_limit)
            return glow_error(ctx, "E0703",
                              "%s: byte %zu: would take over %zu bytes of "
                              "memory",
                              file, w.at, w.memory_limit);
    }
    return true;
}
