/* Scores of ai.onnx.ml: attributes, class labels, and transforms of scores. */

#include <inttypes.h>
#include <string.h>

#include "tools/glow-translate/import/ml/ml.h"
#include "tools/glow-translate/import/state.h"

glow_dims
ml_matrix_shape(const import_node *n)
{
    glow_dims s = import_shape(import_in(n, 0));

    return s.rank == 1 ? GLOW_DIMS_OF(1, s.at[0]) : s;
}

glow_value *
ml_matrix(import_node *n, glow_kind kind)
{
    glow_value *x = import_in(n, 0);
    glow_dims s = ml_matrix_shape(n);

    if (n->failed || !x)
        return NULL;
    if (s.rank != 2) {
        import_refuse(n, "E0711",
                      "the rank of the operand is %d, but must be 1 or 2",
                      s.rank);
        return NULL;
    }
    return import_convert(n, import_reshape(n, x, s), kind);
}

glow_value *
ml_floats(import_node *n, glow_kind kind, glow_dims shape, const double *at)
{
    const glow_type *type = import_type(n, kind, shape);
    glow_tensor t;

    if (n->failed)
        return NULL;
    t = glow_tensor_new(type);
    for (int64_t i = 0; i < glow_type_count(type); i++)
        glow_set_double(&t, i, at[i]);
    return import_constant_of(n, &t);
}

const glow_tensor *
ml_tensor(import_node *n, const char *name)
{
    const Onnx__TensorProto *p = import_tensor(n, name);
    glow_tensor t, *copy;

    if (n->failed || !p)
        return NULL;
    if (!tensor_read(&n->im->tensors, p, n->text, &t)) {
        n->failed = true;
        return NULL;
    }
    copy = GLOW_NEW(import_arena(n), glow_tensor);
    *copy = (glow_tensor){
        t.type,
        glow_arena_alloc(import_arena(n), (size_t)glow_type_bytes(t.type)),
        NULL};
    if (glow_type_bytes(t.type))
        memcpy(copy->data, t.data, (size_t)glow_type_bytes(t.type));
    glow_tensor_end(&t);
    return copy;
}

double *
ml_numbers(import_node *n, const char *name, bool as_tensor, int64_t *count)
{
    const char *tensor =
        glow_arena_printf(import_arena(n), "%s_as_tensor", name);
    const glow_tensor *t = as_tensor ? ml_tensor(n, tensor) : NULL;
    glow_floats l = import_floats(n, name);
    double *at;

    *count = t ? glow_type_count(t->type) : l.count;
    if (t && l.count)
        import_refuse(n, "E0710", "%s and %s are both given", name, tensor);
    at = GLOW_NEW_ARRAY(import_arena(n), double, *count);
    for (int64_t i = 0; i < *count && !n->failed; i++)
        at[i] = t ? glow_get_double(t, i) : (double)l.at[i];
    return at;
}

bool
ml_check_count(import_node *n, const char *name, int64_t count, int64_t due)
{
    return count == due ||
           import_refuse(n, "E0710",
                         "%s has %" PRId64 " entries, but %" PRId64 " are due",
                         name, count, due);
}

bool
ml_no_strings(import_node *n, const char *name)
{
    return !import_has(n, name) ||
           import_refuse(n, "E0705",
                         "%s is not supported: tensors of strings have no "
                         "element kind",
                         name);
}

/* Classes. */

/* True if a node or an output of the graph reads result 0. */
static bool
is_read(const import_node *n)
{
    const Onnx__GraphProto *g = n->im->graph;
    const char *name = n->n_out ? n->proto->output[0] : "";

    for (size_t i = 0; i < g->n_output; i++)
        if (*name && g->output[i]->name &&
            strcmp(g->output[i]->name, name) == 0)
            return true;
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_input; k++)
            if (*name && strcmp(g->node[i]->input[k], name) == 0)
                return true;
    return false;
}

ml_labels
ml_read_labels(import_node *n, const char *ints, const char *strings)
{
    glow_ints l = import_ints(n, ints);
    int count = 0;

    import_strings(n, strings, &count);
    if ((l.count > 0) == (count > 0)) {
        import_refuse(n, "E0710", "one of %s and %s is due", ints, strings);
        return (ml_labels){0};
    }
    if (count && is_read(n))
        ml_no_strings(n, strings);
    return (ml_labels){count ? count : l.count, count ? NULL : l.at};
}

bool
ml_give_labels(import_node *n, ml_labels labels, glow_value *at)
{
    glow_value *all;

    if (n->failed || n->n_out < 1)
        return !n->failed;
    if (!labels.at)
        return true;
    all = import_constant_ints(n, GLOW_DIMS_OF(labels.count), labels.at);
    n->out[0] = BUILD(n, gather, GLOW_IN(all, at), .axis = 0);
    return !n->failed;
}

glow_value *
ml_greatest(import_node *n, glow_value *scores)
{
    return n->failed ? NULL
                     : BUILD(n, argmax, GLOW_IN(scores), .axis = 1,
                             .keep_dims = false);
}

glow_value *
ml_as_class(import_node *n, glow_value *v)
{
    glow_dims s = import_shape(v);

    v = import_reshape(n, v, GLOW_DIMS_OF(s.at[0]));
    return import_convert(n, v, GLOW_INDEX64);
}

/* Transforms. */

