/*
 * sink-transpose: move a Transpose below the operator that reads it.
 *
 *     %a = Transpose(%x) {Shuffle: p}       %b = Add(%x, %y)
 *     %c = Transpose(%y) {Shuffle: p}   =>  %z = Transpose(%b) {Shuffle: p}
 *     %z = Add(%a, %c)
 *
 * Axis i of %a is axis p[i] of %x.  An element-wise operator commutes with it;
 * for an operator with axes as attributes, axis i becomes axis p[i]
 * (axis_rules.c has the rules).  All operands of the shape of the result must
 * be available in the old order of axes:
 *
 *     the operand of a transpose by p itself
 *     a Splat, or a constant of equal elements: the same of another shape
 *     any other constant: transposed back, for fold-constants to evaluate
 *     a Broadcast of an operand that is available so
 *     a value whose order of elements stays the same: a Reshape
 *
 * and at least one is the first of these, not of a constant.  The transpose
 * below a reduction is without the reduced axes, and omitted if the others stay
 * in order; the rule applies only if the reduced axes stay in order as well, so
 * that sums have the same order and rounding.
 *
 * Importers wrap convolution and pooling, which have channels last here, into
 * pairs of transposes.  Sunk through the nodes between, two of them meet, and
 * fold-transpose cancels them.  Afterwards a transpose is read only by
 * operators that depend on the order of axes, by a Dequantize or
 * RescaleQuantized (which fold-quantization and sink-rescale move below it), or at the end of the graph.  A transpose with several users is sunk through each of them, which can increase
 * the number of transposes: place-transpose accounts for that, and is used by
 * the pipelines.
 */

#include "glow/pass.h"
#include "passes/graph/common/axis_rules.h"

/* Operands in the old order of axes. */

static bool
is_same_perm(const glow_node *n, glow_dims perm)
{
    const glow_transpose *t = GLOW_AS(transpose, n);

    return t && !n->pred && glow_dims_equal(t->shuffle, perm);
}

/* True if old_operand can build `v` without another transpose at run time. */
static bool
is_at_hand(const glow_value *v, glow_dims perm)
{
    const glow_node *n = v->def;

    if (glow_is(n, &glow_op_broadcast)) {
        const glow_value *x = n->in[0];

        return glow_axes_keep_order(glow_axes_aligned(n),
                                    glow_axes_inverse(perm)) ||
               glow_is_constant(x) ||
               (x->type->shape.rank == perm.rank && is_at_hand(x, perm));
    }
    return is_same_perm(n, perm) || glow_is(n, &glow_op_splat) ||
           (glow_is_constant(v) && v->storage->payload != GLOW_ELIDED) ||
           glow_axes_keep_order(v->type->shape, glow_axes_inverse(perm));
}

static glow_value *old_operand(glow_builder *b, glow_value *v, glow_dims perm);

static glow_value *
old_broadcast(glow_builder *b, const glow_node *n, glow_dims perm)
{
    const glow_broadcast *c = n->attrs;
    glow_value *x = n->in[0];
    glow_dims target = glow_axes_restore(c->target_dim, perm);

    if (x->type->shape.rank == 1)
        return GLOW_BUILD(b, broadcast, GLOW_IN(x),
                          .axis = (int)perm.at[c->axis], .target_dim = target);
    if (glow_axes_keep_order(glow_axes_aligned(n), glow_axes_inverse(perm)))
        x = GLOW_BUILD(b, reshape, GLOW_IN(x),
                       .dims = glow_axes_restore(glow_axes_aligned(n), perm));
    else if (x->type->shape.rank == perm.rank)
        x = old_operand(b, x, perm);
    else
        x = GLOW_BUILD(b, transpose,
                       GLOW_IN(GLOW_BUILD(b, reshape, GLOW_IN(x),
                                          .dims = glow_axes_aligned(n))),
                       .shuffle = glow_axes_inverse(perm));
    return GLOW_BUILD(b, broadcast, GLOW_IN(x), .axis = 0,
                      .target_dim = target);
}

