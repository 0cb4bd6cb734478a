/*
 * Support vector machines of ai.onnx.ml, in float64: kernels by a product with
 * all support vectors, one-against-one classifiers by a product with their
 * coefficients, probabilities by pairwise coupling (the second method of Wu,
 * Lin and Weng, JMLR 5, 2004, as libsvm iterates it).
 */

#include <inttypes.h>

#include "tools/glow-translate/import/control.h"
#include "tools/glow-translate/import/ml/ml.h"

#define MAX_ROUNDS 100
#define MAX_CLASSES 256
#define MAX_COUPLED 64 /* with probabilities: a step of the loop for each */
#define MAX_COEFFICIENTS ((int64_t)1 << 25) /* of vectors by pairs */

enum { LINEAR, POLY, RBF, SIGMOID };

typedef struct kernel {
    int type;
    double gamma, coef0, degree;
} kernel;

static kernel
read_kernel(import_node *n)
{
    static const char *const words[] = {"LINEAR", "POLY", "RBF", "SIGMOID",
                                        NULL};
    int64_t count;
    double *p = ml_numbers(n, "kernel_params", false, &count);
    kernel k = {.type = import_word(n, "kernel_type", "LINEAR", words)};

    if (count != 0 && !ml_check_count(n, "kernel_params", count, 3))
        return k;
    if (count == 0)
        return k;
    k.gamma = p[0];
    k.coef0 = p[1];
    k.degree = p[2];
    return k;
}

static glow_value *
constant(import_node *n, glow_dims shape, const double *at)
{
    return ml_floats(n, GLOW_FLOAT64, shape, at);
}

static glow_value *
by(import_node *n, const glow_op *op, glow_value *v, double number)
{
    return import_binary_number(n, op, v, number);
}

static glow_value *
times(import_node *n, glow_value *x, glow_value *y)
{
    return n->failed ? NULL : BUILD_PLAIN(n, matmul, GLOW_IN(x, y));
}

/* The sum along axis 1, which is kept with size 1. */
static glow_value *
row_sums(import_node *n, glow_value *v)
{
    glow_dims s = import_shape(v);

    s.at[1] = 1;
    return import_reshape(n,
                          n->failed ? NULL
                                    : BUILD(n, batchedreduceadd, GLOW_IN(v),
                                            .axes = GLOW_DIMS_OF(1)),
                          s);
}

/* The kernel function of rows of x and rows of a constant [count, width]. */
static glow_value *
applied(import_node *n, const kernel *k, glow_value *x, const double *vectors,
        int64_t count)
{
    int64_t width = import_shape(x).at[1];
    double *turned = GLOW_NEW_ARRAY(import_arena(n), double, count *width + 1);
    double *length = GLOW_NEW_ARRAY(import_arena(n), double, count + 1);
    glow_value *y, *square, *lengths;

    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < width; c++) {
            double v = vectors[i * width + c];

            turned[c * count + i] = v;
            length[i] += v * v;
        }
    y = times(n, x, constant(n, GLOW_DIMS_OF(width, count), turned));
    if (k->type == LINEAR || n->failed)
        return y;
    if (k->type == RBF) {
        /* |x - v|^2 = |x|^2 - 2 x v + |v|^2 */
        square = row_sums(n, import_binary(n, &glow_op_mul, x, x));
        lengths = constant(n, GLOW_DIMS_OF(1, count), length);
        y = by(n, &glow_op_mul, y, -2);
        y = import_binary(n, &glow_op_add, y, square);
        y = import_binary(n, &glow_op_add, y, lengths);
        y = by(n, &glow_op_mul, by(n, &glow_op_max, y, 0), -k->gamma);
        return n->failed ? NULL : BUILD_PLAIN(n, exp, GLOW_IN(y));
    }
    y = by(n, &glow_op_mul, y, k->gamma);
    y = by(n, &glow_op_add, y, k->coef0);
    if (k->type == POLY)
        return by(n, &glow_op_pow, y, k->degree);
    return n->failed ? NULL : BUILD_PLAIN(n, tanh, GLOW_IN(y));
}

/* The support vectors, `count` of them, each as wide as a row of X. */
static double *
read_vectors(import_node *n, int64_t count, int64_t width)
{
    int64_t size;
    double *v = ml_numbers(n, "support_vectors", false, &size);

    if (!n->failed && (width < 1 || size / width != count || size % width))
        import_refuse(n, "E0711",
                      "%" PRId64 " support vectors have %" PRId64
                      " numbers, but the operand has %" PRId64 " columns",
                      count, size, width);
    return v;
}

