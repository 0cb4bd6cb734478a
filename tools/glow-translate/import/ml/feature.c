/*
 * Feature operators of ai.onnx.ml: extraction, scaling, imputation, one-hot
 * encoding, and LabelEncoder by binary search.
 */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tools/glow-translate/import/ml/ml.h"

/* ArrayFeatureExtractor: columns of the last axis; a list is one row. */
static bool
array_feature_extractor(import_node *n)
{
    glow_value *x = import_in(n, 0), *y = import_in(n, 1);

    if (!import_operands(n, 2, 2))
        return false;
    if (x->type->shape.rank < 1)
        return import_refuse(n, "E0711", "the operand is a scalar");
    if (x->type->shape.rank == 1)
        x = import_reshape(n, x, ml_matrix_shape(n));
    y = import_reshape(n, y, GLOW_DIMS_OF(glow_dims_count(y->type->shape)));
    if (n->failed)
        return false;
    return import_done(
        n, BUILD(n, gather, GLOW_IN(x, y), .axis = x->type->shape.rank - 1));
}

static bool
binarizer(import_node *n)
{
    float threshold = import_float(n, "threshold", 0);
    glow_value *x = import_in(n, 0), *y, *least;

    if (!import_operands(n, 1, 1))
        return false;
    y = glow_is_float(x->type->elem) ? x : import_convert(n, x, GLOW_FLOAT64);
    if (n->failed)
        return false;
    least = import_splat(n, y->type->elem, y->type->shape, (double)threshold);
    y = import_binary(n, &glow_op_cmplt, least, y);
    return import_done(n, import_convert(n, y, x->type->elem));
}

/*
 * A list attribute of one number, or of one for each element of the last axis,
 * broadcast to `shape`.
 */
static glow_value *
each(import_node *n, const char *name, double otherwise, glow_dims shape)
{
    int64_t count;
    double *at = ml_numbers(n, name, false, &count);
    int64_t due = shape.rank ? shape.at[shape.rank - 1] : 1;

    if (count == 0)
        return ml_floats(n, GLOW_FLOAT, GLOW_DIMS_OF(1), &otherwise);
    if (n->failed || (count != 1 && !ml_check_count(n, name, count, due)))
        return NULL;
    return ml_floats(n, GLOW_FLOAT, GLOW_DIMS_OF(count), at);
}

static bool
scaler(import_node *n)
{
    glow_value *x = import_in(n, 0), *offset, *scale;

    if (!import_operands(n, 1, 1))
        return false;
    offset = each(n, "offset", 0, x->type->shape);
    scale = each(n, "scale", 1, x->type->shape);
    x = import_convert(n, x, GLOW_FLOAT);
    x = import_binary(n, &glow_op_sub, x, offset);
    return import_done(n, import_binary(n, &glow_op_mul, x, scale));
}

/* Normalizer: rows divided by their maximum, L1 norm or L2 norm. */
static bool
normalizer(import_node *n)
{
    static const char *const words[] = {"MAX", "L1", "L2", NULL};
    int how = import_word(n, "norm", "MAX", words);
    glow_value *x, *by, *zero, *one;
    glow_dims s;

    if (!import_operands(n, 1, 1))
        return false;
    x = ml_matrix(n, GLOW_FLOAT);
    if (n->failed)
        return false;
    by = how == 1   ? BUILD_PLAIN(n, abs, GLOW_IN(x))
         : how == 2 ? import_binary(n, &glow_op_mul, x, x)
                    : x;
    if (n->failed)
        return false;
    by = how ? BUILD(n, batchedreduceadd, GLOW_IN(by), .axes = GLOW_DIMS_OF(1))
             : BUILD(n, batchedreducemax, GLOW_IN(by), .axes = GLOW_DIMS_OF(1));
    if (how == 2 && !n->failed)
        by = BUILD_PLAIN(n, sqrt, GLOW_IN(by));
    if (n->failed)
        return false;
    s = by->type->shape;
    zero = import_splat(n, GLOW_FLOAT, s, 0);
    one = import_splat(n, GLOW_FLOAT, s, 1);
    zero = import_binary(n, &glow_op_cmpeq, by, zero);
    by = BUILD_PLAIN(n, select, GLOW_IN(zero, one, by));
    by = import_reshape(n, by, GLOW_DIMS_OF(s.at[0], 1));
    x = import_binary(n, &glow_op_div, x, by);
    return import_done(n, import_reshape(n, x, import_shape(import_in(n, 0))));
}

