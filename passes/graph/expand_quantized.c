/*
 * expand-quantized: compute in floats between Dequantize and Quantize.
 *
 *     %y = Op(%x ..) : T              =>  Quantize(Op(Dequantize(%x) ..)) : T
 *     %y = RescaleQuantized(%x) : T   =>  Quantize(Dequantize(%x)) : T
 *     %y = ChannelwiseQuantizedConvolution(%x, %f, %b, %s, %o, %t, %p) {..} : T
 *         =>
 *     %d = DequantizeLinear(BitCast(%f) : int8<..>, %s, %o) {Axis: 0}
 *     %c = DequantizeLinear(BitCast(%b) : index32<..> - %p, %t, 0) {Axis: 0}
 *     %y = Quantize(Convolution(Dequantize(%x), %d, %c) {..}) : T
 *
 * RowwiseQuantizedFullyConnected becomes a FullyConnected in the same way.  A constant
 * bias becomes i32 in units of the sums, scale of %x times those of the weights, rounded
 * as the product rounds it: integer kernels of ONNX Runtime read no other scale of a
 * bias (quantize_static writes this one).  A computed bias is the floats that it was
 * rounded from, since QuantizeLinear has no 32 bits.  A product whose bias is in other
 * units and no constant stays.  Of products that are quantized at run time
 * the bias alone becomes floats.  Operators that only
 * move elements stay, as do MaxPool and IntLookupTable, and the offsets of filters must
 * be constants within their kind.
 *
 * The inverse of recognize-quantized, with the same bound of one step.  glow-translate
 * runs it before it writes ONNX, which has quantized elements as pairs of conversions.
 */

#include <math.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "glow/quantize.h"

static const glow_type *
with_kind(glow_builder *b, const glow_type *like, glow_kind kind)
{
    return glow_type_get(glow_builder_context(b),
                         glow_type_of(kind, like->shape));
}

/* The floats that `v` stands for; `v` if it is not quantized. */
static glow_value *
to_floats(glow_builder *b, glow_value *v)
{
    if (!v || !glow_is_quantized(v->type->elem))
        return v;
    return GLOW_BUILD_STATED_PLAIN(
        b, dequantize, with_kind(b, v->type, GLOW_FLOAT), GLOW_IN(v));
}

static glow_value *
quantize(glow_builder *b, const glow_node *n, glow_value *y)
{
    return GLOW_BUILD_STATED_PLAIN(b, quantize, n->out[0]->type, GLOW_IN(y));
}

/* The integers of the same bits; GLOW_NO_KIND if there are none. */
static glow_kind
plain_kind(glow_kind k)
{
    return k == GLOW_INT8Q    ? GLOW_INT8
           : k == GLOW_UINT8Q ? GLOW_UINDEX8
           : k == GLOW_INT16Q ? GLOW_INT16
           : k == GLOW_INT32Q ? GLOW_INDEX32
                              : GLOW_NO_KIND;
}

static glow_value *
integers_of(glow_builder *b, glow_value *v)
{
    return GLOW_BUILD_STATED_PLAIN(
        b, bitcast, with_kind(b, v->type, plain_kind(v->type->elem)),
        GLOW_IN(v));
}

static const glow_tensor *
data_of(const glow_value *v)
{
    return v ? glow_constant_data(v, glow_type_count(v->type)) : NULL;
}

/* True if `v` is constant, and its elements are ones of `kind`. */
static bool
fits(const glow_value *v, glow_kind kind)
{
    const glow_tensor *t = glow_constant_data(v, glow_type_count(v->type));
    int64_t least = glow_quantized_least(kind);
    int64_t most = glow_quantized_most(kind);

    for (int64_t i = 0; t && i < glow_type_count(v->type); i++)
        if (glow_get_int(t, i) < least || glow_get_int(t, i) > most)
            return false;
    return t != NULL;
}

/*
 * The elements of constant `offsets` in `kind`; NULL: zeros, of `like`'s shape.  ONNX
 * Runtime 1.30 fails on a list of scales without zero points once it optimizes.
 */
static glow_value *
zero_points(glow_builder *b, const glow_value *offsets, const glow_type *like,
            glow_kind kind)
{
    glow_value *v = glow_build_constant(b, "offsets", with_kind(b, like, kind));

    for (int64_t i = 0; i < glow_type_count(like); i++)
        glow_set_int(&v->storage->tensor, i,
                     offsets ? glow_get_int(data_of(offsets), i) : 0);
    return v;
}

/* Weights with a scale and a constant offset for each slice of axis 0. */
static glow_value *
expand_weights(glow_builder *b, glow_value *w, glow_value *scales,
               const glow_value *offsets)
{
    glow_value *integers = integers_of(b, w);
    glow_value *zeros =
        zero_points(b, offsets, offsets->type, plain_kind(w->type->elem));

    return GLOW_BUILD_STATED(b, dequantizelinear,
                             with_kind(b, w->type, GLOW_FLOAT),
                             GLOW_IN(integers, scales, zeros), .axis = 0);
}

