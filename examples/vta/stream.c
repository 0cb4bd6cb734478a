/* Dependence analysis over scratchpad elements, and assignment of tokens. */

#include <string.h>

#include "stream.h"

enum { PAGE = 256, UOP_BYTES = 4 };

/* The last instructions that touched an element; -1: none. */
typedef struct touched {
    int64_t writer;
    int64_t reader[VTA_UNITS];
} touched;

/* Micro-operations: in the table for DRAM, and in the scratchpad (first < 0: not). */
typedef struct uop_set {
    int64_t at, count, first;
    uint64_t hash;
} uop_set;

struct vta_stream {
    glow_arena *arena;
    vta_config config;
    int64_t uops_at;
    vta_instruction *items;
    size_t count, room;
    touched *elements[VTA_ACC + 1];
    int64_t waited[VTA_UNITS][VTA_UNITS]; /* [who][for whom]: the last one */
    int64_t *stores; /* by page of DRAM: the last store to it, or -1 */
    int64_t pages;
    int64_t synced; /* the last store that a compute instruction waited for */
    uint32_t *table;
    size_t n_table, room_table;
    uop_set *sets;
    size_t n_sets, room_sets;
    int64_t uop_next; /* where the scratchpad takes the next set */
    vta_tokens tokens;
    int64_t last[VTA_UNITS]; /* the last instruction of each unit, or -1 */
    bool is_recording;
    size_t recorded; /* the first set that recording made */
    bool failed;
};

vta_stream *
vta_stream_new(glow_arena *a, const vta_config *c, int64_t uops_at,
               vta_tokens tokens)
{
    vta_stream *s = GLOW_NEW(a, vta_stream);

    s->arena = a;
    s->config = *c;
    s->uops_at = uops_at;
    s->tokens = tokens;
    s->synced = -1;
    for (int k = VTA_UOP; k <= VTA_ACC; k++) {
        s->elements[k] = GLOW_NEW_ARRAY(a, touched, c->elements[k]);
        memset(s->elements[k], 0xff,
               (size_t)c->elements[k] * sizeof *s->elements[k]);
    }
    memset(s->waited, 0xff, sizeof s->waited);
    memset(s->last, 0xff, sizeof s->last);
    s->pages = uops_at / PAGE + 1;
    s->stores = GLOW_NEW_ARRAY(a, int64_t, s->pages);
    memset(s->stores, 0xff, (size_t)s->pages * sizeof *s->stores);
    return s;
}

bool
vta_stream_failed(const vta_stream *s)
{
    return s->failed;
}

/* Dependences. */

static void
need(int64_t needs[], int unit, int64_t i)
{
    if (i > needs[unit])
        needs[unit] = i;
}

static void
touch(vta_stream *s, int64_t i, int unit, vta_memory k, int64_t first,
      int64_t end, bool writes, int64_t needs[])
{
    if (first < 0 || end > s->config.elements[k]) {
        s->failed = true;
        return;
    }
    for (int64_t e = first; e < end; e++) {
        touched *t = &s->elements[k][e];

        if (t->writer >= 0)
            need(needs, vta_unit_of(&s->items[t->writer]), t->writer);
        if (!writes) {
            t->reader[unit] = i;
            continue;
        }
        for (int v = 0; v < VTA_UNITS; v++)
            need(needs, v, t->reader[v]);
        t->writer = i;
    }
}

/* First and last index of an operand of a gemm or alu. */
static void
touch_loop(vta_stream *s, int64_t i, const vta_instruction *x, vta_memory k,
           int64_t base_least, int64_t base_most, int64_t outer, int64_t inner,
           bool writes, int64_t needs[])
{
    touch(s, i, VTA_COMPUTER, k, base_least,
          base_most + (x->outer - 1) * outer + (x->inner - 1) * inner + 1,
          writes, needs);
}

