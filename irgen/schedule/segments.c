/*
 * Series decomposition: segments that all orders have in common.
 *
 * A task of which every other task is a predecessor or a successor has the same
 * position in every order, and so has the set of tasks before it.  Orders of
 * least peak of the segments between such tasks form one of the whole.  Such a
 * task is the only sink among the tasks up to it, in any order, and the only
 * source among the tasks from it on.  Linear time.
 */

#include <string.h>

#include "irgen/schedule/searches.h"

/* Marks positions of `order` whose task is the only sink of the tasks up to it. */
static void
mark_single(glow_arena *a, const uint32_t *order, size_t n,
            const glow_order_lists *before, uint8_t *marks, bool back)
{
    bool *inner = GLOW_NEW_ARRAY(a, bool, n + 1);
    uint32_t ends = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = back ? n - 1 - i : i;

        ends++;
        GLOW_ORDER_EACH(b, *before, order[k]) {
            ends -= !inner[*b];
            inner[*b] = true;
        }
        if (ends == 1)
            marks[k]++;
    }
}

static void
add_part(glow_order_segments *segments, uint32_t first, uint32_t end)
{
    if (first < end)
        segments->items[segments->n++] = (glow_order_segment){
            .first = first, .n = end - first, .cost = {INT64_MAX, INT64_MAX}};
}

glow_order_segments *
glow_order_segments_new(glow_arena *a, const glow_order_net *net)
{
    glow_order_segments *segments = GLOW_NEW(a, glow_order_segments);
    uint32_t n = net->n_tasks, first = 0;
    uint8_t *marks = GLOW_NEW_ARRAY(a, uint8_t, (size_t)n + 1);

    segments->net = net;
    segments->walk = glow_order_walk_new(a, net);
    segments->tasks =
        glow_arena_copy(a, net->given, ((size_t)n + 1) * sizeof(uint32_t));
    segments->items = GLOW_NEW_ARRAY(a, glow_order_segment, (size_t)n + 1);
    mark_single(a, net->given, n, &net->before, marks, false);
    mark_single(a, net->given, n, &net->after, marks, true);
    for (uint32_t k = 0; k < n; k++) {
        if (marks[k] < 2)
            continue;
        add_part(segments, first, k);
        add_part(segments, k, k + 1);
        first = k + 1;
    }
    add_part(segments, first, n);
    return segments;
}

/* True if cost `x` is better than `y`. */
static bool
is_better(glow_order_cost x, glow_order_cost y, int64_t enough)
{
    if (x.peak <= enough && y.peak <= enough)
        return x.area < y.area;
    return x.peak < y.peak || (x.peak == y.peak && x.area < y.area);
}

void
glow_order_segments_offer(glow_order_segments *segments, const uint32_t *tasks,
                          int64_t enough, const char *by)
{
    glow_order_walk *w = segments->walk;

    glow_order_begin(w);
    for (uint32_t i = 0; i < segments->n; i++) {
        glow_order_segment *segment = &segments->items[i];
        glow_order_cost c =
            glow_order_run(w, tasks + segment->first, segment->n);

        if (!is_better(c, segment->cost, enough))
            continue;
        segment->cost = c;
        segment->by = by;
        memcpy(segments->tasks + segment->first, tasks + segment->first,
               segment->n * sizeof(uint32_t));
    }
}

glow_order_segment *
glow_order_segments_worst(glow_order_segments *segments)
{
    glow_order_segment *worst = segments->items;

    for (uint32_t i = 1; i < segments->n; i++)
        if (segments->items[i].cost.peak > worst->cost.peak)
            worst = &segments->items[i];
    return worst;
}
