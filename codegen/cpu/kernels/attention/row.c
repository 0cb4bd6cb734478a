/*
 * Fused attention of one row of Q, as decoders of one token have it: keys and values
 * are read where they lie, for up to four heads at once that share them, or whose own
 * are side by side.
 *
 *     for each batch and tile of heads         units
 *       for each four keys                     scores of each head: q k, the lanes
 *                                              of four sums added up at once
 *       for each head                          weights: weights.c
 *       for each panel of columns of V         the sums of all heads in registers
 *         for each key                         sums += weight v
 *         store the sums by the sum of weights
 *
 * Where heads are side by side, a tile is a part of each row of K and V, and processors do
 * not foresee such parts: the tiles of a batch go together through K and through V, row by
 * row, and the rows ahead are prefetched.  Their sums are in scratch between blocks of keys.
 *
 *     for each batch
 *       for each four keys
 *         for each tile of heads               scores
 *       for each head                          weights
 *       for each block of keys
 *         for each tile of heads               sums += weights v
 *       for each tile of heads                 store the sums by the sum of weights
 *
 * The kernels of many rows copy keys and values into panels first, which costs as much
 * as this whole.
 */

#include "codegen/cpu/kernels/attention/attention.h"

#include "codegen/cpu/kernels/move/shuffle.h"

typedef cpu_attention maker;
typedef cpu_attention_sizes sizes;
typedef cpu_attention_steps steps;

#define LEAST_KEYS 16   /* of fewer a call is as good */
#define MOST_DEPTH 256  /* of a head of K, which is unrolled */
#define MOST_WIDTH 1024 /* of a head of V, whose panels are */

enum {
    MOST_TILE = 4,   /* heads */
    VECTORS = 8,     /* of a panel of values */
    BLOCK = 8192,    /* bytes of V of a block of keys, about */
    LEAST_BLOCK = 4, /* keys of it */
    MOST_BLOCK = 16,
    SCORES = 524288, /* bytes of scores of tiles that go together, at most */
    AHEAD = 16384,   /* bytes that are prefetched ahead, at least */
};

/* The tile at hand. */
typedef struct row {
    maker m;
    int tile;         /* heads */
    int64_t tiles;    /* of a batch */
    int64_t together; /* tiles whose scores are in the scratch, at most */
    cg_value slot;    /* place of the first head of the tile in the scratch */
} row;

/* Numbers of tiles that go together. */
typedef struct tiles {
    cg_value begin, end;
} tiles;

/* True if the heads of one row of `r` are side by side. */
static bool
is_by_rows(const cpu_attention_steps *r)
{
    return r->head < r->row;
}

/*
 * Heads of a tile: of those that share keys and values, else of those whose keys and
 * values are side by side, because 16 heads of 128 keys came out of memory at 30 GB/s four
 * by four, at 21 one by one.
 */
static int
tile_of(const sizes *s)
{
    int64_t of = s->group;
    int tile = MOST_TILE;

    if (of == 1 && is_by_rows(&s->k) && is_by_rows(&s->v))
        of = s->heads;
    while (of % tile)
        tile--;
    return tile;
}

/* Sums that registers hold beside what is multiplied. */
static int
vectors_in_registers(const cpu_target *t)
{
    return t->registers - 4;
}

/* Vectors of a panel of values, whose sums registers hold for each head of a tile. */
static int
vectors_of(const cpu_target *t, const sizes *s)
{
    int fit = vectors_in_registers(t) / tile_of(s);

    return fit < VECTORS ? fit : VECTORS;
}

static sizes
sizes_of(const cpu_target *t, const glow_node *n)
{
    sizes s = glow_cpu_attention_sizes_of(t, n);

    s.block = s.panels; /* not streamed */
    return s;
}

