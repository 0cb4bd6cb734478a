/* Lines of input, copied to scratch with pads, as the instruction takes them. */

#include "codegen/cpu/kernels/integer/integer.h"

#define UNROLLED 4 /* vectors or pixels of a loop */

typedef cpu_integer integer;

typedef struct copying {
    cpu_job *j;
    const integer *s;
    int bytes; /* of an element as it is read */
} copying;

cg_value
glow_cpu_integer_convert(cg *g, const integer *s, cg_value x)
{
    bool is_signed = s->x->elem == GLOW_INT8Q;
    cpu_dot form = s->form;
    LLVMTypeRef t = glow_cg_like(x, g->i16);

    if (form == CPU_DOT_TILES)
        return x;
    if (glow_cg_dot_bytes(form) == 1)
        return is_signed == glow_cg_dot_signed(form)
                   ? x
                   : cg_xor(g, x, glow_cg_int(LLVMTypeOf(x), 0x80));
    x = is_signed ? LLVMBuildSExt(g->builder, x, t, "")
                  : LLVMBuildZExt(g->builder, x, t, "");
    return cg_isub(g, x, glow_cg_int(t, s->x->offset));
}

/* A vector of the value of taps outside of the input: z. */
static cg_value
pad_vector(const copying *c, int lanes)
{
    cg *g = c->j->g;
    LLVMTypeRef t = c->bytes == 1 ? g->i8 : g->i16;

    return glow_cg_int(glow_cg_vector(t, lanes), c->s->x_zero);
}

/* `lanes` elements at element `at`: of the pad if `from` is NULL. */
static void
copy_vector(const copying *c, cg_value from, cg_value to, cg_value at,
            int lanes)
{
    cg *g = c->j->g;
    cg_value v = from ? glow_cpu_integer_convert(
                            g, c->s,
                            glow_cg_load_raw(g, glow_cg_vector(g->i8, lanes),
                                             glow_cg_at(g, from, at)))
                      : pad_vector(c, lanes);

    glow_cg_store_raw(g, v, glow_cg_at(g, to, cg_mulc(g, at, c->bytes)));
}

/* `count` elements: UNROLLED vectors at a time, vectors, then halves of them. */
static void
copy_elements(const copying *c, cg_value from, cg_value to, int64_t count)
{
    cg *g = c->j->g;
    int lanes = g->target->dot_bytes / c->bytes;
    int64_t step = UNROLLED * lanes, done = count / step * step;
    cg_loop l;

    if (done) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, done), step, NULL, 0);
        for (int i = 0; i < UNROLLED; i++)
            copy_vector(c, from, to, cg_addc(g, l.i, i * lanes), lanes);
        glow_cg_loop_end(g, &l, NULL);
    }
    for (; lanes; lanes /= 2)
        for (; done + lanes <= count; done += lanes)
            copy_vector(c, from, to, cg_i64(g, done), lanes);
}

/* Pixel `i`, which lies apart from the next. */
static void
copy_pixel(const copying *c, cg_value from, cg_value to, cg_value i)
{
    cg *g = c->j->g;
    const integer *s = c->s;

    if (from)
        from = glow_cg_at(g, from, cg_mulc(g, i, s->in_pixel));
    copy_elements(c, from, glow_cg_at(g, to, cg_mulc(g, i, s->pixel)),
                  s->groups * s->channels);
}

/* `pixels` pixels, which are contiguous or not. */
static void
copy_pixels(const copying *c, cg_value from, cg_value to, int64_t pixels)
{
    cg *g = c->j->g;
    const integer *s = c->s;
    int64_t all = s->groups * s->channels, done;
    cg_loop l;

    if (pixels <= 0)
        return;
    if (s->pixel == all * c->bytes && (!from || s->in_pixel == all)) {
        copy_elements(c, from, to, pixels * all);
        return;
    }
    done = pixels / UNROLLED * UNROLLED;
    if (done) {
        glow_cg_loop(g, &l, cg_i64(g, 0), cg_i64(g, done), UNROLLED, NULL, 0);
        for (int i = 0; i < UNROLLED; i++)
            copy_pixel(c, from, to, cg_addc(g, l.i, i));
        glow_cg_loop_end(g, &l, NULL);
    }
    for (; done < pixels; done++)
        copy_pixel(c, from, to, cg_i64(g, done));
}

