/*
 * Search for a least order: states flood what a budget leaves open.
 *
 * A state is the down-set of tasks that have run.  Under a budget, states are
 * expanded in order of M, the bytes alive, less a pull for each task that has
 * run, which leads to the end sooner where there is a way; steps that need more
 * than the budget wait.  When nothing is left, no order keeps to the budget: it
 * rises to the least that something waits for, and the search goes on where it
 * stood.  The first state in which all tasks have run is reached by a least
 * order.
 *
 * M is submodular (glow/order.h), which saves most states.  Let S be where the
 * search began, X a state reached from it, and M(X) <= M(D) for all down-sets D
 * between S and X.  If an order goes on from S within the budget by D1, D2...,
 * then X | D1, X | D2... goes on from X: M(X | Di) <= M(Di) + M(X) - M(X & Di)
 * <= M(Di), and a task needs no more beside it, as less is touched for the
 * first time, and more that it may write over for the last.  So:
 *
 *   commit  such an X is where the search begins anew; all else is dropped.  A
 *           minimum cut decides.  If it finds some X' below X, X' is reached
 *           too: by the way to X, leaving out what is not in X'.
 *   chain   tasks of which each waits for the one before it, and which end no
 *           higher than they begin: there is nothing between but themselves,
 *           so a state from which one fits has that one successor.
 *
 * As budgets only rise, all of that stays right.
 *
 * A state is its parent and one task, with two 64-bit sums of the hashes of its
 * tasks, by which it is recognized: 2^20 states have one false match in 2^88.
 * So memory is linear in tasks and steps.  One walk visits the states; on the
 * way it undoes and does only what two states do not share.
 *
 * The search works backwards too, on the problem reversed.  That takes far
 * fewer states where results are read by several and made by one, for the cost
 * of a read shows at once: 30 to 200 times fewer for randomly wired networks.
 *
 * SERENITY (Ahn et al., MLSys 2020) searches the same states, keyed by what can
 * run, breadth first under a budget found by bisection; what is said above of
 * submodularity is ours.  Liu (SIAM J. Algebraic Discrete Methods 8, 1987) has
 * hills and valleys for trees, whose valleys are the commits here.
 */

#include <string.h>

#include "irgen/order_cut.h"
#include "irgen/order_flood.h"
#include "irgen/order_states.h"

enum { MOST_CHAIN = 64, ROOT = 0 };

typedef struct search {
    glow_order_flood flood; /* what others see */
    glow_arena *a;
    const uint32_t *order; /* all tasks */
    uint32_t place;        /* the walk is there, and further */
    uint32_t n_tasks;      /* of the part */
    uint32_t n_done;       /* tasks committed */
    glow_order_cut *cut;
    glow_order_states *states;
    glow_order_heap open, blocked;
    uint32_t at; /* the state where the walk is */
    uint32_t *path, *ready;
    int64_t steps;
} search;

static const glow_order_state *
state_of(const search *s, uint32_t i)
{
    return &s->states->items[i];
}

/* Moving. */

static void
do_task(search *s, uint32_t task)
{
    glow_order_do(s->flood.walk, task);
    s->steps--;
}

static void
undo_task(search *s, uint32_t task)
{
    glow_order_undo(s->flood.walk, task);
    s->steps--;
}

static void
go_to(search *s, uint32_t to)
{
    uint32_t n = 0;

    while (s->at != to) {
        const glow_order_state *at = state_of(s, s->at);
        const glow_order_state *goal = state_of(s, to);

        if (at->count >= goal->count) {
            undo_task(s, at->task);
            s->at = at->parent;
        } else {
            s->path[n++] = to;
            to = goal->parent;
        }
    }
    while (n > 0) {
        s->at = s->path[--n];
        do_task(s, state_of(s, s->at)->task);
    }
}

/* Puts a state at what is to be expanded. */
static void
open_state(search *s, uint32_t x)
{
    const glow_order_state *state = state_of(s, x);
    int64_t pull = (int64_t)(s->flood.pull * state->count);

    glow_order_push(s->a, &s->open, state->live - pull, x, state->count);
}

