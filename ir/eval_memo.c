/*
 * Memo of node results, by content.
 *
 * The key of a result is a hash of its operator, its attributes, its type and
 * the types and contents of the operands, so that a node is found again in
 * another function, under another name, as an instruction.  When the memo is
 * full, results of layout operators are evicted first, then the least recently
 * used (LRU).  Their hashes stay, because keys of their users are computed from
 * these.
 *
 * Constants may be large and are hashed once.  Their key is their address,
 * which stays valid because the memo keeps a reference to them.
 */

#include <assert.h>

#include "ir/eval_run.h"

/* Tensors of an entry; tensors of constants are never evicted. */
typedef struct held {
    struct entry *of;
    int count;
    glow_tensor tensors[GLOW_MAX_RESULTS];
    size_t size;
    bool is_cheap;
    struct held *newer, *older; /* LRU list of entries of the same cost; older:
                                 * next in the free list */
} held;

typedef struct entry {
    uint64_t key;
    uint64_t hashes[GLOW_MAX_RESULTS];
    held *held;          /* NULL: evicted */
    struct entry *chain; /* of the same bucket */
} entry;

typedef struct queue {
    held *newest, *oldest;
} queue;

struct glow_memo {
    glow_arena *arena;
    size_t limit, size; /* bytes of results */
    entry **buckets;    /* 2^n of them */
    size_t n_buckets, count;
    queue queues[2]; /* expensive results, cheap results */
    held *free;
};

enum { FIRST_BUCKETS = 1024, CHEAP_FLOPS = 8 };

glow_memo *
glow_memo_new(size_t bytes)
{
    glow_arena *arena = glow_arena_new();
    glow_memo *m = GLOW_NEW(arena, glow_memo);

    m->arena = arena;
    m->limit = bytes;
    m->n_buckets = FIRST_BUCKETS;
    m->buckets = GLOW_NEW_ARRAY(arena, entry *, m->n_buckets);
    return m;
}

static void
end_tensors(held *h)
{
    for (int i = 0; i < h->count; i++)
        glow_tensor_end(&h->tensors[i]);
}

void
glow_memo_free(glow_memo *m)
{
    if (!m)
        return;
    for (size_t b = 0; b < m->n_buckets; b++)
        for (entry *e = m->buckets[b]; e; e = e->chain)
            if (e->held)
                end_tensors(e->held);
    glow_arena_free(m->arena);
}

/* The table. */

static entry **
slot_of(const glow_memo *m, uint64_t key)
{
    entry **at = &m->buckets[key & (m->n_buckets - 1)];

    while (*at && (*at)->key != key)
        at = &(*at)->chain;
    return at;
}

static void
grow(glow_memo *m)
{
    entry **old = m->buckets;
    size_t count = m->n_buckets;

    m->n_buckets *= 2;
    m->buckets = GLOW_NEW_ARRAY(m->arena, entry *, m->n_buckets);
    for (size_t b = 0; b < count; b++)
        for (entry *e = old[b], *next = NULL; e; e = next) {
            entry **to = &m->buckets[e->key & (m->n_buckets - 1)];

            next = e->chain;
            e->chain = *to;
            *to = e;
        }
}

/* The entry of `key`, created if there is none. */
static entry *
entry_of(glow_memo *m, uint64_t key)
{
    entry *e = *slot_of(m, key);

    if (e)
        return e;
    if (m->count == m->n_buckets)
        grow(m);
    e = GLOW_NEW(m->arena, entry);
    e->key = key;
    *slot_of(m, key) = e;
    m->count++;
    return e;
}

static held *
hold(glow_memo *m, entry *e)
{
    held *h = m->free;

    if (h)
        m->free = h->older;
    else
        h = GLOW_NEW(m->arena, held);
    *h = (held){.of = e};
    e->held = h;
    return h;
}

/* LRU lists. */

static void
unlink_held(glow_memo *m, held *h)
{
    queue *q = &m->queues[h->is_cheap];

    *(h->newer ? &h->newer->older : &q->newest) = h->older;
    *(h->older ? &h->older->newer : &q->oldest) = h->newer;
    h->newer = h->older = NULL;
}

static void
link_newest(glow_memo *m, held *h)
{
    queue *q = &m->queues[h->is_cheap];

    h->older = q->newest;
    *(q->newest ? &q->newest->newer : &q->oldest) = h;
    q->newest = h;
}

static void
forget_one(glow_memo *m)
{
    held *h = m->queues[1].oldest ? m->queues[1].oldest : m->queues[0].oldest;

    unlink_held(m, h);
    m->size -= h->size;
    end_tensors(h);
    h->of->held = NULL;
    h->older = m->free;
    m->free = h;
}

