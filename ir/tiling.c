/* Iteration spaces of nodes: see glow/tiling.h. */

#include "glow/tiling.h"

#include "glow/graph.h"

/* The iteration space of an element-wise node: the shape of its result. */
static void
tile_elementwise(const glow_node *n, glow_tiling *t)
{
    const glow_type *y = n->out[0]->type;

    t->n_axes = t->n_result = y->shape.rank;
    t->work = 1;
    for (int d = 0; d < y->shape.rank; d++) {
        t->extent[d] = y->shape.at[d];
        t->out[d] = GLOW_TILE_AXIS(d);
        for (int i = 0; i < n->n_in; i++)
            t->in[i][d] = GLOW_TILE_AXIS(d);
    }
}

bool
glow_tiling_of(const glow_node *n, glow_tiling *out)
{
    *out = (glow_tiling){.accumulator = -1, .initial = -1};
    if (n->n_out != 1)
        return false;
    if (n->op->tile)
        return n->op->tile(n, out);
    if (!(n->op->traits & GLOW_ELEMENTWISE) || n->n_in > GLOW_MAX_OPERANDS)
        return false;
    tile_elementwise(n, out);
    return true;
}

int64_t
glow_tiling_count(const glow_tiling *t)
{
    int64_t count = 1;

    for (int i = 0; i < t->n_axes; i++)
        count *= t->extent[i];
    return count;
}
