/*
 * Candidate schedules: models of memory, orders for them, the best kept.
 *
 * irgen/sharing/model.h gives the memory of an order, glow/order.h finds orders.
 * An operand that is computed directly in the buffer of a Concat, or read in
 * place where it is sliced, saves a copy, but may keep the whole live for longer.
 * So orders are searched with all such parts joined, with each element counted
 * once, and, if the best is not proved least, with all parts copied, then, while
 * the budget lasts, with those parts copied that the best program so far copies.
 * Each of these searches has a part of the budget, and the choice of the best
 * program is searched again with all of it.  Rules are tried last.
 *
 * The peak is that of the program: the passes that share buffers run on the order
 * that was found (irgen/sharing/replay.c).  The bound holds for all orders and all
 * choices of parts (irgen/sharing/lower_bound.c).  Without parts it is that of
 * the model; an in-place update may take less in one order than the problem
 * assumed, in which case nothing is proved.
 */

#include <stdlib.h>
#include <string.h>

#include "glow/cost.h"
#include "irgen/sharing/model.h"

const glow_schedule_options glow_schedule_defaults = {
    .budget = GLOW_ORDER_BUDGET,
    .align = 64,
};

/* Steps charged for each node when the program of an order is replayed: an
   estimate of the search steps in that time, so that large graphs end. */
enum { REPLAY = 512 };

/* Each choice of parts is searched with this part of the budget, or as many steps if that
   is more; then the best of them with all of the budget. */
enum { RACE = 8, LEAST_RACE = 1000000 };

/* An order, and the memory of the program made of it. */
typedef struct plan {
    const bool *apart; /* by operand: it is copied; NULL: none is */
    glow_order order;
    const glow_memory_model *model;
    glow_order_use use;
} plan;

typedef struct scheduler {
    glow_pass_run *run;
    glow_func *f;
    const glow_schedule_options *options;
    const glow_values *values;
    int64_t budget; /* steps of one search */
    int64_t *left;  /* steps for optional candidates */
    plan *last;     /* the one measured last, of NULL for `apart` */
} scheduler;

static glow_memory_model *
model(const scheduler *s, const bool *apart, const uint32_t *order)
{
    glow_memory_options o = {s->options->align, s->options->sharing, apart,
                             order};

    return glow_memory_model_new(s->run, s->f, s->values, &o);
}

/* True if the plan measured last has the order of `p`, and no copies either. */
static bool
is_measured(const scheduler *s, const plan *p)
{
    return s->last->model && !p->apart &&
           memcmp(s->last->order.tasks, p->order.tasks,
                  s->values->n_nodes * sizeof *p->order.tasks) == 0;
}

/* Sets the memory of the plan from its order. */
static bool
measure(const scheduler *s, plan *p)
{
    *s->left -= p->order.steps + REPLAY * (int64_t)s->values->n_nodes;
    if (is_measured(s, p)) {
        p->model = s->last->model;
        p->use = s->last->use;
        return true;
    }
    p->model = model(s, p->apart, p->order.tasks);
    if (!p->model ||
        !glow_order_measure(glow_run_scratch(s->run), &p->model->problem,
                            p->order.tasks, &p->use))
        return false;
    if (!p->apart)
        *s->last = *p;
    return true;
}

/* Sets the plan to an order found for `m`, the model of p->apart. */
static bool
find(const scheduler *s, const glow_memory_model *m,
     glow_order_strategy strategy, plan *p)
{
    return glow_order_find(glow_run_scratch(s->run), &m->problem, strategy,
                           s->budget, &p->order) &&
           measure(s, p);
}

static bool
is_better(const plan *a, const plan *b)
{
    return a->use.peak < b->use.peak ||
           (a->use.peak == b->use.peak && a->use.area < b->use.area);
}

/* Takes the plan if it is better; the bound of all plans stays. */
static void
consider(const plan *p, plan *best)
{
    int64_t bound = best->order.bound;

    if (best->model && !is_better(p, best))
        return;
    *best = *p;
    best->order.bound = bound;
}

