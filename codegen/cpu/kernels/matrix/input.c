/*
 * Operands in the layout that matrix registers read: lines of input with zero
 * padding, tiles of it, and weights that are packed at run time.
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
        glow_cpu_fill(c->j->g, to, pixels * c->m->pixel / 2,
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

/* Pixels beside each other; of a cut some channels of each. */
static void
copy_pixels(const copied *c, cg_value from, cg_value to, int64_t pixels)
{
    const cpu_matrix *m = c->m;
    const cpu_direct *d = &m->d;

    if (m->channels > d->channels)
        spread_line(c, from, to, pixels);
    else
        glow_cpu_copy(c->j->g, (cg_tensor){to, d->type}, 0,
                      GLOW_DIMS_OF(m->pixel / 2, 1), (cg_tensor){from, d->type},
                      0, GLOW_DIMS_OF(m->copy_w * d->groups * d->channels, 1),
                      GLOW_DIMS_OF(pixels, m->channels));
}

/* Pixels of `y`, a line of the input, and zeros around them. */
static void
copy_line(const copied *c, cg_value y, cg_value at)
{
    const cpu_matrix *m = c->m;
    const cpu_direct *d = &m->d;
    cg *g = c->j->g;
    int64_t pixel = m->pixel, left = d->pad_w, pixels;
    cg_value from = glow_cg_at(g, c->image, cg_mulc(g, y, d->in_w * d->pixel));
    cg_value to;

    left = left < m->in_w ? left : m->in_w;
    pixels = cg_ceil_div(d->in_w, m->copy_w);
    pixels = pixels < m->in_w - left ? pixels : m->in_w - left;
    to = glow_cg_atc(g, at, left * pixel);
    clear(c, at, left);
    clear(c, glow_cg_atc(g, to, pixels * pixel), m->in_w - left - pixels);
    if (pixels > 0)
        copy_pixels(c, from, to, pixels);
}

cg_value
glow_cpu_matrix_tile(cg *g, const cpu_matrix *m, cg_value tile)
{
    return glow_cg_imin(g, cg_mulc(g, tile, m->rows),
                        cg_i64(g, m->d.out_w - m->rows));
}

static void
copy_tile(const copied *c, cg_value tile, cg_value at)
{
    const cpu_matrix *m = c->m;
    cg *g = c->j->g;
    cg_value x = glow_cpu_matrix_tile(g, m, tile);

    copy_pixels(c, glow_cg_at(g, c->image, cg_mulc(g, x, m->d.pixel)), at,
                m->rows);
}

