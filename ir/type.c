/* Element kinds, shapes and interned types. */

#include "glow/type.h"
#include "glow/quantize.h"
#include "ir/base/context.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define F GLOW_CLASS_FLOAT
#define I GLOW_CLASS_INT
#define B GLOW_CLASS_BOOL
#define Q GLOW_CLASS_QUANTIZED
#define U GLOW_CLASS_FUSED
#define L GLOW_CLASS_LOW

/* A built-in element kind, read and written without functions. */
#define KIND(name, bytes, bits, is_signed, klass, epsilon, doc) \
    {name, bytes, bits, is_signed, klass, doc, epsilon, NULL, NULL, NULL}

/* A float of low precision, read and written by its format. */
#define LOW_FLOAT(name, bits, is_signed, epsilon, doc, ...)    \
    {                                                          \
        name, 1, bits, is_signed, L, doc, epsilon, NULL, NULL, \
            &(const glow_float_format)                         \
        {                                                      \
            __VA_ARGS__                                        \
        }                                                      \
    }

static const glow_kind_info kinds[GLOW_KIND_COUNT] = {
    [GLOW_NO_KIND] = KIND("none", 0, 0, false, 0, 0, "no type"),
    [GLOW_FLOAT] = KIND("float", 4, 32, true, F, 0x1p-23, "IEEE binary32"),
    [GLOW_FLOAT16] = KIND("float16", 2, 16, true, F, 0x1p-10, "IEEE binary16"),
    [GLOW_BFLOAT16] =
        KIND("bfloat16", 2, 16, true, F, 0x1p-7, "the upper half of binary32"),
    [GLOW_FLOAT64] = KIND("float64", 8, 64, true, F, 0x1p-52, "IEEE binary64"),
    [GLOW_INT8Q] = KIND("i8", 1, 8, true, Q, 0, "quantized, signed 8 bits"),
    [GLOW_UINT8Q] =
        KIND("ui8", 1, 8, false, Q, 0, "quantized, unsigned 8 bits"),
    [GLOW_INT16Q] = KIND("i16", 2, 16, true, Q, 0, "quantized, signed 16 bits"),
    [GLOW_INT32Q] = KIND("i32", 4, 32, true, Q, 0, "quantized, signed 32 bits"),
    [GLOW_INT64Q] = KIND("i64", 8, 64, true, Q, 0, "quantized, signed 64 bits"),
    [GLOW_UINDEX8] = KIND("uindex8", 1, 8, false, I, 0, "unsigned 8 bits"),
    [GLOW_INDEX32] = KIND("index32", 4, 32, true, I, 0, "signed 32 bits"),
    [GLOW_INDEX64] = KIND("index64", 8, 64, true, I, 0, "signed 64 bits"),
    [GLOW_INT8] =
        KIND("int8", 1, 8, true, I, 0, "signed 8 bits, not quantized"),
    [GLOW_INT16] =
        KIND("int16", 2, 16, true, I, 0, "signed 16 bits, not quantized"),
    [GLOW_UINT16] = KIND("uint16", 2, 16, false, I, 0, "unsigned 16 bits"),
    [GLOW_UINT32] = KIND("uint32", 4, 32, false, I, 0, "unsigned 32 bits"),
    [GLOW_UINT64] = KIND("uint64", 8, 64, false, I, 0, "unsigned 64 bits"),
    [GLOW_BOOL] = KIND("bool", 1, 8, false, B, 0, "false or true, as 0 or 1"),
    [GLOW_UINT8FUSED] = KIND("ui8fused", 1, 8, false, U, 0,
                             "rows of bytes, then float scale and offset"),
    [GLOW_UINT8FUSEDFP16] =
        KIND("ui8fusedfp16", 1, 8, false, U, 0,
             "rows of bytes, then float16 scale and offset"),
    [GLOW_UINT4FUSED] = KIND("ui4fused", 1, 4, false, U, 0,
                             "rows of half bytes, then float scale and offset"),
    [GLOW_UINT4FUSEDFP16] = KIND("ui4fusedfp16", 1, 4, false, U, 0,
                                 "rows of half bytes, then float16 pair"),
    [GLOW_FLOAT8E4M3FN] =
        LOW_FLOAT("float8e4m3fn", 8, true, 0x1p-3, "8 bits, no infinities", 4,
                  3, 7, 0x7e, -1, 0x7f),
    [GLOW_FLOAT8E4M3FNUZ] =
        LOW_FLOAT("float8e4m3fnuz", 8, true, 0x1p-3,
                  "8 bits, no infinities, one zero", 4, 3, 8, 0x7f, -1, 0x80),
    [GLOW_FLOAT8E5M2] =
        LOW_FLOAT("float8e5m2", 8, true, 0x1p-2, "the upper half of binary16",
                  5, 2, 15, 0x7b, 0x7c, 0x7f),
    [GLOW_FLOAT8E5M2FNUZ] =
        LOW_FLOAT("float8e5m2fnuz", 8, true, 0x1p-2,
                  "8 bits, no infinities, one zero", 5, 2, 16, 0x7f, -1, 0x80),
    [GLOW_FLOAT8E8M0] =
        LOW_FLOAT("float8e8m0", 8, false, 1, "a power of two, 2^-127 to 2^127",
                  8, 0, 127, 0xfe, -1, 0xff),
    [GLOW_FLOAT4E2M1] = LOW_FLOAT(
        "float4e2m1", 4, true, 0x1p-1,
        "4 bits in the low half of a byte, all finite", 2, 1, 1, 7, -1, -1),
    [GLOW_INT4] = KIND("int4", 1, 4, true, L, 0, "-8 to 7 in a byte"),
    [GLOW_UINT4] = KIND("uint4", 1, 4, false, L, 0, "0 to 15 in a byte"),
    [GLOW_INT2] = KIND("int2", 1, 2, true, L, 0, "-2 to 1 in a byte"),
    [GLOW_UINT2] = KIND("uint2", 1, 2, false, L, 0, "0 to 3 in a byte"),
    [GLOW_TOKEN] = KIND("token", 1, 1, false, GLOW_CLASS_TOKEN, 0,
                        "an event of a program with queues"),
};

