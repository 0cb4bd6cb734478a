/*
 * rematerialize: recompute large results instead of keeping them live.
 *
 *     %t = Tile(@x) ..                      %t = Tile(@x) ..
 *     %a = MatMul(%t, @w)                   %a = MatMul(%t, @w)
 *     .. the peak, while %t is live .. =>   .. the peak, without %t ..
 *     %b = Add(%c, %t)                      %t.1 = Tile(@x) ..
 *                                           %b = Add(%c, %t.1)
 *
 * Nothing is done unless the schedule, once it is placed, needs more bytes than the
 * limit.  Then, at the peak node, the candidates are the results that are live
 * across it: defined before and used after it, but not by it.  The candidate with
 * the greatest product of bytes and distance to its next use, by the price of
 * recomputation, is tried first: its node is cloned before that use, with the
 * definitions of operands that would otherwise have to stay live.  The price is
 * the time in parts of the function's, and the flops in parts of the budget.
 *
 * The first clone of few operations that lowers the peak is kept.  Clones of many
 * operations, more than 1 / LEAST_PART of the budget, are compared by what they
 * save of the excess for an operation.  When the limit is met, each such clone is
 * dropped whose users can take the original or another clone of it within the
 * limit.
 *
 * Only pure operators are computed twice.  The function is scheduled
 * afterwards, so that cse, which leaves scheduled functions alone, does not
 * undo the clones.
 *
 * Each choice depends on the bytes beyond the target, and a search that aims at less
 * often finds cheaper clones.  Every search ends once the limit is met, and its result
 * is valid for any larger limit.  So the search is made for the limit, then for targets
 * below it, which are 1 / GRID of the first peak apart, the same for all limits, as long
 * as each adds fewer operations than the one before.  The best is made again.
 *
 * Time: a schedule for each trial, of which there are at most TRIALS for a
 * clone, in each of at most TARGETS + 2 searches, mostly three; no search begins
 * behind MOST_WORK nodes of all schedules before.
 */

#include <inttypes.h>
#include <stdlib.h>

#include "glow/cost.h"
#include "glow/schedule.h"
#include "passes/graph/common/names.h"

typedef struct options {
    const char *keep;
    int64_t limit;
    int most_flops;
    int64_t budget;
} options;

enum {
    TRIALS = 16,     /* of a step */
    MOST_NODES = 32, /* that are cloned for one result */
    LEAST_PART = 64, /* of the bytes beyond the limit, in a result */
    GRID = 64,       /* targets from the first peak to 0 */
    TARGETS = 4,     /* below the limit */
    MOST_WORK = 1 << 20,
    BOUND_STEPS = 100000000
};

/* A value that could be recomputed. */
typedef struct candidate {
    glow_value *value;
    glow_node *user;             /* the first after the peak */
    uint32_t place;              /* of the definition of `value` */
    uint32_t places[MOST_NODES]; /* of the nodes to clone, in order */
    int count;
    int64_t flops;
    double worth; /* priority */
} candidate;

/* A clone that was kept. */
typedef struct kept {
    glow_value *root; /* the value that was computed first */
    glow_value *to;
    int64_t flops;
} kept;

typedef struct remat {
    glow_pass_run *run;
    glow_func *f;
    glow_builder *builder;
    glow_schedule schedule;
    int64_t most, left; /* budget of flops, and what remains of it */
    int64_t target;     /* the peak aimed at */
    int64_t work;       /* nodes of all schedules so far */
    int64_t incumbent;  /* `left` of the best trial so far */
    bool only_asks;     /* undo every clone */
    bool is_trial;      /* of a search that is undone, and leaves no remarks */
    glow_value *made;   /* the last clone */
    kept *kept;
    size_t n_kept, cap_kept;
    double time; /* of the function as it was given */
} remat;

/* The peak, and the sum of the bytes above the target over all positions. */
typedef struct height {
    int64_t peak;
    double excess;
} height;

static height
height_of(const glow_schedule *s, int64_t target)
{
    height h = {s->peak, 0};

    for (uint32_t k = 0; k < s->count; k++)
        if (s->during[k] > target)
            h.excess += (double)(s->during[k] - target);
    return h;
}

