/*
 * Lives of classes; see live_ranges.h.  What is measured is what the passes
 * over programs measure: buffers from their first access to their last, no
 * scratch.
 */

#include "irgen/sharing/live_ranges.h"

#include <string.h>

static void
note(glow_ranked_life *life, uint32_t rank, bool writes)
{
    if (life->first == GLOW_NO_RANK)
        life->first = rank;
    life->last = rank;
    if (writes)
        life->last_write = rank;
}

static glow_ranked_life *
stored(const glow_memory_lives *l, const glow_storage *s)
{
    glow_ranked_life *life = glow_map_get(l->stored, s->name);

    if (!life) {
        life = GLOW_NEW(l->m->classes->arena, glow_ranked_life);
        *life = (glow_ranked_life){GLOW_NO_RANK, GLOW_NO_RANK, GLOW_NO_RANK};
        glow_map_set(l->stored, s->name, life);
    }
    return life;
}

static void
note_value(const glow_memory_lives *l, const glow_value *v, uint32_t rank,
           bool writes)
{
    glow_classes *c = l->m->classes;
    uint32_t base = v ? glow_value_base(c->v, v) : GLOW_NO_VALUE;
    const glow_storage *s = NULL;

    if (base != GLOW_NO_VALUE) {
        base = glow_class_of(c, base);
        s = c->storage[base];
        note(&l->of[base], rank, writes);
    } else if (v) {
        s = glow_storage_under(v);
    }
    if (s && !s->is_constant)
        note(stored(l, s), rank, writes);
}

/* Is it a Save of what is computed there? */
static bool
is_done(const glow_memory_lives *l, const glow_node *n)
{
    uint32_t base = n->op == &glow_op_save && !n->pred
                        ? glow_value_base(l->m->values, n->in[0])
                        : GLOW_NO_VALUE;

    return base != GLOW_NO_VALUE &&
           l->m->classes->storage[glow_class_of(l->m->classes, base)] ==
               n->in[1]->storage;
}

static void
find_lives(const glow_memory_lives *l)
{
    const glow_memory_model *m = l->m;

    for (uint32_t r = 0; r < m->values->n_nodes; r++) {
        uint32_t i = m->ranks->node[r];
        const glow_node *n = m->values->nodes[i];

        if (m->classes->gone[i] || is_done(l, n))
            continue;
        for (int k = 0; k < n->n_in; k++)
            note_value(l, n->in[k], r, glow_is_written(n, k));
        for (int k = 0; k < n->n_out; k++)
            note_value(l, n->out[k], r, true);
        note_value(l, n->pred, r, false);
    }
}

static int64_t
bytes_of(const glow_memory_lives *l, uint32_t class)
{
    return glow_life_bytes(glow_type_bytes(l->m->classes->whole[class]));
}

/* The bytes alive, from the lives. */
static void
count_bytes(glow_memory_lives *l)
{
    glow_classes *c = l->m->classes;
    size_t count = (size_t)c->v->n_nodes + 1;
    int64_t *at = GLOW_NEW_ARRAY(c->arena, int64_t, count);

    for (uint32_t v = 0; v < c->v->n_values; v++) {
        if (c->v->base[v] != v || c->parent[v] != v || c->storage[v] ||
            l->of[v].first == GLOW_NO_RANK)
            continue;
        at[l->of[v].first] += bytes_of(l, v);
        at[l->of[v].last + 1] -= bytes_of(l, v);
    }
    for (size_t i = 1; i < count; i++)
        at[i] += at[i - 1];
    l->bytes = glow_heights_new(c->arena, count, at);
    l->peak = glow_heights_most(l->bytes, 0, count - 1);
}

glow_memory_lives *
glow_memory_lives_new(const glow_memory_model *m)
{
    glow_classes *c = m->classes;
    uint32_t n = c->v->n_values;
    glow_memory_lives *l = GLOW_NEW(c->arena, glow_memory_lives);

    l->m = m;
    l->of = GLOW_NEW_ARRAY(c->arena, glow_ranked_life, n);
    l->was = GLOW_NEW_ARRAY(c->arena, uint32_t, n);
    l->was_all = GLOW_NEW_ARRAY(c->arena, bool, n);
    l->stored = glow_map_new(c->arena);
    memset(l->of, 0xff, n * sizeof *l->of);
    for (uint32_t v = 0; v < n; v++) {
        if (c->v->base[v] != v)
            continue;
        l->was[v] = glow_class_of(c, v);
        l->was_all[v] =
            c->first[v] == 0 && c->lies[v]->strides.rank == 0 &&
            glow_type_bytes(c->lies[v]) == glow_type_bytes(c->whole[l->was[v]]);
    }
    find_lives(l);
    count_bytes(l);
    return l;
}

glow_ranked_life *
glow_life_of(const glow_memory_lives *l, const glow_lying *s)
{
    return s->storage ? stored(l, s->storage) : &l->of[s->class];
}

void
glow_lives_add(glow_memory_lives *l, const glow_lying *s, uint32_t first,
               uint32_t last, int sign)
{
    if (!s->storage && first != GLOW_NO_RANK)
        glow_heights_add(l->bytes, first, last, sign * bytes_of(l, s->class));
}

bool
glow_lives_fit(const glow_memory_lives *l, uint32_t first, uint32_t last)
{
    return glow_heights_most(l->bytes, first, last) <= l->peak;
}

static glow_height_range
range_of(const glow_memory_lives *l, const glow_lying *s)
{
    const glow_ranked_life *life = glow_life_of(l, s);
    bool counts = !s->storage && life->first != GLOW_NO_RANK;

    return (glow_height_range){life->first, life->last,
                               counts ? bytes_of(l, s->class) : 0};
}

bool
glow_lives_join(glow_memory_lives *l, const glow_lying *from,
                const glow_lying *to)
{
    glow_height_range f = range_of(l, from), t = range_of(l, to);
    glow_ranked_life *life = glow_life_of(l, to);

    if (!glow_heights_join(l->bytes, &f, &t, l->peak))
        return false;
    life->first = (uint32_t)t.first;
    life->last = (uint32_t)t.last;
    return true;
}
