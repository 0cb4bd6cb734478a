/* Mapping files that a place in some text names. */

#ifndef GLOW_IR_BASE_FILE_H
#define GLOW_IR_BASE_FILE_H

#include "glow/file.h"

/* As without `_at`, but reports stand at `at`. */
glow_data *glow_file_map_at(glow_context *ctx, glow_span at, const char *path);
glow_data *glow_file_map_beneath_at(glow_context *ctx, glow_span at,
                                    const char *folder, const char *name);

/*
 * The first `size` bytes of an open file, for reading soon; NULL if it cannot.
 * `path` is what glow_file_mapped_at calls it.
 */
glow_data *glow_file_map_open(int fd, size_t size, const char *path);

#endif