static bool
is_lower(height a, height b)
{
    return a.peak < b.peak || (a.peak == b.peak && a.excess < b.excess);
}

static bool
find_schedule(remat *r)
{
    const options *o = glow_run_options(r->run);
    glow_schedule_options how = glow_schedule_defaults;

    how.budget = o->budget;
    r->work += r->f->count;
    return glow_schedule_find(r->run, r->f, &how, &r->schedule);
}

/* Candidates. */

static bool
can_clone(const glow_node *n)
{
    return n->op->traits & GLOW_PURE && n->n_out == 1 && !n->pred &&
           glow_call_count(n) == 0;
}

static bool
may_clone(const remat *r, const glow_node *n)
{
    const options *o = glow_run_options(r->run);

    return can_clone(n) && !glow_names_have(o->keep, n);
}

static uint32_t
place_of(const remat *r, const glow_node *n)
{
    return glow_number_of(&r->schedule.places, n);
}

/* The first user of `v` after position `at`, or NULL. */
static glow_node *
next_user(const remat *r, const glow_value *v, uint32_t at)
{
    uint32_t next = GLOW_UNNUMBERED;

    GLOW_FOR_EACH_USE(u, v) {
        uint32_t place = place_of(r, u->user);

        if (place > at && place < next)
            next = place;
    }
    return next == GLOW_UNNUMBERED ? NULL : r->schedule.nodes[next];
}

static bool
is_used_at(const remat *r, const glow_value *v, uint32_t at)
{
    GLOW_FOR_EACH_USE(u, v)
        if (place_of(r, u->user) == at)
            return true;
    return false;
}

static bool
has(const candidate *c, uint32_t place)
{
    for (int i = 0; i < c->count; i++)
        if (c->places[i] == place)
            return true;
    return false;
}

