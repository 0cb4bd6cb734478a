/*
 * A hash map from strings to pointers: open addressing, linear probing, at most
 * two thirds full.  A removed entry keeps its key with a NULL value until the
 * table grows.
 */

#include "glow/base.h"

#include <string.h>

typedef struct entry {
    const char *key; /* NULL: never used */
    uint64_t hash;
    void *value;
} entry;

struct glow_map {
    glow_arena *arena;
    entry *entries;
    size_t cap;  /* a power of two */
    size_t used; /* entries with a key */
};

glow_map *
glow_map_new(glow_arena *a)
{
    glow_map *m = GLOW_NEW(a, glow_map);

    m->arena = a;
    return m;
}

/* The entry of `key`, or the free one where it belongs. */
static entry *
find(const glow_map *m, const char *key, uint64_t hash)
{
    for (size_t i = (size_t)hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        entry *e = &m->entries[i];

        if (!e->key || (e->hash == hash && strcmp(e->key, key) == 0))
            return e;
    }
}

void *
glow_map_get(const glow_map *m, const char *key)
{
    if (!m->cap)
        return NULL;
    return find(m, key, glow_hash(key, strlen(key), 0))->value;
}

static void
grow(glow_map *m)
{
    entry *old = m->entries;
    size_t n = m->cap, live = 0;

    for (size_t i = 0; i < n; i++)
        live += old[i].value != NULL;
    while (m->cap < 16 || live * 3 >= m->cap)
        m->cap = m->cap ? m->cap * 2 : 16;
    m->entries = GLOW_NEW_ARRAY(m->arena, entry, m->cap);
    m->used = live;
    for (size_t i = 0; i < n; i++)
        if (old[i].value)
            *find(m, old[i].key, old[i].hash) = old[i];
}

void
glow_map_set(glow_map *m, const char *key, void *value)
{
    if (!m->cap || m->used * 3 >= m->cap * 2)
        grow(m);

    uint64_t hash = glow_hash(key, strlen(key), 0);
    entry *e = find(m, key, hash);

    if (!e->key) {
        if (!value)
            return;
        m->used++;
    }
    *e = (entry){key, hash, value};
}
