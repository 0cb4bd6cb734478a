/* Gather: slices of a tensor, selected by index. */

#include "ir/ops/index.h"

static bool
gather_infer(const glow_node *n, glow_type out[])
{
    const glow_gather *g = n->attrs;
    glow_dims data = n->in[0]->type->shape, at = n->in[1]->type->shape;
    int rank = data.rank - 1 + at.rank - g->batch_dims;
    glow_dims y = data;

    /* Rows of a fused kind, whole. */
    bool is_rows = g->axis == 0 && data.rank == 2 && at.rank == 1;

    if (!glow_admit(n, 0, is_rows ? GLOW_ANY_KIND : GLOW_ANY_UNFUSED) ||
        !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_axis(n, "Axis", g->axis, 0))
        return false;
    if (g->batch_dims < 0 || g->batch_dims > g->axis || g->batch_dims > at.rank)
        return glow_reject(n,
                           "BatchDims is %d, but Axis is %d and the rank of "
                           "Indices is %d",
                           g->batch_dims, g->axis, at.rank);
    for (int i = 0; i < g->batch_dims; i++)
        if (data.at[i] != at.at[i])
            return glow_reject(n,
                               "axis %d of Data has %" PRId64 " elements, but "
                               "that of Indices %" PRId64,
                               i, data.at[i], at.at[i]);
    if (rank > GLOW_MAX_RANK)
        return glow_reject(n,
                           "the rank of Result is %d, but at most %d is "
                           "possible",
                           rank, GLOW_MAX_RANK);
    y.rank = g->axis;
    for (int i = g->batch_dims; i < at.rank; i++)
        y.at[y.rank++] = at.at[i];
    for (int i = g->axis + 1; i < data.rank; i++)
        y.at[y.rank++] = data.at[i];
    return glow_give(n, glow_reshaped(n->in[0]->type, y), &out[0]);
}

static bool
gather_eval(const glow_node *n, glow_tensor *const in[],
            glow_tensor *const out[], glow_arena *scratch)
{
    const glow_gather *g = n->attrs;
    glow_dims data = in[0]->type->shape, at = in[1]->type->shape;
    glow_dims unit = GLOW_DIMS_OF(1);
    int64_t batches = glow_dims_product(data, 0, g->batch_dims);
    int64_t before = glow_dims_product(data, g->batch_dims, g->axis);
    int64_t size = data.at[g->axis];
    int64_t rest = glow_dims_product(data, g->axis + 1, data.rank);
    int64_t picks = glow_dims_product(at, g->batch_dims, at.rank), to = 0;

    (void)scratch;
    if (glow_tensor_count(out[0]) == 0)
        return true;
    for (int64_t b = 0; b < batches; b++)
        for (int64_t i = 0; i < before; i++)
            for (int64_t j = 0; j < picks; j++, to += rest) {
                int64_t x =
                    glow_index_at(n, 1, in[1], b * picks + j, size, g->axis, 0);

                if (x < 0)
                    return false;
                glow_copy_block(out[0], to, unit, in[0],
                                ((b * before + i) * size + x) * rest, unit,
                                GLOW_DIMS_OF(rest));
            }
    return true;
}

const glow_op glow_op_gather = {
    .name = "Gather",
    .summary = "take slices of a tensor by their numbers",
    .in = {{"Data", GLOW_TENSOR,
            "what is taken from; of a fused kind, with Axis 0 and a list of "
            "Indices, rows"},
           {"Indices", GLOW_TENSOR,
            "integers: which slices; negative ones count from the end"}},
    .out = {{"Result", GLOW_TENSOR,
             "the shape of Data, with that of Indices in place of Axis"}},
    .attrs = {GLOW_FIELD(glow_gather, axis, GLOW_INT, "the axis of Data"),
              GLOW_FIELD_DEFAULT(glow_gather, batch_dims, GLOW_INT,
                                 "how many leading axes Data and Indices have "
                                 "in common; at most Axis")},
    .defaults = &(const glow_gather){.batch_dims = 0},
    .traits = GLOW_PURE | GLOW_LAYOUT | GLOW_PRIMITIVE,
    .infer = gather_infer,
    .eval = gather_eval,
    .doc = "With `b`, `i`, `j` and `k` standing for any number of axes: "
           "`y[b, i, j, k] = data[b, i, indices[b, j], k]`.  An index outside "
           "of Data is an error when it is met.",
    .source = "Glow Gather; ONNX Gather; TensorFlow's batch_dims",
    .derivative = &glow_derivative_gather,
};
