/*
 * fold-quantization: state scales and offsets that are constant in types.
 *
 *     QuantizeLinear(%x, s, z) : int8<..>
 *         =>  BitCast(Quantize(%x) : i8[S:s O:z]<..>) : int8<..>
 *     DequantizeLinear(%q : int8<..>, s, z)
 *         =>  Dequantize(BitCast(%q) : i8[S:s O:z]<..>)
 *
 * where all elements of Scale are one number, positive and finite, and all of Offset;
 * %x is float.  uint8 becomes ui8, int16 i16, int32 i32; the other kinds of ONNX have
 * no quantized one, and stay.
 *
 *     BitCast(BitCast(%x))            =>  BitCast(%x), or %x
 *     BitCast(@c), Quantize(@c)       =>  a constant
 *     Quantize(Dequantize(%q)) : T    =>  %q, if T, of 8 or 16 bits, is its type
 *
 * Elements move while they are few bits:
 *
 *     Transpose(Dequantize(%q))       =>  Dequantize(Transpose(%q))
 *     Quantize(Transpose(%x))         =>  Transpose(Quantize(%x))
 *
 * The first rule holds for Reshape, Slice, Pad by 0, Gather, Flip, SpaceToDepth,
 * MaxPool, and Concat of equal types, and for Tile, Broadcast and ResizeNearest where all users are
 * Quantize; the second for Reshape, if nobody else uses the operand.  Transpose and
 * Reshape pass DequantizeLinear as well, and take its Axis along.
 *
 * Without Pad, it holds for BitCast to the integers of ONNX, too, because models move
 * integers between QuantizeLinear and DequantizeLinear.
 *
 * Bounds outside of the range of a type are dropped:
 *
 *     Quantize(Relu(%x)) : T          =>  Quantize(%x) : T, if the offset is the least
 *                                         element
 *     Quantize(Clip(%x)) : T          =>  Quantize(%x) : T, if the bounds become the
 *                                         least and the largest element
 *
 *     Relu(%q : T) : T, Clip(%q : T) : T  =>  %q, in the same cases
 *     Max(%q, least) : T              =>  %q, and Min with the largest element
 *
 * because rounding is monotonic.
 *
 * Nothing is done for a backend that does not take Quantize.
 *
 * An element comes back from Quantize(Dequantize(q)) as it was: the product (q - O) * S
 * and its quotient by S are each off by less than 2^-23, which is below one half for the
 * 17 bits of q - O.
 *
 * ONNX models state each scale as an operand, one pair of nodes before each operator;
 * recognize-quantized then finds the operators between them.
 */

#include <math.h>
#include <string.h>

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/pass.h"
#include "passes/graph/common/axes.h"
#include "passes/graph/common/backend.h"

/* Scales that neither overflow nor lose bits times 17 bits. */
static const float least_scale = 0x1p-100f, most_scale = 0x1p100f;

static const glow_type *
typed(glow_builder *b, glow_type t)
{
    return glow_type_get(glow_builder_context(b), t);
}

/* The quantized kind of the same bits as an integer kind; GLOW_NO_KIND if none. */
static glow_kind
quantized_kind(glow_kind k)
{
    switch (k) {
    case GLOW_INT8:
        return GLOW_INT8Q;
    case GLOW_UINDEX8:
        return GLOW_UINT8Q;
    case GLOW_INT16:
        return GLOW_INT16Q;
    case GLOW_INDEX32:
        return GLOW_INT32Q;
    default:
        return GLOW_NO_KIND;
    }
}

/*
 * The quantized type of the `integers` by uniform operands Scale and Offset; NULL if
 * there is none.
 */
static const glow_type *
type_by_scale(glow_builder *b, const glow_node *n, const glow_type *integers)
{
    glow_type t = *integers;
    double scale, offset = 0;

    t.elem = quantized_kind(integers->elem);
    if (t.elem == GLOW_NO_KIND || !glow_splat_value(n->in[1], &scale) ||
        (n->in[2] && !glow_splat_value(n->in[2], &offset)))
        return NULL;
    t.scale = (float)scale;
    t.offset = (int32_t)offset;
    t.strides = (glow_dims){0};
    if (!(t.scale >= least_scale && t.scale <= most_scale))
        return NULL;
    return typed(b, t);
}

