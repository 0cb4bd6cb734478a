/* Lists of runs, given by the length of each. */

#include "ir/ops/common.h"

static bool
check_lengths(const glow_node *n)
{
    return glow_admit(n, 0, GLOW_ANY_INT) && glow_check_rank(n, 0, 1);
}

static bool
refuse_length(const glow_node *n, int64_t s, int64_t length)
{
    return glow_reject(n, "element %" PRId64 " of Lengths is %" PRId64, s,
                       length);
}

/* lengthstoranges */

static bool
ranges_infer(const glow_node *n, glow_type out[])
{
    glow_type y = glow_dense(n->in[0]->type);

    if (!check_lengths(n))
        return false;
    y.shape.at[y.shape.rank++] = 2;
    return glow_give(n, y, &out[0]);
}

static bool
ranges_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    uint64_t at = 0;

    (void)n;
    (void)scratch;
    for (int64_t s = 0; s < glow_tensor_count(in[0]); s++) {
        int64_t length = glow_get_int(in[0], s);

        glow_set_int(out[0], 2 * s, (int64_t)at);
        glow_set_int(out[0], 2 * s + 1, length);
        at += (uint64_t)length;
    }
    return true;
}

const glow_op glow_op_lengthstoranges = {
    .name = "LengthsToRanges",
    .summary = "where runs begin and how long they are",
    .in = {{"Lengths", GLOW_TENSOR, "integers: how long each run is"}},
    .out = {{"Result", GLOW_TENSOR,
             "of the kind of Lengths: a pair of beginning and length for each "
             "run"}},
    .traits = GLOW_PURE,
    .infer = ranges_infer,
    .eval = ranges_eval,
    .doc = "`y[s, 0] = lengths[0] + ... + lengths[s - 1]` and "
           "`y[s, 1] = lengths[s]`.",
    .source = "Glow LengthsToRanges; Caffe2",
};

/* lengthsrangefill */

static bool
fill_infer(const glow_node *n, glow_type out[])
{
    const glow_lengthsrangefill *a = n->attrs;
    glow_type y = glow_dense(n->in[0]->type);

    if (!check_lengths(n))
        return false;
    if (a->max_output_size < 0)
        return glow_reject(n, "MaxOutputSize is %" PRId64, a->max_output_size);
    y.shape.at[0] = a->max_output_size;
    return glow_give(n, y, &out[0]);
}

static bool
fill_eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
          glow_arena *scratch)
{
    int64_t most = glow_tensor_count(out[0]), at = 0;

    (void)scratch;
    for (int64_t s = 0; s < glow_tensor_count(in[0]); s++) {
        int64_t length = glow_get_int(in[0], s);

        if (length < 0)
            return refuse_length(n, s, length);
        if (length > most - at)
            return glow_reject(n,
                               "element %" PRId64 " of Lengths is %" PRId64
                               ", but Result has %" PRId64 " elements left",
                               s, length, most - at);
        for (int64_t i = 0; i < length; i++)
            glow_set_int(out[0], at++, i);
    }
    while (at < most)
        glow_set_int(out[0], at++, 0);
    return true;
}

const glow_op glow_op_lengthsrangefill = {
    .name = "LengthsRangeFill",
    .summary = "count from 0 within each run",
    .in = {{"Lengths", GLOW_TENSOR, "integers: how long each run is"}},
    .out = {{"Result", GLOW_TENSOR,
             "of the kind of Lengths: a list of MaxOutputSize elements"}},
    .attrs = {GLOW_FIELD(glow_lengthsrangefill, max_output_size, GLOW_INT64,
                         "the elements of Result; as many as all runs "
                         "together, or more")},
    .traits = GLOW_PURE,
    .infer = fill_infer,
    .eval = fill_eval,
    .doc = "`0, ..., lengths[0] - 1, 0, ..., lengths[1] - 1, ...`, and 0 in "
           "what is left of Result.",
    .source = "Glow LengthsRangeFill; Caffe2",
};
