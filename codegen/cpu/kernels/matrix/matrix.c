/*
 * Convolution and matrix product by matrix registers (AMX tiles, or BFMMLA).
 *
 * Loops, from the outermost in:
 *
 *     for each image, and group of channels
 *       for each block of steps                mc: lines that stay in the cache
 *         for each cut of the depth            of floats: input stays in the cache
 *           for each nr = 32 output channels   two registers beside each other
 *             for each mr = 2 x 16 results     two registers one below the other
 *               for lines of taps, taps, 32 of the depth
 *                 4 sums += 2 tiles of input * 2 tiles of weights
 *
 * The four sums are stored to a buffer on the stack, from which rows are loaded
 * for the fused element-wise chain.  Tails are one tile instead of two, and
 * tiles of fewer rows or columns.  Between cuts they wait in scratch.
 *
 * The rows of two tiles wait in the buffer while the next two are summed up, and
 * each unit of the depth finishes some of them: vectors work while the registers
 * of matrices multiply.  The buffer has two halves.
 *
 * By parts the lines of a block are split first (parts.c), and each unit of the
 * depth is three products, the least first.  A tile whose input or weights are not
 * safe is summed up again by vectors (slow.c).  This is decided tile by tile, so that
 * it does not depend on what else a thread computes.
 *
 * Filters that are packed at run time and outgrow the cache are packed group by group,
 * and each group is used for all images before the next.
 *
 * Weights are prefetched a group ahead, across kernels too (ahead.c).  Where no cache
 * keeps them they displace the operands and results of the chain, so that those of two
 * tiles are prefetched while these are summed up.
 */

#include "codegen/cpu/kernels/matrix/make.h"

typedef cpu_matrix matrix;
typedef cpu_matrix_maker maker;

/*
 * Copies or splits the input of steps `first` to `end` where it is not read in
 * place.
 */
static void
begin_block(maker *k, cg_value image, cg_value first, cg_value end)
{
    const matrix *m = &k->m;
    int64_t panel =
        m->d.packed ? glow_cpu_matrix_turned(m) : glow_cpu_matrix_bytes(m, 0);
    cpu_job *j = k->j;
    cg_value at = glow_cg_atc(j->g, j->scratch, panel);

    k->in = image;
    if (m->parts > 1)
        k->in = glow_cpu_matrix_split(j, m, image, at, first, end, &k->flags);
    else if (m->copies)
        k->in = glow_cpu_matrix_copy(j, m, image, at, first, end);
}

/* Address of group `group` of the image k->batch of the input. */
static cg_value
image_of(const maker *k, cg_value group)
{
    cg *g = k->j->g;
    const cpu_direct *d = &k->m.d;
    int64_t one = d->channels * glow_cg_bytes(d->type);
    int64_t image = d->in_h * d->in_w * d->groups * one;

    return glow_cg_at(g, k->j->in[0].at,
                      cg_affine(g, k->batch, image, group, one));
}

/* The steps of all images, for the current group of channels. */
static void
make_images(maker *k, cg_value first, cg_value end)
{
    cg *g = k->j->g;
    cg_loop l;

    k->batch = glow_cg_for(g, &l, k->m.d.batch);
    begin_block(k, image_of(k, cg_i64(g, 0)), first, end);
    glow_cpu_matrix_steps(k, first, end);
    glow_cg_loop_end(g, &l, NULL);
}

/* Group `group`, which has `columns` channels. */
static void
make_group(maker *k, cg_value weights, cg_value group, int columns,
           cg_value first, cg_value end)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;

    k->group = group;
    k->columns = columns;
    k->beside = columns > CPU_MATRIX_LANES ? 2 : 1;
    k->channel = cg_affine(g, group, CPU_MATRIX_COLUMNS, k->first, 1);
    if (m->by_groups) {
        k->weights = k->j->scratch;
        glow_cpu_matrix_turn_group(k->j, m, group, columns);
    } else if (m->d.packed) {
        k->weights = glow_cg_at(g, weights,
                                cg_mulc(g, group, glow_cpu_matrix_bytes(m, 0)));
    } else {
        k->weights = k->j->scratch;
        k->unsafe = glow_cpu_matrix_pack_panel(
            k->j, m,
            glow_cg_at(g, weights,
                       cg_mulc(g, k->channel, glow_cg_bytes(m->d.type))),
            m->d.outputs * glow_cg_bytes(m->d.type), columns, k->weights);
    }
    k->slow.weights = k->weights;
    k->slow.channel = k->channel;
    k->slow.columns = columns;
    k->slow.beside = k->beside;
    k->ahead = glow_cpu_matrix_ahead_of(k);
    if (m->by_groups)
        make_images(k, first, end);
    else
        glow_cpu_matrix_steps(k, first, end);
}

/* The groups from `low` to `high`. */
static void
make_groups(maker *k, cg_value weights, cg_value low, cg_value high,
            cg_value first, cg_value end)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    int rest = (int)(m->d.outputs % CPU_MATRIX_COLUMNS);
    int64_t full = m->groups - (rest > 0);
    cg_loop l;
    cg_if last;

    if (full) {
        glow_cg_loop_guarded(g, &l, low, glow_cg_imin(g, high, cg_i64(g, full)),
                             1, NULL, 0);
        make_group(k, weights, l.i, CPU_MATRIX_COLUMNS, first, end);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (!rest)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntSGT, high, cg_i64(g, full)));
    if (full)
        glow_cpu_matrix_finish_all(k);
    make_group(k, weights, cg_i64(g, full), rest, first, end);
    glow_cpu_matrix_finish_all(k);
    k->columns = CPU_MATRIX_COLUMNS;
    glow_cg_end_if(g, &last);
}

