/*
 * Lookup of Caffe2's operators: rows of this folder, and rows of
 * ONNX under another name.
 */

#include <string.h>

#include "tools/glow-translate/caffe2/caffe2.h"

static const import_row *const tables[] = {
    caffe2_elementwise_rows, caffe2_fill_rows,   caffe2_fused_rows,
    caffe2_layout_rows,      caffe2_norm_rows,   caffe2_product_rows,
    caffe2_quantized_rows,   caffe2_window_rows, import_sparse_rows,
};

/* Operators of Caffe2 that equal an operator of ONNX in an opset. */
typedef struct same {
    const char *name, *onnx;
    int opset;
} same;

static const same sames[] = {
    {"Abs", "Abs", 13},
    {"Acos", "Acos", 13},
    {"Alias", "Identity", 13},
    {"Asin", "Asin", 13},
    {"Atan", "Atan", 13},
    {"Ceil", "Ceil", 13},
    {"CopyCPUToMKL", "Identity", 13},
    {"CopyFromCPUInput", "Identity", 13},
    {"CopyMKLToCPU", "Identity", 13},
    {"Cos", "Cos", 13},
    {"Cosh", "Cosh", 13},
    {"Elu", "Elu", 13},
    {"EnsureCPUOutput", "Identity", 13},
    {"EnsureDense", "Identity", 13},
    {"Erf", "Erf", 13},
    {"Exp", "Exp", 13},
    {"Flatten", "Flatten", 13},
    {"Floor", "Floor", 13},
    {"GatherND", "GatherND", 13},
    {"HardSigmoid", "HardSigmoid", 13},
    {"Identity", "Identity", 13},
    {"Less", "Less", 13},
    {"Log", "Log", 13},
    {"Max", "Max", 13},
    {"Mean", "Mean", 13},
    {"Min", "Min", 13},
    {"Neg", "Neg", 13},
    {"Negative", "Neg", 13},
    {"Not", "Not", 13},
    {"Reciprocal", "Reciprocal", 13},
    {"ReduceL1", "ReduceL1", 11},
    {"ReduceL2", "ReduceL2", 11},
    {"ReduceMax", "ReduceMax", 11},
    {"ReduceMean", "ReduceMean", 11},
    {"ReduceMin", "ReduceMin", 11},
    {"ReduceProd", "ReduceProd", 11},
    {"ReduceSum", "ReduceSum", 11},
    {"Relu", "Relu", 13},
    {"ScaleGradient", "Identity", 13},
    {"Shape", "Shape", 13},
    {"Sigmoid", "Sigmoid", 13},
    {"Sign", "Sign", 13},
    {"Sin", "Sin", 13},
    {"Sinh", "Sinh", 13},
    {"Softmax", "Softmax", 11},
    {"Softplus", "Softplus", 13},
    {"Softsign", "Softsign", 13},
    {"Sqrt", "Sqrt", 13},
    {"StopGradient", "Identity", 13},
    {"Sum", "Sum", 13},
    {"Tan", "Tan", 13},
    {"Tanh", "Tanh", 13},
};

static const same *
find_same(const char *name)
{
    for (size_t i = 0; i < sizeof sames / sizeof *sames; i++)
        if (strcmp(sames[i].name, name) == 0)
            return &sames[i];
    return NULL;
}

/* Runs the row of ONNX's operator, in its opset. */
static bool
as_onnx(import_node *n)
{
    const same *s = find_same(n->proto->op_type);
    const import_row *any;

    n->opset = s->opset;
    n->row = import_find_row(s->onnx, s->opset, &any);
    /* The scale of gradients has no effect in inference. */
    import_ignore(n, "scale");
    return n->row->run(n);
}

static const import_row as_onnx_row = {"", 1, 0, as_onnx, NULL, NULL};

static const import_row *
find_row(glow_arena *a, const char *name, int opset, const char **why)
{
    const same *s = find_same(name);
    const import_row *any;

    (void)a;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const import_row *r = tables[t]; r->name; r++)
            if (strcmp(r->name, name) == 0)
                return r;
    (void)opset;
    if (s && import_find_row(s->onnx, s->opset, &any))
        return &as_onnx_row;
    *why = "Caffe2";
    return NULL;
}

const import_dialect caffe2_dialect = {GLOW_LOC_CAFFE2, false, find_row};

glow_kind
caffe2_kind(int64_t type)
{
    static const glow_kind kinds[] = {
        [1] = GLOW_FLOAT,    [2] = GLOW_INDEX32,  [3] = GLOW_UINDEX8,
        [5] = GLOW_BOOL,     [6] = GLOW_UINDEX8,  [7] = GLOW_INT8,
        [8] = GLOW_UINT16,   [9] = GLOW_INT16,    [10] = GLOW_INDEX64,
        [12] = GLOW_FLOAT16, [13] = GLOW_FLOAT64,
    };

    return type >= 0 && (size_t)type < sizeof kinds / sizeof *kinds
               ? kinds[type]
               : GLOW_NO_KIND;
}

bool
caffe2_channels_last(import_node *n)
{
    static const char *const orders[] = {"NCHW", "NHWC", NULL};

    return import_word(n, "order", "NCHW", orders) == 1;
}
