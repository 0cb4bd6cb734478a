/*
 * vta.form-units: give convolutions, products, sums and max-pools of i8 to the
 * accelerator.
 *
 *     %c = Convolution(%x, @w, @b) {Kernels: [3, 3], ...}
 *     %r = Relu(%c)
 *     =>   %r = vta.Conv(%x, @w.packed, @b.packed) {Kernels: [3, 3], ..., Least: 0}
 *
 * and FullyConnected, MatMul, Add and MaxPool likewise, where offsets are 0, scales are
 * powers of two apart, and weights are constant.  Channels are padded to multiples of
 * 16 and sliced off behind; a Slice between two units goes, since the weights of the
 * channels that it would take away are 0.
 *
 * The interpreter makes a float of a sum before it rescales it.  That is exact up to
 * 2^24; a larger sum saturates in any case if the shift is at most 16.
 */

#include <glow/match.h>
#include <glow/quantize.h>

#include "pack.h"
#include "vta.h"

enum { EXACT_SHIFT = 16, MOST_DIM = 1 << 12 };

static bool
is_i8(const glow_value *v)
{
    return v->type->elem == GLOW_INT8Q && v->type->offset == 0 &&
           v->type->strides.rank == 0;
}

static glow_value *
leave(glow_builder *b, const glow_node *n, const char *why)
{
    glow_run_remark(glow_builder_run(b), n, false, "%s", why);
    return NULL;
}

static int64_t
round_up(int64_t n)
{
    return (n + VTA_LANES - 1) / VTA_LANES * VTA_LANES;
}

/* The unit's result that `v` is the first channels of, or NULL. */
static glow_value *
unsliced(glow_value *v)
{
    const glow_slice *s = v->def ? GLOW_AS(slice, v->def) : NULL;
    glow_dims from, to = v->type->shape;

    if (!s || v->def->pred || to.rank != 4 ||
        (v->def->in[0]->def && v->def->in[0]->def->pred))
        return NULL;
    from = v->def->in[0]->type->shape;
    for (int i = 0; i < 4; i++)
        if (s->start.at[i] != 0 || (s->steps.rank && s->steps.at[i] != 1) ||
            (i < 3 && from.at[i] != to.at[i]))
            return NULL;
    return from.at[3] == round_up(to.at[3]) &&
                   (glow_is(v->def->in[0]->def, &vta_op_conv) ||
                    glow_is(v->def->in[0]->def, &vta_op_add) ||
                    glow_is(v->def->in[0]->def, &vta_op_pool) ||
                    glow_is(v->def->in[0]->def, &vta_op_store))
               ? v->def->in[0]
               : NULL;
}

/* `v` with zeros for channels up to a multiple of 16. */
static glow_value *
padded(glow_builder *b, glow_value *v)
{
    int64_t missing = round_up(v->type->shape.at[3]) - v->type->shape.at[3];
    int64_t pads[8] = {[7] = missing};
    glow_value *whole = missing ? unsliced(v) : v;

    if (whole)
        return whole;
    return GLOW_BUILD(b, pad, GLOW_IN(v), .mode = GLOW_PAD_CONSTANT,
                      .pads = {8, pads}, .value = 0);
}

/* The first channels of `v`, of the type `t`. */
static glow_value *
sliced(glow_builder *b, glow_value *v, const glow_type *t)
{
    if (!v || v->type->shape.at[3] == t->shape.at[3])
        return v;
    return GLOW_BUILD_STATED(b, slice, t, GLOW_IN(v), .start = {.rank = 4});
}

/* Weights and bias. */

typedef struct filter {
    const glow_value *weights, *bias; /* bias may be NULL */
    int64_t groups, results;
    int64_t channels, taps; /* of a group, after fold_stride */
    int64_t block, across;  /* side of a block of pixels; taps in a row */
    int64_t kernel[2];      /* of the operator */
    /* Of each result, where it has its own: scales, offsets (NULL: 0). */
    const glow_value *scales, *offsets, *bias_scales, *bias_offsets;
    int64_t result_step, tap_step, channel_step; /* in elements of weights */
    int64_t macs; /* of the operator, without the padding of channels */
} filter;

