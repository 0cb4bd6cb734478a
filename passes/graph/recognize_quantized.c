/*
 * recognize-quantized: compute in integers between Dequantize and Quantize.
 *
 *     %f = Dequantize(%x : X)
 *     %w = DequantizeLinear(@w, @s, @z) {Axis: 0}
 *     %b = DequantizeLinear(@b, @t)
 *     %c = Convolution(%f, %w, %b) {..}
 *     %y = Quantize(%c) : T
 *         =>
 *     %y = ChannelwiseQuantizedConvolution(%x, @w, @b, @s, @z, @t, 0) {..} : T
 *
 *     Quantize(Op(Dequantize(%x) ..)) : T     =>  Op(%x ..) : T
 *     Quantize(Concat(Dequantize(%x) ..)) : T
 *                         =>  Concat(RescaleQuantized(%x) : T ..)
 *     Quantize(Dequantize(%x)) : T            =>  RescaleQuantized(%x) : T
 *                                                 if all elements of %x stay the same
 *     Quantize(Relu(%v)) : T                  =>  Relu(Quantize(%v) : T) : T
 *
 * The last rule is for products and sums %v, possibly moved, and holds for Clip.  FullyConnected, Gemm
 * and MatMul by weights become RowwiseQuantizedFullyConnected, MatMul and BatchMatMul of
 * two tensors stay what they are.  Op is an element-wise operator, an average or a
 * mean; those with a definition in float64 alone, such as SoftMax, would be lowered to
 * the same sandwich, and stay.
 *
 * A bias is i32, or a constant float, which is rounded to the unit of the sums, a
 * product of two scales, if that is at most 1/16 of a step of the result.  Unsigned
 * weights become signed: 128 less, and so their offsets.
 *
 * The floats of the sandwich round each product and sum; integers are exact, and round
 * once: results differ where a float sum is on the other side of a tie, by one step.
 * Sums have at most 32768 terms, and with a constant bias no more than 32 bits hold.
 *
 * ONNX Runtime's QDQ models state each operator so.
 *
 *     %w = DequantizeLinear(@w, @s, @z) {Axis: 0, BlockSize: 32}
 *     %y = MatMul(%x, %w)
 *         => BlockwiseQuantizedFullyConnected(%x, @q, @s', @z') {BlockSize: 32, ..}
 *
 * Weights of 8 or 4 bits that are dequantized in blocks along the depth stay in blocks,
 * transposed at compile time, and the product one of floats.  It holds for
 * FullyConnected, and for a Transpose of a DequantizeLinear with Axis 1, as which
 * MatMulNBits is imported.
 */

#include <math.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/quantize.h"
#include "passes/graph/common/backend.h"
#include "passes/graph/common/blocks.h"

enum { MOST_TERMS = 32768 };

static const glow_type *
typed(glow_builder *b, glow_kind elem, float scale, int32_t offset,
      glow_dims shape)
{
    glow_type t = glow_type_of(elem, shape);

    if (glow_is_quantized(elem)) {
        t.scale = scale;
        t.offset = offset;
    }
    return glow_type_get(glow_builder_context(b), t);
}

/* Quantized values behind floats. */

/* The quantized elements that `v` is made of, of 16 bits at most; NULL if there are none. */
static glow_value *
quantized_of(glow_builder *b, glow_value *v)
{
    const glow_node *repeat = glow_def(v, &glow_op_broadcast);
    const glow_node *d =
        glow_def(repeat ? repeat->in[0] : v, &glow_op_dequantize);

    if (!d || v->type->elem != GLOW_FLOAT ||
        !glow_quantized_values(d->in[0]->type->elem))
        return NULL;
    if (!repeat)
        return d->in[0];
    return glow_build(b, &glow_op_broadcast, NULL, GLOW_IN(d->in[0]),
                      repeat->attrs);
}

/* `v` of ui8, which has the offset `offset`, as i8: 128 less. */
static glow_value *
signed_elements(glow_builder *b, glow_value *v, const glow_type *from)
{
    glow_value *u = GLOW_BUILD_STATED_PLAIN(b, bitcast, from, GLOW_IN(v));

    return GLOW_BUILD_STATED_PLAIN(
        b, rescalequantized,
        typed(b, GLOW_INT8Q, from->scale, from->offset - 128, from->shape),
        GLOW_IN(u));
}

