/*
 * Best-first search over down-sets, with a rising memory budget.
 *
 * A state is the down-set of tasks that have run.  Under a budget, states are
 * expanded in order of M, the live bytes, less a tie-break weight for each task
 * that has run, which favours states near the end; successors that need more
 * than the budget are blocked.  When no state is open, no order keeps to the
 * budget: it rises to the least need of a blocked successor, and the search
 * resumes.  The first complete state is reached by an order of least peak.
 *
 * M is submodular (glow/order.h), which prunes most states.  Let S be the root, X
 * a state reached from it, and M(X) <= M(D) for all down-sets D between S and X.
 * If an order continues from S within the budget by D1, D2..., then X | D1,
 * X | D2... continues from X: M(X | Di) <= M(Di) + M(X) - M(X & Di) <= M(Di),
 * and a task needs no more beside X, since fewer of its buffers are touched for
 * the first time and more of those that it may overwrite for the last.  So:
 *
 *   commit  Such an X becomes the root; all other states are dropped.  A minimum
 *           cut decides.  If it finds some X' below X, then X' is reachable too:
 *           by the path to X without the tasks outside X'.
 *   chain   Tasks each of which waits for the one before it, and which end with
 *           no more live bytes than they begin with: no other down-set lies
 *           between, so a state has that one successor if the chain fits.
 *
 * Both stay valid, as budgets only rise.
 *
 * A state is stored as its parent and one task, and identified by two 64-bit
 * sums of the hashes of its tasks: among 2^20 states the probability of a false
 * match is 2^-88.  Memory is linear in tasks and steps.  One walk visits the
 * states, and undoes and runs only the tasks in which two states differ.
 *
 * The search also runs backwards, on the reversed problem.  That takes far fewer
 * states where results have several readers and one writer, since the cost of a
 * read shows at once: 30 to 200 times fewer for randomly wired networks.
 *
 * SERENITY (Ahn et al., MLSys 2020) searches the same states, keyed by the ready
 * tasks, breadth first under a budget found by bisection; the use of
 * submodularity is ours.  Liu (SIAM J. Algebraic Discrete Methods 8, 1987)
 * defines hills and valleys for trees; the valleys are the commits here.
 */

#include <string.h>

#include "irgen/schedule/searches.h"
#include "irgen/schedule/states.h"

enum { MOST_CHAIN = 64, ROOT = 0 };