static bool
takes(const cpu_target *t, const glow_node *n)
{
    glow_kind k = n->in[ATTENTION_Q]->type->elem;
    sizes s = glow_cpu_attention_sizes_of(NULL, n);

    (void)t;
    for (int i = ATTENTION_Q; i <= ATTENTION_V; i++)
        if (glow_cpu_strides(n->in[i]->type).at[3] != 1)
            return false;
    return (k == GLOW_FLOAT || k == GLOW_FLOAT16 || k == GLOW_BFLOAT16) &&
           s.batch > 0 && s.heads > 0 && s.rows == 1 && s.keys >= LEAST_KEYS &&
           s.width > 0 && s.width <= MOST_WIDTH && s.depth > 0 &&
           s.depth <= MOST_DEPTH;
}

/* Tiles that go together through keys and values: 1, unless heads are side by side. */
static int64_t
together_of(const sizes *s)
{
    int64_t all = s->heads / tile_of(s);
    int64_t each = tile_of(s) * s->panels * s->panel * 4;
    int64_t most = each < SCORES ? SCORES / each : 1;

    if (!is_by_rows(&s->k) || !is_by_rows(&s->v))
        return 1;
    return all < most ? all : most;
}

/* Numbers in the scratch from the sums of a head to those of the next. */
static int64_t
sums_apart(const sizes *s)
{
    return cg_ceil_div(s->width, s->lanes) * s->lanes;
}

static cpu_attention_places
places_of(const sizes *s)
{
    int64_t together = together_of(s), heads = together * tile_of(s);
    cpu_attention_places p = {.greatest = heads * s->panels * s->panel};

    p.sum = p.greatest + heads;
    p.sums = p.sum + heads;
    p.end = p.sums + (together > 1 ? heads * sums_apart(s) : 0);
    return p;
}

/* Calls glow_cg_load for `lanes` elements, or as many as are left of `count`. */
static cg_value
load(const maker *m, cg_tensor t, cg_value at, int64_t plus, int64_t count)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes;
    cg_value v;

    g->live = count - plus < lanes ? (int)(count - plus) : 0;
    v = glow_cg_load(g, t, cg_addc(g, at, plus), lanes);
    g->live = 0;
    return v;
}

/* True if each head of the tile has keys and values of its own. */
static bool
has_own_keys(const maker *m)
{
    return m->s.group == 1;
}

/* Operand `i`, keys or values, of head `h` of the tile. */
static cg_tensor
shared_operand(maker *m, int i, cpu_attention_steps r, int h)
{
    cg *g = m->j->g;
    cg_value head = has_own_keys(m) ? cg_addc(g, m->head, h) : m->head;

    return attention_operand(m, i, r, cg_over(g, head, m->s.group));
}

/* Moves on to tile `tile` of `t`. */
static void
begin_tile(row *r, const tiles *t, cg_value tile)
{
    cg *g = r->m.j->g;

    r->m.head = cg_mulc(g, tile, r->tile);
    r->slot = cg_mulc(g, cg_sub(g, tile, t->begin), r->tile);
}

/* Scores of head `i` of the tile, of key `key`. */
static cg_value
score_at(const row *r, int i, cg_value key)
{
    cg *g = r->m.j->g;

    return cg_add(
        g, attention_scores_at((maker *)&r->m, cg_addc(g, r->slot, i)), key);
}

/* Bytes of a row of operand `i`: keys or values of all heads. */
static int64_t
row_bytes(const row *r, int i)
{
    const steps *of = i == ATTENTION_K ? &r->m.s.k : &r->m.s.v;

    return of->row * glow_cg_bytes(r->m.j->in[i].type);
}

/* The address of row `key` of operand `i`, `ahead` rows further. */
static cg_value
row_at(const row *r, int i, cg_value key, int64_t ahead)
{
    cg *g = r->m.j->g;
    cg_tensor t = r->m.j->in[i];
    const steps *of = i == ATTENTION_K ? &r->m.s.k : &r->m.s.v;
    cg_value at = cg_mulc(g, r->m.batch, of->batch * glow_cg_bytes(t.type));

    at = cg_add(g, at, cg_mulc(g, cg_addc(g, key, ahead), row_bytes(r, i)));
    return glow_cg_at(g, t.at, at);
}

