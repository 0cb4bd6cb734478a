/* Hash table of search states with linear probing, and a binary heap. */

#include <string.h>

#include "irgen/schedule/states.h"

#define FIRST_SLOTS ((size_t)1 << 8)
#define NO_STATE UINT32_MAX

void
glow_order_hash(const uint64_t hash[2], uint32_t task, uint64_t out[2])
{
    out[0] = hash[0] + glow_mix(2 * (uint64_t)task + 1);
    out[1] = hash[1] + glow_mix(2 * (uint64_t)task + 2);
}

/* The slot of a set in the table, or the empty slot for it. */
static size_t
slot_of(const glow_order_states *s, const uint64_t hash[2])
{
    size_t mask = s->slots - 1, k = hash[0] & mask;

    while (s->table[k]) {
        const glow_order_state *x = &s->items[s->table[k] - 1];

        if (x->hash[0] == hash[0] && x->hash[1] == hash[1])
            break;
        k = (k + 1) & mask;
    }
    return k;
}

/* Rebuilds the table with `slots` slots. */
static void
fill_table(glow_order_states *s, size_t slots)
{
    if (slots > s->room) {
        s->table = GLOW_NEW_ARRAY(s->a, uint32_t, slots);
        s->room = slots;
    } else {
        memset(s->table, 0, slots * sizeof(*s->table));
    }
    s->slots = slots;
    for (size_t i = 0; i < s->n; i++) {
        size_t k = slot_of(s, s->items[i].hash);

        if (s->table[k] == 0)
            s->table[k] = (uint32_t)i + 1;
    }
}

static void
append(glow_order_states *s, const glow_order_state *x)
{
    s->items =
        glow_arena_grow(s->a, s->items, s->n, &s->cap, sizeof(*s->items));
    s->items[s->n++] = *x;
    if (2 * s->n > s->slots)
        fill_table(s, 2 * s->slots);
}

glow_order_states *
glow_order_states_new(glow_arena *a)
{
    glow_order_states *s = GLOW_NEW(a, glow_order_states);

    s->a = a;
    return s;
}

uint32_t
glow_order_states_reset(glow_order_states *s, int64_t live)
{
    glow_order_state root = {.live = live, .parent = NO_STATE};

    s->n = 0;
    fill_table(s, FIRST_SLOTS);
    append(s, &root);
    s->table[slot_of(s, root.hash)] = 1;
    return 0;
}

static glow_order_state
child_of(const glow_order_states *s, uint32_t parent, uint32_t task,
         int64_t live)
{
    const glow_order_state *p = &s->items[parent];
    glow_order_state x = {
        .live = live, .parent = parent, .task = task, .count = p->count + 1};

    glow_order_hash(p->hash, task, x.hash);
    return x;
}

bool
glow_order_states_find(glow_order_states *s, uint32_t parent, uint32_t task,
                       int64_t live, uint32_t *out)
{
    glow_order_state x = child_of(s, parent, task, live);
    size_t k = slot_of(s, x.hash);

    if (s->table[k])
        return false;
    *out = (uint32_t)s->n;
    s->table[k] = *out + 1;
    append(s, &x);
    return true;
}

uint32_t
glow_order_states_append(glow_order_states *s, uint32_t parent, uint32_t task,
                         int64_t live, bool *fresh)
{
    glow_order_state x;
    uint32_t i;

    *fresh = glow_order_states_find(s, parent, task, live, &i);
    if (*fresh)
        return i;
    x = child_of(s, parent, task, live);
    append(s, &x);
    return (uint32_t)s->n - 1;
}

static bool
is_before(const glow_order_entry *x, const glow_order_entry *y)
{
    if (x->key != y->key)
        return x->key < y->key;
    if (x->count != y->count)
        return x->count > y->count;
    return x->state > y->state;
}

void
glow_order_push(glow_arena *a, glow_order_heap *h, int64_t key, uint32_t state,
                uint32_t count)
{
    glow_order_entry e = {key, state, count};
    size_t k = h->count;

    h->items = glow_arena_grow(a, h->items, h->count++, &h->cap, sizeof(e));
    for (; k > 0 && is_before(&e, &h->items[(k - 1) / 2]); k = (k - 1) / 2)
        h->items[k] = h->items[(k - 1) / 2];
    h->items[k] = e;
}

glow_order_entry
glow_order_pop(glow_order_heap *h)
{
    glow_order_entry top = h->items[0], last = h->items[--h->count];
    size_t k = 0;

    for (;;) {
        size_t child = 2 * k + 1;

        if (child >= h->count)
            break;
        if (child + 1 < h->count &&
            is_before(&h->items[child + 1], &h->items[child]))
            child++;
        if (!is_before(&h->items[child], &last))
            break;
        h->items[k] = h->items[child];
        k = child;
    }
    h->items[k] = last;
    return top;
}
