/*
 * The text form of protocol buffers, read by the descriptors that protoc-c
 * generates, so that any message of ours can be written by hand:
 *
 *     graph { node { op_type: "Relu" input: "x" output: "y" } }
 *
 * Fields may end in `,` or `;`, messages stand in { } or < >, lists in [ ],
 * comments begin with #.  See the language's specification, "Text Format".
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-translate/proto.h"
#include "tools/glow-translate/wire.h"

typedef struct reader {
    glow_context *ctx;
    glow_arena *arena;
    const glow_source *source;
    const char *at, *end;
    int depth;
} reader;

static bool read_fields(reader *r, ProtobufCMessage *m, char close);

static glow_span
span_of(const reader *r, const char *from, const char *to)
{
    return (glow_span){.source = r->source,
                       .begin = (uint32_t)(from - r->source->text),
                       .end = (uint32_t)(to - r->source->text)};
}

static bool
refuse(const reader *r, const char *what)
{
    const char *to = r->at < r->end ? r->at + 1 : r->at;

    return glow_error_at(r->ctx, span_of(r, r->at, to), "E0702", "%s", what);
}

static void
skip_blanks(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        else if (strchr(" \t\r\n\v\f", *r->at) && *r->at)
            r->at++;
        else
            return;
    }
}

static bool
accept(reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

/*
 * Reads a run of characters of names and numbers, and of `more`; length 0 if
 * there is none.
 */
static size_t
read_word(reader *r, const char **word, const char *more)
{
    skip_blanks(r);
    *word = r->at;
    while (r->at < r->end && *r->at &&
           (is_word(*r->at) || strchr(more, *r->at)))
        r->at++;
    return (size_t)(r->at - *word);
}

/* Strings. */

static int
digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

/* Up to `most` digits of a base. */
static unsigned
read_digits(reader *r, int base, int most)
{
    unsigned v = 0;

    for (int i = 0; i < most && r->at < r->end && digit(*r->at) < base; i++)
        v = v * (unsigned)base + (unsigned)digit(*r->at++);
    return v;
}

/* Reads an escape sequence after its backslash. */
static bool
read_escape(reader *r, glow_buf *b)
{
    static const char from[] = "abfnrtv\\'\"?";
    static const char to[] = "\a\b\f\n\r\t\v\\'\"?";
    char c = r->at < r->end ? *r->at : 0;
    const char *simple = c ? strchr(from, c) : NULL;

    if (simple) {
        r->at++;
        glow_buf_putc(b, to[simple - from]);
        return true;
    }
    if (c >= '0' && c <= '7') {
        glow_buf_putc(b, (char)read_digits(r, 8, 3));
        return true;
    }
    if ((c == 'x' || c == 'X') && r->at + 1 < r->end && digit(r->at[1]) < 16) {
        r->at++;
        glow_buf_putc(b, (char)read_digits(r, 16, 2));
        return true;
    }
    return refuse(r, "there is no such escape");
}

/* One or more quoted parts, joined. */
static bool
read_string(reader *r, glow_buf *b)
{
    skip_blanks(r);
    if (r->at == r->end || (*r->at != '"' && *r->at != '\''))
        return refuse(r, "a quoted string is wanted");
    while (r->at < r->end && (*r->at == '"' || *r->at == '\'')) {
        char quote = *r->at++;

        while (r->at < r->end && *r->at != quote && *r->at != '\n') {
            char c = *r->at++;

            if (c != '\\')
                glow_buf_putc(b, c);
            else if (!read_escape(r, b))
                return false;
        }
        if (r->at == r->end || *r->at != quote)
            return refuse(r, "the string has no end");
        r->at++;
        skip_blanks(r);
    }
    return true;
}

static bool
read_text(reader *r, const ProtobufCFieldDescriptor *f, void *out)
{
    glow_buf b = {.arena = r->arena};
    const char *start = r->at;

    if (!read_string(r, &b))
        return false;
    if (f->type == PROTOBUF_C_TYPE_BYTES) {
        *(ProtobufCBinaryData *)out =
            (ProtobufCBinaryData){b.len, (uint8_t *)b.text};
        return true;
    }
    if (b.text && strlen(b.text) != b.len)
        return glow_error_at(r->ctx, span_of(r, start, r->at), "E0702",
                             "a text holds a NUL");
    *(char **)out = b.text ? b.text : glow_arena_strdup(r->arena, "");
    return true;
}