/* Hashes. */

static uint64_t
hash_type(const glow_type *t, uint64_t seed)
{
    const int64_t head[] = {t->elem, t->offset, t->shape.rank};

    seed = glow_hash(head, sizeof head, seed);
    seed = glow_hash(&t->scale, sizeof t->scale, seed);
    return glow_hash(t->shape.at, (size_t)t->shape.rank * sizeof(int64_t),
                     seed);
}

static uint64_t
hash_tensor(const glow_tensor *t)
{
    uint64_t seed = hash_type(t->type, 0);

    return glow_hash(t->data, (size_t)glow_type_bytes(t->type), seed);
}

/* The hash of a constant, by its address and type. */
static uint64_t
hash_lasting(glow_memo *m, const glow_tensor *t)
{
    const void *where = t->data;
    uint64_t key = hash_type(t->type, glow_hash(&where, sizeof where, 1));
    entry *e = entry_of(m, key);

    if (!e->held) {
        held *h = hold(m, e);

        h->count = 1;
        h->tensors[0] = *t;
        glow_data_ref(t->owner);
        e->hashes[0] = hash_tensor(t);
    }
    return e->hashes[0];
}

uint64_t
glow_constant_hash(glow_memo *m, const glow_tensor *t, const glow_type *type)
{
    uint64_t h = t->owner ? hash_lasting(m, t) : hash_tensor(t);

    return type == t->type ? h : hash_type(type, h);
}

uint64_t
glow_item_hash(glow_memo *m, glow_item *item)
{
    if (!item->hashed) {
        item->hash = item->lasts && item->tensor.owner
                         ? hash_lasting(m, &item->tensor)
                         : hash_tensor(&item->tensor);
        item->hashed = true;
    }
    return item->hash;
}

uint64_t
glow_memo_key(const glow_eval_run *r, const glow_node *n, glow_item *const in[])
{
    const glow_op *op = n->op;
    uint64_t key = glow_attrs_hash(glow_op_schema(op), n->attrs, 2);

    key = glow_hash(&op, sizeof op, key);
    for (int i = 0; i < n->n_in; i++) {
        uint64_t h = in[i] ? glow_item_hash(r->options->memo, in[i]) : 0;

        key = glow_hash(&h, sizeof h, key);
    }
    for (int i = 0; i < n->n_out; i++)
        key = hash_type(glow_eval_type(r, n->out[i]->type), key);
    return key;
}

/* Results. */

bool
glow_memo_knows(glow_memo *m, uint64_t key, glow_item out[], int count)
{
    const entry *e = *slot_of(m, key);

    for (int i = 0; e && i < count; i++) {
        out[i].hash = e->hashes[i];
        out[i].hashed = true;
    }
    return e;
}

bool
glow_memo_find(glow_memo *m, uint64_t key, glow_item out[])
{
    const entry *e = *slot_of(m, key);
    held *h = e ? e->held : NULL;

    if (!h)
        return false;
    unlink_held(m, h);
    link_newest(m, h);
    for (int i = 0; i < h->count; i++) {
        out[i].tensor = h->tensors[i];
        glow_data_ref(out[i].tensor.owner);
        out[i].hash = e->hashes[i];
        out[i].hashed = true;
    }
    return true;
}

/* True if computing `n` takes about as long as reading its result. */
static bool
is_cheap(const glow_node *n)
{
    int64_t count = 0;

    for (int i = 0; i < n->n_out; i++)
        count += glow_type_count(n->out[i]->type);
    return !n->op->flops || n->op->flops(n) / CHEAP_FLOPS <= count;
}

void
glow_memo_keep(glow_memo *m, uint64_t key, const glow_node *n, glow_item out[])
{
    size_t size = 0;
    entry *e;
    held *h;

    if (n->n_out == 0 || n->n_out > GLOW_MAX_RESULTS)
        return;
    e = entry_of(m, key);
    assert(!e->held);
    for (int i = 0; i < n->n_out; i++) {
        e->hashes[i] = glow_item_hash(m, &out[i]);
        size += (size_t)glow_type_bytes(out[i].tensor.type);
    }
    if (size > m->limit)
        return;
    while (m->size + size > m->limit)
        forget_one(m);
    h = hold(m, e);
    h->count = n->n_out;
    h->size = size;
    h->is_cheap = is_cheap(n);
    m->size += size;
    link_newest(m, h);
    for (int i = 0; i < n->n_out; i++) {
        h->tensors[i] = out[i].tensor;
        glow_data_ref(h->tensors[i].owner);
    }
}
