/*
 * The bias of FullyConnected as an operator of its own, which stays in float.
 *
 *     %y = FullyConnected(%x, @w, @b)     ranges { @main %y: [-1.0, 3.0] }
 *         =>
 *     %p = MatMul(%x, @w)
 *     %y = BatchedAdd(%p, @b)
 *
 * The range of the product is that of the result less that of the bias.  An operand of
 * more than two axes becomes a matrix of its range.
 */

#include <math.h>

#include "passes/graph/common/quantizing.h"

/* The ends of the bias: its elements, or its range; false if they are not known. */
static bool
ends_of(const glow_value *v, double *low, double *high)
{
    const glow_value_range *r = glow_get_value_range(v);
    const glow_tensor *t = NULL;

    if (glow_is_constant(v) && v->storage->payload != GLOW_ELIDED)
        t = glow_constant_tensor(v->storage);
    if (!t) {
        *low = r ? (double)r->min : 0;
        *high = r ? (double)r->max : 0;
        return r != NULL;
    }
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t i = 0; i < glow_type_count(t->type); i++) {
        *low = fmin(*low, glow_get_double(t, i));
        *high = fmax(*high, glow_get_double(t, i));
    }
    return *low <= *high;
}

/* The range of the product of `n`; false if it has none. */
static bool
product_range(const glow_node *n, glow_value_range *out)
{
    const glow_value_range *r = glow_get_value_range(n->out[0]);
    double low, high;

    if (!r || !ends_of(n->in[2], &low, &high))
        return false;
    *out = (glow_value_range){.min = (float)((double)r->min - high),
                              .max = (float)((double)r->max - low),
                              .axis = -1};
    return isfinite(out->min) && isfinite(out->max);
}

/* Input as a matrix, with its range. */
static glow_value *
rows_of(glow_builder *b, const glow_node *n)
{
    glow_value *x = n->in[0], *rows;
    const glow_value_range *r = glow_get_value_range(x);
    glow_value_range whole = {.axis = -1};
    glow_dims shape =
        GLOW_DIMS_OF(n->out[0]->type->shape.at[0], n->in[1]->type->shape.at[0]);

    if (glow_dims_equal(x->type->shape, shape))
        return x;
    rows = GLOW_BUILD(b, reshape, GLOW_IN(x), .dims = shape);
    if (rows && r) {
        whole.min = r->min;
        whole.max = r->max;
        glow_set_value_range(rows, &whole);
    }
    return rows;
}

static bool
split(glow_pass_run *run, glow_func *f, glow_node *n, const glow_value_range *r)
{
    glow_builder *b =
        glow_builder_new(glow_run_scratch(run), f, glow_run_pass(run)->name);
    const char *name = n->name;
    glow_value *product, *sum;

    glow_builder_at(b, n);
    product = rows_of(b, n);
    if (product)
        product = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(product, n->in[1]));
    if (!product || !glow_set_value_range(product, r))
        return false;
    sum = GLOW_BUILD_PLAIN(b, batchedadd, GLOW_IN(product, n->in[2]));
    if (!sum)
        return false;
    glow_replace_uses(n->out[0], sum);
    glow_node_erase(n);
    glow_node_rename(sum->def, name);
    return true;
}

glow_result
glow_quantizing_split_bias(glow_pass_run *run, glow_func *f, glow_map *sums)
{
    const quantize_options *o = glow_run_options(run);
    glow_result result = GLOW_UNCHANGED;

    GLOW_FOR_EACH_NODE(n, f) {
        glow_value_range r;
        const char *name = n->name;

        if (!glow_is(n, &glow_op_fullyconnected) || !n->in[2] || n->pred ||
            glow_quantizing_is_kept(o, n) ||
            !glow_is_float(n->out[0]->type->elem) || !product_range(n, &r) ||
            !glow_run_may_rewrite(run))
            continue;
        if (!split(run, f, n, &r))
            return GLOW_FAILED;
        glow_map_set(sums, name, sums);
        result = GLOW_CHANGED;
    }
    return result;
}
