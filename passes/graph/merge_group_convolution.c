/*
 * merge-group-convolution: merge parallel convolutions to a grouped
 * convolution.
 *
 *     %a = Slice(%x) {Start: [0, 0, 0, 0]} : [N, H, W, 48]
 *     %b = Slice(%x) {Start: [0, 0, 0, 48]} : [N, H, W, 48]
 *     %c = Convolution(%a, @f, @p) {Group: 1}
 *     %d = Convolution(%b, @g, @q) {Group: 1}
 *     %y = Concat([%c, %d]) {Dim: 3}
 *         =>
 *     %y = Convolution(%x, Concat([@f, @g]), Concat([@p, @q])) {Group: 2}
 *
 * Group i of a convolution reads the i-th part of the channels and writes the
 * i-th part of the result, which the slices and the concatenation express.  The
 * slices must cover all channels of %x in order, with one size, and so must the
 * results; the convolutions must have the same attributes; their numbers of
 * groups add up.  They must have no other users.
 *
 * Filters and biases are constants, which fold-constants concatenates.  With
 * one channel for each slice this is a depthwise convolution, for which the CPU
 * backend has a special kernel.  Caffe's two-GPU networks and frameworks
 * without groups write it so.  Afterwards no concatenation joins such
 * convolutions.
 *
 * Glow has no such pass: it lowers groups to this form.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/*
 * The convolution that defines a concatenated part, with constant filter, or
 * NULL.
 */
static const glow_node *
part_of(const glow_value *v)
{
    const glow_node *n = glow_only_def(v, &glow_op_convolution);

    if (!n || !glow_is_constant(n->in[1]) || n->in[1]->type->strides.rank ||
        (n->in[2] &&
         (!glow_is_constant(n->in[2]) || n->in[2]->type->strides.rank)))
        return NULL;
    return n;
}

/*
 * True if `v` is the slice of channels [at, at + count) of `x`, with all other
 * axes whole.
 */
static bool
is_slice_of(const glow_value *v, const glow_value *x, int64_t at, int64_t count)
{
    const glow_node *n = glow_def(v, &glow_op_slice);
    const glow_slice *s = n ? n->attrs : NULL;
    glow_dims shape = x->type->shape;
    int last = shape.rank - 1;

    if (!n || n->in[0] != x || s->start.at[last] != at ||
        (s->steps.rank && s->steps.at[last] != 1))
        return false;
    for (int i = 0; i < last; i++)
        if (s->start.at[i] != 0 || (s->steps.rank && s->steps.at[i] != 1))
            return false;
    shape.at[last] = count;
    return glow_dims_equal(v->type->shape, shape);
}

/* True if `a` and `b` differ only in their operands. */
static bool
is_alike(const glow_node *a, const glow_node *b)
{
    return glow_attrs_equal(glow_op_schema(a->op), a->attrs, b->attrs) &&
           a->in[1]->type == b->in[1]->type && !a->in[2] == !b->in[2];
}

/* The value that the parts are slices of, or NULL. */
static glow_value *
common_operand(const glow_node *concat)
{
    const glow_node *first = part_of(concat->in[0]);
    const glow_node *slice =
        first ? glow_def(first->in[0], &glow_op_slice) : NULL;
    glow_value *x = slice ? slice->in[0] : NULL;
    int64_t each;

    if (!x)
        return NULL;
    each = first->in[0]->type->shape.at[x->type->shape.rank - 1];
    if (each * concat->n_in != x->type->shape.at[x->type->shape.rank - 1])
        return NULL;
    for (int i = 0; i < concat->n_in; i++) {
        const glow_node *n = part_of(concat->in[i]);

        if (!n || !is_alike(first, n) ||
            !is_slice_of(n->in[0], x, i * each, each))
            return NULL;
    }
    return x;
}

/* The concatenation of operand `k` of all parts. */
static glow_value *
joined(glow_builder *b, const glow_node *concat, int k)
{
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, concat->n_in);
    glow_concat c = {.dim = 0};

    for (int i = 0; i < concat->n_in; i++) {
        in[i] = concat->in[i]->def->in[k];
        if (!in[i])
            return NULL;
    }
    return glow_build(b, &glow_op_concat, NULL, in, concat->n_in, &c);
}

static glow_value *
merge(glow_builder *b, glow_node *concat)
{
    const glow_concat *c = concat->attrs;
    glow_value *x, *filter, *bias;
    glow_convolution group;

    if (concat->pred || concat->n_in < 2 ||
        c->dim != concat->out[0]->type->shape.rank - 1)
        return NULL;
    x = common_operand(concat);
    if (!x)
        return NULL;
    group = *(const glow_convolution *)concat->in[0]->def->attrs;
    group.group *= concat->n_in;
    for (int i = 0; i < concat->n_in; i++)
        glow_builder_fuses(b, concat->in[i]->def);
    filter = joined(b, concat, 1);
    bias = joined(b, concat, 2);
    return glow_build(b, &glow_op_convolution, NULL, GLOW_IN(x, filter, bias),
                      &group);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, &glow_op_concat, merge);
}

const glow_pass glow_pass_merge_group_convolution = {
    .name = "merge-group-convolution",
    .summary = "merge parallel convolutions to a grouped convolution",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .run = run,
    .source = "Krizhevsky et al., ImageNet Classification with Deep "
              "Convolutional Neural Networks, 2012, section 3.5",
};