/* The value whose transpose by `perm` is `v`; is_at_hand must hold. */
static glow_value *
old_operand(glow_builder *b, glow_value *v, glow_dims perm)
{
    const glow_type *type = glow_axis_rule_type(b, v->type, perm);

    if (is_same_perm(v->def, perm))
        return v->def->in[0];
    if (glow_is(v->def, &glow_op_broadcast))
        return old_broadcast(b, v->def, perm);
    if (glow_is(v->def, &glow_op_splat))
        return glow_build(b, &glow_op_splat, type, NULL, 0, v->def->attrs);
    if (glow_axes_keep_order(v->type->shape, glow_axes_inverse(perm)))
        return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = type->shape);
    if (v->storage->payload == GLOW_SPLAT && glow_is_float(type->elem))
        return glow_build_splat(b, "splat", type, v->storage->splat);
    return GLOW_BUILD(b, transpose, GLOW_IN(v),
                      .shuffle = glow_axes_inverse(perm));
}

/*
 * The permutation of the transposes of all operands; rank 0 if there is none.
 */
static glow_dims
common_perm(const glow_node *n, int count)
{
    glow_dims perm = {0};

    for (int i = 0; i < count && perm.rank == 0; i++) {
        const glow_transpose *t =
            n->in[i] ? GLOW_AS(transpose, n->in[i]->def) : NULL;

        if (t && !n->in[i]->def->pred &&
            !glow_is_constant(n->in[i]->def->in[0]))
            perm = t->shuffle;
    }
    for (int i = 0; i < count && perm.rank > 0; i++)
        if (!n->in[i] || !is_at_hand(n->in[i], perm))
            perm.rank = 0;
    return perm;
}

/* The node itself. */

static glow_value *
sink(glow_builder *b, glow_node *n, const axis_rule *rule)
{
    int count = glow_axis_rule_operands(rule, n);
    glow_dims perm = common_perm(n, count);
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);

    if (perm.rank == 0 || (rule->fits && !rule->fits(n, perm)))
        return NULL;
    for (int i = 0; i < n->n_in; i++)
        in[i] = i < count ? old_operand(b, n->in[i], perm) : n->in[i];
    return GLOW_BUILD(b, transpose,
                      GLOW_IN(glow_axis_rule_build(b, rule, n, in, perm)),
                      .shuffle = perm);
}

/* Reductions. */

static bool
is_reduction(const glow_node *n)
{
    static const glow_op *const reductions[] = {
        &glow_op_batchedreduceadd,  &glow_op_batchedreducemax,
        &glow_op_batchedreducemean, &glow_op_batchedreducemin,
        &glow_op_batchedreduceprod,
    };

    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (reductions[i] == n->op)
            return true;
    return false;
}

/*
 * Sets `*out` to the axes of `list` in the old order; false if they are not
 * ascending.
 */
static bool
old_axes(glow_dims list, glow_dims perm, glow_dims *out)
{
    out->rank = list.rank;
    for (int i = 0; i < list.rank; i++) {
        out->at[i] = perm.at[list.at[i]];
        if (i > 0 && out->at[i] < out->at[i - 1])
            return false;
    }
    return true;
}

static glow_value *
sink_reduction(glow_builder *b, glow_node *n)
{
    const glow_transpose *t = GLOW_AS(transpose, n->in[0]->def);
    const glow_reduce *r = n->attrs;
    glow_reduce old;

    if (!t || n->in[0]->def->pred || !old_axes(r->axes, t->shuffle, &old.axes))
        return NULL;

    glow_dims left = glow_axes_left_over(t->shuffle, r->axes);
    glow_value *y = glow_build(
        b, n->op,
        glow_states_type(n) ? glow_axis_rule_type(b, n->out[0]->type, left)
                            : NULL,
        GLOW_IN(n->in[0]->def->in[0]), &old);

    return GLOW_BUILD(b, transpose, GLOW_IN(y), .shuffle = left);
}

static glow_value *
visit(glow_builder *b, glow_node *n)
{
    const axis_rule *rule = glow_axis_rule_for(n);

    if (n->n_out != 1 || n->n_in == 0 || n->pred || glow_axes_moved_before(n))
        return NULL;
    if (is_reduction(n))
        return sink_reduction(b, n);
    return rule ? sink(b, n, rule) : NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, visit);
}

const glow_pass glow_pass_sink_transpose = {
    .name = "sink-transpose",
    .summary = "sink a Transpose below the operator that reads it",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .takes_quantized = true,
    .run = run,
};