/*
 * Element kinds of plugins, in the order of their registration in the process.
 */
static const glow_kind_info *added[GLOW_MOST_KINDS - GLOW_KIND_COUNT];
static atomic_int added_count;
static atomic_flag adding = ATOMIC_FLAG_INIT;

const glow_kind_info *
glow_kind_get(glow_kind kind)
{
    return kind < GLOW_KIND_COUNT ? &kinds[kind]
                                  : added[kind - GLOW_KIND_COUNT];
}

glow_kind
glow_kind_end(void)
{
    return (glow_kind)(GLOW_KIND_COUNT + atomic_load(&added_count));
}

glow_kind
glow_kind_named(const char *name)
{
    for (int k = GLOW_NO_KIND + 1; k < (int)glow_kind_end(); k++)
        if (strcmp(glow_kind_get((glow_kind)k)->name, name) == 0)
            return (glow_kind)k;
    return GLOW_NO_KIND;
}

static const char *
wrong_kind(const glow_kind_info *k)
{
    if (!k->name || !strchr(k->name, '.') || !k->doc)
        return "no name with a dot, or no doc";
    if (k->klass != GLOW_CLASS_FLOAT || !k->get || !k->set)
        return "it is no float kind with get and set";
    if (k->bytes != 1 && k->bytes != 2 && k->bytes != 4 && k->bytes != 8)
        return "its elements have not 1, 2, 4 or 8 bytes";
    if (!(k->epsilon > 0))
        return "its epsilon is not above 0";
    return NULL;
}

