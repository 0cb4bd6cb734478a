/*
 * Shaving: proofs that no order keeps to a peak, by inferred precedences.
 *
 * A cut bounds the live bytes while a task v runs (bound.c).  Of two independent
 * tasks, one runs first.  If the bound of v with v before y exceeds the peak to
 * be refuted, then y runs before v in every order that keeps to it, which adds an
 * edge from y to v; likewise in the other direction.  Each edge narrows all
 * cuts, from which further edges follow, until the least bound itself exceeds
 * the peak: then no such order exists.  If no further edge follows, the rule
 * decides nothing.
 *
 * Shaving is known from disjunctive scheduling (Carlier and Pinson, Management
 * Science 35, 1989; Martin and Shmoys, IPCO 1996), here with minimum cuts as the
 * bound.  All pairs of one v share a network: a question pushes the additional
 * flow of y on the other side, and takes it back (min_cut.c).
 *
 * The choice of tasks decides how soon that ends: a few dozen often suffice.  Two
 * rules alternate, with growing turns, and each continues from the edges of the
 * other: the tasks with the largest bounds, their number doubling, and windows of
 * the incumbent order with the largest mean need, their length doubling.  Memory
 * is linear in the segment and the steps.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/schedule/searches.h"

enum { FIRST_COUNT = 32, FIRST_TURN = 1 << 19, RANKED = 4 };

/* A task, or a window of the incumbent order. */
typedef struct place {
    double need; /* live bytes while it runs; of a window their mean */
    uint32_t first, end;
} place;

struct glow_order_refuter {
    glow_arena *a;
    glow_order_bounder *b;
    const glow_order_extra_edge **before, **after; /* inferred edges, by task */
    const uint32_t *segment;
    uint32_t n, n_tasks;
    double *needs;     /* prefix sums over positions */
    uint32_t *by_need; /* the tasks by descending need */
    bool ranked;       /* by their bound instead of the incumbent order */
    place *places;     /* room for n */
    uint32_t *asked, question; /* by task: the last question that covered it */
    int64_t most;
    int64_t end; /* work at which the turn ends */
};

typedef enum answer {
    POSSIBLE,   /* no further edge follows */
    OPEN,       /* the turn is over */
    IMPOSSIBLE, /* no order keeps to the peak */
} answer;

static void
add_more(glow_order_refuter *r, const glow_order_extra_edge **list,
         uint32_t task)
{
    glow_order_extra_edge *m = GLOW_NEW(r->a, glow_order_extra_edge);

    *m = (glow_order_extra_edge){task, *list};
    *list = m;
}

static bool
has_time(const glow_order_refuter *r)
{
    return r->b->cut->work < r->end;
}

/* Adds the edge from `y` to `task` if `side` is IN, else the one from `task` to
 * `y`. */
static void
note(glow_order_refuter *r, uint32_t task, uint32_t y, uint8_t side)
{
    if (side == GLOW_ORDER_IN) {
        add_more(r, &r->before[task], y);
        add_more(r, &r->after[y], task);
    } else {
        add_more(r, &r->after[task], y);
        add_more(r, &r->before[y], task);
    }
}

/*
 * Asks whether the free task `y` can be on the other side when `task` runs; if
 * so, the tasks that move with it can too.  Returns the remaining slack in bytes.
 */
static int64_t
ask_one(glow_order_refuter *r, uint32_t task, uint32_t y, int64_t left,
        int64_t *count)
{
    glow_order_bounder *b = r->b;
    uint8_t now = b->cut->side[y];
    uint8_t other = now == GLOW_ORDER_IN ? GLOW_ORDER_OUT : GLOW_ORDER_IN;

    if (glow_order_cut_allows(b->cut, y, other, left)) {
        for (uint32_t k = 0; k < b->n_free; k++)
            if (b->cut->side[b->free[k]] == now &&
                glow_order_cut_moves(b->cut, b->free[k]))
                r->asked[b->free[k]] = r->question;
        b->cut->work += b->n_free / 4;
        return left;
    }
    note(r, task, y, now);
    *count += 1;
    return left - glow_order_cut_put(b->cut, y, now);
}

/*
 * Asks for each free task whether it can be on the other side when `task` runs,
 * and adds the number of those that cannot to *count.  The middle comes first,
 * then the quarters, and so on, as one answer settles many tasks on one side of
 * it.  False if `task` cannot run within the peak.
 */
static bool
ask(glow_order_refuter *r, uint32_t task, int64_t *count)
{
    glow_order_bounder *b = r->b;
    int64_t left = r->most - glow_order_bound_of(b, r->segment, r->n, task);
    uint32_t step = 1;

    r->question++;
    while (step < b->n_free)
        step *= 2;
    for (; step > 0 && left >= 0; step /= 2)
        for (uint32_t k = step - 1; k < b->n_free && left >= 0 && has_time(r);
             k += 2 * step)
            if (r->asked[b->free[k]] != r->question)
                left = ask_one(r, task, b->free[k], left, count);
    return left >= 0;
}

/* Asks for each of these tasks, until no further edge follows. */
static answer
ask_all(glow_order_refuter *r, const uint32_t *tasks, uint32_t n)
{
    int64_t count = 1;

    while (count > 0) {
        count = 0;
        for (uint32_t k = 0; k < n; k++) {
            if (!has_time(r))
                return OPEN;
            if (!ask(r, tasks[k], &count))
                return IMPOSSIBLE;
        }
    }
    return POSSIBLE;
}

