/*
 * Construction of ordering problems: validation, edges in both directions.
 *
 * Duplicates within a list are dropped, and so are buffers of zero bytes.  The
 * given order is repaired to a topological order: a task runs at its number, or
 * right before the first of its successors.  Linear time, no recursion.
 */

#include "irgen/schedule/order.h"

typedef struct builder {
    glow_arena *a;
    const glow_order_problem *p;
    uint32_t *seen; /* by item: 1 + the last list that has it */
} builder;

/* True if the tasks and buffers that task `i` names exist, and its aliases are of
 * buffers that it touches. */
static bool
names_right(const builder *b, uint32_t i)
{
    const glow_order_problem *p = b->p;
    const glow_order_task *t = &p->tasks[i];

    for (uint32_t k = 0; k < t->n_before; k++)
        if (t->before[k] >= p->n_tasks)
            return false;
    for (uint32_t k = 0; k < t->n_touches; k++) {
        if (t->touches[k] >= p->n_buffers)
            return false;
        b->seen[t->touches[k]] = i + 1;
    }
    for (uint32_t k = 0; k < t->n_aliases; k++)
        if (t->aliases[k].made >= p->n_buffers ||
            t->aliases[k].over >= p->n_buffers ||
            b->seen[t->aliases[k].made] != i + 1 ||
            b->seen[t->aliases[k].over] != i + 1)
            return false;
    return true;
}

/* True if all references are valid and no sum of bytes or lengths overflows. */
static bool
is_sound(const builder *b)
{
    const glow_order_problem *p = b->p;
    int64_t sum = 0, extra = 0, named = p->n_tasks;

    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].bytes < 0 ||
            glow_add_overflow(sum, p->buffers[i].bytes, &sum))
            return false;
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        const glow_order_task *t = &p->tasks[i];

        named += (int64_t)t->n_before + t->n_touches;
        if (!names_right(b, i))
            return false;
        extra = t->extra > extra ? t->extra : extra;
    }
    return named < UINT32_MAX && !glow_add_overflow(sum, extra, &sum);
}

/* The lists of all tasks: of their predecessors, or of their buffers. */
static glow_order_lists
make_lists(const builder *b, bool touches)
{
    const glow_order_problem *p = b->p;
    glow_order_lists out = {
        .first = GLOW_NEW_ARRAY(b->a, uint32_t, (size_t)p->n_tasks + 1)};
    size_t most = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->n_tasks; i++)
        most += touches ? p->tasks[i].n_touches : p->tasks[i].n_before;
    out.items = GLOW_NEW_ARRAY(b->a, uint32_t, most + 1);
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        const glow_order_task *t = &p->tasks[i];
        const uint32_t *from = touches ? t->touches : t->before;
        uint32_t n = touches ? t->n_touches : t->n_before;

        out.first[i] = count;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t x = from[k];

            if (b->seen[x] == i + 1 || (touches && p->buffers[x].bytes == 0))
                continue;
            b->seen[x] = i + 1;
            out.items[count++] = x;
        }
    }
    out.first[p->n_tasks] = count;
    return out;
}

glow_order_lists
glow_order_transpose(glow_arena *a, glow_order_lists lists, uint32_t n_from,
                     uint32_t n_to)
{
    uint32_t total = lists.first[n_from];
    glow_order_lists out = {GLOW_NEW_ARRAY(a, uint32_t, (size_t)n_to + 2),
                            GLOW_NEW_ARRAY(a, uint32_t, (size_t)total + 1)};

    for (uint32_t k = 0; k < total; k++)
        out.first[lists.items[k] + 2]++;
    for (uint32_t i = 2; i < n_to + 2; i++)
        out.first[i] += out.first[i - 1];
    for (uint32_t i = 0; i < n_from; i++)
        GLOW_ORDER_EACH(to, lists, i)
            out.items[out.first[*to + 1]++] = i;
    return out;
}

enum { NEW, OPEN, DONE };

/* A topological order close to the numbering, by depth-first search; NULL if
 * there is a cycle. */
