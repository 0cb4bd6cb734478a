/* Table of operators that are linear in their weights. */

#include "passes/graph/common/linear.h"

/* Weights by channel of the result. */

/* Filter [O, kernel.., C / Group] */
static affine_layout
convolution_results(const glow_node *n)
{
    glow_dims f = n->in[1]->type->shape;
    int64_t count = glow_dims_count(f);

    return (affine_layout){count, count / f.at[0], f.at[0]};
}

/* Filter [C, kernel.., O / Group] */
static affine_layout
convtranspose_results(const glow_node *n)
{
    const glow_convtranspose *t = n->attrs;
    glow_dims f = n->in[1]->type->shape;

    return (affine_layout){glow_dims_count(f) / t->group, 1, f.at[f.rank - 1]};
}

/* [.., N] */
static affine_layout
columns(const glow_node *n)
{
    glow_dims w = n->in[1]->type->shape;

    return (affine_layout){glow_dims_count(w), 1, w.at[w.rank - 1]};
}

/* [N, ..] */
static affine_layout
rows(const glow_node *n)
{
    glow_dims w = n->in[1]->type->shape;
    int64_t count = glow_dims_count(w);

    return (affine_layout){count, count / w.at[0], w.at[0]};
}

static affine_layout
gemm_results(const glow_node *n)
{
    const glow_gemm *g = n->attrs;

    return g->transpose_b ? rows(n) : columns(n);
}

/* Weights by channel of Input. */

static affine_layout
convolution_inputs(const glow_node *n)
{
    const glow_convolution *c = n->attrs;
    glow_dims f = n->in[1]->type->shape;

    return (affine_layout){glow_dims_count(f) / c->group, 1, f.at[f.rank - 1]};
}

static affine_layout
gemm_inputs(const glow_node *n)
{
    const glow_gemm *g = n->attrs;

    return g->transpose_b ? columns(n) : rows(n);
}

/* Axes. */

static int
last_axis(const glow_node *n)
{
    return n->out[0]->type->shape.rank - 1;
}

static int
batchnorm_axis(const glow_node *n)
{
    const glow_batchnormalization *bn = n->attrs;

    return bn->channel_idx;
}

static int
last_input(const glow_node *n)
{
    return n->in[0]->type->shape.rank - 1;
}

static int
fullyconnected_input(const glow_node *n)
{
    const glow_fullyconnected *f = n->attrs;

    return f->axis == last_input(n) ? f->axis : -1;
}

static int
gemm_input(const glow_node *n)
{
    const glow_gemm *g = n->attrs;

    return g->transpose_a ? -1 : 1;
}

/* Builders of the operator with other weights. */

static glow_value *
same_again(glow_builder *b, const glow_node *n, glow_value *x, glow_value *w,
           glow_value *bias)
{
    glow_value *in[5] = {x, w, bias};

    for (int i = 3; i < n->n_in; i++)
        in[i] = n->in[i];
    return glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
}

static glow_value *
matmul_again(glow_builder *b, const glow_node *n, glow_value *x, glow_value *w,
             glow_value *bias)
{
    (void)n;
    if (!bias)
        return GLOW_BUILD_PLAIN(b, matmul, GLOW_IN(x, w));
    return GLOW_BUILD(b, fullyconnected, GLOW_IN(x, w, bias), .axis = 1);
}

static glow_value *
gemm_again(glow_builder *b, const glow_node *n, glow_value *x, glow_value *w,
           glow_value *bias)
{
    glow_gemm g = *(const glow_gemm *)n->attrs;

    if (bias)
        bias = GLOW_BUILD(b, broadcast, GLOW_IN(bias), .axis = 1,
                          .target_dim = n->out[0]->type->shape);
    g.beta = 1;
    return glow_build(b, n->op, NULL, GLOW_IN(x, w, bias), &g);
}

/* Padding. */

static bool
always(const glow_node *n)
{
    (void)n;
    return true;
}

/* Padding zeros are not shifted. */
static bool
is_unpadded(const glow_node *n)
{
    const glow_convolution *c = n->attrs;

    for (int i = 0; i < c->pads.rank; i++)
        if (c->pads.at[i] != 0)
            return false;
    return true;
}

/* Elements of Input reach results of the border less often than others. */
static bool
never(const glow_node *n)
{
    (void)n;
    return false;
}

static const linear table[] = {
    {&glow_op_batchnormalization, columns, NULL, batchnorm_axis, NULL,
     same_again, true, never},
    {&glow_op_convolution, convolution_results, convolution_inputs, last_axis,
     last_input, same_again, true, is_unpadded},
    {&glow_op_convtranspose, convtranspose_results, rows, last_axis, last_input,
     same_again, true, never},
    {&glow_op_fullyconnected, columns, rows, last_axis, fullyconnected_input,
     same_again, true, always},
    {&glow_op_gemm, gemm_results, gemm_inputs, last_axis, gemm_input,
     gemm_again, false, always},
    {&glow_op_matmul, columns, rows, last_axis, last_input, matmul_again, false,
     always},
};

const linear *
glow_linear_of(const glow_node *n)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].op == n->op)
            return &table[i];
    return NULL;
}

bool
glow_linear_has_channels(const glow_node *n)
{
    const glow_type *t = n->out[0]->type;

    return glow_is_float(t->elem) && t->strides.rank == 0 &&
           glow_type_count(t) > 0 && glow_type_count(n->in[1]->type) > 0;
}

bool
glow_linear_bias(const glow_node *n, int64_t channels, double *out)
{
    const glow_value *bias = n->n_in > 2 ? n->in[2] : NULL;
    const glow_gemm *g = GLOW_AS(gemm, n);

    for (int64_t i = 0; i < channels; i++)
        out[i] = 0;
    if (bias &&
        !glow_affine_numbers(bias, bias->type->shape.rank - 1, channels, out))
        return false;
    for (int64_t i = 0; g && i < channels; i++)
        out[i] *= (double)g->beta;
    return true;
}

glow_node *
glow_linear_only_user(const glow_value *v)
{
    glow_node *u = glow_has_one_use(v) ? v->uses->user : NULL;

    return u && !u->pred && u->n_out == 1 ? u : NULL;
}

void
glow_linear_refuse(glow_pass_run *run, const glow_node *n)
{
    glow_run_remark(run, n, false, "%s could not hold the weights scaled",
                    glow_kind_get(n->out[0]->type->elem)->name);
}

glow_value *
glow_linear_copy(glow_builder *b, const glow_node *n, glow_value *v)
{
    const glow_type *type = glow_states_type(n) ? n->out[0]->type : NULL;

    return glow_build(b, n->op, type, &v, 1, n->attrs);
}
