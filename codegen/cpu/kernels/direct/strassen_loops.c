/*
 * Loops of Strassen's algorithm within a product (strassen.h), in Winograd's form:
 *
 *     S1 = X21 + X22     T1 = W12 - W11     P = X11 W11           Y11 = P + X12 W21
 *     S2 = S1 - X11      T2 = W22 - T1      V = P + S1 T1
 *     S3 = X11 - X21     T4 = W21 - T2      U = P + S2 T2         V = V + S2 T2
 *     S4 = X12 - S2      T3 = W22 - W12     U = U + X22 T4
 *                                           Y21 = U + S3 T3       Y22 = V + S3 T3
 *                                           Y12 = V + S4 W22
 *
 *     S1 to S4, once
 *     for each pair of panels                     units: nr columns of the left half, and
 *                                                 of the right half
 *       for each kc of the depth
 *         for each of the seven products
 *           for each mr = rows of the half        the register tile of tile.c, then the
 *                                                 sums of the last column above; the first
 *                                                 also computes T, a panel of kc x nr in the
 *                                                 L1 cache, where the product has one
 *
 * So weights need no more memory than in a plain product, unlike those of the pass
 * `strassen`: the sums T are computed while a panel is in the cache.  P, U and V are strips of
 * the half's rows by nr.  Huang, Smith, Henry and van de Geijn, Strassen's algorithm
 * reloaded, SC 2016, add up the operands so, as they are packed.
 */

#include "codegen/cpu/kernels/direct/strassen.h"

#include <string.h>

#include "codegen/cpu/kernels/direct/tile.h"

#define FEW_WEIGHTS 16 /* of the cache: smaller weights may be cached */

enum { X11, X12, X22, S1, S2, S3, S4, SUMS_OF_X = 4 };
enum { W11, W21, W22, W12, T };
enum { NONE = -1, P, U, V, STRIPS, Y11 = STRIPS, Y12, Y21, Y22, TARGETS };

/* `to` becomes strip `add` plus the product. */
typedef struct target {
    int add, to;
} target;

/* A product, by T = from[0] - from[1] or by a block of weights. */
typedef struct product {
    int x, w, from[2];
    int bias; /* the half of the columns whose bias it adds, or NONE */
    target to[2];
    int targets;
} product;

static const product products[] = {
    {X11, W11, {NONE, NONE}, NONE, {{NONE, P}}, 1},
    {X12, W21, {NONE, NONE}, 0, {{P, Y11}}, 1},
    {S1, T, {W12, W11}, 1, {{P, V}}, 1},
    {S2, T, {W22, T}, NONE, {{P, U}, {V, V}}, 2},
    {X22, T, {W21, T}, 0, {{U, U}}, 1},
    {S3, T, {W22, W12}, NONE, {{U, Y21}, {V, Y22}}, 2},
    {S4, W22, {NONE, NONE}, NONE, {{V, Y12}}, 1},
};
enum { PRODUCTS = sizeof products / sizeof *products };

typedef struct maker {
    cpu_job *j;
    const cpu_strassen *s;
    int64_t pitch;                /* bytes between rows of S1 to S4 */
    cg_value sums, panel, strips; /* in the scratch: S1, T, P */
    cg_value pair;                /* the number of that at hand */
    cg_value part;                /* of the depth at hand: its number */
    int64_t depth;                /* and its length */
    bool is_last;                 /* it is the last */
} maker;

/* Sizes. */

static int64_t
vector_bytes(const cpu_strassen *s)
{
    return s->lanes * (int64_t)sizeof(float);
}

static int64_t
tile_bytes(const cpu_strassen *s)
{
    return s->tile * s->blocks * vector_bytes(s);
}

static int64_t
strip_bytes(const cpu_strassen *s)
{
    return cg_ceil_div(s->half, s->tile) * tile_bytes(s);
}

static bool
has_parts(const cpu_strassen *s)
{
    return s->part < s->depth;
}

/* An odd number of cache lines, so that rows are in different sets of the cache. */
static int64_t
pitch_of(const cpu_strassen *s)
{
    int64_t size = s->depth * (int64_t)sizeof(float);

    return (cg_ceil_div(size, CPU_LINE) | 1) * CPU_LINE;
}

