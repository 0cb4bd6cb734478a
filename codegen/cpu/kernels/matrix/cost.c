/*
 * Cost model of sums by matrix registers, whether they pay, and the choices of blocking
 * for tuning.
 *
 * Cycles are measured: a multiplication takes one for each row, but eight at
 * least, and its operands take about as long to load (Sapphire Rapids).  Those of BFMMLA
 * are counts of instructions, which no processor has been asked about.
 */

#include <math.h>

#include "codegen/cpu/kernels/matrix/matrix.h"

#define FAR 10.0    /* bytes in a cycle from beyond the core's cache */
#define COPIED 12.0 /* bytes in a cycle of lines that are copied */
#define APART 3.0   /* cycles of a pixel of a group */
#define TURNED 4.0  /* bytes in a cycle of filters packed at run time */
#define VECTOR 4.0  /* cycles of a vector of results */
#define BEGIN 80.0  /* of a pair of tiles */
#define CALL 300.0  /* of the kernel */
#define LOADS 2.0   /* of vectors in a cycle, of AArch64 */
#define WORTH 0.9   /* of the time of vectors */

typedef cpu_direct direct;
typedef cpu_matrix matrix;

/*
 * One unit of the depth of a pair of tiles by BFMMLA, by its instructions (bfmmla.c): two
 * in three of those on vectors multiply, and the others make vectors of the operands.  They
 * take as long as the loads at least, with those of sums for each product of tiles.
 */
static double
bfmmla_cycles(const cpu_target *t, int rows, int unit, int parts, int beside)
{
    double squares = (double)(cg_ceil_div(rows, 2) * CPU_MATRIX_LANES / 2);
    double steps = (double)cg_ceil_div(unit, 4);
    double products = parts * (parts + 1) / 2.0;
    double vectors = 1.5 * squares * steps / t->multiplies;
    double loads = (0.75 * squares * steps + 2 * squares) / LOADS;

    return 2 * beside * products * (vectors > loads ? vectors : loads);
}

double
glow_cpu_matrix_unit_cycles(const cpu_target *t, int rows, int unit, int parts,
                            int beside)
{
    double r = rows;

    if (t->bfmmla)
        return bfmmla_cycles(t, rows, unit, parts, beside);
    if (parts == 3) /* six products */
        return beside == 2 ? 294 + 6 * r : 147 + 3 * r;
    if (parts == 2) /* three products, twice the loads */
        return beside == 2 ? 150 + 3 * r : 80 + 1.5 * r;
    return beside == 2 ? 56 + r : 36 + r / 2;
}

/* One unit of the depth of a pair of tiles. */
static double
unit_cycles(const cpu_target *t, const matrix *m, int beside)
{
    return glow_cpu_matrix_unit_cycles(t, m->rows, m->unit, m->parts, beside);
}

/* Results of all tiles, of all channels. */
static double
result_cycles(const cpu_target *t, const matrix *m)
{
    double vectors = (double)cg_ceil_div(m->d.outputs, t->vector_bytes / 4);

    return VECTOR * vectors * (double)(m->d.out_h * m->d.out_w);
}

/* Of the lines of an image, or of a group of it, whose pixels are apart. */
static double
copy_cycles(const matrix *m)
{
    double lines =
        (double)(cg_ceil_div(m->steps, m->block) * glow_cpu_matrix_copied(m));
    double line = (double)(m->line * m->parts) / COPIED;

    if (m->d.groups > 1)
        line += APART * (double)m->in_w;
    return lines * line;
}

/*
 * Of weights that each pair of tiles reads from beyond the cache, because it does not
 * hold those of a group, of input that each group does, and of sums that wait there
 * between two cuts.
 */
static double
far_cycles(const cpu_target *t, const matrix *m, double pairs)
{
    double again = glow_cpu_matrix_holds_group(t, m) ? 0 : pairs - 1;
    double weights = (double)glow_cpu_matrix_cut_bytes(m) * m->cuts;
    double blocks = (double)cg_ceil_div(m->steps, m->block);
    double sums = (double)glow_cpu_matrix_sums(m) * blocks;

    return (weights * again + glow_cpu_matrix_input_again(t, m) +
            2 * (m->cuts - 1) * sums) /
           FAR;
}

