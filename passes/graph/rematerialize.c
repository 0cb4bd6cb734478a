/*
 * rematerialize: recompute large results instead of keeping them live.
 *
 *     %t = Tile(@x) ..                      %t = Tile(@x) ..
 *     %a = MatMul(%t, @w)                   %a = MatMul(%t, @w)
 *     .. the peak, while %t is live .. =>   .. the peak, without %t ..
 *     %b = Add(%c, %t)                      %t.1 = Tile(@x) ..
 *                                           %b = Add(%c, %t.1)
 *
 * Nothing is done unless the schedule, placed greedily, needs more bytes than the
 * limit.  Then,
 * at the peak node, the candidates are the results that are live across it:
 * defined before and used after it, but not by it.  The candidate with the
 * greatest product of bytes and distance to its next use, by the price of
 * recomputation, is chosen: its node is cloned before that use, with the
 * definitions of operands that would otherwise have to stay live.  The price is
 * the time in parts of the function's, and the flops in parts of the budget.  A
 * clone is kept if the new schedule has a lower peak, or the same peak at fewer
 * positions; otherwise the next candidate is tried.  Results of 1 / LEAST_PART
 * of the excess over the limit come first, and a clone that spends as large a
 * part of the budget must lower the peak by as many bytes.  Each step strictly
 * decreases this, so the pass terminates: when the limit is met, no candidate
 * helps, or the budget of flops is spent.
 *
 * Only pure operators are computed twice.  The function is scheduled
 * afterwards, so that cse, which leaves scheduled functions alone, does not
 * undo the clones.
 *
 * Time: a schedule for each trial, of which there are at most TRIALS for a
 * clone.
 */

#include <inttypes.h>
#include <stdlib.h>

#include "glow/cost.h"
#include "glow/schedule.h"

typedef struct options {
    int64_t limit;
    int most_flops;
    int64_t budget;
} options;

