/* Saves, gradients among them, and values in the form of others. */

#include "passes/graph/common/gradients.h"

#include "glow/ops.h"

bool
glow_is_gradient(const glow_node *n)
{
    return n->op == &glow_op_save &&
           glow_attr_find(n->in[1]->storage->attrs, "GradientOf") != NULL;
}

bool
glow_save(glow_builder *b, glow_value *v, glow_value *to)
{
    return v && glow_build_node(b, &glow_op_save, NULL, 0, GLOW_IN(v, to),
                                NULL) != NULL;
}

glow_storage *
glow_save_new(glow_builder *b, const char *name, glow_value *v)
{
    glow_storage *s =
        v ? glow_placeholder_new(glow_builder_module(b), name, v->type) : NULL;

    return s && glow_save(b, v, &s->value) ? s : NULL;
}

glow_value *
glow_in_kind(glow_builder *b, glow_value *v, glow_kind kind)
{
    glow_type type;

    if (!v || v->type->elem == kind)
        return v;
    type = *v->type;
    type.elem = kind;
    return GLOW_BUILD_STATED_PLAIN(
        b, convertto, glow_type_get(glow_builder_context(b), type), GLOW_IN(v));
}

glow_value *
glow_spread(glow_builder *b, glow_value *v, glow_dims shape)
{
    glow_dims ones = shape;

    if (!v || shape.rank == 0)
        return v;
    for (int i = 0; i < ones.rank; i++)
        ones.at[i] = 1;
    v = GLOW_BUILD(b, reshape, GLOW_IN(v), .dims = ones);
    return GLOW_BUILD(b, broadcast, GLOW_IN(v), .axis = 0, .target_dim = shape);
}

glow_value *
glow_sum(glow_builder *b, glow_value *v)
{
    glow_dims axes = {.rank = v ? v->type->shape.rank : 0};

    for (int i = 0; i < axes.rank; i++)
        axes.at[i] = i;
    return axes.rank > 0
               ? GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = axes)
               : v;
}