static void
raise_bound(plan *best, int64_t bound)
{
    if (bound > best->order.bound)
        best->order.bound = bound;
}

/* True if the best plan is above the bound and steps are left. */
static bool
is_open(const scheduler *s, const plan *best)
{
    return best->use.peak > best->order.bound && *s->left > 0;
}

/* Tries the best order under the condition that those operands are copied. */
static bool
try_apart(const scheduler *s, const bool *apart, glow_order_strategy strategy,
          plan *best)
{
    plan p = {.apart = apart};
    glow_memory_model *m = model(s, apart, NULL);

    if (!m || !find(s, m, strategy, &p))
        return false;
    consider(&p, best);
    return true;
}

/* Tries those parts copied that the best program so far copies. */
static bool
try_own_copies(const scheduler *s, const glow_memory_model *joined,
               glow_order_strategy strategy, plan *best)
{
    bool *apart = GLOW_NEW_ARRAY(glow_run_scratch(s->run), bool,
                                 (size_t)joined->n_operands + 1);
    bool some = false;

    for (uint32_t i = 0; i < joined->n_operands; i++) {
        apart[i] = joined->shares[i] && !best->model->shares[i];
        some |= apart[i];
    }
    return !some || try_apart(s, apart, strategy, best);
}

/* Tries all parts copied, then the parts that the best program so far copies. */
static bool
try_copies(const scheduler *s, const glow_memory_model *joined,
           glow_order_strategy strategy, plan *best)
{
    if (best->use.peak > best->order.bound &&
        !try_apart(s, joined->shares, strategy, best))
        return false;
    return !is_open(s, best) || try_own_copies(s, joined, strategy, best);
}

/* glow_func_may_have would count nodes that were erased since. */
static bool
has_parts(const scheduler *s)
{
    if (s->options->sharing != GLOW_SHARING_ALL)
        return false;
    for (uint32_t i = 0; i < s->values->n_nodes; i++) {
        const glow_node *n = s->values->nodes[i];

        if (glow_is(n, &glow_op_concat) || glow_is(n, &glow_op_slice) ||
            glow_is(n, &glow_op_inserttensor))
            return true;
    }
    return false;
}

/* Bounds all orders and choices of parts, and tries the order found for that
 * bound. */
static bool
try_least(const scheduler *s, glow_order_strategy strategy, plan *best)
{
    int64_t align = s->options->align, bound;
    glow_order_problem least;
    const uint32_t *maker;
    plan p = {0};

    if (!glow_memory_least(s->run, s->f, s->values, align, &least, &maker) ||
        !glow_order_find(glow_run_scratch(s->run), &least, strategy, s->budget,
                         &p.order) ||
        !measure(s, &p) || glow_add_overflow(p.order.bound, align - 1, &bound))
        return false;
    raise_bound(best, bound / align * align);
    consider(&p, best);
    return true;
}

/* Searches the best choice of parts so far with all of the budget, if it is open. */
static bool
search_best(scheduler *s, const glow_memory_model *joined,
            glow_order_strategy strategy, plan *best)
{
    plan p = {0};

    if (s->budget == s->options->budget || best->use.peak <= best->order.bound)
        return true;
    s->budget = s->options->budget;
    if (best->apart)
        return try_apart(s, best->apart, strategy, best) &&
               (best->use.peak <= best->order.bound ||
                try_own_copies(s, joined, strategy, best));
    if (!find(s, joined, strategy, &p))
        return false;
    consider(&p, best);
    return true;
}

/* Tries the orders of the strategy under all choices of parts. */
static bool
try_strategy(const scheduler *s, const glow_memory_model *joined,
             glow_order_strategy strategy, plan *best)
{
    plan p = {0};

    if (!find(s, joined, strategy, &p))
        return false;
    consider(&p, best);
    if (!has_parts(s)) {
        raise_bound(best, p.order.bound);
        return true;
    }
    return try_least(s, strategy, best) &&
           (strategy == GLOW_ORDER_GIVEN ||
            try_copies(s, joined, strategy, best));
}

