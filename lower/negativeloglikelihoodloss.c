/*
 * lower-negativeloglikelihoodloss: gather the log-likelihoods of the target
 * classes.
 *
 *     %y = NegativeLogLikelihoodLoss(%x, %t, %w) {Reduction: mean,
 *                                                 IgnoreIndex: i}
 *         =>
 *     %ok = CmpNEQ(%t, i)
 *     %s = Select(%ok, %t, 0)
 *     %u = Select(%s < 0, classes, %s)
 *     %p = Gather(Transpose(%x) {classes last}, %u) {batches: all others}
 *     %v = Select(%ok, Gather(%w, %u), 0)
 *     %l = Select(%ok, Neg(%p) * %v, 0)
 *     %y = sum of %l / sum of %v
 *
 * Gather counts indices below 0 from the end, and refuses the number of classes.
 * Without IgnoreIndex there is no Select by %ok; without Weight %v is computed from
 * %ok.
 */

#include "lower/loss.h"

static glow_value *
splat(glow_builder *b, const glow_value *like, double v)
{
    return glow_lower_splat(b, like->type, v);
}

/* A tensor of `type` whose elements are all `v`, exactly. */
static glow_value *
integer(glow_builder *b, const glow_type *type, int64_t v)
{
    if ((int64_t)(float)(int32_t)v == v)
        return glow_lower_splat(b, type, (double)v);

    glow_value *scalar = glow_build_constant(
        b, "scalar",
        glow_type_get(glow_builder_context(b),
                      glow_type_of(type->elem, (glow_dims){0})));

    if (!scalar)
        return NULL;
    glow_set_int(&scalar->storage->tensor, 0, v);
    return glow_lower_spread(b, scalar, 0, type->shape);
}

/* True if elements of `kind` may be `v`. */
static bool
can_be(glow_kind kind, int64_t v)
{
    const glow_kind_info *k = glow_kind_get(kind);
    int64_t half;

    if (k->bits >= 64)
        return true;
    half = INT64_C(1) << (k->bits - 1);
    return k->is_signed ? v >= -half && v < half : v >= 0 && v < 2 * half;
}

/* Bool: true for each target that is not `ignored`; NULL if none can be. */
static glow_value *
counting(glow_builder *b, glow_value *target, int64_t ignored)
{
    if (ignored == GLOW_IGNORE_NONE || !can_be(target->type->elem, ignored))
        return NULL;

    glow_value *x = integer(b, target->type, ignored);

    return GLOW_BUILD_PLAIN(b, cmpneq, GLOW_IN(target, x));
}

/* `v`, or 0 where `ok` is false; `ok` may be NULL: true everywhere. */
static glow_value *
held(glow_builder *b, glow_value *ok, glow_value *v)
{
    return ok && v ? glow_build_select(b, ok, v, splat(b, v, 0)) : v;
}

static glow_value *
classes_last(glow_builder *b, glow_value *x)
{
    int rank = x->type->shape.rank;
    glow_dims shuffle = {.rank = rank, .at = {0}};

    if (rank == 2)
        return x;
    for (int i = 1; i < rank; i++)
        shuffle.at[i] = i == rank - 1 ? 1 : i + 1;
    return GLOW_BUILD(b, transpose, GLOW_IN(x), .shuffle = shuffle);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_negativeloglikelihoodloss *l = n->attrs;
    glow_value *x = n->in[0], *w = NULL;
    int last = x->type->shape.rank - 1;
    glow_value *ok = counting(b, n->in[1], l->ignore_index);
    glow_value *target =
        glow_lower_class(b, held(b, ok, n->in[1]), x->type->shape.at[1]);
    glow_value *loss =
        GLOW_BUILD(b, gather, GLOW_IN(classes_last(b, x), target), .axis = last,
                   .batch_dims = last);

    loss = glow_build_neg(b, loss);
    if (n->in[2]) {
        w = held(b, ok, GLOW_BUILD(b, gather, GLOW_IN(n->in[2], target)));
        loss = glow_build_mul(b, loss, w);
    } else if (ok) {
        w = glow_lower_convert(b, ok, x->type->elem);
    }
    return glow_lower_loss(b, held(b, ok, loss), w, l->reduction);
}

const glow_pass glow_pass_lower_negativeloglikelihoodloss = {
    .name = "lower-negativeloglikelihoodloss",
    .summary = "express NegativeLogLikelihoodLoss by Gather and sums",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_negativeloglikelihoodloss,
    .rewrite = lower,
    .source = "the function body of ONNX NegativeLogLikelihoodLoss",
};
