/*
 * The products of Winograd's convolution: at each point transformed tiles times
 * transformed weights, by register tiles.
 *
 *     for each point
 *       for each nr = vectors * lanes of output channels     a panel of weights
 *         for each mr tiles of the block                     tails: fewer, in powers
 *           mr x vectors sums over the input channels        of two if not known
 */

#include <string.h>

#include "codegen/cpu/kernels/direct/narrow.h"
#include "codegen/cpu/kernels/direct/tile.h"
#include "codegen/cpu/kernels/winograd/make.h"

typedef cpu_winograd_maker maker;

/* The matrix product at one point. */
typedef struct product {
    cg_value in, weights, out; /* of the point; weights also of the group */
    cg_value tiles;            /* of the block */
    cpu_tile tile;
} product;

static int64_t
weights_of(const maker *m, int blocks)
{
    return m->w.channels * blocks * m->p.lanes * 4;
}

/* `rows` tiles from number `first` on. */
static void
make_rows(maker *m, const product *x, int rows, cg_value first)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const cpu_tile *t = &x->tile;
    int64_t share = t->ahead * CPU_LINE * glow_cpu_tile_chunks(t);
    cg_value acc[CG_MAX_CARRIED], in, out;
    cpu_ahead ahead = {NULL, NULL};
    bool valid[CG_MAX_CARRIED];

    for (int i = 0; i < rows * t->blocks; i++)
        acc[i] = LLVMConstNull(glow_cg_vector(g->f32, t->lanes));
    memset(valid, true, sizeof(valid));
    in = glow_cg_at(g, x->in, cg_mulc(g, first, w->in_pitch));
    out = glow_cg_at(g, x->out, cg_mulc(g, first, w->out_pitch));
    if (t->ahead) {
        cg_value number =
            LLVMBuildSDiv(g->builder, first, cg_i64(g, m->p.rows), "");

        ahead.weights = glow_cg_at(
            g, x->weights,
            cg_addc(g, cg_mulc(g, number, share), weights_of(m, t->blocks)));
    }
    glow_cpu_emit_tile(g, t, rows, valid, in, x->weights, ahead, cg_i64(g, 0),
                       cg_i64(g, 1), false, acc);
    for (int r = 0; r < rows; r++)
        for (int b = 0; b < t->blocks; b++)
            glow_cg_store_raw(
                g, acc[r * t->blocks + b],
                glow_cg_atc(g, out, r * w->out_pitch + b * t->lanes * 4));
}

/*
 * Sets `sizes` to the numbers of tiles that blocks have, the greatest first;
 * returns how many there are, 1 or 2.
 */
static int
block_sizes(const cpu_winograd *w, int64_t sizes[2])
{
    sizes[0] = w->block;
    sizes[1] = glow_cpu_winograd_tiles(w) % w->block;
    return sizes[1] ? 2 : 1;
}

/*
 * A tail of `left` tiles, known at run time: a register tile for each bit set
 * in `left`.
 */
static void
make_any_rest(maker *m, const product *x, cg_value first, cg_value left)
{
    cg *g = m->j->g;
    int rows = 1;

    while (2 * rows < m->p.rows)
        rows *= 2;
    for (; rows > 0; rows /= 2) {
        cg_value part = cg_and(g, left, cg_i64(g, rows));
        cg_if s;

        glow_cg_if(g, &s, cg_icmp(g, LLVMIntNE, part, cg_i64(g, 0)));
        make_rows(m, x, rows, first);
        glow_cg_end_if(g, &s);
        first = cg_add(g, first, part);
    }
}

/* True if the number of tiles of a block is known only at run time. */
static bool
any_size(const maker *m)
{
    return m->j->split && !glow_cpu_winograd_by_outputs(m->j->g->target, &m->w);
}

/* The tail of a block after `whole` full register tiles. */
static void
make_rests(maker *m, const product *x, cg_value whole)
{
    cg *g = m->j->g;
    cg_value first = cg_mulc(g, whole, m->p.rows);
    cg_value left = cg_sub(g, x->tiles, first);
    int64_t sizes[2];
    int n = block_sizes(&m->w, sizes);

    if (any_size(m)) {
        make_any_rest(m, x, first, left);
        return;
    }
    for (int i = 0; i < n; i++) {
        int rest = (int)(sizes[i] % m->p.rows);
        bool known = rest == 0;
        cg_if s;

        for (int k = 0; k < i; k++)
            known = known || sizes[k] % m->p.rows == rest;
        if (known)
            continue;
        glow_cg_if(g, &s, cg_icmp(g, LLVMIntEQ, left, cg_i64(g, rest)));
        make_rows(m, x, rest, first);
        glow_cg_end_if(g, &s);
    }
}

/* The `count` groups of `blocks` vectors of outputs from number `from` on. */
static void
make_outputs(maker *m, product *x, int64_t from, int64_t count, int blocks)
{
    cg *g = m->j->g;
    product of = *x;
    int64_t lanes = m->p.lanes * 4;
    cg_value whole =
        LLVMBuildSDiv(g->builder, x->tiles, cg_i64(g, m->p.rows), "");
    cg_loop outputs, tiles;

    if (!count)
        return;
    of.tile.blocks = blocks;
    of.tile.w_depth = blocks * lanes;
    of.tile.ahead = glow_cpu_tile_ahead(&of.tile, weights_of(m, blocks),
                                        cg_ceil_div(m->w.block, m->p.rows));

    cg_value begin = glow_cg_imax(g, m->output0, cg_i64(g, from));
    cg_value end = glow_cg_imin(g, m->output1, cg_i64(g, from + count));

    glow_cg_loop_guarded(g, &outputs, begin, end, 1, NULL, 0);
    of.out = glow_cg_at(g, x->out, cg_mulc(g, outputs.i, m->p.blocks * lanes));
    of.weights = glow_cg_at(g, x->weights,
                            cg_mulc(g, outputs.i, weights_of(m, m->p.blocks)));
    glow_cg_loop_guarded(g, &tiles, cg_i64(g, 0), whole, 1, NULL, 0);
    make_rows(m, &of, m->p.rows, cg_mulc(g, tiles.i, m->p.rows));
    glow_cg_loop_end(g, &tiles, NULL);
    make_rests(m, &of, whole);
    glow_cg_loop_end(g, &outputs, NULL);
}

void
glow_cpu_winograd_products(maker *m)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const cpu_product *p = &m->p;
    int64_t vectors = p->full * p->blocks + p->rest, sizes[2];
    cg_loop points;
    product x = {
        .tile = {.type = &glow_cpu_float,
                 .lanes = p->lanes,
                 .last = p->lanes,
                 .taps = 1,
                 .unit = m->j->g->target->unroll,
                 .depth = w->channels,
                 .row_step = w->in_pitch,
                 .w_block = p->lanes * 4},
        .tiles = cg_sub(g, m->tile1, m->tile0),
    };

    if (block_sizes(w, sizes) == 1 && !any_size(m))
        x.tiles = cg_i64(g, sizes[0]);
    glow_cg_for(g, &points, glow_cpu_winograd_points(w));
    x.in = glow_cg_at(g, m->v, cg_mulc(g, points.i, w->in_plane));
    x.out = glow_cg_at(g, m->products, cg_mulc(g, points.i, w->out_plane));
    x.weights = glow_cg_at(g, m->weights,
                           cg_mulc(g, points.i, weights_of(m, (int)vectors)));
    make_outputs(m, &x, 0, p->full, p->blocks);
    make_outputs(m, &x, p->full, p->rest > 0, p->rest);
    glow_cg_loop_end(g, &points, NULL);
}
