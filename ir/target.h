/* Readers of the parts of a target description. */

#ifndef GLOW_IR_TARGET_H
#define GLOW_IR_TARGET_H

#include <jansson.h>

#include "glow/target.h"

/* The reader, and the part of the file that it reads: `list`[`index`].`member`. */
typedef struct target_reader {
    glow_context *ctx;
    glow_arena *arena;
    glow_source const *source;
    glow_target *target;
    const char *list;   /* NULL: the file */
    size_t index;       /* SIZE_MAX: the list */
    const char *member; /* NULL: the object */
} target_reader;

/* Reports E0417 at that part, with a hint or NULL; false. */
bool glow_target_wrong(const target_reader *r, const char *hint,
                       const char *fmt, ...) GLOW_PRINTF(3, 4);

/* Kinds of members, with the C type of each. */
typedef enum target_kind {
    TARGET_SIZE,  /* int64_t, above 0 */
    TARGET_COUNT, /* int64_t, 0 or more */
    TARGET_RATE,  /* double, above 0 */
    TARGET_FLAG,  /* bool */
    TARGET_NAME,  /* const char *, not empty */
    TARGET_SPACE, /* size_t: the name of a space */
    TARGET_QUEUE, /* size_t: the name of a queue */
    TARGET_OTHER, /* read by its own function */
} target_kind;

typedef struct target_field {
    const char *name;
    target_kind kind;
    size_t at; /* offset of the member */
    bool is_needed;
} target_field;

/*
 * Reads the members of an object into the struct `out` as the table has them, up to
 * a NULL name.  `what` names the object in reports: "space 'tcm'".  False after a
 * report of a member that is unknown, missing or of another kind.
 */
bool glow_target_object(target_reader *r, const json_t *object,
                        const char *what, const target_field *fields,
                        void *out);

/*
 * The number of elements of the list `name`, each an object, whose elements `read`
 * puts into *out, an array of structs of `size` bytes.  False after a report.
 */
typedef bool (*target_read_fn)(target_reader *r, const json_t *object,
                               void *out);
bool glow_target_list(target_reader *r, const json_t *list, const char *name,
                      size_t size, target_read_fn read, void **out,
                      size_t *count);

/* Finds space or queue `name`.  False after a report with a suggestion. */
bool glow_target_named(const target_reader *r, target_kind kind,
                       const char *name, size_t *out);

/* Reads `spaces`.  False after a report. */
bool glow_target_spaces(target_reader *r, const json_t *list);
/* Reads `queues`, `links`, `tokens` and `units` of the file `all`. */
bool glow_target_engines(target_reader *r, const json_t *all);

/*
 * Reads the memory spaces of each class of buffers: the members of `all`, the
 * file, else all spaces in their order.  False after a report.
 */
bool glow_target_homes(target_reader *r, const json_t *all);

/*
 * The place of list[index].member in JSON text, which is sound; of the part that
 * is there, if it lacks the rest.
 */
glow_span glow_target_locate(const target_reader *r);

#endif