/* Windows. */

static int
by_need(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->need != y->need)
        return x->need > y->need ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Lists windows of a length at every `step` positions, by descending need. */
static uint32_t
find_places(glow_order_refuter *r, uint32_t length, uint32_t step)
{
    uint32_t count = 0;

    for (uint32_t first = 0; first < r->n; first += step) {
        uint32_t end = r->n - first < length ? r->n : first + length;
        double sum = r->needs[end] - r->needs[first];

        r->places[count++] = (place){sum / (end - first), first, end};
        if (end == r->n)
            break;
    }
    glow_sort(r->places, count, sizeof *r->places, by_need);
    return count;
}

static void
measure(glow_order_refuter *r, glow_order_walk *walk)
{
    for (uint32_t k = 0; k < r->n; k++) {
        int64_t during =
            walk->live + glow_order_try(walk, r->segment[k]).during;

        r->needs[k + 1] = r->needs[k] + (double)during;
        glow_order_do(walk, r->segment[k]);
    }
    for (uint32_t k = r->n; k-- > 0;)
        glow_order_undo(walk, r->segment[k]);
    find_places(r, 1, 1);
    for (uint32_t k = 0; k < r->n; k++)
        r->by_need[k] = r->segment[r->places[k].first];
}

/*
 * Sorts the tasks with the largest needs by their bounds instead, as many as the
 * work up to `end` suffices for: a need in the incumbent order may be accidental.
 */
static void
rank(glow_order_refuter *r, int64_t end)
{
    uint32_t count = 0;

    for (; count < r->n && r->b->cut->work < end; count++) {
        uint32_t task = r->by_need[count];
        int64_t bytes = glow_order_bound_of(r->b, r->segment, r->n, task);

        r->places[count] = (place){(double)bytes, task, task + 1};
    }
    glow_sort(r->places, count, sizeof *r->places, by_need);
    for (uint32_t k = 0; k < count; k++)
        r->by_need[k] = r->places[k].first;
    r->ranked = true;
}

/* The rules for the choice of `n` tasks. */

static answer
ask_worst(glow_order_refuter *r, uint32_t n)
{
    return ask_all(r, r->by_need, n);
}

static answer
ask_windows(glow_order_refuter *r, uint32_t n)
{
    uint32_t count = find_places(r, n, n / 2 > 0 ? n / 2 : 1);
    answer got = POSSIBLE;

    for (uint32_t k = 0; k < count && got == POSSIBLE; k++)
        got = ask_all(r, r->segment + r->places[k].first,
                      r->places[k].end - r->places[k].first);
    return got;
}

/* Asks by a rule for growing numbers of tasks, at last for all. */
static answer
take_turn(glow_order_refuter *r,
          answer (*rule)(glow_order_refuter *r, uint32_t n))
{
    answer got = POSSIBLE;
    uint32_t n = 0;

    while (got == POSSIBLE && n < r->n) {
        n = n == 0 ? FIRST_COUNT : r->n - n < n ? r->n : 2 * n;
        n = n < r->n ? n : r->n;
        got = rule(r, n);
    }
    return got;
}

glow_order_refuter *
glow_order_refuter_new(glow_arena *a, glow_order_walk *walk,
                       const uint32_t *segment, uint32_t n)
{
    glow_order_refuter *r = GLOW_NEW(a, glow_order_refuter);
    size_t tasks = walk->net->n_tasks;

    r->a = a;
    r->segment = segment;
    r->n = n;
    r->n_tasks = walk->net->n_tasks;
    r->b = glow_order_bounder_new(a, walk);
    r->before = GLOW_NEW_ARRAY(a, const glow_order_extra_edge *, tasks);
    r->after = GLOW_NEW_ARRAY(a, const glow_order_extra_edge *, tasks);
    r->b->before = r->before;
    r->b->after = r->after;
    r->asked = GLOW_NEW_ARRAY(a, uint32_t, tasks);
    r->needs = GLOW_NEW_ARRAY(a, double, (size_t)n + 1);
    r->by_need = GLOW_NEW_ARRAY(a, uint32_t, n);
    r->places = GLOW_NEW_ARRAY(a, place, n);
    measure(r, walk);
    return r;
}

bool
glow_order_refute(glow_order_refuter *r, int64_t most, int64_t *steps)
{
    int64_t start = r->b->cut->work, end = start + *steps;
    answer got = OPEN;

    if (most > r->most) { /* the edges were inferred for a lower peak */
        memset(r->before, 0, r->n_tasks * sizeof(*r->before));
        memset(r->after, 0, r->n_tasks * sizeof(*r->after));
    }
    r->most = most;
    if (!r->ranked)
        rank(r, start + *steps / RANKED);
    for (int turn = 0; got == OPEN && r->b->cut->work < end; turn++) {
        int64_t length = (int64_t)FIRST_TURN << turn / 2;

        r->end =
            end - r->b->cut->work > length ? r->b->cut->work + length : end;
        got = take_turn(r, turn % 2 ? ask_windows : ask_worst);
    }
    *steps -= r->b->cut->work - start;
    return got == IMPOSSIBLE;
}
