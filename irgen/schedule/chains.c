/*
 * Contraction of one region to a chain, from valley to valley.
 *
 * An order of a region that is optimal in any context (solve_region.c) is cut at
 * its valleys: the lowest one, from there on the lowest behind the highest hill
 * that remains, and so on, and in the same way back to its begin.  A piece loses
 * nothing by waiting in its valley until its hill is affordable, and by running
 * on from the hill to the next valley.  So each piece runs without interruption
 * and becomes one task, which needs the peak of the piece and touches the buffers
 * that are touched outside the piece too.
 */

#include <string.h>

#include "irgen/schedule/chains.h"
#include "irgen/schedule/searches.h"

enum {
    STEPS = 1 << 12, /* for solving a region, and for each of its tasks */
    STEPS_PER_TASK = 1 << 9,
};

/* 0 if a task outside the region runs before it, 1 if after, 2 if either. */
static int
side_of(glow_order_quotient *m, uint32_t task)
{
    for (int e = 0; e < 2; e++)
        if (m->outer[e] != GLOW_ORDER_NOWHERE &&
            (glow_order_representative(m, task) ==
                 glow_order_representative(m, m->outer[e]) ||
             glow_order_dominates(&m->trees[e], task, m->outer[e])))
            return e;
    return 2;
}

void
glow_order_set_region(glow_order_quotient *m, const uint32_t *tasks, uint32_t n,
                      uint32_t before, uint32_t behind)
{
    m->stamp++;
    m->outer[0] = before;
    m->outer[1] = behind;
    m->n = n;
    for (uint32_t k = 0; k < n; k++) {
        m->nodes[k] = tasks[k];
        m->seen[tasks[k]] = m->stamp;
        m->place[tasks[k]] = k + 1;
    }
}

bool
glow_order_is_closed(glow_order_quotient *m, uint32_t x)
{
    const glow_order_task *t = &m->now[x];

    for (uint32_t k = 0; k < t->n_touches; k++)
        GLOW_ORDER_EACH(user, m->net->users, t->touches[k]) {
            m->steps--;
            if (m->seen[glow_order_representative(m, *user)] != m->stamp &&
                side_of(m, *user) == 2)
                return false;
        }
    return true;
}

/* The region as a problem. */

typedef struct problem {
    glow_order_problem p;
    glow_order_task *tasks;
    glow_order_buffer *buffers;
    uint32_t *ends[2], n_ends[2];
} problem;

static uint32_t
number_of(glow_order_quotient *m, problem *q, uint32_t b)
{
    bool at[3] = {false, m->net->p->buffers[b].stays, false};

    if (m->number[b])
        return m->number[b] - 1;
    GLOW_ORDER_EACH(user, m->net->users, b) {
        m->steps--;
        if (m->seen[glow_order_representative(m, *user)] != m->stamp)
            at[side_of(m, *user)] = true;
    }
    for (int e = 0; e < 2; e++)
        if (at[e])
            q->ends[e][q->n_ends[e]++] = q->p.n_buffers;
    q->buffers[q->p.n_buffers].bytes = m->net->p->buffers[b].bytes;
    m->number[b] = ++q->p.n_buffers;
    m->named[m->n_named++] = b;
    return q->p.n_buffers - 1;
}

static void
add_task(glow_order_quotient *m, problem *q, uint32_t x)
{
    const glow_order_task *from = &m->now[x];
    glow_order_task *t = &q->tasks[q->p.n_tasks++];
    uint32_t *touches =
        GLOW_NEW_ARRAY(m->scratch, uint32_t, (size_t)from->n_touches + 1);
    glow_order_alias *aliases = GLOW_NEW_ARRAY(m->scratch, glow_order_alias,
                                               (size_t)from->n_aliases + 1);
    uint32_t most = m->lists[GLOW_ORDER_BACKWARD].first[x + 1] -
                    m->lists[GLOW_ORDER_BACKWARD].first[x] + 2;
    uint32_t *before = GLOW_NEW_ARRAY(m->scratch, uint32_t, most), y,
             cursor = 0;

    *t = (glow_order_task){.before = before,
                           .n_before = 1,
                           .touches = touches,
                           .aliases = aliases,
                           .extra = from->extra};
    while ((y = glow_order_neighbour(m, x, GLOW_ORDER_BACKWARD, &cursor)) !=
           GLOW_ORDER_NOWHERE)
        if (m->seen[y] == m->stamp)
            before[t->n_before++] = m->place[y];
    for (uint32_t k = 0; k < from->n_touches; k++)
        touches[t->n_touches++] = number_of(m, q, from->touches[k]);
    for (uint32_t k = 0; k < from->n_aliases; k++)
        aliases[t->n_aliases++] =
            (glow_order_alias){m->number[from->aliases[k].made] - 1,
                               m->number[from->aliases[k].over] - 1};
}

