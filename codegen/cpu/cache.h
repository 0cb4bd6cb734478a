/*
 * Objects on disk, by the hash of what they are made from.
 *
 * A folder of files, which any number of processes may share.  Nothing here
 * fails: what cannot be read is not there, and what cannot be kept is not.
 */

#ifndef CODEGEN_CPU_CACHE_H
#define CODEGEN_CPU_CACHE_H

#include <stdatomic.h>

#include "glow/base.h"

#define CPU_CACHE_BYTES (INT64_C(256) << 20)

typedef struct cpu_cache {
    const char *folder; /* NULL: there is none */
    int64_t most;       /* bytes that it may hold; 0: CPU_CACHE_BYTES */
    atomic_int hits, kept;
} cpu_cache;

/*
 * The bytes that were kept under `key`, hexadecimal digits, in `a`; NULL if
 * there are none, or not those that were kept.
 */
void *glow_cpu_cache_find(cpu_cache *c, glow_arena *a, const char *key,
                          size_t *size);
/* Keeps bytes; several threads may do so at once. */
void glow_cpu_cache_keep(cpu_cache *c, glow_arena *a, const char *key,
                         const void *bytes, size_t size);
/* Removes what was used longest ago, while there is too much. */
void glow_cpu_cache_trim(cpu_cache *c);

#endif
