/*
 * Loops of Strassen's algorithm within a product (strassen.h), in Winograd's form:
 *
 *     M0 = X11 W11      S1 = X21 + X22     T1 = W12 - W11     U = M0 + M3
 *     M1 = X12 W21      S2 = S1 - X11      T2 = W22 - T1      V = U + M2
 *     M2 = S1 T1        S3 = X11 - X21     T3 = W22 - W12     Y11 = M0 + M1
 *     M3 = S2 T2        S4 = X12 - S2      T4 = W21 - T2      Y12 = V + M6
 *     M4 = X22 T4                                             Y21 = U + M4 + M5
 *     M5 = S3 T3                                              Y22 = V + M5
 *     M6 = S4 W22
 *
 *     the operands X11 to S4 of all products, once
 *     for each group: a panel of the columns    units: groups, and the last columns
 *     of each block
 *       for each kc of the depth
 *         for each product of level 1           of two levels; T of level 1 first
 *           for each of the seven products
 *             for each mr = rows of the block   the register tile of tile.c; the first of a
 *                                               product by T computes T, a panel of kc x nr
 *                                               in the L1 cache
 *           sums of the results of level 2      to strips of level 1
 *       sums of the results of level 1          and what follows the product
 *
 * So weights need no more memory than in a plain product: the sums T are computed while a panel
 * is in the cache.  The results of a product are strips of its rows by the columns of a group.  Huang, Smith, Henry and van de Geijn,
 * Strassen's algorithm reloaded, SC 2016, add up the operands so, as they are packed.
 *
 * One code of a tile does for all products: which operands are theirs is read from tables.
 */

#include "codegen/cpu/kernels/direct/strassen.h"

#include <string.h>

#include "codegen/cpu/kernels/direct/tile.h"

#define FEW_WEIGHTS 16 /* of the cache: smaller weights may be cached */

/* Blocks of weights, as strassen_block_row and strassen_block_column place them; T. */
enum { W11, W21, W12, W22, T };

/* The weights of each product: those that T is the difference of, or a block. */
static const int64_t first_of[CPU_PRODUCTS] = {W11, W21, W12, W22,
                                               W21, W22, W22};
static const int64_t minus_of[CPU_PRODUCTS] = {T, T, W11, T, T, W12, T};
/* Differences that the first tile makes: of no T of level 1, or with one. */
static const int64_t plain_less[CPU_PRODUCTS] = {0, 0, 1, 1, 1, 1, 0};
static const int64_t outer_less[CPU_PRODUCTS] = {1, 1, 2, 2, 1, 1, 0};
/* The block of weights that is prefetched meanwhile: for the next product; 4: of the next part. */
static const int64_t ahead_of[CPU_PRODUCTS] = {1, 2, 3, 1, 2, 4, 4};

/* Parts of the scratch: strips and T of each level. */
typedef struct areas {
    cg_value operands;
    cg_value strips[CPU_MOST_LEVELS + 1], sums[CPU_MOST_LEVELS + 1];
} areas;

typedef struct maker {
    cpu_job *j;
    const cpu_strassen *s;
    areas at;
    cg_value first, minus, plain, less, ahead; /* the tables */
    cg_value group;
    cg_value part; /* of the depth at hand: its number */
    int64_t depth; /* and its length */
    /* Of two levels: the product of level 1, and whether its weights are T; these blocks; and
       those that T is the difference of. */
    cg_value outer, is_outer, weights, from, minus_from;
} maker;

static bool
has_parts(const cpu_strassen *s)
{
    return s->part < s->depth;
}

/* Bytes of T of level `l`: a panel for each of the blocks of a block. */
static int64_t
sums_bytes(const cpu_strassen *s, int l)
{
    int64_t panels = l == s->levels ? 1 : CPU_BLOCKS;

    return strassen_odd(panels * strassen_panel_bytes(s, s->part));
}

int64_t
glow_cpu_strassen_room(const cpu_strassen *s)
{
    int64_t all = glow_cpu_room(strassen_parts(s), strassen_operands_bytes(s));

    for (int l = 1; l <= s->levels; l++) {
        int64_t near = CPU_PRODUCTS * strassen_strip_bytes(s, l);

        if (glow_add_overflow(all, near + sums_bytes(s, l), &all))
            return INT64_MAX;
    }
    return all;
}

static areas
areas_of(cpu_job *j, const cpu_strassen *s)
{
    cg *g = j->g;
    areas a = {.operands = j->scratch};
    cg_value at = glow_cg_atc(g, a.operands,
                              strassen_parts(s) * strassen_operands_bytes(s));

    for (int l = 1; l <= s->levels; l++) {
        a.strips[l] = at;
        at = glow_cg_atc(g, at, CPU_PRODUCTS * strassen_strip_bytes(s, l));
        a.sums[l] = at;
        at = glow_cg_atc(g, at, sums_bytes(s, l));
    }
    return a;
}