/* Appends `k`; returns the error, or NULL. */
static const char *
add_kind(const glow_kind_info *k)
{
    glow_kind known = glow_kind_named(k->name);
    int n = atomic_load(&added_count);

    if (known != GLOW_NO_KIND)
        return glow_kind_get(known) == k ? NULL : "there is one already";
    if (n == GLOW_MOST_KINDS - GLOW_KIND_COUNT)
        return "there are too many kinds";
    added[n] = k;
    atomic_store(&added_count, n + 1);
    return NULL;
}

bool
glow_register_kind(glow_context *ctx, const glow_kind_info *k)
{
    const char *wrong = wrong_kind(k);

    if (!wrong) {
        while (atomic_flag_test_and_set(&adding))
            ;
        wrong = add_kind(k);
        atomic_flag_clear(&adding);
    }
    return !wrong ||
           glow_error(ctx, "E0801", "element kind %s cannot be registered: %s",
                      k->name ? k->name : "(unnamed)", wrong);
}

bool
glow_is_float(glow_kind k)
{
    return glow_kind_get(k)->klass == F;
}

bool
glow_is_int(glow_kind k)
{
    return glow_kind_get(k)->klass == I;
}

bool
glow_is_low(glow_kind k)
{
    return glow_kind_get(k)->klass == L;
}

bool
glow_is_real(glow_kind k)
{
    return glow_is_float(k) || glow_kind_get(k)->format != NULL;
}

bool
glow_is_quantized(glow_kind k)
{
    return glow_kind_get(k)->klass == Q;
}

/* dims */

bool
glow_dims_are(glow_dims d, int64_t v)
{
    for (int i = 0; i < d.rank; i++)
        if (d.at[i] != v)
            return false;
    return true;
}

bool
glow_dims_equal(glow_dims a, glow_dims b)
{
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (a.at[i] != b.at[i])
            return false;
    return true;
}

int64_t
glow_dims_count(glow_dims shape)
{
    int64_t n = 1;

    for (int i = 0; i < shape.rank; i++)
        n *= shape.at[i];
    return n;
}

/* Zero dimensions count as 1 while checking, so that they hide no overflow. */
bool
glow_dims_checked_count(glow_dims shape, int64_t *out)
{
    int64_t n = 1;
    bool none = false;

    for (int i = 0; i < shape.rank; i++) {
        if (shape.at[i] < 0)
            return false;
        if (shape.at[i] == 0)
            none = true;
        else if (glow_mul_overflow(n, shape.at[i], &n))
            return false;
    }
    *out = none ? 0 : n;
    return true;
}

int64_t
glow_dims_product(glow_dims shape, int first, int last)
{
    glow_dims part = {.rank = last - first};
    int64_t count = INT64_MAX;

    for (int i = first; i < last; i++)
        part.at[i - first] = shape.at[i];
    glow_dims_checked_count(part, &count);
    return count;
}

glow_dims
glow_dims_first(glow_dims shape)
{
    return (glow_dims){.rank = shape.rank};
}

bool
glow_dims_next(glow_dims *at, glow_dims shape)
{
    for (int i = shape.rank - 1; i >= 0; i--) {
        if (++at->at[i] < shape.at[i])
            return true;
        at->at[i] = 0;
    }
    return false;
}

glow_dims
glow_dims_strides(glow_dims shape)
{
    glow_dims s = {.rank = shape.rank};
    int64_t step = 1;

    for (int i = shape.rank - 1; i >= 0; i--) {
        s.at[i] = step;
        step *= shape.at[i];
    }
    return s;
}

void
glow_buf_dims(glow_buf *b, glow_dims d)
{
    for (int i = 0; i < d.rank; i++)
        glow_buf_printf(b, "%s%" PRId64, i ? " x " : "", d.at[i]);
}

/* types */

glow_type
glow_type_of(glow_kind elem, glow_dims shape)
{
    glow_type t = {.elem = elem, .shape = shape};

    if (glow_is_quantized(elem))
        t.scale = 1;
    return t;
}

