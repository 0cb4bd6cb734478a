/*
 * Elements of a TensorProto: in raw_data, in one of five typed lists, or in a
 * file beside the model.  Their number is checked against the shape before a
 * byte is read.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-translate/tensor.h"

static const tensor_elem elems[] = {
    {1, "FLOAT", GLOW_FLOAT, TENSOR_FLOATS},
    {2, "UINT8", GLOW_UINDEX8, TENSOR_INTS32},
    {3, "INT8", GLOW_INT8, TENSOR_INTS32},
    {4, "UINT16", GLOW_UINT16, TENSOR_INTS32},
    {5, "INT16", GLOW_INT16, TENSOR_INTS32},
    {6, "INT32", GLOW_INDEX32, TENSOR_INTS32},
    {7, "INT64", GLOW_INDEX64, TENSOR_INTS64},
    {8, "STRING", GLOW_NO_KIND, TENSOR_NO_FIELD},
    {9, "BOOL", GLOW_BOOL, TENSOR_INTS32},
    {10, "FLOAT16", GLOW_FLOAT16, TENSOR_INTS32},
    {11, "DOUBLE", GLOW_FLOAT64, TENSOR_DOUBLES},
    {12, "UINT32", GLOW_UINT32, TENSOR_UINTS64},
    {13, "UINT64", GLOW_UINT64, TENSOR_UINTS64},
    {14, "COMPLEX64", GLOW_NO_KIND, TENSOR_NO_FIELD},
    {15, "COMPLEX128", GLOW_NO_KIND, TENSOR_NO_FIELD},
    {16, "BFLOAT16", GLOW_BFLOAT16, TENSOR_INTS32},
    {17, "FLOAT8E4M3FN", GLOW_FLOAT8E4M3FN, TENSOR_INTS32},
    {18, "FLOAT8E4M3FNUZ", GLOW_FLOAT8E4M3FNUZ, TENSOR_INTS32},
    {19, "FLOAT8E5M2", GLOW_FLOAT8E5M2, TENSOR_INTS32},
    {20, "FLOAT8E5M2FNUZ", GLOW_FLOAT8E5M2FNUZ, TENSOR_INTS32},
    {21, "UINT4", GLOW_UINT4, TENSOR_INTS32},
    {22, "INT4", GLOW_INT4, TENSOR_INTS32},
    {23, "FLOAT4E2M1", GLOW_FLOAT4E2M1, TENSOR_INTS32},
    {24, "FLOAT8E8M0", GLOW_FLOAT8E8M0, TENSOR_INTS32},
    {25, "UINT2", GLOW_UINT2, TENSOR_INTS32},
    {26, "INT2", GLOW_INT2, TENSOR_INTS32},
};

const tensor_elem *
tensor_elem_of(int64_t type)
{
    for (size_t i = 0; i < sizeof elems / sizeof *elems; i++)
        if (elems[i].type == type)
            return &elems[i];
    return NULL;
}

const tensor_elem *
tensor_elem_named(const char *name)
{
    for (size_t i = 0; i < sizeof elems / sizeof *elems; i++)
        if (strcmp(elems[i].name, name) == 0)
            return &elems[i];
    return NULL;
}

glow_kind
tensor_stored_as(glow_kind kind)
{
    switch (kind) {
    case GLOW_INT8Q:
        return GLOW_INT8;
    case GLOW_UINT8Q:
        return GLOW_UINDEX8;
    case GLOW_INT16Q:
        return GLOW_INT16;
    case GLOW_INT32Q:
        return GLOW_INDEX32;
    default:
        return kind;
    }
}

const tensor_elem *
tensor_elem_for(glow_kind kind)
{
    kind = tensor_stored_as(kind);
    for (size_t i = 0; i < sizeof elems / sizeof *elems; i++)
        if (kind && elems[i].kind == kind)
            return &elems[i];
    return NULL;
}

static bool
refuse(const tensor_file *f, const char *what, const char *why)
{
    return glow_error(f->ctx, "E0707", "%s: %s: %s", f->path, what, why);
}

/* The type that `t` declares. */
static const tensor_elem *
read_type(tensor_file *f, const Onnx__TensorProto *t, const char *what,
          glow_type *type)
{
    const tensor_elem *e = tensor_elem_of(t->data_type);
    const char *wrong;

    if (!e || !e->kind) {
        if (e)
            glow_error(f->ctx, "E0705",
                       "%s: %s: there is no element kind for %s", f->path, what,
                       e->name);
        else
            glow_error(f->ctx, "E0707", "%s: %s: element type %d is not known",
                       f->path, what, t->data_type);
        return NULL;
    }
    if (t->n_dims > GLOW_MAX_RANK) {
        glow_error(f->ctx, "E0707",
                   "%s: %s: the rank is %zu, and %d is the limit", f->path,
                   what, t->n_dims, GLOW_MAX_RANK);
        return NULL;
    }

    glow_dims shape = {.rank = (int)t->n_dims};

    for (size_t i = 0; i < t->n_dims; i++)
        shape.at[i] = t->dims[i];
    *type = glow_type_of(e->kind, shape);
    wrong = glow_type_check(type, f->arena);
    if (wrong) {
        refuse(f, what, wrong);
        return NULL;
    }
    return e;
}

