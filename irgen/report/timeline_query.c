/*
 * Queries of a timeline: definitions and next uses of buffers, display names.
 */

#include <inttypes.h>
#include <string.h>

#include "irgen/report/timeline.h"

#define ARROW "\xe2\x86\x92"

uint32_t
glow_timeline_writer(const glow_timeline_buffer *b, uint32_t step)
{
    uint32_t found = GLOW_NO_STEP;

    for (uint32_t i = 0; i < b->n_uses && b->uses[i].step <= step; i++)
        if (b->uses[i].writes)
            found = b->uses[i].step;
    return found;
}

uint32_t
glow_timeline_maker(const glow_timeline_buffer *b)
{
    for (uint32_t i = 0; i < b->n_uses; i++)
        if (b->uses[i].writes)
            return b->uses[i].step;
    return GLOW_NO_STEP;
}

uint32_t
glow_timeline_next(const glow_timeline_buffer *b, uint32_t step)
{
    for (uint32_t i = 0; i < b->n_uses; i++)
        if (b->uses[i].step > step)
            return b->uses[i].step;
    return GLOW_NO_STEP;
}

uint32_t
glow_timeline_last(const glow_timeline_buffer *b)
{
    return b->n_uses ? b->uses[b->n_uses - 1].step : GLOW_NO_STEP;
}

bool
glow_timeline_alive(const glow_timeline_buffer *b, uint32_t step)
{
    return b->from <= step && step < b->to;
}

const char *
glow_source_name(const glow_node *n)
{
    const glow_loc *l = n->loc;

    while (l && l->n_parts > 0)
        l = l->parts[0];
    if (!l || l->kind == GLOW_LOC_FILE)
        return n->name;
    return l->node ? l->node : l->text;
}

const char *
glow_buffer_label(const glow_timeline *t, const glow_timeline_buffer *b)
{
    uint32_t first = glow_timeline_maker(b);
    uint32_t last = glow_timeline_writer(b, GLOW_NO_STEP);
    const char *from, *to;

    if (b->node->op == &glow_op_weight || first == GLOW_NO_STEP)
        return b->name;
    from = glow_source_name(t->steps[first]);
    to = glow_source_name(t->steps[last]);
    return strcmp(from, to) == 0
               ? from
               : glow_arena_printf(t->arena, "%s " ARROW " %s", from, to);
}

const char *
glow_buffer_family(const glow_timeline *t, const glow_timeline_buffer *b)
{
    uint32_t maker = glow_timeline_maker(b);

    if (b->node->op == &glow_op_weight)
        return b->node->out[0]->storage->is_constant ? "const" : "io";
    return maker == GLOW_NO_STEP ? "else" : glow_op_family(t->steps[maker]->op);
}

/* Numbers for display. */

void
glow_buf_grouped(glow_buf *b, int64_t n)
{
    int64_t unit = 1;

    while (n / unit >= 1000)
        unit *= 1000;
    glow_buf_printf(b, "%" PRId64, n / unit);
    while (unit > 1) {
        n %= unit;
        unit /= 1000;
        glow_buf_printf(b, ",%03" PRId64, n / unit);
    }
}

/* At least three digits, rounded to nearest, in the largest unit. */
void
glow_buf_bytes(glow_buf *b, int64_t bytes)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    int unit = 0, digits;

    while (v >= 1000 && unit < 6) {
        v /= 1024;
        unit++;
    }
    digits = unit == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    int scale = digits == 0 ? 1 : digits == 1 ? 10 : 100;
    int64_t all = (int64_t)(v * scale + 0.5);

    if (digits == 0)
        glow_buf_printf(b, "%" PRId64 " %s", all, units[unit]);
    else
        glow_buf_printf(b, "%" PRId64 ".%0*d %s", all / scale, digits,
                        (int)(all % scale), units[unit]);
}

const char *
glow_bytes_text(glow_arena *a, int64_t bytes)
{
    glow_buf b = {.arena = a};

    glow_buf_bytes(&b, bytes);
    return b.text;
}
