/*
 * Maps y = scale x + shift, channel by channel along one axis, that are known
 * numbers: what the passes share that fold them into weights.
 */

#ifndef PASSES_GRAPH_AFFINE_H
#define PASSES_GRAPH_AFFINE_H

#include "glow/ops.h"
#include "glow/pass.h"

typedef struct affine {
    int64_t channels;
    double *scale, *shift;
    double *work; /* of affine_then */
} affine;

affine affine_new(glow_arena *a, int64_t channels);
/* y = x, which a new one is not yet. */
void affine_clear(affine *m);
/* Lets `m` be what it was, followed by `next`. */
void affine_append(affine *m, const affine *next);

/*
 * The numbers of `v` along `axis`, if all along its other axes are the same:
 * constants and Splats, also behind Broadcast, Reshape and Transpose.
 */
bool affine_numbers(const glow_value *v, int axis, int64_t channels,
                    double *out);

/*
 * If node `u` takes its operand `x` through such a map along `axis`: lets `m`
 * be what it was, followed by that.  Else false, and `m` may be anything.
 */
bool affine_then(affine *m, const glow_node *u, const glow_value *x, int axis);

/*
 * True if `u`, which affine_then has just taken, divides by numbers whose
 * reciprocals round, and a jump is behind it: it has to stay a quotient.
 */
bool affine_must_divide(const affine *m, glow_pass_run *run,
                        const glow_node *u);

/* The operand that `u` could take through such a map, or NULL. */
glow_value *affine_operand(const glow_node *u);

bool affine_is_scale(const affine *m);    /* no shift */
bool affine_is_shift(const affine *m);    /* scale 1 */
bool affine_is_positive(const affine *m); /* scale above 0 */

/*
 * Operators that such a map can be done before instead of after: which maps,
 * and along which axis of operand 0 if it was along `axis` of the result.  (To
 * go the other way: affine_axis_after.)
 */
bool affine_moves(const affine *m, const glow_node *n);
bool affine_may_move(const glow_node *n);
int affine_axis_before(const glow_node *n, int axis); /* -1: none */
int affine_axis_after(const glow_node *n, int axis);

/*
 * Which channel an element of a tensor of weights belongs to: element i has
 * i / block * count + i % block / inner % count.
 */
typedef struct affine_layout {
    int64_t block, inner, count;
} affine_layout;

int64_t affine_channel(affine_layout layout, int64_t i);

/*
 * Constants of the type of `w`, each element scaled as its channel: computed in
 * double and rounded once.  NULL if there are none without overflow or the loss
 * of digits, or after a report.
 */
glow_value *affine_scaled(glow_builder *b, const glow_value *w,
                          affine_layout layout, const double *scale);
/* Constants <count>; NULL if the kind cannot hold one of the numbers. */
glow_value *affine_constant(glow_builder *b, const char *suffix, glow_kind kind,
                            const double *x, int64_t count);

/* Constants of a dense float kind that can be read. */
bool affine_is_known(const glow_value *v);

#endif
