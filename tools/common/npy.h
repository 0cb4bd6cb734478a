/*
 * Tensors in NumPy's format `.npy`, versions 1 to 3.  The header of a file is
 * checked against its contents.
 */

#ifndef GLOW_TOOLS_COMMON_NPY_H
#define GLOW_TOOLS_COMMON_NPY_H

#include "glow/tensor.h"

/*
 * Reads `path` into a dense tensor of type `want`, whose shape and element kind
 * it must have: float is <f4, quantized kinds are their integers, bfloat16 is
 * its bits as <u2 (or <V2).  Both byte orders and both orders of elements are
 * accepted.  False after a report.
 */
bool npy_read(glow_context *ctx, const char *path, const glow_type *want,
              glow_tensor *out);

/*
 * Reads a file whose first axis is a multiple of that of `want`: *out has *runs times
 * its elements, and owns them; *runs is 1 for the shape of `want`.
 */
bool npy_read_runs(glow_context *ctx, const char *path, const glow_type *want,
                   int64_t *runs, glow_tensor *out);

/* An array in a mapped file. */
typedef struct npy_array {
    glow_data *file;      /* one reference, the caller's */
    glow_tensor elements; /* its type has the kind of the file; no owner */
    bool swap;            /* the elements are in the other byte order */
} npy_array;

/* Maps a file in row-major order, whatever it holds.  False after a report. */
bool npy_map(glow_context *ctx, const char *path, npy_array *out);

/* Writes a dense tensor, whole or not at all; "-": to standard output. */
bool npy_write(glow_context *ctx, const char *path, const glow_tensor *t);

#endif
