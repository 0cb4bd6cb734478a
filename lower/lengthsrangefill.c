/*
 * lower-lengthsrangefill: positions, minus the begin of their run.
 *
 *     %e = Concat([0], CumSum(%l))                  begins and ends of runs
 *     %r = the run of each position                 see glow_lower_runs
 *     y  = Select(%r < runs, [0, 1, ..] - Gather(%e, %r), 0)
 */

#include "lower/sparse.h"

static glow_value *
lower(glow_builder *b, glow_node *n)
{
    const glow_type *type = n->out[0]->type;
    int64_t count = type->shape.at[0], runs = n->in[0]->type->shape.at[0];
    glow_value *l = glow_lower_convert(b, n->in[0], GLOW_INDEX64);
    glow_value *zeros = glow_lower_number(b, type->shape, 0);
    glow_value *of = glow_lower_runs(b, l, count);

    if (!of || count == 0 || runs == 0)
        return of ? glow_lower_convert(b, zeros, type->elem) : NULL;

    const int64_t zero = 0;
    glow_value *ends = GLOW_BUILD(b, cumsum, GLOW_IN(l), .dim = 0);

    ends = glow_lower_append(b, glow_lower_list(b, "zero", &zero, 1), ends);

    glow_value *first = GLOW_BUILD(b, gather, GLOW_IN(ends, of), .axis = 0);
    glow_value *y = glow_build_sub(b, glow_lower_iota(b, count, 1), first);
    glow_value *in = GLOW_BUILD_PLAIN(
        b, cmplt, GLOW_IN(of, glow_lower_number(b, type->shape, runs)));

    return glow_lower_convert(b, glow_build_select(b, in, y, zeros),
                              type->elem);
}

const glow_pass glow_pass_lower_lengthsrangefill = {
    .name = "lower-lengthsrangefill",
    .summary = "express LengthsRangeFill by CumSum, ScatterData and Gather",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .lowers = &glow_op_lengthsrangefill,
    .rewrite = lower,
};
