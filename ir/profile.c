/*
 * Observed ranges of values: maps by name, from functions to nodes to their results.
 */

#include <math.h>
#include <string.h>

#include "ir/profile.h"

/* The range of a result of a node, or of storage: a list by `next`. */
typedef struct entry {
    glow_value_range range;
    glow_dims shape; /* of the value that it was set for */
    int index;       /* of the result; 0 of storage */
    struct entry *next;
} entry;

struct glow_ranges {
    glow_map *storage; /* entry by name */
    glow_map *funcs;   /* a map by name: entries of nodes by name */
};

/* The map that `v` has its entry in, and its name in there; NULL: no map. */
static glow_map *
map_of(const glow_module *m, const glow_value *v, const char **name)
{
    if (v->def && v->def->func->is_program)
        return NULL;
    *name = v->def ? v->def->name : v->storage->name;
    if (!v->def)
        return m->ranges->storage;
    return glow_map_get(m->ranges->funcs, v->def->func->name);
}

static glow_module *
module_of(const glow_value *v)
{
    return v->def ? v->def->func->module : v->storage->module;
}

static entry *
find(const glow_module *m, const glow_value *v)
{
    const char *name;
    glow_map *map = m->ranges ? map_of(m, v, &name) : NULL;
    entry *e = map ? glow_map_get(map, name) : NULL;

    while (e && e->index != v->index)
        e = e->next;
    return e;
}

const glow_value_range *
glow_get_value_range(const glow_value *v)
{
    const entry *e = find(module_of(v), v);

    return e && glow_dims_equal(e->shape, v->type->shape) ? &e->range : NULL;
}

/* Checks. */

static bool
are_ends(float min, float max)
{
    return isfinite(min) && isfinite(max) && min <= max;
}

static bool
can_have(const glow_value *v, const glow_value_range *r)
{
    const glow_dims *shape = &v->type->shape;

    if ((v->def && v->def->func->is_program) || !are_ends(r->min, r->max))
        return false;
    if (r->channels == 0)
        return true;
    if (r->axis < 0 || r->axis >= shape->rank ||
        r->channels != shape->at[r->axis])
        return false;
    for (int64_t i = 0; i < r->channels; i++)
        if (!are_ends(r->channel_min[i], r->channel_max[i]) ||
            !(r->channel_mean[i] >= r->channel_min[i] &&
              r->channel_mean[i] <= r->channel_max[i]))
            return false;
    return true;
}

/* Changes. */

static entry *
entry_for(glow_module *m, const glow_value *v)
{
    entry *e = find(m, v);
    const char *name;
    glow_map *map;

    if (e)
        return e;
    if (!m->ranges) {
        m->ranges = GLOW_NEW(m->arena, struct glow_ranges);
        m->ranges->storage = glow_map_new(m->arena);
        m->ranges->funcs = glow_map_new(m->arena);
    }
    map = map_of(m, v, &name);
    if (!map) {
        map = glow_map_new(m->arena);
        glow_map_set(m->ranges->funcs,
                     glow_arena_strdup(m->arena, v->def->func->name), map);
    }
    name = glow_arena_strdup(m->arena, name);
    e = GLOW_NEW(m->arena, entry);
    e->index = v->index;
    e->next = glow_map_get(map, name);
    glow_map_set(map, name, e);
    return e;
}

static const float *
keep(glow_arena *a, const float *list, int64_t count)
{
    return glow_arena_copy(a, list, (size_t)count * sizeof *list);
}

bool
glow_set_value_range(glow_value *v, const glow_value_range *r)
{
    glow_module *m = module_of(v);
    glow_value_range copy = {.min = r->min, .max = r->max, .axis = -1};
    entry *e;

    if (!can_have(v, r))
        return false;
    if (r->channels > 0) {
        copy.axis = r->axis;
        copy.channels = r->channels;
        copy.channel_min = keep(m->arena, r->channel_min, r->channels);
        copy.channel_max = keep(m->arena, r->channel_max, r->channels);
        copy.channel_mean = keep(m->arena, r->channel_mean, r->channels);
    }
    e = entry_for(m, v);
    e->range = copy;
    e->shape = v->type->shape;
    return true;
}

/* An entry without a range fits no value: no shape has this rank. */
void
glow_remove_value_range(glow_value *v)
{
    entry *e = find(module_of(v), v);

    if (e)
        e->shape.rank = -1;
}

void
glow_remove_value_ranges(glow_module *m)
{
    m->ranges = NULL;
}

void
glow_ranges_rename(const glow_node *n, const char *before)
{
    const glow_module *m = n->func->module;
    glow_map *map =
        m->ranges ? glow_map_get(m->ranges->funcs, n->func->name) : NULL;
    entry *e = map ? glow_map_get(map, before) : NULL;

    if (!e || glow_map_get(map, n->name))
        return;
    glow_map_set(map, before, NULL);
    glow_map_set(map, n->name, e);
}

static void
copy_range(glow_value *to, const glow_value *from)
{
    const glow_value_range *r = glow_get_value_range(from);

    if (r)
        glow_set_value_range(to, r);
}

void
glow_copy_value_ranges(glow_module *to, const glow_module *from)
{
    if (!from->ranges)
        return;
    GLOW_FOR_EACH_STORAGE(s, from) {
        glow_storage *t = glow_find_storage(to, s->name);

        if (t)
            copy_range(&t->value, &s->value);
    }
    GLOW_FOR_EACH_FUNC(f, from) {
        const glow_func *g = glow_find_func(to, f->name);

        for (const glow_node *n = f->first; g && n; n = n->next) {
            const glow_node *o = glow_find_node(g, n->name);

            for (int i = 0; o && i < n->n_out && i < o->n_out; i++)
                copy_range(o->out[i], n->out[i]);
        }
    }
}
