/* Reports in the order of the text. */

#ifndef GLOW_IR_TEXT_ORDER_H
#define GLOW_IR_TEXT_ORDER_H

#include "glow/diag.h"

/*
 * Holds back reports until glow_text_order_end passes them to the former sink of
 * `ctx`: sorted by position, reports without one last.  Allocated in `a`.
 */
typedef struct text_order text_order;
text_order *glow_text_order_begin(glow_context *ctx, glow_arena *a);
void glow_text_order_end(text_order *o);

#endif