bool
glow_type_equal(const glow_type *a, const glow_type *b)
{
    return a->elem == b->elem && a->scale == b->scale &&
           a->offset == b->offset && glow_dims_equal(a->shape, b->shape) &&
           glow_dims_equal(a->strides, b->strides);
}

bool
glow_type_fits_inplace(const glow_type *a, const glow_type *b)
{
    return a == b || (a->elem == b->elem && glow_is_quantized(a->elem) &&
                      glow_dims_equal(a->shape, b->shape) &&
                      glow_dims_equal(a->strides, b->strides));
}

int64_t
glow_type_count(const glow_type *t)
{
    return glow_dims_count(t->shape);
}

int64_t
glow_type_bytes(const glow_type *t)
{
    int64_t bytes = glow_kind_get(t->elem)->bytes, last = 0;

    if (t->strides.rank == 0 || glow_type_count(t) == 0)
        return glow_type_count(t) * bytes;
    for (int i = 0; i < t->shape.rank; i++)
        last += (t->shape.at[i] - 1) * t->strides.at[i];
    return (last + 1) * bytes;
}

int64_t
glow_type_index(const glow_type *t, glow_dims at)
{
    int64_t index = 0;

    if (t->strides.rank) {
        for (int i = 0; i < at.rank; i++)
            index += at.at[i] * t->strides.at[i];
        return index;
    }
    for (int i = 0; i < at.rank; i++)
        index = index * t->shape.at[i] + at.at[i];
    return index;
}

enum { MOST_BYTES_LOG = 47 };

static bool
too_big(int64_t elements, int bytes)
{
    int64_t n;

    return glow_mul_overflow(elements, bytes, &n) || n > (int64_t)1
                                                             << MOST_BYTES_LOG;
}

/*
 * Checks, from the last axis out, that each stride is at least the extent of
 * the axes within.
 */
static const char *
check_strides(const glow_type *t, glow_arena *a)
{
    int64_t inner = 1; /* extent of the inner axes */

    if (t->strides.rank != t->shape.rank)
        return glow_arena_printf(a,
                                 "the type has %d strides, but its rank is %d",
                                 t->strides.rank, t->shape.rank);
    for (int i = t->shape.rank - 1; i >= 0; i--) {
        int64_t reach;

        if (t->strides.at[i] < inner)
            return glow_arena_printf(a,
                                     "stride %" PRId64
                                     " of axis %d steps into the %" PRId64
                                     " elements of the axes after it",
                                     t->strides.at[i], i, inner);
        if (t->shape.at[i] == 0)
            continue;
        if (glow_mul_overflow(t->shape.at[i] - 1, t->strides.at[i], &reach) ||
            glow_add_overflow(reach, inner, &inner) ||
            too_big(inner, glow_kind_get(t->elem)->bytes))
            return glow_arena_printf(a, "the type takes more than 2^%d bytes",
                                     MOST_BYTES_LOG);
    }
    return NULL;
}

/*
 * Scale and offset: 0 has an element, and rounding adds an offset that is one.  Scales
 * are normal floats, since some processors flush subnormal ones.
 */
static const char *
check_quantized(const glow_type *t, glow_arena *a)
{
    int64_t least = glow_quantized_least(t->elem);
    int64_t most = glow_quantized_most(t->elem);

    if (!(t->scale >= FLT_MIN && isfinite(t->scale)))
        return glow_arena_printf(
            a, "the scale is %g, but must be finite and from %g on",
            (double)t->scale, (double)FLT_MIN);
    if (t->offset < least || t->offset > most)
        return glow_arena_printf(
            a,
            "the offset is %" PRId32 ", but %s has elements from %" PRId64
            " to %" PRId64,
            t->offset, glow_kind_get(t->elem)->name, least, most);
    return NULL;
}

