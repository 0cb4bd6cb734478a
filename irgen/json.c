/* Strings of JSON. */

#include "irgen/json.h"

void
glow_put_json_string(glow_buf *b, const char *text)
{
    glow_buf_putc(b, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            glow_buf_printf(b, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            glow_buf_printf(b, "\\u%04x", c);
        else
            glow_buf_putc(b, (char)c);
    }
    glow_buf_putc(b, '"');
}