static bool
regressor(import_node *n)
{
    int64_t count = import_int(n, "n_supports", 0, 0, INT32_MAX), n_c, n_rho;
    bool one_class = import_flag(n, "one_class", false);
    ml_transform how = ml_read_transform(n);
    kernel k = read_kernel(n);
    double *c = ml_numbers(n, "coefficients", false, &n_c);
    double *rho = ml_numbers(n, "rho", false, &n_rho);
    double *vectors;
    glow_value *x, *y;
    int64_t width;

    if (!import_operands(n, 1, 1))
        return false;
    x = ml_matrix(n, GLOW_FLOAT64);
    width = import_shape(x).at[1];
    if (n->failed || !ml_check_count(n, "rho", n_rho, 1) ||
        !ml_check_count(n, "coefficients", n_c, count ? count : width))
        return false;
    vectors = count ? read_vectors(n, count, width) : NULL;
    if (n->failed)
        return false;
    if (count) {
        y = applied(n, &k, x, vectors, count);
        y = times(n, y, constant(n, GLOW_DIMS_OF(count, 1), c));
    } else {
        import_ignore(n, "support_vectors");
        y = times(n, x, constant(n, GLOW_DIMS_OF(width, 1), c));
    }
    y = by(n, &glow_op_add, y, rho[0]);
    if (one_class && !n->failed) {
        glow_value *zero = import_splat(n, GLOW_FLOAT64, y->type->shape, 0);

        zero = import_binary(n, &glow_op_cmplt, zero, y);
        y = import_convert(n, zero, GLOW_FLOAT64);
        y = by(n, &glow_op_sub, by(n, &glow_op_mul, y, 2), 1);
    }
    return import_done(
        n, ml_transformed(n, import_convert(n, y, GLOW_FLOAT), how));
}

/* One-against-one classification: pairs (0, 1), (0, 2) ... (1, 2) ... */

typedef struct machine {
    import_node *n;
    int64_t classes, pairs, vectors;
    const int64_t *sizes; /* vectors of each class */
    const double *c;      /* [classes - 1, vectors] */
    const double *rho, *a, *b;
} machine;

/* [vectors, pairs]: for pair (i, j) row j - 1 of those of i, row i of those of j. */
static glow_value *
pair_coefficients(machine *m)
{
    double *w =
        GLOW_NEW_ARRAY(import_arena(m->n), double, m->vectors * m->pairs);
    int64_t first = 0, pair;

    for (int64_t k = 0; k < m->classes; first += m->sizes[k++])
        for (int64_t v = first; v < first + m->sizes[k]; v++) {
            pair = 0;
            for (int64_t i = 0; i < m->classes; i++)
                for (int64_t j = i + 1; j < m->classes; j++, pair++)
                    if (k == i || k == j)
                        w[v * m->pairs + pair] =
                            m->c[(k == i ? j - 1 : i) * m->vectors + v];
        }
    return constant(m->n, GLOW_DIMS_OF(m->vectors, m->pairs), w);
}

/* The class that wins most pairs, the first of equal ones: [N]. */
static glow_value *
winner(machine *m, glow_value *scores)
{
    import_node *n = m->n;
    double *w = GLOW_NEW_ARRAY(import_arena(n), double, m->pairs * m->classes);
    double *all = GLOW_NEW_ARRAY(import_arena(n), double, m->classes);
    glow_value *zero, *won;
    int64_t pair = 0;

    /* A pair that is won is a vote for i instead of j. */
    for (int64_t i = 0; i < m->classes; i++)
        for (int64_t j = i + 1; j < m->classes; j++, pair++) {
            w[pair * m->classes + i] = 1;
            w[pair * m->classes + j] = -1;
            all[j] += 1;
        }
    if (n->failed)
        return NULL;
    zero = import_splat(n, GLOW_FLOAT64, scores->type->shape, 0);
    won = import_binary(n, &glow_op_cmplt, zero, scores);
    won = import_convert(n, won, GLOW_FLOAT64);
    won = times(n, won, constant(n, GLOW_DIMS_OF(m->pairs, m->classes), w));
    won = import_binary(n, &glow_op_add, won,
                        constant(n, GLOW_DIMS_OF(1, m->classes), all));
    return ml_greatest(n, won);
}

