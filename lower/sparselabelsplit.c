/*
 * lower-sparselabelsplit: sort by label.
 *
 *     %s = TopK(%labels) {K: N, Smallest: true}       equal ones keep their order
 *     %p = Select(%s#Values = [0, 0, .., 1, 1, ..], %s#Indices, N)
 *     LabelValues = Gather(%values, %p)
 *     ExampleIds = Gather(the example of each entry, %p)
 *     GradientOffsetMap = ScatterData(zeros, %p, [0, 1, .., 0, 1, ..])
 *
 * Where labels are not equally frequent, Gather refuses N.
 */

#include "lower/sparse.h"

/* The constant i / each, or i % each with `rest`, for i < `count`. */
static glow_value *
pattern(glow_builder *b, int64_t count, int64_t each, bool rest)
{
    int64_t *at = GLOW_NEW_ARRAY(glow_builder_scratch(b), int64_t, count);

    for (int64_t i = 0; i < count; i++)
        at[i] = rest ? i % each : i / each;
    return glow_lower_list(b, rest ? "offsets" : "labels", at, count);
}

/* The entries in the order of their labels. */
static glow_value *
order(glow_builder *b, glow_value *labels, int64_t count, int64_t each)
{
    glow_dims list = GLOW_DIMS_OF(count);
    glow_value *s = GLOW_BUILD(
        b, topk, GLOW_IN(glow_lower_convert(b, labels, GLOW_INDEX64)),
        .k = count, .smallest = true);

    if (!s)
        return NULL;

    glow_value *none = glow_lower_number(b, list, count);
    glow_value *at = glow_lower_convert(b, s->def->out[1], GLOW_INDEX64);

    s = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(s, pattern(b, count, each, false)));
    return glow_build_select(b, s, at, none);
}

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    glow_dims shape = n->out[0]->type->shape;
    int64_t count = n->in[1]->type->shape.at[0];
    glow_dims list = GLOW_DIMS_OF(count);
    glow_value *y[3];

    if (count == 0) {
        for (int i = 0; i < 3; i++)
            glow_builder_replace(b, n, i,
                                 glow_lower_splat(b, n->out[i]->type, 0));
        return glow_keep_rewritten(n);
    }

    glow_value *p = order(b, n->in[1], count, shape.at[1]);
    glow_value *of = glow_lower_runs(
        b, glow_lower_convert(b, n->in[0], GLOW_INDEX64), count);
    glow_value *zeros;

    if (!p || !of)
        return NULL;
    y[0] = GLOW_BUILD(b, gather, GLOW_IN(n->in[2], p), .axis = 0);
    y[1] = GLOW_BUILD(b, gather, GLOW_IN(of, p), .axis = 0);
    zeros = glow_lower_number(b, list, 0);
    p = glow_lower_upright(b, p);
    y[2] = GLOW_BUILD(b, scatterdata,
                      GLOW_IN(zeros, p, pattern(b, count, shape.at[1], true)),
                      .reduction = GLOW_SCATTER_NONE);
    for (int i = 0; i < 3; i++) {
        const glow_type *type = n->out[i]->type;

        y[i] = glow_build_reshape(b, y[i], type->shape);
        y[i] = glow_lower_convert(b, y[i], type->elem);
        if (!y[i])
            return NULL;
    }
    for (int i = 0; i < 3; i++)
        glow_builder_replace(b, n, i, y[i]);
    return glow_keep_rewritten(n);
}

const glow_pass glow_pass_lower_sparselabelsplit = {
    .name = "lower-sparselabelsplit",
    .summary = "express SparseLabelSplit by TopK and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_sparselabelsplit,
    .rewrite = lower,
};
