/*
 * The tree of dominators of tasks without rings.
 *
 * In one sweep: what is above a task is where the ways up from those before it
 * meet.  Each has a jump to some task above, such that the way to any depth
 * takes a logarithmic number of jumps and steps (Myers, An applicative random-
 * access stack, Information Processing Letters 17, 1983).  Time n log n.
 */

#include "irgen/order_tree.h"

/* Lists longer than that keep all they have. */
enum { MOST_COMPARED = 32 };

/* The task above, or the same, at a depth that is no greater. */
static uint32_t
climb(const glow_order_tree *tree, uint32_t task, uint32_t depth)
{
    while (tree->depth[task] > depth)
        task = tree->depth[tree->jump[task]] >= depth ? tree->jump[task]
                                                      : tree->above[task];
    return task;
}

bool
glow_order_is_above(const glow_order_tree *tree, uint32_t x, uint32_t task)
{
    return tree->depth[x] <= tree->depth[task] &&
           climb(tree, task, tree->depth[x]) == x;
}

static uint32_t
meet(const glow_order_tree *tree, uint32_t x, uint32_t y)
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
put_below(glow_order_tree *tree, uint32_t task, uint32_t above)
{
    uint32_t far = tree->jump[above];
    bool even = tree->depth[above] - tree->depth[far] ==
                tree->depth[far] - tree->depth[tree->jump[far]];

    tree->above[task] = above;
    tree->depth[task] = tree->depth[above] + 1;
    tree->jump[task] = even ? tree->jump[far] : above;
}

/* True if another one of the `n` tasks is on no way but through this one. */
static bool
is_implied(const glow_order_tree *tree, const uint32_t *tasks, uint32_t n,
           uint32_t k)
{
    for (uint32_t i = 0; i < n && n <= MOST_COMPARED; i++)
        if (i != k && glow_order_is_above(tree, tasks[k], tasks[i]))
            return true;
    return false;
}

glow_order_tree
glow_order_tree_new(glow_arena *a, const uint32_t *order, uint32_t n,
                    glow_order_lists *before)
{
    glow_order_tree tree = {
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
