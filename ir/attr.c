/*
 * Attribute structs described by tables of fields: names, equality, hashing,
 * copies, and reading from a dictionary. ir/text prints them.
 */

#include "glow/attr.h"
#include "ir/base/float.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdalign.h>
#include <string.h>

/* Size, alignment and name of each kind of field. */

static const struct {
    size_t size;
    size_t align;
    const char *what; /* name in messages */
} field_kinds[] = {
    [GLOW_INT] = {sizeof(int), alignof(int), "an integer"},
    [GLOW_INT64] = {sizeof(int64_t), alignof(int64_t), "an integer"},
    [GLOW_FLOAT32] = {sizeof(float), alignof(float), "a number"},
    [GLOW_FLAG] = {sizeof(bool), alignof(bool), "true or false"},
    [GLOW_STRING] = {sizeof(char *), alignof(char *), "a string"},
    [GLOW_ENUM] = {sizeof(int), alignof(int), "a word"},
    [GLOW_DIMS] = {sizeof(glow_dims), alignof(glow_dims), "a list of integers"},
    [GLOW_INTS] = {sizeof(glow_ints), alignof(glow_ints), "a list of integers"},
    [GLOW_FLOATS] = {sizeof(glow_floats), alignof(glow_floats),
                     "a list of numbers"},
    [GLOW_KIND] = {sizeof(glow_kind), alignof(glow_kind), "an element kind"},
    [GLOW_FUNC] = {sizeof(char *), alignof(char *), "a function"},
    [GLOW_BYTES] = {sizeof(int64_t), alignof(int64_t), "a number of bytes"},
};

void
glow_field_text_name(const glow_field *f, char *out, size_t size)
{
    size_t n = 0;
    bool upper = true;

    for (const char *c = f->name; *c && n + 1 < size; c++) {
        if (*c == '_') {
            upper = true;
            continue;
        }
        out[n++] = upper && *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
        upper = false;
    }
    out[n] = 0;
}

int
glow_schema_count(glow_schema s)
{
    int n = 0;

    while (s.fields && n < GLOW_MAX_FIELDS && s.fields[n].kind)
        n++;
    return n;
}

size_t
glow_schema_size(glow_schema s)
{
    size_t size = 0, align = 1;

    for (int i = 0; i < glow_schema_count(s); i++) {
        const glow_field *f = &s.fields[i];
        size_t end = f->at + field_kinds[f->kind].size;

        if (end > size)
            size = end;
        if (field_kinds[f->kind].align > align)
            align = field_kinds[f->kind].align;
    }
    return (size + align - 1) / align * align;
}

const glow_field *
glow_schema_find(glow_schema s, const char *name)
{
    for (int i = 0; i < glow_schema_count(s); i++) {
        char text[64];

        glow_field_text_name(&s.fields[i], text, sizeof text);
        if (strcmp(text, name) == 0 || strcmp(s.fields[i].name, name) == 0)
            return &s.fields[i];
    }
    return NULL;
}

static const void *
member(const glow_field *f, const void *attrs)
{
    return (const char *)attrs + f->at;
}

/* The bytes of a value; two values are equal if their bytes are. */
static const void *
value_bytes(const glow_field *f, const void *attrs, size_t *size)
{
    const void *m = member(f, attrs);

    switch (f->kind) {
    case GLOW_STRING:
    case GLOW_FUNC: {
        const char *text = *(const char *const *)m;

        *size = strlen(text);
        return text;
    }
    case GLOW_DIMS: {
        const glow_dims *d = m;

        *size = (size_t)d->rank * sizeof d->at[0];
        return d->at;
    }
    case GLOW_INTS: {
        const glow_ints *l = m;

        *size = (size_t)l->count * sizeof l->at[0];
        return l->at;
    }
    case GLOW_FLOATS: {
        const glow_floats *l = m;

        *size = (size_t)l->count * sizeof l->at[0];
        return l->at;
    }
    default:
        *size = field_kinds[f->kind].size;
        return m;
    }
}

