/*
 * Names of values in the model: those of storage and nodes, made unique.
 */

#include "tools/glow-translate/export/state.h"

const char *
export_unique(exporter *e, const char *base)
{
    const char *name = base;

    for (int i = 1; glow_map_get(e->taken, name); i++)
        name = glow_arena_printf(e->arena, "%s.%d", base, i);
    name = export_text(e, name);
    glow_map_set(e->taken, name, e);
    return name;
}

static const char *
key_of(exporter *e, const glow_value *v)
{
    if (v->def)
        return glow_arena_printf(e->arena, "%%%s#%d", v->def->name, v->index);
    return glow_arena_printf(e->arena, "@%s", v->storage->name);
}

void
export_set_name(exporter *e, const glow_value *v, const char *name)
{
    glow_map_set(e->names, key_of(e, v), (void *)(uintptr_t)name);
}

void
export_name_value(exporter *e, const glow_value *v, const char *base)
{
    export_set_name(e, v, export_unique(e, base));
}

const export_bound *
export_bound_of(exporter *e, const glow_value *v)
{
    return glow_map_get(e->bounds, key_of(e, v));
}

void
export_set_bound(exporter *e, const glow_value *v, export_bound b)
{
    glow_map_set(e->bounds, key_of(e, v),
                 glow_arena_copy(e->arena, &b, sizeof b));
}

/* Constants are named once, for all functions. */
const char *
export_name_of(exporter *e, const glow_value *v)
{
    const char *key = key_of(e, v), *name = glow_map_get(e->names, key);

    return name || v->def ? name : glow_map_get(e->shared, key);
}

const char *
export_in(exporter *e, const glow_node *n, int i)
{
    return i < n->n_in && n->in[i] ? export_name_of(e, n->in[i]) : "";
}

/* Storage keeps its names. */
void
export_name_storage(exporter *e)
{
    GLOW_FOR_EACH_STORAGE(s, e->module)
        if (!s->is_constant)
            export_name_value(e, &s->value, s->name);
    GLOW_FOR_EACH_STORAGE(s, e->module)
        if (s->is_constant)
            export_name_value(e, &s->value, s->name);
}

/* Results are named after their nodes. */
void
export_name_results(exporter *e)
{
    GLOW_FOR_EACH_NODE(n, e->func)
        for (int i = 0; i < n->n_out; i++) {
            char name[80];

            glow_op_result_name(n->op, i, name, sizeof name);
            export_name_value(
                e, n->out[i],
                n->n_out == 1
                    ? n->name
                    : glow_arena_printf(e->arena, "%s.%s", n->name, name));
        }
}
