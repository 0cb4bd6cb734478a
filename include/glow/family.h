/*
 * Families of operators: the kind of their work, for pictures and tables.
 */

#ifndef GLOW_FAMILY_H
#define GLOW_FAMILY_H

#include "glow/op.h"

GLOW_BEGIN

/*
 * In a word, by its traits: "sum" of many products or elements, "map" element
 * by element, "move" without computing, "call" of functions, "io" of the IR's
 * own, "odd" where nobody knows, or "else".
 */
GLOW_API const char *glow_op_family(const glow_op *op);

GLOW_END

#endif