static cg_value
table_at(const maker *m, cg_value table, cg_value product)
{
    return glow_cpu_table_at(m->j->g, m->j->g->i64, table, product);
}

static cg_value
is_equal(const maker *m, cg_value i, int64_t k)
{
    return cg_icmp(m->j->g, LLVMIntEQ, i, cg_i64(m->j->g, k));
}

/* Weights. */

/* Address of the part at hand of the weights of the group at hand. */
static cg_value
part_weights(const maker *m)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t part = strassen_all_blocks(s) * strassen_panel_bytes(s, s->part);
    cg_value at =
        cg_affine(g, m->group, strassen_group_bytes(s), m->part, part);

    return glow_cg_at(g, m->j->packed, at);
}

/* Block `block`, of `bytes`, of those at `from`, or `sums` where it is T. */
static cg_value
block_or_sums(const maker *m, cg_value from, cg_value block, int64_t bytes,
              cg_value sums)
{
    cg *g = m->j->g;
    cg_value is_sums = is_equal(m, block, T);

    from = glow_cg_at(g, from, cg_mulc(g, block, bytes));
    return cg_select(g, is_sums, sums, from);
}

/* Finds the weights of product `outer` of level 1. */
static void
set_outer(maker *m, cg_value outer)
{
    cg *g = m->j->g;
    int64_t bytes = CPU_BLOCKS * strassen_panel_bytes(m->s, m->depth);
    cg_value from = part_weights(m), sums = m->at.sums[1];

    m->outer = outer;
    m->is_outer = LLVMBuildNot(
        g->builder, is_equal(m, table_at(m, m->plain, outer), 0), "");
    m->from = block_or_sums(m, from, table_at(m, m->first, outer), bytes, sums);
    m->minus_from =
        block_or_sums(m, from, table_at(m, m->minus, outer), bytes, sums);
    m->weights = cg_select(g, m->is_outer, sums, m->from);
}

/* Tiles. */

/* A product at hand: its number, operand, weights, results, and weights to prefetch. */
typedef struct product {
    cg_value number, x, w, strip, ahead;
    /* Differences that the first tile makes of `from`: of two levels the first of these by
       itself, or both. */
    cg_value count, from;
    cpu_difference less[CPU_MOST_LESS];
    cpu_tile tile;
} product;

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
        .w_depth = blocks * strassen_vector(s),
        .w_block = strassen_vector(s),
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

/*
 * Lines of operands that each chunk prefetches, where the core's cache does not hold all of
 * them: those of the next tile lie behind those of this one.
 */
static int
input_ahead(const maker *m, const cpu_tile *t)
{
    const cpu_strassen *s = m->s;
    int64_t bytes = s->tile * strassen_pitch(s);

    if (strassen_parts(s) * strassen_operands_bytes(s) <=
        m->j->g->target->cache_bytes / 2)
        return 0;
    bytes = cg_ceil_div(bytes, CPU_LINE * glow_cpu_tile_chunks(t));
    return bytes < CPU_MOST_AHEAD ? (int)bytes : CPU_MOST_AHEAD;
}

static void
start(const maker *m, int count, cg_value *acc)
{
    cg *g = m->j->g;

    for (int i = 0; i < count; i++)
        acc[i] = LLVMConstNull(glow_cg_vector(g->f32, m->s->lanes));
}

/* True if strips of the last level get the sums of several parts. */
static bool
adds_up(const cpu_strassen *s)
{
    return has_parts(s) && s->levels == 1;
}

/* Tile `number` of a product, which makes `n_less` differences. */
static void
make_tile(maker *m, const product *p, cg_value number, int rows, int n_less)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t vector = strassen_vector(s), share;
    cpu_tile t = p->tile;
    cpu_ahead ahead = {NULL, NULL};
    cg_value row = cg_mulc(g, number, s->tile), strip, x;
    cg_value acc[CG_MAX_CARRIED];

    t.n_less = n_less;
    memcpy(t.less, p->less, sizeof t.less);
    t.input_ahead = input_ahead(m, &t);
    share = t.ahead * CPU_LINE * glow_cpu_tile_chunks(&t);
    if (t.ahead)
        ahead.weights = glow_cg_at(g, p->ahead, cg_mulc(g, number, share));
    x = glow_cg_at(g, p->x, cg_mulc(g, row, t.row_step));
    ahead.input = glow_cg_atc(g, x, rows * t.row_step);
    start(m, rows * s->blocks, acc);
    multiply(m, &t, rows, x, n_less ? p->from : p->w, ahead, acc);
    strip = glow_cg_at(g, p->strip,
                       cg_mulc(g, row, strassen_strip_row(s, s->levels)));
    for (int i = 0; i < rows * s->blocks; i++) {
        cg_value to = glow_cg_atc(g, strip, i * vector);

        if (adds_up(s))
            acc[i] =
                cg_fadd(g, acc[i], glow_cg_load_raw(g, LLVMTypeOf(acc[i]), to));
        glow_cg_store_raw(g, acc[i], to);
    }
}

