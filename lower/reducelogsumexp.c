/*
 * lower-reducelogsumexp: subtract the maximum first.
 *
 *     %m = BatchedReduceMax(%x) {Axes: a}, or 0 where that is infinite
 *     %e = Exp(%x - [%m])                                [..]: Broadcast to %x
 *     %y = Log(BatchedReduceAdd(%e) {Axes: a}) + %m
 *
 * No exponential exceeds 1, and one of them is 1.  An infinite maximum is not
 * subtracted, because inf - inf is NaN; the formula without it gives the
 * result.
 */

#include "lower/common.h"

#include <math.h>

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_reduce *r = n->attrs;
    glow_value *x = n->in[0];
    glow_kind kind = x->type->elem;

    if (glow_lower_is_short(kind))
        x = glow_lower_convert(b, x, GLOW_FLOAT);

    glow_dims shape = x ? x->type->shape : (glow_dims){0}, kept = shape;
    glow_value *m, *limit, *spread;

    m = GLOW_BUILD(b, batchedreducemax, GLOW_IN(x), .axes = r->axes);
    if (!m)
        return NULL;
    limit = GLOW_BUILD_PLAIN(b, abs, GLOW_IN(m));
    limit = glow_lower_below(b, limit, (double)INFINITY);
    m = glow_build_select(b, limit, m, glow_lower_splat(b, m->type, 0));
    for (int i = 0; i < r->axes.rank; i++)
        kept.at[r->axes.at[i]] = 1;
    spread = glow_lower_spread(b, glow_build_reshape(b, m, kept), 0, shape);
    x = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(glow_build_sub(b, x, spread)));
    x = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(x), .axes = r->axes);
    x = glow_build_add(b, glow_build_log(b, x), m);
    return glow_lower_convert(b, x, kind);
}

const glow_pass glow_pass_lower_reducelogsumexp = {
    .name = "lower-reducelogsumexp",
    .summary = "express ReduceLogSumExp by BatchedReduceMax, Exp and Log",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_reducelogsumexp,
    .rewrite = lower,
};