/*
 * Prefetches one of the parts, which tiles share, of `rows` rows of operand `i` ahead of row
 * `key`; after the last key the first values.  All tiles prefetch all of them, one line after
 * the other, since processors foresee only this: attentions of 16 heads, 128 keys and 64
 * elements of float16 took 54 us each out of memory, and 27 so, into the L2 cache; into L1
 * 52 (Zen 4).
 */
static void
prefetch_rows(const row *r, int i, cg_value key, int rows, cg_value tile)
{
    cg *g = r->m.j->g;
    int64_t bytes = row_bytes(r, i), keys = r->m.s.keys;
    int64_t part = cg_ceil_div(rows * bytes, r->tiles);
    int64_t ahead = cg_ceil_div(AHEAD, bytes);
    cg_value at = row_at(r, i, key, ahead), end;

    if (i == ATTENTION_K && row_bytes(r, ATTENTION_V) == bytes) {
        end = cg_icmp(g, LLVMIntSGE, key, cg_i64(g, keys - ahead));
        at = cg_select(g, end, row_at(r, ATTENTION_V, key, ahead - keys), at);
    }
    at = glow_cg_at(g, at, cg_mulc(g, tile, part));
    for (int64_t line = 0; line < part; line += CPU_LINE)
        glow_cg_prefetch(g, glow_cg_atc(g, at, line), false, 2);
}

/* Keys of a block of values of tiles that go together. */
static int
block_keys(const row *r)
{
    int64_t keys = BLOCK / row_bytes(r, ATTENTION_V);

    keys = keys < LEAST_BLOCK ? LEAST_BLOCK : keys;
    return (int)(keys < MOST_BLOCK ? keys : MOST_BLOCK);
}

/* Products of heads `head` to `head + heads` of the tile with `keys` keys. */
typedef struct scoring {
    cg_tensor k[MOST_TILE];             /* of each head */
    cg_value q[MOST_TILE * MOST_DEPTH]; /* vectors of the tile, head by head */
    cg_value key;                       /* the first */
    int keys, head, heads;
} scoring;

/* Loads the queries of the tile. */
static void
begin_scoring(row *r, scoring *o)
{
    maker *m = &r->m;
    cg *g = m->j->g;
    const sizes *s = &m->s;
    int vectors = (int)cg_ceil_div(s->depth, s->lanes);

    for (int h = 0; h < r->tile; h++) {
        cg_tensor of =
            attention_operand(m, ATTENTION_Q, s->q, cg_addc(g, m->head, h));

        o->k[h] = shared_operand(m, ATTENTION_K, s->k, h);
        for (int i = 0; i < vectors; i++)
            o->q[h * vectors + i] =
                load(m, of, cg_i64(g, 0), (int64_t)i * s->lanes, s->depth);
    }
}

/* sums[h * keys + i] of head h and key i, their lanes not added up. */
static void
multiply_keys(const maker *m, const scoring *o, cg_value *sums)
{
    cg *g = m->j->g;
    int lanes = m->s.lanes, vectors = (int)cg_ceil_div(m->s.depth, lanes);

    for (int i = 0; i < o->heads * o->keys; i++)
        sums[i] = LLVMConstNull(glow_cg_vector(g->f32, lanes));
    for (int v = 0; v < vectors; v++)
        for (int i = 0; i < o->keys; i++) {
            cg_value at = cg_mulc(g, cg_addc(g, o->key, i), m->s.k.row);
            cg_value key = NULL;

            for (int h = 0; h < o->heads; h++) {
                cg_value *sum = &sums[h * o->keys + i];

                if (h == 0 || has_own_keys(m))
                    key = load(m, o->k[o->head + h], at, (int64_t)v * lanes,
                               m->s.depth);
                *sum = glow_cg_fma(g, o->q[(o->head + h) * vectors + v], key,
                                   *sum);
            }
        }
}