static bool
field_equal(const glow_field *f, const void *a, const void *b)
{
    size_t na, nb;
    const void *pa = value_bytes(f, a, &na), *pb = value_bytes(f, b, &nb);

    return na == nb && (na == 0 || memcmp(pa, pb, na) == 0);
}

bool
glow_attrs_equal(glow_schema s, const void *a, const void *b)
{
    for (int i = 0; i < glow_schema_count(s); i++)
        if (!field_equal(&s.fields[i], a, b))
            return false;
    return true;
}

uint64_t
glow_attrs_hash(glow_schema s, const void *attrs, uint64_t seed)
{
    for (int i = 0; i < glow_schema_count(s); i++) {
        size_t n;
        const void *p = value_bytes(&s.fields[i], attrs, &n);

        seed = glow_hash(p, n, seed);
    }
    return seed;
}

void *
glow_attrs_copy(glow_arena *a, glow_schema s, const void *attrs)
{
    size_t size = glow_schema_size(s);

    if (size == 0 || !attrs)
        return NULL;

    char *copy = glow_arena_alloc(a, size);

    for (int i = 0; i < glow_schema_count(s); i++) {
        const glow_field *f = &s.fields[i];
        size_t n;
        const void *bytes = value_bytes(f, attrs, &n);

        memcpy(copy + f->at, member(f, attrs), field_kinds[f->kind].size);
        if (f->kind == GLOW_STRING || f->kind == GLOW_FUNC)
            *(const char **)(void *)(copy + f->at) =
                glow_arena_strndup(a, bytes, n);
        else if (f->kind == GLOW_INTS)
            ((glow_ints *)(void *)(copy + f->at))->at =
                glow_arena_copy(a, bytes, n);
        else if (f->kind == GLOW_FLOATS)
            ((glow_floats *)(void *)(copy + f->at))->at =
                glow_arena_copy(a, bytes, n);
    }
    return copy;
}

bool
glow_attrs_is_default(glow_schema s, const glow_field *f, const void *attrs)
{
    return f->has_default && s.defaults && field_equal(f, attrs, s.defaults);
}

const glow_attr_value *
glow_attr_find(glow_attr_list l, const char *name)
{
    for (size_t i = 0; i < l.count; i++)
        if (strcmp(l.items[i].name, name) == 0)
            return &l.items[i].value;
    return NULL;
}

/* From a dictionary. */

typedef struct reader {
    glow_context *ctx;
    glow_arena *arena;
    const char *who;
    char name[64]; /* of the current attribute */
} reader;

static const char *const value_kinds[] = {
    [GLOW_V_INT] = "an integer",       [GLOW_V_FLOAT] = "a number",
    [GLOW_V_STRING] = "a string",      [GLOW_V_BOOL] = "true or false",
    [GLOW_V_WORD] = "a word",          [GLOW_V_SYMBOL] = "a symbol",
    [GLOW_V_TYPE] = "a type",          [GLOW_V_LIST] = "a list",
    [GLOW_V_TYPED] = "a typed number",
};

static bool
wrong_kind(const reader *r, const glow_attr_value *v, const char *wanted)
{
    return glow_error_at(r->ctx, v->span, "E0122", "%s: %s is %s, not %s",
                         r->who, r->name, wanted, value_kinds[v->kind]);
}

static bool
read_int(const reader *r, const glow_attr_value *v, int64_t *out)
{
    if (v->kind != GLOW_V_INT)
        return wrong_kind(r, v, "an integer");
    *out = v->i;
    return true;
}

static bool
read_narrow_int(const reader *r, const glow_attr_value *v, int *out)
{
    int64_t i = 0;

    if (!read_int(r, v, &i))
        return false;
    if (i < INT32_MIN || i > INT32_MAX)
        return glow_error_at(r->ctx, v->span, "E0123",
                             "%s: %s is %" PRId64
                             ", but must lie in [-2^31, 2^31)",
                             r->who, r->name, i);
    *out = (int)i;
    return true;
}

