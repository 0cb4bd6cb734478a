/*
 * Ensembles of decision trees of ai.onnx.ml, by the TreeTraversal strategy of
 * Nakandala et al., A Tensor Compiler for Unified Machine Learning Prediction
 * Serving (OSDI 2020).
 *
 * The nodes of all trees are one array, leaves last; a leaf leads to itself.
 * Position [row, tree] starts at the root, and takes a step as often as the deepest
 * tree has levels:
 *
 *     at' = x[row, feature[at]] <= value[at] ? yes[at] : no[at]
 */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/glow-translate/import/ml/ml.h"

#define MAX_LEVELS 4096
#define MAX_WEIGHTS ((int64_t)1 << 26) /* of leaves by targets */

enum { LEQ, LT, GTE, GT, EQ, NEQ, MODES, MEMBER = MODES, LEAF };

typedef struct branch {
    int mode; /* LEAF: none of the rest */
    int64_t feature;
    double value;
    bool nan_is_true;
    int64_t yes, no; /* of nodes, by number */
} branch;

typedef struct vote {
    int64_t node, target;
    double weight;
} vote;

typedef struct forest {
    import_node *n;
    branch *nodes;
    int64_t count, leaves, levels;
    int64_t *roots, n_roots;
    vote *votes;
    int64_t n_votes, targets;
    bool *voted;    /* targets that have votes */
    glow_kind kind; /* of comparisons and weights */
} forest;

/* Order and shape. */

/*
 * The height of each node, children first (Kahn's algorithm on reversed edges);
 * fails at a cycle.
 */
static bool
measure(forest *f)
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

static bool
check_forest(forest *f)
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
    if (!measure(f))
        return false;
    sort_leaves(f);
    return true;
}

/* Building. */

/* A constant of a number for each node; 0 for leaves. */
static glow_value *
indices(forest *f, int64_t (*of)(const branch *b))
{
    const glow_type *type =
        import_type(f->n, GLOW_INDEX32, GLOW_DIMS_OF(f->count));
    glow_tensor t;

    if (f->n->failed)
        return NULL;
    t = glow_tensor_new(type);
    for (int64_t i = 0; i < f->count; i++)
        glow_set_int(&t, i, of(&f->nodes[i]));
    return import_constant_of(f->n, &t);
}

static int64_t
feature_of(const branch *b)
{
    return b->mode == LEAF ? 0 : b->feature;
}

static int64_t
yes_of(const branch *b)
{
    return b->yes;
}

static int64_t
no_of(const branch *b)
{
    return b->no;
}

static int64_t
mode_of(const branch *b)
{
    return b->mode;
}

static int64_t
nan_of(const branch *b)
{
    return b->mode != LEAF && b->nan_is_true;
}

static glow_value *
take(import_node *n, glow_value *from, glow_value *at)
{
    return n->failed ? NULL : BUILD(n, gather, GLOW_IN(from, at), .axis = 0);
}

/* The comparison of a mode. */
static glow_value *
compared(import_node *n, int mode, glow_value *x, glow_value *v)
{
    switch (mode) {
    case LEQ:
        return import_binary(n, &glow_op_cmplte, x, v);
    case LT:
        return import_binary(n, &glow_op_cmplt, x, v);
    case GTE:
        return import_binary(n, &glow_op_cmplte, v, x);
    case GT:
        return import_binary(n, &glow_op_cmplt, v, x);
    case EQ:
        return import_binary(n, &glow_op_cmpeq, x, v);
    default:
        return import_binary(n, &glow_op_cmpneq, x, v);
    }
}

/* The outcome of the comparisons of nodes `at`, of x with thresholds v. */
static glow_value *
verdict(forest *f, glow_value *x, glow_value *v, glow_value *at,
        glow_value *modes)
{
    import_node *n = f->n;
    glow_value *y = NULL, *mode = modes ? take(n, modes, at) : NULL;
    bool used[MODES] = {false};

    for (int64_t i = 0; i < f->count; i++)
        if (f->nodes[i].mode != LEAF)
            used[f->nodes[i].mode] = true;
    for (int m = 0; m < MODES && !n->failed; m++) {
        glow_value *one, *is;

        if (!used[m])
            continue;
        one = compared(n, m, x, v);
        if (!y || n->failed) {
            y = one;
            continue;
        }
        is = import_constant_splat(n, GLOW_INDEX32, mode->type->shape, m, m);
        is = import_binary(n, &glow_op_cmpeq, mode, is);
        y = n->failed ? NULL : BUILD_PLAIN(n, select, GLOW_IN(is, one, y));
    }
    return y;
}

