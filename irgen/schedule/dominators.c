/*
 * Dominator trees of an acyclic graph, in one sweep with skip pointers.
 *
 * The immediate dominator of a task is the nearest common ancestor of its
 * predecessors.  Each node has a skip pointer to some ancestor, such that an
 * ancestor at any depth is reached in a logarithmic number of steps (Myers, An
 * applicative random-access stack, Information Processing Letters 17, 1983).
 * Time n log n.
 */

#include "irgen/schedule/dominators.h"

/* Longer lists are not reduced. */
enum { MOST_COMPARED = 32 };

/* The ancestor of `task`, or itself, at a depth of at most `depth`. */
static uint32_t
climb(const glow_order_dominators *tree, uint32_t task, uint32_t depth)
{
    while (tree->depth[task] > depth)
        task = tree->depth[tree->jump[task]] >= depth ? tree->jump[task]
                                                      : tree->above[task];
    return task;
}

bool
glow_order_dominates(const glow_order_dominators *tree, uint32_t x,
                     uint32_t task)
{
    return tree->depth[x] <= tree->depth[task] &&
           climb(tree, task, tree->depth[x]) == x;
}

static uint32_t
meet(const glow_order_dominators *tree, uint32_t x, uint32_t y)
{
    if (tree->depth[x] > tree->depth[y])
        x = climb(tree, x, tree->depth[y]);
    else
        y = climb(tree, y, tree->depth[x]);
    while (x != y) {
        bool far = tree->jump[x] != tree->jump[y];

        x = far ? tree->jump[x] : tree->above[x];
        y = far ? tree->jump[y] : tree->above[y];
    }
    return x;
}

static void
put_below(glow_order_dominators *tree, uint32_t task, uint32_t above)
{
    uint32_t far = tree->jump[above];
    bool even = tree->depth[above] - tree->depth[far] ==
                tree->depth[far] - tree->depth[tree->jump[far]];

    tree->above[task] = above;
    tree->depth[task] = tree->depth[above] + 1;
    tree->jump[task] = even ? tree->jump[far] : above;
}

/* True if task `k` dominates another one of the `n` tasks. */
static bool
is_implied(const glow_order_dominators *tree, const uint32_t *tasks, uint32_t n,
           uint32_t k)
{
    for (uint32_t i = 0; i < n && n <= MOST_COMPARED; i++)
        if (i != k && glow_order_dominates(tree, tasks[k], tasks[i]))
            return true;
    return false;
}

glow_order_dominators
glow_order_dominators_new(glow_arena *a, const uint32_t *order, uint32_t n,
                          glow_order_lists *before)
{
    glow_order_dominators tree = {
        .above = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1),
        .depth = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1),
        .jump = GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1),
    };
    glow_order_lists kept = {
        GLOW_NEW_ARRAY(a, uint32_t, (size_t)n + 1),
        GLOW_NEW_ARRAY(a, uint32_t, (size_t)before->first[n] + 1)};
    uint8_t *implied = GLOW_NEW_ARRAY(a, uint8_t, (size_t)before->first[n] + 1);
    uint32_t count = 0;

    tree.above[n] = tree.jump[n] = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t task = order[i], first = before->first[task], at = n;
        uint32_t number = before->first[task + 1] - first;
        bool any = false;

        for (uint32_t k = 0; k < number; k++) {
            implied[first + k] =
                is_implied(&tree, before->items + first, number, k);
            if (!implied[first + k])
                at = any ? meet(&tree, at, before->items[first + k])
                         : before->items[first + k];
            any |= !implied[first + k];
        }
        put_below(&tree, task, at);
    }
    for (uint32_t i = 0; i < n; i++) {
        kept.first[i] = count;
        for (uint32_t k = before->first[i]; k < before->first[i + 1]; k++)
            if (!implied[k])
                kept.items[count++] = before->items[k];
    }
    kept.first[n] = count;
    *before = kept;
    return tree;
}
