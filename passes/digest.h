/* Digests of functions: whether a pass has changed one. */

#ifndef GLOW_PASSES_DIGEST_H
#define GLOW_PASSES_DIGEST_H

#include "glow/graph.h"

/*
 * A hash of the nodes of `f` in their order, with names, attributes, operands,
 * types, predicates and places.  Equal digests of one function at two times mean
 * that it is unchanged: pointers are hashed, so no other two digests compare.
 */
uint64_t glow_func_digest(const glow_func *f);

#endif
