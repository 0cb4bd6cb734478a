/*
 * sink-reshape: move a Reshape below the operator that reads it.
 *
 *     %a = Reshape(%x) {Dims: d}            %b = Relu(%x)
 *     %y = Relu(%a)                    =>   %y = Reshape(%b) {Dims: d}
 *
 * An element-wise operator is independent of axes.  All operands must be
 * available in the shape of %x:
 *
 *     a Reshape of that shape
 *     a value with equal elements: a Splat of the other shape
 *     any other constant: a Reshape, for fold-constants to evaluate
 *     a Broadcast along whole groups of the axes that are joined or split
 *
 * and at least one is the first of these, not of a constant.  An operator with
 * axes as attributes can be moved if each of them is an axis of %x too, or a
 * group of axes where it takes several; a table has the change of attributes
 * for each operator.  Elements keep their order, so sums are in the same order.
 *
 * Importers write products of tensors as products of matrices between reshapes,
 * and squeeze before a SoftMax.  Sunk reshapes meet other reshapes, or
 * operators that absorb them (absorb-reshape), and a bias becomes adjacent to
 * its product.  A reshape with other users stays, since it would be built
 * twice.  Afterwards a reshape is read only by operators that depend on the
 * shape, by a Dequantize or RescaleQuantized (which fold-quantization and sink-rescale
 * move below it), or at the end of the graph.  Glow sinks below BatchNormalization, Quantize, ConvertTo and operators of
 * one operand.
 */

#include "glow/match.h"
#include "glow/pass.h"
#include "passes/graph/common/axes.h"

/* Operand and result shape of the reshape. */
typedef struct shapes {
    glow_dims in, out;
    axis_groups groups;
} shapes;

/*
 * The number of axes in [begin, end) of more than one element; sets `*axis` to
 * the last of them.
 */
static int
count_long(glow_dims shape, int begin, int end, int *axis)
{
    int count = 0;

    for (int i = begin; i < end; i++) {
        if (shape.at[i] == 1)
            continue;
        *axis = i;
        count++;
    }
    return count;
}

/*
 * The axis of the reshape's operand that corresponds to axis `out` of its
 * result, or -1.
 */
static int
same_axis(const shapes *s, int out)
{
    const axis_groups *g = &s->groups;
    int in = -1, at = -1, k = 0;

    if (s->out.at[out] == 1)
        return -1;
    while (out >= g->out[k + 1])
        k++;
    if (count_long(s->out, g->out[k], g->out[k + 1], &at) != 1 ||
        count_long(s->in, g->in[k], g->in[k + 1], &in) != 1)
        return -1;
    return in;
}

/* Changes a copy `to` of the attributes; false if it is impossible. */
typedef bool (*move_fn)(void *to, const shapes *s);

static bool
move_axis(int *axis, const shapes *s)
{
    *axis = same_axis(s, *axis);
    return *axis >= 0;
}

static bool
move_batchnormalization(void *to, const shapes *s)
{
    return move_axis(&((glow_batchnormalization *)to)->channel_idx, s);
}

static bool
move_channelshuffle(void *to, const shapes *s)
{
    return move_axis(&((glow_channelshuffle *)to)->kernel, s);
}

static bool
move_cumsum(void *to, const shapes *s)
{
    return move_axis(&((glow_cumsum *)to)->dim, s);
}

static bool
move_flip(void *to, const shapes *s)
{
    return move_axis(&((glow_flip *)to)->axis, s);
}

static bool
move_softmax(void *to, const shapes *s)
{
    return move_axis(&((glow_softmax *)to)->axis, s);
}

/*
 * The normalized axes, the last ones, must keep their shape, and so the
 * parameters.
 */
static bool
move_layernormalization(void *to, const shapes *s)
{
    glow_layernormalization *l = to;
    int count = s->out.rank - l->axis, first = s->in.rank - count;

    if (first < 0)
        return false;
    for (int i = 0; i < count; i++)
        if (s->in.at[first + i] != s->out.at[l->axis + i])
            return false;
    l->axis = first;
    return true;
}

/* Operators of one tensor, whose result has its shape. */
static const struct rule {
    const glow_op *op;
    move_fn move;
} rules[] = {
    {&glow_op_batchnormalization, move_batchnormalization},
    {&glow_op_channelshuffle, move_channelshuffle},
    {&glow_op_cumprod, move_cumsum},
    {&glow_op_cumsum, move_cumsum},
    {&glow_op_flip, move_flip},
    {&glow_op_hardmax, move_softmax},
    {&glow_op_layernormalization, move_layernormalization},
    {&glow_op_logsoftmax, move_softmax},
    {&glow_op_rmsnormalization, move_layernormalization},
    {&glow_op_softmax, move_softmax},
};

static const struct rule *
rule_for(const glow_op *op)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].op == op)
            return &rules[i];
    return NULL;
}

/* Operands in the original shape. */

/*
 * Sets `*x` to the shape of the operand of a Broadcast to `s->in`; false if
 * there is none.
 */
