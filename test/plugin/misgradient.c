/*
 * A plugin of two passes.  The first plants a fault into the derivative of one operator,
 * which -verify-gradients has to find.
 *
 *     -misgradient.plant='op="SoftMax",fault=sign'
 *
 * gives the first node of this operator a copy of its definition with a wrong rule;
 * in two nodes the faults of signs would cancel.  A fault changes the results of the
 * right rule, or the node that the rule is given, or is a rule of its own for one
 * operator.  The second,
 *
 *     -misgradient.lower='op="LayerNormalizationGrad",node=3,by=-1'
 *
 * lowers an operator and multiplies the result of one node that the rule built, the
 * fourth here, which -verify-semantics has to find.
 */

#include <string.h>

#include "glow/derivative.h"
#include "glow/match.h"
#include "glow/ops.h"
#include "glow/plugin.h"

enum { MOST_OPERANDS = 5 }; /* of a normalization */

typedef enum fault {
    NONE,
    SIGN,    /* the gradient times -1 */
    FACTOR,  /* times 1.001 */
    SWAP,    /* that by the other of two operands */
    PASS,    /* the gradient by the result itself */
    COUNT,   /* a sum for a mean, or a mean for a sum */
    AXIS,    /* another axis */
    REVERSE, /* the other direction */
    OFFSET,  /* another start of a slice; pads before for pads behind */
    UNIT,    /* strides or a Scale of 1 assumed, or windows of another size */
    PADS,    /* pads counted where they are not, or the other way round */
    EPSILON, /* a number in the formula that is a tenth too large */
    GRID,    /* other coordinates */
    TERM,    /* the term with a sum left out, or a variance taken as constant */
    DIAGONAL, /* only the diagonal of the Jacobian, or statistics as constants */
    OUTER,    /* the factor in front left out */
    ALL,      /* a sum of all axes */
    LEAST,    /* to the least elements, not the greatest */
    EVENLY,   /* to all elements of a window */
    LATEST    /* places met twice get the last gradient alone */
} fault;

static const char *const faults[] = {
    "none",     "sign",   "factor", "swap",  "pass",    "count",  "axis",
    "reverse",  "offset", "unit",   "pads",  "epsilon", "grid",   "term",
    "diagonal", "outer",  "all",    "least", "evenly",  "latest", NULL};

typedef struct plant_options {
    const char *op;
    int fault;
} plant_options;

/* The operator, its copy with a fault, and the fault: one in a process. */
static const glow_op *original;
static glow_op copy;
static glow_derivative wrong;
static fault planted;

/* The definition but for its derivative: of the original. */

static glow_node
original_of(const glow_node *n)
{
    glow_node same = *n;

    same.op = original;
    return same;
}

static bool
infer(const glow_node *n, glow_type out[])
{
    glow_node same = original_of(n);

    return original->infer(&same, out);
}

static bool
eval(const glow_node *n, glow_tensor *const in[], glow_tensor *const out[],
     glow_arena *scratch)
{
    glow_node same = original_of(n);

    return original->eval(&same, in, out, scratch);
}

/* Nodes with other attributes. */

static bool
is(const glow_op *op)
{
    return original == op;
}

static void
exchange_pads(glow_dims *pads)
{
    int half = pads->rank / 2;

    for (int i = 0; i < half; i++) {
        int64_t first = pads->at[i];

        pads->at[i] = pads->at[half + i];
        pads->at[half + i] = first;
    }
}

static void
set_all(glow_dims *d, int64_t v)
{
    for (int i = 0; i < d->rank; i++)
        d->at[i] = v;
}

static int
next_axis(int axis, const glow_node *n)
{
    return (axis + 1) % n->in[0]->type->shape.rank;
}

