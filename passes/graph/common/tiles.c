/* Properties of nodes for tiling; see tiles.h. */

#include "passes/graph/common/tiles.h"

#include "glow/ops.h"

bool
glow_tile_is_free(const glow_node *n)
{
    return glow_is(n, &glow_op_reshape) || glow_is(n, &glow_op_splat) ||
           glow_is(n, &glow_op_broadcast);
}

bool
glow_tile_is_stacked_on(const glow_node *n)
{
    GLOW_FOR_EACH_USE(u, n->out[0])
        if (!(u->user->op->traits & GLOW_ELEMENTWISE) || u->user->n_out != 1 ||
            !glow_dims_equal(u->user->out[0]->type->shape,
                             n->out[0]->type->shape))
            return false;
    return n->out[0]->uses;
}

/* True if `n` has a user other than a Concat. */
static bool
is_read(const glow_node *n)
{
    GLOW_FOR_EACH_USE(u, n->out[0])
        if (!glow_is(u->user, &glow_op_concat))
            return true;
    return false;
}

bool
glow_tile_is_far(const glow_node *n, int64_t cache)
{
    return n->n_out == 1 && glow_type_bytes(n->out[0]->type) > cache &&
           !glow_tile_is_free(n) && !glow_tile_is_stacked_on(n) && is_read(n);
}

bool
glow_tile_joins_rows(const glow_node *n)
{
    const glow_concat *c = GLOW_AS(concat, n);
    glow_dims shape = n->out[0]->type->shape;
    int axis = 0;

    while (axis + 1 < shape.rank && shape.at[axis] == 1)
        axis++;
    return c && c->dim == axis;
}

int64_t
glow_tile_constants(const glow_node *n)
{
    int64_t bytes = 0;

    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && glow_is_constant(n->in[i]))
            bytes += glow_type_bytes(n->in[i]->type);
    return bytes;
}
