/*
 * The input transform of Winograd's convolution, B' x B.
 *
 * Columns of pixels outside of the image are known at compile time, and
 * skipped; lines above and below it are read from a line of zeros.
 */

#include "codegen/cpu/kernels/winograd/make.h"

typedef cpu_winograd_maker maker;

/*
 * Pixels of a tile: the address of each line, and which columns are inside of
 * the image.
 */
typedef struct pixels {
    cg_value line[CPU_MOST_POINTS];
    const bool *valid;
} pixels;

/* True if line `i` of every tile is within the image. */
static bool
always_within(const cpu_winograd *w, int i)
{
    int64_t first = i * w->apart_h - w->pad_h;
    int64_t last = w->phases_h - 1 + (w->tiles_h - 1) * w->m_h * w->apart_h;

    return first >= 0 && last + first < w->in_h;
}

static pixels
pixels_of(maker *m, const cpu_run *run)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    pixels p = {.valid = run->valid};
    cg_value x = cg_addc(g, m->x, -w->pad_w);

    for (int i = 0; i < w->n_h; i++) {
        cg_value y = cg_addc(g, m->y, i * w->apart_h - w->pad_h);
        cg_value at = cg_add(g, cg_mulc(g, m->image, w->in_h), y);
        cg_value from;

        at = cg_add(g, cg_mulc(g, at, w->in_w), x);
        from = glow_cg_at(g, m->in, cg_mulc(g, at, w->pixel));
        if (!always_within(w, i)) {
            cg_value low = cg_icmp(g, LLVMIntSGE, y, cg_i64(g, 0));
            cg_value high = cg_icmp(g, LLVMIntSLT, y, cg_i64(g, w->in_h));

            from = cg_select(g, cg_and(g, low, high), from, m->zeros);
        }
        p.line[i] = from;
    }
    return p;
}

/* All points of a tile for the channels from `channel` on. */
static void
transform(maker *m, cg_value channel, int lanes, const void *what)
{
    cg *g = m->j->g;
    const cpu_winograd *w = &m->w;
    const pixels *p = what;
    LLVMTypeRef t = glow_cg_vector(g->f32, lanes);
    cg_value half[CPU_MOST_POINTS][CPU_MOST_POINTS];
    cg_value x[CPU_MOST_POINTS], y[CPU_MOST_POINTS];
    const glow_type *type = m->j->in[0].type;
    cg_value to =
        glow_cg_at(g, m->v, cg_affine(g, m->tile, w->in_pitch, channel, 4));

    for (int k = 0; k < w->n_w; k++) {
        for (int i = 0; i < w->n_h; i++)
            x[i] = p->valid[k]
                       ? glow_cg_load(
                             g,
                             (cg_tensor){glow_cg_atc(g, p->line[i],
                                                     k * w->apart_w * w->pixel),
                                         type},
                             channel, lanes)
                       : NULL;
        glow_cpu_form_input(g, &m->form_h, x, y);
        for (int i = 0; i < w->n_h; i++)
            half[i][k] = y[i];
    }
    for (int i = 0; i < w->n_h; i++) {
        glow_cpu_form_input(g, &m->form_w, half[i], y);
        for (int k = 0; k < w->n_w; k++)
            glow_cg_store_raw(
                g, y[k] ? y[k] : LLVMConstNull(t),
                glow_cg_atc(g, to, (i * w->n_w + k) * w->in_plane));
    }
}

static void
transform_tile(maker *m, const cpu_span *span)
{
    pixels p = pixels_of(m, &span->run);

    glow_cpu_winograd_each_vector(m, cg_i64(m->j->g, 0),
                                  cg_i64(m->j->g, m->w.channels), m->w.channels,
                                  transform, &p);
}

void
glow_cpu_winograd_input(maker *m, const cpu_spans *spans)
{
    glow_cpu_winograd_each(m, spans, transform_tile);
}