/* Tries the rules, whose programs may take less than the model assumed. */
static bool
try_rules(const scheduler *s, const glow_memory_model *joined, plan *best)
{
    static const glow_order_strategy rules[] = {
        GLOW_ORDER_CHILD_MEMORY, GLOW_ORDER_GREEDY, GLOW_ORDER_DEPTH_FIRST};

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (is_open(s, best) && !try_strategy(s, joined, rules[i], best))
            return false;
    return true;
}

/* Moves nodes that may become views to their first user, unless that takes more. */
static void
sink_views(const scheduler *s, const glow_memory_model *joined, plan *best)
{
    plan sunk = *best;

    sunk.order.tasks = glow_memory_sink(joined, best->order.tasks);
    if (measure(s, &sunk) && sunk.use.peak <= best->use.peak)
        *best = sunk;
}

static bool
find_best(scheduler *s, plan *given, plan *best)
{
    glow_order_strategy strategy = s->options->strategy;
    glow_memory_model *m = model(s, NULL, NULL);

    if (strategy == GLOW_ORDER_AUTO && has_parts(s) && s->budget > LEAST_RACE)
        s->budget =
            s->budget / RACE > LEAST_RACE ? s->budget / RACE : LEAST_RACE;
    if (!m || !find(s, m, GLOW_ORDER_GIVEN, given) ||
        !try_strategy(s, m, strategy, best) ||
        !search_best(s, m, strategy, best))
        return false;
    if (strategy == GLOW_ORDER_AUTO) {
        consider(given, best);
        if (has_parts(s) && !try_rules(s, m, best))
            return false;
    }
    if (strategy != GLOW_ORDER_GIVEN)
        sink_views(s, m, best);
    return true;
}

/* The result. */

/* Live ranges in positions: of buffer i at i, then of the scratch of tasks. */
static void
list_lives(glow_arena *a, const glow_order_problem *p, const uint32_t *order,
           glow_schedule *out)
{
    size_t count = p->n_buffers;
    glow_lifetime *lives =
        GLOW_NEW_ARRAY(a, glow_lifetime, count + p->n_tasks + 1);

    for (uint32_t k = 0; k < p->n_tasks; k++) {
        const glow_order_task *t = &p->tasks[order[k]];

        for (uint32_t i = 0; i < t->n_touches; i++) {
            glow_lifetime *l = &lives[t->touches[i]];

            if (!l->end)
                l->begin = k;
            l->end = (int64_t)k + 1;
        }
        if (t->extra > 0)
            lives[count++] = (glow_lifetime){
                .begin = k, .end = (int64_t)k + 1, .size = t->extra};
    }
    for (uint32_t b = 0; b < p->n_buffers; b++) {
        lives[b].size = p->buffers[b].bytes;
        if (lives[b].end && p->buffers[b].stays)
            lives[b].end = p->n_tasks;
    }
    out->lives = lives;
    out->n_lives = count;
}

/* Live bytes before each position, without scratch. */
static int64_t *
alive_before(glow_arena *a, const glow_order_problem *p,
             const glow_lifetime *lives)
{
    int64_t *change = GLOW_NEW_ARRAY(a, int64_t, (size_t)p->n_tasks + 2);

    for (uint32_t b = 0; b < p->n_buffers; b++)
        if (lives[b].end) {
            change[lives[b].begin + 1] += lives[b].size;
            change[lives[b].end] -= p->buffers[b].stays ? 0 : lives[b].size;
        }
    for (uint32_t k = 0; k < p->n_tasks; k++)
        change[k + 1] += change[k];
    return change;
}

static int
by_bytes(const void *x, const void *y)
{
    const glow_schedule_buffer *a = x, *b = y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->value->index - b->value->index;
}