/* The words of a set in the scratchpad at `first`. */
static const uint32_t *
uops_at(const vta_stream *s, int64_t first)
{
    for (size_t k = 0; k < s->n_sets; k++)
        if (s->sets[k].first >= 0 && s->sets[k].first <= first &&
            first < s->sets[k].first + s->sets[k].count)
            return s->table + s->sets[k].at + (first - s->sets[k].first);
    return NULL;
}

static void
touch_compute(vta_stream *s, int64_t i, const vta_instruction *x,
              int64_t needs[])
{
    const uint32_t *u = uops_at(s, x->first);
    vta_uop least, most;

    if (vta_steps(x) == 0)
        return;
    least = most = vta_decode_uop(u[0]);
    for (int64_t k = 1; k < x->end - x->first; k++) {
        vta_uop o = vta_decode_uop(u[k]);

        least.dst = o.dst < least.dst ? o.dst : least.dst;
        least.src = o.src < least.src ? o.src : least.src;
        least.wgt = o.wgt < least.wgt ? o.wgt : least.wgt;
        most.dst = o.dst > most.dst ? o.dst : most.dst;
        most.src = o.src > most.src ? o.src : most.src;
        most.wgt = o.wgt > most.wgt ? o.wgt : most.wgt;
    }
    touch(s, i, VTA_COMPUTER, VTA_UOP, x->first, x->end, false, needs);
    if (x->opcode == VTA_GEMM && !x->reset) {
        touch_loop(s, i, x, VTA_INP, least.src, most.src, x->src_outer,
                   x->src_inner, false, needs);
        touch_loop(s, i, x, VTA_WGT, least.wgt, most.wgt, x->wgt_outer,
                   x->wgt_inner, false, needs);
    }
    if (x->opcode == VTA_ALU && !x->has_immediate)
        touch_loop(s, i, x, VTA_ACC, least.src, most.src, x->src_outer,
                   x->src_inner, false, needs);
    touch_loop(s, i, x, VTA_ACC, least.dst, most.dst, x->dst_outer,
               x->dst_inner, true, needs);
}

/* The last store to the bytes of DRAM that a load reads, or -1. */
static int64_t
last_store(const vta_stream *s, const vta_instruction *x)
{
    int64_t bytes = vta_element_bytes(x->memory), last = -1;
    int64_t from = x->dram * bytes;
    int64_t to = (x->dram + (x->rows - 1) * x->stride + x->columns) * bytes - 1;

    if (!x->rows || !x->columns || x->memory == VTA_UOP)
        return -1;
    for (int64_t p = from / PAGE; p <= to / PAGE && p < s->pages; p++)
        last = s->stores[p] > last ? s->stores[p] : last;
    return last;
}

static void
note_store(vta_stream *s, int64_t i, const vta_instruction *x)
{
    int64_t from = x->dram * VTA_LANES;
    int64_t to =
        (x->dram + (x->rows - 1) * x->stride + x->columns) * VTA_LANES - 1;

    for (int64_t p = from / PAGE; p <= to / PAGE && p < s->pages; p++)
        s->stores[p] = i;
}

/* Lets instruction `i` wait for instruction `needs[v]` of each unit v beside its own. */
static void
wait_for(vta_stream *s, int64_t i, int unit, const int64_t needs[])
{
    for (int v = 0; v < VTA_UNITS; v++) {
        vta_instruction *from;

        if (v == unit || needs[v] <= s->waited[unit][v])
            continue;
        s->waited[unit][v] = needs[v];
        from = &s->items[needs[v]];
        if (v < unit) {
            s->items[i].pop_previous = true;
            from->push_next = true;
        } else {
            s->items[i].pop_next = true;
            from->push_previous = true;
        }
    }
}

static int64_t
append(vta_stream *s, vta_instruction x)
{
    s->items =
        glow_arena_grow(s->arena, s->items, s->count, &s->room, sizeof x);
    s->items[s->count] = x;
    s->last[vta_unit_of(&x)] = (int64_t)s->count;
    return (int64_t)s->count++;
}

