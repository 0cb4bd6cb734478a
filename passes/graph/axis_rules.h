/*
 * How operators change when the axes of what they work on change places.
 *
 * `perm` is the transpose that leads from the new order to the present one:
 * axis i, as the operator sees it now, becomes axis perm[i].
 */

#ifndef PASSES_GRAPH_AXIS_RULES_H
#define PASSES_GRAPH_AXIS_RULES_H

#include "glow/build.h"
#include "passes/graph/axes.h"

typedef struct axis_rule {
    const glow_op *op; /* NULL: any that is element-wise */
    /* Changes attributes, a copy that is the pass's own; NULL: there are none. */
    void (*move)(void *attrs, glow_dims perm, glow_arena *a);
    /* True if it can be done at all; NULL: always. */
    bool (*fits)(const glow_node *n, glow_dims perm);
    bool all; /* operands have the axes of the result; else only the first */
} axis_rule;

/* NULL if `n` wants its axes as they are: it has a predicate, say. */
const axis_rule *axis_rule_for(const glow_node *n);

/* How many operands of `n` have the axes of its result. */
int axis_rule_operands(const axis_rule *rule, const glow_node *n);

/* The type that comes out as `t` after a transpose by `perm`. */
const glow_type *axis_rule_type(glow_builder *b, const glow_type *t,
                                glow_dims perm);

/* `n` with operands `in`, which have the new order where the rule says so. */
glow_value *axis_rule_build(glow_builder *b, const axis_rule *rule,
                            const glow_node *n, glow_value *const *in,
                            glow_dims perm);

/* True if `v` has any order of its axes for the asking: see below. */
bool axis_rule_is_free(const glow_value *v);

/*
 * `v` in the new order, without work at run time: a Splat, or a constant, which
 * fold-constants will transpose.  NULL if it is neither.
 */
glow_value *axis_rule_free(glow_builder *b, glow_value *v, glow_dims perm);

#endif
