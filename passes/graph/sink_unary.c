/*
 * sink-unary: move element-wise operators below a Concat.
 *
 *     Concat([ConvertTo(%x), ConvertTo(%y)])  =>  ConvertTo(Concat([%x, %y]))
 *
 * An element-wise operator of one operand commutes with Concat, bit for bit, if
 * operator, kinds and attributes are equal for all operands.  None of the
 * results may have another user, so that n - 1 of n nodes are saved.
 *
 * ConvertTo is always sunk, because it may cancel with a conversion behind the
 * Concat.  Others are sunk with the option `all`, which no pipeline sets:
 * fuse-epilogue fuses a Relu with the convolution before it, at no cost.
 * Glow's SinkConversions and SinkCode do this for ConvertTo, for Tanh on
 * demand, and for Relu always.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

typedef struct sink_options {
    bool all;
} sink_options;

static bool
is_unary(const glow_op *op, bool all)
{
    return op == &glow_op_convertto ||
           (all && (op->traits & GLOW_PURE) &&
            (op->traits & GLOW_ELEMENTWISE) && glow_op_operands(op) == 1 &&
            glow_op_variadic(op) < 0);
}

/*
 * True if operand `i` has the operator, kinds and attributes of operand 0, and
 * no other user.
 */
static bool
is_alike(const glow_node *n, int i)
{
    const glow_node *first = n->in[0]->def;
    const glow_node *m = glow_only_def(n->in[i], first->op);

    return m && m->in[0]->type->elem == first->in[0]->type->elem &&
           m->in[0]->type->scale == first->in[0]->type->scale &&
           m->in[0]->type->offset == first->in[0]->type->offset &&
           glow_attrs_equal(glow_op_schema(m->op), m->attrs, first->attrs);
}

static glow_value *
sink(glow_builder *b, glow_node *n)
{
    const sink_options *options = glow_run_options(glow_builder_run(b));
    const glow_node *first = n->n_in >= 2 ? n->in[0]->def : NULL;
    glow_value **in;
    glow_value *joined;

    if (!first || n->pred || first->pred || !is_unary(first->op, options->all))
        return NULL;
    in = GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        if (!is_alike(n, i))
            return NULL;
        in[i] = n->in[i]->def->in[0];
    }
    for (int i = 0; i < n->n_in; i++)
        glow_builder_fuses(b, n->in[i]->def);
    joined = glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
    return glow_build(b, first->op,
                      glow_states_type(first) ? n->out[0]->type : NULL,
                      GLOW_IN(joined), first->attrs);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_concat, sink);
}

const glow_pass glow_pass_sink_unary = {
    .name = "sink-unary",
    .summary = "sink element-wise operators below a Concat",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(sink_options, all, GLOW_FLAG,
                                   "every operator of one operand")},
    .defaults = &(const sink_options){.all = false},
    .run = run,
};