static int64_t
panel_bytes(const cpu_strassen *s, int64_t depth)
{
    return depth * s->blocks * vector_bytes(s);
}

int64_t
glow_cpu_strassen_room(const cpu_strassen *s)
{
    int64_t sums = glow_cpu_room(SUMS_OF_X * s->half, pitch_of(s));
    int64_t strips = (has_parts(s) ? TARGETS : STRIPS) * strip_bytes(s);
    int64_t near = strips + panel_bytes(s, s->part), all;

    return glow_add_overflow(sums, near, &all) ? INT64_MAX : all;
}

/* Sums of blocks of X. */

/* A row of the blocks of X and of their sums. */
typedef struct row_sums {
    cg_value x[2][2];
    cg_value to;
    int64_t apart; /* bytes from S1 to S2, S2 to S3, S3 to S4 */
} row_sums;

static void
sum_lanes(cpu_job *j, cg_value at, int lanes, void *user)
{
    const row_sums *r = user;
    cg *g = j->g;
    cg_value x[2][2], s[SUMS_OF_X];

    for (int i = 0; i < 4; i++)
        x[i / 2][i % 2] = glow_cg_load(
            g, (cg_tensor){r->x[i / 2][i % 2], &glow_cpu_float}, at, lanes);
    s[0] = cg_fadd(g, x[1][0], x[1][1]);
    s[1] = cg_fsub(g, s[0], x[0][0]);
    s[2] = cg_fsub(g, x[0][0], x[1][0]);
    s[3] = cg_fsub(g, x[0][1], s[1]);
    for (int i = 0; i < SUMS_OF_X; i++)
        glow_cg_store(
            g,
            (cg_tensor){glow_cg_atc(g, r->to, i * r->apart), &glow_cpu_float},
            at, s[i]);
}

/* Address of block `row`, `column` of X. */
static cg_value
block_of(const maker *m, int row, int column)
{
    const cpu_strassen *s = m->s;
    int64_t at = row ? (s->rows - s->half) * s->sums.pixel : 0;

    at += column ? s->depth * (int64_t)sizeof(float) : 0;
    return glow_cg_atc(m->j->g, m->j->in[0].at, at);
}

static void
sum_rows(maker *m)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    row_sums r = {.apart = s->half * m->pitch};
    cg_loop rows;

    glow_cg_for(g, &rows, s->half);
    for (int i = 0; i < 4; i++) {
        cg_value block = block_of(m, i / 2, i % 2);

        r.x[i / 2][i % 2] =
            glow_cg_at(g, block, cg_mulc(g, rows.i, s->sums.pixel));
    }
    r.to = glow_cg_at(g, m->sums, cg_mulc(g, rows.i, m->pitch));
    glow_cpu_lanes_for(m->j, 0, s->depth, sum_lanes, &r);
    glow_cg_loop_end(g, &rows, NULL);
}

/* Operands of a product. */

/* Address of operand `x` of a product, and bytes between its rows. */
static cg_value
operand_of(const maker *m, int x, int64_t *step)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    cg_value at;

    *step = x < S1 ? s->sums.pixel : m->pitch;
    at = x < S1 ? block_of(m, x == X22, x != X11)
                : glow_cg_atc(g, m->sums, (x - S1) * s->half * m->pitch);
    return glow_cg_at(g, at,
                      cg_mulc(g, m->part, s->part * (int64_t)sizeof(float)));
}

/* Address of the weights of the pair at hand. */
static cg_value
pair_weights(const maker *m)
{
    cg *g = m->j->g;

    return glow_cg_at(g, m->j->packed,
                      cg_mulc(g, m->pair, strassen_pair_bytes(m->s)));
}

/* Address of the part at hand of weights `w`. */
static cg_value
weights_of(const maker *m, int w)
{
    cg *g = m->j->g;
    cg_value at;

    if (w == T)
        return m->panel;
    at = glow_cg_atc(g, pair_weights(m), w * panel_bytes(m->s, m->s->depth));
    return glow_cg_at(g, at,
                      cg_mulc(g, m->part, panel_bytes(m->s, m->s->part)));
}

/* Tiles. */

/* Rows of the half at hand, from `first` on. */
typedef struct span {
    cg_value first, number; /* of the tile */
    int rows;
} span;