/* Probabilities of the pairs as [N, L, L]: r[i, j] + r[j, i] = 1. */
static glow_value *
pair_probabilities(machine *m, glow_value *scores)
{
    import_node *n = m->n;
    int64_t size = m->classes * m->classes, pair = 0;
    double *w = GLOW_NEW_ARRAY(import_arena(n), double, m->pairs *size);
    double *rest = GLOW_NEW_ARRAY(import_arena(n), double, size);
    glow_dims each = GLOW_DIMS_OF(1, m->pairs);
    glow_value *r;

    for (int64_t i = 0; i < m->classes; i++)
        for (int64_t j = i + 1; j < m->classes; j++, pair++) {
            w[pair * size + i * m->classes + j] = 1;
            w[pair * size + j * m->classes + i] = -1;
            rest[j * m->classes + i] = 1;
        }
    r = import_binary(n, &glow_op_mul, scores, constant(n, each, m->a));
    r = import_binary(n, &glow_op_add, r, constant(n, each, m->b));
    if (n->failed)
        return NULL;
    /* 1 - logistic(z) = logistic(-z). */
    r = BUILD_PLAIN(n, neg, GLOW_IN(r));
    r = BUILD_PLAIN(n, sigmoid, GLOW_IN(r));
    r = by(n, &glow_op_max, r, 1e-7);
    r = by(n, &glow_op_min, r, 1 - 1e-7);
    r = times(n, r, constant(n, GLOW_DIMS_OF(m->pairs, size), w));
    r = import_binary(n, &glow_op_add, r,
                      constant(n, GLOW_DIMS_OF(1, size), rest));
    return import_reshape(
        n, r, GLOW_DIMS_OF(import_shape(r).at[0], m->classes, m->classes));
}

/*
 * Q of the quadratic form p Q p that the probabilities p minimize: Q[i, j] =
 * -r[j, i] r[i, j], and Q[i, i] the sum of r[j, i]^2.
 */
static glow_value *
quadratic(machine *m, glow_value *r)
{
    import_node *n = m->n;
    int64_t l = m->classes;
    double *unit = GLOW_NEW_ARRAY(import_arena(n), double, l *l);
    glow_value *t = import_transpose(n, r, GLOW_DIMS_OF(0, 2, 1)), *q, *d;

    for (int64_t i = 0; i < l; i++)
        unit[i * l + i] = 1;
    q = import_binary(n, &glow_op_mul, r, t);
    d = import_binary(n, &glow_op_mul, r, r);
    if (n->failed)
        return NULL;
    q = BUILD_PLAIN(n, neg, GLOW_IN(q));
    d = row_sums(n, d);
    d = import_binary(n, &glow_op_mul, d,
                      constant(n, GLOW_DIMS_OF(1, l, l), unit));
    return import_binary(n, &glow_op_add, q, d);
}

/* One round over all classes; returns the new p. */
static glow_value *
round_of(import_node *n, glow_value *q, glow_value *p, glow_value *qp,
         glow_value *pqp)
{
    glow_dims s = import_shape(p);

    for (int i = 0; i < s.at[1] && !n->failed; i++) {
        double *at = GLOW_NEW_ARRAY(import_arena(n), double, s.at[1]);
        glow_value *row = import_cut(n, q, 1, i, 1), *diff, *one, *qpi, *qii;
        glow_value *more;

        at[i] = 1;
        row = import_reshape(n, row, s);
        qii = import_cut(n, row, 1, i, 1);
        qpi = import_cut(n, qp, 1, i, 1);
        diff = import_binary(n, &glow_op_sub, pqp, qpi);
        diff = import_binary(n, &glow_op_div, diff, qii);
        one = by(n, &glow_op_add, diff, 1);
        /* pQp + diff (diff Q[i, i] + 2 Qp[i]), by (1 + diff)^2 */
        more = import_binary(n, &glow_op_mul, diff, qii);
        qpi = by(n, &glow_op_mul, qpi, 2);
        more = import_binary(n, &glow_op_add, more, qpi);
        more = import_binary(n, &glow_op_mul, more, diff);
        pqp = import_binary(n, &glow_op_add, pqp, more);
        pqp = import_binary(n, &glow_op_div, pqp, one);
        pqp = import_binary(n, &glow_op_div, pqp, one);
        row = import_binary(n, &glow_op_mul, row, diff);
        qp = import_binary(n, &glow_op_add, qp, row);
        qp = import_binary(n, &glow_op_div, qp, one);
        diff = import_binary(n, &glow_op_mul, diff,
                             constant(n, GLOW_DIMS_OF(1, s.at[1]), at));
        p = import_binary(n, &glow_op_add, p, diff);
        p = import_binary(n, &glow_op_div, p, one);
    }
    return p;
}

