/*
 * Scatters: ScatterData, and in terms of it ScatterElements and IndexAdd.
 * Updates are applied in row-major order, so that of several updates of an
 * element the last one stays, and their sum is determined.
 */

#include "ir/ops/index.h"

#include <math.h>

static bool
check_reduction(const glow_node *n, int reduction)
{
    return glow_admit(n, 0,
                      reduction == GLOW_SCATTER_NONE ? GLOW_ANY_UNFUSED
                                                     : GLOW_ANY_NUMBER);
}

static void
start_with(const glow_tensor *out, const glow_tensor *data)
{
    if (out->data != data->data)
        glow_tensor_copy(out, data);
}

#define REDUCTION_FIELD(type)                                               \
    GLOW_FIELD_ENUM(type, reduction, glow_scatter_words,                    \
                    "what becomes of an element: it is replaced, or added " \
                    "to, multiplied by, or compared with what is written")

/* scatterdata */

static bool
scatterdata_infer(const glow_node *n, glow_type out[])
{
    const glow_scatterdata *s = n->attrs;
    glow_dims data = n->in[0]->type->shape, at = n->in[1]->type->shape;
    glow_dims want = at;

    if (!check_reduction(n, s->reduction) || !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_rank_from(n, 1, 1) || !glow_check_kinds(n, 2, 0))
        return false;

    int64_t depth = at.at[at.rank - 1];

    if (depth < 0 || depth > data.rank)
        return glow_reject(n,
                           "the last axis of Indices has %" PRId64
                           " elements, but the rank of Data is %d",
                           depth, data.rank);
    if (at.rank - 1 + data.rank - depth > GLOW_MAX_RANK)
        return glow_reject(n,
                           "the rank of Slices would be %d, but at most %d is "
                           "possible",
                           at.rank - 1 + data.rank - (int)depth, GLOW_MAX_RANK);
    want.rank = at.rank - 1;
    for (int i = (int)depth; i < data.rank; i++)
        want.at[want.rank++] = data.at[i];
    return glow_check_shape(n, 2, want, "what Indices and Data ask for") &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

/*
 * The index of the slice that row `i` of Indices refers to; -1 after a report.
 */
static int64_t
slice_at(const glow_node *n, const glow_tensor *indices, int64_t i, int depth,
         glow_dims data)
{
    int64_t at = 0;

    for (int d = 0; d < depth; d++) {
        int64_t x =
            glow_index_at(n, 1, indices, i * depth + d, data.at[d], d, 0);

        if (x < 0)
            return -1;
        at = at * data.at[d] + x;
    }
    return at;
}

static bool
scatterdata_eval(const glow_node *n, glow_tensor *const in[],
                 glow_tensor *const out[], glow_arena *scratch)
{
    const glow_scatterdata *s = n->attrs;
    glow_dims data = in[0]->type->shape, at = in[1]->type->shape;
    int depth = (int)at.at[at.rank - 1];
    int64_t rows = glow_dims_product(at, 0, at.rank - 1);
    int64_t size = glow_dims_product(data, depth, data.rank);

    (void)scratch;
    start_with(out[0], in[0]);
    if (glow_tensor_count(in[2]) == 0)
        return true;
    for (int64_t i = 0; i < rows; i++) {
        int64_t to = slice_at(n, in[1], i, depth, data);

        if (to < 0)
            return false;
        for (int64_t k = 0; k < size; k++)
            glow_scatter_element(s->reduction, out[0], to * size + k, in[2],
                                 i * size + k);
    }
    return true;
}

const glow_op glow_op_scatterdata = {
    .name = "ScatterData",
    .summary = "write slices into a tensor by their numbers",
    .in = {{"Data", GLOW_TENSOR, "what is written to"},
           {"Indices", GLOW_TENSOR,
            "integers [.., k]: the last axis names an element of the first k "
            "axes of Data; negative ones count from the end"},
           {"Slices", GLOW_TENSOR,
            "the shape of Indices without its last axis, then the axes of "
            "Data from k on"}},
    .out = {{"Result", GLOW_TENSOR, "Data, with Slices written to it"}},
    .attrs = {REDUCTION_FIELD(glow_scatterdata)},
    .defaults = &(const glow_scatterdata){.reduction = GLOW_SCATTER_NONE},
    .traits = GLOW_PURE | GLOW_PRIMITIVE,
    .infer = scatterdata_infer,
    .eval = scatterdata_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = data`, then for each index `i` of all but the last axis of "
           "Indices, in row-major order, `y[indices[i]] = slices[i]`, or the "
           "sum, product, maximum or minimum of the two.  Glow's Cumulative "
           "is the reduction `add`.  Integers wrap around.",
    .source = "Glow ScatterData; ONNX ScatterND",
    .derivative = &glow_derivative_scatterdata,
};

/* scatterelements */

static bool
scatterelements_infer(const glow_node *n, glow_type out[])
{
    const glow_scatterelements *s = n->attrs;
    glow_dims data = n->in[0]->type->shape, at = n->in[1]->type->shape;

    if (!check_reduction(n, s->reduction) || !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_axis(n, "Dim", s->dim, 0) ||
        !glow_check_rank(n, 1, data.rank) || !glow_check_kinds(n, 2, 0) ||
        !glow_check_shapes(n, 2, 1))
        return false;
    for (int i = 0; i < data.rank; i++)
        if (i != s->dim && at.at[i] > data.at[i])
            return glow_reject(n,
                               "axis %d of Indices has %" PRId64
                               " elements, but that of Data %" PRId64,
                               i, at.at[i], data.at[i]);
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

static bool
scatterelements_eval(const glow_node *n, glow_tensor *const in[],
                     glow_tensor *const out[], glow_arena *scratch)
{
    const glow_scatterelements *s = n->attrs;
    glow_dims data = in[0]->type->shape;
    glow_dims strides = glow_dims_strides(data);
    int64_t from = 0;

    (void)scratch;
    start_with(out[0], in[0]);
    GLOW_FOR_EACH_INDEX(i, in[1]->type->shape) {
        int64_t at = 0, x = glow_index_at(n, 1, in[1], from, data.at[s->dim],
                                          s->dim, 0);

        if (x < 0)
            return false;
        for (int d = 0; d < data.rank; d++)
            at += (d == s->dim ? x : i.at[d]) * strides.at[d];
        glow_scatter_element(s->reduction, out[0], at, in[2], from++);
    }
    return true;
}

const glow_op glow_op_scatterelements = {
    .name = "ScatterElements",
    .summary = "write elements along an axis by their numbers",
    .in = {{"Data", GLOW_TENSOR, "what is written to"},
           {"Indices", GLOW_TENSOR,
            "integers, of the rank of Data and nowhere larger but at Dim: "
            "where along Dim; negative ones count from the end"},
           {"Updates", GLOW_TENSOR, "what is written, of Indices' shape"}},
    .out = {{"Result", GLOW_TENSOR, "Data, with Updates written to it"}},
    .attrs = {GLOW_FIELD(glow_scatterelements, dim, GLOW_INT, "the axis"),
              REDUCTION_FIELD(glow_scatterelements)},
    .defaults = &(const glow_scatterelements){.reduction = GLOW_SCATTER_NONE},
    .traits = GLOW_PURE,
    .infer = scatterelements_infer,
    .eval = scatterelements_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = data`, then for each index `i, j, k` of Indices, `j` at Dim, "
           "in row-major order, `y[i, indices[i, j, k], k] = "
           "updates[i, j, k]`, or as Reduction says.",
    .source = "ONNX ScatterElements",
};

/* indexadd */

static bool
indexadd_infer(const glow_node *n, glow_type out[])
{
    const glow_indexadd *a = n->attrs;
    glow_dims want = n->in[0]->type->shape;

    if (!glow_admit(n, 0, GLOW_ANY_NUMBER) || !glow_admit(n, 1, GLOW_ANY_INT) ||
        !glow_check_axis(n, "Dim", a->dim, 0) || !glow_check_rank(n, 1, 1) ||
        !glow_check_kinds(n, 2, 0))
        return false;
    if (glow_is_int(n->in[0]->type->elem) &&
        !(fabsf(a->alpha) < 1e9f && truncf(a->alpha) == a->alpha))
        return glow_reject(n, "Alpha is %g, but integers need a whole number",
                           (double)a->alpha);
    want.at[a->dim] = n->in[1]->type->shape.at[0];
    return glow_check_shape(n, 2, want, "what Input and Index ask for") &&
           glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

/* Source times Alpha. */
static void
scale_source(const glow_tensor *t, float alpha)
{
    if (alpha == 1)
        return;
    for (int64_t i = 0; i < glow_tensor_count(t); i++)
        if (glow_tensor_is_float(t))
            glow_set_double(t, i, glow_get_double(t, i) * (double)alpha);
        else
            glow_set_int(t, i,
                         (int64_t)((uint64_t)glow_get_int(t, i) *
                                   (uint64_t)(int64_t)alpha));
}

static bool
indexadd_eval(const glow_node *n, glow_tensor *const in[],
              glow_tensor *const out[], glow_arena *scratch)
{
    const glow_indexadd *a = n->attrs;
    glow_dims x = in[0]->type->shape;
    int64_t before = glow_dims_product(x, 0, a->dim), size = x.at[a->dim];
    int64_t rest = glow_dims_product(x, a->dim + 1, x.rank), from = 0;
    int64_t picks = glow_tensor_count(in[1]);
    glow_tensor source = {
        in[2]->type,
        glow_arena_alloc(scratch, (size_t)glow_type_bytes(in[2]->type)), NULL};

    start_with(out[0], in[0]);
    glow_tensor_copy(&source, in[2]);
    scale_source(&source, a->alpha);
    for (int64_t b = 0; b < before; b++)
        for (int64_t i = 0; i < picks; i++) {
            int64_t to = glow_index_at(n, 1, in[1], i, size, a->dim, 0);

            if (to < 0)
                return false;
            for (int64_t k = 0; k < rest; k++)
                glow_scatter_element(GLOW_SCATTER_ADD, out[0],
                                     (b * size + to) * rest + k, &source,
                                     from++);
        }
    return true;
}

const glow_op glow_op_indexadd = {
    .name = "IndexAdd",
    .summary = "add slices to those of a tensor by their numbers",
    .in = {{"Input", GLOW_TENSOR, "what is added to"},
           {"Index", GLOW_TENSOR,
            "integers [k]: which slices; negative ones count from the end"},
           {"Source", GLOW_TENSOR, "the shape of Input, with k at Dim"}},
    .out = {{"Result", GLOW_TENSOR, "the type of Input"}},
    .attrs = {GLOW_FIELD(glow_indexadd, dim, GLOW_INT, "the axis"),
              GLOW_FIELD_DEFAULT(glow_indexadd, alpha, GLOW_FLOAT32,
                                 "what Source is multiplied by; for integers "
                                 "a whole number")},
    .defaults = &(const glow_indexadd){.alpha = 1},
    .traits = GLOW_PURE,
    .infer = indexadd_infer,
    .eval = indexadd_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y = input`, then for each `j` in order `y[.., index[j], ..] += "
           "Alpha * source[.., j, ..]`.",
    .source = "Glow IndexAdd; PyTorch index_add",
};
