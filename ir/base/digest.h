/*
 * Digests of large contents at the speed of memory, to tell versions of them
 * apart: they detect accidental changes, not malicious ones.
 */

#ifndef GLOW_IR_BASE_DIGEST_H
#define GLOW_IR_BASE_DIGEST_H

#include "glow/base.h"

#define GLOW_DIGEST_LANES 8

typedef struct glow_digest {
    uint64_t lane[GLOW_DIGEST_LANES];
    uint64_t size;          /* bytes so far */
    unsigned char rest[64]; /* bytes that do not fill a block yet */
} glow_digest;

void glow_digest_begin(glow_digest *d);
void glow_digest_add(glow_digest *d, const void *bytes, size_t size);
/* 64 hexadecimal digits and a NUL. */
void glow_digest_hex(const glow_digest *d, char hex[65]);

#endif