/* Scores of the tile of `keys` keys from `key` on: CPU_CHUNK or one. */
static void
score_tile(const row *r, scoring *o, cg_value key, int keys)
{
    const maker *m = &r->m;
    cg *g = m->j->g;
    int most = vectors_in_registers(g->target) / keys;
    cg_value sums[MOST_TILE * CPU_CHUNK];

    o->key = key;
    o->keys = keys;
    for (int h = 0; h < r->tile; h += o->heads) {
        o->head = h;
        o->heads = r->tile - h < most ? r->tile - h : most;
        multiply_keys(m, o, sums);
        for (int i = 0; i < o->heads; i++) {
            cg_value at = score_at(r, h + i, key);
            cg_value sum = keys > 1 ? glow_cpu_add_lanes(g, &sums[i * keys])
                                    : glow_cpu_across(g, m->work.type, sums[i],
                                                      glow_cpu_sum);

            glow_cg_store(g, m->work, at, sum);
        }
    }
}

/* The same of all tiles of `t`; `one` is the scoring of the only one, or NULL. */
static void
score_keys(row *r, const tiles *t, scoring *one, cg_value key, int keys)
{
    cg *g = r->m.j->g;
    scoring o;
    cg_loop l;

    if (one) {
        score_tile(r, one, key, keys);
        return;
    }
    glow_cg_loop(g, &l, t->begin, t->end, 1, NULL, 0);
    begin_tile(r, t, l.i);
    begin_scoring(r, &o);
    prefetch_rows(r, ATTENTION_K, key, keys, l.i);
    score_tile(r, &o, key, keys);
    glow_cg_loop_end(g, &l, NULL);
}

/* Scores of all keys, before scale and mask. */
static void
score(row *r, const tiles *t)
{
    cg *g = r->m.j->g;
    int64_t keys = r->m.s.keys;
    int64_t whole = r->m.s.lanes % CPU_CHUNK ? 0 : keys / CPU_CHUNK * CPU_CHUNK;
    scoring o, *one = r->together > 1 ? NULL : &o;
    cg_loop l;

    if (one) {
        begin_tile(r, t, t->begin);
        begin_scoring(r, one);
    }
    if (whole) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, whole), CPU_CHUNK, NULL, 0);
        score_keys(r, t, one, l.i, CPU_CHUNK);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (whole < keys) {
        glow_cg_loop(g, &l, cg_i64(g, whole), cg_i64(g, keys), 1, NULL, 0);
        score_keys(r, t, one, l.i, 1);
        glow_cg_loop_end(g, &l, NULL);
    }
}

/* Weights of each head of the tiles. */
static void
weigh(const row *r, const tiles *t)
{
    cg *g = r->m.j->g;
    maker of = r->m;
    cg_value count = cg_mulc(g, cg_sub(g, t->end, t->begin), r->tile);
    cg_loop l;

    if (r->together == 1)
        count = cg_i64(g, r->tile);
    glow_cg_loop(g, &l, cg_i64(g, 0), count, 1, NULL, 0);
    of.head = cg_add(g, cg_mulc(g, t->begin, r->tile), l.i);
    of.row0 = cg_sub(g, cg_i64(g, 0), l.i); /* scores `l.i` are of row 0 */
    glow_cpu_attention_weigh(&of, l.i);
    glow_cg_loop_end(g, &l, NULL);
}

/* Values. */

/* A panel: `count` columns of Y and V from `column` on. */
typedef struct panel {
    int64_t column, count;
    int vectors;
} panel;

/* Panel `*i` of `r`, which is moved on; false after the last. */
static bool
next_panel(const row *r, int64_t *i, panel *p)
{
    const sizes *s = &r->m.s;
    int64_t most = (int64_t)vectors_of(r->m.j->g->target, s) * s->lanes;

    p->column = *i * most;
    p->count = s->width - p->column < most ? s->width - p->column : most;
    p->vectors = (int)cg_ceil_div(p->count, s->lanes);
    (*i)++;
    return p->count > 0;
}

