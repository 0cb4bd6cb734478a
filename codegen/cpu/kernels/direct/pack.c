/*
 * Packs constant weights at compile time, in the order in which the tiles read
 * them.
 */

#include "codegen/cpu/kernels/direct/dots.h"
#include "codegen/cpu/kernels/direct/narrow.h"
#include "codegen/cpu/kernels/direct/shape.h"

typedef cpu_direct direct;
typedef cpu_shape shape;

/*
 * Packs outputs `first` to `end` of the weights at element `at`, with zeros
 * beyond the last output.
 */
static void *
pack_floats(const direct *d, const cpu_filter *src, int64_t at, int64_t second,
            int64_t first, int64_t end, void *start)
{
    float *to = start;
    const glow_tensor *from = src->from;
    int64_t last = end < d->outputs ? end : d->outputs;

    (void)second;
    if (from->type->elem == GLOW_FLOAT) {
        const float *x = (const float *)from->data + at;

        for (int64_t o = first; o < last; o++)
            *to++ = x[o * src->output];
    } else {
        for (int64_t o = first; o < last; o++)
            *to++ = (float)glow_get_double(from, at + o * src->output);
    }
    for (int64_t o = last; o < end; o++)
        *to++ = 0.0f;
    return to;
}

typedef void *(*pack_fn)(const direct *d, const cpu_filter *src, int64_t at,
                         int64_t second, int64_t first, int64_t end, void *to);

/*
 * Argument `second` of the packing function at element `k` of the depth: live
 * lanes for dot products, the distance to the second number of a pair (0: none)
 * for pairs.
 */
static int64_t
second_of(const direct *d, const cpu_filter *src, int64_t k)
{
    bool whole = !(d->form.odd && k == d->channels - 1);

    if (d->form.dots)
        return whole ? d->form.dots : d->form.tail;
    return d->form.numbers == CPU_PAIRS && whole ? src->depth : 0;
}

/* Depths `from` to `end` of a group of `blocks` vectors of outputs. */
static void *
pack_part(const direct *d, const shape *s, const cpu_filter *src, int64_t group,
          int64_t vector, int blocks, int64_t from, int64_t end, void *to)
{
    pack_fn pack = d->form.numbers == CPU_FLOATS ? pack_floats
                   : d->form.dots                ? glow_cpu_pack_dots
                                                 : glow_cpu_pack_narrow;
    bool pairs = d->form.numbers == CPU_PAIRS;
    int64_t depth = src->depth * (d->form.dots ? d->form.dots : pairs ? 2 : 1);

    for (int64_t i = 0; i < d->kernel_h; i++)
        for (int64_t c = from; c < end; c += s->unit) {
            int64_t left = end - c;
            int64_t count = left < s->unit ? left : s->unit;

            for (int64_t j = 0; j < d->kernel_w; j++)
                for (int64_t k = c; k < c + count; k++)
                    to = pack(d, src,
                              src->first + group * src->group + i * src->row +
                                  k * depth + j * src->tap,
                              second_of(d, src, k), vector * s->lanes,
                              (vector + blocks) * s->lanes, to);
        }
    return to;
}

static void *
pack_group(const direct *d, const shape *s, const cpu_filter *src,
           int64_t group, int64_t vector, int blocks, void *to)
{
    int64_t part = d->flat.cut ? d->flat.cut : d->channels;

    for (int64_t c = 0; c < d->channels; c += part) {
        int64_t end = c + part < d->channels ? c + part : d->channels;

        to = pack_part(d, s, src, group, vector, blocks, c, end, to);
    }
    return to;
}

void *
glow_cpu_pack_direct(const cpu_target *t, const direct *from,
                     const cpu_filter *src, void *to)
{
    direct d = glow_cpu_flattened(t, *from);
    shape s = glow_cpu_direct_shape(t, &d);

    for (int64_t g = 0; g < d.groups; g++) {
        for (int64_t k = 0; k < s.full; k++)
            to = pack_group(&d, &s, src, g, k * s.blocks, s.blocks, to);
        if (s.rest)
            to = pack_group(&d, &s, src, g, s.full * s.blocks, s.rest, to);
    }
    return to;
}
