/*
 * The foundation: export marks, checked arithmetic, arenas,
 * interned strings and the context that owns them.
 *
 * Memory has four lifetimes: the context, the module, the pass run, and tensor
 * data (reference-counted, see glow/tensor.h).  The first three are arenas.
 * Nothing allocated from an arena is freed by itself, and no allocation returns
 * NULL: running out of memory calls the handler set by glow_on_out_of_memory,
 * which must not return.
 */

#ifndef GLOW_BASE_H
#define GLOW_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
#define GLOW_BEGIN extern "C" {
#define GLOW_END }
#else
#define GLOW_BEGIN
#define GLOW_END
#endif

#if defined(__GNUC__)
#define GLOW_API __attribute__((visibility("default")))
#define GLOW_MUST_USE __attribute__((warn_unused_result))
#define GLOW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define GLOW_API
#define GLOW_MUST_USE
#define GLOW_PRINTF(fmt, args)
#endif

GLOW_BEGIN

typedef struct glow_context glow_context;
typedef struct glow_arena glow_arena;

/* Arenas. */

/* Makes an empty arena, to be ended by glow_arena_free. */
GLOW_API glow_arena *glow_arena_new(void);
GLOW_API void glow_arena_free(glow_arena *a);

/* Gives back everything allocated from `a`, which stays usable. */
GLOW_API void glow_arena_reset(glow_arena *a);

/* Returns `size` zeroed bytes, aligned for any type (64 bytes from 4 KiB up). */
GLOW_API void *glow_arena_alloc(glow_arena *a, size_t size);

/* Bytes handed out since the arena was made or reset. */
GLOW_API size_t glow_arena_used(const glow_arena *a);

/* Copies of text and memory into `a`. */
GLOW_API char *glow_arena_strdup(glow_arena *a, const char *text);
GLOW_API char *glow_arena_strndup(glow_arena *a, const char *text, size_t n);
GLOW_API void *glow_arena_copy(glow_arena *a, const void *from, size_t size);
GLOW_API char *glow_arena_printf(glow_arena *a, const char *fmt, ...)
    GLOW_PRINTF(2, 3);
GLOW_API char *glow_arena_vprintf(glow_arena *a, const char *fmt, va_list ap)
    GLOW_PRINTF(2, 0);

/* `count` zeroed objects of `type`. */
#define GLOW_NEW(arena, type) ((type *)glow_arena_alloc((arena), sizeof(type)))
#define GLOW_NEW_ARRAY(arena, type, count) \
    ((type *)glow_arena_alloc_array((arena), (size_t)(count), sizeof(type)))
GLOW_API void *glow_arena_alloc_array(glow_arena *a, size_t count, size_t size);

/*
 * A growing array in an arena: `items` has room for `*cap`, `count` are used.
 * Returns `items`, moved where it had to grow so that one more fits.
 */
GLOW_API void *glow_arena_grow(glow_arena *a, void *items, size_t count,
                               size_t *cap, size_t size);

/* Sets the handler for exhausted memory, which must not return.  NULL: abort(). */
typedef void (*glow_oom_fn)(size_t size, void *user);
GLOW_API void glow_on_out_of_memory(glow_oom_fn fn, void *user);
/* Calls that handler, or abort(); does not return. */
GLOW_API void *glow_no_memory(size_t size);

/* Checked arithmetic: true, and *out untouched, if the result overflows. */
GLOW_API bool glow_add_overflow(int64_t a, int64_t b, int64_t *out);
GLOW_API bool glow_mul_overflow(int64_t a, int64_t b, int64_t *out);
/* a + b, or the largest number where that is larger; a is not below 0. */
static inline int64_t
glow_add_most(int64_t a, int64_t b)
{
    return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + b;
}

/*
 * Merge sort of `count` elements of `size` bytes.  It is stable: elements that
 * compare equal keep their order, as qsort of C need not, so that results depend on
 * no library.  Takes n log n comparisons, n of a sorted array; memory: half the array.
 */
GLOW_API void glow_sort(void *at, size_t count, size_t size,
                        int (*compare)(const void *a, const void *b));

/* Growing text. */

typedef struct glow_buf {
    char *text; /* ends with NUL once anything was added, else NULL */
    size_t len;
    size_t cap;
    glow_arena *arena; /* where it grows; NULL: the heap, then glow_buf_free */
} glow_buf;

GLOW_API void glow_buf_add(glow_buf *b, const char *text, size_t n);
GLOW_API void glow_buf_puts(glow_buf *b, const char *text);
GLOW_API void glow_buf_putc(glow_buf *b, char c);
GLOW_API void glow_buf_printf(glow_buf *b, const char *fmt, ...)
    GLOW_PRINTF(2, 3);
GLOW_API void glow_buf_free(glow_buf *b);

/*
 * The shortest decimal that reads back as the same binary32 or binary64, with
 * a `.` or an exponent always, and `inf`, `-inf`, `nan`, `nan(0x7fc00001)`.
 * Independent of the locale.
 */
GLOW_API void glow_buf_float(glow_buf *b, float v);
GLOW_API void glow_buf_double(glow_buf *b, double v);

/* A hash map from a string (compared by content) to a pointer. */

typedef struct glow_map glow_map;
GLOW_API glow_map *glow_map_new(glow_arena *a);
GLOW_API void *glow_map_get(const glow_map *m, const char *key);
/* Sets `key` (kept, not copied); a NULL value removes it. */
GLOW_API void glow_map_set(glow_map *m, const char *key, void *value);

/* A 64-bit hash of bytes: stable between runs and machines, not for secrets. */
GLOW_API uint64_t glow_hash(const void *data, size_t size, uint64_t seed);
/* Spreads a number over 64 bits; of numbers counted up, it draws at random. */
static inline uint64_t
glow_mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/*
 * Picks from `count` names the one that is near enough to `wrong` to be what
 * was meant (at most as many edits as a third of its length, and four), or NULL.
 */
GLOW_API const char *glow_did_you_mean(const char *wrong,
                                       const char *const *names, size_t count);

/* The context: registries, interned strings, types, and the sink. */

GLOW_API glow_context *glow_context_new(void);
GLOW_API void glow_context_free(glow_context *ctx);
GLOW_API glow_arena *glow_context_arena(glow_context *ctx);

/* The one copy of `text` in `ctx`: equal texts give equal pointers. */
GLOW_API const char *glow_intern(glow_context *ctx, const char *text);

GLOW_API const char *glow_version(void); /* "0.1.0" */

GLOW_END

#endif