static int
by_place(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

/*
 * Collects the nodes to clone, so that all their other operands are live after
 * position `at`.
 */
static bool
collect(const remat *r, candidate *c, uint32_t at)
{
    c->places[c->count++] = c->place;
    for (int k = 0; k < c->count; k++) {
        const glow_node *n = r->schedule.nodes[c->places[k]];

        if (!may_clone(r, n))
            return false;
        for (int i = 0; i < n->n_in; i++) {
            const glow_value *v = n->in[i];

            if (!v || !v->def || next_user(r, v, at) ||
                has(c, place_of(r, v->def)))
                continue;
            if (c->count == MOST_NODES)
                return false;
            c->places[c->count++] = place_of(r, v->def);
        }
    }
    glow_sort(c->places, (size_t)c->count, sizeof *c->places, by_place);
    return true;
}

/* The part of the function's time that nodes take, and of the flops that may be
 * added: a convolution may take no longer than activations, and all of these. */
static double
price(const remat *r, glow_cost c, int nodes)
{
    double flops = r->most > 0 ? (double)c.flops / (double)r->most : 0;

    return glow_cost_time(glow_run_target(r->run), c, nodes) / r->time + flops;
}

/*
 * Sets cost and priority of a candidate; false if it cannot be cloned or
 * exceeds the budget.
 */
static bool
weigh(const remat *r, candidate *c)
{
    uint32_t at = r->schedule.at;
    glow_cost cost = {0};

    c->user = next_user(r, c->value, at);
    if (!c->user || is_used_at(r, c->value, at) || !collect(r, c, at))
        return false;
    for (int i = 0; i < c->count; i++)
        cost = glow_cost_add(cost,
                             glow_node_cost(r->schedule.nodes[c->places[i]]));
    c->flops = cost.flops;
    c->worth = (double)glow_type_bytes(c->value->type) *
               (double)(place_of(r, c->user) - at) / price(r, cost, c->count);
    return c->flops <= r->left;
}

static int
by_worth(const void *x, const void *y)
{
    const candidate *a = x, *b = y;

    if (a->worth != b->worth)
        return a->worth > b->worth ? -1 : 1;
    return by_place(&a->place, &b->place);
}

/* Candidates whose results have `least` bytes or more, the best one first. */
static candidate *
list_candidates(const remat *r, int64_t least, size_t *count)
{
    glow_arena *a = glow_run_scratch(r->run);
    candidate *all = NULL;
    size_t cap = 0;

    *count = 0;
    for (uint32_t k = 0; k < r->schedule.at; k++) {
        candidate c = {0};

        if (!may_clone(r, r->schedule.nodes[k]))
            continue;
        c.value = r->schedule.nodes[k]->out[0];
        c.place = k;
        if (glow_type_bytes(c.value->type) < least || !weigh(r, &c))
            continue;
        all = glow_arena_grow(a, all, *count, &cap, sizeof *all);
        all[(*count)++] = c;
    }
    if (*count > 1)
        glow_sort(all, *count, sizeof *all, by_worth);
    return all;
}

/* Trying. */

/* Moves the nodes to the order of the schedule. */
static void
put_in_order(glow_func *f, glow_node *const *nodes, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (nodes[k] != f->last)
            glow_node_move_after(nodes[k], f->last);
}

/* The value of the clone for `v`; `v` if its definition was not cloned. */
static glow_value *
again(const remat *r, const candidate *c, glow_node *const *clones, int made,
      glow_value *v)
{
    for (int i = 0; v && i < made; i++)
        if (v->def == r->schedule.nodes[c->places[i]])
            return clones[i]->out[0];
    return v;
}

static bool
clone(remat *r, const candidate *c, glow_node *clones[])
{
    for (int k = 0; k < c->count; k++) {
        glow_node *n = r->schedule.nodes[c->places[k]];
        glow_value **in =
            GLOW_NEW_ARRAY(glow_run_scratch(r->run), glow_value *, n->n_in);

        for (int i = 0; i < n->n_in; i++)
            in[i] = again(r, c, clones, k, n->in[i]);
        glow_builder_at(r->builder, n);
        const glow_value *v = glow_build(
            r->builder, n->op, glow_states_type(n) ? n->out[0]->type : NULL, in,
            n->n_in, n->attrs);

        if (!v)
            return false;
        clones[k] = v->def;
        glow_node_move_before(v->def, c->user);
    }
    return true;
}

/* Replaces uses of `from` after position `at` by `to`. */
static void
hand_over(const remat *r, glow_value *from, glow_value *to, uint32_t at)
{
    for (glow_use *u = from->uses, *next; u; u = next) {
        next = u->next;
        if (place_of(r, u->user) <= at || u->user == to->def)
            continue;
        if (u->index < 0)
            glow_set_pred(u->user, to);
        else
            glow_set_operand(u->user, u->index, to);
    }
}

static void
undo(remat *r, const candidate *c, glow_node *const *clones,
     const glow_schedule *had)
{
    glow_replace_uses(clones[c->count - 1]->out[0], c->value);
    for (int k = c->count; k-- > 0;)
        glow_node_erase(clones[k]);
    r->schedule = *had;
}

/* Clones, and reschedules; undoes the clone unless the peak is lower, or the excess. */
static bool
try_clone(remat *r, const candidate *c, height *now, bool *failed)
{
    glow_schedule had = r->schedule;
    glow_node *clones[MOST_NODES];

    *failed = !clone(r, c, clones);
    if (*failed)
        return false;
    hand_over(r, c->value, clones[c->count - 1]->out[0], had.at);
    if (find_schedule(r)) {
        *now = height_of(&r->schedule, r->target);
        if (is_lower(*now, height_of(&had, r->target)) && !r->only_asks &&
            (r->is_trial || glow_run_may_rewrite(r->run))) {
            r->made = clones[c->count - 1]->out[0];
            return true;
        }
    }
    undo(r, c, clones, &had);
    return false;
}

static bool
keep(remat *r, const candidate *c, int64_t peak)
{
    glow_value *root = c->value;

    for (size_t i = 0; i < r->n_kept; i++)
        if (r->kept[i].to == root)
            root = r->kept[i].root;
    r->kept = glow_arena_grow(glow_run_scratch(r->run), r->kept, r->n_kept,
                              &r->cap_kept, sizeof *r->kept);
    r->kept[r->n_kept++] = (kept){root, r->made, c->flops};
    r->left -= c->flops;
    put_in_order(r->f, r->schedule.nodes, r->schedule.count);
    if (r->is_trial)
        return true;
    glow_run_count(r->run, "clones", c->count);
    glow_run_remark(r->run, c->value->def, true,
                    "computes it again for %%%s, with %d nodes: the peak falls "
                    "from %" PRId64 " to %" PRId64 " bytes for %" PRId64
                    " operations",
                    c->user->name, c->count, peak, r->schedule.peak, c->flops);
    return true;
}

/* Operations that count: many of them must be worth it. */
static bool
is_dear(const remat *r, const candidate *c)
{
    return c->flops > r->most / LEAST_PART;
}

/* The first clone of few operations that helps, with results of `least` bytes. */
static bool
step_cheaply(remat *r, int64_t least, bool *failed)
{
    size_t count;
    candidate *all = list_candidates(r, least, &count);
    int64_t peak = r->schedule.peak;
    height now;

    for (size_t i = 0, tried = 0; i < count && tried < TRIALS && !*failed;
         i++) {
        if (is_dear(r, &all[i]))
            continue;
        if (try_clone(r, &all[i], &now, failed))
            return keep(r, &all[i], peak);
        tried++;
    }
    return false;
}

/* The clone that lowers the excess most for its operations. */
static bool
step_dearly(remat *r, int64_t least, bool *failed)
{
    size_t count;
    candidate *all = list_candidates(r, least, &count), *best = NULL;
    int64_t peak = r->schedule.peak;
    height had = height_of(&r->schedule, r->target), now;
    double most = 0;

    r->only_asks = true;
    for (size_t i = 0, tried = 0; i < count && tried < TRIALS && !*failed;
         i++) {
        if (!is_dear(r, &all[i]))
            continue;
        now = had;
        (void)try_clone(r, &all[i], &now, failed);
        if (is_lower(now, had) &&
            (had.excess - now.excess) / (double)all[i].flops > most) {
            best = &all[i];
            most = (had.excess - now.excess) / (double)all[i].flops;
        }
        tried++;
    }
    r->only_asks = false;
    return best && !*failed && try_clone(r, best, &now, failed) &&
           keep(r, best, peak);
}

/* One step, large results first; false if nothing helps, or *failed. */
static bool
step(remat *r, bool *failed)
{
    int64_t least = (r->schedule.peak - r->target) / LEAST_PART;

    return step_cheaply(r, least, failed) ||
           (!*failed && step_dearly(r, least, failed)) ||
           (!*failed && least > 0 && step_cheaply(r, 0, failed)) ||
           (!*failed && least > 0 && step_dearly(r, 0, failed));
}

static bool
is_within(const remat *r, int64_t limit, int64_t *placed)
{
    *placed = r->schedule.peak <= limit
                  ? glow_schedule_height(r->run, &r->schedule, limit)
                  : r->schedule.peak;
    return *placed <= limit;
}

/* Steps until the limit is met or nothing helps; false if there were none.  The
 * target becomes at most the limit less the bytes that a placement loses between
 * buffers. */
static bool
lower_peak(remat *r, int64_t limit, bool *failed)
{
    bool changed = false;
    int64_t placed;

    while (!*failed && !(r->is_trial && r->left <= r->incumbent) &&
           !is_within(r, limit, &placed)) {
        int64_t most = r->schedule.peak - (placed - limit);

        if (r->schedule.peak <= limit && most < r->target)
            r->target = most;
        if (!step(r, failed))
            break;
        changed = true;
    }
    return changed;
}

/* Erases the nodes that nobody uses any more, of which `v` is the result. */
static void
erase_unused(remat *r, glow_value *v)
{
    glow_node *n = v->def;

    if (v->uses || !n || !can_clone(n))
        return;
    for (size_t i = 0; i < r->n_kept; i++)
        if (r->kept[i].to == v)
            r->kept[i].to = NULL;
        else if (r->kept[i].root == v)
            return;
    glow_value **in = glow_arena_copy(glow_run_scratch(r->run), n->in,
                                      (size_t)n->n_in * sizeof(glow_value *));
    int count = n->n_in;

    r->left += glow_node_cost(n).flops;
    glow_node_erase(n);
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count; j++)
            in[j] = in[j] == in[i] ? NULL : in[j];
        if (in[i])
            erase_unused(r, in[i]);
    }
}

