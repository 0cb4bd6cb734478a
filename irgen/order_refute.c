/*
 * Proofs that no order keeps to a peak, from which task must come first.
 *
 * A cut says what is alive in any case when a task v runs (order_bound.c).  Of
 * two tasks of which neither waits for the other, one runs first.  If so much is
 * alive when v runs before y that it is beyond the peak to be refuted, then y
 * runs before v in all orders that keep to it, and v waits for y from now on; in
 * the same way after it.  Each such arrow leaves less choice to all cuts, which
 * then tell more arrows, until the least that is alive is itself beyond the
 * peak: then there is no such order.  If nothing follows any more, the rule
 * tells nothing.
 *
 * That is shaving, as it is done for disjunctive schedules (Carlier and Pinson,
 * Management Science 35, 1989; Martin and Shmoys, IPCO 1996), with minimum cuts
 * for a bound.  All pairs of one v share a network: a question sends what more
 * flows if y is put elsewhere, and takes it back (order_cut.h).
 *
 * Where to ask decides how soon that ends: a few dozen tasks often suffice, if
 * they are the right ones.  Two rules take turns, each longer than the last, and
 * each goes on with what the other found: the tasks that a cut says most of,
 * whatever the order, then twice as many; and stretches of the order that is
 * known, those that need most first, then ones of twice the length.  Memory is
 * linear in the part and the steps.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/order_bound.h"
#include "irgen/order_refute.h"

enum { FIRST_COUNT = 32, FIRST_TURN = 1 << 19, RANKED = 4 };

/* A task, or a stretch of the order that is known. */
typedef struct place {
    double need; /* bytes alive while it runs, of a stretch the mean */
    uint32_t first, end;
} place;

struct glow_order_refuter {
    glow_arena *a;
    glow_order_bounder *b;
    const glow_order_more **before, **after; /* what follows: by task */
    const uint32_t *part;
    uint32_t n, n_tasks;
    double *needs;             /* of the tasks before each place, summed up */
    uint32_t *by_need;         /* the tasks, those that need most first */
    bool ranked;               /* they need it in any order */
    place *places;             /* room for n */
    uint32_t *asked, question; /* by task: the last that it was part of */
    int64_t most;
    int64_t end; /* of the turn: no more work than that */
};

typedef enum answer {
    POSSIBLE,   /* nothing follows any more */
    OPEN,       /* the turn is over */
    IMPOSSIBLE, /* there is no such order */
} answer;

static void
add_more(glow_order_refuter *r, const glow_order_more **list, uint32_t task)
{
    glow_order_more *m = GLOW_NEW(r->a, glow_order_more);

    *m = (glow_order_more){task, *list};
    *list = m;
}

static bool
has_time(const glow_order_refuter *r)
{
    return r->b->cut->work < r->end;
}

/* Where a task is that is free, `task` runs before y or after it; notes that it
 * cannot be the other way. */
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
 * Asks whether free task `y` can be on the other side when `task` runs; if so,
 * so can all that would move with it.  Returns how many bytes are left.
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
 * Asks for each task that is free whether it can be on the other side when
 * `task` runs; adds to *count how many cannot.  Those in the middle come first,
 * then those at the quarters, and so on, as an answer is one for many on one
 * side of it.  False if nothing can be.
 */
static bool
ask(glow_order_refuter *r, uint32_t task, int64_t *count)
{
    glow_order_bounder *b = r->b;
    int64_t left = r->most - glow_order_bound_of(b, r->part, r->n, task);
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

/* Asks for each of these tasks, until nothing follows. */
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

/* Places. */

static int
by_need(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->need != y->need)
        return x->need > y->need ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Fills places with stretches of a length, every `step` tasks one; sorts. */
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
    qsort(r->places, count, sizeof *r->places, by_need);
    return count;
}

static void
measure(glow_order_refuter *r, glow_order_walk *walk)
{
    for (uint32_t k = 0; k < r->n; k++) {
        int64_t during = walk->live + glow_order_try(walk, r->part[k]).during;

        r->needs[k + 1] = r->needs[k] + (double)during;
        glow_order_do(walk, r->part[k]);
    }
    for (uint32_t k = r->n; k-- > 0;)
        glow_order_undo(walk, r->part[k]);
    find_places(r, 1, 1);
    for (uint32_t k = 0; k < r->n; k++)
        r->by_need[k] = r->part[r->places[k].first];
}

/*
 * In the order that is known a task may need much by chance: sorts those that
 * need most there by what is alive in any case, as many as the work suffices for.
 */
static void
rank(glow_order_refuter *r, int64_t end)
{
    uint32_t count = 0;

    for (; count < r->n && r->b->cut->work < end; count++) {
        uint32_t task = r->by_need[count];
        int64_t bytes = glow_order_bound_of(r->b, r->part, r->n, task);

        r->places[count] = (place){(double)bytes, task, task + 1};
    }
    qsort(r->places, count, sizeof *r->places, by_need);
    for (uint32_t k = 0; k < count; k++)
        r->by_need[k] = r->places[k].first;
    r->ranked = true;
}

/* The rules: each asks for `n` tasks at once. */

static answer
ask_worst(glow_order_refuter *r, uint32_t n)
{
    return ask_all(r, r->by_need, n);
}

static answer
ask_stretches(glow_order_refuter *r, uint32_t n)
{
    uint32_t count = find_places(r, n, n / 2 > 0 ? n / 2 : 1);
    answer got = POSSIBLE;

    for (uint32_t k = 0; k < count && got == POSSIBLE; k++)
        got = ask_all(r, r->part + r->places[k].first,
                      r->places[k].end - r->places[k].first);
    return got;
}

/* Asks by a rule for more and more tasks at once, at last for all. */
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
                       const uint32_t *part, uint32_t n)
{
    glow_order_refuter *r = GLOW_NEW(a, glow_order_refuter);
    size_t tasks = walk->net->n_tasks;

    r->a = a;
    r->part = part;
    r->n = n;
    r->n_tasks = walk->net->n_tasks;
    r->b = glow_order_bounder_new(a, walk);
    r->before = GLOW_NEW_ARRAY(a, const glow_order_more *, tasks);
    r->after = GLOW_NEW_ARRAY(a, const glow_order_more *, tasks);
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

    if (most > r->most) { /* what followed need not be so */
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
        got = take_turn(r, turn % 2 ? ask_stretches : ask_worst);
    }
    *steps -= r->b->cut->work - start;
    return got == IMPOSSIBLE;
}