/* Positions [N, T] among the nodes after all steps. */
static glow_value *
walked(forest *f, glow_value *x)
{
    import_node *n = f->n;
    glow_dims s = GLOW_DIMS_OF(import_shape(x).at[0], f->n_roots);
    double *values = GLOW_NEW_ARRAY(import_arena(n), double, f->count);
    glow_value *at, *feature, *value, *yes, *no, *modes, *nans = NULL;
    bool mixed = false, tracks = false;
    int first = -1;

    for (int64_t i = 0; i < f->count; i++) {
        const branch *b = &f->nodes[i];

        values[i] = b->mode == LEAF ? 0 : b->value;
        if (b->mode == LEAF)
            continue;
        first = first < 0 ? b->mode : first;
        mixed |= b->mode != first;
        tracks |= b->nan_is_true;
    }
    at = import_constant_ints(n, GLOW_DIMS_OF(1, f->n_roots), f->roots);
    at = import_convert(n, at, GLOW_INDEX32);
    at = import_broadcast(n, at, s);
    if (f->levels == 0)
        return at;
    feature = indices(f, feature_of);
    value = ml_floats(n, f->kind, GLOW_DIMS_OF(f->count), values);
    yes = indices(f, yes_of);
    no = indices(f, no_of);
    modes = mixed ? indices(f, mode_of) : NULL;
    if (tracks)
        nans = import_convert(n, indices(f, nan_of), GLOW_BOOL);
    for (int64_t i = 0; i < f->levels && !n->failed; i++) {
        glow_value *which = take(n, feature, at), *seen, *is, *a, *b;

        seen = n->failed ? NULL
                         : BUILD(n, gather, GLOW_IN(x, which), .axis = 1,
                                 .batch_dims = 1);
        is = verdict(f, seen, take(n, value, at), at, modes);
        if (nans && !n->failed) {
            glow_value *lost = BUILD_PLAIN(n, isnan, GLOW_IN(seen));

            lost = import_binary(n, &glow_op_and, lost, take(n, nans, at));
            is = import_binary(n, &glow_op_or, is, lost);
        }
        a = take(n, yes, at);
        b = take(n, no, at);
        at = n->failed ? NULL : BUILD_PLAIN(n, select, GLOW_IN(is, a, b));
    }
    return at;
}

/* Aggregation of leaves: sums, minima or maxima. */

enum { AVERAGE, SUM, MIN, MAX };

/*
 * Weights [leaves, E], `otherwise` where a leaf has none; *has is true where it
 * has.
 */
static double *
weights(const forest *f, int how, double otherwise, bool **has)
{
    glow_arena *a = import_arena(f->n);
    int64_t size = f->leaves * f->targets, first = f->count - f->leaves;
    double *w = GLOW_NEW_ARRAY(a, double, size);

    *has = GLOW_NEW_ARRAY(a, bool, size);
    for (int64_t i = 0; i < size; i++)
        w[i] = otherwise;
    for (int64_t i = 0; i < f->n_votes; i++) {
        const vote *v = &f->votes[i];
        int64_t at = (v->node - first) * f->targets + v->target;

        if (!(*has)[at] || (how == MIN && v->weight < w[at]) ||
            (how == MAX && v->weight > w[at]))
            w[at] = v->weight;
        else if (how == SUM || how == AVERAGE)
            w[at] += v->weight;
        (*has)[at] = true;
    }
    return w;
}

/* Reduces rows of a table [leaves, E] over the trees: [N, E]. */
static glow_value *
reduced(forest *f, const glow_op *op, glow_kind kind, const double *table,
        glow_value *leaf)
{
    import_node *n = f->n;
    glow_value *t =
        ml_floats(n, kind, GLOW_DIMS_OF(f->leaves, f->targets), table);

    t = take(n, t, leaf);
    return n->failed ? NULL
                     : import_build(n, op, NULL, GLOW_IN(t),
                                    &(const glow_reduce){GLOW_DIMS_OF(1)});
}

/* [N, E] of 1 where a reached leaf has a weight for a target, else 0. */
static glow_value *
presence(forest *f, const bool *has, glow_value *leaf)
{
    int64_t size = f->leaves * f->targets;
    double *one = GLOW_NEW_ARRAY(import_arena(f->n), double, size);
    bool all = true;

    for (int64_t i = 0; i < size; i++) {
        one[i] = has[i];
        all &= has[i];
    }
    return all ? NULL
               : reduced(f, &glow_op_batchedreducemax, GLOW_FLOAT, one, leaf);
}