/* External data: a map of each file, made once. */

typedef struct tensor_mapping mapping;
struct tensor_mapping {
    const char *name;
    glow_data *data;
    mapping *next;
};

static glow_data *
map_file(tensor_file *f, const char *name)
{
    mapping *m;

    for (m = f->mapped; m; m = m->next)
        if (strcmp(m->name, name) == 0)
            return m->data;

    glow_data *data = glow_file_map_beneath(f->ctx, f->folder, name);

    if (data) {
        m = GLOW_NEW(f->arena, mapping);
        *m = (mapping){glow_arena_strdup(f->arena, name), data, f->mapped};
        f->mapped = m;
    }
    return data;
}

void
tensor_file_end(tensor_file *file)
{
    for (mapping *m = file->mapped; m; m = m->next)
        glow_data_unref(m->data);
    file->mapped = NULL;
}

static const char *
entry(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = t->external_data[i];

        if (e->key && e->value && strcmp(e->key, key) == 0)
            return e->value;
    }
    return NULL;
}

/* A number of an entry: decimal digits and nothing else. */
static bool
entry_number(const Onnx__TensorProto *t, const char *key, uint64_t *out)
{
    const char *text = entry(t, key);
    uint64_t v = 0;

    if (!text)
        return true;
    if (!*text || strlen(text) > 18)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        v = v * 10 + (uint64_t)(*text - '0');
    }
    *out = v;
    return true;
}

static bool
external(tensor_file *f, const Onnx__TensorProto *t, const char *what,
         size_t bytes, const void **data, glow_data **owner)
{
    const char *name = entry(t, "location");
    uint64_t offset = 0, length = bytes;
    glow_data *file;

    if (!name || !f->folder)
        return glow_error(
            f->ctx, "E0708", "%s: %s: external data %s", f->path, what,
            name ? "cannot be read from standard input" : "has no location");
    if (!entry_number(t, "offset", &offset) ||
        !entry_number(t, "length", &length))
        return glow_error(f->ctx, "E0708",
                          "%s: %s: offset and length of external data must be "
                          "numbers",
                          f->path, what);
    if (length != bytes)
        return glow_error(f->ctx, "E0708",
                          "%s: %s: external data is %" PRIu64
                          " bytes long, but its shape takes %zu",
                          f->path, what, length, bytes);
    file = map_file(f, name);
    if (!file)
        return glow_error(f->ctx, "E0708",
                          "%s: %s: its external data cannot be had", f->path,
                          what);
    if (offset > glow_data_size(file) || length > glow_data_size(file) - offset)
        return glow_error(f->ctx, "E0708",
                          "%s: %s: external data from byte %" PRIu64
                          " on, %" PRIu64 " bytes long, is not in %s, which "
                          "has %zu",
                          f->path, what, offset, length, name,
                          glow_data_size(file));
    *data = (const char *)glow_data_bytes(file) + offset;
    *owner = file;
    return true;
}

