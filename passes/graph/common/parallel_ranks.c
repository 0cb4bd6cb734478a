/*
 * parallel: ranks of members, for their dependences.
 *
 * The rank of a node is the largest number of members on a path to it.  Members
 * of one rank are independent, and combining them creates no cycle, even if
 * several groups are combined.
 *
 * A query is a depth-first search from the members over their operands; visited
 * nodes are marked with the number of the walk, so marks need not be cleared.
 */

#include "passes/graph/common/parallel.h"

struct parallel_ranks {
    bool *counts; /* true for members; by id, as the next two */
    int64_t *ranks;
    uint32_t *seen; /* number of the last walk that visited the node */
    uint32_t walk;
    glow_node **stack;
    int *next; /* next operand to visit, for each entry of the stack */
};

parallel_ranks *
glow_parallel_ranks_new(glow_arena *a, const glow_func *f, size_t more)
{
    parallel_ranks *r = GLOW_NEW(a, parallel_ranks);
    size_t ids = f->next_id + more, nodes = (size_t)f->count + more;

    r->counts = GLOW_NEW_ARRAY(a, bool, ids);
    r->ranks = GLOW_NEW_ARRAY(a, int64_t, ids);
    r->seen = GLOW_NEW_ARRAY(a, uint32_t, ids);
    r->stack = GLOW_NEW_ARRAY(a, glow_node *, nodes);
    r->next = GLOW_NEW_ARRAY(a, int, nodes);
    return r;
}

static void
rank_one(parallel_ranks *r, const glow_node *n)
{
    int64_t rank = 0;

    for (int i = -1; i < n->n_in; i++) {
        const glow_value *v = i < 0 ? n->pred : n->in[i];

        if (!v || !v->def)
            continue;

        int64_t before = r->ranks[v->def->id] + r->counts[v->def->id];

        rank = before > rank ? before : rank;
    }
    r->ranks[n->id] = rank;
}

/*
 * Ranks `n` and its transitive operands; iterative, because networks are deep.
 */
static void
rank_from(parallel_ranks *r, glow_node *n)
{
    int depth = 0;

    r->seen[n->id] = r->walk;
    r->stack[0] = n;
    r->next[0] = -1;
    while (depth >= 0) {
        glow_node *top = r->stack[depth];
        int i = r->next[depth]++;

        if (i >= top->n_in) {
            rank_one(r, top);
            depth--;
            continue;
        }

        const glow_value *v = i < 0 ? top->pred : top->in[i];

        if (v && v->def && r->seen[v->def->id] != r->walk) {
            r->seen[v->def->id] = r->walk;
            r->stack[++depth] = v->def;
            r->next[depth] = -1;
        }
    }
}

void
glow_parallel_rank(parallel_ranks *r, parallel_member *m, size_t count)
{
    r->walk++;
    for (size_t i = 0; i < count; i++)
        r->counts[m[i].node->id] = true;
    for (size_t i = 0; i < count; i++)
        if (r->seen[m[i].node->id] != r->walk)
            rank_from(r, m[i].node);
    for (size_t i = 0; i < count; i++) {
        m[i].rank = r->ranks[m[i].node->id];
        r->counts[m[i].node->id] = false;
    }
}
