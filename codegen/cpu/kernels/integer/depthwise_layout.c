/*
 * Layout of depthwise convolutions of quantized elements: groups of taps, blocks of
 * channels, blocks of lines.
 */

#include "codegen/cpu/kernels/integer/depthwise.h"

#define MOST_TAPS 64 /* unrolled */
#define PART 16      /* bytes within which vectors are interleaved */

typedef cpu_integer integer;

int64_t
glow_cpu_depthwise_lines(const integer *s)
{
    return s->axis[0].kernel * s->axis[1].kernel;
}

cpu_depthwise_groups
glow_cpu_depthwise_grouping(const integer *s)
{
    int64_t columns = s->axis[2].kernel;
    cpu_depthwise_groups g = {.whole = glow_cpu_depthwise_lines(s) / s->group,
                              .rest = glow_cpu_depthwise_lines(s) % s->group,
                              .down = 1};

    while (g.down < g.rest)
        g.down *= 2;
    g.across = s->group / g.down;
    g.count = columns * g.whole + (g.rest ? cg_ceil_div(columns, g.across) : 0);
    return g;
}

int64_t
glow_cpu_depthwise_tap(const integer *s, const cpu_depthwise_groups *g,
                       int64_t i)
{
    int64_t vertical = s->axis[2].kernel * g->whole;

    return i < vertical ? i / g->whole : (i - vertical) * g->across;
}

int64_t
glow_cpu_depthwise_line(const integer *s, const cpu_depthwise_groups *g,
                        int64_t i)
{
    int64_t vertical = s->axis[2].kernel * g->whole;

    return (i < vertical ? i % g->whole : g->whole) * s->group;
}

void
glow_cpu_depthwise_element(const integer *s, const cpu_depthwise_groups *g,
                           int64_t line, int e, int *tap, int *below)
{
    bool is_whole = line < g->whole * s->group;

    *tap = is_whole ? 0 : e / g->down;
    *below = is_whole ? e : e % g->down;
}

bool
glow_cpu_depthwise_has_tap(const integer *s, int64_t tap, int64_t line)
{
    return tap < s->axis[2].kernel && line < glow_cpu_depthwise_lines(s);
}

bool
glow_cpu_is_depthwise(const cpu_target *t, const integer *s)
{
    return t && t->dot_bytes >= PART && s->packed && !s->flat &&
           s->channels == 1 && s->outputs == 1 && s->groups > 1 &&
           glow_cpu_depthwise_lines(s) * s->axis[2].kernel <= MOST_TAPS;
}

int
glow_cpu_depthwise_most_channels(const integer *s)
{
    return s->lanes * 4 / glow_cg_dot_bytes(s->form);
}

cpu_depthwise_block
glow_cpu_depthwise_block(const integer *s, int64_t i)
{
    int bytes = glow_cg_dot_bytes(s->form);
    int most = glow_cpu_depthwise_most_channels(s), channels = most;
    int64_t left = s->groups - i * most;
    cpu_depthwise_block b = {.first = i * most,
                             .live = left < most ? (int)left : most};

    while (channels / 2 >= b.live && channels / 2 * bytes >= PART)
        channels /= 2;
    b.channels = channels;
    b.lanes = channels * bytes / 4;
    b.sums = 4 / bytes;
    b.weights = glow_cpu_depthwise_grouping(s).count * b.first * s->group *
                glow_cpu_integer_weight_bytes(s);
    return b;
}

int
glow_cpu_depthwise_natural(const integer *s, int sum, int lane)
{
    int part = PART / glow_cg_dot_bytes(s->form);

    return lane / 4 * part + sum * 4 + lane % 4;
}

int64_t
glow_cpu_depthwise_blocks(const integer *s)
{
    return cg_ceil_div(s->groups, glow_cpu_depthwise_most_channels(s));
}

int64_t
glow_cpu_depthwise_weights(const integer *s)
{
    int64_t last = glow_cpu_depthwise_blocks(s) - 1;
    cpu_depthwise_block b = glow_cpu_depthwise_block(s, last);

    return b.weights + glow_cpu_depthwise_grouping(s).count * b.channels *
                           s->group * glow_cpu_integer_weight_bytes(s);
}

int64_t
glow_cpu_depthwise_columns(const integer *s)
{
    cpu_depthwise_block last =
        glow_cpu_depthwise_block(s, glow_cpu_depthwise_blocks(s) - 1);

    /* Terms are made and read in vectors of s->lanes. */
    return cg_ceil_div(last.first + last.channels, s->lanes) * s->lanes;
}

/*
 * Lines are copied, because a group of elements never lies in a tap's run of one: those
 * of a block of channels, which the L1 cache holds.
 */
void
glow_cpu_depthwise_shape(integer *s)
{
    const cpu_window_axis *a = &s->axis[1];
    int64_t width = s->axis[2].out, over = (a->kernel - 1) * a->dilation;
    int64_t fits, least = 4 * over / a->stride;

    s->rows = (int)cg_ceil_div(width, cg_ceil_div(width, CPU_DEPTHWISE_PIXELS));
    s->by_panels = false;
    s->pixel =
        glow_cpu_depthwise_block(s, 0).channels * glow_cg_dot_bytes(s->form);
    s->line = s->width * s->pixel;
    fits = CPU_NEAR_BYTES / (s->line * s->axis[0].kernel);
    s->block = fits > over ? (fits - over - 1) / a->stride + 1 : 1;
    if (s->block < least)
        s->block = least; /* lines between blocks are copied twice */
    if (s->block > s->lines)
        s->block = s->lines;
}