/* True (an i1) if the constant weights are not safe, which they say at the end. */
static cg_value
are_raw(const maker *k)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    int64_t size = m->d.groups * m->cuts * glow_cpu_matrix_cut_bytes(m);

    return cg_icmp(
        g, LLVMIntNE,
        glow_cg_load_raw(g, g->i32,
                         glow_cg_atc(g, k->j->packed, m->d.w_first + size)),
        LLVMConstNull(g->i32));
}

/* The steps `first` to `end`, cut by cut. */
static void
make_block(maker *k, cg_value image, cg_value weights, cg_value first,
           cg_value end)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value low = cg_i64(g, 0), high = cg_i64(g, m->groups), zero = low;
    cg_loop cuts;

    if (m->by_channels) {
        low = k->units.begin;
        high = k->units.end;
    }
    if (m->cuts > 1) {
        k->sums = glow_cg_atc(g, k->j->scratch, glow_cpu_matrix_input_room(m));
        k->cut = glow_cg_for(g, &cuts, m->cuts);
        k->begins = cg_icmp(g, LLVMIntEQ, k->cut, zero);
        k->ends = cg_icmp(g, LLVMIntEQ, k->cut, cg_i64(g, m->cuts - 1));
        image = glow_cg_at(
            g, image,
            cg_mulc(g, k->cut, m->channels * glow_cg_bytes(m->d.type)));
        k->slow.image = image;
        weights = glow_cg_at(g, weights,
                             cg_mulc(g, k->cut, glow_cpu_matrix_cut_bytes(m)));
    }
    begin_block(k, image, first, end);
    make_groups(k, weights, low, high, first, end);
    if (m->cuts > 1)
        glow_cg_loop_end(g, &cuts, NULL);
}

/* Address of the weights of group `group` of a convolution, or of image k->batch. */
static cg_value
weights_of(const maker *k, cg_value group)
{
    const matrix *m = &k->m;
    const cpu_job *j = k->j;
    cg *g = j->g;
    int64_t size = m->cuts * glow_cpu_matrix_cut_bytes(m);

    if (m->d.turns)
        return j->scratch;
    if (!m->d.packed)
        return glow_cg_at(g, j->in[1].at, cg_mulc(g, k->batch, m->d.w_batch));
    return glow_cg_at(g, j->packed,
                      cg_addc(g, cg_mulc(g, group, size), m->d.w_first));
}

/* All images for a group of channels, then the next group. */
static void
emit_groups(maker *k)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;

    k->first = cg_i64(g, 0);
    glow_cpu_units_within(k->j, &k->units, 1, m->groups);
    make_groups(k, k->j->scratch, k->units.begin, k->units.end, cg_i64(g, 0),
                cg_i64(g, m->steps));
    glow_cg_loop_end(g, &k->units.loop, NULL);
    if (m->d.outputs >= CPU_MATRIX_COLUMNS)
        glow_cpu_matrix_finish_all(k);
    glow_cg_matrix_end(g);
}

void
glow_cpu_emit_matrix(cpu_job *j, const cpu_direct *d)
{
    cg *g = j->g;
    maker k = {.j = j};
    matrix *m = &k.m;
    cg_value weights, image, first = cg_i64(g, 0), end, group, outer;
    cg_loop block;

    glow_cpu_matrix_of(g->target, d, m);
    glow_cpu_matrix_begin_results(&k);
    glow_cg_matrix_begin(g, m->rows, m->unit);
    for (int r = 0; r < CPU_MATRIX_LEFT; r++)
        glow_cg_matrix_zero(g, r);
    if (m->by_groups) {
        emit_groups(&k);
        return;
    }
    if (m->d.turns)
        glow_cpu_matrix_turn(j, m);
    outer = glow_cpu_units_within(j, &k.units, m->d.batch * m->d.groups,
                                  m->by_channels ? m->groups : m->steps);
    k.batch = cg_over(g, outer, m->d.groups);
    group = cg_modulo(g, outer, m->d.groups);
    k.first = cg_mulc(g, group, m->d.outputs);
    image = image_of(&k, group);
    weights = weights_of(&k, group);
    k.slow.image = image;
    k.slow.plain = weights;
    if (m->parts > 1 && m->d.packed)
        k.unsafe = k.slow.raw = are_raw(&k);
    end = cg_i64(g, m->steps);
    if (!m->by_channels) {
        first = k.units.begin;
        end = k.units.end;
    }
    glow_cg_loop(g, &block, first, end, m->block, NULL, 0);
    end = glow_cg_imin(g, cg_addc(g, block.i, m->block), end);
    make_block(&k, image, weights, block.i, end);
    glow_cg_loop_end(g, &block, NULL);
    glow_cg_loop_end(g, &k.units.loop, NULL);
    if (m->d.outputs >= CPU_MATRIX_COLUMNS)
        glow_cpu_matrix_finish_all(&k);
    glow_cg_matrix_end(g);
}
