/*
 * Functions that call functions.
 *
 * A call is an attribute of kind GLOW_FUNC: a name, so that a function may be
 * replaced by another of the same name.  The formals of a body are names too,
 * in the attributes of the function.
 */

#include <string.h>

#include "glow/graph.h"

static const char *const formal_names[] = {
    [GLOW_INPUTS] = "Inputs",
    [GLOW_OUTPUTS] = "Outputs",
};

static const glow_attr_value *
formals(const glow_func *f, glow_formals which)
{
    const glow_attr_value *v = glow_attr_find(f->attrs, formal_names[which]);

    return v && v->kind == GLOW_V_LIST ? v : NULL;
}

bool
glow_is_body(const glow_func *f)
{
    return glow_attr_find(f->attrs, formal_names[GLOW_INPUTS]) ||
           glow_attr_find(f->attrs, formal_names[GLOW_OUTPUTS]);
}

int
glow_formal_count(const glow_func *f, glow_formals which)
{
    const glow_attr_value *v = formals(f, which);

    return v ? (int)v->count : 0;
}

glow_storage *
glow_formal(const glow_func *f, glow_formals which, int i)
{
    const glow_attr_value *v = &formals(f, which)->items[i];
    glow_storage *s =
        v->kind == GLOW_V_SYMBOL ? glow_find_storage(f->module, v->text) : NULL;

    return s && !s->is_constant ? s : NULL;
}

/* Setting formals. */

static glow_attr
list_of(glow_module *m, glow_formals which, glow_storage *const *at, int count)
{
    glow_attr_value *items =
        GLOW_NEW_ARRAY(m->arena, glow_attr_value, count + 1);

    for (int i = 0; i < count; i++)
        items[i] =
            (glow_attr_value){.kind = GLOW_V_SYMBOL, .text = at[i]->name};
    return (glow_attr){
        .name = formal_names[which],
        .value = {.kind = GLOW_V_LIST, .items = items, .count = (size_t)count}};
}

void
glow_func_set_formals(glow_func *f, glow_storage *const *in, int n_in,
                      glow_storage *const *out, int n_out)
{
    glow_module *m = f->module;
    glow_attr *attrs = GLOW_NEW_ARRAY(m->arena, glow_attr, f->attrs.count + 2);
    size_t count = 0;

    attrs[count++] = list_of(m, GLOW_INPUTS, in, n_in);
    attrs[count++] = list_of(m, GLOW_OUTPUTS, out, n_out);
    for (size_t i = 0; i < f->attrs.count; i++) {
        const char *name = f->attrs.items[i].name;

        if (strcmp(name, formal_names[GLOW_INPUTS]) != 0 &&
            strcmp(name, formal_names[GLOW_OUTPUTS]) != 0)
            attrs[count++] = f->attrs.items[i];
    }
    f->attrs = (glow_attr_list){attrs, count};
}

void
glow_func_clear_formals(glow_func *f)
{
    glow_attr *attrs =
        GLOW_NEW_ARRAY(f->module->arena, glow_attr, f->attrs.count + 1);
    size_t count = 0;

    for (size_t i = 0; i < f->attrs.count; i++) {
        const char *name = f->attrs.items[i].name;

        if (strcmp(name, formal_names[GLOW_INPUTS]) != 0 &&
            strcmp(name, formal_names[GLOW_OUTPUTS]) != 0)
            attrs[count++] = f->attrs.items[i];
    }
    f->attrs = (glow_attr_list){attrs, count};
}

/* Calls. */

/* The k-th field of kind GLOW_FUNC, or NULL. */
static const glow_field *
call_field(const glow_op *op, int k)
{
    glow_schema s = glow_op_schema(op);

    for (int i = 0; i < glow_schema_count(s); i++)
        if (s.fields[i].kind == GLOW_FUNC && k-- == 0)
            return &s.fields[i];
    return NULL;
}

bool
glow_op_calls(const glow_op *op)
{
    return call_field(op, 0) != NULL;
}

int
glow_call_count(const glow_node *n)
{
    int count = 0;

    while (call_field(n->op, count))
        count++;
    return count;
}