static double
number_at(const glow_value *v, int64_t i, double otherwise)
{
    return v ? glow_get_double(glow_constant_tensor(v->storage), i) : otherwise;
}

/* The scale of the sums of result `r`. */
static double
unit_of(const filter *f, const glow_type *x, int64_t r)
{
    return (double)x->scale *
           number_at(f->scales, r, (double)f->weights->type->scale);
}

/* Weight `c` of tap `t`; a block of pixels is a pixel of as many more channels. */
static int64_t
weight_at(const filter *f, const glow_tensor *w, int64_t r, int64_t t,
          int64_t c)
{
    int64_t channels = f->channels / f->block / f->block;
    int64_t i = t / f->across * f->block + c / channels / f->block;
    int64_t j = t % f->across * f->block + c / channels % f->block;

    if (i >= f->kernel[0] || j >= f->kernel[1])
        return 0;
    return glow_get_int(w, r * f->result_step +
                               (i * f->kernel[1] + j) * f->tap_step +
                               c % channels * f->channel_step);
}

/* The largest absolute value that a sum may have. */
static int64_t
largest_sum(const filter *f, const glow_tensor *w, const int32_t *bias)
{
    int64_t most = 0;

    for (int64_t r = 0; r < f->results; r++) {
        int64_t sum = bias[r] < 0 ? -(int64_t)bias[r] : bias[r];

        for (int64_t t = 0; t < f->taps; t++)
            for (int64_t c = 0; c < f->channels; c++) {
                int64_t v = weight_at(f, w, r, t, c);

                sum += 128 * (v < 0 ? -v : v);
            }
        most = sum > most ? sum : most;
    }
    return most;
}

static glow_value *
pack_weights(glow_builder *b, const filter *f, const vta_packing *p,
             const glow_tensor *w)
{
    glow_type t = *f->weights->type;
    glow_value *v;
    int8_t *to;

    t.shape =
        GLOW_DIMS_OF(p->groups * p->results / VTA_LANES,
                     p->channels / VTA_LANES, f->taps, VTA_LANES, VTA_LANES);
    v = glow_build_constant(b, "packed",
                            glow_type_get(glow_builder_context(b), t));
    to = v->storage->tensor.data;
    for (int64_t r = 0; r < f->results; r++)
        for (int64_t k = 0; k < f->taps; k++)
            for (int64_t c = 0; c < f->channels; c++)
                to[vta_packed_index(p, f->taps, r, k, c)] =
                    (int8_t)weight_at(f, w, r, k, c);
    return v;
}

static glow_value *
pack_bias(glow_builder *b, const filter *f, const vta_packing *p,
          const glow_type *x)
{
    glow_type t = {.elem = GLOW_INT32Q,
                   .scale = (float)unit_of(f, x, 0),
                   .shape = GLOW_DIMS_OF(p->groups * p->results)};
    const glow_tensor *from =
        f->bias ? glow_constant_tensor(f->bias->storage) : NULL;
    glow_value *v = glow_build_constant(
        b, "bias", glow_type_get(glow_builder_context(b), t));
    int32_t *to = v->storage->tensor.data;

    for (int64_t r = 0; r < f->results && from; r++)
        to[r] = (int32_t)(uint32_t)glow_quantize_bias(
            number_at(f->bias_scales, r, (double)from->type->scale),
            (int64_t)number_at(f->bias_offsets, r, (double)from->type->offset),
            glow_get_int(from, r), unit_of(f, x, r));
    return v;
}

/* True if the shift of each result is from 0 to EXACT_SHIFT. */
static bool
has_shifts(const filter *f, const glow_type *x, const glow_type *y)
{
    int shift = 0;

    for (int64_t r = 0; r < f->results; r++)
        if (!vta_shift(unit_of(f, x, r), (double)y->scale, &shift) ||
            shift < 0 || shift > EXACT_SHIFT)
            return false;
    return true;
}

