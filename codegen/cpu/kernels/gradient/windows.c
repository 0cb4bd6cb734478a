/*
 * Copies the elements under each window side by side, with zeros for what is outside
 * of the input.
 *
 * A line of taps that lies in the input is one run of elements, if taps are not apart;
 * windows whose lines do not are zeroed first, and get what there is tap by tap.
 */

#include "codegen/cpu/kernels/gradient/filter.h"

typedef struct copier {
    cpu_job *j;
    const cpu_filter_grad *f;
    cg_value in, to; /* addresses: of the image and group, of the window */
    cg_value line;   /* of the input */
    int64_t run;     /* elements of a line of taps */
} copier;

static void
copy_run(cg *g, cg_value to, cg_value from, int64_t count, int lanes)
{
    for (int64_t i = 0; i < count; i += lanes) {
        LLVMTypeRef t = glow_cg_vector(g->f32, lanes);
        cg_value v = LLVMConstNull(t);

        g->live = count - i < lanes ? (int)(count - i) : 0;
        if (from)
            v = glow_cg_load_raw(g, t, glow_cg_atc(g, from, i * 4));
        glow_cg_store_raw(g, v, glow_cg_atc(g, to, i * 4));
        g->live = 0;
    }
}

/* The address of the input under tap `tap` of window `window` of the line. */
static cg_value
source(const copier *c, cg_value window, cg_value tap)
{
    cg *g = c->j->g;
    const cpu_window_axis *h = &c->f->w.axis[2];
    cg_value at = cg_affine(g, window, h->stride, tap, h->dilation);

    at = cg_addc(g, at, -h->start);
    at = cg_add(g, cg_mulc(g, c->line, h->in), at);
    return glow_cg_at(g, c->in, cg_mulc(g, at, c->f->w.channels * 4));
}

/* Taps `first` to `last` of a line, one after the other. */
static void
copy_taps(const copier *c, cg_value window, cg_value to, cg_value first,
          cg_value last)
{
    cg *g = c->j->g;
    int64_t channels = c->f->channels;
    cg_loop l;

    glow_cg_loop_guarded(g, &l, first, last, 1, NULL, 0);
    to = glow_cg_at(g, to, cg_mulc(g, l.i, channels * 4));
    copy_run(g, to, source(c, window, l.i), channels, c->f->lanes);
    glow_cg_loop_end(g, &l, NULL);
}

/* A line of taps of the windows from `first` to `end`, which have all of them or not. */
static void
copy_windows(const copier *c, cg_value to, cg_value first, cg_value end,
             cg_value block, bool whole)
{
    cg *g = c->j->g;
    const cpu_filter_grad *f = c->f;
    const cpu_window_axis *h = &f->w.axis[2];
    bool dense = h->dilation == 1 && f->channels == f->w.channels;
    cg_loop l;

    glow_cg_loop_guarded(g, &l, first, end, 1, NULL, 0);
    to = glow_cg_at(g, to, cg_mulc(g, cg_sub(g, l.i, block), f->copied * 4));
    if (whole && dense) {
        copy_run(g, to, source(c, l.i, cg_i64(g, 0)), c->run, f->lanes);
    } else if (whole) {
        copy_taps(c, l.i, to, cg_i64(g, 0), cg_i64(g, h->kernel));
    } else {
        cpu_taps t = glow_cpu_taps(g, h, l.i, 0, h->in);

        copy_run(g, to, NULL, c->run, f->lanes);
        copy_taps(c, l.i, to, t.first, t.last);
    }
    glow_cg_loop_end(g, &l, NULL);
}

/* The first window whose taps are all in the input, and the first behind them. */
static void
whole_windows(const cpu_window_axis *h, int64_t *first, int64_t *end)
{
    int64_t span = (h->kernel - 1) * h->dilation;
    int64_t room = h->in - 1 - span + h->start;

    *first = cg_ceil_div(h->start, h->stride);
    *end = room >= 0 ? room / h->stride + 1 : 0;
    *first = *first < h->out ? *first : h->out;
    *end = *end < h->out ? *end : h->out;
    *end = *end > *first ? *end : *first;
}

/* Line `tap` of taps, of all windows of a line of the result. */
static void
copy_line(const copier *c, const cpu_filter_block *b, cg_value to)
{
    cg *g = c->j->g;
    const cpu_window_axis *h = &c->f->w.axis[2];
    int64_t whole[2];
    cg_value first, end;

    whole_windows(h, &whole[0], &whole[1]);
    first = glow_cg_imin(g, glow_cg_imax(g, cg_i64(g, whole[0]), b->window[0]),
                         b->window[1]);
    end = glow_cg_imax(g, glow_cg_imin(g, cg_i64(g, whole[1]), b->window[1]),
                       first);
    if (whole[0] > 0)
        copy_windows(c, to, b->window[0], first, b->window[0], false);
    copy_windows(c, to, first, end, b->window[0], true);
    if (whole[1] < h->out)
        copy_windows(c, to, end, b->window[1], b->window[0], false);
}

void
glow_cpu_copy_windows(cpu_job *j, const cpu_filter_grad *f,
                      const cpu_filter_block *b, cg_value group)
{
    cg *g = j->g;
    const cpu_window_axis *v = &f->w.axis[1], *h = &f->w.axis[2];
    copier c = {.j = j, .f = f, .run = h->kernel * f->channels};
    cg_value width = cg_sub(g, b->window[1], b->window[0]), number, inside;
    cg_value lines = cg_sub(g, b->line[1], b->line[0]);
    cg_loop image, line, tap, zero;
    cg_if s;

    glow_cg_loop(g, &image, b->image[0], b->image[1], 1, NULL, 0);
    glow_cg_loop(g, &line, b->line[0], b->line[1], 1, NULL, 0);
    number = cg_mul(g, cg_sub(g, image.i, b->image[0]), lines);
    number = cg_add(g, number, cg_sub(g, line.i, b->line[0]));
    c.to = glow_cg_at(g, j->scratch,
                      cg_mulc(g, cg_mul(g, number, width), f->copied * 4));
    c.in = glow_cg_at(g, j->in[0].at,
                      cg_mulc(g, image.i, v->in * h->in * f->w.channels * 4));
    c.in = glow_cg_at(g, c.in, cg_mulc(g, group, f->channels * 4));
    glow_cg_for(g, &tap, v->kernel);
    c.line = cg_affine(g, line.i, v->stride, tap.i, v->dilation);
    c.line = cg_addc(g, c.line, -v->start);

    cg_value to = glow_cg_at(g, c.to, cg_mulc(g, tap.i, c.run * 4));

    inside = cg_icmp(g, LLVMIntSGE, c.line, cg_i64(g, 0));
    inside =
        cg_and(g, inside, cg_icmp(g, LLVMIntSLT, c.line, cg_i64(g, v->in)));
    glow_cg_if(g, &s, inside);
    copy_line(&c, b, to);
    glow_cg_end_if(g, &s);
    glow_cg_if(g, &s, LLVMBuildNot(g->builder, inside, ""));
    glow_cg_loop(g, &zero, cg_i64(g, 0), width, 1, NULL, 0);
    copy_run(g, glow_cg_at(g, to, cg_mulc(g, zero.i, f->copied * 4)), NULL,
             c.run, f->lanes);
    glow_cg_loop_end(g, &zero, NULL);
    glow_cg_end_if(g, &s);
    glow_cg_loop_end(g, &tap, NULL);
    glow_cg_loop_end(g, &line, NULL);
    glow_cg_loop_end(g, &image, NULL);
}
