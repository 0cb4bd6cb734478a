/*
 * Operators kept from other domains: DOMAIN.OPERATOR is exported unchanged to
 * its domain, with the types of its results.
 */

#include <string.h>

#include "tools/glow-translate/export/export.h"

static void
write_list(exporter *e, const char *name, const glow_attr_value *v)
{
    glow_arena *a = export_arena(e);
    glow_value_kind kind = v->count ? v->items[0].kind : GLOW_V_INT;
    int count = (int)v->count;
    int64_t *ints = GLOW_NEW_ARRAY(a, int64_t, v->count);
    float *floats = GLOW_NEW_ARRAY(a, float, v->count);
    const char **strings = GLOW_NEW_ARRAY(a, const char *, v->count);

    for (size_t i = 0; i < v->count; i++) {
        ints[i] = v->items[i].i;
        floats[i] = (float)v->items[i].f;
        strings[i] = v->items[i].text;
    }
    if (kind == GLOW_V_FLOAT)
        export_float_list(e, name, floats, count);
    else if (kind == GLOW_V_STRING)
        export_string_list(e, name, strings, count);
    else
        export_ints(e, name, ints, count);
}

static bool
write_attribute(exporter *e, const glow_node *n, const glow_attr *a)
{
    const glow_attr_value *v = &a->value;

    switch (v->kind) {
    case GLOW_V_INT:
    case GLOW_V_BOOL:
        export_int(e, a->name, v->i);
        return true;
    case GLOW_V_FLOAT:
        export_float(e, a->name, (float)v->f);
        return true;
    case GLOW_V_STRING:
        export_string(e, a->name, v->text);
        return true;
    case GLOW_V_LIST:
        for (size_t i = 1; i < v->count; i++)
            if (v->items[i].kind != v->items[0].kind)
                return export_refuse(e, n, "%s is a list of different things",
                                     a->name);
        write_list(e, a->name, v);
        return true;
    default:
        return export_refuse(e, n, "%s is nothing that ONNX can say", a->name);
    }
}

bool
export_is_foreign(const glow_node *n)
{
    return (n->op->traits & GLOW_UNKNOWN) && strchr(n->op->name, '.');
}

bool
export_foreign(exporter *e, const glow_node *n)
{
    const char *dot = strrchr(n->op->name, '.');
    const char **in = GLOW_NEW_ARRAY(export_arena(e), const char *, n->n_in);

    for (int i = 0; i < n->n_in; i++)
        in[i] = export_in(e, n, i);
    export_last(e, n, dot + 1, in, n->n_in);
    export_domain(e, n->op->name, (size_t)(dot - n->op->name));
    for (size_t i = 0; i < n->unknown_attrs.count; i++)
        if (!write_attribute(e, n, &n->unknown_attrs.items[i]))
            return false;
    for (int i = 0; i < n->n_out; i++)
        export_state_type(e, n->out[i]);
    return true;
}
