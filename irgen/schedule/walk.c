/* Walks through the states of an ordering problem, and the cost of orders. */

#include <string.h>

#include "irgen/schedule/order.h"

static void
add_ready(glow_order_walk *w, uint32_t task)
{
    w->place[task] = w->n_ready;
    w->ready[w->n_ready++] = task;
}

static void
drop_ready(glow_order_walk *w, uint32_t task)
{
    uint32_t last = w->ready[--w->n_ready];

    w->ready[w->place[task]] = last;
    w->place[last] = w->place[task];
}

glow_order_walk *
glow_order_walk_new(glow_arena *a, const glow_order_net *net)
{
    glow_order_walk *w = GLOW_NEW(a, glow_order_walk);
    size_t n = (size_t)net->n_tasks + 1, m = (size_t)net->n_buffers + 1;

    w->net = net;
    w->waits = GLOW_NEW_ARRAY(a, uint32_t, n);
    w->ran = GLOW_NEW_ARRAY(a, bool, n);
    w->ready = GLOW_NEW_ARRAY(a, uint32_t, n);
    w->place = GLOW_NEW_ARRAY(a, uint32_t, n);
    w->left = GLOW_NEW_ARRAY(a, uint32_t, m);
    w->taken = GLOW_NEW_ARRAY(a, uint64_t, m);
    glow_order_begin(w);
    return w;
}

void
glow_order_begin(glow_order_walk *w)
{
    const glow_order_net *net = w->net;

    w->live = 0;
    w->count = w->n_ready = 0;
    for (uint32_t b = 0; b < net->n_buffers; b++)
        w->left[b] = net->users.first[b + 1] - net->users.first[b];
    for (uint32_t i = 0; i < net->n_tasks; i++) {
        w->ran[i] = false;
        w->waits[i] = net->before.first[i + 1] - net->before.first[i];
        if (w->waits[i] == 0)
            add_ready(w, i);
    }
}

static bool
is_first(const glow_order_walk *w, uint32_t b)
{
    return w->left[b] == w->net->users.first[b + 1] - w->net->users.first[b];
}

static bool
is_last(const glow_order_walk *w, uint32_t b)
{
    return w->left[b] == 1 && !w->net->p->buffers[b].stays;
}

/* True if `made` may take the place of `over`, which was live before. */
static bool
may_alias(const glow_order_walk *w, uint32_t made, uint32_t over)
{
    const glow_order_buffer *buffers = w->net->p->buffers;
    uint32_t users = w->net->users.first[over + 1] - w->net->users.first[over];

    if (made == over || users < 2 || buffers[made].bytes == 0 ||
        buffers[made].bytes > buffers[over].bytes)
        return false;
    return w->net->reversed ? is_first(w, over) && is_last(w, made)
                            : is_first(w, made) && is_last(w, over);
}

/* Bytes of buffers that `task` defines in place of buffers that die. */
static int64_t
aliased(glow_order_walk *w, uint32_t task)
{
    const glow_order_buffer *buffers = w->net->p->buffers;
    const glow_order_task *t = &w->net->p->tasks[task];
    int64_t sum = 0;

    w->calls++;
    for (uint32_t k = 0; k < t->n_aliases; k++) {
        uint32_t made = t->aliases[k].made, over = t->aliases[k].over;

        if (!may_alias(w, made, over) || w->taken[made] >= 2 * w->calls ||
            w->taken[over] >= 2 * w->calls)
            continue;
        w->taken[made] = 2 * w->calls + 1;
        w->taken[over] = 2 * w->calls;
        sum += buffers[made].bytes;
    }
    return sum;
}

glow_order_effect
glow_order_try(glow_order_walk *w, uint32_t task)
{
    const glow_order_task *t = &w->net->p->tasks[task];
    glow_order_effect e = {t->extra, 0};

    GLOW_ORDER_EACH(b, w->net->touches, task) {
        int64_t bytes = w->net->p->buffers[*b].bytes;

        if (is_first(w, *b)) {
            e.during += bytes;
            e.after += bytes;
        }
        if (is_last(w, *b))
            e.after -= bytes;
    }
    if (t->n_aliases > 0)
        e.during -= aliased(w, task);
    return e;
}

