/*
 * fold-pad: merge padding into the windows of convolution and pooling.
 *
 *     %p = Pad(%x) {Pads: [0, 1, 1, 0, 0, 1, 1, 0]}
 *     %y = Convolution(%p, %f, %b) {Pads: [0, 0, 0, 0]}
 *         =>
 *     %y = Convolution(%x, %f, %b) {Pads: [1, 1, 1, 1]}
 *
 * Convolution and pooling have implicit pads, which are never stored.  Their
 * value must equal the value of the Pad:
 *
 *     Convolution   zeros
 *     AvgPool       zeros that count: CountIncludePads, or no pads so far
 *     MaxPool       the neutral value: -inf, the least integer; zeros around
 *                   a non-negative Input, if each window overlaps it
 *
 * A Pad that crops, or pads batches or channels, stays, and so does one with
 * other users or a predicate.  Networks from TensorFlow and Keras pad before
 * convolutions and pools with strides, since its padding is asymmetric.
 * Afterwards none of these windows reads a Pad that its own pads can express.
 *
 * Glow folds Pad into Convolution alone.
 */

#include <math.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"

/*
 * A constant Pad, with the pads of the spatial axes: all starts, then all ends.
 */
typedef struct frame {
    glow_value *x;
    double value;
    glow_dims pads;
} frame;

/*
 * Sets `f` if `v` is a constant Pad of spatial axes with one user; else false.
 */
static bool
find_frame(glow_builder *b, const glow_value *v, frame *f)
{
    const glow_node *n = glow_only_def(v, &glow_op_pad);
    const glow_pad *p = n ? n->attrs : NULL;
    int rank = v->type->shape.rank;

    if (!p || p->mode != GLOW_PAD_CONSTANT)
        return false;
    *f = (frame){.x = n->in[0], .value = (double)p->value};
    for (int i = 0; i < 2 * rank; i++) {
        bool is_spatial = i % rank != 0 && i % rank != rank - 1;

        if (p->pads.at[i] < 0 || (!is_spatial && p->pads.at[i] != 0) ||
            f->pads.rank == GLOW_MAX_RANK)
            return false;
        if (is_spatial)
            f->pads.at[f->pads.rank++] = p->pads.at[i];
    }
    glow_builder_fuses(b, n);
    return true;
}

/* Adds pads; false on overflow. */
static bool
add_pads(glow_dims *to, glow_dims pads)
{
    for (int i = 0; i < pads.rank; i++)
        if (glow_add_overflow(to->at[i], pads.at[i], &to->at[i]))
            return false;
    return true;
}

static bool
is_one_of(const glow_node *n, const glow_op *const *ops)
{
    while (*ops && *ops != n->op)
        ops++;
    return *ops;
}

#define MOST_STEPS 4

/*
 * True if no element of `v` is negative, by a short walk over its definitions.
 */
static bool
is_never_negative(const glow_value *v)
{
    static const glow_op *const makes[] = {
        &glow_op_abs,  &glow_op_exp,      &glow_op_hardsigmoid,
        &glow_op_relu, &glow_op_sigmoid,  &glow_op_softmax,
        &glow_op_sqrt, &glow_op_softplus, NULL,
    };
    static const glow_op *const keeps[] = {
        &glow_op_avgpool,
        &glow_op_maxpool,
        &glow_op_reshape,
        &glow_op_transpose,
        NULL,
    };

    for (int i = 0; i < MOST_STEPS && v->def && !v->def->pred; i++) {
        const glow_node *n = v->def;
        const glow_clip *c = GLOW_AS(clip, n);

        if (c || !is_one_of(n, keeps))
            return c ? c->min >= 0 : is_one_of(n, makes);
        v = n->in[0];
    }
    return false;
}

/* True if each window overlaps Input, padded by `pads`. */
static bool
always_sees(const glow_maxpool *p, glow_dims pads)
{
    int axes = p->kernels.rank;

    for (int i = 0; i < axes; i++)
        if (pads.at[i] >= p->kernels.at[i] ||
            pads.at[axes + i] >= p->kernels.at[i] ||
            (p->dilation.rank && p->dilation.at[i] != 1))
            return false;
    return true;
}

/* The least value of `kind`. */
static double
least_of(glow_kind kind)
{
    const glow_kind_info *k = glow_kind_get(kind);

    if (glow_is_float(kind))
        return -INFINITY;
    return k->is_signed ? -ldexp(1, k->bits - 1) : 0;
}

/* The operators. */

static glow_value *
fold_convolution(glow_builder *b, glow_node *n)
{
    glow_convolution c = *(const glow_convolution *)n->attrs;
    frame f;

    if (!find_frame(b, n->in[0], &f) || f.value != 0 ||
        !add_pads(&c.pads, f.pads))
        return NULL;
    return glow_build(b, n->op, NULL, GLOW_IN(f.x, n->in[1], n->in[2]), &c);
}

static glow_value *
fold_avgpool(glow_builder *b, glow_node *n)
{
    glow_avgpool p = *(const glow_avgpool *)n->attrs;
    frame f;

    if (!find_frame(b, n->in[0], &f) || f.value != 0 || p.ceil_mode ||
        (!glow_dims_are(p.pads, 0) && !p.count_include_pads) ||
        !add_pads(&p.pads, f.pads))
        return NULL;
    p.count_include_pads = true;
    return glow_build(b, n->op, NULL, GLOW_IN(f.x), &p);
}

static glow_value *
fold_maxpool(glow_builder *b, glow_node *n)
{
    glow_maxpool p = *(const glow_maxpool *)n->attrs;
    frame f;

    if (!find_frame(b, n->in[0], &f) || p.ceil_mode ||
        !add_pads(&p.pads, f.pads))
        return NULL;
    if (f.value != least_of(n->in[0]->type->elem) &&
        !(f.value == 0 && always_sees(&p, p.pads) && is_never_negative(f.x)))
        return NULL;
    return glow_build(b, n->op, NULL, GLOW_IN(f.x), &p);
}

static const glow_rewrite_row rows[] = {
    {&glow_op_avgpool, fold_avgpool},
    {&glow_op_convolution, fold_convolution},
    {&glow_op_maxpool, fold_maxpool},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_fold_pad = {
    .name = "fold-pad",
    .summary = "merge padding into the windows of convolution and pooling",
    .level = GLOW_GRAPH,
    .preserves = GLOW_ORDER,
    .run = run,
    .source = "Glow MergePadIntoConvolution; ONNX Runtime PadFusion",
};
