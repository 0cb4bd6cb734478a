/*
 * Queries about the buffers of a program.
 *
 * An access is an operand, a result, the predicate or the scratch of an
 * instruction that computes; scratch counts as written.  An instruction that only
 * names bytes (tensorview) or bounds their life (alloc, weight, dealloc) is none.
 */

#ifndef PASSES_PROGRAM_BUFFERS_H
#define PASSES_PROGRAM_BUFFERS_H

#include "glow/ops.h"

/* True unless the instruction only names bytes or bounds their life. */
bool computes(const glow_node *n);

/* True if `v` is an alloc's own result. */
bool is_alloc(const glow_value *v);
/* True if it is that of an alloc whose place is not fixed. */
bool is_loose(const glow_value *v);

#endif