/* Weights of i8, with a scale and an offset for each of some slices. */
typedef struct weights {
    glow_value *q;
    glow_value *scales;  /* float<N> */
    glow_value *offsets; /* index32<N> */
} weights;

/* Constants of `n` elements. */
static glow_value *
floats(glow_builder *b, int64_t n, float v)
{
    return glow_build_splat(
        b, "scales", typed(b, GLOW_FLOAT, 0, 0, GLOW_DIMS_OF(n)), (double)v);
}

static glow_value *
integers(glow_builder *b, int64_t n, int32_t v)
{
    return glow_build_splat(b, "offsets",
                            typed(b, GLOW_INDEX32, 0, 0, GLOW_DIMS_OF(n)), v);
}

static glow_value *
to_index32(glow_builder *b, glow_value *v)
{
    if (v->type->elem == GLOW_INDEX32)
        return v;
    return GLOW_BUILD_STATED_PLAIN(
        b, convertto, typed(b, GLOW_INDEX32, 0, 0, v->type->shape), GLOW_IN(v));
}

/* Weights with one scale, from a Dequantize. */
static bool
uniform_weights(glow_builder *b, const glow_node *d, int64_t n, weights *w)
{
    glow_value *q = d->in[0];
    const glow_type *t = q->type;
    bool is_unsigned = t->elem == GLOW_UINT8Q;

    if (t->elem != GLOW_INT8Q && !is_unsigned)
        return false;
    w->scales = floats(b, n, t->scale);
    w->offsets = integers(b, n, t->offset - (is_unsigned ? 128 : 0));
    w->q = is_unsigned ? signed_elements(b, q, t) : q;
    return w->q != NULL;
}

/* Weights with a scale for each slice of `axis`. */
static bool
sliced_weights(glow_builder *b, const glow_node *d, int axis, weights *w)
{
    const glow_dequantizelinear *q = d->attrs;
    glow_value *x = d->in[0], *zero = d->in[2];
    bool is_unsigned = x->type->elem == GLOW_UINDEX8;
    int64_t n = x->type->shape.at[axis];

    if (d->in[1]->type->shape.rank != 1 || q->block_size || q->axis != axis ||
        d->in[1]->type->elem != GLOW_FLOAT ||
        (x->type->elem != GLOW_INT8 && !is_unsigned))
        return false;
    w->scales = d->in[1];
    w->offsets = zero ? to_index32(b, zero) : integers(b, n, 0);
    if (is_unsigned) {
        w->q = signed_elements(b, x,
                               typed(b, GLOW_UINT8Q, 1, 128, x->type->shape));
        w->offsets =
            GLOW_BUILD_PLAIN(b, sub, GLOW_IN(w->offsets, integers(b, n, 128)));
    } else {
        w->q = GLOW_BUILD_STATED_PLAIN(
            b, bitcast, typed(b, GLOW_INT8Q, 1, 0, x->type->shape), GLOW_IN(x));
    }
    return w->q && w->offsets;
}

/* The weights that `v` is made of; they differ along `axis`. */
static bool
find_weights(glow_builder *b, glow_value *v, int axis, weights *w)
{
    const glow_node *d = glow_def(v, &glow_op_dequantize);
    const glow_node *l = glow_def(v, &glow_op_dequantizelinear);

    if (v->type->elem != GLOW_FLOAT)
        return false;
    return d   ? uniform_weights(b, d, v->type->shape.at[axis], w)
           : l ? sliced_weights(b, l, axis, w)
               : false;
}

/* Biases. */

/* A bias of i32, b = scales * (q - offsets). */
typedef struct bias {
    glow_value *q;       /* i32<N> */
    glow_value *scales;  /* float<N> */
    glow_value *offsets; /* index32<N> */
} bias;

/* The list of `n` elements that a bias repeats for all rows, if it does. */
static glow_value *
row_of(glow_value *v, int64_t n)
{
    const glow_node *repeat = glow_def(v, &glow_op_broadcast);
    glow_value *x = repeat ? repeat->in[0] : v;
    const glow_broadcast *r = repeat ? repeat->attrs : NULL;
    glow_dims shape = x->type->shape;

    if (shape.rank != 1 || shape.at[0] != n ||
        (r && r->axis != r->target_dim.rank - 1))
        return NULL;
    return x;
}

