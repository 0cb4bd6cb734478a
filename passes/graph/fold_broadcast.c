/*
 * fold-broadcast: merge chains of Broadcast and Tile.
 *
 *     Broadcast(Broadcast(%x))                  =>  Broadcast(%x)
 *     Tile(Tile(%x) {Count: 2}) {Count: 3}      =>  Tile(%x) {Count: 6}
 *         along the same axis
 *     Tile(%x), along an axis of one element    =>  Broadcast(%x)
 *     Tile(Broadcast(%x)), along an axis        =>  Broadcast(%x)
 *         that %x lacks, or has one element of
 *
 * Elements are only moved, so each rewrite is exact, and the new node reads an
 * operand that is not larger, even if the intermediate result has other uses.
 * Broadcast is the canonical form where both are possible: it is one primitive
 * operator, while a Tile is lowered to three, and other passes match Broadcast.
 * A Tile of more than one element along its axis is not a Broadcast and stays.
 *
 * Exporters write repeat() and expand() as chains of ONNX's Tile, which becomes
 * one Tile for each axis, and Expand; lowered arithmetic broadcasts the result
 * of a Broadcast.
 *
 * Afterwards no Broadcast reads a Broadcast, and no Tile a Tile of its axis.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

static glow_value *
fold_broadcast(glow_builder *b, glow_node *n)
{
    const glow_node *inner = glow_def(n->in[0], n->op);
    glow_broadcast a = *(const glow_broadcast *)n->attrs;

    if (!inner)
        return NULL;
    a.axis += ((const glow_broadcast *)inner->attrs)->axis;
    glow_builder_fuses(b, inner);
    return glow_build(b, n->op, NULL, GLOW_IN(inner->in[0]), &a);
}

/* True if the Broadcast `n` repeats one element along `axis` of its result. */
static bool
repeats(const glow_node *n, int axis)
{
    glow_dims x = n->in[0]->type->shape;
    int at = axis - ((const glow_broadcast *)n->attrs)->axis;

    return at < 0 || at >= x.rank || x.at[at] == 1;
}

static glow_value *
tile_of_broadcast(glow_builder *b, const glow_node *n, const glow_node *inner)
{
    const glow_broadcast *old = inner->attrs;

    glow_builder_fuses(b, inner);
    return GLOW_BUILD(b, broadcast, GLOW_IN(inner->in[0]), .axis = old->axis,
                      .target_dim = n->out[0]->type->shape);
}

static glow_value *
tile_of_tile(glow_builder *b, const glow_node *n, const glow_node *inner)
{
    const glow_tile *x = inner->attrs;
    glow_tile t = *(const glow_tile *)n->attrs;

    if (x->axis != t.axis || glow_mul_overflow(t.count, x->count, &t.count))
        return NULL;
    glow_builder_fuses(b, inner);
    return glow_build(b, n->op, NULL, GLOW_IN(inner->in[0]), &t);
}

static glow_value *
fold_tile(glow_builder *b, glow_node *n)
{
    const glow_tile *t = n->attrs;
    const glow_node *broadcast = glow_def(n->in[0], &glow_op_broadcast);
    const glow_node *tile = glow_def(n->in[0], n->op);

    if (t->count == 1) /* left to eliminate-identity */
        return NULL;
    if (broadcast && repeats(broadcast, t->axis))
        return tile_of_broadcast(b, n, broadcast);
    if (n->in[0]->type->shape.at[t->axis] == 1)
        return GLOW_BUILD(b, broadcast, GLOW_IN(n->in[0]), .axis = 0,
                          .target_dim = n->out[0]->type->shape);
    return tile ? tile_of_tile(b, n, tile) : NULL;
}

static const glow_rewrite_row rows[] = {
    {&glow_op_broadcast, fold_broadcast},
    {&glow_op_tile, fold_tile},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_fold_broadcast = {
    .name = "fold-broadcast",
    .summary = "merge chains of Broadcast and Tile",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
