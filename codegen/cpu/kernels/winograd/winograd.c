/*
 * Winograd's convolution, F(2 x 2) and F(4 x 4) of several kernels: the kernel.
 * winograd.h has the algorithm, rule.c the cost model, make.h the stages.
 *
 * Loops, from the outermost in:
 *
 *     for each group of channels                   units: tiles, or output channels
 *       for each block of tiles                    the cache holds all its points
 *         input     for each tile and vector of channels:  B^T d B
 *         products  for each of the points:
 *                     for each nr = vectors * lanes of output channels
 *                       for each mr tiles          the register tile of direct/,
 *                                                  kc: all input channels
 *         output    for each tile and vector of output channels:  A^T p A, finished
 */

#include "codegen/cpu/kernels/direct/tile.h"
#include "codegen/cpu/kernels/winograd/make.h"

typedef cpu_winograd_maker maker;

static void
clear_zeros(maker *m)
{
    cg *g = m->j->g;
    glow_type t = {.elem = GLOW_FLOAT};

    glow_cpu_fill(g, (cg_tensor){m->zeros, &t},
                  glow_cpu_winograd_zeros(&m->w) / 4, LLVMConstNull(g->f32));
}

static void
make_blocks(maker *m, const cpu_spans *read, const cpu_spans *written)
{
    cg *g = m->j->g;
    int64_t block = m->w.block;
    cg_loop l;

    glow_cg_loop(g, &l, m->first, m->end, block, NULL, 0);
    m->tile0 = l.i;
    m->tile1 = glow_cg_imin(g, cg_addc(g, l.i, block), m->end);
    glow_cpu_winograd_input(m, read);
    glow_cpu_winograd_products(m);
    glow_cpu_winograd_output(m, written);
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * Sets the ranges of tiles and of groups of outputs to compute of a group of
 * channels.
 */
static void
set_units(maker *m, const cpu_within *units)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    bool by_outputs = glow_cpu_winograd_by_outputs(g->target, w);

    m->first = by_outputs ? cg_i64(g, 0) : units->begin;
    m->end = by_outputs ? cg_i64(g, glow_cpu_winograd_tiles(w)) : units->end;
    m->output0 = by_outputs ? units->begin : cg_i64(g, 0);
    m->output1 =
        by_outputs ? units->end : cg_i64(g, m->p.full + (m->p.rest > 0));
}

static void
emit_winograd(cpu_job *j)
{
    cg *g = j->g;
    const cpu_target *t = g->target;
    maker m = {.j = j};
    const cpu_winograd *w = &m.w;
    int64_t points;
    cpu_within units;
    cpu_spans read, written;

    glow_cpu_winograd_choice(t, j->n, &m.w);
    m.form_h = glow_cpu_form(w->m_h, w->taps_h);
    m.form_w = glow_cpu_form(w->m_w, w->taps_w);
    m.p = glow_cpu_winograd_product(t, w);
    glow_cpu_winograd_read(g->arena, w, &read);
    glow_cpu_winograd_written(g->arena, w, &written);
    points = glow_cpu_winograd_points(w);
    m.v = j->scratch;
    m.products = glow_cg_atc(g, m.v, points * w->in_plane);
    m.zeros = glow_cg_atc(g, m.products, points * w->out_plane);
    clear_zeros(&m);
    m.group = glow_cpu_units_within(j, &units, w->groups,
                                    glow_cpu_winograd_units(t, &m.p, w));
    set_units(&m, &units);
    m.in = glow_cg_at(
        g, j->in[0].at,
        cg_mulc(g, m.group, w->channels * glow_cg_bytes(j->in[0].type)));
    m.weights = glow_cg_at(
        g, j->packed,
        cg_mulc(g, m.group, glow_cpu_winograd_weights(&m.p, w) / w->groups));
    make_blocks(&m, &read, &written);
    glow_cg_loop_end(g, &units.loop, NULL);
}

static bool
takes_winograd(const cpu_target *t, const glow_node *n)
{
    glow_arena *a;
    cpu_winograd w;
    cpu_product p;
    cpu_spans spans;
    bool ok;

    if (!glow_cpu_winograd_choice(t, n, &w))
        return false;
    p = glow_cpu_winograd_product(t, &w);
    if (!glow_cpu_fits_tile(p.rows, p.blocks))
        return false;
    a = glow_arena_new();
    ok = glow_cpu_winograd_read(a, &w, &spans) &&
         glow_cpu_winograd_written(a, &w, &spans);
    glow_arena_free(a);
    return ok;
}

static int64_t
scratch_size(const cpu_target *t, const glow_node *n)
{
    cpu_winograd w;

    glow_cpu_winograd_choice(t, n, &w);
    return glow_cpu_winograd_room(&w);
}

static int64_t
units_of(const cpu_target *t, const glow_node *n)
{
    cpu_winograd w;
    cpu_product p;

    glow_cpu_winograd_choice(t, n, &w);
    p = glow_cpu_winograd_product(t, &w);
    return w.groups * glow_cpu_winograd_units(t, &p, &w);
}

extern const cpu_kernel glow_cpu_conv_winograd;

static void
choices_of(const cpu_target *t, const glow_node *n, cpu_choices *to)
{
    glow_cpu_winograd_choices(t, &glow_cpu_conv_winograd, n, to);
}

const cpu_kernel glow_cpu_conv_winograd = {
    .name = "conv_winograd",
    .op = &glow_op_convolution,
    .takes = takes_winograd,
    .emit = emit_winograd,
    .stacks = true,
    .packs = 1,
    .packed_size = glow_cpu_winograd_size,
    .pack = glow_cpu_winograd_pack,
    .scratch_size = scratch_size,
    .units = units_of,
    .choices = choices_of,
    .remark = glow_cpu_winograd_remark,
};