static bool
no_bias(glow_builder *b, int64_t n, bias *out)
{
    out->q = glow_build_splat(b, "bias",
                              typed(b, GLOW_INT32Q, 1, 0, GLOW_DIMS_OF(n)), 0);
    out->scales = floats(b, n, 1);
    out->offsets = integers(b, n, 0);
    return out->q != NULL;
}

/* A constant of float, in units of the sums: x is the scale of Input. */
static bool
rounded_bias(glow_builder *b, const glow_value *v, const glow_type *x,
             const glow_type *y, const weights *w, bias *out)
{
    int64_t n = glow_type_count(v->type);
    const glow_tensor *from = glow_constant_data(v, n);
    const glow_tensor *scales = glow_constant_data(w->scales, n);

    if (!from || !scales)
        return false;
    out->q = glow_build_constant(b, "bias",
                                 typed(b, GLOW_INT32Q, 1, 0, GLOW_DIMS_OF(n)));
    out->scales = glow_build_constant(
        b, "scales", typed(b, GLOW_FLOAT, 0, 0, GLOW_DIMS_OF(n)));
    out->offsets = integers(b, n, 0);
    for (int64_t i = 0; out->q && out->scales && i < n; i++) {
        double unit = (double)x->scale * glow_get_double(scales, i);
        double q = nearbyint(glow_get_double(from, i) / (double)(float)unit);

        if (!(fabs(q) <= 0x1p30) || unit > (double)y->scale / 16)
            return false;
        glow_set_int(&out->q->storage->tensor, i, (int64_t)q);
        glow_set_double(&out->scales->storage->tensor, i, unit);
    }
    return out->q && out->scales;
}

/* True if find_bias may take `v`, so that nothing is built in vain. */
static bool
is_bias(glow_value *v, int64_t n)
{
    const glow_node *d, *l;
    double all;

    if (!v || (glow_splat_value(v, &all) && all == 0))
        return true;
    v = row_of(v, n);
    if (!v || v->type->elem != GLOW_FLOAT)
        return false;
    d = glow_def(v, &glow_op_dequantize);
    l = glow_def(v, &glow_op_dequantizelinear);
    return glow_is_constant(v) || (d && d->in[0]->type->elem == GLOW_INT32Q) ||
           (l && l->in[0]->type->elem == GLOW_INDEX32 &&
            l->in[1]->type->shape.rank == 1 &&
            l->in[1]->type->elem == GLOW_FLOAT);
}

/* The elements of a bias, if they are constant. */
static const glow_tensor *
bias_elements(const bias *c, int64_t n)
{
    const glow_node *same = glow_def(c->q, &glow_op_bitcast);

    return glow_constant_data(same ? same->in[0] : c->q, n);
}

/*
 * True if 32 bits hold any sum of `terms` products of 8 bits and the bias `c`, in units of
 * the products.  A bias that is no constant is expected to be in reach of the products.
 */
static bool
sum_fits(const bias *c, const glow_type *x, const weights *w, int64_t terms)
{
    int64_t n = glow_type_count(w->scales->type);
    const glow_tensor *q = bias_elements(c, n);
    const glow_tensor *scales = glow_constant_data(c->scales, n);
    const glow_tensor *offsets = glow_constant_data(c->offsets, n);
    const glow_tensor *units = glow_constant_data(w->scales, n);
    double rest = 0x1p31 - 1 - (double)terms * 255 * 255;

    if (!q || !scales || !offsets || !units ||
        glow_quantized_values(x->elem) > 256)
        return true;
    for (int64_t i = 0; i < n; i++) {
        double unit = (double)x->scale * glow_get_double(units, i);
        double from = (double)(glow_get_int(q, i) - glow_get_int(offsets, i));

        if (fabs(from * glow_get_double(scales, i)) > rest * unit)
            return false;
    }
    return true;
}

