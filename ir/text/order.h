/* Reports in the order of the text. */

#ifndef GLOW_IR_TEXT_ORDER_H
#define GLOW_IR_TEXT_ORDER_H

#include "glow/diag.h"

/*
 * Holds back what is reported from now on, until text_order_end gives it to
 * the sink that `ctx` had: by position, and what has none last.  Lives in `a`.
 */
typedef struct text_order text_order;
text_order *text_order_begin(glow_context *ctx, glow_arena *a);
void text_order_end(text_order *o);

#endif
