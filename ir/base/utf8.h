/* Decoding of UTF-8, for text in messages. */

#ifndef GLOW_IR_BASE_UTF8_H
#define GLOW_IR_BASE_UTF8_H

#include <stddef.h>

/* The bytes of the character at `text`, of `n` at most; 0 if it is none. */
size_t glow_utf8_length(const char *text, size_t n);

#endif
