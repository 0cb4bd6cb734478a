/*
 * merge-normalization-scale: merge scale and shift into a normalization.
 *
 *     LayerNormalization(%x, %s, %b) * [%t]
 *         =>  LayerNormalization(%x, %s * %t, %b * %t)
 *     LayerNormalization(%x, %s, %b) + [%t]
 *         =>  LayerNormalization(%x, %s, %b + %t)
 *
 * and the same of RMSNormalization, which has no bias, and, with a [%t] for
 * each channel, of BatchNormalization, InstanceNormalization and
 * GroupNormalization.  If Scale and Bias are omitted, %t takes their place.
 * [%t] is constant along all axes but those of Scale, so that each of its
 * elements corresponds to one of Scale; it may also be subtracted, and divide
 * if it is constant and no discontinuous operator follows (glow/reach.h).
 *
 *     LayerNormalization(%x, _, _) {Axis: 2} * [%t]       %t for each of axis 1
 *         =>  InstanceNormalization(%x, %t, 0) {ChannelIdx: 1}
 *     Reshape(InstanceNormalization(Reshape(%x), 1, 0) {ChannelIdx: 1}) * [%t]
 *         =>  GroupNormalization(%x, %t, 0) {ChannelIdx: 1, Group: g}
 *
 * where the inner reshape splits the channels into g groups and may flatten
 * what follows them.  PyTorch writes GroupNorm like that, and
 * recognize-normalization builds the LayerNormalization from the formula.
 *
 * The result must have no other users.  Sums and products of constants are
 * folded later.  Glow's foldLayerNormArithmetic requires Scale and Bias of the
 * shape of %t; its tests foldMulAddIntoLayerNorm are special cases.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/reach.h"
#include "glow/trace.h"

enum { X, SCALE, BIAS };

/* Normalizations with a scale, and the axes of it. */
typedef struct norm {
    const glow_op *op;
    bool has_bias;
    bool is_inner; /* the scale has all axes from Axis on; else the channels
                    * alone */
} norm;

static const norm norms[] = {
    {&glow_op_batchnormalization, true, false},
    {&glow_op_groupnormalization, true, false},
    {&glow_op_instancenormalization, true, false},
    {&glow_op_layernormalization, true, true},
    {&glow_op_rmsnormalization, false, true},
};

static const norm *
find_norm(const glow_node *n)
{
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++)
        if (n && !n->pred && norms[i].op == n->op)
            return &norms[i];
    return NULL;
}

/* The first axis of the scale; its only axis, unless it is inner. */
static int
axis_of(const glow_node *n)
{
    const glow_batchnormalization *bn = GLOW_AS(batchnormalization, n);
    const glow_groupnormalization *gn = GLOW_AS(groupnormalization, n);
    const glow_instancenormalization *in = GLOW_AS(instancenormalization, n);
    const glow_layernormalization *ln = n->attrs;

    return bn   ? bn->channel_idx
           : gn ? gn->channel_idx
           : in ? in->channel_idx
                : ln->axis;
}

/*
 * `v` reduced to axis `axis`, or the axes from it on; NULL if it varies along
 * others.
 */
static glow_value *
part_of(glow_builder *b, glow_value *v, int axis, bool is_inner)
{
    glow_trace t = glow_trace_begin(v);
    glow_dims shape = {0};
    double number;

    for (int i = axis; i < (is_inner ? t.shape.rank : axis + 1); i++)
        shape.at[shape.rank++] = t.shape.at[i];
    if (glow_splat_value(v, &number)) {
        glow_type type = glow_type_of(v->type->elem, shape);

        return glow_build_splat(
            b, "scale", glow_type_get(glow_builder_context(b), type), number);
    }
    if (!glow_trace_is_inner(&t, axis))
        return NULL;
    for (int i = axis + 1; !is_inner && i < t.shape.rank; i++)
        if (t.axis.at[i] >= 0)
            return NULL;
    if (!is_inner)
        t.shape.rank = t.axis.rank = axis + 1;
    return glow_trace_inner(b, &t, axis);
}

/* op(v, t); `t` if `v` is NULL. */
static glow_value *
combine(glow_builder *b, const glow_op *op, glow_value *v, glow_value *t)
{
    return v ? glow_build(b, op, NULL, GLOW_IN(v, t), NULL) : t;
}

/* The node `n` with another scale and bias. */
static glow_value *
rebuild(glow_builder *b, const glow_node *n, const norm *k, glow_value *scale,
        glow_value *bias)
{
    glow_value *in[GLOW_MAX_OPERANDS] = {0};

    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i];
    in[SCALE] = scale;
    if (k->has_bias)
        in[BIAS] = bias;
    glow_builder_fuses(b, n);
    return glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
}