/*
 * The aggregate of all trees, [N, E].  Sets *present to `presence`; NULL if all
 * leaves have all weights.
 */
static glow_value *
aggregated(forest *f, int how, glow_value **present)
{
    import_node *n = f->n;
    glow_value *x = ml_matrix(n, f->kind), *leaf, *y, *first;
    double otherwise = how == MIN ? INFINITY : how == MAX ? -INFINITY : 0;
    bool *has;
    double *w;

    if (n->failed || !x)
        return NULL;
    leaf = walked(f, x);
    if (n->failed)
        return NULL;
    first = import_constant_splat(n, GLOW_INDEX32, leaf->type->shape,
                                  (double)(f->count - f->leaves),
                                  f->count - f->leaves);
    leaf = import_binary(n, &glow_op_sub, leaf, first);
    w = weights(f, how, otherwise, &has);
    *present = presence(f, has, leaf);
    y = reduced(f,
                how == MIN   ? &glow_op_batchedreducemin
                : how == MAX ? &glow_op_batchedreducemax
                             : &glow_op_batchedreduceadd,
                f->kind, w, leaf);
    if (how == AVERAGE)
        y = import_binary_number(n, &glow_op_div, y, (double)f->n_roots);
    if (*present && (how == MIN || how == MAX) && !n->failed) {
        glow_value *none = import_splat(n, f->kind, y->type->shape, 0);
        glow_value *is = import_convert(n, *present, GLOW_BOOL);

        y = n->failed ? NULL : BUILD_PLAIN(n, select, GLOW_IN(is, y, none));
    }
    return y;
}

/* TreeEnsembleRegressor and -Classifier: nodes by pairs of tree and node id. */

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

/* A list of integers, one for each node. */
static const int64_t *
column(forest *f, const char *name)
{
    glow_ints l = import_ints(f->n, name);

    return ml_check_count(f->n, name, l.count, f->count) ? l.at : NULL;
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

static bool
read_pairs(forest *f)
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
    trees = column(f, "nodes_treeids");
    features = column(f, "nodes_featureids");
    yes = column(f, "nodes_truenodeids");
    no = column(f, "nodes_falsenodeids");
    if (import_has(n, "nodes_missing_value_tracks_true") &&
        import_ints(n, "nodes_missing_value_tracks_true").count)
        tracks = column(f, "nodes_missing_value_tracks_true");
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
    return !n->failed && measure(f) && find_roots(f, keys);
}

/* Reads the votes of the leaves, by pairs of tree and node id. */
static bool
read_votes(forest *f, const char *what, const char *ids)
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

/* TreeEnsemble: branches and leaves in separate lists, by position. */

/* A tensor attribute that is required. */
static const glow_tensor *
tensor_of(forest *f, const char *name)
{
    const glow_tensor *t = ml_tensor(f->n, name);

    if (!t && !f->n->failed)
        import_refuse(f->n, "E0710", "%s is missing", name);
    return t;
}

/* Elements of one node's set in membership_values, up to a NaN. */
static int64_t
set_size(const glow_tensor *members, int64_t from)
{
    int64_t count = members ? glow_type_count(members->type) : 0, i = from;

    while (i < count && !isnan(glow_get_double(members, i)))
        i++;
    return i - from;
}

/*
 * Expands node `at`, a set membership, to a chain of comparisons; new nodes are
 * at `*more`, which is advanced.
 */
static void
expand_set(forest *f, int64_t at, const glow_tensor *members, int64_t from,
           int64_t size, int64_t *more)
{
    branch b = f->nodes[at];

    b.mode = EQ;
    b.value = NAN;
    f->nodes[at] = b;
    for (int64_t i = 0; i < size; i++) {
        f->nodes[at] = b;
        f->nodes[at].value = glow_get_double(members, from + i);
        if (i + 1 < size)
            f->nodes[at].no = *more;
        at = i + 1 < size ? (*more)++ : at;
    }
}

/*
 * The position of child `id` of node i: a branch, or a leaf, which follow all
 * `branches`.
 */
static int64_t
child(forest *f, int64_t i, int64_t id, int64_t is_leaf, int64_t branches,
      int64_t leaves)
{
    int64_t count = is_leaf ? leaves : branches;

    if (id < 0 || id >= count) {
        import_refuse(f->n, "E0711",
                      "node %" PRId64 " leads to %s %" PRId64 " of %" PRId64, i,
                      is_leaf ? "leaf" : "node", id, count);
        return 0;
    }
    return is_leaf ? branches + id : id;
}

