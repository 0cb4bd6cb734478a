/* Add and MaxPool: units, or steps whose weights are factors on the diagonal. */

#include <glow/match.h>

#include "form.h"

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
        return form_leave(b, n, "its channels are no multiple of 16");
    if (up[0] > MOST_FACTOR || up[1] > MOST_FACTOR)
        return form_leave(b, n, "the scales are too far from one another");
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

glow_value *
form_add(glow_builder *b, glow_node *n)
{
    glow_type t = *n->out[0]->type;
    vta_add v = {-128, 127};
    glow_value *x = n->in[0], *y = n->in[1];
    int up[2], shift;

    if (!form_is_i8(x) || !form_is_i8(y) || t.elem != GLOW_INT8Q || t.offset ||
        !glow_dims_equal(x->type->shape, y->type->shape) ||
        glow_type_count(&t) == 0)
        return NULL;
    if (!vta_add_shifts(x->type, y->type, &t, up, &shift))
        return form_leave(b, n, "the scales are no powers of two apart");
    if (form_unsliced(x) && form_unsliced(y)) {
        x = form_unsliced(x);
        y = form_unsliced(y);
        t.shape = x->type->shape;
    } else if (glow_type_count(&t) % VTA_LANES) {
        return form_leave(b, n, "its elements are no multiple of 16");
    }
    return form_sliced(
        b,
        form_has_units(b)
            ? form_add_steps(b, n, (glow_value *[]){x, y}, up, shift, &t)
            : glow_build(b, &vta_op_add, &t, GLOW_IN(x, y), &v),
        n->out[0]->type);
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
        if (form_least_of(((const int32_t *)rounds->data)[i]) < 0)
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
        return form_leave(b, n, "its padding may be larger than an element");
    max.elem = GLOW_INT32Q;
    return glow_build(
        b, &vta_op_store, t,
        GLOW_IN(glow_build(b, &vta_op_max, &max,
                           GLOW_IN(x, diagonals(b, (const int[]){1, -1},
                                                GLOW_DIMS_OF(2, 16, 16))),
                           p)),
        NULL);
}

glow_value *
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
        !form_in_limits(v.kernels, 1) || !form_in_limits(v.strides, 1) ||
        !form_in_limits(v.pads, 0))
        return form_leave(b, n, "it has dilation, or a size is too large");
    for (int i = 0; i < 2; i++)
        if (p->pads.at[i] >= p->kernels.at[i] ||
            (y.at[1 + i] - 1) * p->strides.at[i] - p->pads.at[i] >= x.at[1 + i])
            return form_leave(b, n, "a window has no element of Input");
    from = x.at[3] % VTA_LANES ? form_unsliced(n->in[0]) : n->in[0];
    if (!from)
        return form_leave(b, n, "its channels are no multiple of 16");
    t.shape.at[3] = form_round_up(x.at[3]);
    return form_sliced(b,
                       form_has_units(b)
                           ? form_pool_steps(b, n, from, &v, &t)
                           : glow_build(b, &vta_op_pool, &t, GLOW_IN(from), &v),
                       n->out[0]->type);
}