/* Numbers. */

static bool
wrong_number(reader *r, const char *word, const ProtobufCFieldDescriptor *f,
             const char *what)
{
    return glow_error_at(r->ctx, span_of(r, word, r->at), "E0702",
                         "%s is %s, but '%.*s' is not", f->name, what,
                         (int)(r->at - word), word);
}

static bool
read_integer(reader *r, const ProtobufCFieldDescriptor *f, int64_t least,
             uint64_t most, uint64_t *out)
{
    const char *word;
    size_t n = read_word(r, &word, "+-");
    char *text = glow_arena_strndup(r->arena, word, n);
    bool negative = *text == '-';
    char *end = text;

    errno = 0;

    unsigned long long v = strtoull(text + negative, &end, 0);
    uint64_t floor = (uint64_t)0 - (uint64_t)least;

    if (n == 0 || digit(text[negative]) > 9 || *end || errno ||
        (negative ? v > floor : v > most))
        return wrong_number(r, word, f, "an integer in its range");
    *out = negative ? (uint64_t)0 - v : v;
    return true;
}

static bool
read_float(reader *r, const ProtobufCFieldDescriptor *f, double *out)
{
    const char *word;
    size_t n = read_word(r, &word, "+-.");
    char *text = glow_arena_strndup(r->arena, word, n);
    char *end = text;

    *out = n ? strtod(text, &end) : 0;
    if (n && end != text && (*end == 'f' || *end == 'F'))
        end++;
    if (n == 0 || *end || end == text)
        return wrong_number(r, word, f, "a number");
    return true;
}

static bool
read_bool(reader *r, const ProtobufCFieldDescriptor *f, protobuf_c_boolean *out)
{
    static const char *const words[] = {"false", "true", "0", "1"};
    const char *word;
    size_t n = read_word(r, &word, "");

    for (int i = 0; i < 4; i++)
        if (n == strlen(words[i]) && memcmp(word, words[i], n) == 0) {
            *out = i & 1;
            return true;
        }
    return wrong_number(r, word, f, "true or false");
}

/* An enumerator, by its name or number. */
static bool
read_enum(reader *r, const ProtobufCFieldDescriptor *f, int *out)
{
    skip_blanks(r);
    if (r->at < r->end && (digit(*r->at) < 10 || *r->at == '-')) {
        uint64_t v;

        if (!read_integer(r, f, INT32_MIN, INT32_MAX, &v))
            return false;
        *out = (int)(int64_t)v;
        return true;
    }

    const char *word;
    size_t n = read_word(r, &word, "");
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value_by_name(
        f->descriptor, glow_arena_strndup(r->arena, word, n));

    if (!v)
        return wrong_number(r, word, f, "one of the names of its kind");
    *out = v->value;
    return true;
}

static bool
read_message(reader *r, const ProtobufCMessageDescriptor *d,
             ProtobufCMessage **out)
{
    char close = '}';

    if (accept(r, '<'))
        close = '>';
    else if (!accept(r, '{'))
        return refuse(r, "a message in { } is wanted");
    if (r->depth >= WIRE_MAX_DEPTH)
        return refuse(r, "messages are nested over 100 deep");
    /* A repeated singular message is merged. */
    if (!*out) {
        *out = glow_arena_alloc(r->arena, d->sizeof_message);
        protobuf_c_message_init(d, *out);
    }
    r->depth++;
    if (!read_fields(r, *out, close))
        return false;
    r->depth--;
    return true;
}

/* Fields. */

static size_t
size_of(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static bool
read_value(reader *r, const ProtobufCFieldDescriptor *f, void *out)
{
    uint64_t v = 0;
    double x = 0;
    bool ok;

    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return read_message(r, f->descriptor, out);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return read_text(r, f, out);
    case PROTOBUF_C_TYPE_BOOL:
        return read_bool(r, f, out);
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(r, f, out);
    case PROTOBUF_C_TYPE_FLOAT:
        ok = read_float(r, f, &x);
        *(float *)out = (float)x;
        return ok;
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_float(r, f, out);
    case PROTOBUF_C_TYPE_UINT64:
        return read_integer(r, f, 0, UINT64_MAX, out);
    case PROTOBUF_C_TYPE_INT64:
        return read_integer(r, f, INT64_MIN, INT64_MAX, out);
    case PROTOBUF_C_TYPE_UINT32:
        ok = read_integer(r, f, 0, UINT32_MAX, &v);
        *(uint32_t *)out = (uint32_t)v;
        return ok;
    case PROTOBUF_C_TYPE_INT32:
        ok = read_integer(r, f, INT32_MIN, INT32_MAX, &v);
        *(int32_t *)out = (int32_t)(int64_t)v;
        return ok;
    default:
        return refuse(r, "fields of this kind are not known here");
    }
}