/* A number, or a word that begins with one: see passes/pipeline.c. */
static bool
read_bytes(const reader *r, const glow_attr_value *v, int64_t *out)
{
    if (v->kind == GLOW_V_WORD && !glow_read_bytes(v->text, out))
        return glow_error_hint(r->ctx, v->span, "E0123",
                               "sizes are as 65536, 64KiB, 4MiB or 1GiB, below "
                               "2^63 bytes",
                               "%s: %s is no size: %s", r->who, r->name,
                               v->text);
    if (v->kind == GLOW_V_WORD)
        return true;
    if (!read_int(r, v, out))
        return false;
    return *out >= 0 || glow_error_at(r->ctx, v->span, "E0123",
                                      "%s: %s is %" PRId64
                                      " bytes, but must not be negative",
                                      r->who, r->name, *out);
}

static bool
read_float(const reader *r, const glow_attr_value *v, float *out)
{
    if (v->kind == GLOW_V_FLOAT)
        *out = glow_narrow(v->f);
    else if (v->kind == GLOW_V_INT)
        *out = (float)v->i;
    else
        return wrong_kind(r, v, "a number");
    return true;
}

static bool
read_word(const reader *r, const glow_attr_value *v, const glow_field *f,
          int *out)
{
    size_t n = 0;

    if (v->kind != GLOW_V_WORD)
        return wrong_kind(r, v, "a word");
    for (; f->words[n]; n++)
        if (strcmp(f->words[n], v->text) == 0) {
            *out = (int)n;
            return true;
        }

    glow_buf all = {.arena = r->arena};
    const char *near = glow_did_you_mean(v->text, f->words, n);

    for (size_t i = 0; i < n; i++)
        glow_buf_printf(&all, "%s%s", i ? ", " : "", f->words[i]);
    return glow_error_hint(
        r->ctx, v->span, "E0124",
        near ? glow_arena_printf(r->arena, "did you mean %s?", near) : NULL,
        "%s: %s is one of %s, not %s", r->who, r->name, all.text, v->text);
}

static bool
read_kind(const reader *r, const glow_attr_value *v, glow_kind *out)
{
    if (v->kind != GLOW_V_WORD)
        return wrong_kind(r, v, "an element kind");
    *out = glow_kind_named(v->text);
    if (*out == GLOW_NO_KIND)
        return glow_error_at(r->ctx, v->span, "E0124",
                             "%s: %s is an element kind, not %s", r->who,
                             r->name, v->text);
    return true;
}

static bool
read_string(const reader *r, const glow_attr_value *v, const char **out)
{
    if (v->kind != GLOW_V_STRING)
        return wrong_kind(r, v, "a string");
    if (memchr(v->text, 0, v->size))
        return glow_error_at(r->ctx, v->span, "E0123",
                             "%s: %s holds a NUL, which it may not", r->who,
                             r->name);
    *out = glow_arena_strndup(r->arena, v->text, v->size);
    return true;
}

static bool
read_func(const reader *r, const glow_attr_value *v, const char **out)
{
    if (v->kind != GLOW_V_SYMBOL)
        return wrong_kind(r, v, "a function");
    *out = glow_arena_strdup(r->arena, v->text);
    return true;
}

static bool
read_ints(const reader *r, const glow_attr_value *v, glow_ints *out)
{
    if (v->kind != GLOW_V_LIST)
        return wrong_kind(r, v, "a list of integers");

    int64_t *items = GLOW_NEW_ARRAY(r->arena, int64_t, v->count + 1);

    for (size_t i = 0; i < v->count; i++)
        if (!read_int(r, &v->items[i], &items[i]))
            return false;
    *out = (glow_ints){(int64_t)v->count, items};
    return true;
}

static bool
read_dims(const reader *r, const glow_attr_value *v, glow_dims *out)
{
    glow_ints l;

    if (!read_ints(r, v, &l))
        return false;
    if (l.count > GLOW_MAX_RANK)
        return glow_error_at(r->ctx, v->span, "E0123",
                             "%s: %s has %" PRId64
                             " entries, but at most %d are allowed",
                             r->who, r->name, l.count, GLOW_MAX_RANK);
    *out = (glow_dims){.rank = (int)l.count};
    for (int i = 0; i < out->rank; i++)
        out->at[i] = l.at[i];
    return true;
}