/* Typed lists: how many, and one of them. */

static size_t
list_count(const Onnx__TensorProto *t, tensor_field field)
{
    const size_t counts[] = {
        [TENSOR_FLOATS] = t->n_float_data,
        [TENSOR_INTS32] = t->n_int32_data,
        [TENSOR_INTS64] = t->n_int64_data,
        [TENSOR_DOUBLES] = t->n_double_data,
        [TENSOR_UINTS64] = t->n_uint64_data,
    };

    return counts[field];
}

/* The number of fields that hold elements. */
static int
places(const Onnx__TensorProto *t)
{
    int n = t->has_raw_data && t->raw_data.len > 0;

    for (tensor_field i = TENSOR_FLOATS; i <= TENSOR_UINTS64; i++)
        n += list_count(t, i) > 0;
    return n + (t->n_string_data > 0);
}

/*
 * The number of elements of a kind that ONNX packs into a byte; 1 for other
 * kinds.
 */
static int
per_byte(glow_kind kind)
{
    return glow_is_low(kind) ? 8 / glow_kind_get(kind)->bits : 1;
}

size_t
tensor_packed_bytes(const glow_type *type)
{
    int64_t per = per_byte(type->elem);

    return per > 1 ? (size_t)((glow_type_count(type) + per - 1) / per)
                   : (size_t)glow_type_bytes(type);
}

/* Unpacks elements to a byte each; the first is in the low bits. */
static void
unpack(const uint8_t *from, const glow_tensor *out)
{
    const glow_kind_info *k = glow_kind_get(out->type->elem);
    int per = per_byte(out->type->elem);
    uint8_t *to = out->data;

    for (int64_t i = 0; i < glow_type_count(out->type); i++) {
        int bits = from[i / per] >> (i % per * k->bits) & ((1 << k->bits) - 1);

        if (k->format)
            to[i] = (uint8_t)bits;
        else
            glow_set_int(out, i, bits);
    }
}

void
tensor_pack(const glow_tensor *t, uint8_t *to)
{
    const glow_kind_info *k = glow_kind_get(t->type->elem);
    const uint8_t *from = t->data;
    int per = per_byte(t->type->elem);

    memset(to, 0, tensor_packed_bytes(t->type));
    for (int64_t i = 0; i < glow_type_count(t->type); i++)
        to[i / per] |=
            (uint8_t)((from[i] & ((1 << k->bits) - 1)) << (i % per * k->bits));
}

/* Packed bytes of low-precision elements, one in each int32. */
static bool
low(tensor_file *f, const Onnx__TensorProto *t, const char *what,
    const glow_tensor *out)
{
    uint8_t *bytes = GLOW_NEW_ARRAY(f->arena, uint8_t, t->n_int32_data + 1);

    for (size_t i = 0; i < t->n_int32_data; i++) {
        bytes[i] = (uint8_t)t->int32_data[i];
        if (t->int32_data[i] < 0 || t->int32_data[i] > UINT8_MAX)
            return refuse(f, what, "an element has over 8 bits");
    }
    unpack(bytes, out);
    return true;
}

/* Bits of 16-bit floats and small integers, one in each int32. */
static bool
narrow(tensor_file *f, const Onnx__TensorProto *t, const char *what,
       const glow_tensor *out)
{
    glow_kind kind = out->type->elem;
    bool bits = kind == GLOW_FLOAT16 || kind == GLOW_BFLOAT16;
    uint16_t *half = out->data;

    for (size_t i = 0; i < t->n_int32_data; i++) {
        int32_t v = t->int32_data[i];

        if (bits) {
            half[i] = (uint16_t)v;
            if (v < 0 || v > UINT16_MAX)
                return refuse(f, what, "an element has over 16 bits");
            continue;
        }
        glow_set_int(out, (int64_t)i, v);
        if (glow_get_int(out, (int64_t)i) != v)
            return glow_error(f->ctx, "E0707",
                              "%s: %s: element %zu is %d, which is no %s",
                              f->path, what, i, v, glow_kind_get(kind)->name);
    }
    return true;
}

