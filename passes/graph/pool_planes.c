/*
 * pool-planes: pool images whose channels come first without transposes, each channel as an
 * image.
 *
 *     %t = Transpose(%x) {Shuffle: [0, 2, 3, 1]}      %x: [N, C, H, W]
 *     %p = MaxPool(%t) {..}
 *     %y = Transpose(%p) {Shuffle: [0, 3, 1, 2]}
 *         =>
 *     %r = Reshape(%x) {Dims: [N C, H, W, 1]}
 *     %p = MaxPool(%r) {..}
 *     %y = Reshape(%p) {Dims: [N, C, h, w]}
 *
 * and so for AvgPool, of one to three axes, and with element-wise operators of one operand
 * between the pool and the transpose, up to MOST_CHAIN.  A constant Pad of these axes above the
 * transpose becomes one of %r, for fold-pad.  Pooling treats channels alike and apart, so
 * the windows are the same, and the sums in the same order.
 *
 * Exporters write NCHW, and place-transpose keeps pools between convolutions in NHWC.  What
 * it leaves stands between operators of NCHW, and moved every element twice.  A pool with
 * another user, of lines of fewer than LEAST_LINE elements, or of quantized elements stays:
 * vectors of channels are longer there.  Backends without a cache, such as accelerators,
 * whose units may need channels, are left alone.  Afterwards no Transpose from and to such
 * layouts surrounds a pool that could do without.
 */

#include "glow/arith.h"
#include "glow/build.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

#define LEAST_LINE 8
#define MOST_CHAIN 4

/* True if `d` moves axis 1 to the end, or the last axis to be axis 1 (`back`). */
static bool
moves_channels(glow_dims d, bool back)
{
    for (int i = 1; i < d.rank; i++) {
        int64_t from = back ? (i == 1 ? d.rank - 1 : i - 1)
                            : (i == d.rank - 1 ? 1 : i + 1);

        if (d.at[i] != from)
            return false;
    }
    return d.rank > 2 && d.at[0] == 0;
}

/* [N, C, ..] as [N C, .., 1]. */
static glow_value *
as_planes(glow_builder *b, glow_value *x)
{
    glow_dims s = x->type->shape, to = {.rank = s.rank};

    to.at[0] = s.at[0] * s.at[1];
    for (int i = 2; i < s.rank; i++)
        to.at[i - 1] = s.at[i];
    to.at[s.rank - 1] = 1;
    return glow_build_reshape(b, x, to);
}

/* The pads of axes behind the channels, where channels are planes; NULL: others pad too. */
static const int64_t *
pads_of_planes(glow_builder *b, const glow_pad *p, int rank)
{
    int64_t *pads =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, p->pads.count);

    for (int side = 0; side < 2; side++) {
        const int64_t *from = &p->pads.at[side * rank];

        if (from[0] != 0 || from[1] != 0)
            return NULL;
        for (int i = 2; i < rank; i++)
            pads[side * rank + i - 1] = from[i];
    }
    return p->mode == GLOW_PAD_CONSTANT ? pads : NULL;
}

/* The planes of `x`, below the Pad that makes it if there is one. */
static glow_value *
planes_of(glow_builder *b, glow_value *x)
{
    const glow_node *n = glow_only_def(x, &glow_op_pad);
    glow_pad p;

    if (!n || n->pred)
        return as_planes(b, x);
    p = *(const glow_pad *)n->attrs;
    p.pads.at = pads_of_planes(b, &p, x->type->shape.rank);
    if (!p.pads.at)
        return as_planes(b, x);
    x = as_planes(b, n->in[0]);
    return x ? glow_build(b, n->op, NULL, &x, 1, &p) : NULL;
}

static bool
is_pool(const glow_node *n)
{
    return n && !n->pred &&
           (glow_is(n, &glow_op_maxpool) || glow_is(n, &glow_op_avgpool)) &&
           !glow_is_quantized(n->in[0]->type->elem) &&
           n->in[0]->type->shape.at[n->in[0]->type->shape.rank - 2] >=
               LEAST_LINE;
}

/* True if `n` computes each element of its only result from that of one operand. */
static bool
is_chained(const glow_node *n)
{
    return n && !n->pred && n->n_in == 1 && n->n_out == 1 &&
           n->op->traits & GLOW_ELEMENTWISE && !glow_states_type(n);
}

/*
 * The pool that `v` is made of, which nobody else uses, with the `count` nodes of `chain`
 * above it, the last first; or NULL.
 */
static const glow_node *
find_pool(const glow_value *v, const glow_node **chain, int *count)
{
    const glow_node *n = v->def;

    *count = 0;
    while (n && glow_only_def(v, n->op) == n) {
        if (is_pool(n))
            return n;
        if (!is_chained(n) || *count == MOST_CHAIN)
            break;
        chain[(*count)++] = n;
        v = n->in[0];
        n = v->def;
    }
    return NULL;
}

static glow_value *
visit(glow_builder *b, glow_node *n)
{
    const glow_transpose *back = n->attrs, *to;
    const glow_node *chain[MOST_CHAIN], *pool, *t;
    glow_value *x;
    int count;

    if (n->pred || !moves_channels(back->shuffle, true) ||
        glow_type_count(n->out[0]->type) == 0)
        return NULL;
    pool = find_pool(n->in[0], chain, &count);
    t = pool ? pool->in[0]->def : NULL;
    to = GLOW_AS(transpose, t);
    if (!to || t->pred || !moves_channels(to->shuffle, false))
        return NULL;
    glow_builder_fuses(b, pool);
    x = planes_of(b, t->in[0]);
    x = x ? glow_build(b, pool->op, NULL, &x, 1, pool->attrs) : NULL;
    while (x && count > 0) {
        glow_builder_fuses(b, chain[--count]);
        x = glow_build(b, chain[count]->op, NULL, &x, 1, chain[count]->attrs);
    }
    return x ? glow_build_reshape(b, x, n->out[0]->type->shape) : NULL;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_transpose, visit},
        {NULL, NULL},
    };

    if (glow_run_cache(pass) == 0)
        return GLOW_UNCHANGED;
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_pool_planes = {
    .name = "pool-planes",
    .summary = "pool images in NCHW without transposes",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
};
