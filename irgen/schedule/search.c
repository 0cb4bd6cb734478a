/*
 * Portfolio search: least-peak orders of segments within a budget of steps.
 *
 * Segments whose peak is at most the bound of the whole are skipped; the one with
 * the highest peak comes first, as its bound may spare the others.  Best-first
 * search runs forwards and backwards in turns, since either may take a hundred
 * times longer than the other.  A bound proved in one direction is passed to the
 * other, and the direction with the latest progress gets the longer turns.  If a
 * segment of the steps does not suffice, cuts raise the bound (bound.c); beams in
 * both directions, four times wider each time, lower the peak, and so does the
 * local search over windows: first after narrow beams, since windows improve the
 * order of a wide beam less.  Peaks between are refuted (refute.c).  Best-first
 * search continues with the remaining steps.
 *
 * Where a task may write several buffers over one operand, the first takes it, so
 * another task may need more bytes when more tasks have run.  Backwards that is
 * wrong, and such problems are searched forwards only.
 */

#include <string.h>

#include "irgen/schedule/searches.h"

enum { FORWARD, BACKWARD, WAYS };
enum {
    FIRST_SLICE = 1 << 12,
    LONGER = 4,
    FIRST_WIDTH = 4,
    ARCS_PER_STEP = 8 /* arcs visited by refute.c in the time of one step */
};

/* One direction of time. */
typedef struct way {
    const uint32_t *order; /* all tasks */
    glow_order_best_first *search;
    glow_order_walk *walk;
    uint32_t place; /* position of the walk in `order` */
    uint32_t first; /* position of the segment */
} way;

typedef struct search {
    glow_arena *a, *scratch; /* the latter is emptied often */
    glow_order_segments *segments;
    way ways[WAYS];
    double mean;   /* mean bytes of the buffers of a task */
    bool exact;    /* all steps for the proving search */
    int64_t bound; /* lower bound of the peak of the whole */
    int64_t steps; /* that remain */
    uint32_t *found;
} search;

static const uint32_t *
reversed_order(glow_arena *a, const glow_order_net *net)
{
    uint32_t n = net->n_tasks;
    uint32_t *order = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1);

    order[0] = n; /* the added task */
    for (uint32_t k = 0; k < n; k++)
        order[n - k] = net->given[k];
    return order;
}

/* Moves both directions to the begin of the segment. */
static void
start(search *s, const glow_order_segment *segment, double tie_weight)
{
    s->ways[FORWARD].first = segment->first;
    s->ways[BACKWARD].first =
        s->segments->net->n_tasks + 1 - (segment->first + segment->n);
    for (int i = 0; i < WAYS; i++) {
        way *w = &s->ways[i];

        w->search->tie_weight = tie_weight * s->mean;
        glow_order_best_first_start(w->search, w->first, segment->n);
        for (; w->place > w->first; w->place--)
            glow_order_undo(w->walk, w->order[w->place - 1]);
        for (; w->place < w->first; w->place++)
            glow_order_do(w->walk, w->order[w->place]);
    }
}

/* Takes the order `found` for the segment. */
static void
take(search *s, glow_order_segment *segment, const uint32_t *found, int i,
     const char *by)
{
    uint32_t *tasks = s->segments->tasks + segment->first;
    glow_order_walk *walk = s->ways[FORWARD].walk;

    for (uint32_t k = 0; k < segment->n; k++)
        tasks[k] = found[i == FORWARD ? k : segment->n - 1 - k];
    segment->cost = glow_order_run(walk, tasks, segment->n);
    segment->by = by;
    for (uint32_t k = segment->n; k-- > 0;)
        glow_order_undo(walk, tasks[k]);
}

/* Best-first search in both directions, in turns of about `steps` steps in all;
 * true if the segment is solved. */
static bool
run_best_first(search *s, glow_order_segment *segment, int64_t steps)
{
    glow_order_end end = GLOW_ORDER_STOPPED;
    int64_t slice = FIRST_SLICE;
    int better = BACKWARD;

    for (int i = BACKWARD; end == GLOW_ORDER_STOPPED && steps > 0; i = !i) {
        if (i == BACKWARD && s->segments->net->has_uneven_aliases)
            continue;
        glow_order_best_first *f = s->ways[i].search;
        int64_t turn = i == better ? LONGER * slice : slice;
        int64_t given = turn < steps ? turn : steps, left = given;

        f->budget = s->bound;
        f->incumbent = segment->cost.peak;
        end = glow_order_best_first_run(f, &left);
        steps -= given - left;
        s->steps -= given - left;
        better = f->budget > s->bound ? i : better;
        s->bound = f->budget;
        if (end == GLOW_ORDER_FOUND)
            take(s, segment, f->tasks, i, "search");
        slice += i == FORWARD && slice < INT64_MAX / 16 ? slice : 0;
    }
    return end != GLOW_ORDER_STOPPED;
}