static bool
read_positions(forest *f)
{
    import_node *n = f->n;
    glow_ints features = import_ints(n, "nodes_featureids"), roots, targets;
    const int64_t *yes, *no, *yes_leaf, *no_leaf, *tracks = NULL;
    const glow_tensor *modes, *splits, *w, *members;
    int64_t count = features.count, leaves, more, from = 0, sets = 0;

    f->count = count;
    yes = column(f, "nodes_truenodeids");
    no = column(f, "nodes_falsenodeids");
    yes_leaf = column(f, "nodes_trueleafs");
    no_leaf = column(f, "nodes_falseleafs");
    if (import_has(n, "nodes_missing_value_tracks_true"))
        tracks = column(f, "nodes_missing_value_tracks_true");
    import_ignore(n, "nodes_hitrates");
    modes = tensor_of(f, "nodes_modes");
    splits = tensor_of(f, "nodes_splits");
    w = tensor_of(f, "leaf_weights");
    members = ml_tensor(n, "membership_values");
    targets = import_ints(n, "leaf_targetids");
    roots = import_ints(n, "tree_roots");
    if (n->failed ||
        !ml_check_count(n, "nodes_modes", glow_type_count(modes->type),
                        count) ||
        !ml_check_count(n, "nodes_splits", glow_type_count(splits->type),
                        count) ||
        !ml_check_count(n, "leaf_weights", glow_type_count(w->type),
                        targets.count))
        return false;
    leaves = targets.count;
    sets = members ? glow_type_count(members->type) : 0;
    more = count + leaves;
    f->nodes = GLOW_NEW_ARRAY(import_arena(n), branch, more + sets + 1);
    for (int64_t i = count; i < more; i++)
        f->nodes[i].mode = LEAF;
    for (int64_t i = 0; i < count && !n->failed; i++) {
        int64_t mode = glow_get_int(modes, i);

        if (mode < 0 || mode > MEMBER)
            return import_refuse(n, "E0705",
                                 "node %" PRId64 " of mode %" PRId64
                                 " is not supported, but 0 to %d",
                                 i, mode, MEMBER);
        f->nodes[i] = (branch){
            .mode = (int)mode,
            .feature = features.at[i],
            .value = glow_get_double(splits, i),
            .nan_is_true = tracks && tracks[i],
            .yes = child(f, i, yes[i], yes_leaf[i], count, leaves),
            .no = child(f, i, no[i], no_leaf[i], count, leaves),
        };
        if (mode == MEMBER) {
            int64_t size = set_size(members, from);

            expand_set(f, i, members, from, size, &more);
            from += size + (from + size < sets);
        }
    }
    f->count = more;
    f->n_roots = roots.count;
    f->roots = GLOW_NEW_ARRAY(import_arena(n), int64_t, roots.count + 1);
    for (int64_t i = 0; i < roots.count && !n->failed; i++)
        f->roots[i] = child(f, i, roots.at[i], 0, count, leaves);
    f->n_votes = leaves;
    f->votes = GLOW_NEW_ARRAY(import_arena(n), vote, leaves + 1);
    for (int64_t i = 0; i < leaves; i++)
        f->votes[i] = (vote){count + i, targets.at[i], glow_get_double(w, i)};
    return !n->failed;
}

static bool
ensemble(import_node *n)
{
    forest f = {.n = n, .targets = import_int(n, "n_targets", 1, 1, INT32_MAX)};
    int how = (int)import_int(n, "aggregate_function", 1, 0, 3);
    int transform = (int)import_int(n, "post_transform", 0, 0, 4);
    glow_value *x = import_in(n, 0), *y, *present = NULL;

    if (!import_operands(n, 1, 1))
        return false;
    if (!glow_is_float(x->type->elem))
        return import_refuse(n, "E0711",
                             "the elements are %s, but must be "
                             "floats",
                             glow_kind_get(x->type->elem)->name);
    f.kind = x->type->elem == GLOW_FLOAT64 ? GLOW_FLOAT64 : GLOW_FLOAT;
    if (!ml_matrix(n, f.kind) || !read_positions(&f) || !check_forest(&f))
        return false;
    y = aggregated(&f, how, &present);
    y = ml_transformed(n, y, (ml_transform)transform);
    return import_done(n, import_convert(n, y, x->type->elem));
}

/* float, or float64 if X or a tensor attribute is. */
static glow_kind
kind_of(import_node *n)
{
    return import_in(n, 0)->type->elem == GLOW_FLOAT ? GLOW_FLOAT
                                                     : GLOW_FLOAT64;
}

