/*
 * demo.form-scale: multiply by a number, not by a tensor of it.
 *
 *     constant @c : float<2 x 3> = splat(0.5)
 *     %y = Mul(%x, @c)   =>   %y = demo.Scale(%x) {Factor: 0.5}
 *
 * Both round the same product once, so not a bit changes.  The constant may
 * stand on either side.  Afterwards no Mul of floats reads a splat.
 */

#include "demo.h"

static bool
is_splat(const glow_value *v)
{
    return glow_is_constant(v) && v->storage->payload == GLOW_SPLAT;
}

/* Returns the node to use instead of the product `n`, or NULL to keep it. */
static glow_value *
form(glow_builder *b, glow_node *n)
{
    int c = is_splat(n->in[1]) ? 1 : 0;

    if (!is_splat(n->in[c]) || n->in[c]->type->elem != GLOW_FLOAT)
        return NULL;

    demo_scale s = {.factor = (float)n->in[c]->storage->splat};

    return glow_build(b, &demo_op_scale, NULL, GLOW_IN(n->in[1 - c]), &s);
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_mul, form);
}

const glow_pass demo_pass_form_scale = {
    .name = "demo.form-scale",
    .summary = "multiply by a number, not by a tensor of it",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
