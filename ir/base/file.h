/* Mapping of files that are referred to by a text. */

#ifndef GLOW_IR_BASE_FILE_H
#define GLOW_IR_BASE_FILE_H

#include "glow/file.h"

/* As the functions without `_at`, with reports at position `at`. */
glow_data *glow_file_map_at(glow_context *ctx, glow_span at, const char *path);
glow_data *glow_file_map_beneath_at(glow_context *ctx, glow_span at,
                                    const char *folder, const char *name);

/*
 * Maps the first `size` bytes of an open file, for reading soon; NULL on
 * failure. glow_file_mapped_at reports `path` as its name.
 */
glow_data *glow_file_map_open(int fd, size_t size, const char *path);

#endif