/* Makes where the walk is the root of all that follows. */
static void
plant(search *s)
{
    s->open.count = s->blocked.count = 0;
    s->at = glow_order_states_plant(s->states, s->flood.walk->live);
    open_state(s, s->at);
}

/* Expanding. */

static glow_order_effect
try_task(search *s, uint32_t task)
{
    s->steps--;
    return glow_order_try(s->flood.walk, task);
}

static bool
fits(const search *s, glow_order_effect e)
{
    return s->flood.walk->live + e.during <= s->flood.budget;
}

/* A task that waits for `task` alone, or false. */
static bool
find_next(const search *s, uint32_t task, uint32_t *next)
{
    GLOW_ORDER_EACH(i, s->flood.walk->net->after, task)
        if (s->flood.walk->waits[*i] == 1) {
            *next = *i;
            return true;
        }
    return false;
}

/* True if `live` is no more than at `x`, or one task is left of the part. */
static bool
ends_chain(const search *s, uint32_t x, int64_t live)
{
    return live <= state_of(s, x)->live ||
           s->flood.walk->count + 1 == s->place + s->n_tasks;
}

/* The length of a chain from `task` on that fits and ends no higher than `x`,
 * where the walk is, or ends the part; else 0. */
static uint32_t
find_chain(search *s, uint32_t x, uint32_t task, uint32_t chain[MOST_CHAIN])
{
    uint32_t n = 0, length = 0, next;

    while (n < MOST_CHAIN) {
        glow_order_effect e = try_task(s, task);

        if (!fits(s, e))
            break;
        chain[n] = task;
        if (ends_chain(s, x, s->flood.walk->live + e.after))
            length = n + 1;
        if (length > 0 || !find_next(s, task, &next))
            break;
        do_task(s, task);
        task = next;
        n++;
    }
    while (n > 0)
        undo_task(s, chain[--n]);
    return length;
}

/*
 * Adds the states of a chain from `x`.  Those on the way are known from now on:
 * whoever else reaches them had best go on along the chain.
 */
static void
add_chain(search *s, uint32_t x, const uint32_t *chain, uint32_t n)
{
    bool fresh = false;

    for (uint32_t k = 0; k < n; k++) {
        do_task(s, chain[k]);
        x = glow_order_states_append(s->states, x, chain[k],
                                     s->flood.walk->live, &fresh);
    }
    s->at = x;
    if (fresh)
        open_state(s, x);
}

/* Adds what each task that can run makes of `x`, where the walk is. */
static void
add_each(search *s, uint32_t x)
{
    int64_t least = INT64_MAX, live = s->flood.walk->live;

    for (uint32_t k = 0; k < s->flood.walk->n_ready; k++) {
        uint32_t task = s->flood.walk->ready[k], y;
        glow_order_effect e = try_task(s, task);

        if (!fits(s, e))
            least = live + e.during < least ? live + e.during : least;
        else if (glow_order_states_find(s->states, x, task, live + e.after, &y))
            open_state(s, y);
    }
    if (least < INT64_MAX)
        glow_order_push(s->a, &s->blocked, least, x, state_of(s, x)->count);
}

static void
expand(search *s, uint32_t x)
{
    uint32_t chain[MOST_CHAIN], n = s->flood.walk->n_ready;

    memcpy(s->ready, s->flood.walk->ready, n * sizeof(uint32_t));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t length = find_chain(s, x, s->ready[k], chain);

        if (length > 0) {
            add_chain(s, x, chain, length);
            return;
        }
    }
    add_each(s, x);
}

/* Committing. */

/* Puts the tasks on the way to `x` on a side, and lists them, last first. */
static uint32_t
mark_path(search *s, uint32_t x, uint8_t side)
{
    uint32_t n = 0;

    for (; x != ROOT; x = state_of(s, x)->parent) {
        s->path[n++] = state_of(s, x)->task;
        s->cut->side[state_of(s, x)->task] = side;
    }
    return n;
}

/* Runs, from the root, those of `n` tasks that are in; false if one does not
 * fit, and then the walk is back at the root. */
