/*
 * safetensors: eight bytes of length, a header in JSON, the bytes of all
 * tensors in a row. https://huggingface.co/docs/safetensors
 *
 * The header must account for every byte: no gaps, no overlaps, nothing at the
 * end, so that a file has one meaning.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "glow/file.h"
#include "glow/text.h"
#include "ir/base/utf8.h"
#include "ir/weights.h"

#define MOST_HEADER ((uint64_t)100000000) /* the format's own limit */
enum { ALIGN = 64 };                      /* alignment of the first tensor */

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
    {"F64", 8}, {"F32", 4},     {"F16", 2},  {"BF16", 2},    {"I64", 8},
    {"I32", 4}, {"I16", 2},     {"I8", 1},   {"U64", 8},     {"U32", 4},
    {"U16", 2}, {"U8", 1},      {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
    {"C64", 8}, {"F8_E8M0", 1},
};

static const char *const dtype_of[GLOW_KIND_COUNT] = {
    [GLOW_NO_KIND] = "",          [GLOW_FLOAT] = "F32",
    [GLOW_FLOAT16] = "F16",       [GLOW_BFLOAT16] = "BF16",
    [GLOW_FLOAT64] = "F64",       [GLOW_INT8Q] = "I8",
    [GLOW_UINT8Q] = "U8",         [GLOW_INT16Q] = "I16",
    [GLOW_INT32Q] = "I32",        [GLOW_INT64Q] = "I64",
    [GLOW_UINDEX8] = "U8",        [GLOW_INDEX32] = "I32",
    [GLOW_INDEX64] = "I64",       [GLOW_INT8] = "I8",
    [GLOW_INT16] = "I16",         [GLOW_UINT16] = "U16",
    [GLOW_UINT32] = "U32",        [GLOW_UINT64] = "U64",
    [GLOW_BOOL] = "BOOL",         [GLOW_UINT8FUSED] = "U8",
    [GLOW_UINT8FUSEDFP16] = "U8", [GLOW_UINT4FUSED] = "U8",
    [GLOW_UINT4FUSEDFP16] = "U8", [GLOW_FLOAT8E4M3FN] = "F8_E4M3",
    [GLOW_FLOAT8E4M3FNUZ] = "U8", [GLOW_FLOAT8E5M2] = "F8_E5M2",
    [GLOW_FLOAT8E5M2FNUZ] = "U8", [GLOW_FLOAT8E8M0] = "F8_E8M0",
    [GLOW_FLOAT4E2M1] = "U8",     [GLOW_INT4] = "I8",
    [GLOW_UINT4] = "U8",          [GLOW_INT2] = "I8",
    [GLOW_UINT2] = "U8",
};

const char *
glow_safetensors_dtype(glow_kind kind)
{
    static const char *const raw[] = {
        [1] = "U8", [2] = "U16", [4] = "U32", [8] = "U64"};

    return kind < GLOW_KIND_COUNT ? dtype_of[kind]
                                  : raw[glow_kind_get(kind)->bytes];
}

int
glow_safetensors_bytes(const char *dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, dtype) == 0)
            return dtypes[i].bytes;
    return 0;
}

/* Reading. */

/*
 * Reads an array of integers >= 0; false if it is not one, or has more than
 * `most`.
 */
static bool
read_sizes(const json_t *j, int64_t out[], size_t most, size_t *count)
{
    *count = json_array_size(j);
    if (!json_is_array(j) || *count > most)
        return false;
    for (size_t i = 0; i < *count; i++) {
        const json_t *n = json_array_get(j, i);

        if (!json_is_integer(n) || json_integer_value(n) < 0)
            return false;
        out[i] = json_integer_value(n);
    }
    return true;
}

