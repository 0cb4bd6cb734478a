/*
 * sink-rescale: move RescaleQuantized and Dequantize below operators that choose
 * elements.
 *
 *     %r = RescaleQuantized(%x) : i8[S' O']       %t = Transpose(%x) : i8[S O]
 *     %t = Transpose(%r)                     =>   %r = RescaleQuantized(%t) : i8[S' O']
 *
 * The same for Reshape, Slice, Gather, MaxPool and other operators that do not add
 * elements; MaxPool passes Dequantize too, whose operands then are few bits.  A Concat
 * of rescaled operands of one type becomes a RescaleQuantized of the Concat.  No
 * operand may have another user.
 *
 *     RescaleQuantized(%x) : T                =>  %x, if T is its type
 *
 * Each element of a result is an element of the operand, and rounding is monotonic, so
 * that the largest of rounded numbers is the largest number, rounded: every bit stays.
 * A RescaleQuantized that sinks meets others, or an operator that takes it in
 * (fold-rescale).  Those that quantize leaves are at operators whose result has the
 * scale of the operand.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* Operators of one operand of data whose results have no more elements. */
static bool
chooses(const glow_node *n)
{
    const glow_maxpool *p = GLOW_AS(maxpool, n);

    return !n->pred && n->n_out == 1 && n->n_in > 0 &&
           n->op != &glow_op_concat && n->op != &glow_op_inserttensor &&
           n->op != &glow_op_pad &&
           (p ? !p->ceil_mode : n->op->traits & GLOW_LAYOUT) &&
           glow_type_count(n->out[0]->type) <= glow_type_count(n->in[0]->type);
}

/* True if every window of a MaxPool has an element of Input. */
static bool
has_no_empty_window(const glow_node *n)
{
    const glow_maxpool *p = n->attrs;

    for (int i = 0; i < p->pads.rank; i++)
        if (p->pads.at[i] >= p->kernels.at[i % p->kernels.rank])
            return false;
    return true;
}

static bool
reads_once(const glow_node *n)
{
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i] && glow_is_quantized(n->in[i]->type->elem))
            return false;
    return true;
}

/* `like` with the shape of `v`. */
static const glow_type *
shaped(glow_builder *b, const glow_type *like, const glow_value *v)
{
    glow_type t = *like;

    t.shape = v->type->shape;
    t.strides.rank = 0;
    return glow_type_get(glow_builder_context(b), t);
}

/* `n` on `x` in place of operand 0, then `conversion`. */
static glow_value *
exchange(glow_builder *b, const glow_node *n, const glow_node *conversion)
{
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    const glow_type *type = shaped(b, conversion->in[0]->type, n->out[0]);
    glow_value *moved;

    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i];
    in[0] = conversion->in[0];
    glow_builder_fuses(b, conversion);
    moved = glow_build_node(b, n->op, &type, 1, in, n->n_in, n->attrs)->out[0];
    return GLOW_BUILD_STATED_PLAIN(b, rescalequantized, n->out[0]->type,
                                   GLOW_IN(moved));
}

static glow_value *
sink_dequantize(glow_builder *b, const glow_node *n, const glow_node *d)
{
    glow_value *pooled;
    const glow_type *type = shaped(b, d->in[0]->type, n->out[0]);

    glow_builder_fuses(b, d);
    pooled = glow_build(b, n->op, type, GLOW_IN(d->in[0]), n->attrs);
    return GLOW_BUILD_STATED_PLAIN(b, dequantize, n->out[0]->type,
                                   GLOW_IN(pooled));
}

/* The RescaleQuantized of operand `i`, if it has the parameters of operand 0's. */
static const glow_node *
alike(const glow_node *n, int i)
{
    const glow_node *r = glow_only_def(n->in[i], &glow_op_rescalequantized);
    const glow_node *first = glow_def(n->in[0], &glow_op_rescalequantized);

    return r && first && r->in[0]->type->elem == first->in[0]->type->elem &&
                   r->in[0]->type->scale == first->in[0]->type->scale &&
                   r->in[0]->type->offset == first->in[0]->type->offset
               ? r
               : NULL;
}

static glow_value *
sink_below_concat(glow_builder *b, const glow_node *n)
{
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    glow_value *joined;

    for (int i = 0; i < n->n_in; i++) {
        const glow_node *r = alike(n, i);

        if (!r)
            return NULL;
        in[i] = r->in[0];
    }
    for (int i = 0; i < n->n_in; i++)
        glow_builder_fuses(b, n->in[i]->def);
    joined = glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
    return GLOW_BUILD_STATED_PLAIN(b, rescalequantized, n->out[0]->type,
                                   GLOW_IN(joined));
}

static glow_value *
sink(glow_builder *b, glow_node *n)
{
    const glow_node *r, *d;

    if (n->pred || n->n_in == 0 || !n->in[0])
        return NULL;
    if (n->op == &glow_op_rescalequantized)
        return n->in[0]->type == n->out[0]->type ? n->in[0] : NULL;
    if (n->op == &glow_op_concat)
        return sink_below_concat(b, n);
    if (!chooses(n))
        return NULL;
    r = glow_only_def(n->in[0], &glow_op_rescalequantized);
    if (r && reads_once(n))
        return exchange(b, n, r);
    d = n->op == &glow_op_maxpool ? glow_only_def(n->in[0], &glow_op_dequantize)
                                  : NULL;
    return d && has_no_empty_window(n) ? sink_dequantize(b, n, d) : NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    if (!glow_func_may_have(f, &glow_op_rescalequantized) &&
        !glow_func_may_have(f, &glow_op_dequantize))
        return GLOW_UNCHANGED;
    return glow_rewrite(pass, f, NULL, sink);
}

const glow_pass glow_pass_sink_rescale = {
    .name = "sink-rescale",
    .summary = "move RescaleQuantized below operators that choose elements",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .takes_quantized = true,
    .source = "Glow OptimizeQuantization, sinkRescaleQuantizedNode",
};