/* Imputer: one value replaced by another, or by one for each column. */
static bool
imputer(import_node *n)
{
    glow_value *x = import_in(n, 0), *to, *hit;
    bool is_float;
    glow_ints ints = import_ints(n, "imputed_value_int64s");
    float from = import_float(n, "replaced_value_float", 0);
    int64_t from_int =
        import_int(n, "replaced_value_int64", 0, INT64_MIN, INT64_MAX);

    if (!import_operands(n, 1, 1))
        return false;
    is_float = glow_is_float(x->type->elem);
    if (is_float ? !import_has(n, "imputed_value_floats") : !ints.count)
        return import_refuse(n, "E0710", "%s is missing",
                             is_float ? "imputed_value_floats"
                                      : "imputed_value_int64s");
    if (is_float) {
        to = each(n, "imputed_value_floats", 0, x->type->shape);
    } else {
        int rank = x->type->shape.rank;

        import_ignore(n, "imputed_value_floats");
        if (ints.count != 1 &&
            !ml_check_count(n, "imputed_value_int64s", ints.count,
                            rank ? x->type->shape.at[rank - 1] : 1))
            return false;
        to = import_constant_ints(n, GLOW_DIMS_OF(ints.count), ints.at);
    }
    to = import_convert(n, to, x->type->elem);
    to = import_broadcast(n, to, x->type->shape);
    if (n->failed)
        return false;
    if (is_float && isnan(from)) {
        hit = BUILD_PLAIN(n, isnan, GLOW_IN(x));
    } else {
        hit = import_constant_splat(n, x->type->elem, x->type->shape,
                                    is_float ? (double)from : (double)from_int,
                                    from_int);
        hit = import_binary(n, &glow_op_cmpeq, x, hit);
    }
    return import_done(
        n, n->failed ? NULL : BUILD_PLAIN(n, select, GLOW_IN(hit, to, x)));
}

/* FeatureVectorizer: matrices concatenated, in float. */
static bool
feature_vectorizer(import_node *n)
{
    glow_ints sizes = import_ints(n, "inputdimensions");
    glow_value **all;

    if (!import_operands(n, 1, INT32_MAX))
        return false;
    if (sizes.count &&
        !ml_check_count(n, "inputdimensions", sizes.count, n->n_in))
        return false;
    all = GLOW_NEW_ARRAY(import_arena(n), glow_value *, n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        glow_dims s = import_shape(n->in[i]);

        if (!n->in[i] || s.rank < 1 || s.rank > 2)
            return import_refuse(n, "E0711",
                                 "the rank of operand %d is %d, but must be 1 "
                                 "or 2",
                                 i, s.rank);
        if (s.rank == 1)
            s = GLOW_DIMS_OF(1, s.at[0]);
        if (sizes.count && sizes.at[i] != s.at[1])
            return import_refuse(n, "E0711",
                                 "operand %d has %" PRId64
                                 " columns, but inputdimensions says %" PRId64,
                                 i, s.at[1], sizes.at[i]);
        all[i] = import_reshape(n, n->in[i], s);
        all[i] = import_convert(n, all[i], GLOW_FLOAT);
    }
    return import_done(n, n->failed
                              ? NULL
                              : import_build(n, &glow_op_concat, NULL, all,
                                             n->n_in, &(const glow_concat){1}));
}

