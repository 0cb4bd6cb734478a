/* Deep copies of modules. */

#include "glow/profile.h"
#include "ir/weights.h"

#include <string.h>

typedef struct cloner {
    glow_module *to;
    glow_node **nodes; /* copies of nodes of the current function, by id */
} cloner;

static const glow_loc *
clone_loc(glow_module *m, const glow_loc *l)
{
    if (!l)
        return NULL;

    glow_loc *copy = glow_arena_copy(m->arena, l, sizeof *l);

    copy->text = glow_intern(m->ctx, l->text);
    copy->node = l->node ? glow_arena_strdup(m->arena, l->node) : NULL;
    if (l->n_parts) {
        const glow_loc **parts =
            GLOW_NEW_ARRAY(m->arena, const glow_loc *, l->n_parts);

        for (int i = 0; i < l->n_parts; i++)
            parts[i] = clone_loc(m, l->parts[i]);
        copy->parts = parts;
    }
    return copy;
}

static glow_attr_value
clone_value(glow_module *m, const glow_attr_value *v)
{
    glow_attr_value copy = *v;

    if (v->text)
        copy.text = glow_arena_strndup(
            m->arena, v->text,
            v->kind == GLOW_V_STRING ? v->size : strlen(v->text));
    if (v->count) {
        glow_attr_value *items =
            GLOW_NEW_ARRAY(m->arena, glow_attr_value, v->count);

        for (size_t i = 0; i < v->count; i++)
            items[i] = clone_value(m, &v->items[i]);
        copy.items = items;
    }
    return copy;
}

static glow_attr_list
clone_attrs(glow_module *m, glow_attr_list l)
{
    glow_attr *items = GLOW_NEW_ARRAY(m->arena, glow_attr, l.count);

    for (size_t i = 0; i < l.count; i++) {
        items[i].name = glow_arena_strdup(m->arena, l.items[i].name);
        items[i].value = clone_value(m, &l.items[i].value);
        items[i].span = l.items[i].span;
    }
    return (glow_attr_list){items, l.count};
}

static glow_weights *
clone_weights(glow_module *m, const glow_weights *from)
{
    glow_weights *first = NULL, **link = &first;

    for (; from; from = from->next) {
        glow_weights *w = glow_arena_copy(m->arena, from, sizeof *from);

        w->alias = glow_arena_strdup(m->arena, from->alias);
        w->format = glow_arena_strdup(m->arena, from->format);
        w->path = glow_arena_strdup(m->arena, from->path);
        if (from->base)
            w->base = glow_arena_strdup(m->arena, from->base);
        if (from->given)
            w->given = glow_arena_strdup(m->arena, from->given);
        if (from->sha256)
            w->sha256 = glow_arena_strdup(m->arena, from->sha256);
        glow_weights_share(w, from);
        w->next = NULL;
        *link = w;
        link = &w->next;
    }
    return first;
}

static glow_namespace *
clone_namespaces(glow_module *m, const glow_namespace *from)
{
    glow_namespace *first = NULL, **link = &first;

    for (; from; from = from->next, link = &(*link)->next) {
        *link = glow_arena_copy(m->arena, from, sizeof *from);
        (*link)->name = glow_arena_strdup(m->arena, from->name);
        (*link)->next = NULL;
    }
    return first;
}

static glow_weights *
find_weights(const glow_module *m, const char *alias)
{
    glow_weights *w = m->weights;

    while (w && strcmp(w->alias, alias) != 0)
        w = w->next;
    return w;
}

static void
clone_storage(glow_module *m, const glow_storage *from)
{
    glow_storage *s = glow_placeholder_new(m, from->name, from->value.type);

    s->is_constant = from->is_constant;
    s->attrs = clone_attrs(m, from->attrs);
    s->payload = from->payload;
    s->splat = from->splat;
    s->splat_int = from->splat_int;
    s->span = from->span;
    s->loc = clone_loc(m, from->loc);
    if (from->tensor.owner) {
        s->tensor = from->tensor;
        glow_data_ref(s->tensor.owner);
    }
    if (from->file)
        s->file = find_weights(m, from->file->alias);
    if (from->key)
        s->key = glow_arena_strdup(m->arena, from->key);
}

static glow_value *
clone_ref(const cloner *c, const glow_value *v)
{
    if (!v)
        return NULL;
    if (v->def)
        return c->nodes[v->def->id]->out[v->index];
    return &glow_find_storage(c->to, v->storage->name)->value;
}