/*
 * Load has no queue of tokens from store: a compute instruction without steps, which
 * is in order with all others of its unit, waits for the store.
 */
static int64_t
after_store(vta_stream *s, int64_t store)
{
    static const vta_instruction nothing = {.opcode = VTA_ALU};
    int64_t needs[VTA_UNITS] = {-1, -1, store}, i;

    if (store <= s->synced)
        return -1;
    i = append(s, nothing);
    wait_for(s, i, VTA_COMPUTER, needs);
    s->synced = store;
    return i;
}

void
vta_stream_add(vta_stream *s, vta_instruction x)
{
    int64_t needs[VTA_UNITS] = {-1, -1, -1};
    int unit = vta_unit_of(&x);
    int64_t store, i;

    if (s->is_recording)
        return;
    if (s->tokens == VTA_GIVEN) {
        append(s, x);
        return;
    }
    store = x.opcode == VTA_LOAD ? last_store(s, &x) : -1;
    if (store >= 0 && unit == VTA_LOADER)
        need(needs, VTA_COMPUTER, after_store(s, store));
    if (store >= 0 && unit == VTA_COMPUTER)
        need(needs, VTA_STORER, store);
    for (int v = 0; v < VTA_UNITS && s->tokens == VTA_SERIAL; v++)
        need(needs, v, s->last[v]);
    if (s->tokens == VTA_SERIAL && unit == VTA_LOADER)
        need(needs, VTA_COMPUTER, after_store(s, s->last[VTA_STORER]));
    i = append(s, x);
    if (x.opcode == VTA_LOAD)
        touch(s, i, unit, x.memory == VTA_ACC8 ? VTA_ACC : x.memory,
              x.scratchpad,
              x.scratchpad +
                  (x.left + x.columns + x.right) * (x.above + x.rows + x.below),
              true, needs);
    else if (x.opcode == VTA_STORE)
        touch(s, i, unit, VTA_ACC, x.scratchpad,
              x.scratchpad + x.rows * x.columns, false, needs);
    else
        touch_compute(s, i, &x, needs);
    if (x.opcode == VTA_STORE)
        note_store(s, i, &x);
    wait_for(s, i, unit, needs);
}

int64_t
vta_stream_count(const vta_stream *s)
{
    return (int64_t)s->count;
}

void
vta_stream_token(vta_stream *s, int64_t i, bool pops, bool next)
{
    vta_instruction *x = &s->items[i];

    *(pops   ? next ? &x->pop_next : &x->pop_previous
      : next ? &x->push_next
             : &x->push_previous) = true;
}

bool
vta_stream_pushes(const vta_stream *s, int64_t i, bool next)
{
    return next ? s->items[i].push_next : s->items[i].push_previous;
}

/* Micro-operations. */

static uint64_t
hash_of(const uint32_t *words, int64_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a, by words */

    for (int64_t k = 0; k < n; k++)
        h = (h ^ words[k]) * UINT64_C(0x100000001b3);
    return h;
}

static uop_set *
find_set(vta_stream *s, const uint32_t *words, int64_t n, uint64_t hash)
{
    for (size_t k = s->n_sets; k-- > 0;)
        if (s->sets[k].hash == hash && s->sets[k].count == n &&
            memcmp(s->table + s->sets[k].at, words, (size_t)n * UOP_BYTES) == 0)
            return &s->sets[k];
    return NULL;
}

static uop_set *
new_set(vta_stream *s, const uint32_t *words, int64_t n, uint64_t hash)
{
    uop_set *set;

    s->sets = glow_arena_grow(s->arena, s->sets, s->n_sets, &s->room_sets,
                              sizeof *s->sets);
    set = &s->sets[s->n_sets++];
    *set = (uop_set){(int64_t)s->n_table, n, -1, hash};
    for (int64_t k = 0; k < n; k++) {
        s->table = glow_arena_grow(s->arena, s->table, s->n_table,
                                   &s->room_table, sizeof *s->table);
        s->table[s->n_table++] = words[k];
    }
    return set;
}