/* Immediates of `round` for those shifts. */
static glow_value *
pack_rounds(glow_builder *b, const filter *f, const vta_packing *p,
            const glow_type *x, const glow_type *y, int least)
{
    glow_type t = {.elem = GLOW_INT32Q,
                   .scale = 1,
                   .shape = GLOW_DIMS_OF(p->groups * p->results)};
    glow_value *v = glow_build_constant(
        b, "rounds", glow_type_get(glow_builder_context(b), t));
    int32_t *to = v->storage->tensor.data;
    int shift = 0;

    for (int64_t r = 0; r < t.shape.at[0]; r++)
        to[r] = vta_round_immediate(0, least);
    for (int64_t r = 0; r < f->results; r++) {
        vta_shift(unit_of(f, x, r), (double)y->scale, &shift);
        to[r] = vta_round_immediate(shift, least);
    }
    return v;
}

static bool
is_constant_zero(const glow_value *v)
{
    const glow_tensor *t =
        v && glow_is_constant(v) ? glow_constant_tensor(v->storage) : NULL;

    for (int64_t i = 0; t && i < glow_type_count(t->type); i++)
        if (glow_get_double(t, i) != 0)
            return false;
    return t != NULL;
}

/* Why the accelerator cannot do it, or NULL. */
static const char *
why_not(const filter *f, const glow_value *x, const glow_value *y)
{
    int shift;

    if (!is_i8(x) || y->type->elem != GLOW_INT8Q || y->type->offset ||
        f->weights->type->elem != GLOW_INT8Q ||
        (!f->scales && f->weights->type->offset) ||
        (f->scales && !is_constant_zero(f->offsets)))
        return "its elements are not all i8 without offset";
    if (!glow_is_constant(f->weights) ||
        (f->bias && !glow_is_constant(f->bias)) ||
        (f->scales && !glow_is_constant(f->scales)) ||
        (f->bias_scales && !(glow_is_constant(f->bias_scales) &&
                             glow_is_constant(f->bias_offsets))))
        return "its weights or bias are not constant";
    if (!f->scales &&
        !vta_conv_shift(x->type, f->weights->type, y->type, &shift))
        return "the scales are no powers of two apart";
    if (glow_type_count(y->type) == 0 || glow_type_count(x->type) == 0)
        return "it has no elements";
    return NULL;
}

/* The steps of the units in place of a vta.Conv. */
static glow_value *
form_steps(glow_builder *b, glow_value *x, glow_value *weights,
           glow_value *bias, glow_value *rounds, const vta_conv *v, int shift,
           const glow_type *t)
{
    glow_type sums = *bias->type;
    glow_value *y;

    sums.shape = t->shape;
    y = glow_build(
        b, &vta_op_sum, &sums, GLOW_IN(x, weights, bias, NULL),
        &(const vta_sum){v->kernels, v->strides, v->pads, v->dilation});
    y = glow_build(b, &vta_op_requantize, &sums, GLOW_IN(y, rounds),
                   &(const vta_requantize){shift, v->least, v->most});
    return glow_build(b, &vta_op_store, t, GLOW_IN(y), NULL);
}

static bool
has_units(glow_builder *b)
{
    return glow_run_backend(glow_builder_run(b)) == &vta_backend_units;
}

