/* The parts of a target file. */

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

/* The list `spaces`.  False after a report. */
bool glow_target_spaces(const target_reader *r, const json_t *list,
                        glow_target *t);

/*
 * Where each class lies: the members that `all`, the file, has for them, else
 * all spaces in their order.  False after a report.
 */
bool glow_target_homes(const target_reader *r, const json_t *all,
                       glow_target *t);

#endif