static const void *
other_window(const glow_node *n, glow_arena *a)
{
    if (is(&glow_op_convolution) || is(&glow_op_convolutionfiltergrad) ||
        is(&glow_op_convtranspose)) {
        glow_convolution *c = GLOW_NEW_ARRAY(a, glow_convolution, 1);

        *c = *(const glow_convolution *)n->attrs;
        if (planted == OFFSET)
            exchange_pads(&c->pads);
        else
            set_all(&c->strides, 1);
        return c;
    }
    if (is(&glow_op_maxpool) || is(&glow_op_maxpoolgrad)) {
        glow_maxpool *m = GLOW_NEW_ARRAY(a, glow_maxpool, 1);

        *m = *(const glow_maxpool *)n->attrs;
        exchange_pads(&m->pads);
        return m;
    }
    glow_avgpool *p = GLOW_NEW_ARRAY(a, glow_avgpool, 1);

    *p = *(const glow_avgpool *)n->attrs;
    if (planted == OFFSET)
        exchange_pads(&p->pads);
    else
        p->count_include_pads = !p->count_include_pads;
    return p;
}

static const void *
other_order(const glow_node *n, glow_arena *a)
{
    if (is(&glow_op_slice)) {
        glow_slice *s = GLOW_NEW_ARRAY(a, glow_slice, 1);

        *s = *(const glow_slice *)n->attrs;
        set_all(&s->start, 0);
        return s;
    }
    if (is(&glow_op_cumsum) || is(&glow_op_cumprod)) {
        glow_cumsum *c = GLOW_NEW_ARRAY(a, glow_cumsum, 1);

        *c = *(const glow_cumsum *)n->attrs;
        if (planted == AXIS)
            c->dim = next_axis(c->dim, n);
        else if (planted == REVERSE)
            c->reverse = !c->reverse;
        else
            c->exclusive = !c->exclusive;
        return c;
    }
    if (is(&glow_op_resizebilinear) || is(&glow_op_resizenearest)) {
        glow_grid *g = GLOW_NEW_ARRAY(a, glow_grid, 1);

        *g = *(const glow_grid *)n->attrs;
        g->coordinates = g->coordinates ? 0 : GLOW_COORD_HALF_PIXEL;
        return g;
    }
    glow_softmax *s = GLOW_NEW_ARRAY(a, glow_softmax, 1);

    s->axis = next_axis(((const glow_softmax *)n->attrs)->axis, n);
    return s;
}

static const void *
other_formula(const glow_node *n, glow_arena *a)
{
    if (is(&glow_op_localresponsenormalization)) {
        glow_localresponsenormalization *l =
            GLOW_NEW_ARRAY(a, glow_localresponsenormalization, 1);

        *l = *(const glow_localresponsenormalization *)n->attrs;
        if (planted == EPSILON)
            l->k *= 1.1F;
        else
            l->half_window_size++;
        return l;
    }
    if (is(&glow_op_batchnormalization) && planted == UNIT)
        return n->attrs;
    if (is(&glow_op_meanvarnormalization)) {
        glow_meanvarnormalization *m =
            GLOW_NEW_ARRAY(a, glow_meanvarnormalization, 1);

        *m = *(const glow_meanvarnormalization *)n->attrs;
        m->momentum *= 0.9F;
        return m;
    }
    if (is(&glow_op_batchnormalization)) {
        glow_batchnormalization *b =
            GLOW_NEW_ARRAY(a, glow_batchnormalization, 1);

        *b = *(const glow_batchnormalization *)n->attrs;
        b->epsilon += 0.1F;
        return b;
    }
    glow_layernormalization *l = GLOW_NEW_ARRAY(a, glow_layernormalization, 1);

    *l = *(const glow_layernormalization *)n->attrs;
    if (planted == EPSILON)
        l->epsilon += 0.1F;
    return l;
}

/* The node that the right rule is given. */
static glow_node
seen(glow_builder *b, const glow_node *n)
{
    glow_node other = original_of(n);
    glow_arena *a = glow_builder_scratch(b);
    bool is_window = is(&glow_op_convolution) || is(&glow_op_convtranspose) ||
                     is(&glow_op_convolutionfiltergrad) ||
                     is(&glow_op_avgpool) || is(&glow_op_maxpool) ||
                     is(&glow_op_maxpoolgrad);
    bool has_formula =
        is(&glow_op_localresponsenormalization) ||
        is(&glow_op_batchnormalization) || is(&glow_op_layernormalization) ||
        is(&glow_op_rmsnormalization) || is(&glow_op_meanvarnormalization);

    if (planted < AXIS || planted > GRID)
        return other;
    other.attrs = is_window     ? other_window(n, a)
                  : has_formula ? other_formula(n, a)
                                : other_order(n, a);
    return other;
}