double
glow_cpu_matrix_cycles(const cpu_target *t, const matrix *m)
{
    double pairs = (double)cg_ceil_div(m->steps * m->step, 2);
    double chunks = (double)glow_cpu_matrix_chunks(m), cycles, reading;
    double images = (double)(m->d.batch * m->d.groups);
    double weights = (double)glow_cpu_matrix_all_bytes(m);
    double blocks = (double)cg_ceil_div(m->steps, m->block) *
                    (m->d.w_batch ? 1 : (double)m->d.batch);
    int last = glow_cpu_matrix_beside(m, m->groups - 1);

    cycles = (double)(m->groups - 1) * (BEGIN + chunks * unit_cycles(t, m, 2));
    cycles += BEGIN + chunks * unit_cycles(t, m, last);
    cycles = images * (m->cuts * cycles * pairs + result_cycles(t, m) +
                       far_cycles(t, m, pairs));
    if (m->copies)
        cycles += images * m->cuts * (m->by_groups ? (double)m->groups : 1) *
                  copy_cycles(m);
    if (!m->d.packed)
        cycles += images * weights / COPIED;
    if (m->d.turns)
        cycles += weights / TURNED;
    reading =
        images * (m->d.w_batch ? weights : weights / images) / t->memory_bytes;
    if (!glow_cpu_matrix_is_far(t, m) || m->by_groups)
        return CALL + cycles + reading;
    reading += weights * (blocks - 1) / FAR;
    return CALL + (cycles > reading ? cycles : reading);
}

bool
glow_cpu_pays_matrix(const cpu_target *t, const glow_type *type, double cycles,
                     double vectors)
{
    return (type->elem != GLOW_BFLOAT16 && t->parts == GLOW_PARTS_ON) ||
           cycles < WORTH * vectors;
}

bool
glow_cpu_prefers_matrix(const cpu_target *t, const direct *d, double cycles)
{
    matrix m;

    return glow_cpu_matrix_of(t, d, &m) &&
           glow_cpu_pays_matrix(t, d->type, glow_cpu_matrix_cycles(t, &m),
                                cycles);
}

bool
glow_cpu_takes_matrix(const cpu_target *t, const direct *d)
{
    matrix m;

    if (!glow_cpu_matrix_of(t, d, &m))
        return false;
    return t->choice || glow_cpu_direct_code(t, d) > CPU_MOST_CODE ||
           glow_cpu_prefers_matrix(t, d, glow_cpu_direct_cycles(t, d));
}

cpu_target
glow_cpu_parts_target(const cpu_target *t)
{
    cpu_target u = *t;

    if (t->parts != GLOW_PARTS_SIX)
        u.parts = GLOW_PARTS_AUTO;
    u.matrix = t->has_amx || t->bfmmla;
    return u;
}

void
glow_cpu_parts_remark(const cpu_target *t, bool taken, double cycles,
                      double vectors, glow_buf *b)
{
    bool pays = cycles < WORTH * vectors;

    if (taken)
        glow_buf_puts(b, t->parts == GLOW_PARTS_SIX
                             ? "six products of bfloat16 parts, with errors as "
                               "of vectors"
                             : "three products of bfloat16 parts, with errors "
                               "of at most 1e-5 of the largest result");
    if (taken || t->choice || cycles == 0)
        return;
    if (pays && t->exact)
        glow_buf_puts(b, "-exact does without parts");
    else if (pays && t->parts == GLOW_PARTS_OFF)
        glow_buf_puts(b, "parts=off does without parts");
    else if (!pays && t->matrix && t->parts == glow_cpu_parts_target(t).parts)
        glow_buf_printf(b,
                        "products of parts take %.3g cycles, vectors %.3g, and "
                        "parts are to take at most %g of these",
                        cycles, vectors, WORTH);
}

void
glow_cpu_matrix_remark(const cpu_target *t, const direct *d, bool taken,
                       glow_buf *b)
{
    cpu_target u = glow_cpu_parts_target(t);
    double cycles = 0, vectors = 0;
    matrix m;

    if (d->type->elem != GLOW_FLOAT)
        return;
    if (glow_cpu_matrix_of(&u, d, &m)) {
        cycles = glow_cpu_matrix_cycles(&u, &m);
        vectors = glow_cpu_direct_code(&u, d) > CPU_MOST_CODE
                      ? INFINITY
                      : glow_cpu_direct_cycles(&u, d);
    }
    glow_cpu_parts_remark(t, taken, cycles, vectors, b);
}

void
glow_cpu_matrix_choices(const cpu_target *t, const direct *d,
                        const cpu_kernel *kernel, cpu_choices *to)
{
    cpu_choice c = glow_cpu_free_choice(kernel);
    cpu_target u = *t;
    matrix m;

    u.choice = &c;
    if (!glow_cpu_matrix_of(&u, d, &m))
        return;
    c.cycles = glow_cpu_matrix_cycles(&u, &m);
    glow_cpu_add_choice(to, c);
    for (int64_t lines = 1; lines / 4 < m.steps; lines *= 4) {
        c.value[CPU_KNOB_LINES] = lines;
        if (glow_cpu_matrix_of(&u, d, &m)) {
            c.cycles = glow_cpu_matrix_cycles(&u, &m);
            glow_cpu_add_choice(to, c);
        }
    }
}
