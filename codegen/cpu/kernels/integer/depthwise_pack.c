/*
 * Weights and columns of depthwise convolutions of quantized elements, packed at compile
 * time.
 *
 *     [block of channels][group of taps][vector of sums][lane][element of the group]
 *     columns, or the term -z sum w of each channel
 */

#include <string.h>

#include "codegen/cpu/kernels/integer/depthwise.h"

typedef cpu_integer integer;

int64_t
glow_cpu_depthwise_packed_size(const integer *s)
{
    int64_t columns = glow_cpu_depthwise_columns(s);

    return glow_cpu_depthwise_weights(s) +
           (s->columns ? glow_cpu_integer_column_bytes(s, columns)
                       : 4 * columns);
}

/* A vector of weights of the group of taps from `x` and `line` on. */
static uint8_t *
pack_vector(const integer *s, const glow_tensor *from,
            const cpu_depthwise_block *b, int64_t x, int64_t line, int sum,
            uint8_t *to)
{
    int bytes = glow_cpu_integer_weight_bytes(s), tap, below;
    cpu_depthwise_groups g = glow_cpu_depthwise_grouping(s);

    for (int l = 0; l < b->lanes; l++)
        for (int e = 0; e < s->group; e++) {
            int64_t c = glow_cpu_depthwise_natural(s, sum, l);
            bool is;
            int16_t w;

            glow_cpu_depthwise_element(s, &g, line, e, &tap, &below);
            is = c < b->live &&
                 glow_cpu_depthwise_has_tap(s, x + tap, line + below);
            w = is ? (int16_t)glow_cpu_integer_weight(
                         s, from,
                         (b->first + c) * s->step.output +
                             (line + below) * s->step.row +
                             (x + tap) * s->step.tap)
                   : 0;

            if (bytes == 1)
                *to = (uint8_t)w;
            else
                memcpy(to, &w, 2);
            to += bytes;
        }
    return to;
}

static int64_t
sum_of(const integer *s, const glow_tensor *from, int64_t c)
{
    int64_t taps = glow_cpu_depthwise_lines(s) * s->axis[2].kernel, sum = 0;

    for (int64_t i = 0; i < taps && c < s->groups; i++)
        sum += glow_cpu_integer_weight(s, from, c * taps + i);
    return sum;
}

/* The terms -z sum w of all channels. */
static void
pack_terms(const integer *s, const glow_tensor *from, uint8_t *to)
{
    for (int64_t c = 0; c < glow_cpu_depthwise_columns(s); c++) {
        uint32_t term = 0u - (uint32_t)s->x_zero * (uint32_t)sum_of(s, from, c);

        memcpy(to + 4 * c, &term, 4);
    }
}

/* The columns of all blocks, in the order of their sums. */
static void
pack_columns(const integer *s, const glow_node *n, const glow_tensor *from,
             uint8_t *to)
{
    cpu_integer_packer p =
        glow_cpu_integer_packer(s, n, glow_cpu_depthwise_columns(s), to);

    for (int64_t i = 0; i < glow_cpu_depthwise_blocks(s); i++) {
        cpu_depthwise_block b = glow_cpu_depthwise_block(s, i);

        for (int q = 0; q < b.sums; q++)
            for (int l = 0; l < b.lanes; l++) {
                int64_t c = b.first + glow_cpu_depthwise_natural(s, q, l);
                bool is = c < s->groups;

                glow_cpu_integer_pack_column(&p, is ? c : -1,
                                             sum_of(s, from, c));
            }
    }
}

void
glow_cpu_depthwise_pack(const integer *s, const glow_node *n,
                        const glow_tensor *from, void *start)
{
    uint8_t *to = start;

    cpu_depthwise_groups g = glow_cpu_depthwise_grouping(s);

    for (int64_t i = 0; i < glow_cpu_depthwise_blocks(s); i++) {
        cpu_depthwise_block b = glow_cpu_depthwise_block(s, i);

        for (int64_t k = 0; k < g.count; k++)
            for (int q = 0; q < b.sums; q++)
                to = pack_vector(s, from, &b, glow_cpu_depthwise_tap(s, &g, k),
                                 glow_cpu_depthwise_line(s, &g, k), q, to);
    }
    if (s->columns)
        pack_columns(s, n, from, to);
    else
        pack_terms(s, from, to);
}
