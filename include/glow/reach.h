/*
 * Backward reachability from discontinuous operators: which results may make a
 * jump out of one rounding more.
 *
 * Floor(x / 41) is 1 for 41, and Floor(x * (1 / 41)) is 0.  Passes that round a
 * quotient in another way, most of all as a product by the reciprocal, ask
 * first, and leave it where the answer is true.
 */

#ifndef GLOW_REACH_H
#define GLOW_REACH_H

#include "glow/pass.h"

GLOW_BEGIN

/*
 * True if a float that changes by a rounding may change a result of `n` by more:
 * of GLOW_DISCONTINUOUS operators, of unknown ones, of calls, and of all that
 * take floats and give another kind (comparisons, casts, Quantize, indices).
 */
GLOW_API bool glow_is_discontinuous(const glow_node *n);

/*
 * True if a result of `n`, through any number of nodes, is an operand of such a
 * node, or is read again: saved to an output of a body, or to a placeholder that
 * the function reads too.  The first question of a
 * pass run costs a walk over the function, later ones a look.  Nodes that were
 * built since count as the node did that glow_rewrite replaced by them; others
 * that were built since: true.
 */
GLOW_API bool glow_run_reaches_jump(glow_pass_run *run, const glow_node *n);

/*
 * True if x / y is x * (1 / y) to the last bit for numbers y of this size: a
 * power of two, the reciprocal of which is normal in float16 too.
 */
GLOW_API bool glow_is_exact_divisor(double y);

GLOW_END

#endif