/* Results of rules. */

static glow_value *
times(glow_builder *b, glow_value *v, double by)
{
    return v ? GLOW_BUILD_PLAIN(b, mul, GLOW_IN(v, glow_build_like(b, v, by)))
             : NULL;
}

static glow_value *
spoiled(glow_builder *b, const glow_node *n, int i, glow_value *d,
        glow_value *given)
{
    double in = (double)glow_type_count(n->in[i]->type);
    double out = (double)glow_type_count(n->out[0]->type);

    switch (planted) {
    case SIGN:
        return times(b, given, -1);
    case FACTOR:
        return times(b, given, 1.001);
    case PASS:
        return given && n->in[i]->type == d->type ? d : given;
    case COUNT:
        return times(b, given,
                     is(&glow_op_batchedreduceadd) ? out / in : in / out);
    default:
        return given;
    }
}

static glow_value *
wrong_partial(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_node other = seen(b, n);
    int by = planted == SWAP && n->n_in == 2 ? 1 - i : i;

    return spoiled(b, n, i, d, original->derivative->partial(b, &other, by, d));
}

static glow_value *
wrong_transpose(glow_builder *b, glow_node *n, int i, glow_value *d)
{
    glow_node other = seen(b, n);
    int by = planted == SWAP && n->n_in == 2 ? 1 - i : i;

    return spoiled(b, n, i, d,
                   original->derivative->transpose(b, &other, by, d));
}

static glow_value *
sum_of(glow_builder *b, glow_value *v, glow_dims axes)
{
    glow_dims shape = v->type->shape, kept = shape;
    glow_value *s = GLOW_BUILD(b, batchedreduceadd, GLOW_IN(v), .axes = axes);

    for (int i = 0; i < axes.rank; i++)
        kept.at[axes.at[i]] = 1;
    s = GLOW_BUILD(b, reshape, GLOW_IN(s), .dims = kept);
    return GLOW_BUILD(b, broadcast, GLOW_IN(s), .axis = 0, .target_dim = shape);
}

static glow_dims
all_axes(const glow_value *v)
{
    glow_dims axes = {.rank = v->type->shape.rank};

    for (int i = 0; i < axes.rank; i++)
        axes.at[i] = i;
    return axes;
}

/* y (d - sum of d y) of SoftMax, d - e^y times the sum of d of LogSoftMax. */
static glow_value *
wrong_softmax(glow_builder *b, const glow_node *n, glow_value *d)
{
    bool is_log = is(&glow_op_logsoftmax);
    glow_value *y = n->out[0], *p = y, *sum;
    glow_dims axes = GLOW_DIMS_OF(((const glow_softmax *)n->attrs)->axis);

    if (planted == ALL)
        axes = all_axes(y);
    if (is_log && planted != OUTER)
        p = GLOW_BUILD_PLAIN(b, exp, GLOW_IN(y));
    sum = is_log ? d : GLOW_BUILD_PLAIN(b, mul, GLOW_IN(d, p));
    if (planted != DIAGONAL)
        sum = sum_of(b, sum, axes);
    if (planted == TERM)
        sum = times(b, sum, 0);
    if (is_log)
        sum = GLOW_BUILD_PLAIN(b, mul, GLOW_IN(sum, p));
    d = GLOW_BUILD_PLAIN(b, sub, GLOW_IN(d, sum));
    return is_log || planted == OUTER ? d
                                      : GLOW_BUILD_PLAIN(b, mul, GLOW_IN(p, d));
}

