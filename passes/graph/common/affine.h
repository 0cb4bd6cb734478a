/*
 * Affine maps y = scale x + shift by constants, per channel of one axis, which
 * passes fold into weights.
 */

#ifndef PASSES_GRAPH_COMMON_AFFINE_H
#define PASSES_GRAPH_COMMON_AFFINE_H

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct affine {
    int64_t channels;
    double *scale, *shift;
    double *work; /* of glow_affine_then */
} affine;

affine glow_affine_new(glow_arena *a, int64_t channels);
/* Sets `m` to the identity, y = x; needed after glow_affine_new. */
void glow_affine_clear(affine *m);
/* Composes: `m` becomes `m`, followed by `next`. */
void glow_affine_append(affine *m, const affine *next);

/*
 * The numbers of `v` along `axis`, if it does not vary along its other axes:
 * constants and Splats, also behind Broadcast, Reshape and Transpose.
 */
bool glow_affine_numbers(const glow_value *v, int axis, int64_t channels,
                         double *out);

/*
 * If node `u` is an affine map of its operand `x` along `axis`, composes: `m`
 * becomes `m`, followed by this map.  Else false, and `m` is undefined.
 */
bool glow_affine_then(affine *m, const glow_node *u, const glow_value *x,
                      int axis);

/*
 * True if `u`, just composed by glow_affine_then, divides by numbers whose
 * reciprocals are inexact, and a discontinuous operator follows: it has to stay
 * a division.
 */
bool glow_affine_must_divide(const affine *m, glow_pass_run *run,
                             const glow_node *u);

/* The operand of which `u` may be an affine map, or NULL. */
glow_value *glow_affine_operand(const glow_node *u);

bool glow_affine_is_scale(const affine *m);    /* no shift */
bool glow_affine_is_shift(const affine *m);    /* scale 1 */
bool glow_affine_is_positive(const affine *m); /* scale above 0 */

/*
 * Operators that commute with affine maps: glow_affine_moves, with this map;
 * glow_affine_may_move, with some. glow_affine_axis_before is the axis of operand 0 for
 * `axis` of the result, and glow_affine_axis_after the reverse.
 */
bool glow_affine_moves(const affine *m, const glow_node *n);
bool glow_affine_may_move(const glow_node *n);
int glow_affine_axis_before(const glow_node *n, int axis); /* -1: none */
int glow_affine_axis_after(const glow_node *n, int axis);

/*
 * The channel of an element of a tensor of weights: element i has channel i /
 * block * count + i % block / inner % count.
 */
typedef struct affine_layout {
    int64_t block, inner, count;
} affine_layout;

int64_t glow_affine_channel(affine_layout layout, int64_t i);

/*
 * A constant of the type of `w`, each element times the scale of its channel:
 * computed in double and rounded once.  NULL if it would overflow or lose
 * digits, or after a report.
 */
glow_value *glow_affine_scaled(glow_builder *b, const glow_value *w,
                               affine_layout layout, const double *scale);
/*
 * A constant of `count` elements; NULL if a number is out of range of the kind.
 */
glow_value *glow_affine_constant(glow_builder *b, const char *suffix,
                                 glow_kind kind, const double *x,
                                 int64_t count);

/* True for a dense constant of a float kind whose elements are available. */
bool glow_affine_is_known(const glow_value *v);

#endif