/* Lets the users of clone `k` use `other` instead, if the limit is kept to. */
static bool
merge(remat *r, size_t k, glow_value *other, int64_t limit)
{
    glow_schedule had = r->schedule;
    glow_value *v = r->kept[k].to;
    glow_use *uses = NULL;
    size_t count = 0, cap = 0;
    int64_t placed;

    GLOW_FOR_EACH_USE(u, v) {
        uses = glow_arena_grow(glow_run_scratch(r->run), uses, count, &cap,
                               sizeof *uses);
        uses[count++] = *u;
    }
    glow_replace_uses(v, other);
    if (find_schedule(r) && is_within(r, limit, &placed)) {
        put_in_order(r->f, r->schedule.nodes, r->schedule.count);
        if (!r->is_trial) {
            glow_run_remark(r->run, v->def, true,
                            "is not needed after all: its users take %%%s",
                            other->def->name);
            glow_run_count(r->run, "dropped", 1);
        }
        erase_unused(r, v);
        return find_schedule(r);
    }
    for (size_t i = 0; i < count; i++)
        if (uses[i].index < 0)
            glow_set_pred(uses[i].user, v);
        else
            glow_set_operand(uses[i].user, uses[i].index, v);
    r->schedule = had;
    return false;
}

/* Drops clones of many operations that later ones made needless. */
static void
prune(remat *r, int64_t limit)
{
    for (size_t k = 0; k < r->n_kept; k++) {
        bool done;

        if (!r->kept[k].to || r->kept[k].flops <= r->most / LEAST_PART)
            continue;
        done = merge(r, k, r->kept[k].root, limit);
        for (size_t i = 0; i < r->n_kept && !done; i++)
            if (i != k && r->kept[i].to && r->kept[i].root == r->kept[k].root)
                done = merge(r, k, r->kept[i].to, limit);
    }
}