/* The right rule at an operand with the opposite sign: to the least elements. */
static glow_value *
to_least(glow_builder *b, glow_node *n, const glow_gradient *g)
{
    glow_node other = *n;
    glow_value *x = GLOW_BUILD_PLAIN(b, neg, GLOW_IN(n->in[0])), *y;
    glow_gradient h = *g;

    y = glow_build(b, original, NULL, &x, 1, n->attrs);
    other.in = &x;
    other.out = &y;
    h.node = &other;
    return original->derivative->gradient(b, &h) ? g->by_operand[0] : NULL;
}

/* To all elements of the windows, or of the axes that are reduced. */
static glow_value *
to_window(glow_builder *b, const glow_node *n, glow_value *d)
{
    glow_dims shape = n->in[0]->type->shape;

    if (is(&glow_op_maxpool)) {
        const glow_maxpool *m = n->attrs;
        glow_avgpool p = {
            .kernels = m->kernels, .strides = m->strides, .pads = m->pads};
        glow_node other = *n;

        other.attrs = &p;
        other.op = &glow_op_avgpool;
        return glow_op_avgpool.derivative->transpose(b, &other, 0, d);
    }
    const glow_reduce *r = n->attrs;

    for (int i = 0; i < r->axes.rank; i++)
        shape.at[r->axes.at[i]] = 1;
    d = GLOW_BUILD(b, reshape, GLOW_IN(d), .dims = shape);
    return GLOW_BUILD(b, broadcast, GLOW_IN(d), .axis = 0,
                      .target_dim = n->in[0]->type->shape);
}

/* The right rule, with the ScatterData that it built replacing, not adding. */
static glow_value *
latest(glow_builder *b, glow_value *v)
{
    glow_node *s = v && v->def ? v->def : NULL;
    glow_value *y;

    if (s && s->op == &glow_op_reshape)
        s = s->in[0]->def;
    if (!s || s->op != &glow_op_scatterdata)
        return v;
    y = GLOW_BUILD(b, scatterdata, GLOW_IN(s->in[0], s->in[1], s->in[2]),
                   .reduction = GLOW_SCATTER_NONE);
    return GLOW_BUILD(b, reshape, GLOW_IN(y), .dims = v->type->shape);
}

/* The axes whose elements share a mean and a variance. */
static glow_dims
normalized_axes(const glow_node *n)
{
    glow_dims all = all_axes(n->in[0]), axes = {.rank = 0};
    bool is_batch = is(&glow_op_batchnormalization);
    int at = is_batch ? ((const glow_batchnormalization *)n->attrs)->channel_idx
                      : ((const glow_layernormalization *)n->attrs)->axis;

    for (int i = 0; i < all.rank; i++)
        if (is_batch ? i != at : i >= at)
            axes.at[axes.rank++] = i;
    return axes;
}

static glow_value *
mean_of(glow_builder *b, const glow_node *n, glow_value *v)
{
    glow_dims axes = normalized_axes(n);
    double count = 1;

    for (int i = 0; i < axes.rank; i++)
        count *= (double)v->type->shape.at[axes.at[i]];
    return times(b, sum_of(b, v, axes), 1 / count);
}

/* A normalization by the same statistics with another Scale, and a Bias of 0. */
static glow_value *
normalized(glow_builder *b, const glow_node *n, glow_value *scale)
{
    glow_value *in[MOST_OPERANDS] = {n->in[0], scale};

    for (int i = 3; i < n->n_in; i++)
        in[i] = n->in[i];
    if (n->n_in > 3)
        in[2] = glow_build_like(b, n->in[2], 0);
    return glow_build(b, original, NULL, in, n->n_in, n->attrs);
}

/*
 * By Input alone, where y is the normalized Input without Bias and c the Input without
 * mean: d y / c takes the statistics as constants, and without its mean it takes the
 * variance as one.
 */
