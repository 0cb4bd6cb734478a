/*
 * Lower bound on peak memory over all choices of what is computed again, by minimum
 * cuts and a Lagrange multiplier of the operations.
 *
 * Let task v run for the first time.  Its ancestors have run, its descendants have
 * not.  So a buffer that an ancestor computes and a descendant reads is in memory
 * now, or its maker runs again later; and then the same holds for the operands of
 * the maker, whose own makers are ancestors too.  With the operands and results of v,
 * the bytes in memory are at least
 *
 *     min bytes(L)   such that   flops(R) <= budget
 *
 * over sets L of buffers that are kept and R of makers that run again.  For a price
 * p of an operation, min bytes(L) + p flops(R) is a minimum cut,
 *
 *     source ──∞──▶ buffer ──bytes──▶ maker ──p flops──▶ sink
 *                                     maker ──∞──▶ its operands
 *
 * and that less p * budget is a lower bound (weak duality).  It is concave in p, so
 * p is found by bisection.  The greatest bound of all v counts, those first that
 * keep most if nothing runs again.  Checkmate's integer program (Jain et al., MLSys
 * 2020) has a variable for each pair of tasks; this relaxation looks at one moment,
 * and lets a maker run again at the least price.
 */

#include <math.h>
#include <string.h>

#include "glow/order.h"
#include "irgen/schedule/flow.h"

enum {
    MOST_TASKS = 4096, /* of a problem whose ancestors are kept as bit sets */
    PRICES = 24        /* of the bisection */
};

/* A moment: the first run of a task. */
typedef struct moment {
    uint32_t task;
    int64_t bytes; /* kept if nothing runs again */
} moment;

typedef struct bounder {
    const glow_order_again *g;
    const glow_order_problem *p;
    glow_arena *a;
    size_t words;
    uint64_t *above;           /* by task: the bit set of its ancestors */
    uint32_t *users, *n_users; /* by buffer: the range of `all` */
    uint32_t *all;             /* tasks that touch buffers, not as makers */
    glow_flow flow;
    uint32_t *buffer_node, *task_node; /* NONE: not in it */
    uint32_t *stack;
    bool *is_touched; /* by buffer: by the task at hand */
    int64_t work;
} bounder;

#define NONE UINT32_MAX

static bool
is_above(const bounder *b, uint32_t x, uint32_t task)
{
    return b->above[task * b->words + x / 64] >> x % 64 & 1;
}

/* Bytes while `t` runs, its results counted unless they may be in place. */
static int64_t
own_bytes(const bounder *b, uint32_t t)
{
    const glow_order_task *task = &b->p->tasks[t];
    int64_t sum = task->extra;

    for (uint32_t i = 0; i < task->n_touches; i++) {
        bool may_be_over = false;

        for (uint32_t k = 0; k < task->n_aliases; k++)
            may_be_over |= task->aliases[k].made == task->touches[i];
        if (!may_be_over)
            sum += b->p->buffers[task->touches[i]].bytes;
    }
    return sum;
}

/* The tasks in a topological order, or NULL. */
static uint32_t *
sort_tasks(const bounder *b)
{
    uint32_t n = b->p->n_tasks, done = 0, ready = 0, edges = 0;
    uint32_t *left = GLOW_NEW_ARRAY(b->a, uint32_t, n);
    uint32_t *start = GLOW_NEW_ARRAY(b->a, uint32_t, (size_t)n + 2), *after;
    uint32_t *order = GLOW_NEW_ARRAY(b->a, uint32_t, n);

    for (uint32_t t = 0; t < n; t++) {
        left[t] = b->p->tasks[t].n_before;
        edges += left[t];
        for (uint32_t k = 0; k < left[t]; k++)
            start[b->p->tasks[t].before[k] + 2]++;
        if (left[t] == 0)
            order[ready++] = t;
    }
    after = GLOW_NEW_ARRAY(b->a, uint32_t, (size_t)edges + 1);
    for (uint32_t t = 2; t < n + 2; t++)
        start[t] += start[t - 1];
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t k = 0; k < b->p->tasks[t].n_before; k++)
            after[start[b->p->tasks[t].before[k] + 1]++] = t;
    for (; done < ready; done++)
        for (uint32_t k = start[order[done]]; k < start[order[done] + 1]; k++)
            if (--left[after[k]] == 0)
                order[ready++] = after[k];
    return ready == n ? order : NULL;
}