static int64_t
percent(int64_t of, int p)
{
    return of > INT64_MAX / (p > 0 ? p : 1) ? INT64_MAX : of * p / 100;
}

/* Counts and notes the result, beside the bytes that no choice of clones with as
 * many operations goes below. */
static void
report(const remat *r, const glow_order_again *again, int64_t flops)
{
    int64_t spent = r->most - r->left;
    int64_t bound = again ? glow_order_bound_again(glow_run_scratch(r->run),
                                                   again, spent, BOUND_STEPS)
                          : 0;

    glow_run_count(r->run, "operations", spent);
    glow_run_count(r->run, "bound", bound);
    glow_run_note(r->run,
                  "@%s: peak %" PRId64 " bytes for %" PRId64
                  " more operations (%.2f %%), and at least %" PRId64
                  " for as many, whatever is computed again",
                  r->f->name, r->schedule.peak, spent,
                  flops > 0 ? 100 * (double)spent / (double)flops : 0, bound);
}

/* The function as it was given. */
typedef struct given {
    glow_numbering numbers;   /* of its nodes */
    glow_node **nodes;        /* in order */
    glow_value ***in, **pred; /* by node */
    uint32_t count;
    glow_schedule schedule;
} given;

static given
note_given(const remat *r)
{
    glow_arena *a = glow_run_scratch(r->run);
    size_t count = (size_t)r->f->count;
    given g = {.numbers = glow_number_nodes(a, r->f),
               .nodes = GLOW_NEW_ARRAY(a, glow_node *, count),
               .in = GLOW_NEW_ARRAY(a, glow_value **, count),
               .pred = GLOW_NEW_ARRAY(a, glow_value *, count),
               .schedule = r->schedule};

    GLOW_FOR_EACH_NODE(n, r->f) {
        g.in[g.count] =
            glow_arena_copy(a, n->in, (size_t)n->n_in * sizeof *n->in);
        g.pred[g.count] = n->pred;
        g.nodes[g.count++] = n;
    }
    return g;
}