cg_value
glow_cpu_matrix_copy(cpu_job *j, const cpu_matrix *m, cg_value image,
                     cg_value to, cg_value first, cg_value end)
{
    cg *g = j->g;
    const cpu_direct *d = &m->d;
    int64_t stride = m->flat ? 1 : d->stride_h;
    int64_t reach =
        m->flat ? 0 : (d->kernel_h - 1) * d->dilation_h + 1 - d->stride_h;
    cg_value low = cg_mulc(g, first, stride);
    cg_value high = cg_addc(g, cg_mulc(g, end, stride), reach);
    cg_value zero, at, y, is;
    copied c = {j, m, image};
    cg_loop lines;
    cg_if inside, outside;

    if (m->joined) {
        low = cg_over(g, glow_cpu_matrix_tile(g, m, first), m->in_w);
        high = glow_cg_imin(g, cg_mulc(g, end, m->rows), cg_i64(g, d->out_w));
        high = cg_over(g, cg_addc(g, high, -1), m->in_w);
        high = cg_addc(g, high, (d->kernel_h - 1) * d->dilation_h + 2);
    }
    zero = glow_cg_at(g, to, cg_mulc(g, low, -m->line));
    glow_cg_loop(g, &lines, low, high, 1, NULL, 0);
    at = glow_cg_at(g, zero, cg_mulc(g, lines.i, m->line));
    if (m->flat) {
        copy_tile(&c, lines.i, at);
        glow_cg_loop_end(g, &lines, NULL);
        return zero;
    }
    y = cg_addc(g, cg_mulc(g, lines.i, m->copy_h), -d->pad_h);
    is = cg_icmp(g, LLVMIntULT, y, cg_i64(g, d->in_h));
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

/* Weights that are packed, and the numbers seen in each half if they have parts. */
typedef struct panel {
    cpu_job *j;
    const cpu_matrix *m;
    int64_t row; /* bytes from a row of weights to the next */
    int columns;
    cpu_split seen[2];
} panel;

/* Bytes of half of a part of a unit, packed. */
static int64_t
half_bytes(const panel *p)
{
    return p->m->unit * CPU_MATRIX_LANES * 2;
}

static int
halves(const panel *p)
{
    return p->columns > CPU_MATRIX_LANES ? 2 : 1;
}

/* The parts of `columns` weights of half `n`, of at most CPU_MATRIX_LANES. */
static cpu_parts
load_parts(const panel *p, cg_value at, int columns, int n)
{
    cg *g = p->j->g;
    cg_tensor t = {at, p->m->d.type};
    cg_value v;

    g->live = columns < CPU_MATRIX_LANES ? columns : 0;
    v = glow_cg_load(g, t, cg_i64(g, 0), CPU_MATRIX_LANES);
    g->live = 0;
    return glow_cpu_parts_split(g, &p->seen[n], v, p->m->parts);
}

/* `a` and then `b`. */
static cg_value
behind(cg *g, cg_value a, cg_value b)
{
    cg_value order[CPU_MATRIX_COLUMNS];

    for (unsigned i = 0; i < CPU_MATRIX_COLUMNS; i++)
        order[i] = LLVMConstInt(g->i32, i, false);
    return LLVMBuildShuffleVector(
        g->builder, a, b, LLVMConstVector(order, CPU_MATRIX_COLUMNS), "");
}

/* A row of CPU_MATRIX_COLUMNS weights, of which there are `columns`. */
static cpu_parts
load_row(const panel *p, cg_value at)
{
    cg *g = p->j->g;
    int rest = p->columns - CPU_MATRIX_LANES;
    cpu_parts a, b;

    if (p->m->parts == 1) {
        g->live = p->columns < CPU_MATRIX_COLUMNS ? p->columns : 0;
        a.part[0] =
            glow_cg_load_raw(g, glow_cg_vector(g->i16, CPU_MATRIX_COLUMNS), at);
        g->live = 0;
        return a;
    }
    a = load_parts(p, at, p->columns, 0);
    b = a;
    if (rest > 0)
        b = load_parts(
            p,
            glow_cg_atc(g, at, CPU_MATRIX_LANES * glow_cg_bytes(p->m->d.type)),
            rest, 1);
    for (int i = 0; i < p->m->parts; i++)
        a.part[i] = behind(g, a.part[i], b.part[i]);
    return a;
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
pack_pair(const panel *p, cg_value from, cg_value to, bool zeros)
{
    cg *g = p->j->g;
    cpu_parts a, b = load_row(p, glow_cg_atc(g, from, p->row));
    int beside = halves(p);

    a = zeros ? b : load_row(p, from);
    for (int i = 0; i < p->m->parts; i++) {
        if (zeros)
            a.part[i] = LLVMConstNull(LLVMTypeOf(b.part[i]));
        for (int n = 0; n < beside; n++) {
            cg_value v = in_turn(g, a.part[i], b.part[i], n);
            int64_t at = (i * beside + n) * half_bytes(p);

            glow_cg_store_raw(g, v, glow_cg_atc(g, to, at));
        }
    }
}

static void
pack_pairs(const panel *p, cg_value from, cg_value to, int64_t pairs)
{
    cg *g = p->j->g;
    cg_loop l;

    if (!pairs)
        return;
    glow_cg_for(g, &l, pairs);
    from = glow_cg_at(g, from, cg_mulc(g, l.i, 2 * p->row));
    to = glow_cg_at(g, to, cg_mulc(g, l.i, CPU_MATRIX_LANES * 4));
    pack_pair(p, from, to, false);
    glow_cg_loop_end(g, &l, NULL);
}

/*
 * The last unit, which overlaps the one before it: the elements that both have
 * get zero weights here.
 */
static void
pack_last(const panel *p, cg_value from, cg_value to)
{
    cg *g = p->j->g;
    const cpu_matrix *m = p->m;
    int64_t done, last = glow_cpu_matrix_last(m, &done), row = p->row;
    int64_t pair = CPU_MATRIX_LANES * 4, zeros = done / 2;
    glow_type words = glow_type_of(GLOW_BFLOAT16, GLOW_DIMS_OF(1));

    from = glow_cg_atc(g, from, last * row);
    for (int n = 0; n < halves(p) * m->parts && zeros; n++)
        glow_cpu_fill(
            g, (cg_tensor){glow_cg_atc(g, to, n * half_bytes(p)), &words},
            zeros * CPU_MATRIX_LANES * 2, LLVMConstNull(g->i16));
    if (done % 2) {
        cg_value first = glow_cg_atc(g, from, 2 * zeros * row);

        pack_pair(p, first, glow_cg_atc(g, to, zeros * pair), true);
    }
    zeros += done % 2;
    from = glow_cg_atc(g, from, 2 * zeros * row);
    to = glow_cg_atc(g, to, zeros * pair);
    pack_pairs(p, from, to, m->unit / 2 - zeros);
}

cg_value
glow_cpu_matrix_pack_panel(cpu_job *j, const cpu_matrix *m, cg_value from,
                           int64_t row, int columns, cg_value to)
{
    cg *g = j->g;
    panel p = {.j = j, .m = m, .row = row, .columns = columns};
    int64_t done, bytes = half_bytes(&p) * halves(&p) * m->parts;
    int64_t units = m->depth / m->unit;
    LLVMTypeRef t = glow_cg_vector(g->i32, CPU_MATRIX_LANES);
    cg_value first, unsafe;
    cg_loop l;

    for (int n = 0; n < 2 && m->parts > 1; n++) {
        p.seen[n] = glow_cpu_parts_begin(g);
        cg_set(g, p.seen[n].most, LLVMConstNull(t));
        cg_set(g, p.seen[n].least, LLVMConstAllOnes(t));
    }
    glow_cpu_matrix_last(m, &done);
    glow_cg_for(g, &l, units);
    first = glow_cg_at(g, from, cg_mulc(g, l.i, m->unit * p.row));
    pack_pairs(&p, first, glow_cg_at(g, to, cg_mulc(g, l.i, bytes)),
               m->unit / 2);
    glow_cg_loop_end(g, &l, NULL);
    if (done)
        pack_last(&p, from, glow_cg_atc(g, to, units * bytes));
    if (m->parts == 1)
        return NULL;
    unsafe = glow_cpu_parts_unsafe_columns(g, &p.seen[0]);
    return cg_or(g, unsafe, glow_cpu_parts_unsafe_columns(g, &p.seen[1]));
}
