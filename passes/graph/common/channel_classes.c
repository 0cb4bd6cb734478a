/* Union-find over the channels of a graph. */

#include "passes/graph/common/channel_classes.h"

#include "passes/graph/common/topology.h"

enum { FIXED = 0 };

int32_t
glow_channel_class(channel_classes *c, int32_t x)
{
    while (c->parent[x] != x)
        x = c->parent[x] = c->parent[c->parent[x]];
    return x;
}

/* The least member represents a class, so that the fixed one stays 0. */
static void
unite(channel_classes *c, int32_t x, int32_t y)
{
    x = glow_channel_class(c, x);
    y = glow_channel_class(c, y);
    if (x < y)
        c->parent[y] = x;
    else
        c->parent[x] = y;
}

void
glow_channel_fix(channel_classes *c, int32_t channel)
{
    unite(c, FIXED, channel);
}

static int32_t
new_channel(channel_classes *c)
{
    int32_t x = (int32_t)c->count;

    c->parent = glow_arena_grow(c->arena, c->parent, c->count, &c->cap,
                                sizeof *c->parent);
    c->parent[c->count++] = x;
    return x;
}

channel_list
glow_channels_of(const channel_classes *c, const glow_value *v)
{
    return v && v->def && v->def->func == c->func && v->index == 0
               ? c->of[v->def->id]
               : (channel_list){0};
}

static void
fix_value(channel_classes *c, const glow_value *v)
{
    channel_list l = glow_channels_of(c, v);

    for (int64_t i = 0; i < l.count; i++)
        glow_channel_fix(c, l.at[i]);
}

static void
fix_operands(channel_classes *c, const glow_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        fix_value(c, n->in[i]);
}

/*
 * The list along an axis of `size` elements, each of `inner` elements, of a dense
 * tensor that is a reshape of one of `shape`; empty if the axis splits channels.
 */
static channel_list
regrouped(const channel_classes *c, channel_list l, glow_dims shape, int axis,
          int64_t size, int64_t inner)
{
    int64_t step = glow_dims_product(shape, l.axis + 1, shape.rank);
    int32_t *at;

    if (l.count == 0 || inner == 0 || step % inner != 0 ||
        (size * inner) % (l.count * step) != 0)
        return (channel_list){0};
    at = GLOW_NEW_ARRAY(c->arena, int32_t, size + 1);
    for (int64_t i = 0; i < size; i++)
        at[i] = l.at[i * inner / step % l.count];
    return (channel_list){axis, size, at};
}

/* The axis of a reshape that holds all of the channels, the shortest. */
static channel_list
reshaped(const channel_classes *c, channel_list l, const glow_node *n)
{
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;

    for (int i = y.rank - 1; i >= 0; i--) {
        channel_list to =
            regrouped(c, l, x, i, y.at[i], glow_dims_product(y, i + 1, y.rank));

        if (to.count)
            return to;
    }
    return (channel_list){0};
}

/* Operators of one operand that commute with factors of channels. */
static bool
moves(const glow_node *n)
{
    double two = 2, none = 0;
    affine m = {.channels = 1, .scale = &two, .shift = &none};

    return glow_affine_may_move(n) && n->n_out == 1 && glow_affine_moves(&m, n);
}

static channel_list
moved(const channel_classes *c, const glow_node *n)
{
    channel_list l = glow_channels_of(c, n->in[0]);

    if (l.count == 0)
        return l;
    if (n->op == &glow_op_reshape)
        return reshaped(c, l, n);
    l.axis = glow_affine_axis_after(n, l.axis);
    return l.axis < 0 ? (channel_list){0} : l;
}

/* Element-wise operators of two operands that commute with a common factor. */
static const glow_op *const meeting[] = {&glow_op_add, &glow_op_sub,
                                         &glow_op_max, &glow_op_min};

static bool
meets(const glow_node *n)
{
    for (size_t i = 0; i < sizeof meeting / sizeof meeting[0]; i++)
        if (n->op == meeting[i])
            return !n->pred;
    return false;
}

/* Unites the channels of all operands, if all have the same axis. */
static channel_list
met(channel_classes *c, const glow_node *n)
{
    channel_list first = glow_channels_of(c, n->in[0]);

    for (int i = 0; i < n->n_in; i++) {
        channel_list l = glow_channels_of(c, n->in[i]);

        if (l.count == 0 || l.axis != first.axis || l.count != first.count)
            return (channel_list){0};
    }
    for (int i = 1; i < n->n_in; i++)
        for (int64_t k = 0; k < first.count; k++)
            unite(c, first.at[k], glow_channels_of(c, n->in[i]).at[k]);
    return first;
}