static glow_value *
form(glow_builder *b, glow_node *n, glow_value *x, const filter *f, vta_conv v,
     const glow_type *result)
{
    const glow_tensor *w = glow_constant_tensor(f->weights->storage);
    vta_packing p =
        vta_packing_of(f->groups, f->channels, f->results / f->groups);
    glow_value *weights, *bias, *rounds = NULL, *y;
    glow_type t = *result;
    int64_t bound;
    int shift = 0;

    if (!w || (f->bias && !glow_constant_tensor(f->bias->storage)))
        return NULL;
    if (f->scales && !has_shifts(f, x->type, result))
        return leave(b, n, "the scales are no powers of two apart");
    bias = pack_bias(b, f, &p, x->type);
    bound = largest_sum(f, w, bias->storage->tensor.data);
    if (!f->scales && (!vta_conv_shift(x->type, w->type, result, &shift) ||
                       (shift > EXACT_SHIFT && bound > 1 << 24) ||
                       (shift < 0 && bound > INT32_MAX >> -shift))) {
        glow_storage_erase(bias->storage);
        return leave(b, n, "a sum may not be exact");
    }
    weights = pack_weights(b, f, &p, w);
    if (f->scales)
        rounds = pack_rounds(b, f, &p, x->type, result, -128);
    v.group = p.groups;
    v.macs = f->macs;
    v.least = -128;
    v.most = 127;
    t.shape.at[3] = p.groups * p.results;
    if (has_units(b))
        return p.groups == 1 && shift >= 0
                   ? sliced(b,
                            form_steps(b, padded(b, x), weights, bias, rounds,
                                       &v, shift, &t),
                            result)
                   : leave(b, n,
                           "the units have no groups and shift right alone");
    y = glow_build(b, &vta_op_conv, &t,
                   GLOW_IN(padded(b, x), weights, bias, rounds), &v);
    return sliced(b, y, result);
}

/* Convolution. */

static bool
in_limits(glow_dims d, int64_t least)
{
    for (int i = 0; i < d.rank; i++)
        if (d.at[i] < least || d.at[i] > MOST_DIM)
            return false;
    return true;
}

/*
 * Blocks of pixels as channels, where the input has few of them:
 *
 *     Conv(%x, @w) {Strides: [2, 2]}   =>
 *         Conv(SpaceToDepth(Pad(%x)) {BlockSize: 2}, @w') {Strides: [1, 1]}
 *
 * if that makes fewer 16 x 16 blocks of weights, with zeros for taps past the kernel.
 * The kernel of 7 x 7 over 3 channels of ResNet's first convolution has 49 blocks, and 16
 * so.
 */
static glow_value *
fold_stride(glow_builder *b, glow_value *x, const glow_type *y, filter *f,
            vta_conv *v)
{
    glow_dims in = x->type->shape;
    int64_t s = v->strides.at[0], channels = s * s * f->channels;
    int64_t size[2], pads[8] = {0};

    for (int i = 0; i < 2; i++) {
        size[i] = (f->kernel[i] + s - 1) / s;
        pads[1 + i] = v->pads.at[i];
        pads[5 + i] = s * (y->shape.at[1 + i] + size[i] - 1) - v->pads.at[i] -
                      in.at[1 + i];
    }
    if (s == 1 || v->strides.at[1] != s || !glow_dims_are(v->dilation, 1) ||
        f->groups != 1 ||
        round_up(channels) * size[0] * size[1] >=
            round_up(f->channels) * f->taps)
        return x;
    f->block = s;
    f->channels = channels;
    f->across = size[1];
    f->taps = size[0] * size[1];
    v->kernels = GLOW_DIMS_OF(size[0], size[1]);
    v->strides = GLOW_DIMS_OF(1, 1);
    v->pads = GLOW_DIMS_OF(0, 0, 0, 0);
    x = GLOW_BUILD(b, pad, GLOW_IN(x), .mode = GLOW_PAD_CONSTANT,
                   .pads = {8, pads}, .value = 0);
    return GLOW_BUILD(b, spacetodepth, GLOW_IN(x), .block_size = s);
}

static glow_value *
form_filter(glow_builder *b, glow_node *n, filter f)
{
    const glow_convolution *c = n->attrs;
    glow_dims ones = GLOW_DIMS_OF(1, 1), s = n->in[1]->type->shape;
    vta_conv v = {.kernels = c->kernels,
                  .strides = c->strides,
                  .pads = c->pads,
                  .dilation = c->dilation.rank ? c->dilation : ones};
    const char *why;
    glow_value *x;

    if (n->in[0]->type->shape.rank != 4)
        return NULL;
    if (!in_limits(v.kernels, 1) || !in_limits(v.strides, 1) ||
        !in_limits(v.pads, 0) || !in_limits(v.dilation, 1))
        return leave(b, n, "a kernel, stride, pad or dilation is too large");
    why = why_not(&f, n->in[0], n->out[0]);
    if (why)
        return leave(b, n, why);
    f.groups = c->group;
    f.results = s.at[0];
    f.channels = s.at[3];
    f.taps = s.at[1] * s.at[2];
    f.kernel[0] = s.at[1];
    f.kernel[1] = f.across = s.at[2];
    f.block = 1;
    f.result_step = f.taps * f.channels;
    f.tap_step = f.channels;
    f.channel_step = 1;
    f.macs = glow_type_count(n->out[0]->type) * f.result_step;
    x = fold_stride(b, n->in[0], n->out[0]->type, &f, &v);
    return form(b, n, x, &f, v, n->out[0]->type);
}

