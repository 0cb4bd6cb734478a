/*
 * Files: read whole and mapped, written whole or not at all.
 *
 * An output is made under another name in the target's folder, flushed,
 * checked and renamed.  Until glow_output_commit an existing file keeps its
 * contents; a failed or interrupted run leaves nothing behind.
 */

#ifndef GLOW_FILE_H
#define GLOW_FILE_H

#include "glow/diag.h"
#include "glow/tensor.h"

GLOW_BEGIN

/*
 * Reads `path` ("-": standard input) into a source of the context's arena.
 * NULL after a report.
 */
GLOW_API const glow_source *glow_source_read(glow_context *ctx,
                                             const char *path);
/* A source over text at hand, which must outlive the context. */
GLOW_API const glow_source *glow_source_from(glow_context *ctx,
                                             const char *name, const char *text,
                                             size_t size);

/*
 * Maps a regular file for reading; glow_data_unref unmaps it.  NULL after a
 * report.
 */
GLOW_API glow_data *glow_file_map(glow_context *ctx, const char *path);

/*
 * As glow_file_map, for a name that comes from a model: it must lie in `folder`
 * and be reached without `..`, links or devices; anything else is refused
 * before it is opened.
 */
GLOW_API glow_data *glow_file_map_beneath(glow_context *ctx, const char *folder,
                                          const char *name);

typedef struct glow_output glow_output;

/* Begins to write `path`; NULL after a report. */
GLOW_API glow_output *glow_output_begin(glow_context *ctx, const char *path);
/* Keeps the first error for commit. */
GLOW_API void glow_output_write(glow_output *o, const void *data, size_t size);
/* Puts the file in its place; false after a report, and then it is not. */
GLOW_API bool glow_output_commit(glow_output *o);
/*
 * Puts `count` files that belong together in their places, in this order; false after a
 * report of each that cannot be written, and then no new one of them is there.
 */
GLOW_API bool glow_output_commit_all(glow_output *const *outputs, int count);
GLOW_API void glow_output_discard(glow_output *o);

/* Writes a whole file at once ("-": standard output). */
GLOW_API bool glow_file_write(glow_context *ctx, const char *path,
                              const void *data, size_t size);

/* Removes temporary files of unfinished outputs; async-signal-safe, for handlers. */
GLOW_API void glow_output_cleanup(void);

/*
 * The path of the file that is mapped at `address`, or NULL: for handlers of
 * SIGBUS, which comes of a file that became shorter.  Async-signal-safe.
 */
GLOW_API const char *glow_file_mapped_at(const void *address);

/*
 * Gives back the memory of those pages of a mapped file that lie within `size`
 * bytes at `address`: who reads them later finds them in the file again, without
 * anything that was written there since.  Bytes that are not of a mapped file stay.
 */
GLOW_API void glow_file_forget(const void *address, size_t size);

GLOW_END

#endif