static bool
shape_before(const shapes *s, glow_dims aligned, glow_dims *x)
{
    const axis_groups *g = &s->groups;

    *x = s->in;
    for (int k = 0; k < g->count; k++) {
        bool all = true, none = true;

        for (int i = g->out[k]; i < g->out[k + 1]; i++) {
            all = all && aligned.at[i] == s->out.at[i];
            none = none && aligned.at[i] == 1;
        }
        if (!all && !none)
            return false;
        for (int i = g->in[k]; i < g->in[k + 1] && !all; i++)
            x->at[i] = 1;
    }
    return true;
}

/* The reshape of operand `i` if `n` is its only user, else NULL. */
static const glow_node *
own_reshape(const glow_node *n, int i)
{
    const glow_node *r = glow_def(n->in[i], &glow_op_reshape);

    if (!r || glow_is_constant_like(r->in[0]))
        return NULL;
    GLOW_FOR_EACH_USE(u, n->in[i])
        if (u->user != n)
            return NULL;
    return r;
}

/*
 * True if operand `i` is available in the original shape without a new reshape.
 */
static bool
is_at_hand(const glow_node *n, int i, const shapes *s)
{
    const glow_node *r = glow_def(n->in[i], &glow_op_reshape);
    const glow_node *c = glow_def(n->in[i], &glow_op_broadcast);
    double value;
    glow_dims x;

    return (r && glow_dims_equal(r->in[0]->type->shape, s->in)) ||
           glow_splat_value(n->in[i], &value) ||
           (glow_is_constant(n->in[i]) &&
            n->in[i]->storage->payload != GLOW_ELIDED) ||
           (c && shape_before(s, glow_axes_aligned(c), &x));
}

static glow_value *
operand_before(glow_builder *b, glow_value *v, const shapes *s)
{
    const glow_node *r = glow_def(v, &glow_op_reshape);
    const glow_node *c = glow_def(v, &glow_op_broadcast);
    glow_type type = glow_type_of(v->type->elem, s->in);
    double value;
    glow_dims x;

    if (r && glow_dims_equal(r->in[0]->type->shape, s->in))
        return r->in[0];
    type.scale = v->type->scale;
    type.offset = v->type->offset;
    if (glow_splat_value(v, &value) && (double)(float)value == value)
        return glow_build(b, &glow_op_splat,
                          glow_type_get(glow_builder_context(b), type), NULL, 0,
                          &(const glow_splat){.value = (float)value});
    if (c && shape_before(s, glow_axes_aligned(c), &x)) {
        v = GLOW_BUILD(b, reshape, GLOW_IN(c->in[0]), .dims = x);
        return GLOW_BUILD(b, broadcast, GLOW_IN(v), .axis = 0,
                          .target_dim = s->in);
    }
    return GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = s->in);
}

/* The reshape to sink, or NULL; sets `s`. */
static const glow_node *
find_reshape(const glow_node *n, int count, shapes *s)
{
    const glow_node *found = NULL;

    for (int i = 0; i < count && !found; i++)
        found = own_reshape(n, i);
    if (!found)
        return NULL;
    s->in = found->in[0]->type->shape;
    s->out = found->out[0]->type->shape;
    if (!glow_axes_find_groups(s->in, s->out, &s->groups))
        return NULL;
    for (int i = 0; i < count; i++)
        if (!n->in[i] || !is_at_hand(n, i, s))
            return NULL;
    return found;
}

static glow_value *
sink(glow_builder *b, glow_node *n)
{
    glow_arena *a = glow_builder_scratch(b);
    const struct rule *rule = rule_for(n->op);
    int count = rule ? 1 : n->n_in;
    const glow_type *type = NULL;
    shapes s;

    if ((!rule && !(n->op->traits & GLOW_ELEMENTWISE)) || n->n_out != 1 ||
        n->pred || glow_axes_moved_before(n) || !find_reshape(n, count, &s))
        return NULL;

    void *attrs = glow_attrs_copy(a, glow_op_schema(n->op), n->attrs);
    glow_value **in = GLOW_NEW_ARRAY(a, glow_value *, n->n_in);

    if (rule && !rule->move(attrs, &s))
        return NULL;
    for (int i = 0; i < n->n_in; i++)
        in[i] = i < count ? operand_before(b, n->in[i], &s) : n->in[i];
    if (glow_states_type(n)) {
        glow_type before = *n->out[0]->type;

        before.shape = s.in;
        type = glow_type_get(glow_builder_context(b), before);
    }

    glow_value *y = glow_build(b, n->op, type, in, n->n_in, attrs);

    return GLOW_BUILD(b, reshape, GLOW_IN(y), .dims = s.out);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, sink);
}

const glow_pass glow_pass_sink_reshape = {
    .name = "sink-reshape",
    .summary = "sink a Reshape below the operator that reads it",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .takes_quantized = true,
    .run = run,
    .source = "Glow SinkReshapes",
};
