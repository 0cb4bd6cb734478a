/*
 * Channels of vta.form-units in multiples of 16: padded before a unit, sliced behind it,
 * and neither between two units.
 */

#include <glow/match.h>

#include "form.h"

enum { MOST_DIM = 1 << 12 };

bool
form_is_i8(const glow_value *v)
{
    return v->type->elem == GLOW_INT8Q && v->type->offset == 0 &&
           v->type->strides.rank == 0;
}

glow_value *
form_leave(glow_builder *b, const glow_node *n, const char *why)
{
    glow_run_remark(glow_builder_run(b), n, false, "%s", why);
    return NULL;
}

int64_t
form_round_up(int64_t n)
{
    return (n + VTA_LANES - 1) / VTA_LANES * VTA_LANES;
}

glow_value *
form_unsliced(glow_value *v)
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
    return from.at[3] == form_round_up(to.at[3]) &&
                   (glow_is(v->def->in[0]->def, &vta_op_conv) ||
                    glow_is(v->def->in[0]->def, &vta_op_add) ||
                    glow_is(v->def->in[0]->def, &vta_op_pool) ||
                    glow_is(v->def->in[0]->def, &vta_op_store))
               ? v->def->in[0]
               : NULL;
}

glow_value *
form_padded(glow_builder *b, glow_value *v)
{
    int64_t missing =
        form_round_up(v->type->shape.at[3]) - v->type->shape.at[3];
    int64_t pads[8] = {[7] = missing};
    glow_value *whole = missing ? form_unsliced(v) : v;

    if (whole)
        return whole;
    return GLOW_BUILD(b, pad, GLOW_IN(v), .mode = GLOW_PAD_CONSTANT,
                      .pads = {8, pads}, .value = 0);
}

glow_value *
form_sliced(glow_builder *b, glow_value *v, const glow_type *t)
{
    if (!v || v->type->shape.at[3] == t->shape.at[3])
        return v;
    return GLOW_BUILD_STATED(b, slice, t, GLOW_IN(v), .start = {.rank = 4});
}

bool
form_in_limits(glow_dims d, int64_t least)
{
    for (int i = 0; i < d.rank; i++)
        if (d.at[i] < least || d.at[i] > MOST_DIM)
            return false;
    return true;
}

bool
form_has_units(glow_builder *b)
{
    return glow_run_backend(glow_builder_run(b)) == &vta_backend_units;
}
