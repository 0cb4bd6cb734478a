/*
 * Bodies: functions that nodes call, built from subgraphs.
 *
 * A subgraph that becomes a function may use values of the functions around it
 * (free variables).  Each becomes an additional formal and operand of the call
 * (closure conversion); constants belong to the module and are used directly.
 */

#include <string.h>

#include "glow/pass.h"
#include "tools/glow-translate/import/state.h"

void
import_add_formal(importer *im, const glow_func *f, glow_storage *s)
{
    import_formal *one = GLOW_NEW(im->arena, import_formal);

    one->storage = s;
    one->func = f;
    one->next = im->formals;
    im->formals = one;
}

static glow_storage *
new_formal(importer *im, const import_body *b, const char *name,
           const glow_type *type)
{
    glow_type dense = *type;
    glow_storage *s;

    dense.strides = (glow_dims){0};
    name = glow_arena_printf(im->arena, "%s.%s", b->func->name, name);
    s = glow_placeholder_new(im->module, import_storage_name(im, name),
                             glow_type_get(im->ctx, dense));
    import_add_formal(im, b->func, s);
    return s;
}

void
import_body_begin(import_node *n, import_body *b, const char *name,
                  const glow_type *const *types, int count)
{
    importer *im = n->im;

    *b = (import_body){.outer = im->body, .n_in = count};
    b->func = glow_func_new(
        im->module, glow_arena_printf(im->arena, "%s.%s", n->name, name));
    b->in = GLOW_NEW_ARRAY(im->arena, glow_storage *, count);
    for (int i = 0; i < count; i++)
        b->in[i] = new_formal(im, b, glow_arena_printf(im->arena, "in%d", i),
                              types[i]);
    im->func = b->func;
    im->body = b;
    im->builder = glow_builder_new(im->arena, b->func, NULL);
    glow_builder_named(
        im->builder, n->name,
        glow_loc_model(im->module, im->dialect->loc, im->file, n->name));
}

void
import_body_end(import_node *n, const import_body *b)
{
    importer *im = n->im;

    im->body = b->outer;
    im->func = b->outer ? b->outer->func : im->entry;
    im->builder = glow_builder_new(im->arena, im->func, NULL);
    glow_builder_named(
        im->builder, n->name,
        glow_loc_model(im->module, im->dialect->loc, im->file, n->name));
}

bool
import_body_returns(import_node *n, import_body *b, glow_value *const *out,
                    int n_out)
{
    importer *im = n->im;
    glow_builder *builder = glow_builder_new(im->arena, b->func, NULL);
    glow_storage **in =
        GLOW_NEW_ARRAY(im->arena, glow_storage *, b->n_in + b->n_given);
    glow_storage **to = GLOW_NEW_ARRAY(im->arena, glow_storage *, n_out);

    glow_builder_named(builder, n->name, NULL);
    for (int i = 0; i < n_out; i++) {
        if (!import_returns_whole(n, i, out[i]))
            return false;
        to[i] = new_formal(im, b, glow_arena_printf(im->arena, "out%d", i),
                           out[i]->type);
        if (!glow_build_node(builder, &glow_op_save, NULL, 0,
                             GLOW_IN(out[i], &to[i]->value), NULL)) {
            n->failed = true;
            return false;
        }
    }
    for (int i = 0; i < b->n_in; i++)
        in[i] = b->in[i];
    for (int i = 0; i < b->n_given; i++)
        in[b->n_in + i] = b->as[i];
    glow_func_set_formals(b->func, in, b->n_in + b->n_given, to, n_out);
    glow_erase_unused(b->func);
    return true;
}

/* Values of other functions. */

glow_value *
import_body_takes(importer *im, import_body *b, glow_value *v)
{
    const char *name = v->def ? v->def->name : v->storage->name;
    glow_value *formal;

    for (int i = 0; i < b->n_given; i++)
        if (b->given[i] == v)
            return &b->as[i]->value;
    b->given = glow_arena_grow(im->arena, b->given, (size_t)b->n_given,
                               &b->cap_given, sizeof *b->given);
    b->as = glow_arena_grow(im->arena, b->as, (size_t)b->n_given, &b->cap_as,
                            sizeof *b->as);
    b->given[b->n_given] = v;
    b->as[b->n_given] = new_formal(im, b, name, v->type);
    formal = &b->as[b->n_given++]->value;
    import_bring_bound(im, b, formal, v);
    import_bring_extents(im, b, formal, v);
    return formal;
}

/*
 * The formal in `to` for `v` of body `from`, through all bodies between them.  A body reads
 * constants by itself, but no weights that are to be trained: those are placeholders.
 */
static glow_value *
bring(importer *im, glow_value *v, const import_body *from, import_body *to)
{
    if (!v || from == to || (glow_is_constant(v) && !import_is_weight(im, v)))
        return v;
    return import_body_takes(im, to, bring(im, v, from, to->outer));
}

import_item
import_bring(importer *im, import_item item, const import_body *from)
{
    import_list *l;

    if (from == im->body)
        return item;
    item.value = bring(im, item.value, from, im->body);
    if (!item.list)
        return item;
    l = glow_arena_copy(im->arena, item.list, sizeof *l);
    l->items = GLOW_NEW_ARRAY(im->arena, import_item, l->count);
    for (int i = 0; i < l->count; i++)
        l->items[i] = import_bring(im, item.list->items[i], from);
    item.list = l;
    return item;
}

/* Erases the formals of `f`, which is erased. */
static void
forget_formals(importer *im, const glow_func *f)
{
    import_formal **at = &im->formals;

    while (*at) {
        import_formal *one = *at;

        if (one->func != f) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        glow_storage_erase(one->storage);
    }
}

void
import_forget_bodies(importer *im, glow_func *last)
{
    glow_module *m = im->module;

    while (m->last_func != last) {
        const glow_func *f = m->last_func;

        glow_func_erase(m->last_func);
        forget_formals(im, f);
    }
}
