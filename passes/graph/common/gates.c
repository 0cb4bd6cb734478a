/* State that passes add, and gates of updates. */

#include "passes/graph/common/gates.h"

#include "glow/match.h"
#include "glow/ops.h"
#include "glow/state.h"
#include "passes/graph/common/gradients.h"

static const glow_attr state[] = {
    {.name = "State", .value = {.kind = GLOW_V_BOOL, .i = true}}};
static const glow_attr gate[] = {
    {.name = "Gate", .value = {.kind = GLOW_V_BOOL, .i = true}}};

glow_value *
glow_new_state(glow_module *m, const char *name, const glow_type *type)
{
    glow_storage *s = glow_placeholder_new(m, name, type);

    s->attrs = (glow_attr_list){state, 1};
    return &s->value;
}

bool
glow_add_gate(glow_builder *b, const char *name, glow_value *open)
{
    glow_storage *s = glow_save_new(b, name, open);

    if (s)
        s->attrs = (glow_attr_list){gate, 1};
    return s != NULL;
}

bool
glow_take_gates(glow_builder *b, glow_func *f, glow_value **open)
{
    *open = NULL;
    GLOW_FOR_EACH_NODE(n, f) {
        glow_storage *s = n->op == &glow_op_save ? n->in[1]->storage : NULL;

        if (!s || !glow_placeholder_is(s, "Gate"))
            continue;
        *open = *open ? GLOW_BUILD_PLAIN(b, and, GLOW_IN(*open, n->in[0]))
                      : n->in[0];
        if (!*open)
            return false;
        glow_node_erase(n);
        if (glow_is_unused(&s->value))
            glow_storage_erase(s);
    }
    return true;
}

glow_value *
glow_where(glow_builder *b, glow_value *cond, glow_value *x, glow_value *y)
{
    cond = glow_spread(b, cond, y->type->shape);
    return GLOW_BUILD_PLAIN(b, select, GLOW_IN(cond, x, y));
}

glow_value *
glow_add_loss_scale(glow_builder *b, float initial, glow_kind kind)
{
    static const glow_attr attrs[] = {
        {.name = "State", .value = {.kind = GLOW_V_BOOL, .i = true}},
        {.name = "LossScale", .value = {.kind = GLOW_V_BOOL, .i = true}}};
    glow_context *ctx = glow_builder_context(b);
    glow_dims scalar = {.rank = 0};
    glow_storage *s = glow_placeholder_new(
        glow_builder_module(b), "loss.scale",
        glow_type_get(ctx, glow_type_of(GLOW_FLOAT, scalar)));
    glow_value *v = &s->value, *is_new;

    s->attrs = (glow_attr_list){attrs, 2};
    is_new = GLOW_BUILD_PLAIN(b, cmpeq, GLOW_IN(v, glow_build_like(b, v, 0)));
    v = GLOW_BUILD_PLAIN(
        b, select, GLOW_IN(is_new, glow_build_like(b, v, (double)initial), v));
    return glow_in_kind(b, v, kind);
}

glow_value *
glow_loss_scale(glow_value *kept)
{
    GLOW_FOR_EACH_USE(u, kept)
        if (u->user->op == &glow_op_select && u->index == 2)
            return u->user->out[0];
    return NULL;
}