/* A Concat of channels: the lists of all operands behind one another. */
static channel_list
joined(const channel_classes *c, const glow_node *n, int axis)
{
    channel_list y = {axis, 0, NULL};
    int32_t *at =
        GLOW_NEW_ARRAY(c->arena, int32_t, n->out[0]->type->shape.at[axis] + 1);

    for (int i = 0; i < n->n_in; i++) {
        channel_list l = glow_channels_of(c, n->in[i]);

        if (l.count == 0 || l.axis != axis)
            return (channel_list){0};
        for (int64_t k = 0; k < l.count; k++)
            at[y.count++] = l.at[k];
    }
    y.at = at;
    return y;
}

static channel_list
concatenated(channel_classes *c, const glow_node *n)
{
    const glow_concat *concat = n->attrs;
    channel_list first = glow_channels_of(c, n->in[0]);

    return first.count && first.axis == concat->dim ? joined(c, n, concat->dim)
                                                    : met(c, n);
}

/* Linear operators. */

static bool
is_absorbing(const glow_node *n)
{
    const linear *l = glow_linear_of(n);

    return l && l->inputs && n->op != &glow_op_gemm && !n->pred &&
           glow_linear_has_channels(n) && glow_affine_is_known(n->in[1]) &&
           n->out[0]->type->elem == GLOW_FLOAT &&
           (n->n_in < 3 || !n->in[2] || glow_affine_is_known(n->in[2]));
}

/* The channels of Input as the weights of a FullyConnected number them. */
static channel_list
flattened(const channel_classes *c, const glow_node *n, channel_list l)
{
    const glow_fullyconnected *fc = n->attrs;
    glow_dims x = n->in[0]->type->shape;

    return l.count && l.axis >= fc->axis
               ? regrouped(c, l, x, 1, n->in[1]->type->shape.at[0], 1)
               : (channel_list){0};
}

static channel_list
input_channels(const channel_classes *c, const glow_node *n)
{
    const linear *l = glow_linear_of(n);
    channel_list in = glow_channels_of(c, n->in[0]);

    if (n->op == &glow_op_fullyconnected)
        return flattened(c, n, in);
    return in.count && in.axis == l->input_axis(n) ? in : (channel_list){0};
}

bool
glow_channels_of_linear(const channel_classes *c, const glow_node *n,
                        channel_list *out, channel_list *in)
{
    if (!is_absorbing(n))
        return false;
    *out = c->of[n->id];
    *in = input_channels(c, n);
    return true;
}

static channel_list
fresh(channel_classes *c, const glow_node *n)
{
    int axis = glow_linear_of(n)->axis(n);
    int64_t count = n->out[0]->type->shape.at[axis];
    int32_t *at = GLOW_NEW_ARRAY(c->arena, int32_t, count + 1);

    for (int64_t i = 0; i < count; i++)
        at[i] = new_channel(c);
    return (channel_list){axis, count, at};
}

/* The channels of the result of `n`, whose operands are done. */
static channel_list
channels_after(channel_classes *c, const glow_node *n)
{
    channel_list l = {0};

    if (is_absorbing(n)) {
        if (input_channels(c, n).count == 0)
            fix_operands(c, n);
        return fresh(c, n);
    }
    if (moves(n))
        l = moved(c, n);
    else if (meets(n))
        l = met(c, n);
    else if (glow_is(n, &glow_op_concat) && !n->pred)
        l = concatenated(c, n);
    if (l.count == 0)
        fix_operands(c, n);
    return l;
}

channel_classes *
glow_channel_classes_of(glow_arena *a, glow_func *f)
{
    channel_classes *c = GLOW_NEW(a, channel_classes);

    c->arena = a;
    c->func = f;
    c->order = glow_nodes_in_order(a, f);
    c->of = GLOW_NEW_ARRAY(a, channel_list, (size_t)f->next_id + 1);
    new_channel(c);
    for (int i = 0; i < f->count; i++)
        c->of[c->order[i]->id] = channels_after(c, c->order[i]);
    for (int i = 0; i < f->count; i++)
        if (c->order[i]->pred)
            fix_value(c, c->order[i]->pred);
    return c;
}
