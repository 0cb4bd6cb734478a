/*
 * Element kinds, shapes and types.
 *
 * A type is an element kind, for quantized kinds a scale and an offset, a shape
 * and, for storage that is not dense, strides.  Types are interned in the
 * context, so that two `const glow_type *` of one context are equal exactly if
 * the pointers are.
 */

#ifndef GLOW_TYPE_H
#define GLOW_TYPE_H

#include "glow/base.h"

GLOW_BEGIN

#define GLOW_MAX_RANK 8

typedef enum glow_kind {
    GLOW_NO_KIND, /* no type stated */
    GLOW_FLOAT,
    GLOW_FLOAT16,
    GLOW_BFLOAT16,
    GLOW_FLOAT64,
    GLOW_INT8Q, /* i8: quantized, real = scale * (q - offset) */
    GLOW_UINT8Q,
    GLOW_INT16Q,
    GLOW_INT32Q,
    GLOW_INT64Q,
    GLOW_UINDEX8, /* the integers of Glow */
    GLOW_INDEX32,
    GLOW_INDEX64,
    GLOW_INT8, /* the integers that only ONNX has */
    GLOW_INT16,
    GLOW_UINT16,
    GLOW_UINT32,
    GLOW_UINT64,
    GLOW_BOOL,
    GLOW_UINT8FUSED, /* rows that end in their own scale and offset */
    GLOW_UINT8FUSEDFP16,
    GLOW_UINT4FUSED,
    GLOW_UINT4FUSEDFP16,
    GLOW_FLOAT8E4M3FN, /* low precision: stored, moved and converted */
    GLOW_FLOAT8E4M3FNUZ,
    GLOW_FLOAT8E5M2,
    GLOW_FLOAT8E5M2FNUZ,
    GLOW_FLOAT8E8M0,
    GLOW_FLOAT4E2M1,
    GLOW_INT4,
    GLOW_UINT4,
    GLOW_INT2,
    GLOW_UINT2,
    GLOW_TOKEN,      /* an event: signalled or not; see glow_op_signal */
    GLOW_KIND_COUNT, /* of the library; those of plugins count on from here */
    GLOW_MOST_KINDS = 64
} glow_kind;

/* Classes of kinds; see glow_kind_get. */
typedef enum glow_kind_class {
    GLOW_CLASS_FLOAT = 1,
    GLOW_CLASS_INT = 2, /* plain integers, signed or not */
    GLOW_CLASS_BOOL = 4,
    GLOW_CLASS_QUANTIZED = 8,
    GLOW_CLASS_FUSED = 16,
    GLOW_CLASS_LOW = 32, /* floats and integers that nothing computes with */
    GLOW_CLASS_TOKEN = 64,
} glow_kind_class;

/*
 * A float of 8 bits or fewer: sign (unless the kind is unsigned), exponent,
 * fraction, from the high bits to the low ones.
 */
typedef struct glow_float_format {
    int exponent; /* bits */
    int fraction; /* bits */
    int bias;
    int largest;  /* bits of the largest finite number */
    int infinity; /* its bits; -1: there is none */
    int nan;      /* bits of a NaN; -1: there is none.  The sign bit alone: then
                     zero has no sign, and infinities become NaN. */
} glow_float_format;

typedef struct glow_kind_info {
    const char *name; /* as in the text form: "float", "i8", "index64" */
    int bytes;        /* of one element (of one byte of a fused row) */
    int bits;         /* of the value */
    bool is_signed;
    glow_kind_class klass;
    const char *doc;
    double epsilon; /* of float kinds: from 1 to the next number */
    /* The number in an element, of kinds that a plugin adds; else NULL. */
    double (*get)(const void *element);
    /* Rounds to the nearest, ties to even, as the kind says of what is far. */
    void (*set)(void *element, double v);
    const glow_float_format *format; /* of low-precision floats, else NULL */
} glow_kind_info;

/* The row of `kind` in the one table of kinds. */
GLOW_API const glow_kind_info *glow_kind_get(glow_kind kind);
/* The kind named `name`, or GLOW_NO_KIND. */
GLOW_API glow_kind glow_kind_named(const char *name);
/* One past the last kind, those of plugins included. */
GLOW_API glow_kind glow_kind_end(void);

/*
 * Adds a float kind, such as "acme.fp6": every operator that takes float kinds
 * takes it, through `get` and `set`; text, evaluator and checks know it at once.
 * Kinds belong to the process: `k` must live for ever, and adding it again does
 * nothing.  False after a report.
 */