/* Stores the sums of head `h` of the tile. */
static void
store_sums(const row *r, const panel *p, int h, cg_value const *sums)
{
    cg *g = r->m.j->g;
    maker of = r->m;
    cg_value by, zero = cg_i64(g, 0);
    int lanes = of.s.lanes;

    of.head = cg_addc(g, of.head, h);
    by = attention_row_number(&of, of.at.sum, cg_addc(g, r->slot, h));
    by = glow_cg_splat(g, by, lanes);
    for (int64_t i = 0; i < p->count; i += lanes) {
        g->live = p->count - i < lanes ? (int)(p->count - i) : 0;
        glow_cpu_attention_store(&of, zero, cg_i64(g, p->column + i),
                                 cg_fmul(g, sums[i / lanes], by));
        g->live = 0;
    }
}

/* Adds weights by values of keys `first` to less than `end` to the sums of a panel. */
static void
sum_keys(row *r, const panel *p, cg_value first, cg_value end, cg_value *sums)
{
    maker *m = &r->m;
    cg *g = m->j->g;
    cg_tensor v[MOST_TILE];
    int lanes = m->s.lanes, n = r->tile * p->vectors;
    cg_value value[VECTORS], at;
    cg_loop l;

    for (int h = 0; h < r->tile; h++)
        v[h] = shared_operand(m, ATTENTION_V, m->s.v, h);
    glow_cg_loop(g, &l, first, end, 1, sums, n);
    at = cg_addc(g, cg_mulc(g, l.i, m->s.v.row), p->column);
    for (int h = 0; h < r->tile; h++) {
        cg_value weight = glow_cg_load(g, m->work, score_at(r, h, l.i), 1);

        for (int i = 0; i < p->vectors && (h == 0 || has_own_keys(m)); i++)
            value[i] = load(m, v[h], at, (int64_t)i * lanes, p->count);
        weight = glow_cg_splat(g, weight, lanes);
        for (int i = 0; i < p->vectors; i++)
            sums[h * p->vectors + i] =
                glow_cg_fma(g, weight, value[i], l.value[h * p->vectors + i]);
    }
    glow_cg_loop_end(g, &l, sums);
    for (int i = 0; i < n; i++)
        sums[i] = l.value[i];
}

/* The tile by itself: its sums are in registers for all keys. */
static void
sum_tile(row *r)
{
    cg *g = r->m.j->g;
    cg_value sums[MOST_TILE * VECTORS];
    panel p;

    for (int64_t i = 0; next_panel(r, &i, &p);) {
        for (int n = 0; n < r->tile * p.vectors; n++)
            sums[n] = LLVMConstNull(glow_cg_vector(g->f32, r->m.s.lanes));
        sum_keys(r, &p, cg_i64(g, 0), cg_i64(g, r->m.s.keys), sums);
        for (int h = 0; h < r->tile; h++)
            store_sums(r, &p, h, &sums[h * p.vectors]);
    }
}

/* Loads the sums of the panel from scratch, or stores them there. */
static void
move_sums(const row *r, const panel *p, bool stores, cg_value *sums)
{
    const maker *m = &r->m;
    cg *g = m->j->g;
    int lanes = m->s.lanes;

    for (int h = 0; h < r->tile; h++)
        for (int i = 0; i < p->vectors; i++) {
            cg_value at = cg_mulc(g, cg_addc(g, r->slot, h), sums_apart(&m->s));
            cg_value *sum = &sums[h * p->vectors + i];

            at = cg_addc(g, at, m->at.sums + p->column + (int64_t)i * lanes);
            if (stores)
                glow_cg_store(g, m->work, at, *sum);
            else
                *sum = glow_cg_load(g, m->work, at, lanes);
        }
}

typedef void (*panel_fn)(row *r, const panel *p, cg_value key, cg_value *sums);

static void
clear_panel(row *r, const panel *p, cg_value key, cg_value *sums)
{
    cg *g = r->m.j->g;

    (void)key;
    for (int i = 0; i < r->tile * p->vectors; i++)
        sums[i] = LLVMConstNull(glow_cg_vector(g->f32, r->m.s.lanes));
    move_sums(r, p, true, sums);
}