static void
start(const maker *m, cg_value column, int rows, int blocks, bool biased,
      cg_value *acc)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;

    for (int b = 0; b < blocks; b++) {
        cg_value v = LLVMConstNull(glow_cg_vector(g->f32, s->lanes));

        if (biased && s->sums.bias >= 0)
            v = glow_cg_load(g, m->j->in[s->sums.bias],
                             cg_addc(g, column, b * s->lanes), s->lanes);
        for (int r = 0; r < rows; r++)
            acc[r * blocks + b] = v;
    }
}

/* The register tile of rows that are `step` bytes apart. */
static cpu_tile
tile_of(const maker *m, int64_t step, int64_t depth, int blocks)
{
    const cpu_strassen *s = m->s;
    int unit = m->j->g->target->unroll;

    return (cpu_tile){
        .type = &glow_cpu_float,
        .blocks = blocks,
        .lanes = s->lanes,
        .last = s->lanes,
        .taps = 1,
        .unit = depth < unit ? 1 : unit,
        .depth = depth,
        .row_step = step,
        .w_depth = blocks * vector_bytes(s),
        .w_block = vector_bytes(s),
    };
}

static void
multiply(const maker *m, const cpu_tile *t, int rows, cg_value x, cg_value w,
         cpu_ahead ahead, cg_value *acc)
{
    cg *g = m->j->g;
    bool valid[CG_MAX_CARRIED];

    memset(valid, true, sizeof valid);
    glow_cpu_emit_tile(g, t, rows, valid, x, w, ahead, cg_i64(g, 0),
                       cg_i64(g, 1), false, acc);
}

/* Address of strip `strip` at a tile. */
static cg_value
strip_at(const maker *m, int strip, const span *at)
{
    cg *g = m->j->g;
    cg_value to = glow_cg_atc(g, m->strips, strip * strip_bytes(m->s));

    return glow_cg_at(g, to, cg_mulc(g, at->number, tile_bytes(m->s)));
}

static void
add_strip(maker *m, int strip, const span *at, cg_value *acc)
{
    cg *g = m->j->g;
    cg_value from = strip_at(m, strip, at);

    for (int i = 0; i < at->rows * m->s->blocks; i++)
        acc[i] = cg_fadd(
            g, acc[i],
            glow_cg_load_raw(g, LLVMTypeOf(acc[i]),
                             glow_cg_atc(g, from, i * vector_bytes(m->s))));
}

static void
keep_strip(maker *m, int strip, const span *at, cg_value const *acc)
{
    cg *g = m->j->g;
    cg_value to = strip_at(m, strip, at);

    for (int i = 0; i < at->rows * m->s->blocks; i++)
        glow_cg_store_raw(g, acc[i],
                          glow_cg_atc(g, to, i * vector_bytes(m->s)));
}

/* The first column of the pair at hand, in the left or the right half. */
static cg_value
left_of(const maker *m, bool is_right)
{
    cg *g = m->j->g;

    return cg_addc(g, cg_mulc(g, m->pair, strassen_panel(m->s)),
                   is_right ? m->s->columns : 0);
}

/* The place in the result of the first row of a tile of block `y`. */
static cpu_place
place_of(const maker *m, int y, const span *at)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    bool is_low = y == Y21 || y == Y22, is_right = y == Y12 || y == Y22;

    return (cpu_place){
        .row = cg_addc(g, at->first, is_low ? s->rows - s->half : 0),
        .col = left_of(m, is_right)};
}

/* Finishes the results of a tile; until the last part of the depth keeps them. */
static void
give(maker *m, int y, const span *at, cg_value *acc)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    cpu_place place = place_of(m, y, at);

    if (!m->is_last) {
        cg_value kept[CG_MAX_CARRIED];
        cg_if first, later;

        glow_cg_if(g, &first, cg_icmp(g, LLVMIntEQ, m->part, cg_i64(g, 0)));
        keep_strip(m, y, at, acc);
        glow_cg_end_if(g, &first);
        glow_cg_if(g, &later, cg_icmp(g, LLVMIntNE, m->part, cg_i64(g, 0)));
        memcpy(kept, acc, sizeof kept);
        add_strip(m, y, at, kept);
        keep_strip(m, y, at, kept);
        glow_cg_end_if(g, &later);
        return;
    }
    if (has_parts(s))
        add_strip(m, y, at, acc);
    for (int i = 0; i < at->rows * s->blocks; i++) {
        place.row_plus = i / s->blocks;
        place.col_plus = i % s->blocks * s->lanes;
        glow_cpu_finish(m->j, place, acc[i]);
    }
}