static bool
read_floats(const reader *r, const glow_attr_value *v, glow_floats *out)
{
    if (v->kind != GLOW_V_LIST)
        return wrong_kind(r, v, "a list of numbers");

    float *items = GLOW_NEW_ARRAY(r->arena, float, v->count + 1);

    for (size_t i = 0; i < v->count; i++)
        if (!read_float(r, &v->items[i], &items[i]))
            return false;
    *out = (glow_floats){(int64_t)v->count, items};
    return true;
}

static bool
read_field(const reader *r, const glow_field *f, const glow_attr_value *v,
           void *out)
{
    switch (f->kind) {
    case GLOW_INT:
        return read_narrow_int(r, v, out);
    case GLOW_INT64:
        return read_int(r, v, out);
    case GLOW_FLOAT32:
        return read_float(r, v, out);
    case GLOW_FLAG:
        if (v->kind != GLOW_V_BOOL)
            return wrong_kind(r, v, "true or false");
        *(bool *)out = v->i != 0;
        return true;
    case GLOW_STRING:
        return read_string(r, v, out);
    case GLOW_ENUM:
        return read_word(r, v, f, out);
    case GLOW_DIMS:
        return read_dims(r, v, out);
    case GLOW_INTS:
        return read_ints(r, v, out);
    case GLOW_FLOATS:
        return read_floats(r, v, out);
    case GLOW_KIND:
        return read_kind(r, v, out);
    case GLOW_FUNC:
        return read_func(r, v, out);
    case GLOW_BYTES:
        return read_bytes(r, v, out);
    default:
        return false;
    }
}

/* Reports an attribute that `s` does not have. */
static void
unknown_name(const reader *r, glow_schema s, const glow_attr *a)
{
    char text[GLOW_MAX_FIELDS][64];
    const char *names[GLOW_MAX_FIELDS];
    int n = glow_schema_count(s);

    for (int i = 0; i < n; i++) {
        glow_field_text_name(&s.fields[i], text[i], sizeof text[i]);
        names[i] = text[i];
    }

    const char *near = glow_did_you_mean(a->name, names, (size_t)n);

    glow_error_hint(r->ctx, a->span, "E0120",
                    near ? glow_arena_printf(r->arena, "did you mean %s?", near)
                         : NULL,
                    "%s has no attribute %s", r->who, a->name);
}

const void *
glow_attrs_from_list(glow_context *ctx, glow_arena *a, glow_schema s,
                     glow_attr_list l, const char *who, glow_span at)
{
    reader r = {.ctx = ctx, .arena = a, .who = who};
    size_t size = glow_schema_size(s);
    char *attrs = glow_arena_alloc(a, size ? size : 1);
    bool seen[GLOW_MAX_FIELDS] = {false}, ok = true;

    if (s.defaults)
        memcpy(attrs, s.defaults, size);
    for (size_t i = 0; i < l.count; i++) {
        const glow_field *f = glow_schema_find(s, l.items[i].name);

        if (!f) {
            unknown_name(&r, s, &l.items[i]);
            ok = false;
            continue;
        }
        glow_field_text_name(f, r.name, sizeof r.name);
        if (seen[f - s.fields])
            ok = glow_error_at(ctx, l.items[i].span, "E0125",
                               "%s: %s is given twice", who, r.name);
        seen[f - s.fields] = true;
        if (!read_field(&r, f, &l.items[i].value, attrs + f->at))
            ok = false;
    }
    for (int i = 0; i < glow_schema_count(s); i++)
        if (!seen[i] && !s.fields[i].has_default) {
            glow_field_text_name(&s.fields[i], r.name, sizeof r.name);
            ok = glow_error_at(ctx, at, "E0121",
                               "%s needs the attribute %s (%s), which is %s",
                               who, r.name, s.fields[i].doc,
                               field_kinds[s.fields[i].kind].what);
        }
    return ok ? attrs : NULL;
}
