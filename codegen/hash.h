/*
 * BLAKE3 hashes, as keys of caches: collision-resistant, so that an entry under
 * a key belongs to exactly the hashed contents.
 */

#ifndef CODEGEN_HASH_H
#define CODEGEN_HASH_H

#include <stdbool.h>
#include <stddef.h>

#define GLOW_HASH_HEX 65 /* digits and a NUL */

typedef struct glow_hash_part {
    const void *bytes;
    size_t size;
} glow_hash_part;

/*
 * The hash of a list of contents: of their sizes, and of the hashes of their
 * slices, which `threads` threads compute.  False if LLVM, which implements
 * BLAKE3, cannot be loaded.
 */
bool glow_hash_hex(const glow_hash_part *parts, size_t count, int threads,
                   char hex[GLOW_HASH_HEX]);

#endif
