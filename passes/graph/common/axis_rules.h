/*
 * Rules for operators under a permutation of the axes of their operands.
 *
 * `perm` is the transpose from the new order to the present one: the present
 * axis i becomes axis perm[i].
 */

#ifndef PASSES_GRAPH_COMMON_AXIS_RULES_H
#define PASSES_GRAPH_COMMON_AXIS_RULES_H

#include "glow/build.h"
#include "passes/graph/common/axes.h"

typedef struct axis_rule {
    const glow_op *op; /* NULL: any element-wise operator */
    /* Permutes the attributes, in a copy; NULL: nothing to permute. */
    void (*move)(void *attrs, glow_dims perm, glow_arena *a);
    /* True if the rule applies; NULL: always. */
    bool (*fits)(const glow_node *n, glow_dims perm);
    bool all; /* operands have the axes of the result; else only the first */
} axis_rule;

/*
 * The rule for `n`; NULL if its axes cannot be permuted, for instance because
 * it has a predicate.
 */
const axis_rule *glow_axis_rule_for(const glow_node *n);

/* The number of operands of `n` that have the axes of its result. */
int glow_axis_rule_operands(const axis_rule *rule, const glow_node *n);

/* The type whose transpose by `perm` is `t`. */
const glow_type *glow_axis_rule_type(glow_builder *b, const glow_type *t,
                                     glow_dims perm);

/*
 * Builds `n` with operands `in`, the first glow_axis_rule_operands of which are in
 * the new order.
 */
glow_value *glow_axis_rule_build(glow_builder *b, const axis_rule *rule,
                                 const glow_node *n, glow_value *const *in,
                                 glow_dims perm);

/* True if glow_axis_rule_free can build `v` in any order of its axes. */
bool glow_axis_rule_is_free(const glow_value *v);

/*
 * `v` in the new order, without cost at run time: a Splat, or a constant, which
 * fold-constants transposes.  NULL if it is neither.
 */
glow_value *glow_axis_rule_free(glow_builder *b, glow_value *v, glow_dims perm);

#endif
