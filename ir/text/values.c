/*
 * Attribute values: from the syntax tree to dictionaries and attribute structs.
 */

#include <string.h>

#include "ir/base/float.h"
#include "ir/text/resolve.h"

static bool convert(text_resolver *r, glow_arena *a, const text_value *v,
                    glow_attr_value *out);

static bool
convert_list(text_resolver *r, glow_arena *a, const text_value *v,
             glow_attr_value *out)
{
    glow_attr_value *items =
        GLOW_NEW_ARRAY(a, glow_attr_value, v->items.count + 1);
    size_t n = 0;
    bool ok = true;

    for (const text_value *i = v->items.first; i; i = i->next)
        ok &= convert(r, a, i, &items[n++]);
    out->items = items;
    out->count = n;
    return ok;
}

static bool
convert(text_resolver *r, glow_arena *a, const text_value *v,
        glow_attr_value *out)
{
    float f = 0;
    bool ok = true;

    *out =
        (glow_attr_value){.kind = v->kind, .span = glow_text_at(r->p, v->span)};
    switch (v->kind) {
    case GLOW_V_INT:
        return glow_text_int(r->p, v->number, &out->i);
    case GLOW_V_FLOAT:
        ok = glow_text_float(r->p, v->number, &f);
        out->f = glow_widen(f);
        return ok;
    case GLOW_V_BOOL:
        out->i = v->is_true;
        return true;
    case GLOW_V_STRING:
        out->size = v->size;
        out->text = glow_arena_strndup(a, "", 0);
        if (v->size > 0) {
            char *copy = glow_arena_alloc(a, v->size + 1);

            memcpy(copy, v->name.text, v->size);
            out->text = copy;
        }
        return true;
    case GLOW_V_WORD:
    case GLOW_V_SYMBOL:
        out->text = glow_arena_strdup(a, v->name.text);
        return true;
    case GLOW_V_TYPED:
        out->text = glow_arena_strdup(a, v->number.text);
        out->type = v->type;
        return v->type != NULL;
    case GLOW_V_TYPE:
        out->type = v->type;
        return v->type != NULL;
    case GLOW_V_LIST:
        return convert_list(r, a, v, out);
    }
    return false;
}

bool
glow_text_attr_list(text_resolver *r, glow_arena *a, const text_attr *attrs,
                    glow_attr_list *out)
{
    size_t count = 0, n = 0;
    bool ok = true;

    for (const text_attr *i = attrs; i; i = i->next)
        count++;
    glow_attr *items = GLOW_NEW_ARRAY(a, glow_attr, count + 1);

    for (const text_attr *i = attrs; i; i = i->next) {
        items[n].name = glow_arena_strdup(a, i->name.text);
        items[n].span = glow_text_at(r->p, i->name.span);
        ok &= convert(r, a, i->value, &items[n++].value);
    }
    *out = (glow_attr_list){items, n};
    return ok;
}

const void *
glow_text_attr_struct(text_resolver *r, glow_schema s, const text_attr *attrs,
                      const char *who, text_span at)
{
    glow_attr_list l;

    if (!glow_text_attr_list(r, r->p->arena, attrs, &l))
        return NULL;
    return glow_attrs_from_list(r->ctx, r->p->arena, s, l, who,
                                glow_text_at(r->p, at));
}