/*
 * OneHotEncoder: a new axis with 1 where x, as an integer, is the category.  An
 * unlisted category gives zeros, whatever `zeros` is, since nothing can fail at
 * run time.
 */
static bool
one_hot_encoder(import_node *n)
{
    glow_ints cats = import_ints(n, "cats_int64s");
    glow_value *x = import_in(n, 0), *keys;
    glow_dims s;

    import_flag(n, "zeros", true);
    if (!import_operands(n, 1, 1) || !ml_no_strings(n, "cats_strings"))
        return false;
    if (cats.count < 1)
        return import_refuse(n, "E0710", "cats_int64s is missing");
    s = x->type->shape;
    if (s.rank == GLOW_MAX_RANK)
        return import_refuse(n, "E0711", "the rank of the operand is %d",
                             s.rank);
    s.at[s.rank++] = 1;
    x = import_convert(n, x, GLOW_INDEX64);
    x = import_reshape(n, x, s);
    keys = import_constant_ints(n, GLOW_DIMS_OF(cats.count), cats.at);
    x = import_binary(n, &glow_op_cmpeq, x, keys);
    return import_done(n, import_convert(n, x, GLOW_FLOAT));
}

/* LabelEncoder: keys in ascending order, and a binary search. */

typedef struct entry {
    double key; /* of floats */
    int64_t exact;
    int64_t at; /* in the attribute */
    bool is_float;
} entry;

static int
compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->is_float ? x->key != y->key : x->exact != y->exact)
        return (x->is_float ? x->key < y->key : x->exact < y->exact) ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/*
 * The keys or values of the table: a list of floats or integers, or a tensor;
 * or NULL.
 */
static const glow_tensor *
side(import_node *n, const char *what)
{
    glow_arena *a = import_arena(n);
    const char *floats = glow_arena_printf(a, "%s_floats", what);
    const char *ints = glow_arena_printf(a, "%s_int64s", what);
    const char *tensor = glow_arena_printf(a, "%s_tensor", what);
    glow_floats f;
    glow_ints l;
    glow_tensor *t;
    int given =
        import_has(n, floats) + import_has(n, ints) + import_has(n, tensor);

    if (!ml_no_strings(n, glow_arena_printf(a, "%s_strings", what)))
        return NULL;
    if (given != 1) {
        import_refuse(n, "E0710", "%d of %s, %s and %s are given, but 1 is due",
                      given, floats, ints, tensor);
        return NULL;
    }
    if (import_has(n, tensor))
        return ml_tensor(n, tensor);
    f = import_floats(n, floats);
    l = import_ints(n, ints);
    t = GLOW_NEW(a, glow_tensor);
    t->type = import_type(n, f.count ? GLOW_FLOAT : GLOW_INDEX64,
                          GLOW_DIMS_OF(f.count ? f.count : l.count));
    t->data = glow_arena_alloc(a, (size_t)glow_type_bytes(t->type));
    for (int64_t i = 0; i < f.count; i++)
        glow_set_double(t, i, (double)f.at[i]);
    for (int64_t i = 0; i < l.count; i++)
        glow_set_int(t, i, l.at[i]);
    return t;
}

/*
 * Sorted keys without duplicates; the position of the key NaN is set in `*nan`.
 */
static entry *
sorted(import_node *n, const glow_tensor *keys, int64_t *count, int64_t *nan)
{
    bool is_float = glow_is_float(keys->type->elem);
    bool last = n->opset >= 4; /* before, the first of equal keys counts */
    entry *e = GLOW_NEW_ARRAY(import_arena(n), entry, *count + 1);
    int64_t kept = 0, out = 0;

    *nan = -1;
    for (int64_t i = 0; i < *count; i++) {
        entry one = {.at = i, .is_float = is_float};

        if (is_float)
            one.key = glow_get_double(keys, i);
        else
            one.exact = glow_get_int(keys, i);
        if (is_float && isnan(one.key))
            *nan = last || *nan < 0 ? i : *nan;
        else
            e[kept++] = one;
    }
    glow_sort(e, (size_t)kept, sizeof *e, compare);
    for (int64_t i = 0; i < kept; i++) {
        bool again = out > 0 && (is_float ? e[out - 1].key == e[i].key
                                          : e[out - 1].exact == e[i].exact);

        if (!again)
            e[out++] = e[i];
        else if (last)
            e[out - 1] = e[i];
    }
    *count = out;
    return e;
}

