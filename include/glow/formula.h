/*
 * Formulas: element-wise arithmetic in a normal form, independent of its spelling.
 *
 * A number is a value for which glow_splat_value holds.  Work is bounded: formulas
 * are read at most a few nodes deep.
 */

#ifndef GLOW_FORMULA_H
#define GLOW_FORMULA_H

#include "glow/build.h"

GLOW_BEGIN

/* scale * x + shift, by Add, Sub, Mul, Div and Neg with numbers. */
typedef struct glow_affine {
    glow_value *x;
    double scale, shift;
    bool divides; /* by a number whose reciprocal rounds */
} glow_affine;

/* Reads `v`; an inner node is part of the formula only if it has no other use. */
GLOW_API glow_affine glow_read_affine(glow_value *v);

#define GLOW_MAX_FACTORS 3

/* scale * factor[0] * ..., by Mul, Div by numbers and Neg. */
typedef struct glow_factors {
    double scale;
    bool divides; /* as above */
    int count;
    glow_value *factor[GLOW_MAX_FACTORS];
} glow_factors;

/*
 * Reads the element-wise node `n`; an inner node is part of the formula only if it
 * has no other use.  False if there are more factors than GLOW_MAX_FACTORS.
 */
GLOW_API bool glow_read_factors(glow_node *n, glow_factors *p);

#define GLOW_MAX_DEGREE 3

/* c[0] + c[1] x + c[2] x^2 + ... */
typedef struct glow_polynomial {
    double c[GLOW_MAX_DEGREE + 1];
} glow_polynomial;

/* `v` as a polynomial of `x`, by arithmetic and Pow; false if it is none. */
GLOW_API bool glow_read_polynomial(const glow_value *v, const glow_value *x,
                                   glow_polynomial *p);

/* True if `a` is `b` within a few roundings of the float kind `kind`. */
GLOW_API bool glow_is_near(double a, double b, glow_kind kind);

GLOW_END

#endif
