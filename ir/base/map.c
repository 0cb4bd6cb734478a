/*
 * A hash map from strings to pointers: the entries in the order of their
 * insertion, and a table of their numbers, by open addressing with linear
 * probing, at most two thirds full.  A slot is a third of an entry and has most
 * of the hash, so that other keys' entries are seldom read; the names of a
 * large function exceed the caches.  A removed entry keeps its key with a NULL
 * value until the table grows.
 */

#include "ir/base/memory.h"

#include <string.h>

typedef struct entry {
    const char *key;
    uint64_t hash;
    void *value;
} entry;

typedef struct slot {
    uint32_t tag;    /* the upper half of the hash */
    uint32_t number; /* 1 + number of the entry; 0: never used */
} slot;

struct glow_map {
    glow_arena *arena;
    slot *slots;
    size_t cap; /* of slots: a power of two */
    entry *entries;
    size_t count, cap_entries;
};

glow_map *
glow_map_new(glow_arena *a)
{
    glow_map *m = GLOW_NEW(a, glow_map);

    m->arena = a;
    return m;
}

/* The slot of `key`, or the free slot for it. */
static slot *
find(const glow_map *m, const char *key, uint64_t hash)
{
    for (size_t i = (size_t)hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        slot *s = &m->slots[i];

        if (!s->number || (s->tag == (uint32_t)(hash >> 32) &&
                           m->entries[s->number - 1].hash == hash &&
                           strcmp(m->entries[s->number - 1].key, key) == 0))
            return s;
    }
}

void *
glow_map_get(const glow_map *m, const char *key)
{
    if (!m->cap)
        return NULL;

    const slot *s = find(m, key, glow_hash(key, strlen(key), 0));

    return s->number ? m->entries[s->number - 1].value : NULL;
}

/* Drops removed entries, and makes the table large enough for one more. */
static void
grow(glow_map *m)
{
    size_t live = 0;

    for (size_t i = 0; i < m->count; i++)
        if (m->entries[i].value)
            m->entries[live++] = m->entries[i];
    m->count = live;
    if (live >= UINT32_MAX)
        glow_no_memory(SIZE_MAX);
    while (m->cap < 16 || live * 3 >= m->cap)
        m->cap = m->cap ? m->cap * 2 : 16;
    m->slots = GLOW_NEW_ARRAY(m->arena, slot, m->cap);
    for (size_t i = 0; i < live; i++) {
        uint64_t hash = m->entries[i].hash;
        size_t at = (size_t)hash & (m->cap - 1);

        while (m->slots[at].number)
            at = (at + 1) & (m->cap - 1);
        m->slots[at] = (slot){(uint32_t)(hash >> 32), (uint32_t)i + 1};
    }
}

void
glow_map_set(glow_map *m, const char *key, void *value)
{
    if (!m->cap || m->count * 3 >= m->cap * 2)
        grow(m);

    uint64_t hash = glow_hash(key, strlen(key), 0);
    slot *s = find(m, key, hash);

    if (s->number) {
        m->entries[s->number - 1] = (entry){key, hash, value};
        return;
    }
    if (!value)
        return;
    m->entries = glow_arena_grow(m->arena, m->entries, m->count,
                                 &m->cap_entries, sizeof(entry));
    m->entries[m->count++] = (entry){key, hash, value};
    *s = (slot){(uint32_t)(hash >> 32), (uint32_t)m->count};
}
