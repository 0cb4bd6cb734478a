/*
 * What was compiled, on disk, by the hash of what it is made from.
 *
 * A folder of files, which any number of processes may share.  Nothing here
 * fails: what cannot be read is not there, and what cannot be kept is not.
 */

#ifndef CODEGEN_CACHE_H
#define CODEGEN_CACHE_H

#include <stdatomic.h>

#include "glow/diag.h"
#include "glow/tensor.h"

#define GLOW_CACHE_BYTES (INT64_C(4) << 30)

typedef struct glow_cache {
    const char *folder; /* NULL: there is none */
    int64_t most;       /* bytes that it may hold; 0: GLOW_CACHE_BYTES */
    atomic_int hits, kept;
} glow_cache;

/*
 * A cache in `folder`, which need not exist yet; `most` as above.  W0602, and
 * none, if the folder must not be used: if it belongs to neither the user nor
 * root, if others may write it, or if it holds files that are not ours.  Nothing
 * has to be closed.
 */
void glow_cache_open(glow_cache *c, glow_context *ctx, const char *folder,
                     int64_t most);

/*
 * The bytes that were kept under `key`, 64 hexadecimal digits, in `a`; NULL if
 * there are none, or not those that were kept.  An entry of someone else, or
 * that others may write, counts as damaged and is removed.
 */
void *glow_cache_find(glow_cache *c, glow_arena *a, const char *key,
                      size_t *size);
/* The same mapped for reading, from the beginning of a page. */
glow_data *glow_cache_map(glow_cache *c, glow_arena *a, const char *key);

typedef struct glow_cache_part {
    const void *bytes;
    size_t size;
} glow_cache_part;

/*
 * Keeps the parts in a row, unless they are more than all that may be held.
 * Several threads may do so at once.
 */
void glow_cache_keep(glow_cache *c, glow_arena *a, const char *key,
                     const glow_cache_part *parts, int count);
/* Removes what was used longest ago, while there is too much. */
void glow_cache_trim(glow_cache *c);

#endif
