/*
 * lower-rotaryembedding: rotate pairs of elements, of the two halves or
 * neighbours.
 *
 *     %a, %b = the two elements of all pairs                  [B, H, S, R] each
 *     %u = [Cos] * %a - [Sin] * %b;  %v = [Sin] * %a + [Cos] * %b
 *     %y = Concat(%u, %v, rest of Input); interleaved: %u and %v side by side
 */

#include "lower/common.h"

/* R elements of each row from `start` on, `step` apart. */
static glow_value *
part(glow_builder *b, glow_value *x, int64_t start, int64_t step, int64_t size)
{
    glow_type type = glow_type_of(x->type->elem, x->type->shape);

    type.shape.at[3] = size;
    return GLOW_BUILD_STATED(b, slice,
                             glow_type_get(glow_builder_context(b), type),
                             GLOW_IN(x), .start = GLOW_DIMS_OF(0, 0, 0, start),
                             .steps = GLOW_DIMS_OF(1, 1, 1, step));
}

/* The sine or cosine `v` of an angle, broadcast over the heads. */
static glow_value *
spread(glow_builder *b, glow_value *v, glow_dims shape)
{
    glow_dims s = v->type->shape;

    v = glow_build_reshape(b, v, GLOW_DIMS_OF(s.at[0], 1, s.at[1], s.at[2]));
    return glow_lower_spread(b, v, 0, shape);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_rotaryembedding *a = n->attrs;
    glow_value *x = n->in[0], *u, *v, *y[2], *all;
    glow_dims shape = x->type->shape, pairs = shape;
    int64_t r = n->in[1]->type->shape.at[2], step = a->interleaved ? 2 : 1;

    if (r == 0)
        return x;
    pairs.at[3] = r;

    glow_value *c = spread(b, n->in[1], pairs), *s = spread(b, n->in[2], pairs);
    glow_value *first = part(b, x, 0, step, r);
    glow_value *second = part(b, x, a->interleaved ? 1 : r, step, r);

    u = glow_build_mul(b, c, first);
    u = glow_build_sub(b, u, glow_build_mul(b, s, second));
    v = glow_build_mul(b, s, first);
    v = glow_build_add(b, v, glow_build_mul(b, c, second));
    y[0] = u;
    y[1] = v;
    if (a->interleaved) {
        glow_dims each =
            GLOW_DIMS_OF(shape.at[0], shape.at[1], shape.at[2], r, 1);

        y[0] = glow_build_reshape(b, u, each);
        y[1] = glow_build_reshape(b, v, each);
    }
    all = glow_build(b, &glow_op_concat, NULL, y, 2,
                     &(const glow_concat){.dim = a->interleaved ? 4 : 3});
    pairs.at[3] = 2 * r;
    all = glow_build_reshape(b, all, pairs);
    if (2 * r == shape.at[3])
        return all;
    y[0] = all;
    y[1] = glow_lower_cut(b, x, 3, 2 * r, shape.at[3] - 2 * r);
    return glow_build(b, &glow_op_concat, NULL, y, 2,
                      &(const glow_concat){.dim = 3});
}

const glow_pass glow_pass_lower_rotaryembedding = {
    .name = "lower-rotaryembedding",
    .summary = "express RotaryEmbedding by products, sums and Concat",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_rotaryembedding,
    .rewrite = lower,
};