glow_func *
glow_called(const glow_node *n, int k)
{
    const glow_field *f = call_field(n->op, k);
    const char *name;

    if (!f || !n->attrs)
        return NULL;
    memcpy(&name, (const char *)n->attrs + f->at, sizeof name);
    return glow_find_func(n->func->module, name);
}

int
glow_operand_of_input(const glow_node *n, const glow_func *body, int i)
{
    return n->n_in - glow_formal_count(body, GLOW_INPUTS) + i;
}

int
glow_output_of_result(const glow_node *n, const glow_func *body, int k)
{
    return glow_formal_count(body, GLOW_OUTPUTS) - n->n_out + k;
}

/* Appends `f` and the functions that it calls, unless `seen` has them. */
static void
add_callees(glow_func *f, glow_map *seen, glow_func **list, int *count)
{
    if (glow_map_get(seen, f->name))
        return;
    glow_map_set(seen, f->name, f);
    list[(*count)++] = f;
    GLOW_FOR_EACH_NODE(n, f)
        for (int k = 0; glow_op_calls(n->op) && k < glow_call_count(n); k++) {
            glow_func *g = glow_called(n, k);

            if (g)
                add_callees(g, seen, list, count);
        }
}

glow_func **
glow_callees(glow_arena *a, glow_func *f, int *count)
{
    glow_func **list;
    int most = 0;

    GLOW_FOR_EACH_FUNC(g, f->module)
        most++;
    list = GLOW_NEW_ARRAY(a, glow_func *, most + 1);
    *count = 0;
    add_callees(f, glow_map_new(a), list, count);
    return list;
}

bool
glow_calls(const glow_func *f, const glow_func *g)
{
    GLOW_FOR_EACH_NODE(n, f)
        for (int k = 0; k < glow_call_count(n); k++) {
            const glow_func *h = glow_called(n, k);

            if (h && (h == g || glow_calls(h, g)))
                return true;
        }
    return false;
}

bool
glow_is_formal(const glow_storage *s)
{
    GLOW_FOR_EACH_FUNC(f, s->module)
        for (int which = 0; which < 2; which++)
            for (int i = 0; i < glow_formal_count(f, (glow_formals)which); i++)
                if (glow_formal(f, (glow_formals)which, i) == s)
                    return true;
    return false;
}

glow_func *
glow_module_entry(const glow_module *m)
{
    glow_func *entry = NULL;

    GLOW_FOR_EACH_FUNC(f, m) {
        if (glow_is_body(f))
            continue;
        if (entry)
            return NULL;
        entry = f;
    }
    return entry;
}

/* Erasing functions that nothing calls. */

static bool
is_called(const glow_func *g)
{
    GLOW_FOR_EACH_FUNC(f, g->module)
        GLOW_FOR_EACH_NODE(n, f)
            for (int k = 0; k < glow_call_count(n); k++)
                if (glow_called(n, k) == g)
                    return true;
    return false;
}

static bool
is_declared(const glow_storage *s)
{
    GLOW_FOR_EACH_FUNC(f, s->module)
        for (const glow_node *n = f->is_program ? f->first : NULL;
             n && n->op == &glow_op_weight; n = n->next)
            if (n->out[0]->storage == s)
                return true;
    return false;
}

static void
erase_body(glow_func *f)
{
    glow_attr_list attrs = f->attrs;
    glow_module *m = f->module;

    glow_func_erase(f);
    for (size_t k = 0; k < attrs.count; k++) {
        const glow_attr_value *v = &attrs.items[k].value;

        for (size_t i = 0; i < v->count; i++) {
            glow_storage *s = v->items[i].kind == GLOW_V_SYMBOL
                                  ? glow_find_storage(m, v->items[i].text)
                                  : NULL;

            if (s && !s->is_constant && !s->value.uses && !is_declared(s) &&
                !glow_is_formal(s))
                glow_storage_erase(s);
        }
    }
}

int
glow_drop_uncalled(glow_module *m, const glow_func *keep)
{
    int count = 0, before;

    do {
        before = count;
        for (glow_func *f = m->funcs, *next; f; f = next) {
            next = f->next;
            if (f == keep || !glow_is_body(f) || is_called(f))
                continue;
            erase_body(f);
            count++;
        }
    } while (count > before);
    return count;
}