static void
make_tiles(maker *m, const product *p)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t whole = strassen_rows(s) / s->tile;
    int rest = (int)(strassen_rows(s) % s->tile);
    cg_value is_plain = is_equal(m, p->count, 0);
    cg_loop l;

    for (int k = 1; k <= s->levels; k++) {
        cg_if i;

        glow_cg_if(g, &i, is_equal(m, p->count, k));
        make_tile(m, p, cg_i64(g, 0), s->tile, k);
        glow_cg_end_if(g, &i);
    }
    glow_cg_loop_guarded(g, &l,
                         cg_select(g, is_plain, cg_i64(g, 0), cg_i64(g, 1)),
                         cg_i64(g, whole), 1, NULL, 0);
    make_tile(m, p, l.i, s->tile, 0);
    glow_cg_loop_end(g, &l, NULL);
    if (rest)
        make_tile(m, p, cg_i64(g, whole), rest, 0);
}

/*
 * Has the tiles of a product prefetch weights, where no cache holds all of them: of one
 * level the next block; of two a share of it.
 */
static void
plan_ahead(maker *m, product *p)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t tiles = cg_ceil_div(strassen_rows(s), s->tile), share;
    int64_t block = strassen_panel_bytes(s, m->depth);
    cg_value at = s->levels == 1 ? p->number : m->outer;

    if (strassen_groups(s) * strassen_group_bytes(s) <=
        g->target->cache_bytes / FEW_WEIGHTS)
        return;
    if (s->levels == 2) {
        block *= CPU_BLOCKS;
        tiles *= CPU_PRODUCTS;
    }
    p->tile.ahead = glow_cpu_tile_ahead(&p->tile, block, tiles);
    at = cg_mulc(g, table_at(m, m->ahead, at), block);
    p->ahead = part_weights(m);
    p->ahead = glow_cg_at(g, p->ahead, at);
    if (s->levels == 1)
        return;
    share = p->tile.ahead * CPU_LINE * glow_cpu_tile_chunks(&p->tile) * tiles /
            CPU_PRODUCTS;
    p->ahead = glow_cg_at(g, p->ahead, cg_mulc(g, p->number, share));
}

/* Sets what T of a product is made of, where its weights are blocks at `w`. */
static void
plan_sums(const maker *m, product *p, cg_value w)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t panel = strassen_panel_bytes(s, m->depth);
    cg_value sums = m->at.sums[s->levels], fresh, at;
    cg_value block = table_at(m, m->first, p->number);
    cg_value count = table_at(m, m->plain, p->number);
    cg_value is_plain = is_equal(m, count, 0);

    p->count = count;
    p->from = block_or_sums(m, w, block, panel, sums);
    p->w = cg_select(g, is_plain, p->from, sums);
    p->less[0] = (cpu_difference){
        block_or_sums(m, w, table_at(m, m->minus, p->number), panel, sums),
        sums};
    if (s->levels == 1)
        return;
    /* The first four products by T of level 1 make a block of it each. */
    at = cg_mulc(g, block, panel);
    fresh = cg_icmp(g, LLVMIntULT, p->number, cg_i64(g, CPU_BLOCKS));
    fresh = cg_and(g, fresh, m->is_outer);
    p->count =
        cg_select(g, m->is_outer, table_at(m, m->less, p->number), count);
    p->from = cg_select(g, fresh, glow_cg_at(g, m->from, at), p->from);
    p->less[1] = p->less[0];
    p->less[0].minus =
        cg_select(g, fresh, glow_cg_at(g, m->minus_from, at), p->less[1].minus);
    p->less[0].to = cg_select(g, fresh, glow_cg_at(g, m->at.sums[1], at), sums);
}

/* Product `number` by the blocks of weights at `w`. */
static void
make_product(maker *m, cg_value number, cg_value w)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    cg_value operand = number;
    product p = {.number = number,
                 .tile = tile_of(m, strassen_pitch(s), m->depth, s->blocks)};

    plan_ahead(m, &p);
    plan_sums(m, &p, w);
    if (s->levels == 2)
        operand = cg_add(g, operand, cg_mulc(g, m->outer, CPU_PRODUCTS));
    p.x = glow_cg_at(g, m->at.operands,
                     cg_affine(g, operand, strassen_operand_bytes(s), m->part,
                               strassen_operands_bytes(s)));
    p.strip =
        glow_cg_at(g, m->at.strips[s->levels],
                   cg_mulc(g, number, strassen_strip_bytes(s, s->levels)));
    make_tiles(m, &p);
}

