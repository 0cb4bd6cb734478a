/* Strings of JSON. */

#ifndef IRGEN_JSON_H
#define IRGEN_JSON_H

#include "glow/base.h"

/* Adds `text` as a string of JSON, quotes included. */
void glow_put_json_string(glow_buf *b, const char *text);

#endif
