/*
 * The wire format of protocol buffers, checked before anything is unpacked.
 *
 * protobuf-c recurses without a limit and can need a hundred times the size of
 * its input.  So each message is walked first, by its descriptor, in one pass,
 * without recursion and without memory of its own.
 */

#ifndef GLOW_TRANSLATE_WIRE_H
#define GLOW_TRANSLATE_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "glow/diag.h"

#define WIRE_MAX_DEPTH 100
#define WIRE_MAX_MESSAGES (4 << 20)
#define WIRE_MAX_NAME (64 << 10)
#define WIRE_MAX_FILE ((size_t)0x7fffffff)

/* The limit of memory for a message of `size` bytes: 256 MiB + 16 `size`. */
size_t wire_memory_limit(size_t size);

/*
 * True if `bytes` are a message of type `d` that is safe to unpack: nested at
 * most WIRE_MAX_DEPTH deep, of at most WIRE_MAX_MESSAGES messages, every length
 * within the enclosing message, every field of its declared wire type, and
 * small enough in memory.  Else false after E0701 or E0703, which name `file`
 * and the byte.
 */
bool wire_check(glow_context *ctx, const char *file, const uint8_t *bytes,
                size_t size, const ProtobufCMessageDescriptor *d);

#endif