/*
 * Has tile `at` prefetch its share of the weights that the product reads of the next pair,
 * where no cache holds all weights; returns their address.
 */
static cg_value
plan_ahead(maker *m, const product *p, const span *at, cpu_tile *t)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t panel = panel_bytes(s, m->depth);
    int64_t tiles = cg_ceil_div(s->half, s->tile), share;
    cg_value number, next;

    if (strassen_pairs(s) * strassen_pair_bytes(s) <=
        g->target->cache_bytes / FEW_WEIGHTS)
        return NULL;
    t->ahead = glow_cpu_tile_ahead(t, panel, tiles);
    share = t->ahead * CPU_LINE * glow_cpu_tile_chunks(t);
    number = glow_cg_imin(g, at->number, cg_i64(g, panel / share));
    next = glow_cg_atc(g, weights_of(m, p->w == T ? p->from[0] : p->w),
                       strassen_pair_bytes(s));
    return glow_cg_at(g, next, cg_mulc(g, number, share));
}

/* A tile; the first of a product by T computes T. */
static void
make_tile(maker *m, const product *p, const span *at, bool is_first)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    cpu_tile t = tile_of(m, 0, m->depth, s->blocks);
    cpu_ahead ahead = {NULL, NULL};
    cg_value x = operand_of(m, p->x, &t.row_step), w = weights_of(m, p->w);
    cg_value acc[CG_MAX_CARRIED];

    ahead.weights = plan_ahead(m, p, at, &t);
    for (int i = 0; i < p->targets && m->is_last; i++)
        if (p->to[i].to >= Y11)
            glow_cpu_prefetch(m->j, place_of(m, p->to[i].to, at), at->rows, 1,
                              strassen_panel(s), g->target->cache_bytes);
    start(m, left_of(m, p->bias == 1), at->rows, s->blocks,
          m->is_last && p->bias != NONE, acc);
    x = glow_cg_at(g, x, cg_mulc(g, at->first, t.row_step));
    if (p->w == T && is_first) {
        t.difference = w;
        w = weights_of(m, p->from[0]);
        t.minus = weights_of(m, p->from[1]);
    }
    multiply(m, &t, at->rows, x, w, ahead, acc);
    for (int i = 0; i < p->targets; i++) {
        const target *to = &p->to[i];
        cg_value sum[CG_MAX_CARRIED];

        memcpy(sum, acc, sizeof sum);
        if (to->add != NONE)
            add_strip(m, to->add, at, sum);
        if (to->to < STRIPS)
            keep_strip(m, to->to, at, sum);
        else
            give(m, to->to, at, sum);
    }
}

static bool
is_upper(const product *p)
{
    return p->to[0].to == Y11 || p->to[0].to == Y12;
}

static void
make_product(maker *m, const product *p)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t rows = is_upper(p) ? s->rows - s->half : s->half;
    int64_t whole = rows / s->tile, first = p->w == T;
    int rest = (int)(rows % s->tile);
    cg_loop l;

    if (first)
        make_tile(m, p, &(span){cg_i64(g, 0), cg_i64(g, 0), s->tile}, true);
    if (whole > first) {
        glow_cg_loop(g, &l, cg_i64(g, first), cg_i64(g, whole), 1, NULL, 0);
        make_tile(m, p, &(span){cg_mulc(g, l.i, s->tile), l.i, s->tile}, false);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (rest)
        make_tile(m, p,
                  &(span){cg_i64(g, whole * s->tile), cg_i64(g, whole), rest},
                  false);
}

/* All products of the pair at hand, for part `part` of the depth. */
static void
make_part(maker *m, cg_value part, int64_t depth, bool is_last)
{
    m->part = part;
    m->depth = depth;
    m->is_last = is_last;
    for (int i = 0; i < PRODUCTS; i++)
        make_product(m, &products[i]);
}

