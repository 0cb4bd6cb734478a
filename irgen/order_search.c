/*
 * A least order of each part, or as good a one as the steps suffice for.
 *
 * A part whose order keeps to the bound of the whole is left alone; the one
 * that needs most goes first, as what is proved of it may spare the others.  A
 * part is flooded forwards and backwards in turn, for either may take a hundred
 * times longer than the other; what one proves, the other takes over, and the
 * one that proved something last gets the longer turns.  Where some of the
 * steps do not suffice, cuts raise the bound; beams, both ways and each four
 * times as wide as the last, lower the peak, and then windows of the order that
 * are searched anew (order_mend.h): first behind narrow beams, since a wide one
 * may find an order that windows better less.  Peaks below that are refuted, as
 * far as what has to come first tells (order_refute.h).  The floods go on behind
 * that with what steps are left.
 *
 * Where a task may write either of several things over one, the first takes it,
 * and so another one may need more when more has run: that is wrong backwards,
 * and such problems are flooded forwards only.
 */

#include <string.h>

#include "irgen/order_beam.h"
#include "irgen/order_bound.h"
#include "irgen/order_flood.h"
#include "irgen/order_mend.h"
#include "irgen/order_refute.h"
#include "irgen/order_search.h"

enum { FORWARD, BACKWARD, WAYS };
enum {
    FIRST_SLICE = 1 << 12,
    LONGER = 4,
    FIRST_WIDTH = 4,
    ARCS_PER_STEP = 8 /* looked at in the time of a step, to refute peaks */
};

/* One way through time. */
typedef struct way {
    const uint32_t *order; /* all tasks */
    glow_order_flood *flood;
    glow_order_walk *walk;
    uint32_t place; /* of the walk, in the order */
    uint32_t first; /* place of the part */
} way;

typedef struct search {
    glow_arena *a, *scratch; /* the latter is emptied often */
    glow_order_parts *parts;
    way ways[WAYS];
    double mean;   /* bytes of what a task makes */
    bool exact;    /* no steps for what only finds */
    int64_t bound; /* no order of all has a lower peak */
    int64_t steps; /* that are left */
    uint32_t *found;
} search;

static const uint32_t *
reversed_order(glow_arena *a, const glow_order_net *net)
{
    uint32_t n = net->n_tasks;
    uint32_t *order = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1);

    order[0] = n; /* what was added */
    for (uint32_t k = 0; k < n; k++)
        order[n - k] = net->given[k];
    return order;
}

/* Goes to where the part begins, for both ways. */
static void
start(search *s, const glow_order_part *part, double pull)
{
    s->ways[FORWARD].first = part->first;
    s->ways[BACKWARD].first =
        s->parts->net->n_tasks + 1 - (part->first + part->n);
    for (int i = 0; i < WAYS; i++) {
        way *w = &s->ways[i];

        w->flood->pull = pull * s->mean;
        glow_order_flood_start(w->flood, w->first, part->n);
        for (; w->place > w->first; w->place--)
            glow_order_undo(w->walk, w->order[w->place - 1]);
        for (; w->place < w->first; w->place++)
            glow_order_do(w->walk, w->order[w->place]);
    }
}

/* Makes the tasks that were found the order of the part. */
static void
take(search *s, glow_order_part *part, const uint32_t *found, int i,
     const char *by)
{
    uint32_t *tasks = s->parts->tasks + part->first;
    glow_order_walk *walk = s->ways[FORWARD].walk;

    for (uint32_t k = 0; k < part->n; k++)
        tasks[k] = found[i == FORWARD ? k : part->n - 1 - k];
    part->cost = glow_order_run(walk, tasks, part->n);
    part->by = by;
    for (uint32_t k = part->n; k-- > 0;)
        glow_order_undo(walk, tasks[k]);
}

/* Floods in turn, for about so many steps; true if nothing better is left. */
static bool
flood(search *s, glow_order_part *part, int64_t steps)
{
    glow_order_end end = GLOW_ORDER_STOPPED;
    int64_t slice = FIRST_SLICE;
    int better = BACKWARD;

    for (int i = BACKWARD; end == GLOW_ORDER_STOPPED && steps > 0; i = !i) {
        if (i == BACKWARD && s->parts->net->uneven)
            continue;
        glow_order_flood *f = s->ways[i].flood;
        int64_t turn = i == better ? LONGER * slice : slice;
        int64_t given = turn < steps ? turn : steps, left = given;

        f->budget = s->bound;
        f->beat = part->cost.peak;
        end = glow_order_flood_run(f, &left);
        steps -= given - left;
        s->steps -= given - left;
        better = f->budget > s->bound ? i : better;
        s->bound = f->budget;
        if (end == GLOW_ORDER_FOUND)
            take(s, part, f->tasks, i, "search");
        slice += i == FORWARD && slice < INT64_MAX / 16 ? slice : 0;
    }
    return end != GLOW_ORDER_STOPPED;
}

