/*
 * The nodes of decision trees: their order by levels (Kahn's algorithm), leaves last, and
 * the checks that all ensembles need.
 */

#include <inttypes.h>

#include "tools/glow-translate/import/ml/forest.h"

#define MAX_LEVELS 4096
#define MAX_WEIGHTS ((int64_t)1 << 26) /* of leaves by targets */

const int64_t *
forest_column(forest *f, const char *name)
{
    glow_ints l = import_ints(f->n, name);

    return ml_check_count(f->n, name, l.count, f->count) ? l.at : NULL;
}

/*
 * The height of each node, children first (Kahn's algorithm on reversed edges);
 * fails at a cycle.
 */
bool
forest_measure(forest *f)
{
    glow_arena *a = import_arena(f->n);
    int64_t *parents = GLOW_NEW_ARRAY(a, int64_t, f->count + 1);
    int64_t *queue = GLOW_NEW_ARRAY(a, int64_t, f->count + 1);
    int64_t *level = GLOW_NEW_ARRAY(a, int64_t, f->count + 1);
    int64_t head = 0, tail = 0;

    for (int64_t i = 0; i < f->count; i++)
        if (f->nodes[i].mode != LEAF) {
            parents[f->nodes[i].yes]++;
            parents[f->nodes[i].no]++;
        }
    for (int64_t i = 0; i < f->count; i++)
        if (parents[i] == 0)
            queue[tail++] = i;
    while (head < tail) {
        const branch *b = &f->nodes[queue[head]];
        int64_t below = level[queue[head++]] + 1;

        if (b->mode == LEAF)
            continue;
        f->levels = below > f->levels ? below : f->levels;
        level[b->yes] = below > level[b->yes] ? below : level[b->yes];
        level[b->no] = below > level[b->no] ? below : level[b->no];
        if (--parents[b->yes] == 0)
            queue[tail++] = b->yes;
        if (--parents[b->no] == 0)
            queue[tail++] = b->no;
    }
    for (int64_t i = 0; i < f->count && head < f->count; i++)
        if (parents[i] > 0)
            return import_refuse(
                f->n, "E0711",
                "node %" PRId64 " of the trees is reached from itself", i);
    return f->levels <= MAX_LEVELS ||
           import_refuse(f->n, "E0711",
                         "the trees have %" PRId64
                         " levels, and %d are the limit",
                         f->levels, MAX_LEVELS);
}

/* Moves leaves to the end and renumbers all references to nodes. */
static void
sort_leaves(forest *f)
{
    glow_arena *a = import_arena(f->n);
    int64_t *to = GLOW_NEW_ARRAY(a, int64_t, f->count + 1);
    branch *sorted = GLOW_NEW_ARRAY(a, branch, f->count + 1);
    int64_t at = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < f->count; i++)
            if ((f->nodes[i].mode == LEAF) == (pass == 1)) {
                f->leaves += pass;
                to[i] = at;
                sorted[at++] = f->nodes[i];
            }
    for (int64_t i = 0; i < f->count; i++) {
        branch *b = &sorted[i];

        b->yes = b->mode == LEAF ? i : to[b->yes];
        b->no = b->mode == LEAF ? i : to[b->no];
    }
    for (int64_t i = 0; i < f->n_roots; i++)
        f->roots[i] = to[f->roots[i]];
    for (int64_t i = 0; i < f->n_votes; i++)
        f->votes[i].node = to[f->votes[i].node];
    f->nodes = sorted;
}

bool
forest_check(forest *f)
{
    import_node *n = f->n;
    int64_t width = ml_matrix_shape(n).at[1];

    if (f->count > 0 && f->targets > MAX_WEIGHTS / f->count)
        return import_refuse(n, "E0711",
                             "%" PRId64 " nodes with %" PRId64
                             " targets each are too many",
                             f->count, f->targets);
    f->voted = GLOW_NEW_ARRAY(import_arena(n), bool, f->targets + 1);
    for (int64_t i = 0; i < f->count; i++)
        if (f->nodes[i].mode != LEAF &&
            (f->nodes[i].feature < 0 || f->nodes[i].feature >= width))
            return import_refuse(n, "E0711",
                                 "node %" PRId64
                                 " of the trees asks for feature %" PRId64
                                 " of %" PRId64,
                                 i, f->nodes[i].feature, width);
    for (int64_t i = 0; i < f->n_votes; i++) {
        if (f->votes[i].target < 0 || f->votes[i].target >= f->targets)
            return import_refuse(n, "E0711",
                                 "weight %" PRId64 " is for %" PRId64
                                 ", which is not within 0 to %" PRId64,
                                 i, f->votes[i].target, f->targets - 1);
        f->voted[f->votes[i].target] = true;
    }
    if (f->n_roots < 1)
        return import_refuse(n, "E0711", "there is no tree");
    if (f->count > INT32_MAX / 2)
        return import_refuse(n, "E0711", "there are %" PRId64 " nodes",
                             f->count);
    if (!forest_measure(f))
        return false;
    sort_leaves(f);
    return true;
}
