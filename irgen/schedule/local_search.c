/*
 * Large neighbourhood search over windows of the order (Shaw, CP 1998).
 *
 * A window is a run of positions around the first task that needs the peak.  The
 * tasks before and after it keep their places.  The window is a problem of its
 * own, with a first task that touches all buffers live at its begin, and a last
 * task that touches all buffers live at its end.  It is searched for an order
 * with a lower peak in few steps; windows grow where none is found.  Each window
 * takes time linear in the order plus its search; each success lowers the peak or
 * the number of tasks that need it.
 */

#include <stdlib.h>
#include <string.h>

#include "irgen/schedule/searches.h"

enum {
    FIRST_LENGTH = 16,
    SHIFTS = 3, /* windows of a length: the peak at a quarter, half, ... */
    PER_TASK = 1 << 12 /* steps for each task of a window */
};

typedef struct local_search {
    glow_arena *a;         /* reset for each window */
    glow_order_walk *walk; /* at the begin of the segment */
    const glow_order_net *net;
    uint32_t *tasks, n; /* of the segment */
    uint32_t *place;    /* by task: position in the segment, or UINT32_MAX */
    uint32_t *number;   /* by buffer: 1 + its number in the window, or 0 */
    int64_t bound;
    int64_t *steps;
} local_search;

/* A window, as a problem. */
typedef struct window {
    uint32_t first, end; /* positions */
    uint32_t *ends[2];   /* buffers live before and after */
    uint32_t n_ends[2];
    glow_order_problem p;
    glow_order_task *tasks;
    glow_order_buffer *buffers;
} window;

static bool
is_before(const local_search *m, const window *w, uint32_t task)
{
    return m->walk->ran[task] || m->place[task] < w->first;
}

/* The number of buffer `b` in the window; lists it in `ends` if it is live before
 * or after. */
static uint32_t
number_of(const local_search *m, window *w, uint32_t b)
{
    bool before = false, behind = m->net->p->buffers[b].stays;

    if (m->number[b])
        return m->number[b] - 1;
    GLOW_ORDER_EACH(user, m->net->users, b) {
        before |= is_before(m, w, *user);
        behind |= !m->walk->ran[*user] && m->place[*user] >= w->end;
        *m->steps -= 1;
    }
    if (before)
        w->ends[0][w->n_ends[0]++] = w->p.n_buffers;
    if (behind)
        w->ends[1][w->n_ends[1]++] = w->p.n_buffers;
    w->buffers[w->p.n_buffers].bytes = m->net->p->buffers[b].bytes;
    m->number[b] = ++w->p.n_buffers;
    return w->p.n_buffers - 1;
}

/* Sets the predecessors of a task in the window: the first task at least. */
static void
add_before(const local_search *m, const window *w, uint32_t task,
           glow_order_task *t)
{
    uint32_t *before =
        GLOW_NEW_ARRAY(m->a, uint32_t,
                       m->net->before.first[task + 1] -
                           m->net->before.first[task] + (size_t)1);

    t->before = before;
    before[t->n_before++] = 0;
    GLOW_ORDER_EACH(b, m->net->before, task)
        if (!is_before(m, w, *b))
            before[t->n_before++] = 1 + m->place[*b] - w->first;
}

static void
add_task(const local_search *m, window *w, uint32_t task)
{
    const glow_order_task *from = &m->net->p->tasks[task];
    glow_order_task *t = &w->tasks[w->p.n_tasks++];
    uint32_t *touches =
        GLOW_NEW_ARRAY(m->a, uint32_t, from->n_touches + (size_t)1);
    glow_order_alias *aliases =
        GLOW_NEW_ARRAY(m->a, glow_order_alias, from->n_aliases + (size_t)1);

    *t = (glow_order_task){
        .touches = touches, .aliases = aliases, .extra = from->extra};
    GLOW_ORDER_EACH(b, m->net->touches, task)
        touches[t->n_touches++] = number_of(m, w, *b);
    for (uint32_t k = 0; k < from->n_aliases; k++) {
        uint32_t made = from->aliases[k].made, over = from->aliases[k].over;

        if (m->number[made] && m->number[over]) /* both have bytes */
            aliases[t->n_aliases++] =
                (glow_order_alias){m->number[made] - 1, m->number[over] - 1};
    }
    add_before(m, w, task, t);
}

/* Adds the first and last task, and one buffer for all bytes that are live
 * throughout and untouched by the window. */
static void
add_ends(const local_search *m, window *w, int64_t live)
{
    uint32_t *all = GLOW_NEW_ARRAY(m->a, uint32_t, w->p.n_tasks);

    for (uint32_t k = 0; k < w->n_ends[0]; k++)
        live -= w->buffers[w->ends[0][k]].bytes;
    w->buffers[w->p.n_buffers].bytes = live;
    for (int e = 0; e < 2; e++)
        w->ends[e][w->n_ends[e]++] = w->p.n_buffers;
    w->p.n_buffers++;
    for (uint32_t k = 0; k < w->p.n_tasks; k++)
        all[k] = k;
    w->tasks[0] =
        (glow_order_task){.touches = w->ends[0], .n_touches = w->n_ends[0]};
    w->tasks[w->p.n_tasks] = (glow_order_task){.before = all,
                                               .n_before = w->p.n_tasks,
                                               .touches = w->ends[1],
                                               .n_touches = w->n_ends[1]};
    w->p.n_tasks++;
}

