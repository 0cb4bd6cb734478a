/* Readers of the parts of a target description. */

#ifndef GLOW_IR_TARGET_H
#define GLOW_IR_TARGET_H

#include <jansson.h>

#include "glow/target.h"

typedef struct target_reader {
    glow_context *ctx;
    glow_arena *arena;
    glow_source const *source;
} target_reader;

/* Reports E0417 at the file, with a hint or NULL; false. */
bool glow_target_wrong(const target_reader *r, const char *hint,
                       const char *fmt, ...) GLOW_PRINTF(3, 4);

/* Reads the list `spaces`.  False after a report. */
bool glow_target_spaces(const target_reader *r, const json_t *list,
                        glow_target *t);

/*
 * Reads the memory spaces of each class of buffers: the members of `all`, the
 * file, else all spaces in their order.  False after a report.
 */
bool glow_target_homes(const target_reader *r, const json_t *all,
                       glow_target *t);

#endif