static glow_value *
wrong_norm(glow_builder *b, const glow_gradient *g)
{
    const glow_node *n = g->node;
    glow_value *x = n->in[0], *y = normalized(b, n, n->in[1]);

    if (!is(&glow_op_rmsnormalization))
        x = GLOW_BUILD_PLAIN(b, sub, GLOW_IN(x, mean_of(b, n, x)));
    y = GLOW_BUILD_PLAIN(b, mul, GLOW_IN(g->by_result[0], y));
    y = GLOW_BUILD_PLAIN(b, div, GLOW_IN(y, x));
    return planted == TERM
               ? GLOW_BUILD_PLAIN(b, sub, GLOW_IN(y, mean_of(b, n, y)))
               : y;
}

/* By Input alone: the right rule where Scale is 1. */
static glow_value *
unscaled(glow_builder *b, const glow_gradient *g)
{
    glow_node other = *g->node;
    glow_value *in[MOST_OPERANDS], *by[MOST_OPERANDS] = {NULL};
    glow_gradient h = *g;

    memcpy(in, other.in, (size_t)other.n_in * sizeof *in);
    in[1] = glow_build_like(b, in[1], 1);
    other.in = in;
    h.node = &other;
    h.by_operand = by;
    return original->derivative->gradient(b, &h) ? by[0] : NULL;
}

/* Exchanges the last two gradients that there are. */
static void
exchange_last(glow_value **by, int last)
{
    glow_value *v;

    while (last > 1 && !by[last])
        last--;
    v = by[last];
    by[last] = by[last - 1];
    by[last - 1] = v;
}

static bool
is_norm(void)
{
    return is(&glow_op_batchnormalization) || is(&glow_op_layernormalization) ||
           is(&glow_op_rmsnormalization);
}

static bool
wrong_gradient(glow_builder *b, const glow_gradient *g)
{
    glow_node *n = g->node, other = seen(b, n);
    glow_gradient h = *g;
    glow_value **by = g->by_operand, *d = g->by_result[0];
    bool is_softmax = is(&glow_op_softmax) || is(&glow_op_logsoftmax);

    if (is_softmax && planted >= TERM)
        return (by[0] = wrong_softmax(b, n, d));
    if (planted == LEAST)
        return (by[0] = to_least(b, n, g));
    if (planted == EVENLY)
        return (by[0] = to_window(b, n, d));
    h.node = &other;
    if (planted == OUTER || planted == ALL) {
        d = planted == OUTER ? glow_build_like(b, d, 1)
                             : sum_of(b, d, all_axes(d));
        h.by_result = &d;
    }
    if (!original->derivative->gradient(b, &h))
        return false;
    if (planted == LATEST)
        by[0] = latest(b, by[0]);
    if (is_norm() && (planted == TERM || planted == DIAGONAL))
        by[0] = wrong_norm(b, &h);
    if (is_norm() && planted == UNIT && n->in[1])
        by[0] = unscaled(b, &h);
    for (int i = 0; i < n->n_in; i++)
        if (by[i])
            by[i] = spoiled(b, n, i, d ? d : by[i], by[i]);
    if (planted == SWAP && n->n_in > 2)
        exchange_last(by, n->n_in - 1);
    return true;
}

static glow_result
run(glow_pass_run *pass, glow_func *f)
{
    const plant_options *o = glow_run_options(pass);
    const glow_derivative *right;

    original = glow_find_op(glow_run_context(pass), o->op);
    right = original ? original->derivative : NULL;
    if (!right) {
        glow_error(glow_run_context(pass), "E0442", "%s has no derivative",
                   o->op);
        return GLOW_FAILED;
    }
    planted = (fault)o->fault;
    wrong = (glow_derivative){
        .partial = right->partial ? wrong_partial : NULL,
        .transpose = right->transpose ? wrong_transpose : NULL,
        .gradient = right->gradient ? wrong_gradient : NULL,
        .refuses = right->refuses,
        .is_zero = right->is_zero,
    };
    copy = *original;
    copy.infer = infer;
    copy.eval = eval;
    copy.derivative = &wrong;
    GLOW_FOR_EACH_NODE(n, f)
        if (n->op == original) {
            n->op = &copy;
            return GLOW_CHANGED;
        }
    return GLOW_UNCHANGED;
}