static glow_value *
form_convolution(glow_builder *b, glow_node *n)
{
    return form_filter(b, n, (filter){.weights = n->in[1], .bias = n->in[2]});
}

static glow_value *
form_channelwise(glow_builder *b, glow_node *n)
{
    return form_filter(b, n,
                       (filter){.weights = n->in[1],
                                .bias = n->in[2],
                                .scales = n->in[3],
                                .offsets = n->in[4],
                                .bias_scales = n->in[5],
                                .bias_offsets = n->in[6]});
}

/* Products: rows are pixels of one column. */

static glow_value *
form_product(glow_builder *b, glow_node *n, int axis, bool transposed, filter f)
{
    glow_dims x = n->in[0]->type->shape, w = n->in[1]->type->shape;
    int64_t rows = glow_dims_product(x, 0, axis);
    vta_conv v = {GLOW_DIMS_OF(1, 1), GLOW_DIMS_OF(1, 1),
                  GLOW_DIMS_OF(0, 0, 0, 0), GLOW_DIMS_OF(1, 1), .group = 1};
    glow_type t = *n->out[0]->type;
    const char *why;
    glow_value *y;

    f.weights = n->in[1];
    f.groups = f.taps = f.block = f.across = f.kernel[0] = f.kernel[1] = 1;
    why = why_not(&f, n->in[0], n->out[0]);
    if (why)
        return leave(b, n, why);
    f.channels = w.at[transposed];
    f.results = w.at[!transposed];
    f.channel_step = transposed ? 1 : f.results;
    f.result_step = transposed ? f.channels : 1;
    f.macs = rows * f.channels * f.results;
    t.shape = GLOW_DIMS_OF(1, rows, 1, f.results);
    y = form(b, n,
             GLOW_BUILD(b, reshape, GLOW_IN(n->in[0]),
                        .dims = GLOW_DIMS_OF(1, rows, 1, f.channels)),
             &f, v, &t);
    return y ? GLOW_BUILD(b, reshape, GLOW_IN(y),
                          .dims = n->out[0]->type->shape)
             : NULL;
}

static glow_value *
form_fullyconnected(glow_builder *b, glow_node *n)
{
    const glow_fullyconnected *c = n->attrs;

    return form_product(b, n, c->axis, false, (filter){.bias = n->in[2]});
}

static glow_value *
form_rowwise(glow_builder *b, glow_node *n)
{
    return form_product(
        b, n, 1, true,
        (filter){.bias = n->in[4], .scales = n->in[2], .offsets = n->in[3]});
}

static glow_value *
form_matmul(glow_builder *b, glow_node *n)
{
    return form_product(b, n, 1, false, (filter){.bias = NULL});
}

/* Add and MaxPool. */

enum { MOST_FACTOR = 6 }; /* 2^6 is an element of i8 */

/* Blocks of weights with the factors on their diagonals, of a shape that ends in 16 x 16. */
static glow_value *
diagonals(glow_builder *b, const int factors[], glow_dims shape)
{
    glow_type t = {.elem = GLOW_INT8Q, .scale = 1, .shape = shape};
    glow_value *v = glow_build_constant(
        b, "factor", glow_type_get(glow_builder_context(b), t));
    int8_t *to = v->storage->tensor.data;

    for (int64_t k = 0; k < glow_dims_count(shape) / VTA_MACS; k++)
        for (int i = 0; i < VTA_LANES; i++)
            to[k * VTA_MACS + i * (VTA_LANES + 1)] = (int8_t)factors[k];
    return v;
}

