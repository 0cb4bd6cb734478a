/* Checked arithmetic, hashing and spelling suggestions. */

#include "glow/base.h"

#include <string.h>

bool
glow_add_overflow(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return true;
    *out = sum;
    return false;
}

bool
glow_mul_overflow(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return true;
    *out = product;
    return false;
}

static uint64_t
mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h;
}

/*
 * Eight bytes at a time, each mixed by two multiplications.  Words are read as
 * little-endian, so that all machines agree.
 */
uint64_t
glow_hash(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *p = data;
    uint64_t h = mix(seed ^ (uint64_t)size * 0x9e3779b97f4a7c15u);

    while (size > 0) {
        uint64_t word = 0;
        size_t n = size < 8 ? size : 8;

        memcpy(&word, p, n);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        h = mix(h ^ word) * 0x9e3779b97f4a7c15u;
        p += n;
        size -= n;
    }
    return mix(h);
}

enum { LONGEST_NAME = 64 };

static int
least(int a, int b)
{
    return a < b ? a : b;
}

/*
 * Damerau-Levenshtein distance (optimal string alignment); case costs nothing.
 */
static int
distance(const char *a, const char *b)
{
    int n = (int)strnlen(a, LONGEST_NAME + 1);
    int m = (int)strnlen(b, LONGEST_NAME + 1);
    int rows[3][LONGEST_NAME + 1];

    if (n > LONGEST_NAME || m > LONGEST_NAME)
        return LONGEST_NAME;
    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3];
        const int *up = rows[(i + 2) % 3], *upup = rows[(i + 1) % 3];

        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int same = (a[i - 1] | 32) == (b[j - 1] | 32);
            int best = up[j - 1] + !same;

            best = least(best, least(up[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least(best, upup[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

/*
 * The greatest distance of a suggestion from a name of `length` bytes: a third
 * of it.
 */
static int
most_edits(int length)
{
    return least(length / 3, 4);
}

const char *
glow_did_you_mean(const char *wrong, const char *const *names, size_t count)
{
    int best = most_edits((int)strnlen(wrong, LONGEST_NAME)) + 1;
    const char *near = NULL;

    for (size_t i = 0; i < count; i++) {
        int d = distance(wrong, names[i]);

        if (d < best) {
            best = d;
            near = names[i];
        }
    }
    return near;
}

const char *
glow_version(void)
{
    return GLOW_VERSION;
}
