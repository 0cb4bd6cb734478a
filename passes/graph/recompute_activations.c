/*
 * recompute-activations: compute activations again for the gradient instead of
 * keeping them.
 *
 *     %u = FullyConnected(..)               %u = FullyConnected(..)
 *     %g = Gelu(%u)                         %g = Gelu(%u)
 *     .. the peak, %u and %g live ..   =>   .. the peak, %u live ..
 *     %a = MatMul(%g.t, %d)                 %g.1 = Gelu(%u)
 *     %b = Mul(%u, ..)                      %a = MatMul(%g.1.t, %d)
 *                                           %b = Mul(%u, ..)
 *
 * A candidate is a result that is live across the peak of the schedule, if it follows
 * from values that are live as long anyway, or are small, by nodes whose operands and
 * results take longer to move than to compute (the roofline of the target).  These nodes
 * are cloned before the first user behind the peak.  Candidates with the most bytes
 * for the time of their clones come first, and all clones together may take `most_time`
 * percent of the function's time by the cost model.  Clones that are live at the new peak
 * are undone.  All is done again at the new peak as long as the peak falls, and undone if
 * it fell by less than 1 / LEAST_PART.
 *
 * Networks have such results between both directions of a step of training, so
 * functions without a result that lives for 1 / LONG_PART of the nodes are left alone.
 * Under a limit of memory `rematerialize`, which computes anything again, decides alone.
 *
 * The function is scheduled afterwards, so that cse, which leaves scheduled functions
 * alone, does not undo the clones.
 *
 * Time: one schedule, unless the function has one, and the memory of an order TRIALS
 * times in each of at most ROUNDS rounds.
 */

#include "glow/cost.h"
#include "glow/ops.h"
#include "glow/schedule.h"

typedef struct options {
    int most_time;
} options;

enum {
    ROUNDS = 8,
    TRIALS = 8, /* schedules of a round */
    LEAST_PART =
        16, /* of the peak, that is saved; of a result, that is small */
    SMALL_PART = 256, /* of the peak: smaller results are kept */
    LONG_PART = 4,    /* of the nodes of a function */
    LIGHT = 2, /* times the operations of a node take less than its moves */
    MOST_NODES = 8, /* that are cloned for one result */
    BUDGET = 100000 /* steps of searching for the first schedule */
};

/* A result that could be computed again. */
typedef struct candidate {
    glow_value *value;
    glow_node *user;             /* the first behind the peak */
    uint32_t places[MOST_NODES]; /* of the nodes to clone */
    int count;
    double time, worth;
} candidate;

/* Clones of one candidate, operands before their users. */
typedef struct clones {
    glow_value *from, *to; /* the result, and the clone's */
    double time;
    glow_node *nodes[MOST_NODES];
    int count;
} clones;

typedef struct recompute {
    glow_pass_run *run;
    glow_func *f;
    glow_builder *builder;
    glow_schedule schedule;
    double left; /* seconds that clones may still take */
    clones *made;
    size_t n_made, cap_made;
} recompute;

static uint32_t
place_of(const recompute *r, const glow_node *n)
{
    return glow_number_of(&r->schedule.places, n);
}

/* Candidates. */

/* True for pure nodes whose operands and results take longer to move than LIGHT times
   their operations: kernels reach the rate of the target for few. */
static bool
is_cheap(const recompute *r, const glow_node *n)
{
    const glow_target *t = glow_run_target(r->run);
    glow_cost moves = glow_node_cost(n), computes = {.flops = moves.flops};

    moves.flops = 0;
    return n->op->traits & GLOW_PURE && n->n_out == 1 && !n->pred &&
           glow_call_count(n) == 0 &&
           (double)LIGHT * glow_cost_time(t, computes, 0) <=
               glow_cost_time(t, moves, 0);
}

