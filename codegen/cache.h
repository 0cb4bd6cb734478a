/*
 * On-disk cache of compiled code, by the hash of its inputs.
 *
 * A cache is a folder of files, which any number of processes may share.
 * Lookups and stores do not fail: an unreadable entry counts as a miss, and an
 * entry that cannot be written is not kept.
 */

#ifndef CODEGEN_CACHE_H
#define CODEGEN_CACHE_H

#include <stdatomic.h>

#include "glow/diag.h"
#include "glow/tensor.h"

#define GLOW_CACHE_BYTES (INT64_C(4) << 30)

typedef struct glow_cache {
    const char *folder; /* NULL: no cache */
    int64_t most;       /* limit in bytes; 0: GLOW_CACHE_BYTES */
    atomic_int hits, kept;
} glow_cache;

/*
 * Opens a cache in `folder`, which need not exist yet; `most` as above.  If the
 * folder must not be used, reports W0602 and opens no cache: if it belongs to
 * neither the user nor root, if others have write permission, or if it holds
 * other files.  There is no call that closes a cache.
 */
void glow_cache_open(glow_cache *c, glow_context *ctx, const char *folder,
                     int64_t most);

/*
 * The bytes of the entry under `key`, 64 hexadecimal digits, in `a`; NULL if
 * there is no entry or its digest does not match.  An entry that belongs to
 * another user, or that others may write, counts as damaged and is removed.
 */
void *glow_cache_find(glow_cache *c, glow_arena *a, const char *key,
                      size_t *size);
/* The same, mapped for reading; the bytes begin at a page boundary. */
glow_data *glow_cache_map(glow_cache *c, glow_arena *a, const char *key);

typedef struct glow_cache_part {
    const void *bytes;
    size_t size;
} glow_cache_part;

/*
 * Stores the concatenation of the parts under `key`, unless it exceeds the
 * limit of the cache.  Several threads may do so at once.
 */
void glow_cache_keep(glow_cache *c, glow_arena *a, const char *key,
                     const glow_cache_part *parts, int count);
/* Evicts least-recently-used entries until the limit holds. */
void glow_cache_trim(glow_cache *c);

#endif
