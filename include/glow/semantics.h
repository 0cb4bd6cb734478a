/*
 * Translation validation by execution: a function is run before and after a pass
 * on the same inputs, and the contents of its placeholders are compared.
 *
 * Inputs come in sets: a ramp, random numbers, small integers (sums of which are
 * exact in every order), numbers of all sizes and signs, multiples of what the
 * function divides and multiplies by (exact quotients, ties), and special values,
 * one after the other (zeros of both signs, denormals, infinities, NaN; the least
 * and the largest integers).  Functions of over 2e9 operations are run on random
 * numbers and small integers alone; those of under 1e6 on special values from
 * four places on, so that tensors of four elements see all sixteen.  A set that
 * the function refuses before the pass (an index out of range) is tried again with
 * integers from 0 to 4, with all integers zero, then left out with a warning
 * (W0411); a function that refuses all of them is an error (E0413).
 *
 * The pass declares the relation that must hold:
 *
 *   GLOW_EXACT      equal bits; any NaN equals any NaN
 *   GLOW_REASSOC    |after - before| <= 8 e + 16 eps m, where s is what a run in
 *                   float64 of the function before the pass gives, e the largest
 *                   |before - s| and m the largest |s| of the tensor, and eps the
 *                   distance from 1 to the next number of its kind.  Small
 *                   integers on which before equals s everywhere, in multiples
 *                   of 1/16: equal, but for the sign of zeros (others have
 *                   constants in them that are no integers).  In float64 s says
 *                   nothing: 1024 eps m.
 *                   Integer kinds: equal; quantized kinds: a step apart.
 *                   A NaN that s has too, as of inf * 0, may become a number: an
 *                   activation has a limit where its formula has none.
 *                   Special values are not compared, nor tensors in which numbers
 *                   of all sizes or multiples overflowed before.
 *                   Further apart only by what `after` rounds itself: its own
 *                   float64 run is within eps m of s, and it within 1024 eps m
 *                   of that run.  Or where roundings count for more than m says,
 *                   since large numbers cancel out: 16 times as far from each
 *                   other as s is from a float64 run, each node of which is off
 *                   by up to eps of its results, drawn at random, but for
 *                   those of element-wise primitives that the kind holds: behind
 *                   exact results a jump is where it was.
 *   GLOW_PRECISION  the same, eps being that of the narrowest kind in either
 *   GLOW_QUANTIZED  two bounds, on random numbers (of a placeholder with a range:
 *                   within it).  Node by node: where a quantized operator, or the
 *                   Dequantize behind it, took the place of a node of floats, and its
 *                   name, the latter is run in float64 on the operands that the
 *                   quantized operator got and on its own weights w.  Held to the range of the
 *                   quantized type, of scale s, its result y is at most
 *                   s/2 + sum |x| s_w/2 + s_b/2 + 16 eps sum |x w| away, where |x| counts
 *                   the mean of its channel too if a bias may be corrected by it.  A node
 *                   between quantized elements that was rewritten under its name:
 *                   one step of what it was on the same operands.  Values, of
 *                   which neither has a place before and after, count for nothing.
 *                   Constant weights in blocks of 8 or 4 bits: a step of the block.
 *                   And end to end: the outputs of floats are, in the root of the
 *                   mean of squares, at most 3 times as far from a float64 run as
 *                   the worst of 8 such runs in which each value and weight that is
 *                   quantized afterwards is off by up to half a step, drawn at
 *                   random; no element is further than 32 times.
 *   GLOW_CHANGES    nothing
 */

#ifndef GLOW_SEMANTICS_H
#define GLOW_SEMANTICS_H

#include "glow/pipeline.h"

GLOW_BEGIN

typedef struct glow_semantics glow_semantics;

/* Results of nodes are kept in a memo of at most `memo_bytes`. */
GLOW_API glow_semantics *glow_semantics_new(glow_context *ctx, uint64_t seed,
                                            size_t memo_bytes);
GLOW_API void glow_semantics_free(glow_semantics *s); /* NULL is fine */

/*
 * Records the results of `f` (NULL: each function of `m`) before `p` runs.  Results
 * of an earlier call of glow_semantics_after are reused.
 */
GLOW_API void glow_semantics_before(glow_semantics *s, const glow_pass *p,
                                    glow_module *m, glow_func *f);
/*
 * Compares; `p` may have replaced the function by one of the same name.  False
 * after a report of E0411 (another result), E0412 (does not run any more),
 * E0413 (could not be run at all) or E0414 (another signature).
 */
GLOW_API bool glow_semantics_after(glow_semantics *s, const glow_pass *p,
                                   glow_module *m);

/* Both of the above, around each pass of a pipeline. */
GLOW_API glow_instrument glow_semantics_instrument(glow_semantics *s);

/* True once a comparison failed: tools then exit with 3. */
GLOW_API bool glow_semantics_failed(const glow_semantics *s);

GLOW_END

#endif