/* The bias of a product: its operands, and those that its units depend on. */
typedef struct bias {
    const glow_type *x, *w;       /* Input and weights */
    glow_value *w_scales;         /* NULL: the scale of `w` */
    glow_value *v;                /* may be NULL */
    glow_value *scales, *offsets; /* NULL: those of the type of `v` */
} bias;

static double
number_at(const glow_tensor *t, int64_t i, double otherwise)
{
    return t ? glow_get_double(t, i) : otherwise;
}

/* The unit of the sums of channel `i`, as a float. */
static float
unit_at(const bias *c, int64_t i)
{
    return (float)((double)c->x->scale *
                   number_at(data_of(c->w_scales), i, (double)c->w->scale));
}

static double
scale_at(const bias *c, int64_t i)
{
    return number_at(data_of(c->scales), i, (double)c->v->type->scale);
}

static int64_t
offset_at(const bias *c, int64_t i)
{
    const glow_tensor *t = data_of(c->offsets);

    return t ? glow_get_int(t, i) : c->v->type->offset;
}

/* True if all is constant, and each unit is the scale of a type. */
static bool
has_units(const bias *c)
{
    if (!data_of(c->v) || (c->w_scales && !data_of(c->w_scales)) ||
        (c->scales && (!data_of(c->scales) || !data_of(c->offsets))))
        return false;
    for (int64_t i = 0; i < glow_type_count(c->v->type); i++)
        if (!(unit_at(c, i) > 0 && isfinite(unit_at(c, i))))
            return false;
    return true;
}

/* True if the elements are integers of 32 bits in these units. */
static bool
is_in_units(const bias *c)
{
    if (c->v->type->elem != GLOW_INT32Q)
        return false;
    for (int64_t i = 0; i < glow_type_count(c->v->type); i++)
        if ((float)scale_at(c, i) != unit_at(c, i) || offset_at(c, i) != 0)
            return false;
    return true;
}

/*
 * True of a bias that can be expressed: in units of the sums, or made so.  Runtimes that
 * fuse the sandwich take the elements of the bias for such, whatever its scale is.
 */
static bool
is_expressible(const bias *c)
{
    return !c->v || !glow_is_quantized(c->v->type->elem) || has_units(c) ||
           ((!c->w_scales || data_of(c->w_scales)) &&
            (!c->scales || (data_of(c->scales) && data_of(c->offsets))) &&
            is_in_units(c));
}

/* The scales of a bias in units of the sums; NULL: the one in its type. */
static glow_value *
units_of(glow_builder *b, const bias *c)
{
    glow_value *v;

    if (!c->w_scales)
        return NULL;
    v = glow_build_constant(b, "bias.scales",
                            with_kind(b, c->v->type, GLOW_FLOAT));
    for (int64_t i = 0; i < glow_type_count(c->v->type); i++)
        glow_set_double(&v->storage->tensor, i, (double)unit_at(c, i));
    return v;
}

/* The elements of a bias in units of the sums. */
static glow_value *
in_units(glow_builder *b, const bias *c)
{
    int64_t count = glow_type_count(c->v->type);
    glow_type type = glow_type_of(GLOW_INT32Q, c->v->type->shape);
    glow_value *v;

    type.scale = c->w_scales || count == 0 ? 1 : unit_at(c, 0);
    v = glow_build_constant(b, "bias",
                            glow_type_get(glow_builder_context(b), type));
    for (int64_t i = 0; i < count; i++)
        glow_set_int(&v->storage->tensor, i,
                     glow_quantize_bias(scale_at(c, i), offset_at(c, i),
                                        glow_get_int(data_of(c->v), i),
                                        (double)unit_at(c, i)));
    return v;
}

/* The floats that a computed bias of 32 bits was rounded from; NULL for others. */
static glow_value *
unrounded(glow_builder *b, const glow_value *v)
{
    const glow_node *n = v && v->type->elem == GLOW_INT32Q ? v->def : NULL;

    return n && (n->op == &glow_op_quantize ||
                 n->op == &glow_op_rescalequantized)
               ? to_floats(b, n->in[0])
               : NULL;
}

static glow_value *
expand_bias(glow_builder *b, bias c)
{
    glow_value *q = unrounded(b, c.v);

    if (q)
        return q;

    if (c.v && has_units(&c) && !is_in_units(&c)) {
        q = in_units(b, &c);
        c = (bias){.v = q, .scales = units_of(b, &c)};
    }
    if (!c.v || !c.scales)
        return to_floats(b, c.v);
    q = integers_of(b, c.v);
    if (q->type->elem != GLOW_INDEX32)
        q = GLOW_BUILD_STATED_PLAIN(
            b, convertto, with_kind(b, c.v->type, GLOW_INDEX32), GLOW_IN(q));
    if (c.offsets && !glow_is_number(c.offsets, 0))
        q = GLOW_BUILD_PLAIN(b, sub, GLOW_IN(q, c.offsets));
    return GLOW_BUILD_STATED(
        b, dequantizelinear, with_kind(b, c.v->type, GLOW_FLOAT),
        GLOW_IN(q, c.scales,
                zero_points(b, NULL, c.scales->type, GLOW_INDEX32)),
        .axis = 0);
}

