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

/* Writes a dense tensor, whole or not at all; "-": to standard output. */
bool npy_write(glow_context *ctx, const char *path, const glow_tensor *t);

#endif
