/*
 * Memo of test inputs, a hash table by the arguments of their draw.
 *
 * A pipeline under -verify-semantics runs a function on the same inputs after every
 * pass.  The memo of node results spares computing; without this one, drawing takes
 * most of the time where inputs are large and nodes are few.
 */

#include "passes/trial_inputs.h"

#include <string.h>

enum { BUCKETS = 256 };

typedef struct entry {
    uint64_t key;
    const glow_type *type;
    glow_tensor tensor;
    struct entry *chain;
} entry;

struct trial_inputs {
    glow_arena *arena;
    size_t limit, size; /* bytes of elements */
    entry *buckets[BUCKETS];
};

trial_inputs *
glow_trial_inputs_new(size_t bytes)
{
    glow_arena *arena = glow_arena_new();
    trial_inputs *m = GLOW_NEW(arena, trial_inputs);

    m->arena = arena;
    m->limit = bytes;
    return m;
}

void
glow_trial_inputs_free(trial_inputs *m)
{
    if (!m)
        return;
    for (int b = 0; b < BUCKETS; b++)
        for (entry *e = m->buckets[b]; e; e = e->chain)
            glow_tensor_end(&e->tensor);
    glow_arena_free(m->arena);
}

static glow_tensor
drawn(const trial_draw *d)
{
    glow_tensor t = glow_tensor_new(d->type);

    glow_tensor_fill(&t, d->how, d->seed);
    for (int64_t i = 0; d->n_units > 0 && i < glow_type_count(d->type); i++)
        glow_set_double(&t, i,
                        glow_get_double(&t, i) * d->units[i / 4 % d->n_units]);
    return t;
}

static uint64_t
key_of(const trial_draw *d)
{
    uint64_t key = glow_hash(&d->how, sizeof d->how, d->seed);

    return d->n_units == 0
               ? key
               : glow_hash(d->units, (size_t)d->n_units * sizeof *d->units,
                           key);
}

static glow_tensor
copy_of(const glow_tensor *t)
{
    glow_tensor copy = glow_tensor_new(t->type);

    memcpy(copy.data, t->data, (size_t)glow_type_bytes(t->type));
    return copy;
}

glow_tensor
glow_trial_inputs_get(trial_inputs *m, const trial_draw *d)
{
    uint64_t key = key_of(d);
    entry *e = m ? m->buckets[key % BUCKETS] : NULL;
    size_t bytes = (size_t)glow_type_bytes(d->type);

    while (e && (e->key != key || e->type != d->type))
        e = e->chain;
    if (e)
        return copy_of(&e->tensor);

    glow_tensor t = drawn(d);

    if (!m || bytes > m->limit - m->size)
        return t;
    e = GLOW_NEW(m->arena, entry);
    *e = (entry){key, d->type, copy_of(&t), m->buckets[key % BUCKETS]};
    m->buckets[key % BUCKETS] = e;
    m->size += bytes;
    return t;
}