/* The problem of a window with `live` bytes before it. */
static const glow_order_net *
make_window(const local_search *m, uint32_t first, uint32_t end, int64_t live)
{
    window w = {.first = first, .end = end};
    size_t n = end - first, most = 1;

    for (uint32_t k = first; k < end; k++)
        most += m->net->p->tasks[m->tasks[k]].n_touches;
    w.tasks = GLOW_NEW_ARRAY(m->a, glow_order_task, n + 2);
    w.buffers = GLOW_NEW_ARRAY(m->a, glow_order_buffer, most);
    for (int e = 0; e < 2; e++)
        w.ends[e] = GLOW_NEW_ARRAY(m->a, uint32_t, most);
    w.p = (glow_order_problem){w.tasks, 1, w.buffers, 0};
    for (uint32_t k = first; k < end; k++)
        add_task(m, &w, m->tasks[k]);
    add_ends(m, &w, live);
    for (uint32_t k = first; k < end; k++)
        GLOW_ORDER_EACH(b, m->net->touches, m->tasks[k])
            m->number[*b] = 0;

    glow_order_problem *p = GLOW_NEW(m->a, glow_order_problem);

    *p = w.p;
    return glow_order_net_new(m->a, p);
}

/* Searches a window for an order with a peak below `peak`; true if one was found
 * and taken. */
static bool
improve_window(local_search *m, uint32_t first, uint32_t end, int64_t live,
               int64_t peak)
{
    const glow_order_net *net = make_window(m, first, end, live);
    glow_order_segments *parts = glow_order_segments_new(m->a, net);
    int64_t least = peak - 1 - peak / 64, given, left;
    uint32_t *now;

    given = (int64_t)PER_TASK * (end - first);
    given = left = given < *m->steps ? given : *m->steps;
    glow_order_segments_offer(parts, net->given, peak, "given");
    glow_order_search(m->a, parts, true, least > m->bound ? least : m->bound,
                      &left);
    *m->steps -= given - left;
    if (glow_order_segments_worst(parts)->cost.peak >= peak)
        return false;
    now = glow_arena_copy(m->a, m->tasks + first,
                          (end - first) * sizeof(uint32_t));
    for (uint32_t k = first; k < end; k++) {
        m->tasks[k] = now[parts->tasks[k - first + 1] - 1];
        m->place[m->tasks[k]] = k;
    }
    return true;
}

/* The peak of the order. */
typedef struct worst {
    int64_t peak;
    uint32_t at;
    int64_t *live; /* by position: live bytes before it */
} worst;

static worst
find_worst(const local_search *m)
{
    worst w = {.live = GLOW_NEW_ARRAY(m->a, int64_t, (size_t)m->n + 1)};

    for (uint32_t k = 0; k < m->n; k++) {
        int64_t live = m->walk->live;
        int64_t during = live + glow_order_try(m->walk, m->tasks[k]).during;

        w.live[k] = live;
        if (during > w.peak) {
            w.peak = during;
            w.at = k;
        }
        glow_order_do(m->walk, m->tasks[k]);
    }
    for (uint32_t k = m->n; k-- > 0;)
        glow_order_undo(m->walk, m->tasks[k]);
    *m->steps -= 2 * (int64_t)m->n;
    return w;
}

/* Tries windows of a length around the peak. */
static bool
improve_worst(local_search *m, const worst *w, uint32_t length)
{
    uint32_t n = m->n;

    for (uint32_t k = 1; k <= SHIFTS && *m->steps > 0; k++) {
        uint32_t back = (uint32_t)((uint64_t)length * k / (SHIFTS + 1));
        uint32_t first = w->at > back ? w->at - back : 0;
        uint32_t end = n - first < length ? n : first + length;

        if (improve_window(m, first, end, w->live[first], w->peak))
            return true;
    }
    return false;
}

void
glow_order_improve(glow_arena *a, glow_order_walk *walk, uint32_t *segment,
                   uint32_t n, int64_t bound, int64_t *steps)
{
    const glow_order_net *net = walk->net;
    size_t tasks = net->n_tasks, buffers = net->n_buffers;
    local_search m = {.a = glow_arena_new(), .walk = walk, .net = net};
    bool better = true;

    m.tasks = segment;
    m.n = n;
    m.bound = bound;
    m.steps = steps;
    m.place = GLOW_NEW_ARRAY(a, uint32_t, tasks + 1);
    m.number = GLOW_NEW_ARRAY(a, uint32_t, buffers + 1);
    memset(m.place, 0xff, tasks * sizeof *m.place);
    for (uint32_t k = 0; k < n; k++)
        m.place[segment[k]] = k;
    for (uint32_t length = FIRST_LENGTH; *steps > 0; length *= better ? 1 : 2) {
        worst w = find_worst(&m);

        if (w.peak <= bound || (!better && length >= 2 * (uint64_t)n))
            break;
        better = improve_worst(&m, &w, length);
        glow_arena_reset(m.a);
    }
    glow_arena_free(m.a);
}
