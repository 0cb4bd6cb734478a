/*
 * Reachability by an interval-labelled spanning tree (Agrawal, Borgida and
 * Jagadish, SIGMOD 1989) and a bounded search; see precedence.h.
 *
 * A depth-first search goes from the last nodes to their predecessors; the nodes
 * of a subtree precede its root, which answers most queries in constant time.
 * Other queries search backwards from the later node, through nodes whose rank is
 * at least the least rank sought; the search gives up after MOST_STEPS nodes.
 */

#include "irgen/sharing/precedence.h"

enum { MOST_STEPS = 1000, MOST_SOUGHT = 64 };

/* Numbers a depth-first spanning tree over predecessors, last rank first. */
static void
grow_tree(glow_arena *a, glow_ranks *r)
{
    uint32_t *stack = GLOW_NEW_ARRAY(a, uint32_t, r->count);
    uint32_t *next = GLOW_NEW_ARRAY(a, uint32_t, r->count);
    uint32_t now = 0;

    r->first = GLOW_NEW_ARRAY(a, uint32_t, r->count);
    r->end = GLOW_NEW_ARRAY(a, uint32_t, r->count);
    for (uint32_t i = r->count; i-- > 0;) {
        uint32_t depth = 0, root = r->node[i];

        if (r->first[root])
            continue;
        r->first[root] = ++now;
        stack[depth++] = root;
        while (depth > 0) {
            uint32_t n = stack[depth - 1];

            if (next[n] == r->tasks[n].n_before) {
                r->end[n] = now;
                depth--;
                continue;
            }
            n = r->tasks[n].before[next[n]++];
            if (r->first[n] == 0) {
                r->first[n] = ++now;
                stack[depth++] = n;
            }
        }
    }
}

static bool
is_below(const glow_ranks *r, uint32_t node, uint32_t n)
{
    return r->first[node] >= r->first[n] && r->first[node] <= r->end[n];
}

glow_ranks *
glow_ranks_new(glow_arena *a, const glow_order_problem *p)
{
    glow_ranks *r = GLOW_NEW(a, glow_ranks);
    glow_order_problem bare = {p->tasks, p->n_tasks, NULL, 0};
    glow_order given;

    r->tasks = p->tasks;
    r->count = p->n_tasks;
    if (!glow_order_find(a, &bare, GLOW_ORDER_GIVEN, 0, &given))
        return NULL;
    r->node = given.tasks;
    r->rank = GLOW_NEW_ARRAY(a, uint32_t, r->count);
    r->stamp = GLOW_NEW_ARRAY(a, uint32_t, r->count);
    r->stack = GLOW_NEW_ARRAY(a, uint32_t, MOST_STEPS);
    for (uint32_t i = 0; i < r->count; i++)
        r->rank[r->node[i]] = i;
    grow_tree(a, r);
    return r;
}

/* Searches the predecessors of `n` of rank `least` or more, until it has found
   `want` nodes; returns the number of nodes found with stamp `sought`. */
static uint32_t
search(glow_ranks *r, uint32_t n, uint32_t least, uint32_t sought,
       uint32_t want)
{
    uint32_t count = 0, found = 0, done = 0;
    uint32_t seen = ++r->now;

    r->stack[count++] = n;
    while (done < count && found < want) {
        const glow_order_task *t = &r->tasks[r->stack[done++]];

        for (uint32_t k = 0; k < t->n_before; k++) {
            uint32_t b = t->before[k];

            if (r->stamp[b] == seen || r->rank[b] < least)
                continue;
            found += r->stamp[b] == sought;
            r->stamp[b] = seen;
            if (count == MOST_STEPS)
                return found;
            r->stack[count++] = b;
        }
    }
    return found;
}

bool
glow_ranks_precede(glow_ranks *r, const uint32_t *set, uint32_t count,
                   uint32_t n)
{
    uint32_t least = UINT32_MAX, sought = ++r->now, want = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (r->rank[set[i]] >= r->rank[n])
            return false;
        if (is_below(r, set[i], n))
            continue;
        if (r->rank[set[i]] < least)
            least = r->rank[set[i]];
        want += r->stamp[set[i]] != sought;
        r->stamp[set[i]] = sought;
    }
    return want == 0 || search(r, n, least, sought, want) == want;
}

typedef struct others {
    uint32_t nodes[MOST_SOUGHT];
    uint32_t count, but;
} others;

static bool
note_other(void *user, uint32_t node)
{
    others *o = user;

    if (node == o->but)
        return true;
    if (o->count == MOST_SOUGHT)
        return false;
    o->nodes[o->count++] = node;
    return true;
}

bool
glow_ranks_is_last(glow_ranks *r, const glow_graph_table *t, uint32_t buffer,
                   uint32_t n)
{
    others o = {.count = 0, .but = n};

    return glow_table_each_late(t, buffer, note_other, &o) &&
           glow_ranks_precede(r, o.nodes, o.count, n);
}