/*
 * Branchless binary search: the position of the last of `count` sorted keys
 * that is at most x.
 */
static glow_value *
search(import_node *n, glow_value *x, glow_value *keys, int64_t count)
{
    int64_t span = 1;
    glow_value *lo, *mid, *above, *top;

    lo = import_constant_splat(n, GLOW_INDEX64, x->type->shape, 0, 0);
    top = import_constant_splat(n, GLOW_INDEX64, x->type->shape,
                                (double)(count - 1), count - 1);
    while (span < count)
        span *= 2;
    for (span /= 2; span > 0 && !n->failed; span /= 2) {
        glow_value *step = import_constant_splat(
            n, GLOW_INDEX64, x->type->shape, (double)span, span);

        mid = import_binary(n, &glow_op_add, lo, step);
        mid = import_binary(n, &glow_op_min, mid, top);
        if (n->failed)
            break;
        above = BUILD(n, gather, GLOW_IN(keys, mid), .axis = 0);
        above = import_binary(n, &glow_op_cmplte, above, x);
        lo = BUILD_PLAIN(n, select, GLOW_IN(above, mid, lo));
    }
    return lo;
}

static glow_value *
default_value(import_node *n, const glow_tensor *values)
{
    const glow_tensor *t = ml_tensor(n, "default_tensor");
    float f = import_float(n, "default_float", -0.0f);
    int64_t i = import_int(n, "default_int64", -1, INT64_MIN, INT64_MAX);
    bool is_float = glow_is_float(values->type->elem);

    import_ignore(n, "default_string");
    if (t && (glow_type_count(t->type) != 1 ||
              t->type->elem != values->type->elem)) {
        import_refuse(n, "E0710",
                      "default_tensor is not one element of the values' kind");
        return NULL;
    }
    return import_constant_splat(n, values->type->elem, (glow_dims){0},
                                 t          ? glow_get_double(t, 0)
                                 : is_float ? (double)f
                                            : (double)i,
                                 t && !is_float ? glow_get_int(t, 0) : i);
}

/* Element `at` of the values, broadcast. */
static glow_value *
value_at(import_node *n, const glow_tensor *values, int64_t at)
{
    return import_constant_splat(
        n, values->type->elem, (glow_dims){0}, glow_get_double(values, at),
        glow_is_int(values->type->elem) ? glow_get_int(values, at) : 0);
}