const char *
glow_type_check(const glow_type *t, glow_arena *a)
{
    int64_t count;

    if (t->shape.rank < 0 || t->shape.rank > GLOW_MAX_RANK)
        return glow_arena_printf(a, "the rank is %d, but at most %d is allowed",
                                 t->shape.rank, GLOW_MAX_RANK);
    for (int i = 0; i < t->shape.rank; i++)
        if (t->shape.at[i] < 0)
            return glow_arena_printf(
                a, "dimension %d is %" PRId64 ", but must be at least 0", i,
                t->shape.at[i]);
    if (!glow_dims_checked_count(t->shape, &count) ||
        too_big(count, glow_kind_get(t->elem)->bytes))
        return glow_arena_printf(a, "the type takes more than 2^%d bytes",
                                 MOST_BYTES_LOG);
    if (glow_is_quantized(t->elem)) {
        const char *wrong = check_quantized(t, a);

        if (wrong)
            return wrong;
    }
    if (glow_kind_get(t->elem)->klass == U && t->shape.rank != 2)
        return glow_arena_printf(a,
                                 "%s is a matrix of rows, but the rank is %d",
                                 glow_kind_get(t->elem)->name, t->shape.rank);
    return t->strides.rank ? check_strides(t, a) : NULL;
}

/* The set of interned types: open addressing over hashes. */

static uint64_t
type_hash(const glow_type *t)
{
    uint64_t h = (uint64_t)t->elem;

    h = glow_hash(&t->scale, sizeof t->scale, h);
    h = glow_hash(&t->offset, sizeof t->offset, h);
    h = glow_hash(t->shape.at, (size_t)t->shape.rank * sizeof(int64_t), h);
    return glow_hash(t->strides.at, (size_t)t->strides.rank * sizeof(int64_t),
                     h);
}

static const glow_type **
type_slot(const glow_type **table, size_t cap, const glow_type *t)
{
    size_t i = (size_t)type_hash(t) & (cap - 1);

    while (table[i] && !glow_type_equal(table[i], t))
        i = (i + 1) & (cap - 1);
    return &table[i];
}

static void
grow_types(glow_context *ctx)
{
    const glow_type **old = ctx->types;
    size_t n = ctx->type_cap;
    size_t cap = n ? n * 2 : 64;
    const glow_type **table =
        GLOW_NEW_ARRAY(ctx->arena, const glow_type *, cap);

    for (size_t i = 0; i < n; i++)
        if (old[i])
            *type_slot(table, cap, old[i]) = old[i];
    ctx->types = table;
    ctx->type_cap = cap;
}

const glow_type *
glow_type_get(glow_context *ctx, glow_type t)
{
    if (t.strides.rank) {
        glow_dims dense = glow_dims_strides(t.shape);

        if (glow_dims_equal(dense, t.strides))
            t.strides = (glow_dims){.rank = 0};
    }
    if (ctx->type_count * 2 >= ctx->type_cap)
        grow_types(ctx);

    const glow_type **slot = type_slot(ctx->types, ctx->type_cap, &t);

    if (!*slot) {
        *slot = glow_arena_copy(ctx->arena, &t, sizeof t);
        ctx->type_count++;
    }
    return *slot;
}

void
glow_buf_type(glow_buf *b, const glow_type *t)
{
    glow_buf_puts(b, glow_kind_get(t->elem)->name);
    if (glow_is_quantized(t->elem)) {
        glow_buf_puts(b, "[S:");
        glow_buf_float(b, t->scale);
        glow_buf_printf(b, " O:%" PRId32 "]", t->offset);
    }
    glow_buf_putc(b, '<');
    glow_buf_dims(b, t->shape);
    if (t->strides.rank) {
        glow_buf_puts(b, ", strides: [");
        for (int i = 0; i < t->strides.rank; i++)
            glow_buf_printf(b, "%s%" PRId64, i ? ", " : "", t->strides.at[i]);
        glow_buf_putc(b, ']');
    }
    glow_buf_putc(b, '>');
}

const char *
glow_type_text(glow_arena *a, const glow_type *t)
{
    glow_buf b = {.arena = a};

    glow_buf_type(&b, t);
    return b.text;
}
