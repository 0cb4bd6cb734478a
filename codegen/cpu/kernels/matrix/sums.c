/*
 * Sums of tiles between matrix registers and memory: zeros or those of the cut before at
 * first, and in the end the buffer of rows that wait, or scratch for the next cut.
 *
 * Between two pairs of tiles the registers are zero: each is set to zero right after it is
 * stored, so that the next product of the first one does not wait for the stores of all four
 * (depth 64: 56 ns for a pair of tiles if all are stored first, 37 so).
 */

#include "codegen/cpu/kernels/matrix/make.h"

typedef cpu_matrix matrix;
typedef cpu_matrix_maker maker;
typedef cpu_matrix_place place;
typedef cpu_matrix_waiting waiting;

/* True (an i1) if the input of a tile, or the weights, are not safe. */
static cg_value
is_unsafe(const maker *k, const place *p)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value line = m->flat ? p->tile : cg_mulc(g, p->line, m->d.stride_h);
    cg_value any = LLVMBuildZExt(g->builder, k->unsafe, g->i32, "");
    cg_loop l;

    glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, m->d.kernel_h), 1, &any, 1);
    any = cg_affine(g, l.i, m->d.dilation_h, line, 1);
    any = glow_cg_load_raw(g, g->i32,
                           glow_cg_at(g, k->flags, cg_mulc(g, any, 4)));
    any = cg_or(g, any, l.value[0]);
    glow_cg_loop_end(g, &l, &any);
    return cg_icmp(g, LLVMIntNE, l.value[0], LLVMConstNull(g->i32));
}

/* Stores the sums of tile `a` and sets them to zero, or loads them. */
static void
move_sums(const maker *k, int a, cg_value at, bool stores)
{
    cg *g = k->j->g;

    for (int n = 0; n < k->beside; n++) {
        cg_value to = glow_cg_atc(g, at, n * CPU_MATRIX_LANES * 4);

        if (stores) {
            glow_cg_matrix_store(g, 2 * a + n, to, CPU_MATRIX_PITCH);
            glow_cg_matrix_zero(g, 2 * a + n);
        } else {
            glow_cg_matrix_load(g, 2 * a + n, to, CPU_MATRIX_PITCH);
        }
    }
}

static void
zero_sums(const maker *k, int a)
{
    for (int n = 0; n < k->beside; n++)
        glow_cg_matrix_zero(k->j->g, 2 * a + n);
}

/* Address of the sums of tile `a` of pair `number` of the group, between two cuts. */
static cg_value
sums_of(const maker *k, int a, cg_value number)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    cg_value at =
        cg_affine(g, k->group, cg_ceil_div(m->block * m->step, 2), number, 1);

    at = glow_cg_at(g, k->sums, cg_mulc(g, at, CPU_MATRIX_PAIR));
    return glow_cg_atc(g, at, a * CPU_MATRIX_ROWS * CPU_MATRIX_PITCH);
}

/*
 * Stores the sums of tile `a` of pair `number` at `to`; sums a tile up again, row by
 * row, that is not safe.
 */
static void
store_tile(const maker *k, int a, cg_value to, const place *p, cg_value number)
{
    cg *g = k->j->g;
    cpu_slow s = k->slow;
    cg_value unsafe;
    cg_if safe, bad;

    if (k->m.parts == 1) {
        move_sums(k, a, to, true);
        return;
    }
    s.to = to;
    if (k->sums) {
        s.from = sums_of(k, a, number);
        s.has = LLVMBuildNot(g->builder, k->begins, "");
    }
    unsafe = is_unsafe(k, p);
    glow_cg_if(g, &safe, LLVMBuildNot(g->builder, unsafe, ""));
    move_sums(k, a, to, true);
    glow_cg_end_if(g, &safe);
    glow_cg_if(g, &bad, unsafe);
    glow_cpu_matrix_slow(k->j, &k->m, &s, p->line, p->x, p->skip);
    zero_sums(k, a);
    glow_cg_end_if(g, &bad);
}

/*
 * Stores `count` tiles in the free half of the buffer, for the next to finish.  Their
 * pixels follow each other: the rows of the second that the first has, too, are
 * overwritten by these.
 */
static void
store_tiles(const maker *k, const place *p, int count, cg_value number)
{
    cg *g = k->j->g;
    const matrix *m = &k->m;
    const waiting *w = &k->waits;
    cg_value half = cg_get(g, w->next), rows = cg_i64(g, m->rows);
    cg_value to = glow_cg_at(g, k->buffer, half);

    if (count > 1) {
        rows = cg_sub(g, rows, p[1].skip);
        store_tile(k, 1, glow_cg_at(g, to, cg_mulc(g, rows, CPU_MATRIX_PITCH)),
                   &p[1], number);
        rows = cg_addc(g, rows, m->rows);
    }
    store_tile(k, 0, to, &p[0], number);
    cg_set(g, w->from,
           cg_add(g, half, cg_mulc(g, p[0].skip, CPU_MATRIX_PITCH)));
    cg_set(g, w->pixel, k->pixel);
    cg_set(g, w->count, cg_sub(g, rows, p[0].skip));
    cg_set(g, w->channel, k->channel);
    cg_set(g, w->next, cg_sub(g, cg_i64(g, CPU_MATRIX_PAIR), half));
}

void
glow_cpu_matrix_begin_sums(const maker *k, int count, cg_value number)
{
    cg *g = k->j->g;
    cg_if other;

    if (!k->sums)
        return;
    glow_cg_if(g, &other, LLVMBuildNot(g->builder, k->begins, ""));
    for (int a = 0; a < count; a++)
        move_sums(k, a, sums_of(k, a, number), false);
    glow_cg_end_if(g, &other);
}

void
glow_cpu_matrix_end_sums(const maker *k, const place *p, int count,
                         cg_value number)
{
    cg *g = k->j->g;
    cg_if last, other;

    if (k->sums)
        glow_cg_if(g, &last, k->ends);
    store_tiles(k, p, count, number);
    if (!k->sums)
        return;
    glow_cg_end_if(g, &last);
    glow_cg_if(g, &other, LLVMBuildNot(g->builder, k->ends, ""));
    for (int a = 0; a < count; a++)
        store_tile(k, a, sums_of(k, a, number), &p[a], number);
    glow_cg_end_if(g, &other);
}