static bool
add_tensor(glow_weights_reader *r, const char *key, const json_t *j,
           size_t start)
{
    const char *dtype = json_string_value(json_object_get(j, "dtype"));
    int bytes = dtype ? glow_safetensors_bytes(dtype) : 0;
    glow_dims shape = {.rank = 0};
    int64_t at[2], count, size;
    size_t rank, ends, whole = glow_data_size(r->file) - start;

    if (!json_is_object(j) || json_object_size(j) != 3 || bytes == 0)
        return glow_weights_refuse(r, "tensor `%s` has no known dtype", key);
    if (!read_sizes(json_object_get(j, "shape"), shape.at, GLOW_MAX_RANK,
                    &rank))
        return glow_weights_refuse(
            r, "the shape of `%s` is no list of at most %d sizes", key,
            GLOW_MAX_RANK);
    if (!read_sizes(json_object_get(j, "data_offsets"), at, 2, &ends) ||
        ends != 2 || at[0] > at[1] || (uint64_t)at[1] > whole)
        return glow_weights_refuse(
            r, "the offsets of `%s` are not within the %zu bytes of data", key,
            whole);
    shape.rank = (int)rank;
    if (!glow_dims_checked_count(shape, &count) ||
        glow_mul_overflow(count, bytes, &size) || size != at[1] - at[0])
        return glow_weights_refuse(r,
                                   "`%s` has %" PRId64
                                   " bytes, which is not what %s and its shape "
                                   "take",
                                   key, at[1] - at[0], dtype);
    return glow_weights_add(
        r, (glow_weights_entry){glow_arena_strdup(r->arena, key),
                                glow_arena_strdup(r->arena, dtype), shape,
                                start + (size_t)at[0], start + (size_t)at[1]});
}

static int
by_begin(const void *a, const void *b)
{
    const glow_weights_entry *const *x = a, *const *y = b;

    if ((*x)->begin != (*y)->begin)
        return (*x)->begin < (*y)->begin ? -1 : 1;
    return (*x)->end<(*y)->end ? -1 : (*x)->end>(*y)->end;
}

/* Checks that every byte belongs to exactly one tensor. */
static bool
check_cover(glow_weights_reader *r, size_t start)
{
    const glow_weights_entry **sorted =
        GLOW_NEW_ARRAY(r->arena, const glow_weights_entry *, r->count + 1);
    size_t at = start;

    for (size_t i = 0; i < r->count; i++)
        sorted[i] = glow_map_get(r->entries, r->keys[i]);
    if (r->count)
        glow_sort(sorted, r->count, sizeof *sorted, by_begin);
    for (size_t i = 0; i < r->count; i++) {
        if (sorted[i]->begin != at)
            return glow_weights_refuse(
                r, "`%s` begins at byte %zu of the data, but %zu was reached",
                sorted[i]->key, sorted[i]->begin - start, at - start);
        at = sorted[i]->end;
    }
    if (at != glow_data_size(r->file))
        return glow_weights_refuse(r,
                                   "%zu bytes at its end belong to no "
                                   "tensor",
                                   glow_data_size(r->file) - at);
    return true;
}

/* Keeps the texts of the metadata; other values are passed over. */
static void
read_notes(glow_weights_reader *r, const json_t *j)
{
    size_t count = json_object_size(j);
    const char *key;
    json_t *value;

    r->notes = glow_arena_alloc_array(r->arena, count + 1, sizeof *r->notes);
    json_object_foreach((json_t *)j, key, value) if (json_is_string(value))
    {
        r->notes[r->n_notes][0] = glow_arena_strdup(r->arena, key);
        r->notes[r->n_notes++][1] =
            glow_arena_strdup(r->arena, json_string_value(value));
    }
}

bool
glow_safetensors_index(glow_weights_reader *r)
{
    const unsigned char *p = glow_data_bytes(r->file);
    size_t size = glow_data_size(r->file);
    uint64_t header = 0;
    const char *key;
    json_t *j, *value;
    json_error_t error;
    bool ok = true;

    if (size < 8)
        return glow_weights_refuse(r, "it has %zu bytes, not even 8", size);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | p[i];
    if (header > MOST_HEADER || header > size - 8)
        return glow_weights_refuse(
            r, "its header would have %" PRIu64 " bytes, but %zu are there",
            header, size - 8);
    if (header == 0 || p[8] != '{')
        return glow_weights_refuse(r, "its header does not begin with `{`");
    j = json_loadb((const char *)p + 8, (size_t)header, JSON_REJECT_DUPLICATES,
                   &error);
    if (!j)
        return glow_weights_refuse(r, "its header: %s at byte %d", error.text,
                                   error.position);
    json_object_foreach(j, key,
                        value) if (ok && strcmp(key, "__metadata__") != 0) ok =
        add_tensor(r, key, value, 8 + (size_t)header);
    read_notes(r, json_object_get(j, "__metadata__"));
    json_decref(j);
    return ok && check_cover(r, 8 + (size_t)header);
}