static glow_value *
fold_quantizelinear(glow_builder *b, glow_node *n)
{
    const glow_type *t = type_by_scale(b, n, n->out[0]->type);
    glow_value *q;

    if (!t || n->in[0]->type->elem != GLOW_FLOAT)
        return NULL;
    q = GLOW_BUILD_STATED_PLAIN(b, quantize, t, GLOW_IN(n->in[0]));
    return GLOW_BUILD_STATED_PLAIN(b, bitcast, n->out[0]->type, GLOW_IN(q));
}

static glow_value *
fold_dequantizelinear(glow_builder *b, glow_node *n)
{
    const glow_type *t = type_by_scale(b, n, n->in[0]->type);
    glow_value *q;

    if (!t)
        return NULL;
    q = GLOW_BUILD_STATED_PLAIN(b, bitcast, t, GLOW_IN(n->in[0]));
    return GLOW_BUILD_STATED_PLAIN(b, dequantize, n->out[0]->type, GLOW_IN(q));
}

/* True if all patterns of bits are elements of the kind. */
static bool
keeps_bits(const glow_type *t)
{
    return glow_is_quantized(t->elem) || glow_is_int(t->elem) ||
           glow_is_float(t->elem);
}

/* A constant of `type` with the bytes of `v`, which has as many. */
static glow_value *
same_bytes(glow_builder *b, const glow_value *v, const glow_type *type)
{
    const glow_tensor *from = glow_constant_tensor(v->storage);
    glow_value *c;

    if (!from)
        return NULL;
    c = glow_build_constant(b, "bits", type);
    if (c)
        memcpy(c->storage->tensor.data, from->data,
               (size_t)glow_type_bytes(type));
    return c;
}

static glow_value *
fold_bitcast(glow_builder *b, glow_node *n)
{
    const glow_type *to = n->out[0]->type;
    const glow_node *inner = glow_def(n->in[0], &glow_op_bitcast);
    glow_value *x = inner ? inner->in[0] : n->in[0];

    if (x->type == to && (!inner || keeps_bits(n->in[0]->type)))
        return x;
    if (inner && keeps_bits(n->in[0]->type))
        return GLOW_BUILD_STATED_PLAIN(b, bitcast, to, GLOW_IN(x));
    if (glow_is_constant(x) && x->storage->payload != GLOW_ELIDED && !inner &&
        keeps_bits(to) && x->type->strides.rank == 0)
        return same_bytes(b, x, to);
    return NULL;
}

/* Movement. */

static bool
only_quantized(const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        if (!glow_is(u->user, &glow_op_quantize) || u->index != 0)
            return false;
    return v->uses != NULL;
}

/* True if `n` is worth computing in few bits: it repeats nothing, or is quantized. */
static bool
is_worth(const glow_node *n)
{
    return glow_type_count(n->out[0]->type) <=
               glow_type_count(n->in[0]->type) ||
           only_quantized(n->out[0]);
}

/* `n` with operands `in`, quantized as the first of them. */
static glow_value *
build_moved(glow_builder *b, const glow_node *n, glow_value *const *in)
{
    glow_type t = *in[0]->type;

    t.shape = n->out[0]->type->shape;
    t.strides = (glow_dims){0};
    return glow_build(b, n->op,
                      n->op->traits & GLOW_STATED ? typed(b, t) : NULL, in,
                      n->n_in, n->attrs);
}

/* True for a BitCast of quantized elements to the integers that ONNX has them as. */
static bool
is_plain(const glow_node *n)
{
    return n && glow_is_quantized(n->in[0]->type->elem) &&
           quantized_kind(n->out[0]->type->elem) == n->in[0]->type->elem;
}

static bool
is_only_saved(const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        if (!glow_is(u->user, &glow_op_save))
            return false;
    return true;
}

/*
 * `n` of integers that are quantized elements.  A Transpose before an output stays,
 * since place-transpose has it behind the BitCast.
 */
static glow_value *
sink_bitcast(glow_builder *b, const glow_node *n)
{
    const glow_node *c = glow_def(n->in[0], &glow_op_bitcast);
    glow_value *in[GLOW_MAX_OPERANDS];

    if (!is_plain(c) || n->op == &glow_op_pad ||
        (n->op == &glow_op_transpose && is_only_saved(n->out[0])))
        return NULL;
    for (int i = 0; i < n->n_in; i++)
        in[i] = i ? n->in[i] : c->in[0];
    return GLOW_BUILD_STATED_PLAIN(b, bitcast, n->out[0]->type,
                                   GLOW_IN(build_moved(b, n, in)));
}