enum {
    TRIALS = 16,     /* of a step */
    MOST_NODES = 32, /* that are cloned for one result */
    LEAST_PART = 64, /* of the bytes beyond the limit, in a result */
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

typedef struct remat {
    glow_pass_run *run;
    glow_func *f;
    glow_builder *builder;
    glow_schedule schedule;
    int64_t most, left; /* budget of flops, and what remains of it */
    double time;        /* of the function as it was given */
} remat;

/* The peak, and the number of positions where it is reached. */
typedef struct height {
    int64_t peak;
    uint32_t places;
} height;

static height
height_of(const glow_schedule *s)
{
    height h = {s->peak, 0};

    for (uint32_t k = 0; k < s->count; k++)
        h.places += s->during[k] == s->peak;
    return h;
}

static bool
is_lower(height a, height b)
{
    return a.peak < b.peak || (a.peak == b.peak && a.places < b.places);
}

static bool
find_schedule(remat *r)
{
    const options *o = glow_run_options(r->run);
    glow_schedule_options how = glow_schedule_defaults;

    how.budget = o->budget;
    return glow_schedule_find(r->run, r->f, &how, &r->schedule);
}

/* Candidates. */

static bool
can_clone(const glow_node *n)
{
    return n->op->traits & GLOW_PURE && n->n_out == 1 && !n->pred &&
           glow_call_count(n) == 0;
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

        if (!can_clone(n))
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

        if (!can_clone(r->schedule.nodes[k]))
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

/* Clones, and reschedules; undoes the clone unless the peak falls by `least`
 * bytes, or is reached at fewer positions if that is 0. */
static bool
try_clone(remat *r, const candidate *c, int64_t least, bool *failed)
{
    glow_schedule had = r->schedule;
    glow_node *clones[MOST_NODES];

    *failed = !clone(r, c, clones);
    if (*failed)
        return false;
    hand_over(r, c->value, clones[c->count - 1]->out[0], had.at);
    if (find_schedule(r) &&
        is_lower(height_of(&r->schedule), height_of(&had)) &&
        had.peak - r->schedule.peak >= least && glow_run_may_rewrite(r->run))
        return true;
    undo(r, c, clones, &had);
    return false;
}

static bool
keep(remat *r, const candidate *c, int64_t peak)
{
    r->left -= c->flops;
    put_in_order(r->f, r->schedule.nodes, r->schedule.count);
    glow_run_count(r->run, "clones", c->count);
    glow_run_remark(r->run, c->value->def, true,
                    "computes it again for %%%s, with %d nodes: the peak falls "
                    "from %" PRId64 " to %" PRId64 " bytes for %" PRId64
                    " operations",
                    c->user->name, c->count, peak, r->schedule.peak, c->flops);
    return true;
}

/*
 * One step, with results of `least` bytes or more; false if nothing helps, or
 * *failed.  Unless `least` is 0, operations that count must free bytes that count.
 */
static bool
step(remat *r, int64_t least, bool *failed)
{
    size_t count;
    candidate *all = list_candidates(r, least, &count);
    int64_t peak = r->schedule.peak;

    for (size_t i = 0; i < count && i < TRIALS && !*failed; i++)
        if (try_clone(r, &all[i],
                      all[i].flops > r->most / LEAST_PART ? least : 0, failed))
            return keep(r, &all[i], peak);
    return false;
}

/*
 * The peak that the schedule must keep to: the limit, less the bytes that a
 * placement loses between buffers.
 */
static int64_t
most_peak(const remat *r, int64_t limit)
{
    int64_t peak = r->schedule.peak, placed;

    if (peak > limit)
        return limit;
    placed = glow_schedule_height(r->run, &r->schedule, limit);
    return placed <= limit ? peak : peak - (placed - limit);
}

/* Steps until the limit is met or nothing helps; false if there were none. */
static bool
lower_peak(remat *r, int64_t limit, bool *failed)
{
    bool changed = false;
    int64_t most;

    while (r->schedule.peak > (most = most_peak(r, limit)) && !*failed &&
           (step(r, (r->schedule.peak - most) / LEAST_PART, failed) ||
            (!*failed && step(r, 0, failed))))
        changed = true;
    return changed;
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

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const options *o = glow_run_options(pass);
    int64_t limit = o->limit ? o->limit : glow_run_limit(pass);
    remat r = {.run = pass, .f = f};
    glow_result result = GLOW_UNCHANGED;
    bool failed = false;
    glow_cost cost = glow_func_cost(f);

    if (limit == 0)
        return GLOW_UNCHANGED;
    r.left = r.most = percent(cost.flops, o->most_flops);
    r.time = glow_cost_time(glow_run_target(pass), cost, (int)f->count);
    r.builder =
        glow_builder_new(glow_run_scratch(pass), f, glow_run_pass(pass)->name);
    if (!find_schedule(&r))
        return GLOW_FAILED;
    if (r.schedule.peak <= most_peak(&r, limit))
        return GLOW_UNCHANGED;
    glow_order_again *again =
        glow_schedule_again(pass, f, glow_schedule_defaults.align, can_clone);
    glow_node **before =
        GLOW_NEW_ARRAY(glow_run_scratch(pass), glow_node *, f->count);
    uint32_t count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        before[count++] = n;
    put_in_order(f, r.schedule.nodes, r.schedule.count);
    if (lower_peak(&r, limit, &failed))
        result = GLOW_CHANGED;
    if (failed)
        return GLOW_FAILED;
    report(&r, again, cost.flops);
    if (result == GLOW_CHANGED)
        f->scheduled = true;
    else
        put_in_order(f, before, count);
    return result;
}

const glow_pass glow_pass_rematerialize = {
    .name = "rematerialize",
    .summary = "recompute large results instead of keeping them live",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(options, limit, GLOW_BYTES,
                                   "bytes that results may take; 0: -limit"),
                GLOW_FIELD_DEFAULT(options, most_flops, GLOW_INT,
                                   "operations that may be added, in percent"),
                GLOW_FIELD_DEFAULT(options, budget, GLOW_INT64,
                                   "steps of searching for each schedule")},
    .defaults = &(const options){.most_flops = 25, .budget = 100000},
    .run = run,
    .source = "Jain et al., Checkmate (2020); Kirisame et al., Dynamic tensor "
              "rematerialization (2021)",
};
