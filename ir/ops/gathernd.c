/* Elements selected by index: GatherElements, GatherND. */

#include "ir/ops/index.h"

/* gatherelements */

static bool
gatherelements_infer(const glow_node *n, glow_type out[])
{
    const glow_gatherelements *g = n->attrs;
    glow_dims data = n->in[0]->type->shape, at = n->in[1]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) ||
        !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_axis(n, "Dim", g->dim, 0) ||
        !glow_check_rank(n, 1, data.rank))
        return false;
    for (int i = 0; i < data.rank; i++)
        if (i != g->dim && at.at[i] > data.at[i])
            return glow_reject(n,
                               "axis %d of Indices has %" PRId64
                               " elements, but that of Data %" PRId64,
                               i, at.at[i], data.at[i]);
    return glow_give(n, glow_reshaped(n->in[0]->type, at), &out[0]);
}

static bool
gatherelements_eval(const glow_node *n, glow_tensor *const in[],
                    glow_tensor *const out[], glow_arena *scratch)
{
    const glow_gatherelements *g = n->attrs;
    glow_dims data = in[0]->type->shape, none = {0};
    glow_dims strides = glow_dims_strides(data);
    int64_t to = 0;

    (void)scratch;
    GLOW_FOR_EACH_INDEX(i, in[1]->type->shape) {
        int64_t at = 0,
                x = glow_index_at(n, 1, in[1], to, data.at[g->dim], g->dim, 0);

        if (x < 0)
            return false;
        for (int d = 0; d < data.rank; d++)
            at += (d == g->dim ? x : i.at[d]) * strides.at[d];
        glow_copy_block(out[0], to++, none, in[0], at, none, none);
    }
    return true;
}

const glow_op glow_op_gatherelements = {
    .name = "GatherElements",
    .summary = "take elements along an axis by their numbers",
    .in = {{"Data", GLOW_TENSOR, "what is taken from"},
           {"Indices", GLOW_TENSOR,
            "integers, of the rank of Data and nowhere larger but at Dim: "
            "where along Dim; negative ones count from the end"}},
    .out = {{"Result", GLOW_TENSOR, "the shape of Indices"}},
    .attrs = {GLOW_FIELD(glow_gatherelements, dim, GLOW_INT, "the axis")},
    .traits = GLOW_PURE | GLOW_LAYOUT,
    .infer = gatherelements_infer,
    .eval = gatherelements_eval,
    .doc = "`y[i, j, k] = data[i, indices[i, j, k], k]`, where `j` stands at "
           "Dim.",
    .source = "Glow GatherElements; ONNX GatherElements",
};

/* gathernd */

static bool
gathernd_infer(const glow_node *n, glow_type out[])
{
    int b = ((const glow_gathernd *)n->attrs)->batch_dims;
    glow_dims data = n->in[0]->type->shape, at = n->in[1]->type->shape;
    glow_dims y = at;

    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) ||
        !glow_admit(n, 1, GLOW_ANY_INT) || !glow_check_rank_from(n, 1, 1))
        return false;
    if (b < 0 || b >= at.rank || b > data.rank)
        return glow_reject(n,
                           "BatchDims is %d, but the rank of Indices is %d and "
                           "that of Data %d",
                           b, at.rank, data.rank);
    for (int i = 0; i < b; i++)
        if (data.at[i] != at.at[i])
            return glow_reject(n,
                               "axis %d of Data has %" PRId64 " elements, but "
                               "that of Indices %" PRId64,
                               i, data.at[i], at.at[i]);

    int64_t depth = at.at[at.rank - 1];

    if (depth > data.rank - b)
        return glow_reject(n,
                           "the last axis of Indices has %" PRId64
                           " elements, but only %d axes of Data follow the "
                           "first %d",
                           depth, data.rank - b, b);

    int rank = at.rank - 1 + data.rank - b - (int)depth;

    if (rank > GLOW_MAX_RANK)
        return glow_reject(n,
                           "the rank of Result is %d, but at most %d is "
                           "possible",
                           rank, GLOW_MAX_RANK);
    y.rank = at.rank - 1;
    for (int i = b + (int)depth; i < data.rank; i++)
        y.at[y.rank++] = data.at[i];
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

static bool
gathernd_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    int b = ((const glow_gathernd *)n->attrs)->batch_dims;
    glow_dims data = in[0]->type->shape, at = in[1]->type->shape;
    int depth = (int)at.at[at.rank - 1];
    int64_t batches = glow_dims_product(data, 0, b);
    int64_t picks = glow_dims_product(at, b, at.rank - 1);
    int64_t rest = glow_dims_product(data, b + depth, data.rank);

    (void)scratch;
    if (glow_tensor_count(out[0]) == 0)
        return true;
    for (int64_t i = 0; i < batches * picks; i++) {
        int64_t from = i / picks;

        for (int d = 0; d < depth; d++) {
            int64_t x = glow_index_at(n, 1, in[1], i * depth + d,
                                      data.at[b + d], b + d, 0);

            if (x < 0)
                return false;
            from = from * data.at[b + d] + x;
        }
        glow_copy_block(out[0], i * rest, GLOW_DIMS_OF(1), in[0], from * rest,
                        GLOW_DIMS_OF(1), GLOW_DIMS_OF(rest));
    }
    return true;
}

const glow_op glow_op_gathernd = {
    .name = "GatherND",
    .summary = "take slices of a tensor by numbers for several axes",
    .in = {{"Data", GLOW_TENSOR, "what is taken from"},
           {"Indices", GLOW_TENSOR,
            "integers [.., k]: the last axis names an element of k axes of "
            "Data; negative ones count from the end"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Indices without its last axis, then the axes of "
             "Data that it does not name"}},
    .attrs = {GLOW_FIELD_DEFAULT(glow_gathernd, batch_dims, GLOW_INT,
                                 "how many leading axes Data and Indices have "
                                 "in common")},
    .defaults = &(const glow_gathernd){.batch_dims = 0},
    .traits = GLOW_PURE | GLOW_LAYOUT,
    .infer = gathernd_infer,
    .eval = gathernd_eval,
    .doc = "With `b`, `j` and `k` standing for any number of axes: "
           "`y[b, j, k] = data[b, indices[b, j], k]`.",
    .source = "Glow GatherND; ONNX GatherND",
};