static void
make_pair(maker *m, cg_value pair)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t whole = (s->depth - 1) / s->part;
    cg_loop l;

    m->pair = pair;
    if (whole) {
        glow_cg_for(g, &l, whole);
        make_part(m, l.i, s->part, false);
        glow_cg_loop_end(g, &l, NULL);
    }
    make_part(m, cg_i64(g, whole), s->depth - whole * s->part, true);
}

/* The last columns. */

/* Finishes the results of a tile of which the last vector has `last` lanes. */
static void
finish_rest(maker *m, cpu_place at, int rows, int blocks, int last,
            cg_value const *acc)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;

    for (int i = 0; i < rows * blocks; i++) {
        bool whole = i % blocks < blocks - 1 || last == s->lanes;
        cg_value v = whole ? acc[i] : glow_cg_first(g, acc[i], last);

        at.row_plus = i / blocks;
        at.col_plus = i % blocks * s->lanes;
        if (s->sums.bias >= 0)
            v = cg_fadd(g, v,
                        glow_cg_load(g, m->j->in[s->sums.bias],
                                     cg_addc(g, at.col, at.col_plus),
                                     whole ? s->lanes : last));
        glow_cpu_finish(m->j, at, v);
    }
}

/* Panel `i` of the last columns, whose weights begin at byte `from`. */
static void
make_rest_panel(maker *m, int64_t i, int64_t from)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int blocks = strassen_rest_blocks(s, i);
    int64_t column = 2 * s->columns + i * strassen_panel(s);
    int64_t end = 2 * s->columns + s->rest;
    int last = (int)(end - column - (blocks - 1) * s->lanes);
    int64_t whole = s->rows / s->tile;
    int rest = (int)(s->rows % s->tile);
    cg_value w = glow_cg_atc(g, m->j->packed, from);
    cpu_tile t = tile_of(m, s->sums.pixel, 2 * s->depth, blocks);

    last = last < s->lanes ? last : s->lanes;
    for (int k = 0; k < 2; k++) {
        int rows = k ? rest : s->tile;
        cg_value acc[CG_MAX_CARRIED], row, x;
        cg_loop l;

        if (k ? !rest : !whole)
            continue;
        glow_cg_for(g, &l, k ? 1 : whole);
        row = cg_addc(g, cg_mulc(g, l.i, s->tile), k ? whole * s->tile : 0);
        x = glow_cg_at(g, m->j->in[0].at, cg_mulc(g, row, s->sums.pixel));
        start(m, NULL, rows, blocks, false, acc);
        multiply(m, &t, rows, x, w, (cpu_ahead){NULL, NULL}, acc);
        finish_rest(m, (cpu_place){.row = row, .col = cg_i64(g, column)}, rows,
                    blocks, last, acc);
        glow_cg_loop_end(g, &l, NULL);
    }
}

static void
make_rest(maker *m)
{
    const cpu_strassen *s = m->s;
    int64_t from = strassen_pairs(s) * strassen_pair_bytes(s);

    for (int64_t i = 0; i * strassen_panel(s) < s->rest; i++) {
        make_rest_panel(m, i, from);
        from += 2 * s->depth * strassen_rest_blocks(s, i) * vector_bytes(s);
    }
}

void
glow_cpu_emit_strassen(cpu_job *j, const cpu_strassen *s)
{
    cg *g = j->g;
    maker m = {.j = j, .s = s, .pitch = pitch_of(s), .sums = j->scratch};
    int64_t pairs = strassen_pairs(s);
    cg_value end = glow_cg_imin(g, j->end, cg_i64(g, pairs));
    cg_loop l;
    cg_if last;

    m.panel = glow_cg_atc(g, m.sums, SUMS_OF_X * s->half * m.pitch);
    m.strips = glow_cg_atc(g, m.panel, panel_bytes(s, s->part));
    sum_rows(&m);
    glow_cg_loop_guarded(g, &l, j->begin, end, 1, NULL, 0);
    make_pair(&m, l.i);
    glow_cg_loop_end(g, &l, NULL);
    if (!s->rest)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, j->end, cg_i64(g, pairs)));
    make_rest(&m);
    glow_cg_end_if(g, &last);
}