static uint32_t *
repair(glow_arena *a, const glow_order_net *net)
{
    size_t n = net->n_tasks;
    uint32_t *order = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    uint32_t *stack = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    uint32_t *next = GLOW_NEW_ARRAY(a, uint32_t, n + 1);
    uint8_t *state = GLOW_NEW_ARRAY(a, uint8_t, n + 1);
    uint32_t count = 0, depth = 0;

    for (uint32_t i = 0; i < n; i++)
        next[i] = net->before.first[i];
    for (uint32_t i = 0; i < n; i++) {
        if (state[i] != NEW)
            continue;
        state[i] = OPEN;
        stack[depth++] = i;
        while (depth > 0) {
            uint32_t top = stack[depth - 1];

            if (next[top] == net->before.first[top + 1]) {
                state[top] = DONE;
                order[count++] = top;
                depth--;
                continue;
            }
            uint32_t b = net->before.items[next[top]++];

            if (state[b] == OPEN)
                return NULL;
            if (state[b] == DONE)
                continue;
            state[b] = OPEN;
            stack[depth++] = b;
        }
    }
    return order;
}

/* True if two aliases of a task write different buffers over the same one. */
static bool
has_uneven_alias(const glow_order_task *t)
{
    enum { MOST = 64 };

    for (uint32_t k = 0; k < t->n_aliases && t->n_aliases <= MOST; k++)
        for (uint32_t j = 0; j < k; j++)
            if (t->aliases[j].over == t->aliases[k].over &&
                t->aliases[j].made != t->aliases[k].made)
                return true;
    return t->n_aliases > MOST;
}

glow_order_net *
glow_order_net_new(glow_arena *a, const glow_order_problem *p)
{
    glow_order_net *net = GLOW_NEW(a, glow_order_net);
    builder b = {.a = a, .p = p};

    b.seen = GLOW_NEW_ARRAY(a, uint32_t, (size_t)p->n_buffers + 1);
    if (!is_sound(&b))
        return NULL;
    net->p = p;
    net->n_tasks = p->n_tasks;
    net->n_buffers = p->n_buffers;
    b.seen = GLOW_NEW_ARRAY(a, uint32_t, (size_t)p->n_tasks + 1);
    net->before = make_lists(&b, false);
    b.seen = GLOW_NEW_ARRAY(a, uint32_t, (size_t)p->n_buffers + 1);
    net->touches = make_lists(&b, true);
    net->after = glow_order_transpose(a, net->before, p->n_tasks, p->n_tasks);
    net->users =
        glow_order_transpose(a, net->touches, p->n_tasks, p->n_buffers);
    for (uint32_t i = 0; i < p->n_tasks; i++)
        net->has_uneven_aliases |= has_uneven_alias(&p->tasks[i]);
    net->given = repair(a, net);
    return net->given ? net : NULL;
}

glow_order_net *
glow_order_net_given(glow_arena *a, const glow_order_problem *p)
{
    for (uint32_t i = 0; i < p->n_tasks; i++)
        if (p->tasks[i].extra < 0)
            return NULL;
    return glow_order_net_new(a, p);
}

glow_order_net *
glow_order_net_reversed(glow_arena *a, const glow_order_net *net)
{
    uint32_t n = net->n_tasks, m = net->n_buffers;
    glow_order_problem *p = GLOW_NEW(a, glow_order_problem);
    glow_order_task *tasks = GLOW_NEW_ARRAY(a, glow_order_task, (size_t)n + 1);
    glow_order_buffer *buffers =
        GLOW_NEW_ARRAY(a, glow_order_buffer, (size_t)m + 1);
    uint32_t *stay = GLOW_NEW_ARRAY(a, uint32_t, (size_t)m + 1);
    uint32_t *last = GLOW_NEW(a, uint32_t), n_stay = 0;

    for (uint32_t b = 0; b < m; b++) {
        buffers[b].bytes = net->p->buffers[b].bytes;
        if (net->p->buffers[b].stays &&
            net->users.first[b] < net->users.first[b + 1])
            stay[n_stay++] = b;
    }
    *last = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = net->after.first[i];

        tasks[i] = net->p->tasks[i];
        tasks[i].before = &net->after.items[first];
        tasks[i].n_before = net->after.first[i + 1] - first;
        if (tasks[i].n_before == 0) {
            tasks[i].before = last;
            tasks[i].n_before = 1;
        }
    }
    tasks[n] = (glow_order_task){.touches = stay, .n_touches = n_stay};
    *p = (glow_order_problem){tasks, n + 1, buffers, m};

    glow_order_net *reversed = glow_order_net_new(a, p);

    reversed->reversed = true;
    return reversed;
}
