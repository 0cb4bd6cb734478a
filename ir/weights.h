/* Weights files, the source of external constants. */

#ifndef GLOW_IR_WEIGHTS_H
#define GLOW_IR_WEIGHTS_H

#include "glow/graph.h"

/*
 * Loads the elements of an external constant into s->tensor; false after a
 * report (also for elided ones, which have none).
 */
bool glow_weights_load(glow_storage *s);
/* Closes the file that loading opened. */
void glow_weights_close(glow_weights *w);
/* Shares the open file of `from` with its copy `to`. */
void glow_weights_share(glow_weights *to, const glow_weights *from);

/* Adds `w` behind the other files of `m`. */
void glow_weights_add_file(glow_module *m, glow_weights *w);
/* Declares a safetensors file at `path` that is not in m->weights yet. */
glow_weights *glow_weights_declare(glow_module *m, const char *alias,
                                   const char *path);
/* Opens the file; r->bad after a report. */
struct glow_weights_reader *glow_weights_open(glow_context *ctx,
                                              glow_weights *w);
/* The same for the bytes of a file, one reference of which it takes; NULL: r->bad. */
struct glow_weights_reader *
glow_weights_open_data(glow_context *ctx, glow_weights *w, glow_data *file);

/* Interface of the file formats. */

/* A tensor in a file. */
typedef struct glow_weights_entry {
    const char *key;
    const char *dtype; /* as safetensors calls it: "F32" */
    glow_dims shape;
    size_t begin, end; /* bytes of the file */
} glow_weights_entry;

typedef struct glow_weights_reader {
    int refs;
    bool bad; /* reported; every use fails without a report */
    glow_arena *arena;
    glow_data *file;
    glow_map *entries; /* by key */
    const char **keys; /* of all, for suggestions */
    size_t count, cap;
    const char *wrong;       /* set by a format: the error in the file */
    const char *(*notes)[2]; /* texts of its metadata, with their keys */
    size_t n_notes;
} glow_weights_reader;

/* Adds an entry; false if the key is taken, with r->wrong set. */
bool glow_weights_add(glow_weights_reader *r, glow_weights_entry e);
/* Sets r->wrong; returns false. */
bool glow_weights_refuse(glow_weights_reader *r, const char *fmt, ...)
    GLOW_PRINTF(2, 3);

/* Fill `entries`, or set `wrong` and return false. */
bool glow_safetensors_index(glow_weights_reader *r);
bool glow_npz_index(glow_weights_reader *r);

/* A tensor to write. */
typedef struct glow_safetensor {
    const char *key;
    const glow_type *type; /* dense */
    const void *data;
} glow_safetensor;

/*
 * Writes a safetensors file, whole or not at all: sorts `tensors` by alignment and key,
 * which must be unique; `notes` are texts with their keys.  A key that JSON cannot
 * hold as it is becomes `#` and its number among the sorted tensors.  False after a
 * report.
 */
bool glow_safetensors_write(glow_context *ctx, const char *path,
                            glow_safetensor *tensors, size_t count,
                            const char *const (*notes)[2], size_t n_notes);
/* Appends the bytes of that file. */
void glow_safetensors_put(glow_buf *b, glow_safetensor *tensors, size_t count,
                          const char *const (*notes)[2], size_t n_notes);

/* The dtype of an element kind, and the bytes of a dtype (0: unknown). */
const char *glow_safetensors_dtype(glow_kind kind);
int glow_safetensors_bytes(const char *dtype);

#endif
