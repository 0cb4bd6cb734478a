/* Trilu: triangles of matrices. */

#include "ir/ops/common.h"

static bool
trilu_infer(const glow_node *n, glow_type out[])
{
    if (!glow_admit(n, 0, GLOW_ANY_UNFUSED) || !glow_check_rank_from(n, 0, 2))
        return false;
    if (n->in[1] && (!glow_admit(n, 1, GLOW_ANY_INT) ||
                     !glow_check_shape(n, 1, (glow_dims){0}, "a scalar's")))
        return false;
    return glow_give(n, glow_dense(n->in[0]->type), &out[0]);
}

/* j - i >= k or <= k, without overflow: |j - i| is below 2^47. */
static bool
is_kept(bool upper, int64_t i, int64_t j, int64_t k)
{
    return upper ? j - i >= k : j - i <= k;
}

static bool
trilu_eval(const glow_node *n, glow_tensor *const in[],
           glow_tensor *const out[], glow_arena *scratch)
{
    bool upper = ((const glow_trilu *)n->attrs)->upper;
    glow_dims x = in[0]->type->shape, none = {0};
    int64_t rows = x.at[x.rank - 2], columns = x.at[x.rank - 1];
    int64_t k = in[1] ? glow_get_int(in[1], 0) : 0;

    (void)scratch;
    for (int64_t at = 0; at < glow_tensor_count(in[0]); at++) {
        int64_t j = at % columns, i = at / columns % rows;

        if (!is_kept(upper, i, j, k))
            glow_set_real(out[0], at, 0);
        else if (in[0]->data != out[0]->data)
            glow_copy_block(out[0], at, none, in[0], at, none, none);
    }
    return true;
}

const glow_op glow_op_trilu = {
    .name = "Trilu",
    .summary = "the upper or lower triangles of matrices",
    .in = {{"Input", GLOW_TENSOR, "x, matrices in its last two axes"},
           {"K", GLOW_OPTIONAL,
            "an integer: the diagonal that bounds the triangle; 0, the main "
            "one, if omitted"}},
    .out = {{"Result", GLOW_TENSOR, "y, of the type of Input"}},
    .attrs = {GLOW_FIELD(glow_trilu, upper, GLOW_FLAG,
                         "the upper triangle, not the lower one")},
    .traits = GLOW_PURE,
    .infer = trilu_infer,
    .eval = trilu_eval,
    .inplace = {{0, 0}},
    .inplace_count = 1,
    .doc = "`y[.., i, j]` is `x[.., i, j]` where `j - i >= K` (Upper) or "
           "`j - i <= K`, else 0.",
    .source = "ONNX Trilu",
};