/* Adds a block of keys from `key` on. */
static void
add_panel(row *r, const panel *p, cg_value key, cg_value *sums)
{
    cg *g = r->m.j->g;
    cg_value end =
        glow_cg_imin(g, cg_addc(g, key, block_keys(r)), cg_i64(g, r->m.s.keys));

    move_sums(r, p, false, sums);
    sum_keys(r, p, key, end, sums);
    move_sums(r, p, true, sums);
}

static void
store_panel(row *r, const panel *p, cg_value key, cg_value *sums)
{
    (void)key;
    move_sums(r, p, false, sums);
    for (int h = 0; h < r->tile; h++)
        store_sums(r, p, h, &sums[h * p->vectors]);
}

/* Calls `make` for all panels of all tiles. */
static void
for_panels(row *r, const tiles *t, cg_value key, panel_fn make)
{
    cg *g = r->m.j->g;
    cg_value sums[MOST_TILE * VECTORS];
    panel p;
    cg_loop l;

    glow_cg_loop(g, &l, t->begin, t->end, 1, NULL, 0);
    begin_tile(r, t, l.i);
    if (key)
        prefetch_rows(r, ATTENTION_V, key, block_keys(r), l.i);
    for (int64_t i = 0; next_panel(r, &i, &p);)
        make(r, &p, key, sums);
    glow_cg_loop_end(g, &l, NULL);
}

static void
sum(row *r, const tiles *t)
{
    cg *g = r->m.j->g;
    cg_loop l;

    if (r->together == 1) {
        begin_tile(r, t, t->begin);
        sum_tile(r);
        return;
    }
    for_panels(r, t, NULL, clear_panel);
    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, r->m.s.keys), block_keys(r),
                 NULL, 0);
    for_panels(r, t, l.i, add_panel);
    glow_cg_loop_end(g, &l, NULL);
    for_panels(r, t, NULL, store_panel);
}

static void
attend(row *r, const tiles *t)
{
    score(r, t);
    weigh(r, t);
    sum(r, t);
}

static void
emit(cpu_job *j)
{
    cg *g = j->g;
    sizes s = sizes_of(g->target, j->n);
    row r = {
        .m =
            {.j = j, .f = j->n->attrs, .s = s, .at = places_of(&s), .count = 1},
        .tile = tile_of(&s),
        .tiles = s.heads / tile_of(&s),
        .together = together_of(&s),
    };
    glow_type *real = GLOW_NEW(g->arena, glow_type);
    cpu_within units;
    tiles t;
    cg_loop l;

    *real = glow_type_of(GLOW_FLOAT, GLOW_DIMS_OF(1));
    r.m.work = (cg_tensor){j->scratch, real};
    r.m.row0 = r.m.first = cg_i64(g, 0);
    r.m.last = cg_i64(g, s.panels);
    r.m.batch = glow_cpu_units_within(j, &units, s.batch, r.tiles);
    t = (tiles){units.begin, units.end};
    if (r.together < r.tiles) {
        glow_cg_loop(g, &l, t.begin, t.end, r.together, NULL, 0);
        t.begin = l.i;
        t.end = glow_cg_imin(g, cg_addc(g, l.i, r.together), t.end);
    }
    attend(&r, &t);
    if (r.together < r.tiles)
        glow_cg_loop_end(g, &l, NULL);
    glow_cg_loop_end(g, &units.loop, NULL);
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    sizes s = sizes_of(t, n);

    return glow_cpu_room(places_of(&s).end, 4);
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    sizes s = sizes_of(t, n);

    return s.batch * (s.heads / tile_of(&s));
}

const cpu_kernel glow_cpu_fusedattention_row = {
    .name = "fusedattention_row",
    .op = &glow_op_fusedattention,
    .takes = takes,
    .emit = emit,
    .strides = CPU_STRIDES_IN,
    .scratch_size = scratch_size,
    .units = units_of,
};
