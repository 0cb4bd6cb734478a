/*
 * drop-unused-results: take an operator with fewer results where one of several
 * is used.
 *
 *     %y, %at = MaxPoolWithArgmax(%x)       nobody uses %at
 *         =>
 *     %y = MaxPool(%x)                      its window, its pads
 *
 *     %v, %at = TopK(%x) {K: 1}             nobody uses %v
 *         =>
 *     %at = ArgMax(%x), along the last axis, which is kept
 *
 * A result that nobody uses is still computed, and needs a buffer: positions
 * take 8 bytes each, more than an element.  With Smallest the second is an
 * ArgMin.  Both sides order elements alike: NaN goes before all, and of equal
 * elements the first counts.
 *
 * Left alone are the Values of a TopK of one, since BatchedReduceMax drops the
 * axis and may take another of two zeros or NaNs, and operators that have no
 * variant with fewer results, such as recurrent networks and detectors.
 *
 * Exporters write the indices of pools for a possible unpooling, and
 * torch.max(x, dim) as a TopK; dce removes users of gradients.
 *
 * Afterwards each such node has uses of the result that the variant lacks.
 */

#include "glow/ops.h"
#include "glow/pass.h"

static glow_value *
only_maxima(glow_builder *b, const glow_node *n)
{
    return glow_build(b, &glow_op_maxpool, NULL, GLOW_IN(n->in[0]), n->attrs);
}

static glow_value *
only_position(glow_builder *b, const glow_node *n)
{
    const glow_topk *t = n->attrs;
    const glow_argmax a = {.axis = n->in[0]->type->shape.rank - 1,
                           .keep_dims = true};

    if (t->k != 1)
        return NULL;
    return glow_build(b, t->smallest ? &glow_op_argmin : &glow_op_argmax, NULL,
                      GLOW_IN(n->in[0]), &a);
}

static const struct rule {
    const glow_op *op;
    int used; /* the only result with users */
    glow_value *(*simpler)(glow_builder *b, const glow_node *n);
} rules[] = {
    {&glow_op_maxpoolwithargmax, 0, only_maxima},
    {&glow_op_topk, 1, only_position},
};

static bool
uses_only(const glow_node *n, int used)
{
    for (int i = 0; i < n->n_out; i++)
        if (glow_is_unused(n->out[i]) == (i == used))
            return false;
    return true;
}

static glow_value *
visit(glow_builder *b, glow_node *n)
{
    const struct rule *end = rules + sizeof rules / sizeof rules[0];

    for (const struct rule *r = rules; r < end; r++) {
        glow_value *v;

        if (r->op != n->op || n->pred || !uses_only(n, r->used))
            continue;
        v = r->simpler(b, n);
        if (!v || v->type != n->out[r->used]->type)
            return NULL;
        glow_builder_replace(b, n, r->used, v);
        return glow_keep_rewritten(n);
    }
    return NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, visit);
}

const glow_pass glow_pass_drop_unused_results = {
    .name = "drop-unused-results",
    .summary = "use operators with fewer results where one is unused",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .takes_quantized = true,
    .run = run,
};
