/*
 * Traversal of decision trees by operators on tensors, the TreeTraversal strategy of
 * Nakandala et al., A Tensor Compiler for Unified Machine Learning Prediction
 * Serving (OSDI 2020), and the aggregate of the leaves that are reached.
 *
 * Position [row, tree] starts at the root, and takes a step as often as the deepest
 * tree has levels:
 *
 *     at' = x[row, feature[at]] <= value[at] ? yes[at] : no[at]
 */

#include <math.h>

#include "tools/glow-translate/import/ml/forest.h"

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
glow_value *
forest_aggregated(forest *f, int how, glow_value **present)
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