/* The axis of Result that `axis` of the operand of `n` becomes; -1 if it is none. */
static int
moved_axis(const glow_node *n, int axis)
{
    const glow_transpose *t = GLOW_AS(transpose, n);
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;

    for (int i = 0; t && i < y.rank; i++)
        if (t->shuffle.at[i] == axis)
            return i;
    for (int i = 0; !t && i < y.rank; i++)
        if (y.at[i] == x.at[axis] &&
            glow_dims_product(y, 0, i) == glow_dims_product(x, 0, axis) &&
            glow_dims_product(y, i, y.rank) ==
                glow_dims_product(x, axis, x.rank))
            return i;
    return -1;
}

/* Transpose or Reshape of a DequantizeLinear. */
static glow_value *
sink_dequantizelinear(glow_builder *b, glow_node *n)
{
    glow_node *d = glow_def(n->in[0], &glow_op_dequantizelinear);
    glow_dequantizelinear q;
    glow_value *x;

    if (!d ||
        (!glow_is(n, &glow_op_transpose) && !glow_is(n, &glow_op_reshape)))
        return NULL;
    q = *(const glow_dequantizelinear *)d->attrs;
    if (q.block_size && d->in[1]->type->shape.rank)
        return NULL;
    if (d->in[1]->type->shape.rank)
        q.axis = moved_axis(n, q.axis);
    if (q.axis < 0)
        return NULL;
    x = build_moved(b, n, &d->in[0]);
    return glow_build(b, d->op, n->out[0]->type, GLOW_IN(x, d->in[1], d->in[2]),
                      &q);
}

static glow_value *
sink_dequantize(glow_builder *b, glow_node *n)
{
    const glow_node *d = glow_def(n->in[0], &glow_op_dequantize);
    const glow_pad *pad = GLOW_AS(pad, n);
    glow_value *in[GLOW_MAX_OPERANDS];

    if (n->n_in > GLOW_MAX_OPERANDS || (pad && pad->value != 0))
        return NULL;
    if (!d && glow_def(n->in[0], &glow_op_bitcast))
        return sink_bitcast(b, n);
    if (!d)
        return sink_dequantizelinear(b, n);
    if (!is_worth(n))
        return NULL;
    for (int i = 0; i < n->n_in; i++)
        in[i] = i ? n->in[i] : d->in[0];
    return GLOW_BUILD_STATED_PLAIN(b, dequantize, n->out[0]->type,
                                   GLOW_IN(build_moved(b, n, in)));
}

static bool
same_parameters(const glow_type *a, const glow_type *b)
{
    return a->elem == b->elem && a->scale == b->scale && a->offset == b->offset;
}

/* Concat of results of Dequantize, or of such a BitCast, of equal types. */
static glow_value *
sink_below_concat(glow_builder *b, glow_node *n)
{
    glow_value **in =
        GLOW_NEW_ARRAY(glow_builder_scratch(b), glow_value *, n->n_in);
    const glow_op *op = n->in[0]->def ? n->in[0]->def->op : NULL;

    for (int i = 0; i < n->n_in; i++) {
        const glow_node *d = op ? glow_def(n->in[i], op) : NULL;

        if (!d || !(op == &glow_op_dequantize ||
                    (op == &glow_op_bitcast && is_plain(d))))
            return NULL;
        in[i] = d->in[0];
        if (!same_parameters(in[i]->type, in[0]->type))
            return NULL;
    }
    return glow_build(b, op, n->out[0]->type, GLOW_IN(build_moved(b, n, in)),
                      NULL);
}

/* Quantize. */

/* A constant with the elements of the constant or Splat `v`, quantized. */
static glow_value *
quantize_constant(glow_builder *b, const glow_value *v, const glow_type *to)
{
    const glow_splat *splat = GLOW_AS(splat, v->def);
    const glow_tensor *from = splat ? NULL : glow_constant_tensor(v->storage);
    glow_value *c;

    if (splat || v->storage->payload == GLOW_SPLAT) {
        int64_t q =
            glow_quantize(to, splat ? (double)splat->value : v->storage->splat);

        c = glow_build_splat(b, "quantized", to, (double)q);
        if (c)
            c->storage->splat_int = q;
        return c;
    }
    if (!from)
        return NULL;
    c = glow_build_constant(b, "quantized", to);
    for (int64_t i = 0; c && i < glow_type_count(to); i++)
        glow_set_int(&c->storage->tensor, i,
                     glow_quantize(to, glow_get_double(from, i)));
    return c;
}

static bool
is_known(const glow_value *v)
{
    if (glow_is(v->def, &glow_op_splat))
        return !v->def->pred;
    return glow_is_constant(v) && v->storage->payload != GLOW_ELIDED &&
           v->type->strides.rank == 0;
}

