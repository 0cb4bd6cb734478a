/* Outlining: moves a group of nodes into a function, and calls it by a Run. */

#include "passes/graph/common/outline.h"

#include <string.h>

#include "glow/number.h"
#include "glow/ops.h"
#include "glow/profile.h"

typedef struct outliner {
    glow_arena *arena;
    glow_func *from, *body;
    glow_node **nodes;
    int count;
    glow_numbering numbers; /* of the nodes: their places in the group */
    glow_node **copies;     /* by place */
    glow_map *splats;       /* by name: copies in the body */
    glow_value **in, **out; /* of the Run; results of the group */
    glow_storage **formal_in, **formal_out;
    int n_in, n_out;
    size_t cap_in, cap_formal, cap_out, cap_formal_out;
} outliner;

static bool
is_inside(const outliner *o, const glow_node *n)
{
    return n && glow_number_of(&o->numbers, n) != GLOW_UNNUMBERED;
}

/* The name of `v`; of a result of a Run, that of the node that computes it. */
static const char *
name_of(const outliner *o, const glow_value *v)
{
    const glow_func *body =
        glow_is(v->def, &glow_op_run) ? glow_called(v->def, 0) : NULL;
    size_t prefix = body ? strlen(body->name) + 1 : 0;

    if (body &&
        strlen(glow_formal(body, GLOW_OUTPUTS, v->index)->name) > prefix)
        return glow_formal(body, GLOW_OUTPUTS, v->index)->name + prefix;
    return v->storage ? v->storage->name
           : v->def->n_out > 1
               ? glow_arena_printf(o->arena, "%s.%d", v->def->name, v->index)
               : v->def->name;
}

static glow_storage *
new_formal(const outliner *o, const glow_value *v)
{
    glow_type type = *v->type;

    type.strides.rank = 0;
    return glow_placeholder_new(
        o->from->module,
        glow_arena_printf(o->arena, "%s.%s", o->body->name, name_of(o, v)),
        glow_type_get(o->from->module->ctx, type));
}

static glow_value *
copied_splat(outliner *o, const glow_node *n)
{
    glow_node *copy = glow_map_get(o->splats, n->name);

    if (!copy) {
        copy = glow_node_new(o->body, n->op, n->name, NULL, 0, &n->out[0]->type,
                             1, n->attrs);
        copy->loc = n->loc;
        copy->span = n->span;
        glow_map_set(o->splats, n->name, copy);
    }
    return copy->out[0];
}

/* The value of the body for operand `v`. */
static glow_value *
value_of(outliner *o, glow_value *v)
{
    if (!v || glow_is_constant(v))
        return v;
    if (is_inside(o, v->def))
        return o->copies[glow_number_of(&o->numbers, v->def)]->out[v->index];
    if (glow_is(v->def, &glow_op_splat))
        return copied_splat(o, v->def);
    for (int i = 0; i < o->n_in; i++)
        if (o->in[i] == v)
            return &o->formal_in[i]->value;
    o->in = glow_arena_grow(o->arena, o->in, (size_t)o->n_in, &o->cap_in,
                            sizeof(glow_value *));
    o->formal_in = glow_arena_grow(o->arena, o->formal_in, (size_t)o->n_in,
                                   &o->cap_formal, sizeof(glow_storage *));
    o->in[o->n_in] = v;
    o->formal_in[o->n_in] = new_formal(o, v);
    return &o->formal_in[o->n_in++]->value;
}

static void
copy_node(outliner *o, int at)
{
    const glow_node *n = o->nodes[at];
    glow_value **in = GLOW_NEW_ARRAY(o->arena, glow_value *, n->n_in + 1);
    const glow_type **types =
        GLOW_NEW_ARRAY(o->arena, const glow_type *, n->n_out + 1);
    glow_value *pred = value_of(o, n->pred);
    glow_node *copy;

    for (int i = 0; i < n->n_in; i++)
        in[i] = value_of(o, n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        types[i] = n->out[i]->type;
    copy = glow_node_new(o->body, n->op, n->name, in, n->n_in, types, n->n_out,
                         n->attrs);
    copy->unknown_attrs = n->unknown_attrs;
    copy->loc = n->loc;
    copy->span = n->span;
    if (pred)
        glow_set_pred(copy, pred);
    for (int i = 0; i < n->n_out; i++)
        if (glow_get_value_range(n->out[i]))
            glow_set_value_range(copy->out[i], glow_get_value_range(n->out[i]));
    o->copies[at] = copy;
}

static bool
is_read_outside(const outliner *o, const glow_value *v)
{
    GLOW_FOR_EACH_USE(u, v)
        if (!is_inside(o, u->user))
            return true;
    return false;
}

/* Lists the results that are read outside. */
static void
find_outputs(outliner *o)
{
    for (int k = 0; k < o->count; k++)
        for (int i = 0; i < o->nodes[k]->n_out; i++) {
            glow_value *v = o->nodes[k]->out[i];

            if (!is_read_outside(o, v))
                continue;
            o->out = glow_arena_grow(o->arena, o->out, (size_t)o->n_out,
                                     &o->cap_out, sizeof(glow_value *));
            o->out[o->n_out++] = v;
        }
}

static void
save_outputs(outliner *o)
{
    o->formal_out = GLOW_NEW_ARRAY(o->arena, glow_storage *, o->n_out + 1);
    for (int i = 0; i < o->n_out; i++) {
        glow_storage *s = o->formal_out[i] = new_formal(o, o->out[i]);

        glow_node_new(o->body, &glow_op_save, "save",
                      (glow_value *[]){value_of(o, o->out[i]), &s->value}, 2,
                      NULL, 0, NULL);
    }
}

static glow_node *
add_run(outliner *o, const char *device)
{
    const glow_run attrs = {
        .body = o->body->name,
        .device = glow_intern(o->from->module->ctx, device),
    };
    const glow_type **types =
        GLOW_NEW_ARRAY(o->arena, const glow_type *, o->n_out + 1);
    glow_node *run;

    for (int i = 0; i < o->n_out; i++)
        types[i] = o->formal_out[i]->value.type;
    run = glow_node_new(o->from, &glow_op_run, o->body->name, o->in, o->n_in,
                        types, o->n_out, &attrs);
    for (int i = 0; i < o->n_out; i++)
        glow_replace_uses(o->out[i], run->out[i]);
    for (int k = o->count - 1; k >= 0; k--)
        glow_node_erase(o->nodes[k]);
    return run;
}

glow_node *
glow_outline(glow_arena *a, glow_node **nodes, int count, const char *name,
             const char *device)
{
    glow_func *f = nodes[0]->func;
    outliner o = {.arena = a, .from = f, .nodes = nodes, .count = count};

    o.numbers = glow_numbering_new(a, f);
    for (int k = 0; k < count; k++)
        glow_number_set(&o.numbers, nodes[k], (uint32_t)k);
    find_outputs(&o);
    if (o.n_out == 0)
        return NULL;
    o.body = glow_func_new(f->module, name);
    o.copies = GLOW_NEW_ARRAY(a, glow_node *, count);
    o.splats = glow_map_new(a);
    for (int k = 0; k < count; k++)
        copy_node(&o, k);
    save_outputs(&o);
    o.body->scheduled = f->scheduled;
    glow_func_set_formals(o.body, o.formal_in, o.n_in, o.formal_out, o.n_out);
    return add_run(&o, device);
}
