/*
 * Attributes of TreeEnsemble: branches and leaves in separate lists, by position.
 */

#include <inttypes.h>
#include <math.h>

#include "tools/glow-translate/import/ml/forest.h"

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

bool
forest_read_positions(forest *f)
{
    import_node *n = f->n;
    glow_ints features = import_ints(n, "nodes_featureids"), roots, targets;
    const int64_t *yes, *no, *yes_leaf, *no_leaf, *tracks = NULL;
    const glow_tensor *modes, *splits, *w, *members;
    int64_t count = features.count, leaves, more, from = 0, sets = 0;

    f->count = count;
    yes = forest_column(f, "nodes_truenodeids");
    no = forest_column(f, "nodes_falsenodeids");
    yes_leaf = forest_column(f, "nodes_trueleafs");
    no_leaf = forest_column(f, "nodes_falseleafs");
    if (import_has(n, "nodes_missing_value_tracks_true"))
        tracks = forest_column(f, "nodes_missing_value_tracks_true");
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