/* Base values: none, or one for each target. */
static glow_value *
based(forest *f, glow_value *y, const double *base, int64_t count)
{
    import_node *n = f->n;

    if (n->failed || count == 0)
        return y;
    if (!ml_check_count(n, "base_values", count, f->targets))
        return NULL;
    return import_binary(
        n, &glow_op_add, y,
        ml_floats(n, f->kind, GLOW_DIMS_OF(1, f->targets), base));
}

static bool
regressor(import_node *n)
{
    static const char *const words[] = {"AVERAGE", "SUM", "MIN", "MAX", NULL};
    int how = import_word(n, "aggregate_function", "SUM", words);
    forest f = {.n = n, .targets = import_int(n, "n_targets", 1, 1, INT32_MAX)};
    ml_transform transform = ml_read_transform(n);
    int64_t n_base;
    double *base = ml_numbers(n, "base_values", true, &n_base);
    glow_value *y, *present = NULL;

    if (!import_operands(n, 1, 1) || !ml_matrix(n, GLOW_FLOAT))
        return false;
    f.kind = kind_of(n);
    if (!read_pairs(&f) || !read_votes(&f, "target", "target_ids") ||
        !check_forest(&f))
        return false;
    y = aggregated(&f, how, &present);
    y = based(&f, y, base, n_base);
    y = import_convert(n, y, GLOW_FLOAT);
    return import_done(n, ml_transformed(n, y, transform));
}

/* Binary classification in which only one class has votes. */
static bool
one_sided(forest *f, ml_labels labels, glow_value *y, ml_transform how,
          const double *base, int64_t n_base)
{
    import_node *n = f->n;
    bool first = f->voted[0], positive = true;
    glow_value *s, *least;

    for (int64_t i = 0; i < f->n_votes; i++)
        positive &= f->votes[i].weight >= 0;
    s = import_cut(n, y, 1, first ? 0 : 1, 1);
    if (n_base == 1)
        s = import_binary_number(n, &glow_op_add, s, base[0]);
    if (n->failed)
        return false;
    least = import_splat(n, f->kind, s->type->shape, positive ? 0.5 : 0);
    least = import_binary(n, &glow_op_cmplt, least, s);
    s = import_convert(n, s, GLOW_FLOAT);
    y = import_convert(n, y, GLOW_FLOAT);
    if (n->n_out > 1)
        n->out[1] =
            first ? ml_two_classes(n, s, how, positive && how != ML_LOGISTIC)
                  : ml_transformed(n, y, how);
    return ml_give_labels(n, labels, ml_as_class(n, least));
}

static bool
classifier(import_node *n)
{
    forest f = {.n = n};
    ml_transform how = ml_read_transform(n);
    int64_t n_base;
    double *base = ml_numbers(n, "base_values", true, &n_base);
    ml_labels labels;
    glow_value *y, *best, *present = NULL;

    if (!import_operands(n, 1, 1) || !ml_matrix(n, GLOW_FLOAT))
        return false;
    labels = ml_read_labels(n, "classlabels_int64s", "classlabels_strings");
    f.kind = kind_of(n);
    f.targets = labels.count;
    if (n->failed || !read_pairs(&f) || !read_votes(&f, "class", "class_ids") ||
        !check_forest(&f))
        return false;
    y = aggregated(&f, SUM, &present);
    if (n->failed)
        return false;
    if (f.targets == 2 && f.voted[0] != f.voted[1] && n_base <= f.voted[0])
        return one_sided(&f, labels, y, how, base, n_base);
    y = based(&f, y, base, n_base);
    best = y;
    /* A class without votes from reached leaves is never chosen. */
    if (present && n_base == 0 && !n->failed) {
        glow_value *is = import_convert(n, present, GLOW_BOOL);
        glow_value *never =
            import_constant_splat(n, f.kind, y->type->shape, -INFINITY, 0);

        best = n->failed ? NULL : BUILD_PLAIN(n, select, GLOW_IN(is, y, never));
    }
    y = import_convert(n, y, GLOW_FLOAT);
    if (n->n_out > 1)
        n->out[1] = ml_transformed(n, y, how);
    return ml_give_labels(n, labels, ml_greatest(n, best));
}

const import_row import_ml_tree_rows[] = {
    {"ai.onnx.ml.TreeEnsemble", 5, 0, ensemble, NULL,
     "floats; of one target PROBIT alone is applied"},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, 0, classifier, NULL,
     "numbers, to float; string labels only where nobody reads them"},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, 0, regressor, NULL,
     "numbers, to float; of one target PROBIT alone is applied"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
