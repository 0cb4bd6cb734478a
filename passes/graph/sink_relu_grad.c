/*
 * sink-relu-grad: mask the gradient of a max pool before it is spread.
 *
 *     %p = MaxPool(%y)                    %p = MaxPool(%y)
 *     %g = MaxPoolGrad(%y, %d)       =>   %m = ReluGrad(%p, %d)
 *     %r = ReluGrad(%y, %g)               %r = MaxPoolGrad(%y, %m)
 *
 * where nothing else reads %g.  An element of %g that is not 0 is at the greatest
 * element of a window, whose value is that of the window in %p, so both masks are the
 * same.  The mask has as many elements as there are windows, and the last node that
 * reads %y is MaxPoolGrad, which may work in place over it; a convolutional network
 * has such a pair for each Relu before a pool.  There are no more nodes than before.
 *
 * %p must exist: the layer behind the pool keeps it for its own gradient.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* The result of a MaxPool of `y` by the windows of `grad`, or NULL. */
static glow_value *
pool_of(const glow_value *y, const glow_node *grad)
{
    GLOW_FOR_EACH_USE(u, y) {
        glow_node *n = u->user;

        if (glow_is(n, &glow_op_maxpool) && !n->pred && n->func == grad->func &&
            n->out[0]->type == grad->in[1]->type &&
            glow_attrs_equal(glow_op_schema(n->op), n->attrs, grad->attrs))
            return n->out[0];
    }
    return NULL;
}

static glow_value *
sink(glow_builder *b, glow_node *n)
{
    glow_value *y = n->in[0], *pool, *masked;
    const glow_node *grad = glow_only_def(n->in[1], &glow_op_maxpoolgrad);

    if (!grad || grad->in[0] != y)
        return NULL;
    pool = pool_of(y, grad);
    if (!pool)
        return NULL;
    masked = GLOW_BUILD_PLAIN(b, relugrad, GLOW_IN(pool, grad->in[1]));
    return glow_build(b, &glow_op_maxpoolgrad, NULL, GLOW_IN(y, masked),
                      grad->attrs);
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    return glow_rewrite(run, f, &glow_op_relugrad, sink);
}

const glow_pass glow_pass_sink_relu_grad = {
    .name = "sink-relu-grad",
    .summary = "mask the gradient of a max pool before it is spread",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
