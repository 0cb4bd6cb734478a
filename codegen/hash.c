/*
 * BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: BLAKE3, one function, fast
 * everywhere, 2020) in LLVM's implementation, over slices of 4 MiB on several
 * threads, because one thread with AVX-512 hashes 4 GB/s and weights are
 * hundreds of megabytes.
 */

#include "codegen/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "codegen/llvm/llvm.h"
#include "glow/base.h"

enum { SLICE = 1 << 22, MOST_THREADS = 16 };

typedef struct slice {
    const unsigned char *bytes;
    size_t size;
    uint8_t hash[LLVM_BLAKE3_OUT_LEN];
} slice;

typedef struct work {
    slice *at;
    size_t count;
    atomic_size_t next;
} work;

static void
hash(slice *s)
{
    llvm_blake3_hasher h;

    llvm_blake3_hasher_init(&h);
    if (s->size > 0)
        llvm_blake3_hasher_update(&h, s->bytes, s->size);
    llvm_blake3_hasher_finalize(&h, s->hash, sizeof s->hash);
}

static void *
hash_slices(void *user)
{
    work *w = user;

    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count;)
        hash(&w->at[i]);
    return NULL;
}

static void
share_out(work *w, int threads)
{
    pthread_t thread[MOST_THREADS];
    int n = 0;

    while (n + 1 < threads && n < MOST_THREADS && (size_t)n + 1 < w->count &&
           pthread_create(&thread[n], NULL, hash_slices, w) == 0)
        n++;
    hash_slices(w);
    while (n > 0)
        pthread_join(thread[--n], NULL);
}

static size_t
slices_of(size_t size)
{
    return size / SLICE + (size % SLICE != 0);
}

static slice *
cut(glow_arena *a, const glow_hash_part *parts, size_t count, size_t *slices)
{
    size_t n = 0;
    slice *all, *next;

    for (size_t i = 0; i < count; i++)
        n += slices_of(parts[i].size);
    next = all = GLOW_NEW_ARRAY(a, slice, n + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < parts[i].size; at += SLICE) {
            size_t left = parts[i].size - at;

            next->bytes = (const unsigned char *)parts[i].bytes + at;
            next++->size = left < SLICE ? left : SLICE;
        }
    *slices = n;
    return all;
}

bool
glow_hash_hex(const glow_hash_part *parts, size_t count, int threads,
              char hex[GLOW_HASH_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t whole[LLVM_BLAKE3_OUT_LEN];
    llvm_blake3_hasher h;
    work w = {.at = NULL};
    glow_arena *a;

    if (glow_llvm_load())
        return false;
    a = glow_arena_new();
    w.at = cut(a, parts, count, &w.count);
    share_out(&w, threads);
    llvm_blake3_hasher_init(&h);
    for (size_t i = 0; i < count; i++)
        llvm_blake3_hasher_update(&h, &(uint64_t){parts[i].size},
                                  sizeof(uint64_t));
    for (size_t i = 0; i < w.count; i++)
        llvm_blake3_hasher_update(&h, w.at[i].hash, sizeof w.at[i].hash);
    llvm_blake3_hasher_finalize(&h, whole, sizeof whole);
    for (size_t i = 0; i < sizeof whole; i++) {
        hex[2 * i] = digits[whole[i] >> 4];
        hex[2 * i + 1] = digits[whole[i] & 15];
    }
    hex[2 * sizeof whole] = '\0';
    glow_arena_free(a);
    return true;
}
