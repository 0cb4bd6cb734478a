/*
 * The input transform of Winograd's convolution in integers, B' x B, of vectors of
 * channels in 16 bits.
 *
 *     for each row of tiles of the block
 *       for each vector of channels
 *         for each tile, from left to right
 *           columns   B' of the columns of pixels, of which the first n - m are those
 *                     that the tile before it has made, in registers
 *           lines     B' of the lines of these, stored to their points
 *
 * In F(4) a tile has 4 new columns of 6, in F(2) 2 of 4.  A column of pads is a constant,
 * so that it is not 0 at point 1 alone; a line of pads is read from scratch.
 */

#include "codegen/cpu/kernels/winograd/integer.h"

/* Vectors of channels of a row of tiles. */
typedef struct row {
    const cpu_winograd_maker *m;
    const cpu_winograd_integer *x;
    cg_value line[CPU_INTEGER_POINTS]; /* of pixels: addresses of pixel 0 */
    cg_value channel;                  /* the first, in the group */
    int lanes;
} row;

/* A line of a tile, at all columns; or a column, at all lines. */
typedef cg_value vectors[CPU_INTEGER_POINTS];

/* Lines of pixels of the tiles at hand. */
static void
find_lines(row *r)
{
    const cpu_winograd_maker *m = r->m;
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;

    for (int i = 0; i < w->n_w; i++) {
        cg_value y = cg_addc(g, m->y, i * w->apart_h - w->pad_h);
        cg_value at = cg_add(g, cg_mulc(g, m->image, w->in_h), y);
        cg_value inside = cg_icmp(g, LLVMIntULT, y, cg_i64(g, w->in_h));

        at = glow_cg_at(g, m->in, cg_mulc(g, at, w->in_w * w->pixel));
        r->line[i] = cg_select(g, inside, at, m->zeros);
    }
}

/* The pixel at `at`, as i16. */
static cg_value
load_pixel(const row *r, cg_value at)
{
    cg *g = r->m->j->g;
    LLVMTypeRef wide = glow_cg_vector(g->i16, r->lanes);
    cg_value x = glow_cg_load_raw(g, glow_cg_vector(g->i8, r->lanes), at);

    return r->x->s.x->elem == GLOW_INT8Q
               ? LLVMBuildSExt(g->builder, x, wide, "")
               : LLVMBuildZExt(g->builder, x, wide, "");
}

/* The phi of `y`, made in block `then`, and of a constant from block `before`. */
static cg_value
either(cg *g, int64_t constant, LLVMBasicBlockRef before, cg_value y,
       LLVMBasicBlockRef then)
{
    cg_value values[2] = {glow_cg_int(LLVMTypeOf(y), constant), y};
    LLVMBasicBlockRef blocks[2] = {before, then};
    cg_value phi = LLVMBuildPhi(g->builder, LLVMTypeOf(y), "");

    LLVMAddIncoming(phi, values, blocks, 2);
    return phi;
}

/* y = B' of the column of pixels `x`. */
static void
transform_column(const row *r, cg_value x, vectors y)
{
    cg *g = r->m->j->g;
    const cpu_winograd *w = &r->m->w;
    int64_t pad = glow_cpu_integer_form_constant(w->m_w) * r->x->s.x->offset;
    cg_value at = cg_add(g, cg_mulc(g, x, w->pixel), r->channel);
    LLVMBasicBlockRef before, then;
    vectors in;
    cg_if is_inside;

    before = LLVMGetInsertBlock(g->builder);
    glow_cg_if(g, &is_inside, cg_icmp(g, LLVMIntULT, x, cg_i64(g, w->in_w)));
    for (int i = 0; i < w->n_w; i++)
        in[i] = load_pixel(r, glow_cg_at(g, r->line[i], at));
    glow_cpu_integer_form_input(g, w->m_w, in, y);
    then = LLVMGetInsertBlock(g->builder);
    glow_cg_end_if(g, &is_inside);
    for (int i = 0; i < w->n_w; i++)
        y[i] = either(g, i == 1 ? pad : 0, before, y[i], then);
}

/* Stores B' of the lines of tile `tile`, columns[column][line]. */
static void
transform_lines(const row *r, cg_value tile, vectors *columns)
{
    cg *g = r->m->j->g;
    const cpu_winograd *w = &r->m->w;
    cg_value to = cg_affine(g, tile, w->in_pitch, r->channel, 2);
    vectors x, y;

    to = glow_cg_at(g, r->m->v, to);
    for (int i = 0; i < w->n_w; i++) {
        for (int c = 0; c < w->n_w; c++)
            x[c] = columns[c][i];
        glow_cpu_integer_form_input(g, w->m_w, x, y);
        for (int c = 0; c < w->n_w; c++)
            glow_cg_store_raw(
                g, y[c], glow_cg_atc(g, to, (i * w->n_w + c) * w->in_plane));
    }
}

/* `count` tiles, for one vector of channels. */
static void
transform_tiles(const row *r, cg_value count)
{
    cg *g = r->m->j->g;
    const cpu_winograd *w = &r->m->w;
    int n = w->n_w, shared = n - w->m_w;
    cg_value x = cg_addc(g, r->m->x, -w->pad_w), at, kept[CG_MAX_CARRIED];
    vectors columns[CPU_INTEGER_POINTS];
    cg_loop l;

    for (int c = 0; c < shared; c++)
        transform_column(r, cg_addc(g, x, c * w->apart_w), &kept[c * n]);
    glow_cg_loop_guarded(g, &l, cg_i64(g, 0), count, 1, kept, shared * n);
    at = cg_add(g, x, cg_mulc(g, l.i, w->m_w * w->apart_w));
    for (int c = 0; c < n; c++)
        if (c < shared)
            for (int i = 0; i < n; i++)
                columns[c][i] = l.value[c * n + i];
        else
            transform_column(r, cg_addc(g, at, c * w->apart_w), columns[c]);
    transform_lines(r, cg_add(g, r->m->tile, l.i), columns);
    for (int c = 0; c < shared; c++)
        for (int i = 0; i < n; i++)
            kept[c * n + i] = columns[w->m_w + c][i];
    glow_cg_loop_end(g, &l, kept);
}

/* Channels in whole vectors, then in halves of them. */
static void
transform_row(row *r, cg_value count)
{
    cg *g = r->m->j->g;
    int lanes = g->target->dot_bytes / 2;
    int64_t channels = r->m->w.channels, done = channels / lanes * lanes;
    cg_loop l;

    find_lines(r);
    if (done) {
        r->lanes = lanes;
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, done), lanes, NULL, 0);
        r->channel = l.i;
        transform_tiles(r, count);
        glow_cg_loop_end(g, &l, NULL);
    }
    for (lanes /= 2; lanes; lanes /= 2)
        if (done + lanes <= channels) {
            r->lanes = lanes;
            r->channel = cg_i64(g, done);
            transform_tiles(r, count);
            done += lanes;
        }
}

void
glow_cpu_winograd_integer_input(cpu_winograd_maker *m,
                                const cpu_winograd_integer *x)
{
    row r = {.m = m, .x = x};
    cpu_winograd_row_loops l;

    glow_cpu_winograd_begin_rows(m, &l);
    transform_row(&r, l.count);
    glow_cpu_winograd_end_rows(m, &l);
}
