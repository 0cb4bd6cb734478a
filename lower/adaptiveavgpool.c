/*
 * lower-adaptiveavgpool: an AvgPool, where all windows have the same size.
 *
 *     %y = AdaptiveAvgPool(%x : [N, 6, 4, C]) : [N, 3, 2, C]
 *         =>
 *     %y = AvgPool(%x) {Kernels: [2, 2], Strides: [2, 2], ..}
 *
 * Where an output size does not divide the input size, windows differ in size.
 * Each such axis takes a Gather of the elements of its windows and a sum; one
 * division by the sizes of the windows follows, and is exact where
 * AdaptiveAvgPool is.
 */

#include "lower/sample.h"

static int64_t
window_size(int64_t in, int64_t out, int64_t i)
{
    return ((i + 1) * in + out - 1) / out - i * in / out;
}

/* Window `i` of `out` reaches from i in / out to (i + 1) in / out, at least. */
static glow_samples
windows(glow_builder *b, int64_t in, int64_t out)
{
    glow_samples s = {.count = out};
    int64_t *from;
    double *weight;

    for (int64_t i = 0; i < out; i++) {
        int64_t size = window_size(in, out, i);

        s.taps = size > s.taps ? size : s.taps;
    }
    from = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, s.taps *out);
    weight = GLOW_NEW_ARRAY(glow_builder_scratch(b), double, s.taps *out);
    for (int64_t i = 0; i < out; i++) {
        int64_t first = i * in / out;
        int64_t size = window_size(in, out, i);

        for (int64_t k = 0; k < s.taps; k++) {
            from[k * out + i] = first + (k < size ? k : size - 1);
            weight[k * out + i] = k < size ? 1 : 0;
        }
    }
    s.from = from;
    s.weight = weight;
    return s;
}

/* The elements of each window: y without its first and last axis. */
static glow_value *
sizes(glow_builder *b, glow_kind kind, glow_dims x, glow_dims y)
{
    glow_dims shape = {.rank = y.rank - 2};
    int64_t count = glow_dims_product(y, 1, y.rank - 1);
    double *size = GLOW_NEW_ARRAY(glow_builder_scratch(b), double, count);

    for (int a = 0; a < shape.rank; a++)
        shape.at[a] = y.at[a + 1];
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;

        size[i] = 1;
        for (int a = y.rank - 2; a > 0; a--) {
            size[i] *= (double)window_size(x.at[a], y.at[a], rest % y.at[a]);
            rest /= y.at[a];
        }
    }
    return glow_lower_reals(b, "sizes", kind, shape, size);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_value *v = n->in[0];
    glow_dims x = v->type->shape, y = n->out[0]->type->shape;
    glow_avgpool p = {.pads.rank = 2 * (x.rank - 2)};
    glow_kind kind = v->type->elem;
    bool alike = true;

    if (glow_type_count(n->out[0]->type) == 0)
        return glow_lower_splat(b, n->out[0]->type, 0);
    p.kernels.rank = p.strides.rank = x.rank - 2;
    for (int i = 1; i < x.rank - 1; i++) {
        alike &= x.at[i] % y.at[i] == 0;
        p.kernels.at[i - 1] = p.strides.at[i - 1] = x.at[i] / y.at[i];
    }
    if (alike)
        return glow_build(b, &glow_op_avgpool, NULL, GLOW_IN(v), &p);
    if (glow_lower_is_short(kind))
        v = glow_lower_convert(b, v, GLOW_FLOAT);
    for (int i = 1; i < x.rank - 1 && v; i++)
        if (x.at[i] != y.at[i]) {
            glow_samples s = windows(b, x.at[i], y.at[i]);

            v = glow_lower_sum_axis(b, v, i, &s, false);
        }
    if (!v)
        return NULL;
    v = glow_build_div(
        b, v, glow_lower_spread(b, sizes(b, v->type->elem, x, y), 1, y));
    return glow_lower_convert(b, v, kind);
}

const glow_pass glow_pass_lower_adaptiveavgpool = {
    .name = "lower-adaptiveavgpool",
    .summary = "express AdaptiveAvgPool by AvgPool or sums of windows",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_adaptiveavgpool,
    .rewrite = lower,
};
