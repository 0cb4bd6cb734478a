/*
 * The output transform of Winograd's convolution, A' p A.  The results are
 * passed in registers to glow_cpu_finish.
 */

#include "codegen/cpu/kernels/winograd/make.h"

typedef cpu_winograd_maker maker;

/*
 * Stores line `i` of a tile; `half` is the line after the transform along
 * columns.
 */
static void
finish_line(maker *m, int i, const bool *exists, cg_value const *half,
            cg_value bias, cg_value channel, int lanes)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    cg_value y[CPU_MOST_POINTS], row;
    cg_if s;
    int64_t last = w->phases_h - 1 + (w->tiles_h - 1) * w->m_h * w->apart_h;
    bool guarded = last + i * w->apart_h >= w->out_h;

    if (guarded)
        glow_cg_if(g, &s,
                   cg_icmp(g, LLVMIntSLT, cg_addc(g, m->y, i * w->apart_h),
                           cg_i64(g, w->out_h)));
    row = cg_add(g, cg_mulc(g, m->image, w->out_h), m->y);
    row = cg_add(g, cg_mulc(g, row, w->out_w), m->x);
    glow_cpu_form_output(g, &m->form_w, half, y);
    for (int k = 0; k < w->m_w; k++) {
        cg_value v = bias ? cg_fadd(g, y[k], bias) : y[k];
        int64_t plus = i * w->apart_h * w->out_w + k * w->apart_w;

        if (exists[k])
            glow_cpu_finish(m->j, (cpu_place){row, channel, plus, 0},
                            glow_cg_first(g, v, lanes));
    }
    if (guarded)
        glow_cg_end_if(g, &s);
}

static void
transform(maker *m, cg_value channel, int lanes, const void *what)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const cpu_span *span = what;
    LLVMTypeRef t = glow_cg_vector(g->f32, lanes);
    cg_value half[CPU_MOST_POINTS][CPU_MOST_POINTS];
    cg_value x[CPU_MOST_POINTS], y[CPU_MOST_POINTS], bias = NULL;
    cg_value from = glow_cg_at(g, m->products,
                               cg_affine(g, m->tile, w->out_pitch, channel, 4));

    channel = cg_add(g, channel, cg_mulc(g, m->group, w->outputs));
    if (m->j->in[2].at)
        bias = glow_cg_load(g, m->j->in[2], channel, lanes);
    for (int k = 0; k < w->n_w; k++) {
        for (int i = 0; i < w->n_h; i++)
            x[i] = glow_cg_load_raw(
                g, t, glow_cg_atc(g, from, (i * w->n_w + k) * w->out_plane));
        glow_cpu_form_output(g, &m->form_h, x, y);
        for (int i = 0; i < w->m_h; i++)
            half[i][k] = y[i];
    }
    for (int i = 0; i < w->m_h; i++)
        finish_line(m, i, span->run.valid, half[i], bias, channel, lanes);
}

static void
finish_tile(maker *m, const cpu_span *span)
{
    cg *g = m->j->g;
    int64_t size = m->p.blocks * m->p.lanes;

    if (!span->run.valid[0])
        return; /* a smaller phase has no such tile */

    cg_value first = cg_mulc(g, m->output0, size);
    cg_value end = cg_mulc(g, m->output1, size);

    glow_cpu_winograd_each_vector(m, first, end, m->w.outputs, transform, span);
}

void
glow_cpu_winograd_output(maker *m, const cpu_spans *spans)
{
    glow_cpu_winograd_each(m, spans, finish_tile);
}
