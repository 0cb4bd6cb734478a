/*
 * Stretches that every order has in common, and the best order of each.
 *
 * If all other tasks either must run before some task or wait for it, it has
 * the same place in every order, and so has what is before it: least orders of
 * the stretches in between make a least order of all.  Such a task is the only
 * end of what runs up to it, in any order, and the only beginning of what runs
 * from it on.  Linear time.
 */

#include <string.h>

#include "irgen/order_parts.h"

/* Marks places of `order` up to which there is only one end, itself. */
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
add_part(glow_order_parts *parts, uint32_t first, uint32_t end)
{
    if (first < end)
        parts->items[parts->n++] = (glow_order_part){
            .first = first, .n = end - first, .cost = {INT64_MAX, INT64_MAX}};
}

glow_order_parts *
glow_order_parts_new(glow_arena *a, const glow_order_net *net)
{
    glow_order_parts *parts = GLOW_NEW(a, glow_order_parts);
    uint32_t n = net->n_tasks, first = 0;
    uint8_t *marks = GLOW_NEW_ARRAY(a, uint8_t, (size_t)n + 1);

    parts->net = net;
    parts->tasks =
        glow_arena_copy(a, net->given, ((size_t)n + 1) * sizeof(uint32_t));
    parts->items = GLOW_NEW_ARRAY(a, glow_order_part, (size_t)n + 1);
    mark_single(a, net->given, n, &net->before, marks, false);
    mark_single(a, net->given, n, &net->after, marks, true);
    for (uint32_t k = 0; k < n; k++) {
        if (marks[k] < 2)
            continue;
        add_part(parts, first, k);
        add_part(parts, k, k + 1);
        first = k + 1;
    }
    add_part(parts, first, n);
    return parts;
}

/* True if `x` is to be taken instead of `y`. */
static bool
is_better(glow_order_cost x, glow_order_cost y, int64_t enough)
{
    if (x.peak <= enough && y.peak <= enough)
        return x.area < y.area;
    return x.peak < y.peak || (x.peak == y.peak && x.area < y.area);
}

void
glow_order_parts_offer(glow_arena *a, glow_order_parts *parts,
                       const uint32_t *tasks, int64_t enough, const char *by)
{
    glow_order_walk *w = glow_order_walk_new(a, parts->net);

    for (uint32_t i = 0; i < parts->n; i++) {
        glow_order_part *part = &parts->items[i];
        glow_order_cost c = glow_order_run(w, tasks + part->first, part->n);

        if (!is_better(c, part->cost, enough))
            continue;
        part->cost = c;
        part->by = by;
        memcpy(parts->tasks + part->first, tasks + part->first,
               part->n * sizeof(uint32_t));
    }
}

glow_order_part *
glow_order_parts_worst(glow_order_parts *parts)
{
    glow_order_part *worst = parts->items;

    for (uint32_t i = 1; i < parts->n; i++)
        if (parts->items[i].cost.peak > worst->cost.peak)
            worst = &parts->items[i];
    return worst;
}