/* The accumulators that only the store of `v` reads, or NULL. */
static glow_value *
unstored(const glow_value *v)
{
    const glow_node *store = v->def;

    return glow_is(store, &vta_op_store) && !store->pred &&
                   glow_has_one_use(v) && glow_has_one_use(store->in[0])
               ? store->in[0]
               : NULL;
}

/*
 * The steps of an Add: Scale(x), Scale(y), Requantize, Store.  The result of a unit that
 * the sum alone reads is not stored, and is its first term.
 */
static glow_value *
form_add_steps(glow_builder *b, glow_node *n, glow_value *const terms[],
               const int up[], int shift, const glow_type *t)
{
    int first = up[0] == 0 && unstored(terms[0])   ? 0
                : up[1] == 0 && unstored(terms[1]) ? 1
                                                   : -1;
    glow_value *sum = first < 0 ? NULL : unstored(terms[first]);
    glow_type sums = sum ? *sum->type : *t;

    if (t->shape.rank != 4 || t->shape.at[3] % VTA_LANES)
        return leave(b, n, "its channels are no multiple of 16");
    if (up[0] > MOST_FACTOR || up[1] > MOST_FACTOR)
        return leave(b, n, "the scales are too far from one another");
    sums.elem = GLOW_INT32Q;
    for (int i = 0; i < 2; i++)
        if (i != first)
            sum = glow_build(
                b, &vta_op_scale, &sums,
                GLOW_IN(terms[i],
                        diagonals(b, &(int){1 << up[i]}, GLOW_DIMS_OF(16, 16)),
                        sum),
                NULL);
    sum = glow_build(b, &vta_op_requantize, &sums, GLOW_IN(sum, NULL),
                     &(const vta_requantize){shift, -128, 127});
    return glow_build(b, &vta_op_store, t, GLOW_IN(sum), NULL);
}

static glow_value *
form_add(glow_builder *b, glow_node *n)
{
    glow_type t = *n->out[0]->type;
    vta_add v = {-128, 127};
    glow_value *x = n->in[0], *y = n->in[1];
    int up[2], shift;

    if (!is_i8(x) || !is_i8(y) || t.elem != GLOW_INT8Q || t.offset ||
        !glow_dims_equal(x->type->shape, y->type->shape) ||
        glow_type_count(&t) == 0)
        return NULL;
    if (!vta_add_shifts(x->type, y->type, &t, up, &shift))
        return leave(b, n, "the scales are no powers of two apart");
    if (unsliced(x) && unsliced(y)) {
        x = unsliced(x);
        y = unsliced(y);
        t.shape = x->type->shape;
    } else if (glow_type_count(&t) % VTA_LANES) {
        return leave(b, n, "its elements are no multiple of 16");
    }
    return sliced(
        b,
        has_units(b)
            ? form_add_steps(b, n, (glow_value *[]){x, y}, up, shift, &t)
            : glow_build(b, &vta_op_add, &t, GLOW_IN(x, y), &v),
        n->out[0]->type);
}

/* The least element of an immediate of `round`. */
static int
least_of(int32_t immediate)
{
    return (int8_t)(immediate >> 8);
}

/* True if no element of the result of a unit is below 0. */
static bool
is_positive(const glow_value *v)
{
    const glow_node *r =
        glow_is(v->def, &vta_op_store) ? v->def->in[0]->def : NULL;
    const vta_requantize *q = r ? glow_attrs_if(r, &vta_op_requantize) : NULL;
    const glow_tensor *rounds;

    if (!q || !r->in[1])
        return q && q->least >= 0;
    rounds = glow_is_constant(r->in[1])
                 ? glow_constant_tensor(r->in[1]->storage)
                 : NULL;
    for (int64_t i = 0; rounds && i < glow_type_count(rounds->type); i++)
        if (least_of(((const int32_t *)rounds->data)[i]) < 0)
            return false;
    return rounds != NULL;
}

