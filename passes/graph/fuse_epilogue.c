/*
 * fuse-epilogue: fuse addition and activation into convolutions and products.
 *
 *     %c = Convolution(%x, %f, %b)
 *     %s = Add(%c, %r)              =>  %y = FusedConvolution(%x, %f, %b, %r)
 *     %y = Relu(%s)                                       {Activation: Relu}
 *
 * and the same with FullyConnected or MatMul, and FusedFullyConnected.  Addend
 * and activation are each optional.  The result is rounded once instead of
 * three times.
 *
 * A backend can compute the epilogue while the sum is in registers, without
 * further passes over memory.  A backend that cannot, or that fuses by itself,
 * lowers the fused node back.
 *
 * A Reshape in between sinks below the fused node, whose addend is matched by
 * element.
 *
 * Only nodes without other users of their results are fused, and none with a
 * predicate.  If both operands of an Add could take it, the first does; the
 * other is its addend.  Other passes do not match fused nodes, so this is the
 * last pass before lowering.  Afterwards no activation of the list in
 * ir/ops/fused.c, and no Add of floats, is the only user of a convolution or
 * product that could still take it.
 *
 * Glow fuses five activations, and no addend, depending on the backend, so that
 * its graphs are not portable afterwards.
 */

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/* A fused operator under construction, of either kind. */
typedef struct fused {
    const glow_node *sum; /* the operator that computes the sum */
    glow_value *in[4];
    glow_fusedconvolution conv;
    glow_fusedfullyconnected full;
    const glow_type *type; /* of the result, which may be reshaped */
    bool is_conv;
    int *activation;
    glow_floats *args;
} fused;

static bool
begin_convolution(const glow_node *n, fused *f)
{
    const glow_convolution *c = GLOW_AS(convolution, n);

    if (!c)
        return false;
    f->is_conv = true;
    f->conv = (glow_fusedconvolution){.kernels = c->kernels,
                                      .strides = c->strides,
                                      .pads = c->pads,
                                      .group = c->group,
                                      .dilation = c->dilation};
    return true;
}

static bool
begin_product(const glow_node *n, fused *f)
{
    const glow_fullyconnected *c = GLOW_AS(fullyconnected, n);

    f->full.axis = c ? c->axis : 1;
    return c || (glow_is(n, &glow_op_matmul) &&
                 glow_is_float(n->out[0]->type->elem));
}

/* Begins with a node that is already fused and has no activation yet. */
static bool
begin_fused(const glow_node *n, fused *f)
{
    if (glow_is(n, &glow_op_fusedconvolution)) {
        f->is_conv = true;
        f->conv = *(const glow_fusedconvolution *)n->attrs;
        return f->conv.activation == GLOW_FUSED_NONE;
    }
    if (!glow_is(n, &glow_op_fusedfullyconnected))
        return false;
    f->full = *(const glow_fusedfullyconnected *)n->attrs;
    return f->full.activation == GLOW_FUSED_NONE;
}

/*
 * Begins a fused operator with the definition of `v`; false if it cannot take
 * an epilogue.
 */
static bool
begin(const glow_value *v, fused *f)
{
    const glow_node *reshape = glow_only_def(v, &glow_op_reshape);
    const glow_node *n;

    *f = (fused){.type = v->type};
    v = reshape ? reshape->in[0] : v;
    f->sum = n = v->def;
    if (!n || n->pred || !glow_has_one_use(v) ||
        !(begin_convolution(n, f) || begin_product(n, f) || begin_fused(n, f)))
        return false;
    for (int i = 0; i < n->n_in; i++)
        f->in[i] = n->in[i];
    f->activation = f->is_conv ? &f->conv.activation : &f->full.activation;
    f->args = f->is_conv ? &f->conv.activation_args : &f->full.activation_args;
    return true;
}

static glow_value *
finish(glow_builder *b, const fused *f)
{
    glow_value *y;

    glow_builder_fuses(b, f->sum);
    y = f->is_conv
            ? glow_build(b, &glow_op_fusedconvolution, NULL, f->in, 4, &f->conv)
            : glow_build(b, &glow_op_fusedfullyconnected, NULL, f->in, 4,
                         &f->full);
    if (!y || y->type == f->type)
        return y;
    return GLOW_BUILD(b, reshape, GLOW_IN(y), .dims = f->type->shape);
}

static glow_value *
fuse_add(glow_builder *b, const glow_node *n)
{
    fused f;

    if (n->in[0]->type != n->in[1]->type)
        return NULL;
    for (int i = 0; i < 2; i++)
        if (begin(n->in[i], &f) && !f.in[3]) {
            f.in[3] = n->in[1 - i];
            return finish(b, &f);
        }
    return NULL;
}

static glow_value *
fuse(glow_builder *b, glow_node *n)
{
    int activation = glow_fused_activation_of(n);
    fused f;

    if (n->pred)
        return NULL;
    if (n->op == &glow_op_add)
        return fuse_add(b, n);
    if (activation == GLOW_FUSED_NONE || !begin(n->in[0], &f))
        return NULL;
    *f.activation = activation;
    *f.args = glow_fused_args_of(glow_builder_scratch(b), n);
    return finish(b, &f);
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, fuse);
}

const glow_pass glow_pass_fuse_epilogue = {
    .name = "fuse-epilogue",
    .summary = "fuse addition and activation into convolutions and products",
    .level = GLOW_GRAPH,
    .preserves = GLOW_REASSOC,
    .run = run,
    .source = "Glow foldActivations; ONNX Runtime ConvActivationFusion, "
              "ConvAddActivationFusion, GemmActivationFusion",
};