GLOW_API bool glow_register_kind(glow_context *ctx, const glow_kind_info *k);

GLOW_API bool glow_is_float(glow_kind k);     /* float, 16, b16, 64, plugins' */
GLOW_API bool glow_is_int(glow_kind k);       /* plain integers */
GLOW_API bool glow_is_low(glow_kind k);       /* of low precision */
GLOW_API bool glow_is_real(glow_kind k);      /* float, of low precision too */
GLOW_API bool glow_is_quantized(glow_kind k); /* with scale and offset */

/* A shape, permutation, kernel, stride: a short list of integers, by value. */
typedef struct glow_dims {
    int rank;
    int64_t at[GLOW_MAX_RANK];
} glow_dims;

#define GLOW_DIMS_OF(...)                                                  \
    ((glow_dims){                                                          \
        .rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        .at = {__VA_ARGS__}})

/* True if each is `v`; of rank 0 too. */
GLOW_API bool glow_dims_are(glow_dims d, int64_t v);
GLOW_API bool glow_dims_equal(glow_dims a, glow_dims b);

/*
 * The number of elements of `shape`, 1 for a scalar.  The shape of a type that
 * passed glow_type_check never overflows; others: use glow_dims_checked_count.
 */
GLOW_API int64_t glow_dims_count(glow_dims shape);
GLOW_API bool glow_dims_checked_count(glow_dims shape, int64_t *out);
/* The elements of axes `first` to `last` - 1; INT64_MAX if there are more. */
GLOW_API int64_t glow_dims_product(glow_dims shape, int first, int last);

/*
 * Steps `at` to the next index of `shape` in row-major order; false after the
 * last.  An index has the rank of the shape.
 */
GLOW_API bool glow_dims_next(glow_dims *at, glow_dims shape);
GLOW_API glow_dims glow_dims_first(glow_dims shape);

/* For each index of `shape`, in row-major order; none if a dimension is 0. */
#define GLOW_FOR_EACH_INDEX(i, shape)                                   \
    for (glow_dims i##_shape = (shape), i = glow_dims_first(i##_shape), \
                   i##_more = {.rank = glow_dims_count(i##_shape) > 0}; \
         i##_more.rank; i##_more.rank = glow_dims_next(&i, i##_shape))

/* Row-major strides of a dense tensor of this shape, in elements. */
GLOW_API glow_dims glow_dims_strides(glow_dims shape);

/* Prints as `1 x 2 x 3`. */
GLOW_API void glow_buf_dims(glow_buf *b, glow_dims d);

typedef struct glow_type {
    glow_kind elem;
    float scale;    /* of quantized kinds, else 0 */
    int32_t offset; /* of quantized kinds, else 0 */
    glow_dims shape;
    glow_dims strides; /* in elements, rank as shape; rank 0: dense */
} glow_type;

/* The type `elem<shape>`, dense, scale 1 if `elem` is quantized. */
GLOW_API glow_type glow_type_of(glow_kind elem, glow_dims shape);
GLOW_API bool glow_type_equal(const glow_type *a, const glow_type *b);
/*
 * True if an in-place pair of an operator may have these types: equal, or of quantized
 * elements and equal but for scale and offset.
 */
GLOW_API bool glow_type_fits_inplace(const glow_type *a, const glow_type *b);

/*
 * Checks a type made from input: dimensions >= 0, no more than 2^47 bytes in
 * all, a finite positive scale, strides that do not overlap.  Returns NULL, or
 * a sentence that says what is wrong, kept in `a`.
 */
GLOW_API const char *glow_type_check(const glow_type *t, glow_arena *a);

/* The one copy of `t` in `ctx`. */
GLOW_API const glow_type *glow_type_get(glow_context *ctx, glow_type t);

/* Bytes from the first to past the last element, padding of strides included. */
GLOW_API int64_t glow_type_bytes(const glow_type *t);
GLOW_API int64_t glow_type_count(const glow_type *t); /* elements */

/* The element at `at`, counted in elements from the first. */
GLOW_API int64_t glow_type_index(const glow_type *t, glow_dims at);

/* Prints as in the text form: `i8[S:0.5 O:3]<2 x 3, strides: [4, 1]>`. */
GLOW_API void glow_buf_type(glow_buf *b, const glow_type *t);
GLOW_API const char *glow_type_text(glow_arena *a, const glow_type *t);

GLOW_END

#endif
