/*
 * absorb-reshape: merge a Reshape into the operator that reads or defines its
 * operand.
 *
 *     FullyConnected(Reshape(%x)) {Axis: 1}  =>  FullyConnected(%x) {Axis: a}
 *         where the axes of %x before a are the rows
 *
 *     Broadcast(Reshape(%x)) {Axis: a}       =>  Broadcast(%x) {Axis: a'}
 *         where the reshape adds or drops axes of one element
 *
 *     Reshape(Broadcast(%x))                 =>  Broadcast(Reshape(%x)) {Axis: 0}
 *         where each group of axes that is joined or split is repeated as a
 *         whole or not at all
 *
 *     Reshape(ArgMax(%x)), ArgMin            =>  ArgMax(%x) {KeepDims: ..}
 *         where it adds or drops the reduced axis
 *
 * Computation and data movement stay the same.  The third rule keeps the number
 * of nodes, but its reshape has fewer elements, is often of a constant, and no
 * longer hides the broadcast from its users.
 *
 * Reshapes between global pooling and a classifier, or around the weights of a
 * squeeze-and-excite block, are merged here.  A reshape with other users stays
 * for them.
 */

#include "glow/match.h"
#include "glow/pass.h"
#include "passes/graph/common/axes.h"

/* FullyConnected */

static int64_t
product(glow_dims d, int end)
{
    int64_t count = 1;

    for (int i = 0; i < end; i++)
        count *= d.at[i];
    return count;
}

static glow_value *
absorb_flatten(glow_builder *b, glow_node *n)
{
    glow_value *x = glow_through(n->in[0], &glow_op_reshape);
    glow_dims shape = x->type->shape;
    int axis = 0;

    if (x == n->in[0] || glow_dims_count(shape) == 0)
        return NULL;
    while (axis < shape.rank &&
           product(shape, axis) != n->out[0]->type->shape.at[0])
        axis++;
    if (product(shape, axis) != n->out[0]->type->shape.at[0])
        return NULL;
    return GLOW_BUILD(b, fullyconnected, GLOW_IN(x, n->in[1], n->in[2]),
                      .axis = axis);
}

/* Broadcast */

/*
 * The Axis of a Broadcast to `target` that maps axis i of `x` to axis at[i]; -1
 * if there is none.
 */
static int
place_of(glow_dims x, const int at[], glow_dims target)
{
    int place = 0;

    for (int i = 0; i < x.rank; i++)
        if (x.at[i] != 1)
            place = at[i] - i;
    for (int i = 0; i < x.rank; i++)
        if (x.at[i] != 1 && at[i] - i != place)
            return -1;
    return place >= 0 && place + x.rank <= target.rank ? place : -1;
}

static glow_value *
absorb_units(glow_builder *b, glow_node *n)
{
    const glow_broadcast *c = n->attrs;
    glow_value *x = glow_through(n->in[0], &glow_op_reshape);
    glow_dims from = x->type->shape, to = n->in[0]->type->shape;
    int at[GLOW_MAX_RANK] = {0}, place, j = 0;

    if (x == n->in[0])
        return NULL;
    for (int i = 0; i < from.rank; i++) {
        if (from.at[i] == 1)
            continue;
        while (j < to.rank && to.at[j] == 1)
            j++;
        if (j == to.rank || to.at[j] != from.at[i])
            return NULL;
        at[i] = c->axis + j++;
    }
    place = place_of(from, at, c->target_dim);
    if (place < 0)
        return NULL;
    return GLOW_BUILD(b, broadcast, GLOW_IN(x), .axis = place,
                      .target_dim = c->target_dim);
}

/* Reshape */

/*
 * Sets `*x` to the shape of a broadcast's operand for result `out`, with axis
 * groups `g`; false if a group is repeated in part.
 */
static bool
shape_before(const axis_groups *g, glow_dims aligned, glow_dims target,
             glow_dims out, glow_dims *x)
{
    *x = out;
    for (int k = 0; k < g->count; k++) {
        bool all = true, none = true;

        for (int i = g->in[k]; i < g->in[k + 1]; i++) {
            all = all && aligned.at[i] == target.at[i];
            none = none && aligned.at[i] == 1;
        }
        if (!all && !none)
            return false;
        for (int i = g->out[k]; i < g->out[k + 1] && !all; i++)
            x->at[i] = 1;
    }
    return true;
}

static glow_value *
absorb_broadcast(glow_builder *b, glow_node *n)
{
    const glow_node *broadcast = glow_only_def(n->in[0], &glow_op_broadcast);
    const glow_broadcast *c = broadcast ? broadcast->attrs : NULL;
    glow_dims out = n->out[0]->type->shape, x;
    axis_groups g;

    if (!c || !glow_axes_find_groups(c->target_dim, out, &g) ||
        !shape_before(&g, glow_axes_aligned(broadcast), c->target_dim, out, &x))
        return NULL;
    glow_builder_fuses(b, broadcast);
    return GLOW_BUILD(
        b, broadcast,
        GLOW_IN(GLOW_BUILD(b, reshape, GLOW_IN(broadcast->in[0]), .dims = x)),
        .axis = 0, .target_dim = out);
}

static glow_value *
absorb_search(glow_builder *b, glow_node *n)
{
    const glow_node *search = n->in[0]->def;
    glow_dims x;
    glow_argmax a;

    if (!search || search->pred || !glow_has_one_use(n->in[0]) ||
        (search->op != &glow_op_argmax && search->op != &glow_op_argmin))
        return NULL;
    a = *(const glow_argmax *)search->attrs;
    a.keep_dims = !a.keep_dims;
    x = search->in[0]->type->shape;

    glow_dims dropped = {0};

    for (int i = 0; i < x.rank; i++)
        if (i != a.axis)
            dropped.at[dropped.rank++] = x.at[i];
    x.at[a.axis] = 1;
    if (!glow_dims_equal(n->out[0]->type->shape, a.keep_dims ? x : dropped))
        return NULL;
    glow_builder_fuses(b, search);
    return glow_build(b, search->op, NULL, GLOW_IN(search->in[0]), &a);
}

static glow_value *
absorb_producer(glow_builder *b, glow_node *n)
{
    glow_value *y = absorb_broadcast(b, n);

    return y ? y : absorb_search(b, n);
}

static const glow_rewrite_row rows[] = {
    {&glow_op_broadcast, absorb_units},
    {&glow_op_fullyconnected, absorb_flatten},
    {&glow_op_reshape, absorb_producer},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_absorb_reshape = {
    .name = "absorb-reshape",
    .summary = "merge a Reshape into the operator that reads or defines it",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
