/* Permutations of axes; see axes.h. */

#include "passes/graph/common/axes.h"

glow_dims
glow_axes_compose(glow_dims first, glow_dims second)
{
    glow_dims both = {.rank = second.rank};

    for (int i = 0; i < both.rank; i++)
        both.at[i] = first.at[second.at[i]];
    return both;
}

glow_dims
glow_axes_inverse(glow_dims perm)
{
    glow_dims p = {.rank = perm.rank};

    for (int i = 0; i < perm.rank; i++)
        p.at[perm.at[i]] = i;
    return p;
}

glow_dims
glow_axes_identity(int rank)
{
    glow_dims p = {.rank = rank};

    for (int i = 0; i < rank; i++)
        p.at[i] = i;
    return p;
}

bool
glow_axes_is_identity(glow_dims perm)
{
    for (int i = 0; i < perm.rank; i++)
        if (perm.at[i] != i)
            return false;
    return true;
}

glow_dims
glow_axes_permute(glow_dims list, glow_dims perm)
{
    return glow_axes_compose(list, perm);
}

glow_dims
glow_axes_restore(glow_dims list, glow_dims perm)
{
    glow_dims old = list;

    for (int i = 0; i < list.rank; i++)
        old.at[perm.at[i]] = list.at[i];
    return old;
}

bool
glow_axes_keep_order(glow_dims shape, glow_dims perm)
{
    int64_t last = -1;

    for (int i = 0; i < perm.rank; i++) {
        int64_t axis = perm.at[i];

        if (shape.at[axis] == 1)
            continue;
        if (axis < last)
            return false;
        last = axis;
    }
    return true;
}

bool
glow_axes_find_groups(glow_dims in, glow_dims out, axis_groups *g)
{
    int i = 0, j = 0;

    *g = (axis_groups){0};
    if (glow_dims_count(in) == 0)
        return false;
    while (i < in.rank || j < out.rank) {
        int64_t a = i < in.rank ? in.at[i++] : 1;
        int64_t b = j < out.rank ? out.at[j++] : 1;

        while (a != b)
            *(a < b ? &a : &b) *= a < b ? in.at[i++] : out.at[j++];
        g->count++;
        g->in[g->count] = i;
        g->out[g->count] = j;
    }
    return true;
}

glow_dims
glow_axes_aligned(const glow_node *broadcast)
{
    const glow_broadcast *c = broadcast->attrs;
    glow_dims x = broadcast->in[0]->type->shape;
    glow_dims full = {.rank = c->target_dim.rank};

    for (int i = 0; i < full.rank; i++)
        full.at[i] =
            i >= c->axis && i < c->axis + x.rank ? x.at[i - c->axis] : 1;
    return full;
}

glow_dims
glow_axes_left_over(glow_dims perm, glow_dims gone)
{
    glow_dims kept = {0};
    glow_dims left = {0};
    bool is_gone[GLOW_MAX_RANK] = {false};

    for (int i = 0; i < gone.rank; i++)
        is_gone[gone.at[i]] = true;
    for (int i = 0; i < perm.rank; i++)
        if (!is_gone[i])
            kept.at[kept.rank++] = perm.at[i];
    for (int i = 0; i < kept.rank; i++) {
        left.at[left.rank++] = 0;
        for (int j = 0; j < kept.rank; j++)
            left.at[i] += kept.at[j] < kept.at[i];
    }
    return left;
}

/* True if all axes between `last` and `axis` have one element. */
static bool
is_next(glow_dims shape, int last, int axis)
{
    for (int i = last + 1; i < axis; i++)
        if (shape.at[i] != 1)
            return false;
    return last >= 0 && axis > last;
}

axis_blocks
glow_axes_find_blocks(glow_dims shape, glow_dims perm)
{
    axis_blocks b = {0};
    int first[GLOW_MAX_RANK], last = -1;
    int64_t size[GLOW_MAX_RANK];

    for (int i = 0; i < perm.rank; i++) {
        int axis = (int)perm.at[i];

        if (shape.at[axis] == 1)
            continue;
        if (is_next(shape, last, axis)) {
            size[b.count - 1] *= shape.at[axis];
        } else {
            first[b.count] = axis;
            size[b.count++] = shape.at[axis];
        }
        last = axis;
    }
    for (int i = 0; i < b.count; i++) {
        for (int k = 0; k < b.count; k++)
            b.order[i] += first[k] < first[i];
        b.size[b.order[i]] = size[i];
    }
    return b;
}

bool
glow_axes_moved_before(const glow_node *n)
{
    return glow_is(n, &glow_op_dequantize) ||
           glow_is(n, &glow_op_rescalequantized) ||
           (glow_is(n, &glow_op_bitcast) &&
            glow_is_quantized(n->in[0]->type->elem));
}