/* Writing. */

/* True if `name` is a key of a JSON object without escapes. */
static bool
is_json_safe(const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0, length; i < n; i += length) {
        length = glow_utf8_length(name + i, n - i);
        if (length == 0 || (unsigned char)name[i] < 0x20 || name[i] == '"' ||
            name[i] == '\\' || name[i] == 0x7f)
            return false;
    }
    return n > 0 && strcmp(name, "__metadata__") != 0;
}

/* Larger elements first, so that all are aligned; then by name. */
static int
compare_tensors(const glow_type *t, const char *name, const glow_type *u,
                const char *other)
{
    int m = glow_kind_get(t->elem)->bytes, n = glow_kind_get(u->elem)->bytes;

    return m != n ? n - m : strcmp(name, other);
}

static int
by_alignment(const void *a, const void *b)
{
    const glow_storage *const *x = a, *const *y = b;

    return compare_tensors((*x)->value.type, (*x)->name, (*y)->value.type,
                           (*y)->name);
}

static int
tensors_by_alignment(const void *a, const void *b)
{
    const glow_safetensor *x = a, *y = b;

    return compare_tensors(x->type, x->key, y->type, y->key);
}

/*
 * True if `s` is a dense constant that is external, or has more than `least`
 * bytes.
 */
bool
glow_may_externalize(const glow_storage *s, int64_t least)
{
    return s->is_constant && s->value.type->strides.rank == 0 &&
           (s->payload == GLOW_EXTERNAL ||
            (s->payload == GLOW_DATA &&
             glow_type_bytes(s->value.type) > least));
}

static glow_storage **
choose(glow_arena *a, glow_module *m, int64_t least, size_t *count)
{
    glow_storage **chosen = NULL;
    size_t cap = 0;

    *count = 0;
    GLOW_FOR_EACH_STORAGE(s, m) {
        if (!glow_may_externalize(s, least))
            continue;
        chosen = glow_arena_grow(a, chosen, *count, &cap, sizeof *chosen);
        chosen[(*count)++] = s;
    }
    return chosen;
}

/* The key of tensor `number`: its name, unless JSON cannot hold it. */
static const char *
key_of(glow_arena *a, const char *name, size_t number)
{
    return is_json_safe(name) ? name : glow_arena_printf(a, "#%zu", number);
}

static void
put_string(glow_buf *b, const char *text)
{
    json_t *j = json_string(text);
    char *out = j ? json_dumps(j, JSON_ENCODE_ANY) : NULL;

    glow_buf_puts(b, out ? out : "\"\"");
    free(out);
    json_decref(j);
}

static void
put_notes(glow_buf *b, const char *const (*notes)[2], size_t count)
{
    glow_buf_puts(b, "\"__metadata__\":{");
    for (size_t i = 0; i < count; i++) {
        glow_buf_puts(b, i ? "," : "");
        put_string(b, notes[i][0]);
        glow_buf_putc(b, ':');
        put_string(b, notes[i][1]);
    }
    glow_buf_putc(b, '}');
}

static void
put_header(glow_buf *b, const glow_safetensor *tensors, size_t count,
           const char *const (*notes)[2], size_t n_notes)
{
    int64_t at = 0;

    glow_buf_putc(b, '{');
    if (n_notes > 0)
        put_notes(b, notes, n_notes);
    for (size_t i = 0; i < count; i++) {
        const glow_type *t = tensors[i].type;
        int64_t end = at + glow_type_bytes(t);

        glow_buf_printf(b, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                        i || n_notes ? "," : "",
                        key_of(b->arena, tensors[i].key, i), dtype_of[t->elem]);
        for (int d = 0; d < t->shape.rank; d++)
            glow_buf_printf(b, "%s%" PRId64, d ? "," : "", t->shape.at[d]);
        glow_buf_printf(b, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}", at,
                        end);
        at = end;
    }
    glow_buf_putc(b, '}');
    while ((b->len + 8) % ALIGN != 0)
        glow_buf_putc(b, ' ');
}