/* Beams both ways, one wider than the other, while the steps suffice. */
static void
beam(search *s, glow_order_part *part, int64_t steps)
{
    uint32_t width = FIRST_WIDTH;

    for (int i = BACKWARD; steps > 0 && part->cost.peak > s->bound; i = !i) {
        glow_order_beam b = {
            .walk = s->ways[i].walk,
            .n_tasks = part->n,
            .width = width,
            .floor = s->bound,
            .beat = part->cost.peak,
            .steps = steps,
            .tasks = s->found,
        };

        if (glow_order_beam_run(s->scratch, &b))
            take(s, part, b.tasks, i, "beam");
        s->steps -= steps - b.steps;
        steps = b.steps;
        glow_arena_reset(s->scratch);
        width *= i == FORWARD && width < 1 << 24 ? 4 : 1;
    }
}

/* Searches windows anew, in about so many steps. */
static void
mend(search *s, glow_order_part *part, int64_t steps)
{
    uint32_t *tasks = s->parts->tasks + part->first;
    int64_t peak = part->cost.peak, left = steps;

    memcpy(s->found, tasks, part->n * sizeof *tasks);
    glow_order_mend(s->scratch, s->ways[FORWARD].walk, s->found, part->n,
                    s->bound, &left);
    s->steps -= steps - left;
    take(s, part, s->found, FORWARD, part->by);
    if (part->cost.peak < peak)
        part->by = "windows";
    glow_arena_reset(s->scratch);
}

/* Raises the bound by halves of what is open, each in half of the steps. */
static void
refute(search *s, const glow_order_part *part, int64_t steps)
{
    int64_t limit = part->cost.peak, left = steps;
    glow_order_refuter *r =
        glow_order_refuter_new(s->scratch, s->ways[FORWARD].walk,
                               s->parts->tasks + part->first, part->n);

    while (s->bound < limit && left > 0) {
        int64_t most = s->bound + (limit - s->bound) / 2;
        int64_t given = (left + 1) / 2, work;

        given = given < INT64_MAX / ARCS_PER_STEP ? given
                                                  : INT64_MAX / ARCS_PER_STEP;
        work = ARCS_PER_STEP * given;

        if (glow_order_refute(r, most, &work))
            s->bound = most + 1;
        else
            limit = most;
        left -= given - (work > 0 ? work / ARCS_PER_STEP : 0);
    }
    glow_arena_reset(s->scratch);
    s->steps -= steps - left;
}

static void
search_part(search *s, glow_order_part *part)
{
    int64_t few = s->steps / 16, cuts = few;

    if (part->cost.peak <= s->bound || s->steps <= 0)
        return;
    start(s, part, 1);
    if (flood(s, part, s->exact ? s->steps : 3 * few))
        return;
    s->bound = glow_order_bound_by_cut(s->scratch, s->ways[FORWARD].walk,
                                       s->parts->tasks + part->first, part->n,
                                       s->bound, &cuts);
    s->steps -= few - cuts;
    glow_arena_reset(s->scratch);
    if (!s->exact) {
        beam(s, part, few / 8);
        mend(s, part, few);
        beam(s, part, few - few / 8);
        mend(s, part, 3 * few);
    }
    if (part->cost.peak > s->bound)
        refute(s, part, 4 * few < s->steps ? 4 * few : s->steps);
    flood(s, part, s->steps);
}

/* The mean bytes of what a task makes; 0 if that is too much for keys. */
static double
mean_bytes(const glow_order_problem *p)
{
    int64_t sum = 0;

    for (uint32_t b = 0; b < p->n_buffers; b++)
        sum += p->buffers[b].bytes;
    return sum < INT64_MAX / 8 ? (double)sum / p->n_tasks : 0;
}

static void
add_way(search *s, int i, const glow_order_net *net, const uint32_t *order)
{
    s->ways[i] = (way){
        .order = order,
        .flood = glow_order_flood_new(s->a, net, order),
        .walk = glow_order_walk_new(s->a, net),
    };
}

int64_t
glow_order_search(glow_arena *a, glow_order_parts *parts, bool exact,
                  int64_t bound, int64_t *steps)
{
    const glow_order_net *net = parts->net;
    search s = {.a = a,
                .parts = parts,
                .exact = exact,
                .mean = mean_bytes(net->p),
                .bound = bound,
                .steps = *steps};

    if (parts->n == 0 || glow_order_parts_worst(parts)->cost.peak <= bound)
        return bound;
    s.scratch = glow_arena_new();
    s.found = GLOW_NEW_ARRAY(a, uint32_t, (size_t)net->n_tasks + 1);
    add_way(&s, FORWARD, net, net->given);
    add_way(&s, BACKWARD, glow_order_net_reversed(a, net),
            reversed_order(a, net));
    search_part(&s, glow_order_parts_worst(parts));
    for (uint32_t i = 0; i < parts->n; i++)
        search_part(&s, &parts->items[i]);
    glow_arena_free(s.scratch);
    *steps = s.steps;
    return s.bound;
}