/* Sets *out to the bias `v`, for which is_bias holds. */
static bool
find_bias(glow_builder *b, glow_value *v, const glow_type *x,
          const glow_type *y, const weights *w, bias *out)
{
    int64_t n = glow_type_count(w->scales->type);
    const glow_node *d, *l;
    double all;

    if (!v || (glow_splat_value(v, &all) && all == 0))
        return no_bias(b, n, out);
    v = row_of(v, n);
    d = glow_def(v, &glow_op_dequantize);
    l = glow_def(v, &glow_op_dequantizelinear);
    if (d) {
        out->q = d->in[0];
        out->scales = floats(b, n, out->q->type->scale);
        out->offsets = integers(b, n, out->q->type->offset);
        return true;
    }
    if (!l)
        return rounded_bias(b, v, x, y, w, out);
    out->q = GLOW_BUILD_STATED_PLAIN(
        b, bitcast, typed(b, GLOW_INT32Q, 1, 0, GLOW_DIMS_OF(n)),
        GLOW_IN(l->in[0]));
    out->scales = l->in[1];
    out->offsets = l->in[2] ? l->in[2] : integers(b, n, 0);
    return out->q != NULL;
}

/*
 * A bias with one scale, of which each row's rescaling gives the same integers: 2^-30
 * of the largest bias, if that is at most half of each unit.  NULL if there is none.
 */
static glow_value *
common_scale(glow_builder *b, const bias *v, const glow_type *x,
             const weights *w)
{
    int64_t n = glow_type_count(w->scales->type);
    const glow_tensor *q, *scales, *units = glow_constant_data(w->scales, n);
    glow_value *out;
    double most = 0, least = INFINITY, scale;

    if (glow_splat_value(v->scales, &scale) &&
        glow_is_quantized(v->q->type->elem) &&
        (float)scale == v->q->type->scale)
        return v->q;
    q = bias_elements(v, n);
    scales = glow_constant_data(v->scales, n);
    if (!q || !scales || !units || !glow_is_number(v->offsets, 0))
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)glow_get_int(q, i) *
                               glow_get_double(scales, i)));
        least = fmin(least, (double)x->scale * glow_get_double(units, i));
    }
    scale = most > 0 ? (double)(float)(most * 0x1p-30) : least / 2;
    if (!(scale <= least / 2) || !(scale >= 0x1p-120))
        return NULL;
    out = glow_build_constant(
        b, "bias", typed(b, GLOW_INT32Q, (float)scale, 0, GLOW_DIMS_OF(n)));
    for (int64_t i = 0; out && i < n; i++) {
        double whole =
            (double)glow_get_int(q, i) * glow_get_double(scales, i) / scale;

        if (!(fabs(whole) <= 0x1p31)) /* a scale that is no number */
            return NULL;
        glow_set_int(&out->storage->tensor, i, (int64_t)nearbyint(whole));
    }
    return out;
}

/* Products. */

static glow_value *
recognize_convolution(glow_builder *b, const glow_node *n, const glow_type *to)
{
    glow_value *x = quantized_of(b, n->in[0]);
    glow_value *addend = n->n_in > 2 ? n->in[2] : NULL;
    glow_dims filter = n->in[1]->type->shape;
    weights w;
    bias c;

    if (!x || !is_bias(addend, filter.at[0]) ||
        glow_dims_product(filter, 1, filter.rank) > MOST_TERMS ||
        !find_weights(b, n->in[1], 0, &w) ||
        !find_bias(b, addend, x->type, to, &w, &c) ||
        !sum_fits(&c, x->type, &w, glow_dims_product(filter, 1, filter.rank)))
        return NULL;
    return glow_build(
        b, &glow_op_channelwisequantizedconvolution, to,
        GLOW_IN(x, w.q, c.q, w.scales, w.offsets, c.scales, c.offsets),
        n->attrs);
}

/* x w + bias, of w [K, N], or of its transpose. */
static glow_value *
connect(glow_builder *b, glow_value *in, glow_value *weight, bool is_transposed,
        glow_value *addend, const glow_type *to)
{
    glow_value *x = quantized_of(b, in), *rows, *c;
    int axis = is_transposed ? 0 : 1;
    weights w;
    bias found;

    if (!x || !is_bias(addend, weight->type->shape.at[axis]) ||
        weight->type->shape.at[1 - axis] > MOST_TERMS ||
        !find_weights(b, weight, axis, &w) ||
        !find_bias(b, addend, x->type, to, &w, &found) ||
        !sum_fits(&found, x->type, &w, weight->type->shape.at[1 - axis]))
        return NULL;
    c = common_scale(b, &found, x->type, &w);
    rows = is_transposed ? w.q
                         : GLOW_BUILD(b, transpose, GLOW_IN(w.q),
                                      .shuffle = GLOW_DIMS_OF(1, 0));
    if (!c || !rows)
        return NULL;
    return GLOW_BUILD_STATED_PLAIN(b, rowwisequantizedfullyconnected, to,
                                   GLOW_IN(x, rows, w.scales, w.offsets, c));
}