static glow_value *
expand_channelwise(glow_builder *b, glow_node *n)
{
    bias v = {.x = n->in[0]->type,
              .w = n->in[1]->type,
              .w_scales = n->in[3],
              .v = n->in[2],
              .scales = n->in[5],
              .offsets = n->in[6]};
    glow_value *x, *f, *c;

    if (!fits(n->in[4], n->in[1]->type->elem) || !is_expressible(&v))
        return NULL;
    x = to_floats(b, n->in[0]);
    f = expand_weights(b, n->in[1], n->in[3], n->in[4]);
    c = expand_bias(b, v);
    return quantize(
        b, n,
        glow_build(b, &glow_op_convolution, NULL, GLOW_IN(x, f, c), n->attrs));
}

static glow_value *
expand_rowwise(glow_builder *b, glow_node *n)
{
    bias v = {.x = n->in[0]->type,
              .w = n->in[1]->type,
              .w_scales = n->in[2],
              .v = n->in[4]};
    glow_value *x, *w, *c;

    if (!fits(n->in[3], n->in[1]->type->elem) || !is_expressible(&v))
        return NULL;
    x = to_floats(b, n->in[0]);
    w = expand_weights(b, n->in[1], n->in[2], n->in[3]);
    w = GLOW_BUILD(b, transpose, GLOW_IN(w), .shuffle = GLOW_DIMS_OF(1, 0));
    c = expand_bias(b, v);
    return quantize(b, n,
                    GLOW_BUILD(b, fullyconnected, GLOW_IN(x, w, c), .axis = 1));
}

/* Input is of floats already; a quantized bias becomes floats, weights stay. */
static glow_value *
expand_dynamic(glow_builder *b, glow_node *n)
{
    glow_value *in[GLOW_MAX_OPERANDS];

    if (!glow_is_quantized(n->in[2]->type->elem) ||
        n->in[0]->type->elem != GLOW_FLOAT)
        return NULL;
    for (int i = 0; i < n->n_in; i++)
        in[i] = i == 2 ? to_floats(b, n->in[i]) : n->in[i];
    return glow_build(b, n->op, NULL, in, n->n_in, n->attrs);
}

/* True if operand `i` is the bias of a product with one scale of the weights. */
static bool
is_plain_bias(const glow_node *n, int i)
{
    return i == 2 && glow_is_quantized(n->in[0]->type->elem) &&
           (n->op == &glow_op_convolution || n->op == &glow_op_fullyconnected);
}

static glow_value *
expand_operand(glow_builder *b, const glow_node *n, int i)
{
    if (!is_plain_bias(n, i))
        return to_floats(b, n->in[i]);
    return expand_bias(
        b, (bias){.x = n->in[0]->type, .w = n->in[1]->type, .v = n->in[i]});
}

/* True for operators that are left as they are. */
static bool
stays(const glow_node *n)
{
    static const glow_op *const list[] = {
        &glow_op_bitcast,        &glow_op_dequantize, &glow_op_dequantizelinear,
        &glow_op_intlookuptable, &glow_op_maxpool,    &glow_op_quantize,
        &glow_op_quantizelinear,
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (n->op == list[i])
            return true;
    return n->pred || n->n_out != 1 || n->n_in > GLOW_MAX_OPERANDS ||
           glow_op_calls(n->op) || !glow_computes_quantized(n);
}

static glow_value *
expand(glow_builder *b, glow_node *n)
{
    glow_value *in[GLOW_MAX_OPERANDS], *y;
    const glow_type *type;
    bool is_quantized;

    if (stays(n))
        return NULL;
    if (n->op == &glow_op_channelwisequantizedconvolution)
        return expand_channelwise(b, n);
    if (n->op == &glow_op_rowwisequantizedfullyconnected)
        return expand_rowwise(b, n);
    if (n->op == &glow_op_dynamicquantizedfullyconnected ||
        n->op == &glow_op_dynamicrowwisequantizedfullyconnected)
        return expand_dynamic(b, n);
    if (n->n_in > 2 && is_plain_bias(n, 2)) {
        bias v = {.x = n->in[0]->type, .w = n->in[1]->type, .v = n->in[2]};

        if (!is_expressible(&v))
            return NULL;
    }
    for (int i = 0; i < n->n_in; i++)
        in[i] = expand_operand(b, n, i);
    if (n->op == &glow_op_rescalequantized)
        return quantize(b, n, in[0]);
    type = n->out[0]->type;
    is_quantized = glow_is_quantized(type->elem);
    if (is_quantized)
        type = with_kind(b, type, GLOW_FLOAT);
    y = glow_build(b, n->op, n->op->traits & GLOW_STATED ? type : NULL, in,
                   n->n_in, n->attrs);
    return is_quantized ? quantize(b, n, y) : y;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    return glow_rewrite(pass, f, NULL, expand);
}

const glow_pass glow_pass_expand_quantized = {
    .name = "expand-quantized",
    .summary = "compute in floats between Dequantize and Quantize",
    .level = GLOW_GRAPH,
    .preserves = GLOW_PRECISION,
    .run = run,
    .takes_quantized = true,
};