static const glow_op *
clone_op(glow_module *m, const glow_op *op)
{
    int n_in = glow_op_operands(op), n_out = glow_op_results(op);

    return op->traits & GLOW_UNKNOWN
               ? glow_unknown_op(m, op->name, op->in, n_in, op->out, n_out)
               : op;
}

static const glow_region *
find_region(const glow_func *f, const char *name)
{
    const glow_region *r = f->regions;

    while (r && strcmp(r->name, name) != 0)
        r = r->next;
    return r;
}

/*
 * Clones a node without its operands, whose definitions may come later in the
 * function.
 */
static void
clone_node(cloner *c, glow_func *f, const glow_node *from)
{
    glow_value **in = GLOW_NEW_ARRAY(c->to->arena, glow_value *,
                                     from->n_in + from->n_out + 1);
    const glow_op *op = clone_op(c->to, from->op);
    glow_node *n;

    if (glow_defines(from)) {
        const glow_type **types =
            GLOW_NEW_ARRAY(c->to->arena, const glow_type *, from->n_out + 1);

        for (int i = 0; i < from->n_out; i++)
            types[i] = from->out[i]->type;
        n = glow_node_new(f, op, from->name, in, from->n_in, types, from->n_out,
                          from->attrs);
        if (op == &glow_op_weight)
            n->out[0]->storage =
                glow_find_storage(c->to, from->out[0]->storage->name);
    } else {
        n = glow_instr_new(f, op, from->name, in + from->n_in, from->n_out, in,
                           from->n_in, from->attrs);
    }
    n->unknown_attrs = clone_attrs(c->to, from->unknown_attrs);
    n->loc = clone_loc(c->to, from->loc);
    n->span = from->span;
    if (from->place)
        glow_node_set_place(
            n, (glow_place){find_region(f, from->place->region->name),
                            from->place->offset, from->place->size,
                            from->place->is_fixed});
    c->nodes[from->id] = n;
}

static void
clone_operands(const cloner *c, const glow_node *from)
{
    glow_node *n = c->nodes[from->id];

    for (int i = 0; i < from->n_in; i++)
        glow_set_operand(n, i, clone_ref(c, from->in[i]));
    if (!glow_defines(from))
        for (int i = 0; i < from->n_out; i++)
            glow_set_result(n, i, clone_ref(c, from->out[i]));
    if (from->pred)
        glow_set_pred(n, clone_ref(c, from->pred));
    if (from->scratch)
        glow_set_scratch(n, clone_ref(c, from->scratch));
    if (from->queue)
        glow_set_queue(n, from->queue);
}

static glow_func *
clone_func(glow_module *m, const glow_func *from, const char *name)
{
    glow_func *f = glow_func_new(m, name);
    cloner c = {.to = m,
                .nodes = GLOW_NEW_ARRAY(m->arena, glow_node *,
                                        (size_t)from->next_id + 1)};
    glow_region **link = &f->regions;

    f->is_program = from->is_program;
    f->scheduled = from->scheduled;
    f->placed = from->placed;
    f->attrs = clone_attrs(m, from->attrs);
    f->span = from->span;
    for (const glow_region *r = from->regions; r; r = r->next) {
        *link = glow_arena_copy(m->arena, r, sizeof *r);
        (*link)->name = glow_arena_strdup(m->arena, r->name);
        (*link)->space = glow_arena_strdup(m->arena, r->space);
        (*link)->forbidden = glow_arena_copy(
            m->arena, r->forbidden, r->n_forbidden * sizeof *r->forbidden);
        (*link)->next = NULL;
        link = &(*link)->next;
    }
    GLOW_FOR_EACH_NODE(n, from)
        clone_node(&c, f, n);
    GLOW_FOR_EACH_NODE(n, from)
        clone_operands(&c, n);
    return f;
}

glow_func *
glow_func_clone(const glow_func *f, const char *name)
{
    return clone_func(f->module, f, glow_arena_strdup(f->module->arena, name));
}

glow_module *
glow_module_clone(const glow_module *from)
{
    glow_module *m = glow_module_new(from->ctx);

    m->namespaces = clone_namespaces(m, from->namespaces);
    m->weights = clone_weights(m, from->weights);
    GLOW_FOR_EACH_STORAGE(s, from)
        clone_storage(m, s);
    GLOW_FOR_EACH_FUNC(f, from)
        clone_func(m, f, f->name);
    glow_copy_value_ranges(m, from);
    return m;
}
