/*
 * form-units: give nodes to the units of the backend.
 *
 *     %p = MatMul(%a, %b)   =>   %x = Transpose(Reshape(%a))
 *                                %s = acme.Conv(%x, %w)
 *                                %p = Reshape(Transpose(%s))
 *
 * by the patterns of the backend (`units` of glow_backend): each names an operator, and
 * a function that gives the value which takes the place of a node, or leaves it.  It may
 * read the operands of the node, so that a pattern covers several nodes; those that
 * nobody uses afterwards are erased.  What a pattern does to the layout it says by
 * Reshape and Transpose, which fold into constants and into one another.
 *
 * Runs before lower, since patterns are of operators of the model.
 */

#include "glow/backend.h"
#include "glow/pass.h"

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    const glow_backend *b = glow_run_backend(run);

    return b && b->units ? glow_rewrite_each(run, f, b->units, NULL)
                         : GLOW_UNCHANGED;
}

const glow_pass glow_pass_form_units = {
    .name = "form-units",
    .summary = "give nodes to the units of the backend, by its patterns",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .takes_quantized = true,
    .source = "patterns of BYOC (Chen et al., arXiv 2105.03215)",
};