static glow_value *
recognize_fullyconnected(glow_builder *b, const glow_node *n,
                         const glow_type *to)
{
    const glow_fullyconnected *f = n->attrs;

    if (f->axis != 1 || n->in[0]->type->shape.rank != 2)
        return NULL;
    return connect(b, n->in[0], n->in[1], false, n->in[2], to);
}

static glow_value *
recognize_gemm(glow_builder *b, const glow_node *n, const glow_type *to)
{
    const glow_gemm *g = n->attrs;

    if (g->transpose_a || g->alpha != 1 || (n->in[2] && g->beta != 1))
        return NULL;
    return connect(b, n->in[0], n->in[1], g->transpose_b, n->in[2], to);
}

/* A product of two tensors with one scale each, without a bias. */
static glow_value *
recognize_batchmatmul(glow_builder *b, const glow_node *n, const glow_type *to)
{
    glow_value *x = quantized_of(b, n->in[0]), *w = quantized_of(b, n->in[1]);
    glow_dims shape = n->in[0]->type->shape;

    if (!x || !w || shape.at[shape.rank - 1] > MOST_TERMS)
        return NULL;
    return glow_build(b, n->op, to, GLOW_IN(x, w), n->attrs);
}

static glow_value *
recognize_matmul(glow_builder *b, const glow_node *n, const glow_type *to)
{
    glow_value *y = recognize_batchmatmul(b, n, to);

    return y ? y : connect(b, n->in[0], n->in[1], false, NULL, to);
}

/* Others. */

/* The operator itself, if all operands are quantized. */
static glow_value *
recognize_same(glow_builder *b, const glow_node *n, const glow_type *to)
{
    glow_value *in[GLOW_MAX_OPERANDS];

    if (n->n_in > GLOW_MAX_OPERANDS)
        return NULL;
    for (int i = 0; i < n->n_in; i++) {
        in[i] = quantized_of(b, n->in[i]);
        if (!in[i])
            return NULL;
    }
    return glow_build(b, n->op, to, in, n->n_in, n->attrs);
}

/* True if all elements of `from` have the same in `to` by one rounding and by floats. */
static bool
rescales_alike(const glow_type *from, const glow_type *to)
{
    int64_t least = glow_quantized_least(from->elem);

    for (int64_t i = 0; i < glow_quantized_values(from->elem); i++)
        if (glow_rescale(from, to, least + i) !=
            glow_quantize(to, glow_dequantize(from, least + i)))
            return false;
    return true;
}

/* The elements `q` of the floats `v` as `to`. */
static glow_value *
rescaled(glow_builder *b, glow_value *v, glow_value *q, const glow_type *to)
{
    if (q->type == to)
        return q;
    if (!rescales_alike(q->type, to))
        return GLOW_BUILD_STATED_PLAIN(b, quantize, to, GLOW_IN(v));
    return GLOW_BUILD_STATED_PLAIN(b, rescalequantized, to, GLOW_IN(q));
}

static glow_value *
recognize_concat(glow_builder *b, const glow_node *n, const glow_type *to)
{
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);

    for (int i = 0; i < n->n_in; i++) {
        glow_value *q = quantized_of(b, n->in[i]);

        if (!q)
            return NULL;
        in[i] =
            rescaled(b, n->in[i], q,
                     typed(b, to->elem, to->scale, to->offset, q->type->shape));
    }
    return glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
}

static glow_value *
recognize_rescale(glow_builder *b, const glow_node *n, const glow_type *to)
{
    if (!quantized_of(b, n->out[0]) || !rescales_alike(n->in[0]->type, to))
        return NULL;
    return GLOW_BUILD_STATED_PLAIN(b, rescalequantized, to, GLOW_IN(n->in[0]));
}

typedef glow_value *(*recognize_fn)(glow_builder *b, const glow_node *n,
                                    const glow_type *to);
