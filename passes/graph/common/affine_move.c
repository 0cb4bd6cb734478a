/* Operators that commute with affine maps of channels. */

#include "passes/graph/common/affine.h"

static glow_dims
operand_shape(const glow_node *n)
{
    return n->in[0]->type->shape;
}

static glow_dims
result_shape(const glow_node *n)
{
    return n->out[0]->type->shape;
}

/* Axes of results that correspond to `axis` of the operand, or -1. */

static int
own_axis(const glow_node *n, int axis)
{
    (void)n;
    return axis;
}

static int
same_axis(const glow_node *n, int axis)
{
    glow_dims x = operand_shape(n), y = result_shape(n);

    return x.rank == y.rank && x.at[axis] == y.at[axis] ? axis : -1;
}

/* Windows slide over the axes between the first and the last. */
static int
pooled_axis(const glow_node *n, int axis)
{
    return axis == 0 || axis == operand_shape(n).rank - 1 ? axis : -1;
}

static int
padded_axis(const glow_node *n, int axis)
{
    const glow_pad *p = n->attrs;
    int rank = operand_shape(n).rank;

    return p->pads.at[axis] == 0 && p->pads.at[rank + axis] == 0 ? axis : -1;
}

static int
resized_axis(const glow_node *n, int axis)
{
    const glow_grid *r = n->attrs;

    return r->scale.at[axis] == 1 ? same_axis(n, axis) : -1;
}

static int
sliced_axis(const glow_node *n, int axis)
{
    const glow_slice *s = n->attrs;
    bool is_forward = s->steps.rank == 0 || s->steps.at[axis] == 1;

    return is_forward ? same_axis(n, axis) : -1;
}

static int
reshaped_axis(const glow_node *n, int axis)
{
    glow_dims x = operand_shape(n), y = result_shape(n);
    int64_t inner = glow_dims_product(x, axis + 1, x.rank);

    for (int i = y.rank - 1; i >= 0; i--)
        if (y.at[i] == x.at[axis] &&
            glow_dims_product(y, i + 1, y.rank) == inner)
            return i;
    return -1;
}

static int
transposed_axis(const glow_node *n, int axis)
{
    const glow_transpose *t = n->attrs;

    for (int i = 0; i < t->shuffle.rank; i++)
        if (t->shuffle.at[i] == axis)
            return i;
    return -1;
}

static int
reduced_axis(const glow_node *n, int axis)
{
    const glow_reduce *r = n->attrs;
    int left = axis;

    for (int i = 0; i < r->axes.rank; i++) {
        if (r->axes.at[i] == axis)
            return -1;
        left -= r->axes.at[i] < axis;
    }
    return left;
}

/* Maps. */

static bool
any(const affine *m, const glow_node *n)
{
    (void)m, (void)n;
    return true;
}

static bool
only_scale(const affine *m, const glow_node *n)
{
    (void)n;
    return glow_affine_is_scale(m);
}

/* A map with positive scale keeps the order, and so the maximum. */
static bool
only_positive(const affine *m, const glow_node *n)
{
    (void)n;
    return glow_affine_is_positive(m);
}

/* A positive scale without shift keeps signs. */
static bool
only_positive_scale(const affine *m, const glow_node *n)
{
    (void)n;
    return glow_affine_is_scale(m) && glow_affine_is_positive(m);
}

static bool
is_padded(glow_dims pads)
{
    for (int i = 0; i < pads.rank; i++)
        if (pads.at[i] != 0)
            return true;
    return false;
}

/* A mean commutes with a shift, except where it includes padding zeros. */
static bool
of_average(const affine *m, const glow_node *n)
{
    const glow_avgpool *p = n->attrs;

    return glow_affine_is_scale(m) || !p->count_include_pads ||
           !is_padded(p->pads);
}

/* Padding zeros stay zeros under a scale without shift. */
static bool
of_pad(const affine *m, const glow_node *n)
{
    const glow_pad *p = n->attrs;

    return p->mode != GLOW_PAD_CONSTANT ||
           (p->value == 0 && glow_affine_is_scale(m));
}

static const struct rule {
    const glow_op *op;
    bool (*takes)(const affine *m, const glow_node *n);
    int (*after)(const glow_node *n, int axis);
} rules[] = {
    {&glow_op_adaptiveavgpool, any, pooled_axis},
    {&glow_op_avgpool, of_average, pooled_axis},
    {&glow_op_batchedreduceadd, only_scale, reduced_axis},
    {&glow_op_batchedreducemax, only_positive, reduced_axis},
    {&glow_op_batchedreducemean, any, reduced_axis},
    {&glow_op_batchedreducemin, only_positive, reduced_axis},
    {&glow_op_leakyrelu, only_positive_scale, own_axis},
    {&glow_op_maxpool, only_positive, pooled_axis},
    {&glow_op_pad, of_pad, padded_axis},
    {&glow_op_relu, only_positive_scale, own_axis},
    {&glow_op_reshape, any, reshaped_axis},
    {&glow_op_resizenearest, any, resized_axis},
    {&glow_op_slice, any, sliced_axis},
    {&glow_op_transpose, any, transposed_axis},
};

static const struct rule *
rule_for(const glow_node *n)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].op == n->op)
            return &rules[i];
    return NULL;
}

bool
glow_affine_may_move(const glow_node *n)
{
    return !n->pred && n->n_in == 1 && rule_for(n);
}

bool
glow_affine_moves(const affine *m, const glow_node *n)
{
    return rule_for(n)->takes(m, n);
}

int
glow_affine_axis_after(const glow_node *n, int axis)
{
    return rule_for(n)->after(n, axis);
}

int
glow_affine_axis_before(const glow_node *n, int axis)
{
    for (int i = operand_shape(n).rank - 1; i >= 0; i--)
        if (glow_affine_axis_after(n, i) == axis)
            return i;
    return -1;
}