/* Gives the nodes their operands again, and erases all others. */
static void
restore(remat *r, const given *g)
{
    for (uint32_t k = 0; k < g->count; k++) {
        glow_node *n = g->nodes[k];

        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] != g->in[k][i])
                glow_set_operand(n, i, g->in[k][i]);
        if (n->pred != g->pred[k])
            glow_set_pred(n, g->pred[k]);
    }
    for (glow_node *n = r->f->last, *prev; n; n = prev) {
        prev = n->prev;
        if (glow_number_of(&g->numbers, n) == GLOW_UNNUMBERED)
            glow_node_erase(n);
    }
    put_in_order(r->f, g->nodes, g->count);
    r->schedule = g->schedule;
    r->left = r->most;
    r->n_kept = 0;
}

/* Clones for a peak of `target`, until the limit is met; false if there are none. */
static bool
search(remat *r, int64_t limit, int64_t target, bool *failed)
{
    bool changed;
    int64_t placed;

    r->target = target;
    put_in_order(r->f, r->schedule.nodes, r->schedule.count);
    changed = lower_peak(r, limit, failed);
    if (changed && !*failed && is_within(r, limit, &placed))
        prune(r, limit);
    return changed;
}

/* The target, of the limit and those of the grid below it, whose search adds the fewest
 * operations within the limit; the limit if none is within it, or *failed.  No target
 * follows one that is no better than the one before it. */
static int64_t
best_target(remat *r, const given *g, int64_t limit, bool *failed)
{
    int64_t step = g->schedule.peak / GRID + 1, target = limit, best = limit;
    int64_t placed;
    bool better = true;

    r->is_trial = true;
    r->incumbent = -1;
    for (int k = 0; better && !*failed; k++) {
        (void)search(r, limit, target, failed);
        better =
            !*failed && is_within(r, limit, &placed) && r->left > r->incumbent;
        if (better) {
            best = target;
            r->incumbent = r->left;
        }
        restore(r, g);
        target = (limit - 1) / step * step - k * step;
        better &= k < TARGETS && target > 0 && r->work < MOST_WORK;
    }
    r->is_trial = false;
    return best;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const options *o = glow_run_options(pass);
    int64_t limit = o->limit ? o->limit : glow_run_limit(pass);
    remat r = {.run = pass, .f = f};
    glow_result result = GLOW_UNCHANGED;
    bool failed = false;
    int64_t placed, target;
    glow_cost cost = glow_func_cost(f);

    if (limit == 0)
        return GLOW_UNCHANGED;
    r.left = r.most = percent(cost.flops, o->most_flops);
    r.time = glow_cost_time(glow_run_target(pass), cost, (int)f->count);
    r.builder =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    if (!find_schedule(&r))
        return GLOW_FAILED;
    if (is_within(&r, limit, &placed))
        return GLOW_UNCHANGED;
    glow_order_again *again =
        glow_schedule_again(pass, f, glow_schedule_defaults.align, can_clone);
    given g = note_given(&r);

    target = best_target(&r, &g, limit, &failed);
    if (!failed && search(&r, limit, target, &failed))
        result = GLOW_CHANGED;
    if (failed)
        return GLOW_FAILED;
    report(&r, again, cost.flops);
    if (result == GLOW_CHANGED)
        f->scheduled = true;
    else
        restore(&r, &g);
    return result;
}

const glow_pass glow_pass_rematerialize = {
    .name = "rematerialize",
    .summary = "recompute large results instead of keeping them live",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(options, keep, GLOW_STRING,
                                   "operators and nodes, with commas between, "
                                   "that are not computed again"),
                GLOW_FIELD_DEFAULT(options, limit, GLOW_BYTES,
                                   "bytes that results may take; 0: -limit"),
                GLOW_FIELD_DEFAULT(options, most_flops, GLOW_INT,
                                   "operations that may be added, in percent"),
                GLOW_FIELD_DEFAULT(options, budget, GLOW_INT64,
                                   "steps of searching for each schedule")},
    .defaults =
        &(const options){.keep = "", .most_flops = 25, .budget = 100000},
    .run = run,
    .source = "Jain et al., Checkmate (2020); Kirisame et al., Dynamic tensor "
              "rematerialization (2021)",
};