/*
 * The body of the loop; results: the condition, p, and the rows that have
 * converged.
 */
static void
coupling_step(import_node *n, glow_value *q, glow_value *p, glow_value *done,
              glow_value **out)
{
    glow_dims s = import_shape(p);
    glow_value *qp, *pqp, *off, *next, *goes_on;

    qp = import_reshape(n, p, GLOW_DIMS_OF(s.at[0], s.at[1], 1));
    qp = n->failed ? NULL : BUILD_PLAIN(n, batchmatmul, GLOW_IN(q, qp));
    qp = import_reshape(n, qp, s);
    pqp = row_sums(n, import_binary(n, &glow_op_mul, p, qp));
    off = import_binary(n, &glow_op_sub, qp, pqp);
    if (n->failed)
        return;
    off = BUILD_PLAIN(n, abs, GLOW_IN(off));
    off = BUILD(n, batchedreducemax, GLOW_IN(off), .axes = GLOW_DIMS_OF(1));
    off = import_reshape(n, off, GLOW_DIMS_OF(s.at[0], 1));
    if (n->failed)
        return;
    next = import_splat(n, GLOW_FLOAT64, off->type->shape,
                        0.005 / (double)s.at[1]);
    off = import_binary(n, &glow_op_cmplt, off, next);
    done = import_binary(n, &glow_op_or, done, off);
    next = round_of(n, q, p, qp, pqp);
    off = import_broadcast(n, done, s);
    if (n->failed)
        return;
    out[1] = BUILD_PLAIN(n, select, GLOW_IN(off, p, next));
    out[2] = done;
    goes_on = import_convert(n, done, GLOW_INDEX32);
    if (n->failed)
        return;
    goes_on = BUILD(n, batchedreducemin, GLOW_IN(goes_on),
                    .axes = GLOW_DIMS_OF(0, 1));
    goes_on = import_convert(n, goes_on, GLOW_BOOL);
    out[0] = n->failed ? NULL : BUILD_PLAIN(n, not, GLOW_IN(goes_on));
}

/* Probabilities of the classes [N, L] from those of their pairs. */
static glow_value *
coupled(machine *m, glow_value *q)
{
    import_node *n = m->n;
    int64_t trips = MAX_ROUNDS;
    import_body body;
    const glow_type *types[4], *results[2] = {NULL, NULL};
    glow_value *in[5], *out[3] = {NULL};
    glow_node *loop;
    glow_dims s = GLOW_DIMS_OF(import_shape(q).at[0], m->classes);
    glow_value *inner;

    if (n->failed)
        return NULL;
    in[0] = import_constant_ints(n, (glow_dims){0}, &trips);
    in[1] = NULL;
    in[2] =
        import_constant_splat(n, GLOW_FLOAT64, s, 1 / (double)m->classes, 0);
    in[3] = import_constant_splat(n, GLOW_BOOL, GLOW_DIMS_OF(s.at[0], 1), 0, 0);
    types[0] = import_type(n, GLOW_INDEX64, (glow_dims){0});
    types[1] = import_type(n, GLOW_BOOL, (glow_dims){0});
    types[2] = in[2]->type;
    types[3] = in[3]->type;
    import_body_begin(n, &body, "coupling", types, 4);
    inner = import_bring(n->im, (import_item){.value = q}, body.outer).value;
    coupling_step(n, inner, &body.in[2]->value, &body.in[3]->value, out);
    import_body_end(n, &body);
    if (n->failed || !import_body_returns(n, &body, out, 3))
        return NULL;
    /* The only free variable of the body, unless it is constant. */
    for (int i = 0; i < body.n_given; i++)
        in[4 + i] = body.given[i];
    loop = glow_build_node(
        n->im->builder, &glow_op_loop, results, 2, in, 4 + body.n_given,
        &(const glow_loop){
            .body = body.func->name, .carried = 2, .max_trips = MAX_ROUNDS});
    n->failed |= !loop;
    return loop ? loop->out[0] : NULL;
}