static bool
find_ancestors(bounder *b)
{
    uint32_t n = b->p->n_tasks;
    const uint32_t *order = sort_tasks(b);

    if (!order)
        return false;
    b->words = (n + 63) / 64;
    b->above = GLOW_NEW_ARRAY(b->a, uint64_t, b->words *n);
    for (uint32_t i = 0; i < n; i++) {
        const glow_order_task *task = &b->p->tasks[order[i]];
        uint64_t *to = b->above + order[i] * b->words;

        for (uint32_t k = 0; k < task->n_before; k++) {
            const uint64_t *from = b->above + task->before[k] * b->words;

            for (size_t w = 0; w < b->words; w++)
                to[w] |= from[w];
            to[task->before[k] / 64] |= UINT64_C(1) << task->before[k] % 64;
        }
    }
    return true;
}

static void
find_users(bounder *b)
{
    uint32_t count = 0;

    b->users = GLOW_NEW_ARRAY(b->a, uint32_t, (size_t)b->p->n_buffers + 2);
    for (uint32_t t = 0; t < b->p->n_tasks; t++)
        for (uint32_t i = 0; i < b->p->tasks[t].n_touches; i++)
            if (b->g->maker[b->p->tasks[t].touches[i]] != t)
                b->users[b->p->tasks[t].touches[i] + 2]++, count++;
    for (uint32_t x = 2; x < b->p->n_buffers + 2; x++)
        b->users[x] += b->users[x - 1];
    b->all = GLOW_NEW_ARRAY(b->a, uint32_t, (size_t)count + 1);
    for (uint32_t t = 0; t < b->p->n_tasks; t++)
        for (uint32_t i = 0; i < b->p->tasks[t].n_touches; i++)
            if (b->g->maker[b->p->tasks[t].touches[i]] != t)
                b->all[b->users[b->p->tasks[t].touches[i] + 1]++] = t;
}

/* True if `task`, which runs for the first time, is between the maker of buffer `x`
   and a reader of it. */
static bool
is_across(bounder *b, uint32_t x, uint32_t task)
{
    uint32_t maker = b->g->maker[x];

    if (maker == GLOW_ORDER_NO_MAKER || !is_above(b, maker, task))
        return false;
    for (uint32_t k = b->users[x]; k < b->users[x + 1]; k++, b->work++)
        if (is_above(b, task, b->all[k]))
            return true;
    return false;
}

static void
mark_touched(const bounder *b, uint32_t task, bool is)
{
    for (uint32_t i = 0; i < b->p->tasks[task].n_touches; i++)
        b->is_touched[b->p->tasks[task].touches[i]] = is;
}

