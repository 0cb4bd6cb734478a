/*
 * fold-broadcast: repeat once what is repeated twice.
 *
 *     Broadcast(Broadcast(%x))                  =>  Broadcast(%x)
 *     Tile(Tile(%x) {Count: 2}) {Count: 3}      =>  Tile(%x) {Count: 6}
 *         along the same axis
 *     Tile(%x), along an axis of one element    =>  Broadcast(%x)
 *     Tile(Broadcast(%x)), along an axis        =>  Broadcast(%x)
 *         that %x has not, or one element of
 *
 * Elements are only moved, so each is exact, and each reads an operand that is
 * not larger, whoever else uses what stood between.  A Broadcast is one
 * primitive operator, a Tile becomes three, and passes that look for what
 * repeats along an axis look for a Broadcast: it is the form to have where both
 * will do.  Copies of more than one element one after another are no Broadcast;
 * these stay.
 *
 * ONNX's Tile, one Tile for each axis, and its Expand meet in what exporters
 * make of repeat() and expand(); lowered arithmetic broadcasts again what was a
 * Broadcast.
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

/* Does the Broadcast `n` repeat one element along `axis` of its result? */
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

    if (t->count == 1) /* eliminate-identity's */
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
    .summary = "repeat once what is repeated twice",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
