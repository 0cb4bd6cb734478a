/* Head comments of the files of passes; generated when the library is built. */

#ifndef GLOW_PASSES_CARD_H
#define GLOW_PASSES_CARD_H

#include "glow/pass.h"

typedef struct glow_pass_text {
    const char *name, *text;
} glow_pass_text;

/* Sorted by name; ends with NULL. */
extern const glow_pass_text glow_pass_texts[];

#endif