static bool
run_path(search *s, uint32_t n)
{
    uint32_t *done = s->flood.tasks + s->n_done, kept = 0;

    go_to(s, ROOT);
    for (uint32_t k = n; k-- > 0;) {
        if (s->cut->side[s->path[k]] != GLOW_ORDER_IN)
            continue;
        if (!fits(s, try_task(s, s->path[k]))) {
            while (kept > 0)
                undo_task(s, done[--kept]);
            return false;
        }
        done[kept++] = s->path[k];
        do_task(s, s->path[k]);
    }
    s->n_done += kept;
    return true;
}

/* True if the search begins anew at `x`, or below it. */
static bool
commit(search *s, uint32_t x)
{
    int64_t gain = state_of(s, x)->live - state_of(s, ROOT)->live;
    bool all = s->n_done + state_of(s, x)->count == s->n_tasks;
    int64_t work = s->cut->work;
    uint32_t n;

    if (x == ROOT || (gain > 0 && !all))
        return false;
    n = mark_path(s, x, GLOW_ORDER_FREE);
    if (all ||
        glow_order_cut_least(s->cut, s->path, n, GLOW_ORDER_NO_TASK) >= gain)
        mark_path(s, x, GLOW_ORDER_IN);
    s->steps -= s->cut->work - work;
    if (!run_path(s, n)) {
        mark_path(s, x, GLOW_ORDER_OUT);
        return false;
    }
    plant(s);
    return true;
}

/* Takes in what waits for no more than the budget. */
static void
unblock(search *s)
{
    while (s->blocked.count > 0 && s->blocked.items[0].key <= s->flood.budget)
        open_state(s, glow_order_pop(&s->blocked).state);
}

/* False if that would be no better than what is known. */
static bool
raise_budget(search *s)
{
    if (s->blocked.count == 0 || s->blocked.items[0].key >= s->flood.beat) {
        s->flood.budget = s->flood.beat;
        return false;
    }
    s->flood.budget = s->blocked.items[0].key;
    unblock(s);
    return true;
}

glow_order_end
glow_order_flood_run(glow_order_flood *flood, int64_t *steps)
{
    search *s = (search *)flood;
    glow_order_end end = GLOW_ORDER_STOPPED;

    s->steps = *steps;
    unblock(s);
    while (s->steps > 0 && end == GLOW_ORDER_STOPPED) {
        if (flood->budget >= flood->beat ||
            (s->open.count == 0 && !raise_budget(s))) {
            end = GLOW_ORDER_NONE;
            break;
        }
        uint32_t x = glow_order_pop(&s->open).state;

        if (!commit(s, x)) {
            go_to(s, x);
            expand(s, x);
        } else if (s->n_done == s->n_tasks) {
            end = GLOW_ORDER_FOUND;
        }
    }
    *steps = s->steps;
    return end;
}

/* Parts. */

glow_order_flood *
glow_order_flood_new(glow_arena *a, const glow_order_net *net,
                     const uint32_t *order)
{
    search *s = GLOW_NEW(a, search);
    size_t n = net->n_tasks;

    s->a = a;
    s->flood.tasks = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    s->order = order;
    s->flood.walk = glow_order_walk_new(a, net);
    s->cut = glow_order_cut_new(a, net);
    s->states = glow_order_states_new(a);
    s->path = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    s->ready = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    plant(s);
    return &s->flood;
}

void
glow_order_flood_start(glow_order_flood *flood, uint32_t first, uint32_t n)
{
    search *s = (search *)flood;

    go_to(s, ROOT);
    while (s->n_done > 0) {
        glow_order_undo(s->flood.walk, flood->tasks[--s->n_done]);
        s->cut->side[flood->tasks[s->n_done]] = GLOW_ORDER_OUT;
    }
    for (; s->place > first; s->place--) {
        glow_order_undo(s->flood.walk, s->order[s->place - 1]);
        s->cut->side[s->order[s->place - 1]] = GLOW_ORDER_OUT;
    }
    for (; s->place < first; s->place++) {
        glow_order_do(s->flood.walk, s->order[s->place]);
        s->cut->side[s->order[s->place]] = GLOW_ORDER_IN;
    }
    s->n_tasks = n;
    plant(s);
}