/* vta.Max and vta.Store.  The scratchpad of inputs has zeros for padding. */
static glow_value *
form_pool_steps(glow_builder *b, glow_node *n, glow_value *x, const vta_pool *p,
                const glow_type *t)
{
    glow_type max = *t;
    bool padded = !glow_dims_are(p->pads, 0);

    for (int i = 0; i < 2; i++)
        padded |=
            (t->shape.at[1 + i] - 1) * p->strides.at[i] + p->kernels.at[i] >
            x->type->shape.at[1 + i];
    if (t->offset || (padded && !is_positive(x)))
        return leave(b, n, "its padding may be larger than an element");
    max.elem = GLOW_INT32Q;
    return glow_build(
        b, &vta_op_store, t,
        GLOW_IN(glow_build(b, &vta_op_max, &max,
                           GLOW_IN(x, diagonals(b, (const int[]){1, -1},
                                                GLOW_DIMS_OF(2, 16, 16))),
                           p)),
        NULL);
}

static glow_value *
form_maxpool(glow_builder *b, glow_node *n)
{
    const glow_maxpool *p = n->attrs;
    glow_dims x = n->in[0]->type->shape, y = n->out[0]->type->shape;
    vta_pool v = {p->kernels, p->strides, p->pads};
    glow_type t = *n->out[0]->type;
    glow_value *from;

    if (n->in[0]->type->elem != GLOW_INT8Q || x.rank != 4 ||
        t.scale != n->in[0]->type->scale || t.elem != GLOW_INT8Q ||
        t.offset != n->in[0]->type->offset || glow_type_count(&t) == 0)
        return NULL;
    if ((p->dilation.rank && !glow_dims_are(p->dilation, 1)) ||
        !in_limits(v.kernels, 1) || !in_limits(v.strides, 1) ||
        !in_limits(v.pads, 0))
        return leave(b, n, "it has dilation, or a size is too large");
    for (int i = 0; i < 2; i++)
        if (p->pads.at[i] >= p->kernels.at[i] ||
            (y.at[1 + i] - 1) * p->strides.at[i] - p->pads.at[i] >= x.at[1 + i])
            return leave(b, n, "a window has no element of Input");
    from = x.at[3] % VTA_LANES ? unsliced(n->in[0]) : n->in[0];
    if (!from)
        return leave(b, n, "its channels are no multiple of 16");
    t.shape.at[3] = round_up(x.at[3]);
    return sliced(b,
                  has_units(b)
                      ? form_pool_steps(b, n, from, &v, &t)
                      : glow_build(b, &vta_op_pool, &t, GLOW_IN(from), &v),
                  n->out[0]->type);
}

/* Holds the range *from .. *to to least .. most. */
static void
hold(int *from, int *to, int64_t least, int64_t most)
{
    int *ends[2] = {from, to};

    for (int i = 0; i < 2; i++) {
        *ends[i] = *ends[i] < least ? (int)least : *ends[i];
        *ends[i] = *ends[i] > most ? (int)most : *ends[i];
    }
}

/* Immediates of `round` with a least element that is at least `least`. */
static glow_value *
raised(glow_builder *b, glow_value *rounds, int least)
{
    const glow_tensor *from = glow_constant_tensor(rounds->storage);
    glow_value *v = glow_build_constant(b, "rounds", rounds->type);
    int32_t *to = v->storage->tensor.data;

    for (int64_t i = 0; i < glow_type_count(from->type); i++) {
        int32_t r = ((const int32_t *)from->data)[i];
        int old = least_of(r);

        to[i] = vta_round_immediate(r & 31, old > least ? old : least);
    }
    return v;
}

/* For steps of units: the vta.Requantize before the vta.Store. */
static glow_value *
bound_steps(glow_builder *b, glow_node *store, int64_t least, int64_t most)
{
    glow_node *r = store->in[0]->def;
    const vta_requantize *old = r ? glow_attrs_if(r, &vta_op_requantize) : NULL;
    vta_requantize v;
    glow_value *y, *rounds = r ? r->in[1] : NULL;

    if (!old || !glow_has_one_use(store->in[0]))
        return NULL;
    v = *old;
    hold(&v.least, &v.most, least, most);
    glow_builder_fuses(b, store);
    if (rounds) {
        rounds = raised(b, rounds, v.least);
        v.least = -128;
    }
    y = glow_build(b, &vta_op_requantize, r->out[0]->type,
                   GLOW_IN(r->in[0], rounds), &v);
    return glow_build(b, &vta_op_store, store->out[0]->type, GLOW_IN(y), NULL);
}