/* True if a Relu or a Clip leaves all numbers that `t` represents. */
static bool
is_redundant(const glow_node *n, const glow_type *t)
{
    const glow_clip *clip = GLOW_AS(clip, n);

    if (!n || n->pred)
        return false;
    if (clip)
        return glow_quantize(t, (double)clip->min) ==
                   glow_quantized_least(t->elem) &&
               glow_quantize(t, (double)clip->max) ==
                   glow_quantized_most(t->elem);
    return glow_is(n, &glow_op_relu) &&
           t->offset == glow_quantized_least(t->elem);
}

/* True if `t` has the 8 or 16 bits, and the scale, with which elements come back. */
static bool
is_reversible(const glow_type *t)
{
    return glow_quantized_values(t->elem) && t->scale >= least_scale &&
           t->scale <= most_scale;
}

static glow_value *
fold_quantize(glow_builder *b, glow_node *n)
{
    const glow_type *t = n->out[0]->type;
    glow_value *x = n->in[0], *q;
    const glow_node *d = glow_def(x, &glow_op_dequantize);
    const glow_node *move = glow_only_def(x, &glow_op_transpose);

    if (is_known(x))
        return quantize_constant(b, x, t);
    if (d && d->in[0]->type == t && x->type->elem == GLOW_FLOAT &&
        is_reversible(t))
        return d->in[0];
    if (is_redundant(x->def, t))
        return GLOW_BUILD_STATED_PLAIN(b, quantize, t, GLOW_IN(x->def->in[0]));
    if (!move)
        move = glow_only_def(x, &glow_op_reshape);
    if (!move)
        return NULL;

    glow_type before = *t;

    before.shape = move->in[0]->type->shape;
    q = GLOW_BUILD_STATED_PLAIN(b, quantize, typed(b, before),
                                GLOW_IN(move->in[0]));
    return build_moved(b, move, &q);
}

/* Relu and Clip of quantized elements within the bounds, to the same type. */
static glow_value *
fold_bounds(glow_builder *b, glow_node *n)
{
    const glow_type *t = n->out[0]->type;

    (void)b;
    return n->in[0]->type == t && is_reversible(t) && is_redundant(n, t)
               ? n->in[0]
               : NULL;
}

/* Max with the least element of its type, Min with the largest. */
static glow_value *
fold_extreme(glow_builder *b, glow_node *n)
{
    const glow_type *t = n->out[0]->type;
    int64_t end;

    (void)b;
    if (n->pred || !is_reversible(t))
        return NULL;
    end = n->op == &glow_op_max ? glow_quantized_least(t->elem)
                                : glow_quantized_most(t->elem);
    for (int i = 0; i < 2; i++) {
        const glow_value *v = n->in[1 - i];

        if (n->in[i]->type == t && v->type == t && glow_is_constant(v) &&
            v->storage->payload == GLOW_SPLAT && v->storage->splat_int == end)
            return n->in[i];
    }
    return NULL;
}

static const glow_rewrite_row rows[] = {
    {&glow_op_bitcast, fold_bitcast},
    {&glow_op_broadcast, sink_dequantize},
    {&glow_op_clip, fold_bounds},
    {&glow_op_concat, sink_below_concat},
    {&glow_op_dequantizelinear, fold_dequantizelinear},
    {&glow_op_flip, sink_dequantize},
    {&glow_op_gather, sink_dequantize},
    {&glow_op_max, fold_extreme},
    {&glow_op_maxpool, sink_dequantize},
    {&glow_op_min, fold_extreme},
    {&glow_op_pad, sink_dequantize},
    {&glow_op_quantize, fold_quantize},
    {&glow_op_quantizelinear, fold_quantizelinear},
    {&glow_op_relu, fold_bounds},
    {&glow_op_reshape, sink_dequantize},
    {&glow_op_resizenearest, sink_dequantize},
    {&glow_op_slice, sink_dequantize},
    {&glow_op_spacetodepth, sink_dequantize},
    {&glow_op_tile, sink_dequantize},
    {&glow_op_transpose, sink_dequantize},
    {0},
};

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    if (!glow_backend_quantizes(pass))
        return GLOW_UNCHANGED;
    return glow_rewrite_each(pass, f, rows, NULL);
}

const glow_pass glow_pass_fold_quantization = {
    .name = "fold-quantization",
    .summary = "state constant scales and offsets in types",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .takes_quantized = true,
};