static int
by_bytes(const void *x, const void *y)
{
    const moment *a = x, *b = y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

static moment *
list_moments(bounder *b)
{
    moment *all = GLOW_NEW_ARRAY(b->a, moment, b->p->n_tasks);

    for (uint32_t t = 0; t < b->p->n_tasks; t++) {
        all[t] = (moment){t, own_bytes(b, t)};
        mark_touched(b, t, true);
        for (uint32_t x = 0; x < b->p->n_buffers; x++)
            if (!b->is_touched[x] && is_across(b, x, t))
                all[t].bytes += b->p->buffers[x].bytes;
        mark_touched(b, t, false);
    }
    glow_sort(all, b->p->n_tasks, sizeof *all, by_bytes);
    return all;
}

/* The network of a moment. */

static int64_t
price_of(int64_t flops, double price)
{
    double cost = floor((double)flops * price);

    return flops < 0                    ? GLOW_FLOW_UNLIMITED
           : cost < (double)(1ll << 60) ? (int64_t)cost
                                        : (int64_t)1 << 60;
}

/* The node of buffer `x`, which is kept or whose maker runs again. */
static void
need(bounder *b, uint32_t x, uint32_t from, uint32_t *n)
{
    if (b->is_touched[x])
        return;
    if (b->buffer_node[x] == NONE) {
        b->buffer_node[x] = glow_flow_add_node(&b->flow);
        b->stack[(*n)++] = x;
    }
    glow_flow_add_arc(&b->flow, from, b->buffer_node[x], GLOW_FLOW_UNLIMITED);
}

static void
add_maker(bounder *b, uint32_t x, uint32_t task, double price, uint32_t *n)
{
    uint32_t maker = b->g->maker[x];
    const glow_order_task *m = &b->p->tasks[maker];
    bool is_new = b->task_node[maker] == NONE;

    if (is_new)
        b->task_node[maker] = glow_flow_add_node(&b->flow);
    glow_flow_add_arc(&b->flow, b->buffer_node[x], b->task_node[maker],
                      b->p->buffers[x].bytes);
    if (!is_new)
        return;
    glow_flow_add_arc(&b->flow, b->task_node[maker], GLOW_FLOW_SINK,
                      price_of(b->g->flops[maker], price));
    for (uint32_t i = 0; i < m->n_touches; i++) {
        uint32_t y = m->touches[i], of = b->g->maker[y];

        if (of != maker && of != GLOW_ORDER_NO_MAKER && is_above(b, of, task))
            need(b, y, b->task_node[maker], n);
    }
}

/* The least bytes and price of the operations for the moment, above the bytes of the
   task; *flops: the operations of that choice. */
static int64_t
least_cut(bounder *b, uint32_t task, double price, double *flops)
{
    uint32_t n = 0;
    int64_t cut;

    glow_flow_clear(&b->flow);
    memset(b->buffer_node, 0xff, b->p->n_buffers * sizeof *b->buffer_node);
    memset(b->task_node, 0xff, b->p->n_tasks * sizeof *b->task_node);
    for (uint32_t x = 0; x < b->p->n_buffers; x++)
        if (is_across(b, x, task))
            need(b, x, GLOW_FLOW_SOURCE, &n);
    while (n > 0) {
        uint32_t x = b->stack[--n];

        add_maker(b, x, task, price, &n);
    }
    cut = glow_flow_push(&b->flow);
    *flops = 0;
    for (uint32_t t = 0; t < b->p->n_tasks; t++)
        if (b->task_node[t] != NONE && b->flow.level[b->task_node[t]] &&
            b->g->flops[t] > 0)
            *flops += (double)b->g->flops[t];
    b->work += b->flow.work + b->p->n_buffers;
    return cut;
}

/* The bound at a moment, if that is above `bound`. */
static int64_t
raise(bounder *b, const moment *m, int64_t budget, double price[2],
      int64_t bound)
{
    double low = price[0], high = price[1], flops;
    int64_t own = own_bytes(b, m->task);

    mark_touched(b, m->task, true);
    for (int i = 0; i < PRICES && low < high; i++) {
        double p = i == 0 ? 0 : sqrt(low * high);
        double cost = p * (double)budget;
        int64_t cut = own + least_cut(b, m->task, p, &flops);

        if (cost > 0) /* and one byte for what is rounded */
            cut -= cost < (double)cut ? (int64_t)ceil(cost) + 1 : cut;
        if (cut > bound)
            bound = cut;
        if (i == 0 && flops <= (double)budget)
            break;
        if (i > 0 && flops > (double)budget)
            low = p;
        else if (i > 0)
            high = p;
    }
    mark_touched(b, m->task, false);
    return bound;
}

/* Prices of an operation between which the search looks: such that a byte or all
   bytes are worth all operations, or one. */
static void
set_prices(const bounder *b, double price[2])
{
    double flops = 1, bytes = 1;

    for (uint32_t t = 0; t < b->p->n_tasks; t++)
        flops += b->g->flops[t] > 0 ? (double)b->g->flops[t] : 0;
    for (uint32_t x = 0; x < b->p->n_buffers; x++)
        bytes += (double)b->p->buffers[x].bytes;
    price[0] = 1 / flops;
    price[1] = bytes;
}

int64_t
glow_order_bound_again(glow_arena *a, const glow_order_again *again,
                       int64_t flops, int64_t budget)
{
    bounder b = {.g = again, .p = again->problem, .a = a};
    int64_t bound = 0;
    double price[2];
    moment *all;

    for (uint32_t t = 0; t < b.p->n_tasks; t++)
        if (own_bytes(&b, t) > bound)
            bound = own_bytes(&b, t);
    if (b.p->n_tasks == 0 || b.p->n_tasks > MOST_TASKS || !find_ancestors(&b))
        return bound;
    find_users(&b);
    glow_flow_init(&b.flow, a,
                   (size_t)GLOW_FLOW_FIRST + b.p->n_tasks + b.p->n_buffers);
    b.buffer_node = GLOW_NEW_ARRAY(a, uint32_t, b.p->n_buffers);
    b.task_node = GLOW_NEW_ARRAY(a, uint32_t, b.p->n_tasks);
    b.stack = GLOW_NEW_ARRAY(a, uint32_t, b.p->n_buffers);
    b.is_touched = GLOW_NEW_ARRAY(a, bool, b.p->n_buffers);
    set_prices(&b, price);
    all = list_moments(&b);
    for (uint32_t i = 0;
         i < b.p->n_tasks && all[i].bytes > bound && b.work < budget; i++)
        bound = raise(&b, &all[i], flops, price, bound);
    return bound;
}