/* The seven products of a block of weights at `w`. */
static void
make_products(maker *m, cg_value w)
{
    cg_loop l;

    glow_cg_for(m->j->g, &l, CPU_PRODUCTS);
    make_product(m, l.i, w);
    glow_cg_loop_end(m->j->g, &l, NULL);
}

/* All products of the group at hand, for part `part` of the depth. */
static void
make_part(maker *m, cg_value part, int64_t depth)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    cg_value to;
    cg_loop l;

    m->part = part;
    m->depth = depth;
    if (s->levels == 1) {
        make_products(m, part_weights(m));
        return;
    }
    glow_cg_for(g, &l, CPU_PRODUCTS);
    set_outer(m, l.i);
    make_products(m, m->weights);
    to = glow_cg_at(g, m->at.strips[1],
                    cg_mulc(g, l.i, strassen_strip_bytes(s, 1)));
    glow_cpu_strassen_combine(m->j, s, m->at.strips[2], to, has_parts(s));
    glow_cg_loop_end(g, &l, NULL);
}

/* Zeros in the strips of level 1, which the parts of the depth add to. */
static void
clear(const maker *m)
{
    cg *g = m->j->g;
    cg_value zero = LLVMConstNull(glow_cg_vector(g->f32, m->s->lanes));
    int64_t bytes = CPU_PRODUCTS * strassen_strip_bytes(m->s, 1);
    cg_loop l;

    if (!has_parts(m->s))
        return;
    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, bytes), strassen_vector(m->s),
                 NULL, 0);
    glow_cg_store_raw(g, zero, glow_cg_at(g, m->at.strips[1], l.i));
    glow_cg_loop_end(g, &l, NULL);
}

static void
make_group(maker *m, cg_value group)
{
    cg *g = m->j->g;
    const cpu_strassen *s = m->s;
    int64_t whole = s->depth / s->part, rest = s->depth % s->part;
    cg_loop l;

    m->group = group;
    clear(m);
    glow_cg_for(g, &l, whole);
    make_part(m, l.i, s->part);
    glow_cg_loop_end(g, &l, NULL);
    if (rest)
        make_part(m, cg_i64(g, whole), rest);
    glow_cpu_strassen_finish(m->j, s, m->at.strips[1], group);
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
    int64_t column = (s->columns << s->levels) + i * strassen_panel(s);
    int64_t end = (s->columns << s->levels) + s->rest;
    int last = (int)(end - column - (blocks - 1) * s->lanes);
    int64_t whole = s->rows[0] / s->tile;
    int rest = (int)(s->rows[0] % s->tile);
    cg_value w = glow_cg_atc(g, m->j->packed, from);
    cpu_tile t = tile_of(m, s->sums.pixel, s->depth << s->levels, blocks);

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
        start(m, rows * blocks, acc);
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
    int64_t from = strassen_groups(s) * strassen_group_bytes(s);

    for (int64_t i = 0; i * strassen_panel(s) < s->rest; i++) {
        make_rest_panel(m, i, from);
        from += (s->depth << s->levels) * strassen_rest_blocks(s, i) *
                strassen_vector(s);
    }
}

void
glow_cpu_emit_strassen(cpu_job *j, const cpu_strassen *s)
{
    cg *g = j->g;
    maker m = {.j = j, .s = s, .at = areas_of(j, s)};
    int64_t groups = strassen_groups(s);
    cg_value end = glow_cg_imin(g, j->end, cg_i64(g, groups));
    cg_loop l;
    cg_if last;

    m.first = glow_cpu_table(g, first_of, CPU_PRODUCTS);
    m.minus = glow_cpu_table(g, minus_of, CPU_PRODUCTS);
    m.plain = glow_cpu_table(g, plain_less, CPU_PRODUCTS);
    m.less = glow_cpu_table(g, outer_less, CPU_PRODUCTS);
    m.ahead = glow_cpu_table(g, ahead_of, CPU_PRODUCTS);
    glow_cpu_strassen_operands(j, s, m.at.operands);
    glow_cg_loop_guarded(g, &l, j->begin, end, 1, NULL, 0);
    make_group(&m, l.i);
    glow_cg_loop_end(g, &l, NULL);
    if (!s->rest)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, j->end, cg_i64(g, groups)));
    make_rest(&m);
    glow_cg_end_if(g, &last);
}