/* The first user of `v` behind position `at`, or NULL. */
static glow_node *
next_user(const recompute *r, const glow_value *v, uint32_t at)
{
    uint32_t next = GLOW_UNNUMBERED;

    GLOW_FOR_EACH_USE(u, v) {
        uint32_t place = place_of(r, u->user);

        if (place > at && place < next)
            next = place;
    }
    return next == GLOW_UNNUMBERED ? NULL : r->schedule.nodes[next];
}

/* True if `v` can be read at position `at` as it is: nobody has overwritten it, and
   it is live anyway, or small beside `bytes`. */
static bool
is_there(const recompute *r, const glow_value *v, uint32_t at, int64_t bytes)
{
    bool lives = v->storage || glow_type_bytes(v->type) <= bytes / LEAST_PART;

    GLOW_FOR_EACH_USE(u, v) {
        uint32_t place = place_of(r, u->user);

        if (u->user->op == &glow_op_save && u->index == 1) {
            if (place < at)
                return false;
        } else {
            lives |= place != GLOW_UNNUMBERED && place >= at;
        }
    }
    return lives;
}

/* The index of `n` among the nodes to clone, or -1. */
static int
index_of(const recompute *r, const candidate *c, const glow_node *n)
{
    for (int i = 0; n && i < c->count; i++)
        if (c->places[i] == place_of(r, n))
            return i;
    return -1;
}

