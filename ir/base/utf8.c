/* UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing past 10FFFF. */

#include "ir/base/utf8.h"

#include <stdint.h>

size_t
glow_utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t c = s[0];
    size_t length = c < 0x80   ? 1
                    : c < 0xc2 ? 0
                    : c < 0xe0 ? 2
                    : c < 0xf0 ? 3
                    : c < 0xf5 ? 4
                               : 0;

    if (length < 2 || length > n)
        return length == 1;
    c &= 0xffu >> (length + 1);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if ((length == 3 && c < 0x800) || (length == 4 && c < 0x10000) ||
        (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return 0;
    return length;
}
