/*
 * Attributes of TreeEnsembleRegressor and -Classifier: nodes by pairs of tree and
 * node id.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-translate/import/ml/forest.h"

typedef struct key {
    int64_t tree, node, at;
} key;

static int
compare(const void *a, const void *b)
{
    const key *x = a, *y = b;

    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static const key *
find(const forest *f, const key *keys, int64_t tree, int64_t node)
{
    key k = {tree, node, 0};

    return bsearch(&k, keys, (size_t)f->count, sizeof k, compare);
}

static key *
read_keys(forest *f, const int64_t *trees, const int64_t *ids)
{
    key *k = GLOW_NEW_ARRAY(import_arena(f->n), key, f->count + 1);

    for (int64_t i = 0; i < f->count; i++)
        k[i] = (key){trees[i], ids[i], i};
    glow_sort(k, (size_t)f->count, sizeof *k, compare);
    for (int64_t i = 1; i < f->count; i++)
        if (compare(&k[i - 1], &k[i]) == 0) {
            import_refuse(f->n, "E0711",
                          "tree %" PRId64 " has node %" PRId64 " twice",
                          k[i].tree, k[i].node);
            return NULL;
        }
    return k;
}

/* Finds the root of each tree: its only node without a parent. */
static bool
find_roots(forest *f, const key *keys)
{
    bool *led = GLOW_NEW_ARRAY(import_arena(f->n), bool, f->count + 1);

    f->roots = GLOW_NEW_ARRAY(import_arena(f->n), int64_t, f->count + 1);
    for (int64_t i = 0; i < f->count; i++)
        if (f->nodes[i].mode != LEAF)
            led[f->nodes[i].yes] = led[f->nodes[i].no] = true;
    for (int64_t i = 0; i < f->count;) {
        int64_t tree = keys[i].tree, found = 0;

        for (; i < f->count && keys[i].tree == tree; i++)
            if (!led[keys[i].at] && found++ == 0)
                f->roots[f->n_roots++] = keys[i].at;
        if (found != 1)
            return import_refuse(f->n, "E0711",
                                 "tree %" PRId64 " has %" PRId64
                                 " nodes that no other leads to, but 1 is due",
                                 tree, found);
    }
    return true;
}

/* The mode by its name; NEQ after a report. */
static int
mode_named(forest *f, const char *name)
{
    static const char *const words[] = {
        "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

    for (int i = 0; i <= LEAF; i++)
        if (i != MEMBER && strcmp(words[i], name) == 0)
            return i;
    import_refuse(f->n, "E0705", "a node of mode '%s' is not supported", name);
    return NEQ;
}

bool
forest_read_pairs(forest *f)
{
    import_node *n = f->n;
    glow_ints ids = import_ints(n, "nodes_nodeids");
    const int64_t *trees, *features, *yes, *no, *tracks = NULL;
    const char *const *modes;
    double *values;
    int64_t n_values;
    int n_modes;
    key *keys;

    f->count = ids.count;
    trees = forest_column(f, "nodes_treeids");
    features = forest_column(f, "nodes_featureids");
    yes = forest_column(f, "nodes_truenodeids");
    no = forest_column(f, "nodes_falsenodeids");
    if (import_has(n, "nodes_missing_value_tracks_true") &&
        import_ints(n, "nodes_missing_value_tracks_true").count)
        tracks = forest_column(f, "nodes_missing_value_tracks_true");
    import_ignore(n, "nodes_hitrates");
    import_ignore(n, "nodes_hitrates_as_tensor");
    modes = import_strings(n, "nodes_modes", &n_modes);
    values = ml_numbers(n, "nodes_values", true, &n_values);
    if (n->failed || !ml_check_count(n, "nodes_modes", n_modes, f->count) ||
        !ml_check_count(n, "nodes_values", n_values, f->count))
        return false;
    keys = read_keys(f, trees, ids.at);
    f->nodes = GLOW_NEW_ARRAY(import_arena(n), branch, f->count + 1);
    for (int64_t i = 0; i < f->count && !n->failed; i++) {
        branch *b = &f->nodes[i];
        const key *a, *c;

        *b = (branch){.mode = mode_named(f, modes[i]),
                      .feature = features[i],
                      .value = values[i],
                      .nan_is_true = tracks && tracks[i]};
        if (b->mode == LEAF)
            continue;
        a = find(f, keys, trees[i], yes[i]);
        c = find(f, keys, trees[i], no[i]);
        if (!a || !c)
            return import_refuse(n, "E0711",
                                 "node %" PRId64 " of tree %" PRId64
                                 " leads to node %" PRId64
                                 ", which the tree does not have",
                                 ids.at[i], trees[i], a ? no[i] : yes[i]);
        b->yes = a->at;
        b->no = c->at;
    }
    return !n->failed && forest_measure(f) && find_roots(f, keys);
}

/* Reads the votes of the leaves, by pairs of tree and node id. */
bool
forest_read_votes(forest *f, const char *what, const char *ids)
{
    import_node *n = f->n;
    glow_arena *a = import_arena(n);
    glow_ints trees = import_ints(n, glow_arena_printf(a, "%s_treeids", what));
    glow_ints nodes = import_ints(n, glow_arena_printf(a, "%s_nodeids", what));
    glow_ints targets = import_ints(n, ids);
    glow_ints all = import_ints(n, "nodes_treeids");
    glow_ints each = import_ints(n, "nodes_nodeids");
    const char *name = glow_arena_printf(a, "%s_weights", what);
    int64_t count;
    double *w = ml_numbers(n, name, true, &count);
    key *keys;

    if (n->failed || !ml_check_count(n, name, count, targets.count) ||
        !ml_check_count(n, "the list of trees of the weights", trees.count,
                        targets.count) ||
        !ml_check_count(n, "the list of nodes of the weights", nodes.count,
                        targets.count))
        return false;
    keys = read_keys(f, all.at, each.at);
    f->votes = GLOW_NEW_ARRAY(a, vote, count + 1);
    f->n_votes = count;
    for (int64_t i = 0; i < count && !n->failed; i++) {
        const key *k = find(f, keys, trees.at[i], nodes.at[i]);

        if (!k || f->nodes[k->at].mode != LEAF)
            return import_refuse(n, "E0711",
                                 "weight %" PRId64 " is for node %" PRId64
                                 " of tree %" PRId64 ", which is no leaf",
                                 i, nodes.at[i], trees.at[i]);
        f->votes[i] = (vote){k->at, targets.at[i], w[i]};
    }
    return !n->failed;
}