static const glow_pass pass = {
    .name = "misgradient.plant",
    .summary = "plant a fault into the derivative of an operator",
    .level = GLOW_GRAPH,
    .preserves = GLOW_EXACT,
    .options = {GLOW_FIELD_DEFAULT(plant_options, op, GLOW_STRING,
                                   "the operator"),
                GLOW_FIELD_ENUM(plant_options, fault, faults,
                                "what is done wrong")},
    .defaults = &(const plant_options){.op = "", .fault = NONE},
    .run = run,
};

/* Lowering, with a fault in one of the nodes that the rule builds. */

typedef struct lower_options {
    const char *op;
    int node;
    float by;
} lower_options;

/* The nodes of `f`; returns how many. */
static size_t
nodes_of(const glow_func *f, glow_node **at)
{
    size_t count = 0;

    GLOW_FOR_EACH_NODE(n, f)
        at[count++] = n;
    return count;
}

static bool
is_among(const glow_node *n, glow_node *const *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] == n)
            return true;
    return false;
}

static void
multiply(glow_arena *a, glow_func *f, glow_node *n, double by)
{
    glow_builder *b = glow_builder_new(a, f, NULL);
    glow_value *v = n->out[0], *factor;

    glow_builder_at(b, n->next);
    factor = glow_build_like(b, v, by);
    glow_replace_uses(v, factor);
    v = GLOW_BUILD_PLAIN(b, mul, GLOW_IN(v, factor));
    glow_replace_uses(factor, v);
    glow_set_operand(v->def, 1, factor);
}

static glow_result
run_lower(glow_pass_run *run, glow_func *f)
{
    const lower_options *o = glow_run_options(run);
    glow_context *ctx = glow_run_context(run);
    glow_arena *a = glow_run_scratch(run);
    const glow_op *op = glow_find_op(ctx, o->op);
    glow_node **before = GLOW_NEW_ARRAY(a, glow_node *, f->count + 1);
    size_t count = nodes_of(f, before), n_passes;
    const glow_pass *const *list;
    glow_result result = GLOW_UNCHANGED;
    int left = o->node;

    list = glow_all_passes(ctx, &n_passes);
    for (size_t i = 0; op && i < n_passes && result != GLOW_FAILED; i++)
        if (list[i]->lowers == op)
            result = glow_run_part(run, list[i], f, NULL);
    GLOW_FOR_EACH_NODE(n, f)
        if (!is_among(n, before, count) && n->op != &glow_op_splat &&
            n->n_out == 1 && glow_is_float(n->out[0]->type->elem) &&
            left-- == 0) {
            multiply(a, f, n, (double)o->by);
            return GLOW_CHANGED;
        }
    return result;
}

static const glow_pass lower_pass = {
    .name = "misgradient.lower",
    .summary = "lower an operator with a fault in one node",
    .level = GLOW_GRAPH,
    .preserves = GLOW_LOWERS,
    .options = {GLOW_FIELD_DEFAULT(lower_options, op, GLOW_STRING,
                                   "the operator"),
                GLOW_FIELD_DEFAULT(lower_options, node, GLOW_INT,
                                   "which of the new nodes"),
                GLOW_FIELD_DEFAULT(lower_options, by, GLOW_FLOAT32,
                                   "the factor of its result")},
    .defaults = &(const lower_options){.op = "", .by = 1},
    .run = run_lower,
};

static const glow_pass *const passes[] = {&pass, &lower_pass, NULL};

static const glow_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = GLOW_ABI_MAJOR,
    .abi_minor = GLOW_ABI_MINOR,
    .sizes = GLOW_ABI_SIZES,
    .name = "misgradient",
    .version = "1",
    .licence = "Apache-2.0",
    .passes = passes,
};

GLOW_API const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason);

const glow_plugin *
glow_plugin_query(uint32_t abi_major, uint32_t abi_minor, const char **reason)
{
    (void)abi_major, (void)abi_minor, (void)reason;
    return &plugin;
}