static bool
read_machine(machine *m, ml_labels labels)
{
    import_node *n = m->n;
    glow_ints sizes = import_ints(n, "vectors_per_class");
    int64_t n_c, n_rho, n_a, n_b;

    m->c = ml_numbers(n, "coefficients", false, &n_c);
    m->rho = ml_numbers(n, "rho", false, &n_rho);
    m->a = ml_numbers(n, "prob_a", false, &n_a);
    m->b = ml_numbers(n, "prob_b", false, &n_b);
    m->classes = labels.count;
    m->sizes = sizes.at;
    if (n->failed)
        return false;
    if (sizes.count == 0)
        return import_refuse(n, "E0705",
                             "a machine without vectors_per_class is not "
                             "supported; LinearClassifier has its form");
    if (m->classes < 2 || m->classes > MAX_CLASSES)
        return import_refuse(n, "E0711",
                             "%" PRId64 " classes, but 2 to %d are taken",
                             m->classes, MAX_CLASSES);
    if (!ml_check_count(n, "vectors_per_class", sizes.count, m->classes))
        return false;
    m->pairs = m->classes * (m->classes - 1) / 2;
    for (int64_t i = 0; i < m->classes; i++) {
        if (m->sizes[i] < 0 || m->sizes[i] > INT32_MAX)
            return import_refuse(n, "E0710",
                                 "vectors_per_class[%" PRId64 "] is %" PRId64,
                                 i, m->sizes[i]);
        m->vectors += m->sizes[i];
    }
    if (m->vectors > MAX_COEFFICIENTS / m->pairs)
        return import_refuse(n, "E0711",
                             "%" PRId64 " vectors for %" PRId64
                             " pairs of classes are too many",
                             m->vectors, m->pairs);
    if (n_a == 0)
        m->a = NULL;
    return ml_check_count(n, "coefficients", n_c,
                          (m->classes - 1) * m->vectors) &&
           ml_check_count(n, "rho", n_rho, m->pairs) &&
           ml_check_count(n, "prob_b", n_b, n_a) &&
           (n_a == 0 || ml_check_count(n, "prob_a", n_a, m->pairs)) &&
           (n_a == 0 || m->classes <= MAX_COUPLED ||
            import_refuse(n, "E0705",
                          "probabilities of %" PRId64
                          " classes are not supported, but of %d",
                          m->classes, MAX_COUPLED));
}

static bool
classifier(import_node *n)
{
    machine m = {.n = n};
    ml_transform how = ml_read_transform(n);
    kernel k = read_kernel(n);
    ml_labels labels;
    double *vectors;
    glow_value *x, *scores, *best;

    if (!import_operands(n, 1, 1))
        return false;
    labels = ml_read_labels(n, "classlabels_ints", "classlabels_strings");
    x = ml_matrix(n, GLOW_FLOAT64);
    if (n->failed || !read_machine(&m, labels))
        return false;
    vectors = read_vectors(n, m.vectors, x->type->shape.at[1]);
    if (n->failed)
        return false;
    scores = applied(n, &k, x, vectors, m.vectors);
    scores = times(n, scores, pair_coefficients(&m));
    scores = import_binary(n, &glow_op_add, scores,
                           constant(n, GLOW_DIMS_OF(1, m.pairs), m.rho));
    best = winner(&m, scores);
    if (m.a)
        scores = coupled(&m, quadratic(&m, pair_probabilities(&m, scores)));
    scores = import_convert(n, scores, GLOW_FLOAT);
    if (n->n_out > 1)
        n->out[1] = m.a || m.classes > 2
                        ? ml_transformed(n, scores, how)
                        : ml_two_classes(n, scores, how, how != ML_NONE);
    return ml_give_labels(n, labels, best);
}

const import_row import_ml_svm_rows[] = {
    {"ai.onnx.ml.SVMClassifier", 1, 0, classifier, NULL,
     "numbers, by float64 to float; up to 64 classes with probabilities; "
     "without vectors_per_class it is refused"},
    {"ai.onnx.ml.SVMRegressor", 1, 0, regressor, NULL,
     "numbers, by float64 to float; PROBIT alone is applied"},
    {NULL, 0, 0, NULL, NULL, NULL},
};