/* The problem of the region; its buffers keep their numbers. */
static const glow_order_net *
make_problem(glow_order_quotient *m)
{
    problem *q = GLOW_NEW(m->scratch, problem);
    uint32_t most = 1, *all = GLOW_NEW_ARRAY(m->scratch, uint32_t, m->n + 1);

    for (uint32_t k = 0; k < m->n; k++)
        most += m->now[m->nodes[k]].n_touches;
    q->tasks = GLOW_NEW_ARRAY(m->scratch, glow_order_task, m->n + 2);
    q->buffers = GLOW_NEW_ARRAY(m->scratch, glow_order_buffer, most);
    for (int e = 0; e < 2; e++)
        q->ends[e] = GLOW_NEW_ARRAY(m->scratch, uint32_t, most);
    q->p = (glow_order_problem){q->tasks, 1, q->buffers, 0};
    for (uint32_t k = 0; k < m->n; k++) {
        add_task(m, q, m->nodes[k]);
        all[k] = k + 1;
    }
    q->tasks[0] =
        (glow_order_task){.touches = q->ends[0], .n_touches = q->n_ends[0]};
    q->tasks[q->p.n_tasks++] = (glow_order_task){.before = all,
                                                 .n_before = m->n,
                                                 .touches = q->ends[1],
                                                 .n_touches = q->n_ends[1]};
    return glow_order_net_new(m->scratch, &q->p);
}

/* Chains. */

/* Live bytes before and after each of n tasks, and while it runs. */
typedef struct profile {
    int64_t *live, *during;
    uint32_t n;
} profile;

static profile
measure(glow_order_quotient *m, const glow_order_net *net,
        const uint32_t *tasks)
{
    glow_order_walk *w = glow_order_walk_new(m->scratch, net);
    profile p = {.live = GLOW_NEW_ARRAY(m->scratch, int64_t, m->n + 1),
                 .during = GLOW_NEW_ARRAY(m->scratch, int64_t, m->n + 1),
                 .n = m->n};

    glow_order_do(w, 0);
    p.live[0] = w->live;
    for (uint32_t k = 0; k < p.n; k++) {
        p.during[k] = w->live + glow_order_try(w, tasks[k]).during;
        glow_order_do(w, tasks[k]);
        p.live[k + 1] = w->live;
    }
    return p;
}

/* Marks the valleys: the lowest position, then, towards the end and towards the
 * begin, the lowest one beyond the highest hill that remains. */
static bool *
find_valleys(glow_order_quotient *m, const profile *p)
{
    bool *valley = GLOW_NEW_ARRAY(m->scratch, bool, p->n + (size_t)1);
    uint32_t least = 0, hill, low;

    for (uint32_t k = 0; k <= p->n; k++)
        least = p->live[k] < p->live[least] ? k : least;
    valley[least] = valley[0] = valley[p->n] = true;
    for (uint32_t at = least; at < p->n; at = low) {
        hill = at;
        for (uint32_t k = at; k < p->n; k++)
            hill = p->during[k] >= p->during[hill] ? k : hill;
        low = hill + 1;
        for (uint32_t k = low; k <= p->n; k++)
            low = p->live[k] <= p->live[low] ? k : low;
        valley[low] = true;
        m->steps -= p->n - at;
    }
    for (uint32_t at = least; at > 0; at = low) {
        hill = at - 1;
        for (uint32_t k = at; k-- > 0;)
            hill = p->during[k] >= p->during[hill] ? k : hill;
        low = hill;
        for (uint32_t k = hill + 1; k-- > 0;)
            low = p->live[k] <= p->live[low] ? k : low;
        valley[low] = true;
        m->steps -= at;
    }
    return valley;
}

