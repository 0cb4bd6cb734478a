/*
 * Products and convolutions of ONNX Runtime: ONNX's, with fused transposes of
 * operands, addition, factor and activation.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/ort/ort.h"

/*
 * The operand as numpy's matmul takes it.  `batch`: the first axis has the
 * rows, and the axes between it and the last the batch; `swap`: the last two
 * axes are then exchanged.
 */
static glow_value *
oriented(import_node *n, glow_value *v, bool batch, bool swap)
{
    int rank = import_shape(v).rank;
    glow_dims p = {.rank = rank};

    for (int i = 0; i < rank; i++)
        p.at[i] = i;
    if (rank < 2)
        return v;
    if (batch && rank > 2) {
        for (int i = 0; i < rank - 2; i++)
            p.at[i] = i + 1;
        p.at[rank - 2] = 0;
    }
    if (swap) {
        int64_t last = p.at[rank - 1];

        p.at[rank - 1] = p.at[rank - 2];
        p.at[rank - 2] = last;
    }
    return import_transpose(n, v, p);
}

/* The parameters of an activation that are attributes of their own. */
static glow_value *
activated(import_node *n, glow_value *y)
{
    float p[2] = {import_float(n, "activation_alpha", 0),
                  import_float(n, "activation_beta", 0)};
    int count = import_has(n, "activation_beta")    ? 2
                : import_has(n, "activation_alpha") ? 1
                                                    : 0;

    if (import_has(n, "activation_gamma"))
        p[count++ ? 1 : 0] = import_float(n, "activation_gamma", 0);
    return ort_activate(n, y, p, count > 2 ? 2 : count);
}

static bool
matmul(import_node *n)
{
    float alpha = import_float(n, "alpha", 1);
    bool ta = import_flag(n, "transA", false);
    bool tb = import_flag(n, "transB", false);
    bool ba = import_flag(n, "transBatchA", false);
    bool bb = import_flag(n, "transBatchB", false);
    glow_value *a, *b, *y;

    if (!import_operands(n, 2, 2))
        return false;
    a = oriented(n, import_in(n, 0), ba, ta);
    b = oriented(n, import_in(n, 1), bb, tb);
    y = import_as(n, "MatMul", ORT_OPSET, GLOW_IN(a, b));
    return import_done(n, activated(n, import_scale(n, y, alpha)));
}

static bool
gemm(import_node *n)
{
    if (!import_operands(n, 2, 3))
        return false;
    return import_done(
        n, activated(n, import_as(n, "Gemm", ORT_OPSET, n->in, n->n_in)));
}

static bool
gemm_fast_gelu(import_node *n)
{
    glow_value *y;

    if (!import_operands(n, 2, 3))
        return false;
    y = import_as(n, "MatMul", ORT_OPSET, n->in, 2);
    y = ort_add(n, y, import_in(n, 2));
    return import_done(
        n, BUILD(n, gelu, GLOW_IN(y), .approximate = GLOW_GELU_TANH));
}

/*
 * Transposes images with channels last (`by_rows`) to ONNX's order, and back.
 */
static glow_value *
convolved(import_node *n, int n_in, bool by_rows)
{
    glow_value *in[3] = {import_in(n, 0), import_in(n, 1), import_in(n, 2)};
    glow_value *y;

    if (by_rows)
        in[0] = import_to_nchw(n, in[0]);
    y = import_as(n, "Conv", ORT_OPSET, in, n_in < 3 ? n_in : 3);
    return by_rows ? import_to_nhwc(n, y) : y;
}

static bool
convolution(import_node *n)
{
    bool by_rows = n->row->op == NULL;
    glow_floats p;
    glow_value *y;

    if (!import_operands(n, 2, 4))
        return false;
    p = import_floats(n, "activation_params");
    y = convolved(n, n->n_in, by_rows);
    if (import_in(n, 3))
        y = import_binary(n, &glow_op_add, y, import_in(n, 3));
    if (p.count > 2)
        return import_refuse(n, "E0710",
                             "activation_params has %" PRId64
                             " numbers, but no activation takes over 2",
                             p.count);
    return import_done(n, ort_activate(n, y, p.at, (int)p.count));
}

const import_row import_ort_product_rows[] = {
    {"com.microsoft.FusedConv", 1, 0, convolution, &glow_op_convolution,
     "floats; 1 to 3 spatial axes"},
    {"com.microsoft.FusedGemm", 1, 0, gemm, &glow_op_gemm, "numbers"},
    {"com.microsoft.FusedMatMul", 1, 0, matmul, &glow_op_matmul, "floats"},
    {"com.microsoft.FusedMatMulActivation", 1, 0, matmul, &glow_op_matmul,
     "floats"},
    {"com.microsoft.GemmFastGelu", 1, 0, gemm_fast_gelu, &glow_op_matmul,
     "floats"},
    {"com.microsoft.NhwcConv", 1, 0, convolution, NULL,
     "floats; 1 to 3 spatial axes; channels last"},
    {"com.microsoft.NhwcFusedConv", 1, 0, convolution, NULL,
     "floats; 1 to 3 spatial axes; channels last"},
    {"com.microsoft.TransposeMatMul", 1, 0, matmul, &glow_op_matmul, "floats"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