/* Beam searches in both directions, of growing width, within the steps. */
static void
beam(search *s, glow_order_segment *segment, int64_t steps)
{
    uint32_t width = FIRST_WIDTH;

    for (int i = BACKWARD; steps > 0 && segment->cost.peak > s->bound; i = !i) {
        glow_order_beam b = {
            .walk = s->ways[i].walk,
            .n_tasks = segment->n,
            .width = width,
            .floor = s->bound,
            .incumbent = segment->cost.peak,
            .steps = steps,
            .tasks = s->found,
        };

        if (glow_order_beam_run(s->scratch, &b))
            take(s, segment, b.tasks, i, "beam");
        s->steps -= steps - b.steps;
        steps = b.steps;
        glow_arena_reset(s->scratch);
        width *= i == FORWARD && width < 1 << 24 ? 4 : 1;
    }
}

/* Local search over windows, within the steps. */
static void
run_local_search(search *s, glow_order_segment *segment, int64_t steps)
{
    uint32_t *tasks = s->segments->tasks + segment->first;
    int64_t peak = segment->cost.peak, left = steps;

    memcpy(s->found, tasks, segment->n * sizeof *tasks);
    glow_order_improve(s->scratch, s->ways[FORWARD].walk, s->found, segment->n,
                       s->bound, &left);
    s->steps -= steps - left;
    take(s, segment, s->found, FORWARD, segment->by);
    if (segment->cost.peak < peak)
        segment->by = "windows";
    glow_arena_reset(s->scratch);
}

/* Raises the bound by bisection, each question with half of the steps left. */
static void
refute(search *s, const glow_order_segment *segment, int64_t steps)
{
    int64_t limit = segment->cost.peak, left = steps;
    glow_order_refuter *r =
        glow_order_refuter_new(s->scratch, s->ways[FORWARD].walk,
                               s->segments->tasks + segment->first, segment->n);

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
search_segment(search *s, glow_order_segment *segment)
{
    int64_t few = s->steps / 16, cuts = few;

    if (segment->cost.peak <= s->bound || s->steps <= 0)
        return;
    start(s, segment, 1);
    if (run_best_first(s, segment, s->exact ? s->steps : 3 * few))
        return;
    s->bound = glow_order_bound_by_cut(s->scratch, s->ways[FORWARD].walk,
                                       s->segments->tasks + segment->first,
                                       segment->n, s->bound, &cuts);
    s->steps -= few - cuts;
    glow_arena_reset(s->scratch);
    if (!s->exact) {
        beam(s, segment, few / 8);
        run_local_search(s, segment, few);
        beam(s, segment, few - few / 8);
        run_local_search(s, segment, 3 * few);
    }
    if (segment->cost.peak > s->bound)
        refute(s, segment, 4 * few < s->steps ? 4 * few : s->steps);
    run_best_first(s, segment, s->steps);
}

/* Mean bytes of buffers by task; 0 if keys of the search would overflow. */
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
        .search = glow_order_best_first_new(s->a, net, order),
        .walk = glow_order_walk_new(s->a, net),
    };
}

int64_t
glow_order_search(glow_arena *a, glow_order_segments *segments, bool exact,
                  int64_t bound, int64_t *steps)
{
    const glow_order_net *net = segments->net;
    glow_order_segment *worst = glow_order_segments_worst(segments);
    search s = {.a = a,
                .segments = segments,
                .exact = exact,
                .mean = mean_bytes(net->p),
                .bound = bound,
                .steps = *steps};

    if (segments->n == 0 || worst->cost.peak <= bound || *steps < worst->n)
        return bound;
    s.scratch = glow_arena_new();
    s.found = GLOW_NEW_ARRAY(a, uint32_t, (size_t)net->n_tasks + 1);
    add_way(&s, FORWARD, net, net->given);
    add_way(&s, BACKWARD, glow_order_net_reversed(a, net),
            reversed_order(a, net));
    search_segment(&s, worst);
    for (uint32_t i = 0; i < segments->n; i++)
        search_segment(&s, &segments->items[i]);
    glow_arena_free(s.scratch);
    *steps = s.steps;
    return s.bound;
}