/* Appends an element to a repeated field and returns its address. */
static void *
next_element(reader *r, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    size_t *count = (size_t *)((char *)m + f->quantifier_offset);
    char **items = (char **)((char *)m + f->offset);
    size_t size = size_of(f->type);
    size_t n = *count;

    if ((n & (n - 1)) == 0) {
        char *more = glow_arena_alloc_array(r->arena, n ? 2 * n : 1, size);

        if (n)
            memcpy(more, *items, n * size);
        *items = more;
    }
    *count = n + 1;
    return *items + n * size;
}

static bool
read_repeated(reader *r, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    if (!accept(r, '['))
        return read_value(r, f, next_element(r, m, f));
    if (accept(r, ']'))
        return true;
    do {
        if (!read_value(r, f, next_element(r, m, f)))
            return false;
    } while (accept(r, ','));
    return accept(r, ']') || refuse(r, "the list needs a ']'");
}

static bool
read_optional(reader *r, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    void *out = (char *)m + f->offset;
    bool counted =
        f->type != PROTOBUF_C_TYPE_STRING && f->type != PROTOBUF_C_TYPE_MESSAGE;

    if (counted)
        *(protobuf_c_boolean *)((char *)m + f->quantifier_offset) = 1;
    return read_value(r, f, out);
}

/* Reports a name that is not a field of `d`. */
static bool
unknown_field(reader *r, const char *word, size_t n,
              const ProtobufCMessageDescriptor *d)
{
    const char **names = GLOW_NEW_ARRAY(r->arena, const char *, d->n_fields);
    const char *name = glow_arena_strndup(r->arena, word, n);
    const char *meant, *hint = NULL;

    for (unsigned i = 0; i < d->n_fields; i++)
        names[i] = d->fields[i].name;
    meant = glow_did_you_mean(name, names, d->n_fields);
    if (meant)
        hint = glow_arena_printf(r->arena, "did you mean '%s'?", meant);
    return glow_error_hint(r->ctx, span_of(r, word, word + n), "E0702", hint,
                           "%s has no field '%s'", d->short_name, name);
}

static bool
read_field(reader *r, ProtobufCMessage *m)
{
    const ProtobufCMessageDescriptor *d = m->descriptor;
    const ProtobufCFieldDescriptor *f;
    const char *word;
    size_t n = read_word(r, &word, "");

    if (n == 0)
        return refuse(r, "the name of a field is wanted");
    f = protobuf_c_message_descriptor_get_field_by_name(
        d, glow_arena_strndup(r->arena, word, n));
    if (!f)
        return unknown_field(r, word, n, d);
    if (!accept(r, ':') && f->type != PROTOBUF_C_TYPE_MESSAGE)
        return refuse(r, "a ':' is wanted");
    if (f->label == PROTOBUF_C_LABEL_REPEATED ? !read_repeated(r, m, f)
                                              : !read_optional(r, m, f))
        return false;
    if (!accept(r, ','))
        accept(r, ';');
    return true;
}

/* Fields up to `close`, or to the end of the text if that is 0. */
static bool
read_fields(reader *r, ProtobufCMessage *m, char close)
{
    for (;;) {
        skip_blanks(r);
        if (r->at == r->end)
            return close ? refuse(r, "a message has no end") : true;
        if (close && accept(r, close))
            return true;
        if (!read_field(r, m))
            return false;
    }
}

ProtobufCMessage *
proto_parse_text(glow_context *ctx, glow_arena *a, const glow_source *source,
                 const ProtobufCMessageDescriptor *d)
{
    reader r = {.ctx = ctx,
                .arena = a,
                .source = source,
                .at = source->text,
                .end = source->text + source->size};
    ProtobufCMessage *m = glow_arena_alloc(a, d->sizeof_message);

    protobuf_c_message_init(d, m);
    return read_fields(&r, m, 0) ? m : NULL;
}
