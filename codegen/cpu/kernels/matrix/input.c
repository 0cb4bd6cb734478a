/*
 * Operands in the layout that matrix registers read: lines of input with zero
 * padding, and weights that are packed at run time.
 */

#include "codegen/cpu/kernels/matrix/matrix.h"

/* Lines of input with zero padding. */

typedef struct copied {
    cpu_job *j;
    const cpu_matrix *m;
    cg_value image; /* line 0 of the input */
} copied;

static void
clear(const copied *c, cg_value at, int64_t pixels)
{
    const cpu_direct *d = &c->m->d;
    cg_tensor to = {at, d->type};

    if (pixels > 0)
        glow_cpu_fill(c->j->g, to, pixels * c->m->channels,
                      LLVMConstNull(c->j->g->i16));
}

/*
 * `pixels` pixels, each of which gets a zero behind its channels: as many at a
 * time as a vector has room for.
 */
static void
spread(const copied *c, cg_value from, cg_value at, int64_t pixels)
{
    const cpu_matrix *m = c->m;
    cg *g = c->j->g;
    int64_t in = m->d.channels, out = m->channels;
    cg_value order[CPU_MATRIX_COLUMNS], v;
    LLVMTypeRef t = glow_cg_vector(g->i16, (int)(pixels * in));

    v = glow_cg_load_raw(g, t, from);
    for (int64_t i = 0; i < pixels * out; i++)
        order[i] = LLVMConstInt(
            g->i32,
            (unsigned)(i % out < in ? i / out * in + i % out : pixels * in),
            false);
    v = LLVMBuildShuffleVector(g->builder, v, LLVMConstNull(t),
                               LLVMConstVector(order, (unsigned)(pixels * out)),
                               "");
    glow_cg_store_raw(g, v, at);
}

static void
spread_line(const copied *c, cg_value from, cg_value at, int64_t pixels)
{
    const cpu_matrix *m = c->m;
    cg *g = c->j->g;
    int64_t some = CPU_MATRIX_COLUMNS / m->channels;
    int64_t whole = pixels / some, in = m->d.channels * 2;
    cg_value some_from, some_at;
    cg_loop l;

    if (whole) {
        glow_cg_for(g, &l, whole);
        some_from = glow_cg_at(g, from, cg_mulc(g, l.i, some * in));
        some_at = glow_cg_at(g, at, cg_mulc(g, l.i, some * m->channels * 2));
        spread(c, some_from, some_at, some);
        glow_cg_loop_end(g, &l, NULL);
    }
    if (pixels % some) {
        some_from = glow_cg_atc(g, from, whole * some * in);
        some_at = glow_cg_atc(g, at, whole * some * m->channels * 2);
        spread(c, some_from, some_at, pixels % some);
    }
}

/* Pixels of `y`, a line of the input, and zeros around them. */
static void
copy_line(const copied *c, cg_value y, cg_value at)
{
    const cpu_matrix *m = c->m;
    const cpu_direct *d = &m->d;
    cg *g = c->j->g;
    int64_t pixel = m->channels * 2, left = d->pad_w, pixels;
    cg_value from = glow_cg_at(g, c->image, cg_mulc(g, y, d->in_w * d->pixel));
    cg_value to;

    left = left < m->in_w ? left : m->in_w;
    pixels = d->in_w < m->in_w - left ? d->in_w : m->in_w - left;
    to = glow_cg_atc(g, at, left * pixel);
    clear(c, at, left);
    clear(c, glow_cg_atc(g, to, pixels * pixel), m->in_w - left - pixels);
    if (pixels > 0 && m->channels == d->channels)
        glow_cpu_copy(g, (cg_tensor){to, d->type}, 0, GLOW_DIMS_OF(1),
                      (cg_tensor){from, d->type}, 0, GLOW_DIMS_OF(1),
                      GLOW_DIMS_OF(pixels * d->channels));
    else if (pixels > 0)
        spread_line(c, from, to, pixels);
}

cg_value
glow_cpu_matrix_copy(cpu_job *j, const cpu_matrix *m, cg_value image,
                     cg_value first, cg_value end)
{
    cg *g = j->g;
    const cpu_direct *d = &m->d;
    int64_t line = m->in_w * m->channels * 2;
    int64_t reach = (d->kernel_h - 1) * d->dilation_h + 1 - d->stride_h;
    cg_value low = cg_mulc(g, first, d->stride_h);
    cg_value high = cg_addc(g, cg_mulc(g, end, d->stride_h), reach);
    cg_value zero = glow_cg_at(g, j->scratch, cg_mulc(g, low, -line));
    copied c = {j, m, image};
    cg_loop lines;
    cg_if inside, outside;

    glow_cg_loop(g, &lines, low, high, 1, NULL, 0);

    cg_value y = cg_addc(g, lines.i, -d->pad_h);
    cg_value at = glow_cg_at(g, zero, cg_mulc(g, lines.i, line));
    cg_value is = cg_icmp(g, LLVMIntULT, y, cg_i64(g, d->in_h));

    glow_cg_if(g, &inside, is);
    copy_line(&c, y, at);
    glow_cg_end_if(g, &inside);
    glow_cg_if(g, &outside, LLVMBuildNot(g->builder, is, ""));
    clear(&c, at, m->in_w);
    glow_cg_end_if(g, &outside);
    glow_cg_loop_end(g, &lines, NULL);
    return zero;
}