static void
list_live(glow_arena *a, const plan *p, glow_schedule *out)
{
    out->n_live = p->use.n_live;
    out->live = GLOW_NEW_ARRAY(a, glow_schedule_buffer, out->n_live);
    for (uint32_t i = 0; i < out->n_live; i++) {
        uint32_t b = p->use.live[i];

        const glow_value *v = p->model->called[b];

        out->live[i] =
            (glow_schedule_buffer){v, glow_number_of(&out->places, v->def),
                                   p->model->problem.buffers[b].bytes};
    }
    glow_sort(out->live, out->n_live, sizeof *out->live, by_bytes);
}

static bool
takes_nothing(const glow_memory_model *m, uint32_t node)
{
    for (int k = 0; k < m->values->nodes[node]->n_out; k++)
        if (m->buffer[m->values->first[node] + (uint32_t)k] != GLOW_NO_VALUE)
            return false;
    return true;
}

static void
tell(const scheduler *s, const plan *p, glow_schedule *out)
{
    glow_arena *a = glow_run_scratch(s->run);
    const glow_order_problem *problem = &p->model->problem;
    const uint32_t *order = p->order.tasks;

    out->count = problem->n_tasks;
    out->places = glow_numbering_new(a, s->f);
    out->nodes = GLOW_NEW_ARRAY(a, glow_node *, out->count);
    out->is_kept = GLOW_NEW_ARRAY(a, bool, out->count);
    for (uint32_t k = 0; k < out->count; k++) {
        out->nodes[k] = s->values->nodes[order[k]];
        glow_number_set(&out->places, out->nodes[k], k);
        out->is_kept[k] = takes_nothing(p->model, order[k]);
    }
    out->peak = p->use.peak;
    out->bound = out->peak < p->order.bound ? 0 : p->order.bound;
    out->by = p->order.by;
    out->steps = p->order.steps;
    list_lives(a, problem, order, out);
    out->before = alive_before(a, problem, out->lives);
    out->during = p->use.during;
    out->at = p->use.at;
    out->scratch = out->count ? problem->tasks[order[out->at]].extra : 0;
    list_live(a, p, out);
}

bool
glow_schedule_find(glow_pass_run *run, glow_func *f,
                   const glow_schedule_options *options, glow_schedule *out)
{
    int64_t left = options->budget;
    plan given = {0}, best = {0}, last = {0};
    scheduler s = {.run = run,
                   .f = f,
                   .options = options,
                   .budget = options->budget,
                   .left = &left,
                   .last = &last};

    s.values = glow_values_new(glow_run_scratch(run), f);
    if (!find_best(&s, &given, &best))
        return glow_error(f->module->ctx, "E0330",
                          "@%s: the results take more bytes than 64 bits can "
                          "count",
                          f->name);
    *out = (glow_schedule){.given = given.use.peak};
    tell(&s, &best, out);
    return true;
}

int64_t
glow_schedule_height(glow_pass_run *run, const glow_schedule *s, int64_t enough)
{
    glow_arena *a = glow_run_scratch(run);
    glow_lifetime *lives =
        glow_arena_copy(a, s->lives, s->n_lives * sizeof *s->lives);
    glow_place_options how = {.strategy = GLOW_PLACE_AUTO, .enough = enough};
    glow_placement p;

    return glow_place_buffers(a, lives, s->n_lives, &how, &p) ? p.height
                                                              : INT64_MAX;
}

/* Running nodes again. */

glow_order_again *
glow_schedule_again(glow_pass_run *run, glow_func *f, int64_t align,
                    bool (*may_repeat)(const glow_node *n))
{
    glow_arena *a = glow_run_scratch(run);
    const glow_values *v = glow_values_new(a, f);
    glow_order_again *again = GLOW_NEW(a, glow_order_again);
    glow_order_problem *p = GLOW_NEW(a, glow_order_problem);
    int64_t *flops = GLOW_NEW_ARRAY(a, int64_t, v->n_nodes);

    if (!glow_memory_least(run, f, v, align, p, &again->maker))
        return NULL;
    for (uint32_t i = 0; i < v->n_nodes; i++)
        flops[i] =
            may_repeat(v->nodes[i]) ? glow_node_cost(v->nodes[i]).flops : -1;
    again->problem = p;
    again->flops = flops;
    return again;
}