/* The line of input at `from`, between pads. */
static void
copy_line(const copying *c, cg_value from, cg_value to)
{
    cg *g = c->j->g;
    const integer *s = c->s;
    const cpu_window_axis *a = &s->axis[2];
    int64_t left = a->start > 0 ? a->start : 0, skip = left - a->start;
    int64_t there = a->in - skip;

    if (left > s->width)
        left = s->width;
    if (there > s->width - left)
        there = s->width - left;
    if (there < 0)
        there = 0;
    copy_pixels(c, NULL, to, left);
    from = glow_cg_atc(g, from, skip * s->in_pixel);
    to = glow_cg_atc(g, to, left * s->pixel);
    copy_pixels(c, from, to, there);
    copy_pixels(c, NULL, glow_cg_atc(g, to, there * s->pixel),
                s->width - left - there);
}

static cg_value
is_inside(cg *g, cg_value at, int64_t size)
{
    return cg_icmp(g, LLVMIntULT, at, cg_i64(g, size));
}

/* Lines `low` to `high` of plane `z` of the input, any of which may be outside. */
static void
copy_plane(const copying *c, cg_value image, cg_value z, cg_value low,
           cg_value high, cg_value to)
{
    cg *g = c->j->g;
    const integer *s = c->s;
    int64_t pixels = s->axis[2].in, line = pixels * s->in_pixel;
    cg_if inside, outside;
    cg_value is, at, y;
    cg_loop l;

    glow_cg_loop(g, &l, low, high, 1, NULL, 0);
    y = cg_addc(g, l.i, -s->axis[1].start);
    at = glow_cg_at(g, to, cg_mulc(g, cg_sub(g, l.i, low), s->line));
    is = is_inside(g, y, s->axis[1].in);
    is = cg_and(g, is, is_inside(g, z, s->axis[0].in));
    glow_cg_if(g, &inside, is);
    y = cg_affine(g, z, s->axis[1].in * line, y, line);
    copy_line(c, glow_cg_at(g, image, y), at);
    glow_cg_end_if(g, &inside);
    glow_cg_if(g, &outside, LLVMBuildNot(g->builder, is, ""));
    copy_pixels(c, NULL, at, s->width);
    glow_cg_end_if(g, &outside);
    glow_cg_loop_end(g, &l, NULL);
}

/* Tiles `first` to `end` of flat pixels. */
static void
copy_flat(const copying *c, cg_value image, cg_value first, cg_value end)
{
    cg *g = c->j->g;
    const integer *s = c->s;
    int64_t tile = s->rows * s->in_pixel;
    cg_value from, to;
    cg_if last;
    cg_loop l;

    glow_cg_loop_guarded(
        g, &l, first,
        glow_cg_imin(g, end, cg_i64(g, s->lines - (s->last_rows != s->rows))),
        1, NULL, 0);
    from = glow_cg_at(g, image, cg_mulc(g, l.i, tile));
    to = glow_cg_at(g, c->j->scratch,
                    cg_mulc(g, cg_sub(g, l.i, first), s->line));
    copy_pixels(c, from, to, s->rows);
    glow_cg_loop_end(g, &l, NULL);
    if (s->last_rows == s->rows)
        return;
    glow_cg_if(g, &last, cg_icmp(g, LLVMIntEQ, end, cg_i64(g, s->lines)));
    from = glow_cg_atc(g, image, (s->lines - 1) * tile);
    to = cg_mulc(g, cg_sub(g, cg_i64(g, s->lines - 1), first), s->line);
    copy_pixels(c, from, glow_cg_at(g, c->j->scratch, to), s->last_rows);
    glow_cg_end_if(g, &last);
}

cg_value
glow_cpu_integer_copy(cpu_job *j, const integer *s, cg_value image, cg_value z,
                      cg_value first, cg_value end)
{
    cg *g = j->g;
    const cpu_window_axis *a = &s->axis[1];
    copying c = {j, s, glow_cg_dot_bytes(s->form)};
    int64_t over = (a->kernel - 1) * a->dilation + 1 - a->stride;
    int64_t plane = glow_cpu_integer_copied(s) * s->line;
    cg_value low, high;

    if (s->flat) {
        copy_flat(&c, image, first, end);
        return j->scratch;
    }
    low = cg_mulc(g, first, a->stride);
    high = cg_addc(g, cg_mulc(g, end, a->stride), over);
    for (int64_t k = 0; k < s->axis[0].kernel; k++) {
        cg_value from = cg_addc(g, z, k * s->axis[0].dilation);

        copy_plane(&c, image, from, low, high,
                   glow_cg_atc(g, j->scratch, k * plane));
    }
    return j->scratch;
}