static glow_value *
encoded(import_node *n, glow_value *x, const glow_tensor *keys,
        const glow_tensor *values)
{
    int64_t count = glow_type_count(keys->type), nan;
    entry *e = sorted(n, keys, &count, &nan);
    glow_value *otherwise =
        import_broadcast(n, default_value(n, values), x->type->shape);
    glow_value *y = otherwise, *hit, *at;
    glow_tensor k, v;

    if (n->failed)
        return NULL;
    if (count) {
        k = glow_tensor_new(
            import_type(n, keys->type->elem, GLOW_DIMS_OF(count)));
        v = glow_tensor_new(
            import_type(n, values->type->elem, GLOW_DIMS_OF(count)));
        for (int64_t i = 0; i < count; i++) {
            if (e[i].is_float)
                glow_set_double(&k, i, e[i].key);
            else
                glow_set_int(&k, i, e[i].exact);
            if (glow_is_float(values->type->elem))
                glow_set_double(&v, i, glow_get_double(values, e[i].at));
            else
                glow_set_int(&v, i, glow_get_int(values, e[i].at));
        }
        glow_value *sorted_keys = import_constant_of(n, &k);
        glow_value *sorted_values = import_constant_of(n, &v);

        at = search(n, x, sorted_keys, count);
        if (n->failed)
            return NULL;
        hit = BUILD(n, gather, GLOW_IN(sorted_keys, at), .axis = 0);
        hit = import_binary(n, &glow_op_cmpeq, hit, x);
        y = BUILD(n, gather, GLOW_IN(sorted_values, at), .axis = 0);
        y = n->failed ? NULL
                      : BUILD_PLAIN(n, select, GLOW_IN(hit, y, otherwise));
    }
    if (nan < 0 || n->failed)
        return y;
    hit = BUILD_PLAIN(n, isnan, GLOW_IN(x));
    at = import_broadcast(n, value_at(n, values, nan), x->type->shape);
    return n->failed ? NULL : BUILD_PLAIN(n, select, GLOW_IN(hit, at, y));
}

static bool
label_encoder(import_node *n)
{
    glow_value *x = import_in(n, 0);
    const glow_tensor *keys, *values;

    if (!import_operands(n, 1, 1))
        return false;
    keys = side(n, "keys");
    values = n->failed ? NULL : side(n, "values");
    if (n->failed || !keys || !values)
        return false;
    if (!ml_check_count(n, "values", glow_type_count(values->type),
                        glow_type_count(keys->type)))
        return false;
    if (x->type->elem != keys->type->elem)
        return import_refuse(n, "E0711", "the elements are %s, but the keys %s",
                             glow_kind_get(x->type->elem)->name,
                             glow_kind_get(keys->type->elem)->name);
    return import_done(n, encoded(n, x, keys, values));
}

/* ZipMap: the values of the maps, a column for each key. */
static bool
zip_map(import_node *n)
{
    glow_value *x = import_in(n, 0);
    ml_labels keys;

    if (!import_operands(n, 1, 1))
        return false;
    if (import_has(n, "classlabels_strings")) {
        int count;

        import_strings(n, "classlabels_strings", &count);
        keys = (ml_labels){count, NULL};
    } else {
        keys = (ml_labels){import_ints(n, "classlabels_int64s").count, NULL};
    }
    if (x->type->shape.rank != 2 && x->type->shape.rank != 1)
        return import_refuse(n, "E0711",
                             "the rank of the operand is %d, but must be 1 or "
                             "2",
                             x->type->shape.rank);
    return ml_check_count(n, "classlabels", keys.count,
                          ml_matrix_shape(n).at[1]) &&
           import_done(n, x);
}

const import_row import_ml_feature_rows[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, 0, array_feature_extractor,
     &glow_op_gather, "any"},
    {"ai.onnx.ml.Binarizer", 1, 0, binarizer, NULL, "numbers"},
    {"ai.onnx.ml.FeatureVectorizer", 1, 0, feature_vectorizer, &glow_op_concat,
     "numbers, to float"},
    {"ai.onnx.ml.Imputer", 1, 0, imputer, &glow_op_select, "numbers"},
    {"ai.onnx.ml.LabelEncoder", 2, 0, label_encoder, NULL,
     "numbers; a binary search; strings are refused"},
    {"ai.onnx.ml.Normalizer", 1, 0, normalizer, NULL,
     "numbers, to float; ranks 1 and 2"},
    {"ai.onnx.ml.OneHotEncoder", 1, 0, one_hot_encoder, NULL,
     "numbers, to float; what is no category gives zeros, whatever zeros says"},
    {"ai.onnx.ml.Scaler", 1, 0, scaler, NULL, "numbers, to float"},
    {"ai.onnx.ml.ZipMap", 1, 0, zip_map, NULL,
     "float; there are no maps: the tensor of the values is left, a column for "
     "each key"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