void
glow_order_do(glow_order_walk *w, uint32_t task)
{
    GLOW_ORDER_EACH(b, w->net->touches, task) {
        if (is_first(w, *b))
            w->live += w->net->p->buffers[*b].bytes;
        if (is_last(w, *b))
            w->live -= w->net->p->buffers[*b].bytes;
        w->left[*b]--;
    }
    w->ran[task] = true;
    w->count++;
    drop_ready(w, task);
    GLOW_ORDER_EACH(next, w->net->after, task)
        if (--w->waits[*next] == 0)
            add_ready(w, *next);
}

void
glow_order_undo(glow_order_walk *w, uint32_t task)
{
    GLOW_ORDER_EACH(next, w->net->after, task)
        if (w->waits[*next]++ == 0)
            drop_ready(w, *next);
    add_ready(w, task);
    w->ran[task] = false;
    w->count--;
    GLOW_ORDER_EACH(b, w->net->touches, task) {
        w->left[*b]++;
        if (is_first(w, *b))
            w->live -= w->net->p->buffers[*b].bytes;
        if (is_last(w, *b))
            w->live += w->net->p->buffers[*b].bytes;
    }
}

glow_order_cost
glow_order_run(glow_order_walk *w, const uint32_t *tasks, uint32_t n)
{
    glow_order_cost c = {0};

    for (uint32_t k = 0; k < n; k++) {
        int64_t during = w->live + glow_order_try(w, tasks[k]).during;

        c.peak = during > c.peak ? during : c.peak;
        glow_order_do(w, tasks[k]);
        if (glow_add_overflow(c.area, w->live, &c.area))
            c.area = INT64_MAX;
    }
    return c;
}

/* Sets the buffers that are live while the task at `out->at` runs. */
static void
list_live(glow_arena *a, glow_order_walk *w, const uint32_t *tasks,
          glow_order_use *out)
{
    const glow_order_net *net = w->net;
    bool *alive = GLOW_NEW_ARRAY(a, bool, (size_t)net->n_buffers + 1);
    uint32_t task = tasks[out->at];

    glow_order_begin(w);
    for (uint32_t k = 0; k < out->at; k++)
        glow_order_do(w, tasks[k]);
    for (uint32_t b = 0; b < net->n_buffers; b++)
        alive[b] =
            !is_first(w, b) && (w->left[b] > 0 || net->p->buffers[b].stays);
    aliased(w, task);
    GLOW_ORDER_EACH(b, net->touches, task)
        if (is_first(w, *b))
            alive[*b] = w->taken[*b] != 2 * w->calls + 1;
    out->live = GLOW_NEW_ARRAY(a, uint32_t, (size_t)net->n_buffers + 1);
    for (uint32_t b = 0; b < net->n_buffers; b++)
        if (alive[b])
            out->live[out->n_live++] = b;
}

bool
glow_order_measure(glow_arena *a, const glow_order_problem *p,
                   const uint32_t *tasks, glow_order_use *out)
{
    const glow_order_net *net = glow_order_net_given(a, p);
    glow_order_use use = {0};
    glow_order_walk *w;

    if (!net)
        return false;
    w = glow_order_walk_new(a, net);
    use.during = GLOW_NEW_ARRAY(a, int64_t, (size_t)p->n_tasks + 1);
    for (uint32_t k = 0; k < p->n_tasks; k++) {
        if (tasks[k] >= p->n_tasks || w->ran[tasks[k]] || w->waits[tasks[k]])
            return false;
        use.during[k] = w->live + glow_order_try(w, tasks[k]).during;
        if (use.during[k] > use.peak) {
            use.peak = use.during[k];
            use.at = k;
        }
        glow_order_do(w, tasks[k]);
        if (glow_add_overflow(use.area, w->live, &use.area))
            use.area = INT64_MAX;
    }
    if (p->n_tasks > 0)
        list_live(a, w, tasks, &use);
    *out = use;
    return true;
}
