/*
 * Transforms constant filters at compile time, G w G', and packs them in the
 * order in which the tiles read them.
 */

#include <string.h>

#include "codegen/cpu/kernels/winograd/make.h"

int64_t
glow_cpu_winograd_size(const cpu_target *t, const glow_node *n)
{
    cpu_winograd w;
    cpu_product p;

    glow_cpu_winograd_choice(t, n, &w);
    p = glow_cpu_winograd_product(t, &w);
    return glow_cpu_winograd_weights(&p, &w);
}

/* Packed weights of a group of vectors of outputs, at point 0. */
typedef struct vectors {
    int64_t first; /* output */
    int64_t count; /* outputs, including padding */
    float *to;
    int64_t point; /* elements from one point to the next */
} vectors;

/* Filter [O, taps_h, taps_w, C] of a group of channels, which begins at `start`. */
static void
pack_vectors(const cpu_winograd *w, const glow_tensor *from, int64_t start,
             vectors v)
{
    cpu_form h_form = glow_cpu_form(w->m_w, w->taps_w);
    cpu_form v_form = glow_cpu_form(w->m_h, w->taps_h);
    int64_t count = w->taps_h * w->taps_w;
    double taps[CPU_MOST_SQUARE], points[CPU_MOST_SQUARE];

    for (int64_t c = 0; c < w->channels; c++)
        for (int64_t o = v.first; o < v.first + v.count; o++, v.to++) {
            if (o >= w->outputs)
                continue; /* they are zero */
            for (int64_t i = 0; i < count; i++)
                taps[i] = glow_get_double(
                    from, start + (o * count + i) * w->channels + c);
            glow_cpu_form_weights(&h_form, &v_form, taps, points);
            for (int64_t i = 0; i < glow_cpu_winograd_points(w); i++)
                v.to[i * v.point] = (float)points[i];
        }
}

void
glow_cpu_winograd_pack(const cpu_target *t, const glow_node *n,
                       const glow_tensor *from, void *to)
{
    cpu_winograd w;
    cpu_product p;
    int64_t group, point, taps;

    glow_cpu_winograd_choice(t, n, &w);
    p = glow_cpu_winograd_product(t, &w);
    group = glow_cpu_winograd_weights(&p, &w) / w.groups / 4;
    point = group / glow_cpu_winograd_points(&w);
    taps = w.taps_h * w.taps_w * w.channels;
    memset(to, 0, (size_t)(group * w.groups * 4));
    for (int64_t g = 0; g < w.groups; g++)
        for (int64_t k = 0; k < p.full + (p.rest > 0); k++) {
            int64_t outputs = p.blocks * p.lanes;
            vectors v = {.first = k * outputs,
                         .count = k < p.full ? outputs : p.rest * p.lanes,
                         .to =
                             (float *)to + g * group + k * outputs * w.channels,
                         .point = point};

            pack_vectors(&w, from, g * w.outputs * taps, v);
        }
}