static bool
typed(tensor_file *f, const Onnx__TensorProto *t, const char *what,
      tensor_field field, const glow_tensor *out)
{
    size_t bytes = (size_t)glow_type_bytes(out->type);

    if (glow_is_low(out->type->elem))
        return low(f, t, what, out);
    if (field == TENSOR_INTS32)
        return narrow(f, t, what, out);
    if (field == TENSOR_UINTS64) {
        for (size_t i = 0; i < t->n_uint64_data; i++)
            glow_set_int(out, (int64_t)i, (int64_t)t->uint64_data[i]);
        return true;
    }

    const void *from = field == TENSOR_FLOATS   ? (const void *)t->float_data
                       : field == TENSOR_INTS64 ? (const void *)t->int64_data
                                                : (const void *)t->double_data;

    if (bytes)
        memcpy(out->data, from, bytes);
    return true;
}

/* Shares bytes that are aligned for their kind; copies others. */
static void
share(const glow_type *type, const void *data, glow_data *owner,
      glow_tensor *out)
{
    size_t bytes = (size_t)glow_type_bytes(type);
    uintptr_t align = (uintptr_t)glow_kind_get(type->elem)->bytes;

    if (per_byte(type->elem) > 1) {
        *out = glow_tensor_new(type);
        unpack(data, out);
        return;
    }
    if (owner && bytes && (uintptr_t)data % align == 0) {
        *out =
            (glow_tensor){type, (void *)(uintptr_t)data, glow_data_ref(owner)};
        return;
    }
    *out = glow_tensor_new(type);
    if (bytes)
        memcpy(out->data, data, bytes);
}

/* Normalizes booleans to bytes of 0 and 1. */
static void
clean_bools(glow_tensor *t)
{
    int64_t n = glow_type_count(t->type);
    const uint8_t *b = t->data;
    int64_t i = 0;

    if (t->type->elem != GLOW_BOOL)
        return;
    while (i < n && b[i] <= 1)
        i++;
    if (i == n)
        return;

    glow_tensor clean = glow_tensor_new(t->type);

    for (i = 0; i < n; i++)
        ((uint8_t *)clean.data)[i] = b[i] != 0;
    glow_tensor_end(t);
    *t = clean;
}

bool
tensor_read(tensor_file *f, const Onnx__TensorProto *t, const char *what,
            glow_tensor *out)
{
    glow_type type;
    const tensor_elem *e = read_type(f, t, what, &type);
    glow_data *owner = f->owner;
    const void *raw = t->raw_data.data;

    if (!e)
        return false;
    if (t->segment)
        return refuse(f, what, "tensors in segments are not known");

    const glow_type *interned = glow_type_get(f->ctx, type);
    size_t bytes = tensor_packed_bytes(interned);
    bool is_external =
        t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    bool is_raw = t->has_raw_data && t->raw_data.len > 0;

    if (places(t) + is_external > 1)
        return refuse(f, what, "its elements stand in more than one place");
    if (is_external) {
        if (!external(f, t, what, bytes, &raw, &owner))
            return false;
        share(interned, raw, owner, out);
    } else if (is_raw) {
        if (t->raw_data.len != bytes)
            return glow_error(f->ctx, "E0707",
                              "%s: %s: raw_data holds %zu bytes, but %s takes "
                              "%zu",
                              f->path, what, t->raw_data.len,
                              glow_type_text(f->arena, interned), bytes);
        share(interned, raw, owner, out);
    } else {
        size_t count = list_count(t, e->field);
        size_t due =
            per_byte(e->kind) > 1 ? bytes : (size_t)glow_type_count(interned);

        if (count != due)
            return glow_error(f->ctx, "E0707",
                              "%s: %s: %zu elements are given, but %s takes "
                              "%zu",
                              f->path, what, count,
                              glow_type_text(f->arena, interned), due);
        *out = glow_tensor_new(interned);
        if (!typed(f, t, what, e->field, out)) {
            glow_tensor_end(out);
            return false;
        }
    }
    clean_bools(out);
    return true;
}
