/* SHA-256, FIPS 180-4. */

#ifndef GLOW_IR_BASE_SHA256_H
#define GLOW_IR_BASE_SHA256_H

#include <stddef.h>

/* Writes the 64 hexadecimal digits of the hash of `size` bytes, and a NUL. */
void glow_sha256_hex(const void *data, size_t size, char hex[65]);

#endif
