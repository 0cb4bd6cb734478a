#include "lower/random.h"

#include "glow/eval.h"

glow_value *
glow_lower_random_constant(glow_builder *b, const glow_node *n)
{
    glow_value *v = glow_build_constant(b, "random", n->out[0]->type);
    glow_tensor *out[1];

    if (!v)
        return NULL;
    out[0] = &v->storage->tensor;
    return glow_eval_node(n, NULL, out, glow_builder_scratch(b)) ? v : NULL;
}

glow_value *
glow_lower_random_uniform(glow_builder *b, glow_dims shape, int64_t seed)
{
    const glow_type *type = glow_type_get(glow_builder_context(b),
                                          glow_type_of(GLOW_FLOAT64, shape));

    const glow_randomuniform a = {.low = 0, .high = 1, .seed = seed};

    return glow_build(b, &glow_op_randomuniform, type, NULL, 0, &a);
}
