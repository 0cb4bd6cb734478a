/*
 * Attributes and options.
 *
 * An operator's attributes, and a pass's options, are a plain C struct.  A
 * table of fields describes it, so that the text form, hashing, equality, docs
 * and command line need no code of their own.  Attributes that no table
 * describes (of unknown operators, functions, placeholders) are a dictionary.
 */

#ifndef GLOW_ATTR_H
#define GLOW_ATTR_H

#include "glow/diag.h"
#include "glow/type.h"

GLOW_BEGIN

#define GLOW_MAX_FIELDS 16

typedef struct glow_ints { /* a list of any length, in the module's arena */
    int64_t count;
    const int64_t *at;
} glow_ints;

typedef struct glow_floats {
    int64_t count;
    const float *at;
} glow_floats;

typedef enum glow_field_kind {
    GLOW_NO_FIELD, /* ends a table */
    GLOW_INT,      /* int */
    GLOW_INT64,    /* int64_t */
    GLOW_FLOAT32,  /* float */
    GLOW_FLAG,     /* bool: true or false */
    GLOW_STRING,   /* const char *, interned, not NULL */
    GLOW_ENUM,     /* int: index of a word in the field's list */
    GLOW_DIMS,     /* glow_dims: at most GLOW_MAX_RANK integers */
    GLOW_INTS,     /* glow_ints */
    GLOW_FLOATS,   /* glow_floats */
    GLOW_KIND,     /* glow_kind: the name of an element kind */
    GLOW_FUNC,     /* const char *, not NULL: the name of a function */
    GLOW_BYTES,    /* int64_t, not negative; options may say 512KiB */
} glow_field_kind;

typedef struct glow_field {
    const char *name; /* of the member: `count_include_pads` */
    glow_field_kind kind;
    size_t at; /* offset of the member */
    const char *doc;
    bool has_default;         /* the descriptor's `defaults` has its value */
    const char *const *words; /* of GLOW_ENUM, ended by NULL */
} glow_field;

/* A field that must be given, and one that has a default. */
/* clang-format off */
#define GLOW_FIELD(type, member, kind, doc) \
    {#member, kind, offsetof(type, member), doc, false, NULL}
#define GLOW_FIELD_DEFAULT(type, member, kind, doc) \
    {#member, kind, offsetof(type, member), doc, true, NULL}
#define GLOW_FIELD_ENUM(type, member, words, doc) \
    {#member, GLOW_ENUM, offsetof(type, member), doc, true, words}
/* clang-format on */

/*
 * Reads bytes with or without a unit: "65536", "512KiB", "4MiB", "1GiB".  False
 * if it is nothing of that, or 2^63 or more.
 */
GLOW_API bool glow_read_bytes(const char *text, int64_t *out);

/* A struct and its table, as found in operators and passes. */
typedef struct glow_schema {
    const glow_field *fields; /* ended by GLOW_NO_FIELD, or GLOW_MAX_FIELDS */
    const void *defaults;     /* a whole struct, or NULL if no field has one */
} glow_schema;

/*
 * The name in the text form: the member in camel case, `CountIncludePads`.
 * Writes at most `size` bytes with the NUL.
 */
GLOW_API void glow_field_text_name(const glow_field *f, char *out, size_t size);
/* Number of fields, and bytes of the struct up to the end of the last one. */
GLOW_API int glow_schema_count(glow_schema s);
GLOW_API size_t glow_schema_size(glow_schema s);
/* By text name or member name; NULL if there is none. */
GLOW_API const glow_field *glow_schema_find(glow_schema s, const char *name);

GLOW_API bool glow_attrs_equal(glow_schema s, const void *a, const void *b);
GLOW_API uint64_t glow_attrs_hash(glow_schema s, const void *attrs,
                                  uint64_t seed);
/* A deep copy in `a`. */
GLOW_API void *glow_attrs_copy(glow_arena *a, glow_schema s, const void *attrs);
/* True if the value of `f` equals its default. */
GLOW_API bool glow_attrs_is_default(glow_schema s, const glow_field *f,
                                    const void *attrs);

/* A value of the text form: an entry of a dictionary. */

typedef enum glow_value_kind {
    GLOW_V_INT,
    GLOW_V_FLOAT, /* binary32 */
    GLOW_V_STRING,
    GLOW_V_BOOL,
    GLOW_V_WORD,   /* a bare word: an enum value or an element kind */
    GLOW_V_SYMBOL, /* @name, without the sign */
    GLOW_V_TYPE,
    GLOW_V_LIST,
    GLOW_V_TYPED, /* v : type, with the number as written in `text` */
} glow_value_kind;

typedef struct glow_attr_value glow_attr_value;
struct glow_attr_value {
    glow_value_kind kind;
    int64_t i;             /* INT, BOOL */
    double f;              /* FLOAT: exactly a binary32 */
    const char *text;      /* STRING (may hold NULs: see size), WORD, SYMBOL */
    size_t size;           /* of a STRING */
    const glow_type *type; /* TYPE, TYPED */
    const glow_attr_value *items; /* LIST */
    size_t count;
    glow_span span;
};

typedef struct glow_attr {
    const char *name;
    glow_attr_value value;
    glow_span span; /* of the name */
} glow_attr;

/* A dictionary, in source order. */
typedef struct glow_attr_list {
    const glow_attr *items;
    size_t count;
} glow_attr_list;

GLOW_API const glow_attr_value *glow_attr_find(glow_attr_list l,
                                               const char *name);

/*
 * Turns a dictionary into a struct by its table: unknown names (with a
 * suggestion), missing ones, wrong kinds and values out of range are reported
 * at their spans, as of `who` ("Convolution").  NULL after an error.
 */
GLOW_API const void *glow_attrs_from_list(glow_context *ctx, glow_arena *a,
                                          glow_schema s, glow_attr_list l,
                                          const char *who, glow_span at);

/*
 * Prints `{Kernels: [3, 3], Group: 1}` with a leading blank, or nothing if all
 * is default and `all` is false.
 */
GLOW_API void glow_buf_attrs(glow_buf *b, glow_schema s, const void *attrs,
                             bool all);
GLOW_API void glow_buf_attr_list(glow_buf *b, glow_attr_list l);
GLOW_API void glow_buf_attr_value(glow_buf *b, const glow_attr_value *v);
/* Prints text in quotes with the escapes of the text form. */
GLOW_API void glow_buf_quoted(glow_buf *b, const char *text, size_t size);

GLOW_END

#endif