static int
by_place(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

/* Collects the nodes to clone, operands before users; adds what they read from
   elsewhere to `cost`. */
static bool
collect(const recompute *r, candidate *c, glow_cost *cost)
{
    int64_t bytes = glow_type_bytes(c->value->type);
    uint32_t at = place_of(r, c->user);

    c->places[c->count++] = place_of(r, c->value->def);
    for (int k = 0; k < c->count; k++) {
        const glow_node *n = r->schedule.nodes[c->places[k]];

        if (!is_cheap(r, n))
            return false;
        cost->flops = glow_add_most(cost->flops, glow_node_cost(n).flops);
        for (int i = 0; i < n->n_in; i++) {
            const glow_value *v = n->in[i];

            if (!v || index_of(r, c, v->def) >= 0)
                continue;
            if (is_there(r, v, at, bytes)) {
                cost->read =
                    glow_add_most(cost->read, glow_type_bytes(v->type));
                continue;
            }
            if (!v->def || c->count == MOST_NODES)
                return false;
            c->places[c->count++] = place_of(r, v->def);
        }
    }
    glow_sort(c->places, (size_t)c->count, sizeof *c->places, by_place);
    return true;
}

/* Sets what the candidate clones, its time and its worth; false if it is none.  The
   time is that of one loop, since nodes of one shape are fused. */
static bool
weigh(const recompute *r, candidate *c)
{
    uint32_t at = r->schedule.at;
    glow_cost cost = {.written = glow_type_bytes(c->value->type)};

    GLOW_FOR_EACH_USE(u, c->value)
        if (place_of(r, u->user) == at)
            return false;
    c->count = 0;
    c->user = next_user(r, c->value, at);
    if (!c->user || !collect(r, c, &cost))
        return false;
    c->time = glow_cost_time(glow_run_target(r->run), cost, 1);
    c->worth =
        (double)cost.written * (double)(place_of(r, c->user) - at) / c->time;
    return true;
}

static int
by_worth(const void *x, const void *y)
{
    const candidate *a = x, *b = y;

    return (a->worth < b->worth) - (a->worth > b->worth);
}

static candidate *
list_candidates(const recompute *r, size_t *count)
{
    candidate *all =
        GLOW_NEW_ARRAY(glow_run_scratch(r->run), candidate, r->schedule.at);

    *count = 0;
    for (uint32_t k = 0; k < r->schedule.at; k++) {
        glow_node *n = r->schedule.nodes[k];

        all[*count] = (candidate){.value = n->n_out ? n->out[0] : NULL};
        if (is_cheap(r, n) &&
            glow_type_bytes(n->out[0]->type) >= r->schedule.peak / SMALL_PART &&
            weigh(r, &all[*count]))
            (*count)++;
    }
    if (*count > 1)
        glow_sort(all, *count, sizeof *all, by_worth);
    return all;
}

/* Clones. */

static bool
build(recompute *r, const candidate *c, clones *to)
{
    glow_arena *a = glow_run_scratch(r->run);

    to->time = c->time;
    for (; to->count < c->count; to->count++) {
        glow_node *n = r->schedule.nodes[c->places[to->count]];
        glow_value **in = GLOW_NEW_ARRAY(a, glow_value *, n->n_in);

        for (int i = 0; i < n->n_in; i++) {
            int k = n->in[i] ? index_of(r, c, n->in[i]->def) : -1;

            in[i] = k < 0 ? n->in[i] : to->nodes[k]->out[0];
        }
        glow_builder_at(r->builder, n);
        to->to = glow_build(r->builder, n->op,
                            glow_states_type(n) ? n->out[0]->type : NULL, in,
                            n->n_in, n->attrs);
        if (!to->to)
            return false;
        to->nodes[to->count] = to->to->def;
        glow_node_move_before(to->to->def, c->user);
    }
    return true;
}

/* Lets the users behind the peak read the clone. */
static void
hand_over(const recompute *r, const candidate *c, glow_value *to)
{
    for (glow_use *u = c->value->uses, *next; u; u = next) {
        uint32_t place = place_of(r, u->user);

        next = u->next;
        if (place == GLOW_UNNUMBERED || place <= r->schedule.at)
            continue;
        if (u->index < 0)
            glow_set_pred(u->user, to);
        else
            glow_set_operand(u->user, u->index, to);
    }
}

/* Clones what pays; false after a report. */
static bool
clone_all(recompute *r)
{
    glow_arena *a = glow_run_scratch(r->run);
    size_t count;
    candidate *all = list_candidates(r, &count);

    for (size_t i = 0; i < count; i++) {
        candidate *c = &all[i];
        clones to = {.from = c->value};

        /* again, since earlier clones took users away */
        if (!weigh(r, c) || c->time > r->left)
            continue;
        if (!build(r, c, &to))
            return false;
        hand_over(r, c, to.to);
        r->left -= c->time;
        r->made = glow_arena_grow(a, r->made, r->n_made, &r->cap_made,
                                  sizeof *r->made);
        r->made[r->n_made++] = to;
    }
    return true;
}

static void
undo_one(recompute *r, size_t i)
{
    const clones *c = &r->made[i];

    glow_replace_uses(c->to, c->from);
    for (int k = c->count; k-- > 0;)
        glow_node_erase(c->nodes[k]);
    r->left += c->time;
    r->made[i] = r->made[--r->n_made];
}

/* Undoes all but the first `count` candidates. */
static void
undo(recompute *r, size_t count)
{
    while (r->n_made > count)
        undo_one(r, r->n_made - 1);
}

/* The function. */

/* True if a cheap result lives for 1 / LONG_PART of the nodes. */
static bool
has_long_lives(const recompute *r)
{
    glow_numbering at = glow_number_nodes(glow_run_scratch(r->run), r->f);
    int64_t least = (int64_t)r->f->count / LONG_PART;

    GLOW_FOR_EACH_NODE(n, r->f)
        for (int k = 0; k < n->n_out && n->n_in > 0; k++)
            GLOW_FOR_EACH_USE(u, n->out[k])
                if ((int64_t)glow_number_of(&at, u->user) -
                            (int64_t)glow_number_of(&at, n) >
                        least &&
                    is_cheap(r, n))
                    return true;
    return false;
}

static bool
find(recompute *r, glow_order_strategy strategy)
{
    glow_schedule_options how = glow_schedule_defaults;

    how.budget = BUDGET;
    how.strategy = strategy;
    return glow_schedule_find(r->run, r->f, &how, &r->schedule);
}

static void
put_in_order(glow_func *f, glow_node *const *nodes, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (nodes[k] != f->last)
            glow_node_move_after(nodes[k], f->last);
}

/* True if nodes of the clones run, or their result is live, at the peak. */
static bool
is_at_peak(const recompute *r, const clones *c)
{
    uint32_t first = place_of(r, c->nodes[0]), last = first;
    uint32_t at = r->schedule.at;

    for (int i = 1; i < c->count; i++)
        if (place_of(r, c->nodes[i]) < first)
            first = place_of(r, c->nodes[i]);
    GLOW_FOR_EACH_USE(u, c->to)
        if (place_of(r, u->user) > last)
            last = place_of(r, u->user);
    return first <= at && at <= last;
}

/* Undoes candidates behind the first `count` that are live at the new peak, one after
   the other; false after a report. */
static bool
trim(recompute *r, size_t count)
{
    bool found = true;

    for (int trial = 0; found && trial < TRIALS; trial++) {
        found = false;
        for (size_t i = r->n_made; i-- > count && !found;)
            if (is_at_peak(r, &r->made[i])) {
                undo_one(r, i);
                found = true;
            }
        if (found && !find(r, GLOW_ORDER_GIVEN))
            return false;
    }
    return true;
}

/* Rounds of clones as long as the peak falls; false after a report. */
static bool
lower_peak(recompute *r)
{
    for (int i = 0; i < ROUNDS; i++) {
        size_t had = r->n_made;
        glow_schedule before = r->schedule;

        if (!clone_all(r) || !find(r, GLOW_ORDER_GIVEN) || !trim(r, had))
            return false;
        if (r->n_made == had || r->schedule.peak >= before.peak) {
            undo(r, had);
            r->schedule = before;
            break;
        }
    }
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const options *o = glow_run_options(pass);
    glow_arena *a = glow_run_scratch(pass);
    recompute r = {.run = pass, .f = f};
    glow_node **before = GLOW_NEW_ARRAY(a, glow_node *, f->count);
    uint32_t count = 0;
    int64_t peak;

    if (glow_run_limit(pass) > 0 || !has_long_lives(&r))
        return GLOW_UNCHANGED;
    r.left = glow_cost_time(glow_run_target(pass), glow_func_cost(f),
                            (int)f->count) *
             o->most_time / 100;
    if (!find(&r, f->scheduled ? GLOW_ORDER_GIVEN : GLOW_ORDER_AUTO))
        return GLOW_FAILED;
    peak = r.schedule.peak;
    GLOW_FOR_EACH_NODE(n, f)
        before[count++] = n;
    put_in_order(f, r.schedule.nodes, r.schedule.count);
    r.builder = glow_builder_new(a, f, glow_run_pass(pass)->name);
    if (!lower_peak(&r))
        return GLOW_FAILED;
    if (r.n_made == 0 || peak - r.schedule.peak < peak / LEAST_PART ||
        !glow_run_may_rewrite(pass)) {
        undo(&r, 0);
        put_in_order(f, before, count);
        return GLOW_UNCHANGED;
    }
    glow_run_count(pass, "results", (int64_t)r.n_made);
    glow_run_remark(
        pass, r.made[0].from->def, true,
        "%zu of the results that wait for the gradient are computed "
        "again: the peak falls from %lld to %lld bytes",
        r.n_made, (long long)peak, (long long)r.schedule.peak);
    f->scheduled = true;
    return GLOW_CHANGED;
}

const glow_pass glow_pass_recompute_activations = {
    .name = "recompute-activations",
    .summary = "compute activations again for the gradient, from what is kept",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(options, most_time, GLOW_INT,
                                   "time of what is computed again, in percent "
                                   "of the function's")},
    .defaults = &(const options){.most_time = 3},
    .run = run,
    .source = "Chen et al., Training deep nets with sublinear memory cost "
              "(arXiv 1604.06174)",
};