typedef struct search {
    glow_order_best_first base; /* the public part */
    glow_arena *a;
    const uint32_t *order; /* all tasks */
    uint32_t place;        /* position in `order` where the segment begins */
    uint32_t n_tasks;      /* of the segment */
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

/* Moves of the walk. */

static void
do_task(search *s, uint32_t task)
{
    glow_order_do(s->base.walk, task);
    s->steps--;
}

static void
undo_task(search *s, uint32_t task)
{
    glow_order_undo(s->base.walk, task);
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

/* Pushes a state to be expanded. */
static void
open_state(search *s, uint32_t x)
{
    const glow_order_state *state = state_of(s, x);
    int64_t tie_weight = (int64_t)(s->base.tie_weight * state->count);

    glow_order_push(s->a, &s->open, state->live - tie_weight, x, state->count);
}

/* Makes the walk's state the root. */
static void
plant(search *s)
{
    s->open.count = s->blocked.count = 0;
    s->at = glow_order_states_reset(s->states, s->base.walk->live);
    open_state(s, s->at);
}

/* Expansion. */

static glow_order_effect
try_task(search *s, uint32_t task)
{
    s->steps--;
    return glow_order_try(s->base.walk, task);
}

static bool
fits(const search *s, glow_order_effect e)
{
    return s->base.walk->live + e.during <= s->base.budget;
}

/* Finds a task that waits for `task` alone. */
static bool
find_next(const search *s, uint32_t task, uint32_t *next)
{
    GLOW_ORDER_EACH(i, s->base.walk->net->after, task)
        if (s->base.walk->waits[*i] == 1) {
            *next = *i;
            return true;
        }
    return false;
}

/* True if `live` is at most that of `x`, or one task of the segment is left. */
static bool
ends_chain(const search *s, uint32_t x, int64_t live)
{
    return live <= state_of(s, x)->live ||
           s->base.walk->count + 1 == s->place + s->n_tasks;
}

/* The length of a chain from `task` on that fits and ends with no more live bytes
 * than `x`, the walk's state, or ends the segment; 0 if there is none. */
static uint32_t
find_chain(search *s, uint32_t x, uint32_t task, uint32_t chain[MOST_CHAIN])
{
    uint32_t n = 0, length = 0, next;

    while (n < MOST_CHAIN) {
        glow_order_effect e = try_task(s, task);

        if (!fits(s, e))
            break;
        chain[n] = task;
        if (ends_chain(s, x, s->base.walk->live + e.after))
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
 * Adds the states of a chain from `x`.  Those inside the chain become known
 * without being opened: other paths to them are dropped, as the chain is the best
 * continuation.
 */
static void
add_chain(search *s, uint32_t x, const uint32_t *chain, uint32_t n)
{
    bool fresh = false;

    for (uint32_t k = 0; k < n; k++) {
        do_task(s, chain[k]);
        x = glow_order_states_append(s->states, x, chain[k], s->base.walk->live,
                                     &fresh);
    }
    s->at = x;
    if (fresh)
        open_state(s, x);
}

/* Adds the successors of `x`, the walk's state, by each ready task. */
static void
add_each(search *s, uint32_t x)
{
    int64_t least = INT64_MAX, live = s->base.walk->live;

    for (uint32_t k = 0; k < s->base.walk->n_ready; k++) {
        uint32_t task = s->base.walk->ready[k], y;
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
    uint32_t chain[MOST_CHAIN], n = s->base.walk->n_ready;

    memcpy(s->ready, s->base.walk->ready, n * sizeof(uint32_t));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t length = find_chain(s, x, s->ready[k], chain);

        if (length > 0) {
            add_chain(s, x, chain, length);
            return;
        }
    }
    add_each(s, x);
}

/* Commits. */

/* Puts the tasks on the path to `x` on a side, and lists them, last first. */
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

/* Runs, from the root, those of the `n` tasks of the path that are IN; false, with
 * the walk back at the root, if one does not fit. */
static bool
run_path(search *s, uint32_t n)
{
    uint32_t *done = s->base.tasks + s->n_done, kept = 0;

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

/* True if `x`, or a state below it, became the root. */
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

/* Opens blocked states whose successors fit the budget. */
static void
unblock(search *s)
{
    while (s->blocked.count > 0 && s->blocked.items[0].key <= s->base.budget)
        open_state(s, glow_order_pop(&s->blocked).state);
}

/* False if the next budget is no better than the incumbent. */
static bool
raise_budget(search *s)
{
    if (s->blocked.count == 0 || s->blocked.items[0].key >= s->base.incumbent) {
        s->base.budget = s->base.incumbent;
        return false;
    }
    s->base.budget = s->blocked.items[0].key;
    unblock(s);
    return true;
}

glow_order_end
glow_order_best_first_run(glow_order_best_first *f, int64_t *steps)
{
    search *s = (search *)f;
    glow_order_end end = GLOW_ORDER_STOPPED;

    s->steps = *steps;
    unblock(s);
    while (s->steps > 0 && end == GLOW_ORDER_STOPPED) {
        if (f->budget >= f->incumbent ||
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

/* Segments. */

glow_order_best_first *
glow_order_best_first_new(glow_arena *a, const glow_order_net *net,
                          const uint32_t *order)
{
    search *s = GLOW_NEW(a, search);
    size_t n = net->n_tasks;

    s->a = a;
    s->base.tasks = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    s->order = order;
    s->base.walk = glow_order_walk_new(a, net);
    s->cut = glow_order_cut_new(a, net);
    s->states = glow_order_states_new(a);
    s->path = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    s->ready = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    plant(s);
    return &s->base;
}

void
glow_order_best_first_start(glow_order_best_first *f, uint32_t first,
                            uint32_t n)
{
    search *s = (search *)f;

    go_to(s, ROOT);
    while (s->n_done > 0) {
        glow_order_undo(s->base.walk, f->tasks[--s->n_done]);
        s->cut->side[f->tasks[s->n_done]] = GLOW_ORDER_OUT;
    }
    for (; s->place > first; s->place--) {
        glow_order_undo(s->base.walk, s->order[s->place - 1]);
        s->cut->side[s->order[s->place - 1]] = GLOW_ORDER_OUT;
    }
    for (; s->place < first; s->place++) {
        glow_order_do(s->base.walk, s->order[s->place]);
        s->cut->side[s->order[s->place]] = GLOW_ORDER_IN;
    }
    s->n_tasks = n;
    plant(s);
}
