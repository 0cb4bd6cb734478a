/*
 * A digest of eight lanes of 64 bits, each of which takes every eighth word:
 *
 *     lane = rotate(lane ^ word, 29) * odd
 *
 * Each step is a bijection of the lane, so contents that differ in one word
 * never collide, and others collide with probability 2^-64 in a lane.  SHA-256
 * of the lanes and the size is the digest.  The multiplications of different
 * lanes are independent: a core takes some 8 bytes in a cycle.
 *
 * Words are in the machine's byte order, so digests are not portable.
 */

#include "ir/base/digest.h"

#include <string.h>

#include "ir/base/sha256.h"

enum {
    BLOCK = 8 * GLOW_DIGEST_LANES,
    AHEAD = 4096, /* bytes: hardware prefetchers stop at a page's end */
};

/* Odd numbers with about as many ones as zeros: fractions of square roots. */
static const uint64_t factor[GLOW_DIGEST_LANES] = {
    0x6a09e667f3bcc909, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
    0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

static uint64_t
mix(uint64_t lane, const unsigned char *at, uint64_t by)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    word ^= lane;
    return (word << 29 | word >> 35) * by;
}

static void
add_blocks(glow_digest *d, const unsigned char *at, size_t blocks)
{
    uint64_t lane[GLOW_DIGEST_LANES];

    memcpy(lane, d->lane, sizeof lane);
    for (; blocks > 0; blocks--, at += BLOCK) {
        __builtin_prefetch((const void *)((uintptr_t)at + AHEAD));
        for (int i = 0; i < GLOW_DIGEST_LANES; i++)
            lane[i] = mix(lane[i], at + 8 * i, factor[i]);
    }
    memcpy(d->lane, lane, sizeof lane);
}

void
glow_digest_begin(glow_digest *d)
{
    *d = (glow_digest){.size = 0};
    memcpy(d->lane, factor, sizeof factor);
}

void
glow_digest_add(glow_digest *d, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    size_t held = d->size % BLOCK, room = BLOCK - held;

    d->size += size;
    if (size < room) {
        if (size > 0)
            memcpy(d->rest + held, at, size);
        return;
    }
    if (held > 0) {
        memcpy(d->rest + held, at, room);
        add_blocks(d, d->rest, 1);
        at += room;
        size -= room;
    }
    add_blocks(d, at, size / BLOCK);
    memcpy(d->rest, at + size / BLOCK * BLOCK, size % BLOCK);
}

void
glow_digest_hex(const glow_digest *d, char hex[65])
{
    struct {
        uint64_t lane[GLOW_DIGEST_LANES], size;
    } last;
    glow_digest whole = *d;
    size_t held = d->size % BLOCK;

    memset(whole.rest + held, 0, BLOCK - held);
    add_blocks(&whole, whole.rest, 1);
    memcpy(last.lane, whole.lane, sizeof last.lane);
    last.size = d->size;
    glow_sha256_hex(&last, sizeof last, hex);
}
