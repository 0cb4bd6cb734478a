/* Bounds of results, from a Relu or Clip behind the unit and its Slice. */

#include <glow/match.h>
#include <glow/quantize.h>

#include "form.h"

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
        int old = form_least_of(r);

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

static glow_value *
bound(glow_builder *b, glow_node *n, int64_t least, int64_t most)
{
    glow_value *x = n->in[0], *whole = form_unsliced(x);
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
        return form_sliced(b, bound_steps(b, unit, least, most),
                           n->out[0]->type);
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
    return form_sliced(b, y, n->out[0]->type);
}

glow_value *
form_relu(glow_builder *b, glow_node *n)
{
    return form_is_i8(n->in[0]) ? bound(b, n, 0, 127) : NULL;
}

glow_value *
form_clip(glow_builder *b, glow_node *n)
{
    const glow_clip *c = n->attrs;
    const glow_type *t = n->out[0]->type;

    if (!form_is_i8(n->in[0]) || !(c->min <= c->max))
        return NULL;
    return bound(b, n, glow_quantize(t, (double)c->min),
                 glow_quantize(t, (double)c->max));
}
