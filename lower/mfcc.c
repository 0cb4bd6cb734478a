/*
 * lower-mfcc: two products of matrices.
 *
 *     %m = MatMul(Sqrt(Max(%x, 0)), filters)        [windows, FilterBankCount]
 *     %y = MatMul(Log(Max(%m, 1e-12)), cosines)
 */

#include "lower/sample.h"

static glow_value *
filters(glow_builder *b, const glow_mfcc *m, glow_kind kind,
        int64_t frequencies)
{
    return glow_lower_reals(
        b, "filters", kind, GLOW_DIMS_OF(frequencies, m->filter_bank_count),
        glow_mfcc_filters(m, frequencies, glow_builder_scratch(b)));
}

static glow_value *
cosines(glow_builder *b, const glow_mfcc *m, glow_kind kind)
{
    int64_t columns = m->num_coefficients;
    double *at = GLOW_NEW_ARRAY(glow_builder_scratch(b), double,
                                m->filter_bank_count *columns);

    for (int64_t i = 0; i < m->filter_bank_count * columns; i++)
        at[i] = glow_mfcc_cosine(m, i / columns, i % columns);
    return glow_lower_reals(b, "cosines", kind,
                            GLOW_DIMS_OF(m->filter_bank_count, columns), at);
}

/* Short floats cannot hold the least sum. */
static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_mfcc *m = n->attrs;
    glow_kind kind = n->in[0]->type->elem;
    glow_kind work = kind == GLOW_FLOAT64 ? kind : GLOW_FLOAT;
    glow_value *v = glow_lower_convert(b, n->in[0], work);

    if (!v)
        return NULL;
    v = GLOW_BUILD_PLAIN(b, max, GLOW_IN(v, glow_lower_splat(b, v->type, 0)));
    v = glow_build_sqrt(b, v);
    v = GLOW_BUILD_PLAIN(
        b, matmul,
        GLOW_IN(v, filters(b, m, work, n->in[0]->type->shape.at[1])));
    if (!v)
        return NULL;
    v = GLOW_BUILD_PLAIN(
        b, max, GLOW_IN(v, glow_lower_splat(b, v->type, GLOW_MFCC_LEAST)));
    v = glow_build_log(b, v);
    v = GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(v, cosines(b, m, work)));
    return glow_lower_convert(b, v, kind);
}

const glow_pass glow_pass_lower_mfcc = {
    .name = "lower-mfcc",
    .summary = "express MFCC by MatMul and Log",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .lowers = &glow_op_mfcc,
    .rewrite = lower,
};