ml_transform
ml_read_transform(import_node *n)
{
    static const char *const words[] = {"NONE",         "SOFTMAX", "LOGISTIC",
                                        "SOFTMAX_ZERO", "PROBIT",  NULL};

    return (ml_transform)import_word(n, "post_transform", "NONE", words);
}

static glow_value *
by(import_node *n, const glow_op *op, glow_value *v, double number)
{
    return import_binary_number(n, op, v, number);
}

/*
 * The probit function, by Winitzki's approximation of the inverse of erf: with
 * l = log(1 - x^2), a = 0.147 and v = 2 / (pi a) + l / 2,
 *
 *     erf^-1(x) = sign(x) sqrt(sqrt(v^2 - l / a) - v)
 */
static glow_value *
probit(import_node *n, glow_value *p)
{
    glow_value *x = by(n, &glow_op_sub, by(n, &glow_op_mul, p, 2), 1);
    glow_value *square = import_binary(n, &glow_op_mul, x, x);
    glow_value *l, *v, *root, *one, *sign, *zero;

    if (n->failed)
        return NULL;
    one = import_splat(n, x->type->elem, x->type->shape, 1);
    zero = import_splat(n, x->type->elem, x->type->shape, 0);
    l = import_binary(n, &glow_op_sub, one, square);
    if (n->failed)
        return NULL;
    l = BUILD_PLAIN(n, log, GLOW_IN(l));
    v = by(n, &glow_op_mul, l, 0.5);
    v = by(n, &glow_op_add, v, 2 / (3.14159 * 0.147));
    root = import_binary(n, &glow_op_mul, v, v);
    root =
        import_binary(n, &glow_op_sub, root, by(n, &glow_op_mul, l, 1 / 0.147));
    if (n->failed)
        return NULL;
    root = BUILD_PLAIN(n, sqrt, GLOW_IN(root));
    root = import_binary(n, &glow_op_sub, root, v);
    if (n->failed)
        return NULL;
    root = BUILD_PLAIN(n, sqrt, GLOW_IN(root));
    sign = import_binary(n, &glow_op_cmplt, x, zero);
    root = by(n, &glow_op_mul, root, 1.41421356237309515);
    if (n->failed)
        return NULL;
    zero = BUILD_PLAIN(n, neg, GLOW_IN(root));
    return BUILD_PLAIN(n, select, GLOW_IN(sign, zero, root));
}

/* SOFTMAX_ZERO: the softmax of nonzero scores; scores of 0 stay 0. */
static glow_value *
softmax_zero(import_node *n, glow_value *x)
{
    glow_dims s = import_shape(x), each = GLOW_DIMS_OF(s.at[0], 1);
    glow_value *most, *e, *small, *zero, *least, *sum;

    if (n->failed)
        return NULL;
    most = BUILD(n, batchedreducemax, GLOW_IN(x), .axes = GLOW_DIMS_OF(1));
    most = import_reshape(n, most, each);
    e = import_binary(n, &glow_op_sub, x, most);
    if (n->failed)
        return NULL;
    e = BUILD_PLAIN(n, exp, GLOW_IN(e));
    zero = BUILD_PLAIN(n, neg, GLOW_IN(most));
    zero = BUILD_PLAIN(n, exp, GLOW_IN(zero));
    zero = import_binary(n, &glow_op_mul, x, zero);
    if (n->failed)
        return NULL;
    small = BUILD_PLAIN(n, abs, GLOW_IN(x));
    least = import_splat(n, x->type->elem, s, 1e-7);
    small = import_binary(n, &glow_op_cmplte, small, least);
    e = BUILD_PLAIN(n, select, GLOW_IN(small, zero, e));
    sum = BUILD(n, batchedreduceadd, GLOW_IN(e), .axes = GLOW_DIMS_OF(1));
    return import_binary(n, &glow_op_div, e, import_reshape(n, sum, each));
}

glow_value *
ml_transformed(import_node *n, glow_value *scores, ml_transform how)
{
    if (n->failed || !scores || how == ML_NONE ||
        (scores->type->shape.at[1] == 1 && how != ML_PROBIT))
        return scores;
    switch (how) {
    case ML_SOFTMAX:
        return BUILD(n, softmax, GLOW_IN(scores), .axis = 1);
    case ML_LOGISTIC:
        return BUILD_PLAIN(n, sigmoid, GLOW_IN(scores));
    case ML_SOFTMAX_ZERO:
        return softmax_zero(n, scores);
    default:
        return probit(n, scores);
    }
}

glow_value *
ml_two_classes(import_node *n, glow_value *score, ml_transform how,
               bool probabilities)
{
    glow_value *other;

    if (n->failed || !score)
        return NULL;
    if (how == ML_PROBIT) {
        import_refuse(n, "E0705",
                      "post_transform PROBIT of one score for two classes is "
                      "not supported");
        return NULL;
    }
    if (probabilities)
        other = import_binary(
            n, &glow_op_sub,
            import_splat(n, score->type->elem, score->type->shape, 1), score);
    else
        other = BUILD_PLAIN(n, neg, GLOW_IN(score));
    score = BUILD(n, concat, GLOW_IN(other, score), .dim = 1);
    if (how == ML_LOGISTIC && !probabilities && !n->failed)
        score = BUILD_PLAIN(n, sigmoid, GLOW_IN(score));
    return score;
}