/* Merges the nodes from index k to `end` into the first of them. */
static void
join(glow_order_quotient *m, uint32_t k, uint32_t end)
{
    uint32_t x = m->nodes[k], most = 0, *touches;
    glow_order_task *t = &m->now[x];

    for (uint32_t i = k; i < end; i++) {
        most += m->now[m->nodes[i]].n_touches;
        if (i == k)
            continue;
        m->one[m->nodes[i]] = x;
        m->follow[m->tail[x]] = m->nodes[i];
        m->tail[x] = m->tail[m->nodes[i]];
    }
    touches = GLOW_NEW_ARRAY(m->a, uint32_t, (size_t)most + 1);
    most = 0;
    for (uint32_t i = k; i < end; i++) {
        const glow_order_task *from = &m->now[m->nodes[i]];

        for (uint32_t j = 0; j < from->n_touches; j++) {
            uint32_t b = from->touches[j];
            bool outside = m->net->p->buffers[b].stays;

            GLOW_ORDER_EACH(user, m->net->users, b) {
                m->steps--;
                outside |= glow_order_representative(m, *user) != x;
            }
            for (uint32_t other = 0; other < most && outside; other++)
                outside = touches[other] != b;
            if (outside)
                touches[most++] = b;
        }
    }
    *t = (glow_order_task){.touches = touches, .n_touches = most};
    m->changed = true;
}

/* Replaces the region by a chain, in the order `tasks` of its problem. */
static void
make_chain(glow_order_quotient *m, const glow_order_net *net,
           const uint32_t *tasks)
{
    profile p = measure(m, net, tasks);
    bool *valley = find_valleys(m, &p);
    uint32_t *nodes = GLOW_NEW_ARRAY(m->scratch, uint32_t, m->n);
    glow_order_walk *w = glow_order_walk_new(m->scratch, net);
    uint32_t last = m->outer[0], count = 0;

    for (uint32_t k = 0; k < m->n; k++)
        nodes[k] = m->nodes[tasks[k] - 1];
    memcpy(m->nodes, nodes, m->n * sizeof *nodes);
    glow_order_do(w, 0);
    for (uint32_t k = 0, end; k < m->n; k = end) {
        uint32_t x = m->nodes[k];
        int64_t need = p.during[k];

        for (end = k + 1; !valley[end]; end++)
            need = p.during[end] > need ? p.during[end] : need;
        if (end > k + 1) {
            join(m, k, end);
            for (uint32_t i = 0; i < m->now[x].n_touches; i++) {
                uint32_t b = m->number[m->now[x].touches[i]] - 1;

                if (w->left[b] == net->users.first[b + 1] - net->users.first[b])
                    need -= net->p->buffers[b].bytes;
            }
            m->now[x].extra = need - p.live[k];
        }
        while (k < end)
            glow_order_do(w, tasks[k++]);
        m->linked[x] = true;
        m->link[GLOW_ORDER_BACKWARD][x] = last;
        m->ends[GLOW_ORDER_BACKWARD][x] = count == 0;
        m->ends[GLOW_ORDER_FORWARD][x] = false;
        if (count > 0)
            m->link[GLOW_ORDER_FORWARD][last] = x;
        last = x;
        m->nodes[count++] = x;
    }
    m->link[GLOW_ORDER_FORWARD][last] = m->outer[1];
    m->ends[GLOW_ORDER_FORWARD][last] = true;
}

void
glow_order_contract_region(glow_order_quotient *m, bool is_chain)
{
    const glow_order_net *net = make_problem(m);
    uint32_t *tasks = GLOW_NEW_ARRAY(m->scratch, uint32_t, (size_t)m->n + 2);
    int64_t given = STEPS + (int64_t)STEPS_PER_TASK * m->n, left;
    bool solved = true;

    left = given = given < m->steps ? given : m->steps;
    for (uint32_t k = 0; k < m->n && is_chain; k++)
        tasks[k] = k + 1;
    if (!is_chain)
        solved = glow_order_solve_region(m->scratch, net, tasks, &left);
    m->steps -= given - left + m->n;
    if (solved)
        make_chain(m, net, tasks);
    while (m->n_named > 0)
        m->number[m->named[--m->n_named]] = 0;
    glow_arena_reset(m->scratch);
}
