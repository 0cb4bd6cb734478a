/*
 * Queries about the buffers of a program.
 *
 * An access is an operand, a result, the predicate or the scratch buffer of an
 * instruction that computes; a scratch buffer counts as written.  A tensorview,
 * which only names bytes, and an alloc, a weight or a dealloc, which bound a
 * live range, access nothing.
 */

#ifndef PASSES_PROGRAM_BUFFERS_H
#define PASSES_PROGRAM_BUFFERS_H

#include "glow/ops.h"

/* True unless `n` is a tensorview, an alloc, a weight or a dealloc. */
bool glow_buffer_is_accessed_by(const glow_node *n);

/* True if `v` is the result of an alloc, rather than a view of it. */
bool glow_buffer_is_alloc(const glow_value *v);
/*
 * True if it is the result of an alloc in the default space whose place is not
 * fixed.
 */
bool glow_buffer_is_loose(const glow_value *v);

#endif