/* Merges the other operand into the normalization n->in[i]. */
static glow_value *
merge_into(glow_builder *b, glow_node *n, int i)
{
    const glow_node *y = n->in[i]->def;
    const norm *k = find_norm(y);
    bool is_scale = n->op == &glow_op_mul || n->op == &glow_op_div;
    glow_value *t, *scale, *bias;

    if (!k || !glow_has_one_use(n->in[i]) || (!is_scale && !k->has_bias))
        return NULL;
    t = part_of(b, n->in[1 - i], axis_of(y), k->is_inner);
    if (!t || (n->op == &glow_op_div &&
               (!glow_is_constant_like(t) ||
                glow_run_reaches_jump(glow_builder_run(b), n))))
        return NULL;
    scale = y->in[SCALE];
    bias = k->has_bias ? y->in[BIAS] : NULL;
    if (n->op == &glow_op_div && !scale)
        t = GLOW_BUILD_PLAIN(b, reciprocal, GLOW_IN(t));
    if (n->op == &glow_op_sub && !bias)
        t = GLOW_BUILD_PLAIN(b, neg, GLOW_IN(t));
    if (!is_scale) {
        bias = combine(b, n->op, bias, t);
    } else {
        const glow_op *by = scale ? n->op : &glow_op_mul;

        bias = bias ? combine(b, by, bias, t) : NULL;
        scale = combine(b, n->op, scale, t);
    }
    return rebuild(b, y, k, scale, bias);
}

/* True if Scale and Bias are omitted, or splats of 1 and 0. */
static bool
is_bare(const glow_node *n)
{
    return (!n->in[SCALE] || glow_is_number(n->in[SCALE], 1)) &&
           (!n->in[BIAS] || glow_is_number(n->in[BIAS], 0));
}

/*
 * The definition of `v` if it is a normalization, without a scale, of the axes
 * from 2 on of a tensor, or of a tensor whose axis 1 was split.  Sets *x,
 * *groups and *epsilon.
 */
static const glow_node *
find_groups(glow_value *v, glow_value **x, int64_t *groups, float *epsilon)
{
    const glow_node *outer = glow_only_def(v, &glow_op_reshape), *n, *inner;
    const glow_layernormalization *ln;
    const glow_instancenormalization *in;
    glow_dims shape = v->type->shape, split;

    n = outer ? outer->in[0]->def : v->def;
    ln = GLOW_AS(layernormalization, n);
    in = GLOW_AS(instancenormalization, n);
    if (!(ln || in) || n->pred || !glow_has_one_use(n->out[0]) || !is_bare(n) ||
        (ln && ln->axis != 2) || (in && in->channel_idx != 1))
        return NULL;
    *epsilon = ln ? ln->epsilon : in->epsilon;
    *x = n->in[X];
    if (outer) {
        inner = glow_def(n->in[X], &glow_op_reshape);
        if (!inner)
            return NULL;
        *x = inner->in[0];
    }
    split = n->out[0]->type->shape;
    if ((*x)->type != v->type || shape.rank < 3 || split.rank < 3 ||
        split.at[0] != shape.at[0] || split.at[1] < 1 ||
        shape.at[1] % split.at[1] != 0)
        return NULL;
    *groups = split.at[1];
    return n;
}

static glow_value *
make_groups(glow_builder *b, glow_node *n, int i)
{
    int64_t groups;
    float epsilon;
    glow_value *x, *t, *zero;
    const glow_node *y = find_groups(n->in[i], &x, &groups, &epsilon);
    double number;

    if (!y || glow_splat_value(n->in[1 - i], &number))
        return NULL;
    t = part_of(b, n->in[1 - i], 1, false);
    if (!t)
        return NULL;
    zero = glow_build_splat(b, "bias", t->type, 0);
    glow_builder_fuses(b, y);
    if (groups == x->type->shape.at[1])
        return GLOW_BUILD(b, instancenormalization, GLOW_IN(x, t, zero),
                          .channel_idx = 1, .epsilon = epsilon);
    return GLOW_BUILD(b, groupnormalization, GLOW_IN(x, t, zero),
                      .channel_idx = 1, .group = groups, .epsilon = epsilon);
}

static glow_value *
merge(glow_builder *b, glow_node *n)
{
    bool is_pair = n->op == &glow_op_add || n->op == &glow_op_mul;
    glow_value *y = NULL;

    for (int i = 0; i < (is_pair ? 2 : 1) && !y; i++)
        y = merge_into(b, n, i);
    for (int i = 0; i < 2 && !y && n->op == &glow_op_mul; i++)
        y = make_groups(b, n, i);
    return y;
}

static const glow_rewrite_row rows[] = {
    {&glow_op_add, merge},
    {&glow_op_div, merge},
    {&glow_op_mul, merge},
    {&glow_op_sub, merge},
    {0},
};

static bool
gives_floats(const glow_node *n)
{
    return glow_is_float(n->out[0]->type->elem);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, gives_floats);
}

const glow_pass glow_pass_merge_normalization_scale = {
    .name = "merge-normalization-scale",
    .summary = "merge scale and shift into normalizations",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Glow, foldLayerNormArithmetic; Wu, He, arXiv:1803.08494",
};