/* Bounds of results, from a Relu or Clip behind the unit and its Slice. */

static glow_value *
bound(glow_builder *b, glow_node *n, int64_t least, int64_t most)
{
    glow_value *x = n->in[0], *whole = unsliced(x);
    glow_node *unit = whole ? whole->def : x->def;
    const vta_conv *c = unit ? glow_attrs_if(unit, &vta_op_conv) : NULL;
    const vta_add *a = unit ? glow_attrs_if(unit, &vta_op_add) : NULL;
    vta_conv v = c ? *c : (vta_conv){.least = 0};
    vta_add w = a ? *a : (vta_add){0, 0};
    bool steps = glow_is(unit, &vta_op_store);
    glow_value *in[4] = {NULL}, *y;

    for (int i = 0; unit && i < unit->n_in && i < 4; i++)
        in[i] = unit->in[i];
    if ((!c && !a && !steps) || unit->pred || n->out[0]->type != x->type ||
        !glow_has_one_use(x) || (whole && !glow_has_one_use(whole)))
        return NULL;
    if (steps)
        return sliced(b, bound_steps(b, unit, least, most), n->out[0]->type);
    if (c)
        hold(&v.least, &v.most, least, most);
    else
        hold(&w.least, &w.most, least, most);
    glow_builder_fuses(b, unit);
    if (c && unit->in[3]) {
        in[3] = raised(b, unit->in[3], v.least);
        v.least = -128;
    }
    y = glow_build(b, unit->op, unit->out[0]->type, in, unit->n_in,
                   c ? (const void *)&v : &w);
    return sliced(b, y, n->out[0]->type);
}

static glow_value *
fuse_relu(glow_builder *b, glow_node *n)
{
    return is_i8(n->in[0]) ? bound(b, n, 0, 127) : NULL;
}

static glow_value *
fuse_clip(glow_builder *b, glow_node *n)
{
    const glow_clip *c = n->attrs;
    const glow_type *t = n->out[0]->type;

    if (!is_i8(n->in[0]) || !(c->min <= c->max))
        return NULL;
    return bound(b, n, glow_quantize(t, (double)c->min),
                 glow_quantize(t, (double)c->max));
}

static glow_result
run(glow_pass_run *run, glow_func *f)
{
    static const glow_rewrite_row rows[] = {
        {&glow_op_convolution, form_convolution},
        {&glow_op_channelwisequantizedconvolution, form_channelwise},
        {&glow_op_fullyconnected, form_fullyconnected},
        {&glow_op_rowwisequantizedfullyconnected, form_rowwise},
        {&glow_op_matmul, form_matmul},
        {&glow_op_add, form_add},
        {&glow_op_maxpool, form_maxpool},
        {&glow_op_relu, fuse_relu},
        {&glow_op_clip, fuse_clip},
        {NULL, NULL},
    };

    return glow_rewrite_each(run, f, rows, NULL);
}

const glow_pass vta_pass_form_units = {
    .name = "vta.form-units",
    .summary = "give operators of i8 to the accelerator",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .run = run,
    .takes_quantized = true,
};

const glow_rewrite_row vta_units[] = {
    {&glow_op_add, form_add},
    {&glow_op_maxpool, form_maxpool},
    {&glow_op_convolution, form_convolution},
    {&glow_op_channelwisequantizedconvolution, form_channelwise},
    {&glow_op_fullyconnected, form_fullyconnected},
    {&glow_op_rowwisequantizedfullyconnected, form_rowwise},
    {&glow_op_matmul, form_matmul},
    {&glow_op_relu, fuse_relu},
    {&glow_op_clip, fuse_clip},
    {NULL, NULL},
};