static const struct {
    const glow_op *op;
    recognize_fn recognize;
    bool is_sum; /* a bound behind it is computed in integers */
} table[] = {
    {&glow_op_abs, recognize_same, false},
    {&glow_op_adaptiveavgpool, recognize_same, false},
    {&glow_op_add, recognize_same, true},
    {&glow_op_avgpool, recognize_same, false},
    {&glow_op_batchedreduceadd, recognize_same, false},
    {&glow_op_batchedreducemean, recognize_same, false},
    {&glow_op_batchmatmul, recognize_batchmatmul, true},
    {&glow_op_clip, recognize_same, false},
    {&glow_op_concat, recognize_concat, false},
    {&glow_op_convolution, recognize_convolution, true},
    {&glow_op_dequantize, recognize_rescale, false},
    {&glow_op_div, recognize_same, false},
    {&glow_op_elu, recognize_same, false},
    {&glow_op_erf, recognize_same, false},
    {&glow_op_exp, recognize_same, false},
    {&glow_op_fullyconnected, recognize_fullyconnected, true},
    {&glow_op_gelu, recognize_same, false},
    {&glow_op_gemm, recognize_gemm, true},
    {&glow_op_hardsigmoid, recognize_same, false},
    {&glow_op_hardswish, recognize_same, false},
    {&glow_op_leakyrelu, recognize_same, false},
    {&glow_op_log, recognize_same, false},
    {&glow_op_matmul, recognize_matmul, true},
    {&glow_op_max, recognize_same, false},
    {&glow_op_min, recognize_same, false},
    {&glow_op_mul, recognize_same, true},
    {&glow_op_neg, recognize_same, false},
    {&glow_op_relu, recognize_same, false},
    {&glow_op_sigmoid, recognize_same, false},
    {&glow_op_softplus, recognize_same, false},
    {&glow_op_sqrt, recognize_same, false},
    {&glow_op_sub, recognize_same, true},
    {&glow_op_swish, recognize_same, false},
    {&glow_op_tanh, recognize_same, false},
};

static recognize_fn
function_for(const glow_node *n, bool *is_sum)
{
    for (size_t i = 0; n && i < sizeof table / sizeof table[0]; i++) {
        *is_sum = table[i].is_sum;
        if (table[i].op == n->op)
            return table[i].recognize;
    }
    return NULL;
}

/*
 * True if `v` is a product or sum of quantized elements, possibly moved, that nobody else
 * uses.
 */
static bool
is_sum(const glow_value *v)
{
    const glow_node *n = v->def;
    bool sum = false;

    while (n && !n->pred && glow_has_one_use(n->out[0]) &&
           (n->op == &glow_op_transpose || n->op == &glow_op_reshape))
        n = n->in[0]->def;
    return function_for(n, &sum) && sum && !n->pred &&
           glow_has_one_use(n->out[0]) &&
           glow_def(n->in[0], &glow_op_dequantize) &&
           n->in[0]->type->elem == GLOW_FLOAT;
}

static glow_value *
fold(glow_builder *b, glow_node *n)
{
    glow_value *v = n->in[0], *y;
    const glow_type *to = n->out[0]->type;
    glow_node *by = v->def;
    bool sum;
    recognize_fn recognize = function_for(by, &sum);

    if (n->pred || !glow_quantized_values(to->elem) || !recognize || by->pred ||
        !glow_has_one_use(v) || v->type->elem != GLOW_FLOAT)
        return NULL;
    y = recognize(b, by, to);
    if (!y && (by->op == &glow_op_relu || by->op == &glow_op_clip) &&
        is_sum(by->in[0])) {
        y = GLOW_BUILD_STATED_PLAIN(b, quantize, to, GLOW_IN(by->in[0]));
        y = glow_build(b, by->op, to, GLOW_IN(y), by->attrs);
    }
    if (y)
        glow_builder_fuses(b, by);
    return y;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_fullyconnected, glow_recognize_blocks},
        {&glow_op_matmul, glow_recognize_blocks},
        {&glow_op_quantize, fold},
        {NULL, NULL},
    };

    if (!glow_backend_quantizes(pass))
        return GLOW_UNCHANGED;
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_recognize_quantized = {
    .name = "recognize-quantized",
    .summary = "compute in integers between Dequantize and Quantize",
    .level = GLOW_GRAPH,
    .preserves = GLOW_PRECISION,
    .run = run,
    .takes_quantized = true,
};
