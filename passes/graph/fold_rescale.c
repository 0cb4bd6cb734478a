/*
 * fold-rescale: let the operators before and behind a RescaleQuantized do its work.
 *
 *     %y = Add(%a, %b) : i8[S O]                  %z = Add(%a, %b) : i8[S' O']
 *     %z = RescaleQuantized(%y) : i8[S' O']   =>
 *
 *     %r = RescaleQuantized(%x) : i8[S' O']       %y = Mul(%x, %b)
 *     %y = Mul(%r, %b)                        =>
 *
 * The operator before states the new type (arithmetic, products, AvgPool, Quantize,
 * another RescaleQuantized; the result has no other user), or the one behind reads
 * elements of the old type (arithmetic, Dequantize, AvgPool).
 *
 * A rounding goes, so that results may differ by one step; no saturation does: the
 * range of the first type must hold that of the second in the first case, and that of
 * the second the first in the other, up to half a step of the type that goes.  Glow
 * joins them in any case, and so loses a Relu that the ends of a type stand for.
 * Nothing is done under -exact.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* Operators that state the type of their result, whatever the operands have. */
static const glow_op *const producers[] = {
    &glow_op_add,
    &glow_op_avgpool,
    &glow_op_batchmatmul,
    &glow_op_channelwisequantizedconvolution,
    &glow_op_convolution,
    &glow_op_div,
    &glow_op_fullyconnected,
    &glow_op_matmul,
    &glow_op_mul,
    &glow_op_quantize,
    &glow_op_rescalequantized,
    &glow_op_rowwisequantizedfullyconnected,
    &glow_op_sub,
};

/* Operators that read elements of any type; comparisons might jump. */
static const glow_op *const consumers[] = {
    &glow_op_add, &glow_op_avgpool, &glow_op_dequantize, &glow_op_div,
    &glow_op_max, &glow_op_min,     &glow_op_mul,        &glow_op_sub,
};

static bool
has(const glow_op *const *list, size_t count, const glow_op *op)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == op)
            return true;
    return false;
}

/* The reals of a type: from its least to its largest element. */
static double
end_of(const glow_type *t, int64_t q)
{
    return (double)t->scale * (double)(q - t->offset);
}

/*
 * True if the range of `outer`, the type that goes, holds that of `inner`, up to the
 * half of a step by which its rounding moves any number: types of one range end at
 * different multiples of their scales.
 */
static bool
holds(const glow_type *outer, const glow_type *inner)
{
    double half = (double)outer->scale / 2;

    return end_of(outer, glow_quantized_least(outer->elem)) - half <=
               end_of(inner, glow_quantized_least(inner->elem)) &&
           end_of(outer, glow_quantized_most(outer->elem)) + half >=
               end_of(inner, glow_quantized_most(inner->elem));
}

static glow_value *
fold_before(glow_builder *b, const glow_node *r)
{
    const glow_node *p = r->in[0]->def;
    const glow_type *type = r->out[0]->type;

    if (!p || p->pred || !glow_has_one_use(r->in[0]) ||
        !has(producers, sizeof producers / sizeof producers[0], p->op) ||
        p->out[0]->type->elem != type->elem || !holds(p->out[0]->type, type))
        return NULL;
    glow_builder_fuses(b, p);
    return glow_build(b, p->op, type, p->in, p->n_in, p->attrs);
}

/* Operand `i` without a RescaleQuantized that does not saturate. */
static glow_value *
unscaled(const glow_node *n, int i)
{
    const glow_node *r = glow_def(n->in[i], &glow_op_rescalequantized);

    return r && r->in[0]->type->elem == n->in[i]->type->elem &&
                   holds(n->in[i]->type, r->in[0]->type)
               ? r->in[0]
               : NULL;
}

static glow_value *
fold_behind(glow_builder *b, const glow_node *n)
{
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    bool found = false;

    for (int i = 0; i < n->n_in; i++) {
        glow_value *x = unscaled(n, i);

        in[i] = x ? x : n->in[i];
        found |= x != NULL;
    }
    return found ? glow_build(b, n->op, n->out[0]->type, in, n->n_in, n->attrs)
                 : NULL;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    if (n->pred || n->n_out != 1)
        return NULL;
    if (n->op == &glow_op_rescalequantized)
        return fold_before(b, n);
    return has(consumers, sizeof consumers / sizeof consumers[0], n->op)
               ? fold_behind(b, n)
               : NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_func_may_have(f, &glow_op_rescalequantized) &&
                   !glow_run_is_exact(pass)
               ? glow_rewrite(pass, f, NULL, fold)
               : GLOW_UNCHANGED;
}

const glow_pass glow_pass_fold_rescale = {
    .name = "fold-rescale",
    .summary = "let the operators around a RescaleQuantized do its work",
    .level = GLOW_GRAPH,
    .preserves = GLOW_QUANTIZED,
    .run = run,
    .takes_quantized = true,
    .source = "Glow OptimizeQuantization",
};
