/*
 * State: the placeholders that a caller keeps from run to run, such as trained
 * weights, moments of optimizers, counters of steps and caches.
 *
 *     placeholder @w : float<4 x 3> {State: true, Trained: true}
 *     placeholder @step : index64<> {State: true}
 *
 *     placeholder @scale : float<> {State: true, Initial: @one}
 *
 * A run reads the old contents, writes the new ones in place, at most once, and leaves
 * a placeholder that it does not save to alone.  A run that fails may leave state half
 * changed.  State begins as the constant of its type that Initial names, or as zeros; what
 * is trained has no meaning before its elements are given so or read from a file.
 *
 * A state object holds the tensors of one stream of runs.  Its files are safetensors
 * under the names of the placeholders, with notes, which are pairs of texts, in the
 * metadata.
 */

#ifndef GLOW_STATE_H
#define GLOW_STATE_H

#include "glow/eval.h"

GLOW_BEGIN

/* True with {State: true}; with {Trained: true}. */
GLOW_API bool glow_is_state(const glow_storage *s);
GLOW_API bool glow_is_trained(const glow_storage *s);
/* The constant that state begins as, or NULL: zeros. */
GLOW_API glow_storage *glow_initial(const glow_storage *s);
/* True for a constant that state begins as: it is used though no node reads it. */
GLOW_API bool glow_is_initial(const glow_storage *s);
/* True if attribute `name` of placeholder `s` is true. */
GLOW_API bool glow_placeholder_is(const glow_storage *s, const char *name);

/* A tensor and its name in a file. */
typedef struct glow_state_entry {
    const char *name;
    glow_tensor tensor; /* dense */
    bool is_trained;
    bool is_set; /* by Initial, read from a file, or by glow_state_set */
} glow_state_entry;

typedef struct glow_state glow_state;

/*
 * First contents for each placeholder of `m` that is state or trained.  Names and types
 * are copied, except that types belong to the context.  NULL after a report: an Initial
 * is in a weights file that cannot be read.
 */
GLOW_API glow_state *glow_state_new(glow_context *ctx, const glow_module *m);
/* A copy of all entries and notes, whose types belong to `ctx`. */
GLOW_API glow_state *glow_state_clone(glow_context *ctx, const glow_state *s);
GLOW_API void glow_state_free(glow_state *s); /* NULL is fine */
/* The entries, in the order of the placeholders. */
GLOW_API glow_state_entry *glow_state_entries(glow_state *s, size_t *count);
/* The entry of that name, or NULL. */
GLOW_API glow_state_entry *glow_state_find(glow_state *s, const char *name);

/* A note, or NULL; setting copies, and NULL removes. */
GLOW_API const char *glow_state_note(const glow_state *s, const char *key);
GLOW_API void glow_state_set_note(glow_state *s, const char *key,
                                  const char *value);

/*
 * Reads tensors and notes of a safetensors file; tensors that it lacks stay as they
 * are, and those that `s` lacks are passed over.  False after a report (E0601,
 * E0604, E0610: a tensor has another type); then `s` is unchanged.
 */
GLOW_API bool glow_state_load(glow_state *s, const char *path);
/* The same for the bytes of such a file, which reports call `name`. */
GLOW_API bool glow_state_read(glow_state *s, const char *name,
                              const void *bytes, size_t size);
/* False after a report of each trained entry that is not set (E0611). */
GLOW_API bool glow_state_check(const glow_state *s, const char *path);
/*
 * Writes all tensors and notes, whole or not at all.  The same state gives the same
 * bytes.  False after a report.
 */
GLOW_API bool glow_state_save(const glow_state *s, const char *path);
/* Appends the bytes of that file. */
GLOW_API void glow_state_write(const glow_state *s, glow_buf *b);
/* The same for the entries that are named, without notes. */
GLOW_API bool glow_state_save_some(const glow_state *s, const char *path,
                                   const char *const *names, size_t count);

/*
 * Maps the tensor `name` of a safetensors file, or its only one; *owner, one reference
 * of the caller, keeps it.  False after a report (E0601, E0604, E0605).
 */
GLOW_API bool glow_state_map(glow_context *ctx, const char *path,
                             const char *name, glow_tensor *out,
                             glow_data **owner);

GLOW_END

#endif
