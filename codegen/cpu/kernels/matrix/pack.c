/*
 * Packing of constant weights for matrix registers, in the order in which they are read:
 * for each group of channels, unit of the depth, row of taps and tap, or these before the
 * units, one or two matrices, whose rows are a pair of the depth for each channel.
 */

#include <string.h>

#include "codegen/cpu/kernels/matrix/matrix.h"

typedef cpu_direct direct;
typedef cpu_matrix matrix;

/* A row of taps in the filter. */
typedef struct row {
    const matrix *m;
    const cpu_filter *filter;
    int64_t at; /* element of the filter, of output 0, at the first tap */
    bool safe;  /* weights of float have two parts */
} row;

/*
 * Address of the weight of element `e` of the depth for output 0; NULL for
 * elements before `first` and for channels of padding, whose weights are zero.
 */
static const char *
weights_of(const row *r, int64_t e, int64_t first)
{
    const matrix *m = r->m;
    int64_t tap = e / m->channels, channel = e % m->channels;

    if (e < first || channel >= m->d.channels)
        return NULL;
    return (const char *)r->filter->from->data +
           (r->at + tap * r->filter->tap + channel * r->filter->depth) *
               glow_cg_bytes(m->d.type);
}

/*
 * Packs one half of each pair, every second element of `to`: part `part` of outputs
 * from `o` on, and zeros beyond the last.
 */
static void
pack_outputs(const row *r, const char *from, int64_t o, int part, uint16_t *to)
{
    int64_t there = r->m->d.outputs - o, step = r->filter->output;
    uint16_t narrow[CPU_MOST_PARTS] = {0};

    for (int c = 0; c < CPU_MATRIX_LANES; c++) {
        to[2 * c] = 0;
        if (!from || c >= there)
            continue;
        if (r->m->parts == 1) {
            memcpy(narrow, from + (o + c) * step * 2, 2);
        } else {
            float w = glow_cpu_matrix_weight(&r->m->d, from, (o + c) * step);

            glow_cpu_matrix_parts_of(w, r->safe, narrow);
        }
        to[2 * c] = narrow[part];
    }
}

/*
 * Packs the unit of the depth that begins at `e`, with zeros for elements
 * before `first`; returns the end.
 */
static uint16_t *
pack_unit(const row *r, int64_t e, int64_t first, int64_t group, uint16_t *to)
{
    int64_t o = group * CPU_MATRIX_COLUMNS;

    int beside = glow_cpu_matrix_beside(r->m, group);

    for (int i = 0; i < beside * r->m->parts; i++)
        for (int64_t k = e; k < e + r->m->unit; k += 2) {
            int64_t from = o + i % beside * CPU_MATRIX_LANES;

            pack_outputs(r, weights_of(r, k, first), from, i / beside, to);
            pack_outputs(r, weights_of(r, k + 1, first), from, i / beside,
                         to + 1);
            to += 2 * CPU_MATRIX_LANES;
        }
    return to;
}

/* Group `k` of channels, counted over cuts and groups of the convolution. */
static uint16_t *
pack_group(const matrix *m, const cpu_filter *filter, int64_t k, bool safe,
           uint16_t *to)
{
    int64_t done, last = glow_cpu_matrix_last(m, &done), g = k % m->groups;
    int64_t cut = k / m->groups % m->cuts, whole = m->depth / m->unit;
    int64_t taps = m->d.kernel_h * m->taps, units = whole + (done > 0);

    for (int64_t i = 0; i < taps * units; i++) {
        int64_t tap = m->taps_within ? i % taps : i / units;
        int64_t unit = m->taps_within ? i / taps : i % units;
        row r = {m, filter,
                 filter->first + k / m->groups / m->cuts * filter->group +
                     tap / m->taps * filter->row + tap % m->taps * filter->tap +
                     cut * m->channels * filter->depth,
                 safe};

        if (unit < whole)
            to = pack_unit(&r, unit * m->unit, 0, g, to);
        else
            to = pack_unit(&r, last, last + done, g, to);
    }
    return to;
}

void
glow_cpu_pack_matrix(const cpu_target *t, const direct *d,
                     const cpu_filter *filter, void *start)
{
    uint16_t *to = start;
    bool safe = true;
    matrix m;

    if (!glow_cpu_matrix_of(t, d, &m))
        return;
    if (m.parts > 1)
        safe = glow_cpu_matrix_weights_safe(d, filter);
    for (int64_t k = 0; k < d->groups * m.cuts * m.groups; k++)
        to = pack_group(&m, filter, k, safe, to);
    if (m.parts > 1)
        memcpy(to, &(uint32_t[CPU_LINE / 4]){!safe}, CPU_LINE);
}
