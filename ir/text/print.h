/* Functions of the printer.  See docs/gir.md for the canonical form. */

#ifndef GLOW_IR_TEXT_PRINT_H
#define GLOW_IR_TEXT_PRINT_H

#include "glow/text.h"

/* print_value.c: names.  `sign` is '@', '%', '$', '#', or 0 for bare words. */
void glow_text_put_name(glow_buf *b, char sign, const char *name);

/* print_data.c: after the `=` of a constant, and its line of `data`. */
bool glow_text_is_blob(const glow_storage *s, const glow_print_options *o);
void glow_text_put_payload(glow_buf *b, const glow_storage *s,
                           const glow_print_options *o);
void glow_text_put_blob(glow_buf *b, const glow_storage *s);

#endif