/* Weights. */

/* A row of CPU_MATRIX_COLUMNS weights, of which there are `columns`. */
static cg_value
load_row(cg *g, cg_value at, int columns)
{
    cg_value v;

    g->live = columns < CPU_MATRIX_COLUMNS ? columns : 0;
    v = glow_cg_load_raw(g, glow_cg_vector(g->i16, CPU_MATRIX_COLUMNS), at);
    g->live = 0;
    return v;
}

/* Interleaves half `n` of two rows. */
static cg_value
in_turn(cg *g, cg_value a, cg_value b, int n)
{
    cg_value order[CPU_MATRIX_COLUMNS];

    for (int i = 0; i < CPU_MATRIX_COLUMNS; i++)
        order[i] = LLVMConstInt(g->i32,
                                (unsigned)(n * CPU_MATRIX_LANES + i / 2 +
                                           i % 2 * CPU_MATRIX_COLUMNS),
                                false);
    return LLVMBuildShuffleVector(
        g->builder, a, b, LLVMConstVector(order, CPU_MATRIX_COLUMNS), "");
}

/*
 * Interleaves two rows, `from` and the next, into pairs; if `zeros`, the first
 * counts as zeros.
 */
static void
pack_pair(cpu_job *j, const cpu_matrix *m, cg_value from, int columns,
          cg_value to, bool zeros)
{
    cg *g = j->g;
    int64_t row = m->d.outputs * 2, half = m->unit * CPU_MATRIX_LANES * 2;
    cg_value a, b = load_row(g, glow_cg_atc(g, from, row), columns);

    a = zeros ? LLVMConstNull(LLVMTypeOf(b)) : load_row(g, from, columns);
    glow_cg_store_raw(g, in_turn(g, a, b, 0), to);
    if (columns > CPU_MATRIX_LANES) {
        a = in_turn(g, a, b, 1);
        glow_cg_store_raw(g, a, glow_cg_atc(g, to, half));
    }
}

static void
pack_pairs(cpu_job *j, const cpu_matrix *m, cg_value from, int columns,
           cg_value to, int64_t pairs)
{
    cg *g = j->g;
    cg_loop l;

    if (!pairs)
        return;
    glow_cg_for(g, &l, pairs);
    from = glow_cg_at(g, from, cg_mulc(g, l.i, m->d.outputs * 4));
    to = glow_cg_at(g, to, cg_mulc(g, l.i, CPU_MATRIX_LANES * 4));
    pack_pair(j, m, from, columns, to, false);
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * The last unit, which overlaps the one before it: the elements that both have
 * get zero weights here.
 */
static void
pack_last(cpu_job *j, const cpu_matrix *m, cg_value from, int columns,
          cg_value to)
{
    cg *g = j->g;
    int64_t done, last = glow_cpu_matrix_last(m, &done), row = m->d.outputs * 2;
    int64_t pair = CPU_MATRIX_LANES * 4, half = m->unit * CPU_MATRIX_LANES * 2;
    int64_t zeros = done / 2;
    cg_tensor start = {to, m->d.type};

    from = glow_cg_atc(g, from, last * row);
    for (int n = 0; n * CPU_MATRIX_LANES < columns && zeros; n++) {
        start.at = glow_cg_atc(g, to, n * half);
        glow_cpu_fill(g, start, zeros * CPU_MATRIX_LANES * 2,
                      LLVMConstNull(g->i16));
    }
    if (done % 2) {
        cg_value first = glow_cg_atc(g, from, 2 * zeros * row);

        pack_pair(j, m, first, columns, glow_cg_atc(g, to, zeros * pair), true);
    }
    zeros += done % 2;
    from = glow_cg_atc(g, from, 2 * zeros * row);
    to = glow_cg_atc(g, to, zeros * pair);
    pack_pairs(j, m, from, columns, to, m->unit / 2 - zeros);
}

void
glow_cpu_matrix_pack_panel(cpu_job *j, const cpu_matrix *m, cg_value from,
                           int columns, cg_value to)
{
    cg *g = j->g;
    int64_t done, row = m->d.outputs * 2;
    int64_t bytes =
        m->unit * CPU_MATRIX_LANES * 2 * (columns > CPU_MATRIX_LANES ? 2 : 1);
    int64_t units = m->depth / m->unit;
    cg_loop l;

    glow_cpu_matrix_last(m, &done);
    glow_cg_for(g, &l, units);
    cg_value first = glow_cg_at(g, from, cg_mulc(g, l.i, m->unit * row));

    pack_pairs(j, m, first, columns, glow_cg_at(g, to, cg_mulc(g, l.i, bytes)),
               m->unit / 2);
    glow_cg_loop_end(g, &l, NULL);
    if (done)
        pack_last(j, m, from, columns, glow_cg_atc(g, to, units * bytes));
}