/* The length and the header; sorts the tensors. */
static void
put_head(glow_buf *b, glow_safetensor *tensors, size_t count,
         const char *const (*notes)[2], size_t n_notes)
{
    glow_buf header = {.arena = glow_arena_new()};
    char length[8];

    glow_sort(tensors, count, sizeof *tensors, tensors_by_alignment);
    put_header(&header, tensors, count, notes, n_notes);
    for (int i = 0; i < 8; i++)
        length[i] = (char)((uint64_t)header.len >> (8 * i));
    glow_buf_add(b, length, sizeof length);
    glow_buf_add(b, header.text, header.len);
    glow_arena_free(header.arena);
}

void
glow_safetensors_put(glow_buf *b, glow_safetensor *tensors, size_t count,
                     const char *const (*notes)[2], size_t n_notes)
{
    put_head(b, tensors, count, notes, n_notes);
    for (size_t i = 0; i < count; i++)
        glow_buf_add(b, tensors[i].data,
                     (size_t)glow_type_bytes(tensors[i].type));
}

bool
glow_safetensors_write(glow_context *ctx, const char *path,
                       glow_safetensor *tensors, size_t count,
                       const char *const (*notes)[2], size_t n_notes)
{
    glow_arena *a = glow_arena_new();
    glow_buf head = {.arena = a};
    glow_output *o = glow_output_begin(ctx, path);
    bool ok = false;

    if (o) {
        put_head(&head, tensors, count, notes, n_notes);
        glow_output_write(o, head.text, head.len);
        for (size_t i = 0; i < count; i++)
            glow_output_write(o, tensors[i].data,
                              (size_t)glow_type_bytes(tensors[i].type));
        ok = glow_output_commit(o);
    }
    glow_arena_free(a);
    return ok;
}

glow_weights *
glow_weights_declare(glow_module *m, const char *alias, const char *path)
{
    const char *slash = strrchr(path, '/');
    glow_weights *w = GLOW_NEW(m->arena, glow_weights);

    w->alias = glow_arena_strdup(m->arena, alias);
    w->format = "safetensors";
    w->path = glow_arena_strdup(m->arena, slash ? slash + 1 : path);
    w->base = !slash ? "."
              : slash == path
                  ? "/"
                  : glow_arena_strndup(m->arena, path, (size_t)(slash - path));
    return w;
}

glow_weights *
glow_weights_new(glow_module *m, const char *alias, const char *path)
{
    glow_weights *w = glow_weights_declare(m, alias, path);

    glow_weights_add_file(m, w);
    return w;
}

bool
glow_externalize_chosen(glow_module *m, const char *alias, const char *path,
                        glow_storage **chosen, size_t count)
{
    glow_arena *a = glow_arena_new();
    glow_safetensor *tensors = GLOW_NEW_ARRAY(a, glow_safetensor, count + 1);
    glow_weights *w;
    bool ok = true;

    if (count > 0)
        glow_sort(chosen, count, sizeof *chosen, by_alignment);
    for (size_t i = 0; i < count; i++) {
        ok = ok && glow_constant_tensor(chosen[i]);
        tensors[i] = (glow_safetensor){chosen[i]->name, chosen[i]->value.type,
                                       chosen[i]->tensor.data};
    }
    if (ok && count > 0)
        ok = glow_safetensors_write(m->ctx, path, tensors, count, NULL, 0);
    if (ok && count > 0) {
        w = glow_weights_declare(m, alias, path);
        for (size_t i = 0; i < count; i++) {
            chosen[i]->payload = GLOW_EXTERNAL;
            chosen[i]->file = w;
            chosen[i]->key =
                glow_arena_strdup(m->arena, key_of(a, chosen[i]->name, i));
        }
        glow_drop_unused_weights(m);
        glow_weights_add_file(m, w);
    }
    glow_arena_free(a);
    return ok;
}

bool
glow_externalize(glow_module *m, const char *alias, const char *path,
                 int64_t least)
{
    glow_arena *a = glow_arena_new();
    size_t count;
    glow_storage **chosen = choose(a, m, least, &count);
    bool ok = glow_externalize_chosen(m, alias, path, chosen, count);

    glow_arena_free(a);
    return ok;
}