/* Makes room for `n` micro-operations in the scratchpad; returns where. */
static int64_t
evict(vta_stream *s, int64_t n)
{
    int64_t at;

    if (s->uop_next + n > s->config.elements[VTA_UOP])
        s->uop_next = 0;
    at = s->uop_next;
    for (size_t k = 0; k < s->n_sets; k++)
        if (s->sets[k].first < at + n &&
            s->sets[k].first + s->sets[k].count > at)
            s->sets[k].first = -1;
    s->uop_next += n;
    return at;
}

/* Loads `n` micro-operations from `from` in the table to `at`. */
static void
load_uops(vta_stream *s, int64_t at, int64_t from, int64_t n)
{
    vta_stream_add(s, (vta_instruction){.opcode = VTA_LOAD,
                                        .memory = VTA_UOP,
                                        .scratchpad = at,
                                        .dram = s->uops_at / UOP_BYTES + from,
                                        .rows = 1,
                                        .columns = n,
                                        .stride = n});
}

int64_t
vta_stream_uops(vta_stream *s, const vta_uop *u, int64_t n)
{
    uint32_t words[VTA_MAX_UOPS];
    uint64_t hash;
    uop_set *set;

    for (int64_t k = 0; k < n; k++)
        s->failed |= !vta_encode_uop(u[k], &words[k]);
    hash = hash_of(words, n);
    set = find_set(s, words, n, hash);
    if (!set)
        set = new_set(s, words, n, hash);
    if (set->first >= 0 || s->is_recording)
        return set->first;
    if (n > s->config.elements[VTA_UOP]) {
        s->failed = true;
        return 0;
    }
    set->first = evict(s, n);
    load_uops(s, set->first, set->at, n);
    return set->first;
}

void
vta_stream_record(vta_stream *s)
{
    s->is_recording = true;
    s->recorded = s->n_sets;
}

void
vta_stream_play(vta_stream *s)
{
    int64_t n = 0, at;
    size_t end = s->recorded;

    s->is_recording = false;
    while (end < s->n_sets &&
           n + s->sets[end].count <= s->config.elements[VTA_UOP])
        n += s->sets[end++].count;
    if (!n)
        return;
    at = evict(s, n);
    load_uops(s, at, s->sets[s->recorded].at, n);
    for (size_t k = s->recorded; k < end; k++)
        s->sets[k].first = at + s->sets[k].at - s->sets[s->recorded].at;
}

/* The end. */

const vta_word *
vta_stream_end(vta_stream *s, int64_t *count)
{
    static const vta_instruction no_load = {VTA_LOAD, .memory = VTA_INP};
    static const vta_instruction no_store = {VTA_STORE, .memory = VTA_OUT};
    int64_t needs[VTA_UNITS] = {-1, -1, -1}, i;
    vta_word *words;

    for (int v = 0; v < VTA_UNITS; v++)
        need(needs, v, s->last[v]);
    for (int v = 0; v < VTA_UNITS && s->tokens == VTA_GIVEN; v++)
        if (v != VTA_COMPUTER && s->last[v] >= 0 &&
            vta_stream_pushes(s, s->last[v], v == VTA_LOADER))
            needs[v] = append(s, v == VTA_LOADER ? no_load : no_store);
    i = append(s, (vta_instruction){.opcode = VTA_FINISH});
    wait_for(s, i, VTA_COMPUTER, needs);
    words = GLOW_NEW_ARRAY(s->arena, vta_word, s->count);
    for (size_t k = 0; k < s->count; k++)
        s->failed |= !vta_encode(&s->items[k], &words[k]);
    *count = (int64_t)s->count;
    return words;
}

const uint32_t *
vta_stream_table(const vta_stream *s, int64_t *count)
{
    *count = (int64_t)s->n_table;
    return s->table;
}
